//===- RandomTrial.h - A random model run in every way ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANDOMTRIAL_H
#define GNNC_TEST_INTEGRATION_RANDOMTRIAL_H

#include "RandomModel.h"

#include <functional>

namespace gnnc::test {

/// A model's inputs on one graph, and what all of its values then are.
struct Sample {
  GraphShape shape = GraphShape::Small;
  Graph graph;
  Tensors tensors;
  std::vector<Tensor> values; ///< by value of the model
};

struct Trial {
  frontend::ModelSpec model;
  std::vector<Sample> samples;
};

/// A model on random graphs of these shapes. The interpreter's failure is an error: it is right about everything.
llvm::Expected<Trial> makeTrial(frontend::ModelSpec model, llvm::ArrayRef<GraphShape> shapes, uint64_t seed);

/// A random model on a few random graphs.
llvm::Expected<Trial> makeRandomTrial(uint64_t seed);

/// Computes the values of all samples anew, after the model has changed.
llvm::Error evaluate(Trial &trial);

/// One way to compute the outputs that `check` compares with the interpreter.
struct Way {
  unsigned optLevel = 2;
  bool compiled = true; ///< false: the interpreter on the module after the phases
  SaveKind save = SaveKind::Auto;
  std::string name() const;
};
std::vector<Way> allWays();

/// What a way gets wrong, in words; empty where it agrees on every sample. A compiled model runs with one and two
/// threads, which must agree to the bit, and with the code for an older processor. All its memory ends where a page
/// does that must not be touched, and holds NaNs before.
std::string check(const Trial &trial, const Way &way);

/// Writes its samples for a GPU on another machine, where that is asked for (DeviceCases.h).
llvm::Error record(const Trial &trial, bool unfused = true);

/// What `work` says, in a process of its own, so that a crash or a hang is one more thing to get wrong.
std::string runApart(const std::function<std::string()> &work);
std::string checkApart(const Trial &trial, const Way &way);

/// Runs a compiled model with all memory guarded as above. `variant` chooses how its indices are given.
llvm::Expected<Tensors> runGuarded(const ModelFile &file, const Graph &graph, const Tensors &tensors, int threads,
                                   int variant);

/// Takes away operations, outputs and samples as long as `fails` holds, until the deadline.
void shrink(Trial &trial, const std::function<bool(const Trial &)> &fails, double seconds);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANDOMTRIAL_H
