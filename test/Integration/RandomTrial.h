//===- RandomTrial.h - A random model run in every way ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANDOMTRIAL_H
#define GNNC_TEST_INTEGRATION_RANDOMTRIAL_H

#include "RandomModel.h"
#include "RandomSeeds.h"

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
llvm::Expected<Trial> makeRandomTrial(const RandomSeed &seed);

/// Computes the values of all samples anew, after the model has changed.
llvm::Error evaluate(Trial &trial);

/// One way to compute the outputs that `check` compares with the interpreter.
struct Way {
  unsigned optLevel = 2;
  bool compiled = true; ///< false: the interpreter on the module after the phases
  SaveKind save = SaveKind::Auto;
  int cpuLevel = 4;         ///< the x86-64-v level to generate code for; 3 where this machine has no newer one
  bool optimise = true;     ///< with LLVM's optimiser, as users get it
  int64_t statements = 0;   ///< that a kernel may have; 0: the default, which random models stay below
  unsigned checkpoints = 0; ///< segments of the forward half that are computed again
  std::string name() const;
};
/// The ways to try a seed. Code generation takes most of the time, so each compiled way is for one processor level:
/// they alternate over the ways, and with the seed, so that every way meets both. LLVM optimises the code of one way
/// of a full body, another for each seed, and of one way of every other small body. Of half of the seeds, some ways
/// keep kernels short. `gradient`: with the two ways that differ for gradients alone; every other seed, the first of
/// them computes the forward half again by segments instead of as a whole.
std::vector<Way> allWays(const RandomSeed &seed, bool gradient = false);

/// How to compile a model that way, for a processor level that this machine has.
CompileOptions optionsFor(const Way &way);

/// The form in which a run gets its indices (`variant` of runGuarded): the ways go through all of them.
int indexForm(const Way &way, int threads);

/// What a way gets wrong, in words; empty where it agrees on every sample. A compiled model runs with one and two
/// threads, which must agree to the bit. All its memory ends where a page does that must not be touched, and holds NaNs
/// before.
std::string check(const Trial &trial, const Way &way);

/// Writes its samples for a GPU on another machine, where that is asked for (DeviceCases.h).
llvm::Error record(const Trial &trial, bool unfused = true);

/// Something to find out about a trial: `run` says what is wrong, nothing where all is well.
struct Check {
  std::string name;
  std::function<std::string()> run;
};
struct Finding {
  size_t check; ///< which of them
  std::string wrong;
};

/// Seconds that a check may take, before it is taken to hang: of processors, which a busy machine does not make longer,
/// and on the wall, for one that waits and computes nothing.
struct Patience {
  unsigned processor = 240, wall = 1800;
};

/// Runs checks in order up to the first that finds something, in one process of their own, so that a crash or a hang
/// is one more thing to find.
std::optional<Finding> runApart(llvm::ArrayRef<Check> checks, Patience patience = {});

/// Runs a compiled model with all memory guarded as above. `variant` chooses how its indices are given.
llvm::Expected<Tensors> runGuarded(const ModelFile &file, const Graph &graph, const Tensors &tensors, int threads,
                                   int variant);

/// Takes away operations, outputs and samples as long as `fails` holds, until the deadline.
void shrink(Trial &trial, const std::function<bool(const Trial &)> &fails, double seconds);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANDOMTRIAL_H
