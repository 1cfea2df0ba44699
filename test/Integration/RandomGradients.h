//===- RandomGradients.h - What gradients of random models are --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random models that can be differentiated, what the interpreter says of their gradients, and whether others agree.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANDOMGRADIENTS_H
#define GNNC_TEST_INTEGRATION_RANDOMGRADIENTS_H

#include "Gradient.h"
#include "RandomTrial.h"

namespace gnnc::test {

/// The share of a difference by which gradients of moved inputs must move to explain it.
constexpr double kUnstableShare = 0.2;

/// A random model without kinks on which rounding decides, and graphs for it.
llvm::Expected<Trial> makeGradientTrial(const RandomSeed &seed, bool doublePrecision = false);

struct GradientSample {
  Tensors given, expected;
  std::map<std::string, double> magnitudes;
};

/// With random gradients of the outputs.
llvm::Expected<GradientSample> gradientsOf(const Program &differentiated, const Trial &trial, const Sample &sample);

/// What the interpreter says of a trial's gradients. It is computed for the first check that asks, and is the same for
/// all. `forRanks`: random numbers are those of a program for ranks.
class Oracle {
public:
  explicit Oracle(const Trial &trial, bool forRanks = false) : trial(trial), forRanks(forRanks) {}

  /// Empty once `differentiated` and `samples` are there.
  std::string prepare();

  const Trial &trial;
  std::optional<Program> differentiated;
  std::vector<GradientSample> samples; ///< by sample of the trial

private:
  bool forRanks;
};

/// The tensor in which results differ, in words. `factor` is the size of the largest difference, in tolerances.
std::string compareGradients(const Tensors &actual, const GradientSample &sample, double relative, double &factor);

/// Whether gradients move as much as they differ when inputs move by their last bits. Those that are left out move too:
/// a default of 1 and a saturated sigmoid tie in single precision alone.
bool isUnstable(const frontend::ModelSpec &model, const Program &differentiated, const Graph &graph,
                const GradientSample &sample, double noise, double relative, double factor);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANDOMGRADIENTS_H
