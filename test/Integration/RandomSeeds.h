//===- RandomSeeds.h - Which random models a test tries ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A random test runs a fixed list, whatever the machine's speed: first every seed that once found something
// (RandomSeeds.txt), then a fixed number of others. By hand or from a campaign (test/Fuzz/campaign.py) it runs others:
//
//   GNNC_RANDOM_SEEDS     FIRST:LAST, the seeds from FIRST up to but without LAST; or one seed
//   GNNC_RANDOM_BODY      `full` (the default) or `small`: how much a seed's model computes
//   GNNC_RANDOM_SECONDS   stop after the seed during which this time has passed
//   GNNC_RANDOM_SEED      the first seed: alone, or with GNNC_RANDOM_SECONDS as many as fit
//   GNNC_RANDOM_FAILURES  stop after this many failures (the default: 1)
//   GNNC_RANDOM_LOG       the file to which each seed's outcome is appended: `NUMBER passed|unstable|failed`
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANDOMSEEDS_H
#define GNNC_TEST_INTEGRATION_RANDOMSEEDS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::test {

/// How much a random model computes, and how much work its compilation is (allWays). Most bugs of one operation or of a
/// few together show in small models too, of which several run in the time of a full one.
enum class BodySize { Full, Small };

struct RandomSeed {
  uint64_t number = 0;
  BodySize body = BodySize::Full;
};
/// As environment variables say it: "GNNC_RANDOM_SEED=7 GNNC_RANDOM_BODY=small".
std::string toString(const RandomSeed &seed);

/// What came of a seed. Unstable: the model's numbers jump within the rounding errors of its inputs, so nothing can be
/// said of them; or the model is refused.
enum class Outcome { Passed, Unstable, Failed };

/// The seeds of one test in order: `next` until there is none, `report` after each.
class SeedRun {
public:
  /// `test`: its name in RandomSeeds.txt. `full` and `small`: how many seeds from 1 on continuous integration runs
  /// with bodies of either size.
  SeedRun(const std::string &test, int64_t full, int64_t small);

  /// The next seed; none once all have run, time is over or too many have failed.
  std::optional<RandomSeed> next();
  void report(Outcome outcome);

  int64_t tried() const { return outcomes; }
  int64_t unstable() const { return unstables; }
  double seconds() const;

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::vector<RandomSeed> fixed; ///< run first, in order
  RandomSeed following;          ///< then from this one on
  uint64_t end = 0;              ///< up to but without this one
  size_t position = 0;
  RandomSeed current;
  int64_t outcomes = 0, unstables = 0, failures = 0, mostFailures = 1;
  double mostSeconds = std::numeric_limits<double>::infinity();
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::unique_ptr<std::FILE, Close> log;
};

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANDOMSEEDS_H
