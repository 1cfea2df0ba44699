//===- RandomSeeds.cpp - Which random models a test tries -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomSeeds.h"
#include "TestModel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gnnc;
using namespace gnnc::test;

static llvm::StringRef variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// A mistake in a variable must not end as a test that ran nothing.
template <typename T> static T number(llvm::StringRef text, llvm::StringRef of) {
  T value = 0;
  bool wrong;
  if constexpr (std::is_floating_point_v<T>)
    wrong = text.getAsDouble(value);
  else
    wrong = text.getAsInteger(10, value);
  EXPECT_FALSE(wrong) << of.str() << ": expected a number, found '" << text.str() << "'";
  return value;
}

static BodySize bodyOf(llvm::StringRef text) {
  EXPECT_TRUE(text.empty() || text == "full" || text == "small") << "expected full or small, found " << text.str();
  return text == "small" ? BodySize::Small : BodySize::Full;
}

/// The lines `TEST SEED BODY` of RandomSeeds.txt for a test; `everything` may follow, and `#` begins a comment.
static std::vector<RandomSeed> regressions(const std::string &test) {
  std::vector<RandomSeed> seeds;
  auto buffer = llvm::MemoryBuffer::getFile(GNNC_RANDOM_SEEDS_FILE);
  EXPECT_TRUE(bool(buffer)) << GNNC_RANDOM_SEEDS_FILE << " is missing";
  if (!buffer)
    return seeds;
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> words;
    line.split('#').first.split(words, ' ', -1, /*KeepEmpty=*/false);
    if (words.empty())
      continue;
    bool isLong = words.size() == 4 && words[3] == "everything";
    EXPECT_TRUE(words.size() == 3 || isLong) << line.str();
    if (words.size() >= 3 && words[0] == test && (!isLong || testsEverything()))
      seeds.push_back({number<uint64_t>(words[1], GNNC_RANDOM_SEEDS_FILE), bodyOf(words[2])});
  }
  return seeds;
}

std::string test::toString(const RandomSeed &seed) {
  return "GNNC_RANDOM_SEED=" + std::to_string(seed.number) +
         (seed.body == BodySize::Small ? " GNNC_RANDOM_BODY=small" : "");
}

SeedRun::SeedRun(const std::string &test, int64_t full, int64_t small) {
  if (llvm::StringRef text = variable("GNNC_RANDOM_SECONDS"); !text.empty())
    mostSeconds = number<double>(text, "GNNC_RANDOM_SECONDS");
  if (llvm::StringRef text = variable("GNNC_RANDOM_FAILURES"); !text.empty())
    mostFailures = number<int64_t>(text, "GNNC_RANDOM_FAILURES");
  if (llvm::StringRef text = variable("GNNC_RANDOM_LOG"); !text.empty()) {
    log.reset(std::fopen(text.str().c_str(), "a"));
    EXPECT_TRUE(bool(log)) << "cannot write " << text.str();
  }
  following.body = bodyOf(variable("GNNC_RANDOM_BODY"));
  if (llvm::StringRef text = variable("GNNC_RANDOM_SEEDS"); !text.empty()) {
    auto [first, last] = text.split(':');
    following.number = number<uint64_t>(first, "GNNC_RANDOM_SEEDS");
    end = last.empty() ? following.number + 1 : number<uint64_t>(last, "GNNC_RANDOM_SEEDS");
  } else if (llvm::StringRef text = variable("GNNC_RANDOM_SEED"); !text.empty()) {
    following.number = number<uint64_t>(text, "GNNC_RANDOM_SEED");
    bool many = !variable("GNNC_RANDOM_SECONDS").empty();
    end = many ? std::numeric_limits<uint64_t>::max() : following.number + 1;
  } else {
    fixed = regressions(test);
    for (auto [count, body] : {std::pair(full, BodySize::Full), std::pair(small, BodySize::Small)})
      for (int64_t seed = 1; seed <= count; ++seed)
        fixed.push_back({uint64_t(seed), body});
  }
}

double SeedRun::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::optional<RandomSeed> SeedRun::next() {
  // One seed runs however short the time.
  if (failures >= mostFailures || (outcomes > 0 && seconds() >= mostSeconds))
    return std::nullopt;
  if (position < fixed.size())
    current = fixed[position++];
  else if (following.number < end) {
    current = following;
    ++following.number;
  } else
    return std::nullopt;
  return current;
}

void SeedRun::report(Outcome outcome) {
  ++outcomes;
  unstables += outcome == Outcome::Unstable;
  failures += outcome == Outcome::Failed;
  if (!log)
    return;
  const char *name = outcome == Outcome::Passed ? "passed" : outcome == Outcome::Unstable ? "unstable" : "failed";
  std::fprintf(log.get(), "%llu %s\n", static_cast<unsigned long long>(current.number), name);
  std::fflush(log.get());
}
