//===- RandomModelsTest.cpp - Random models equal the interpreter ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed is a model and a few graphs (RandomSeeds.h says which are tried). A failure prints its seed and a smaller
// model that still fails, as JSON. With GNNC_DEVICE_CASES cases for GPUs are written to the folder that it names, and
// nothing is run.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "RandomTrial.h"

#include "gnnc/Frontend/JSON.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

using namespace gnnc;
using namespace gnnc::test;

static constexpr double kShrinkSeconds = 60;

static Check checkOf(const Trial &trial, const Way &way) {
  return {way.name(), [&trial, way] { return check(trial, way); }};
}

static void report(Trial trial, const RandomSeed &seed, const Way &way, const std::string &wrong) {
  std::string last = wrong;
  shrink(
      trial,
      [&](const Trial &smaller) {
        std::optional<Finding> still = runApart(checkOf(smaller, way));
        if (still)
          last = still->wrong;
        return still.has_value();
      },
      kShrinkSeconds);
  ADD_FAILURE() << toString(seed) << ": " << way.name() << ": " << wrong << "\nThis is a smaller one: " << last << "\n"
                << frontend::writeJSON(trial.model, /*locations=*/false);
}

static Outcome tryModel(const RandomSeed &seed) {
  llvm::Expected<Trial> trial = makeRandomTrial(seed);
  if (!trial) {
    ADD_FAILURE() << toString(seed) << ": the interpreter fails: " << llvm::toString(trial.takeError());
    return Outcome::Failed;
  }
  if (isRecordingForDevice()) {
    llvm::Error error = record(*trial, /*unfused=*/seed.number % 4 == 0);
    if (!error)
      return Outcome::Passed;
    ADD_FAILURE() << toString(seed) << ": " << llvm::toString(std::move(error));
    return Outcome::Failed;
  }
  std::vector<Way> ways = allWays(seed);
  std::vector<Check> checks;
  for (const Way &way : ways)
    checks.push_back(checkOf(*trial, way));
  std::optional<Finding> finding = runApart(checks);
  if (!finding)
    return Outcome::Passed;
  report(std::move(*trial), seed, ways[finding->check], finding->wrong);
  return Outcome::Failed;
}

TEST(RandomModels, EqualTheInterpreter) {
  SeedRun run("models", /*full=*/40, /*small=*/60);
  while (std::optional<RandomSeed> seed = run.next())
    run.report(tryModel(*seed));
  RecordProperty("Models", std::to_string(run.tried()));
  std::printf("%lld random models in %.0f s\n", static_cast<long long>(run.tried()), run.seconds());
}

/// A busy machine makes everything last; only what computes without end hangs.
TEST(RandomModels, HangByTimeOfProcessors) {
  auto outcome = [](const std::function<void()> &work, Patience patience) {
    std::optional<Finding> found = runApart(Check{"work",
                                                  [&]() -> std::string {
                                                    work();
                                                    return "";
                                                  }},
                                            patience);
    return found ? found->wrong : "passes";
  };
  auto spin = [] {
    for (volatile int64_t i = 0;; i = i + 1)
      ;
  };
  auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); };
  EXPECT_EQ(outcome(spin, {/*processor=*/1, /*wall=*/600}), "hangs");
  EXPECT_EQ(outcome(sleep, {/*processor=*/1, /*wall=*/600}), "passes");
  EXPECT_EQ(outcome(sleep, {/*processor=*/600, /*wall=*/1}), "waits for what does not come");
}
