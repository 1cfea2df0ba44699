//===- RandomModelsTest.cpp - Random models equal the interpreter ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed is a model and a few graphs. They run for a bounded time, from a fixed seed on, so that a failure is the
// same everywhere. A failure prints its seed and a smaller model that still fails, as JSON.
//
//   GNNC_RANDOM_SECONDS   how long new seeds are tried (0: one seed)
//   GNNC_RANDOM_SEED      the first seed
//   GNNC_RANDOM_FAILURES  after how many failures to stop
//   GNNC_DEVICE_CASES     the folder to write cases for GPUs to, instead of running anything
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "RandomTrial.h"

#include "gnnc/Frontend/JSON.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

using namespace gnnc;
using namespace gnnc::test;

/// As long as continuous integration may take for this.
static constexpr double kSeconds = 40;
static constexpr double kShrinkSeconds = 60;

static double setting(const char *name, double otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtod(text, nullptr) : otherwise;
}

static void report(Trial trial, uint64_t seed, const Way &way, const std::string &wrong) {
  std::string last = wrong;
  shrink(
      trial,
      [&](const Trial &smaller) {
        std::string still = checkApart(smaller, way);
        if (!still.empty())
          last = still;
        return !still.empty();
      },
      kShrinkSeconds);
  ADD_FAILURE() << "GNNC_RANDOM_SEED=" << seed << ": " << way.name() << ": " << wrong
                << "\nThis is a smaller one: " << last << "\n"
                << frontend::writeJSON(trial.model, /*locations=*/false);
}

TEST(RandomModels, EqualTheInterpreter) {
  auto begin = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  uint64_t seed = uint64_t(setting("GNNC_RANDOM_SEED", 1));
  double seconds = setting("GNNC_RANDOM_SECONDS", kSeconds);
  int64_t trials = 0, failures = 0, most = int64_t(setting("GNNC_RANDOM_FAILURES", 1));
  do {
    llvm::Expected<Trial> trial = makeRandomTrial(seed);
    if (!trial) {
      ADD_FAILURE() << "GNNC_RANDOM_SEED=" << seed << ": the interpreter fails: " << llvm::toString(trial.takeError());
      ++failures;
    } else {
      llvm::Error error = record(*trial, /*unfused=*/seed % 4 == 0);
      EXPECT_FALSE(bool(error)) << "GNNC_RANDOM_SEED=" << seed << ": " << llvm::toString(std::move(error));
      for (const Way &way : isRecordingForDevice() ? std::vector<Way>() : allWays())
        if (std::string wrong = checkApart(*trial, way); !wrong.empty()) {
          report(std::move(*trial), seed, way, wrong);
          ++failures;
          break;
        }
    }
    ++trials;
    ++seed;
  } while (elapsed() < seconds && failures < most);
  RecordProperty("Models", std::to_string(trials));
  std::printf("%lld random models in %.0f s\n", static_cast<long long>(trials), elapsed());
}
