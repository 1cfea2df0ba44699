//===- RandomGradientsTest.cpp - Gradients of random models ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in RandomModelsTest.cpp each seed is a model and a few graphs: compiled gradients are the interpreter's, and those
// are the slopes of the program.
//
//===----------------------------------------------------------------------===//

#include "RandomGradients.h"
#include "DeviceCases.h"

#include "gnnc/Frontend/JSON.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

static constexpr double kShrinkSeconds = 60;
/// In single precision: how far gradients may be off, beside the magnitude of what they are computed from, and by how
/// much inputs are moved to find out whether they jump.
static constexpr double kSingleTolerance = 3e-5, kSingleNoise = 1e-6;
/// The same in double precision.
static constexpr double kDoubleTolerance = 1e-9, kDoubleNoise = 1e-13;
/// Begins what is said of a sample whose gradients jump within the rounding errors of its inputs.
static constexpr llvm::StringLiteral kUnstable = "unstable: ";

static std::string checkWay(Oracle &oracle, const Way &way) {
  const Trial &trial = oracle.trial;
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return wrong;
  std::optional<Program> lowered;
  std::unique_ptr<CompiledModel> compiled;
  if (way.compiled) {
    CompileOptions options = optionsFor(way);
    options.gradient = true;
    auto model = CompiledModel::create(trial.model, options);
    if (!model)
      return "does not compile: " + llvm::toString(model.takeError());
    compiled = std::move(*model);
  } else {
    lowered.emplace(trial.model);
    if (!lowered->lower(way.optLevel))
      return "the phases fail";
  }
  bool single = way.compiled && !trial.model.doublePrecision;
  double relative = single ? kSingleTolerance : kDoubleTolerance;
  for (auto [sample, wanted] : llvm::zip_equal(trial.samples, oracle.samples)) {
    std::string graphName = nameOf(sample.shape);
    std::vector<Tensors> runs;
    for (int threads = 1; threads <= (way.compiled ? 2 : 1); ++threads) {
      llvm::Expected<Tensors> results =
          way.compiled ? runGuarded(compiled->file(), sample.graph, wanted.given, threads, indexForm(way, threads))
                       : lowered->run(sample.graph, wanted.given);
      if (!results)
        return graphName + ": " + llvm::toString(results.takeError());
      double factor;
      if (std::string wrong = compareGradients(*results, wanted, relative, factor); !wrong.empty()) {
        bool unstable = isUnstable(trial.model, *oracle.differentiated, sample.graph, wanted,
                                   single ? kSingleNoise : kDoubleNoise, relative, factor);
        return (unstable ? kUnstable.str() : "") + graphName + ": " + wrong;
      }
      runs.push_back(std::move(*results));
    }
    if (runs.size() == 2)
      for (const auto &[name, tensor] : runs[0])
        if (!haveSameBits(tensor, runs[1].at(name)))
          return graphName + ": the bits of '" + name + "' depend on the number of threads";
  }
  return "";
}

/// Writes the samples for a GPU on another machine.
static llvm::Error recordGradients(const Trial &trial, bool unfused) {
  llvm::Expected<std::unique_ptr<DeviceRecorder>> recorder =
      DeviceRecorder::create(trial.model, /*gradient=*/true, unfused);
  if (!recorder)
    return recorder.takeError();
  Oracle oracle(trial);
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return llvm::createStringError(wrong);
  for (auto [sample, wanted] : llvm::zip_equal(trial.samples, oracle.samples)) {
    // What differs is not known yet: more than a tolerance is too much.
    auto jumps = [&, &sample = sample, &wanted = wanted](double noise, double tolerance) {
      return isUnstable(trial.model, *oracle.differentiated, sample.graph, wanted, noise, tolerance,
                        1 / kUnstableShare);
    };
    // Sums that are equal are so in one order of additions, and a maximum of them has another winner in another.
    if (jumps(kDoubleNoise, kDoubleTolerance))
      continue;
    bool unstable = jumps(kSingleNoise, kSingleTolerance);
    if (llvm::Error error = (*recorder)->add("gradient", sample.graph, wanted.given, wanted.expected, /*updates=*/{},
                                             /*doubleOnly=*/unstable))
      return error;
  }
  return llvm::Error::success();
}

/// The interpreter's gradients against differences, at numbers that are nowhere equal by chance.
static std::string checkSlopes(Oracle &oracle) {
  const Trial &trial = oracle.trial;
  // What is detached has a slope all the same.
  for (const frontend::Value &value : trial.model.values)
    if (value.op == OpCode::Detach)
      return "";
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return wrong;
  Program program(trial.model);
  for (const Sample &sample : trial.samples) {
    size_t numbers = 0;
    for (const auto &[name, tensor] : sample.tensors)
      numbers += tensor.data.size();
    if (sample.shape == GraphShape::Large)
      continue;
    Sample generic = sample;
    // Two draws a number: of a hundred thousand numbers with twenty bits, some two are the largest of their owner.
    Random random(9);
    for (auto &[name, tensor] : generic.tensors)
      for (double &x : tensor.data) {
        double high = double(random.between(-1000003, 1000003));
        x = (high + double(random.between(0, 999999)) / 1e6) / 1000004;
      }
    std::string graphName = nameOf(sample.shape);
    llvm::Expected<GradientSample> wanted = gradientsOf(*oracle.differentiated, trial, generic);
    if (!wanted)
      return graphName + ": the interpreter fails: " + llvm::toString(wanted.takeError());
    std::string wrong = compareAlongLines(program, sample.graph, wanted->given, wanted->expected);
    // A kink disturbs a line more often than a number. Numbers say where a gradient is wrong, too.
    if (!wrong.empty() && numbers <= 250)
      wrong = compareWithDifferences(program, sample.graph, wanted->given, wanted->expected, 1e-4);
    if (!wrong.empty())
      return graphName + ": " + wrong;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

static std::vector<Check> checksOf(const Trial &trial, const RandomSeed &seed) {
  auto oracle = std::make_shared<Oracle>(trial);
  std::vector<Check> checks{{"differences", [=] { return checkSlopes(*oracle); }}};
  for (const Way &way : allWays(seed, /*gradient=*/true))
    checks.push_back({way.name(), [=] { return checkWay(*oracle, way); }});
  return checks;
}

static Outcome tryModel(const RandomSeed &seed) {
  llvm::Expected<Trial> trial = makeGradientTrial(seed);
  if (!trial) {
    ADD_FAILURE() << toString(seed) << ": the interpreter fails: " << llvm::toString(trial.takeError());
    return Outcome::Failed;
  }
  if (isRecordingForDevice()) {
    llvm::Error error = recordGradients(*trial, /*unfused=*/seed.number % 4 == 0);
    if (!error)
      return Outcome::Passed;
    ADD_FAILURE() << toString(seed) << ": " << llvm::toString(std::move(error));
    return Outcome::Failed;
  }
  std::vector<Check> checks = checksOf(*trial, seed);
  std::optional<Finding> finding = runApart(checks);
  if (!finding)
    return Outcome::Passed;
  auto isUnstable = [](const Finding &finding) { return llvm::StringRef(finding.wrong).starts_with(kUnstable); };
  if (isUnstable(*finding))
    return Outcome::Unstable;
  std::string last = finding->wrong;
  auto fails = [&](const Trial &smaller) {
    std::optional<Finding> still = runApart(checksOf(smaller, seed)[finding->check]);
    if (!still || isUnstable(*still))
      return false;
    last = still->wrong;
    return true;
  };
  shrink(*trial, fails, kShrinkSeconds);
  ADD_FAILURE() << toString(seed) << ": " << checks[finding->check].name << ": " << finding->wrong
                << "\nThis is a smaller one: " << last << "\n"
                << frontend::writeJSON(trial->model, /*locations=*/false);
  return Outcome::Failed;
}

TEST(RandomGradients, AreTheInterpretersAndSlopes) {
  SeedRun run("gradients", /*full=*/3, /*small=*/10);
  while (std::optional<RandomSeed> seed = run.next())
    run.report(tryModel(*seed));
  RecordProperty("Models", std::to_string(run.tried()));
  std::printf("gradients of %lld random models in %.0f s, %lld of them left out as unstable\n",
              static_cast<long long>(run.tried()), run.seconds(), static_cast<long long>(run.unstable()));
}
