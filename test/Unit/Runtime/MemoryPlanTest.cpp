//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace gnnc::runtime;

namespace {

int64_t plan(std::vector<Lifetime> &items) {
  std::vector<int64_t> scratch(kPlanWords * items.size());
  int64_t total;
  planMemory(items.data(), static_cast<int64_t>(items.size()), scratch.data(), total);
  return total;
}

int64_t rounded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

TEST(MemoryPlan, LiveBuffersDoNotOverlap) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Lifetime> items(random() % 40);
    int64_t sum = 0, peak = 0;
    for (Lifetime &item : items) {
      item.first = random() % 20;
      item.last = item.first + random() % 6 - 1; // some never live
      item.bytes = random() % 4 == 0 ? 0 : random() % 10000;
      sum += rounded(item.bytes);
    }
    for (int64_t step = 0; step < 30; ++step) {
      int64_t live = 0;
      for (const Lifetime &item : items)
        live += item.first <= step && step <= item.last ? rounded(item.bytes) : 0;
      peak = std::max(peak, live);
    }
    int64_t total = plan(items);
    EXPECT_GE(total, peak);
    EXPECT_LE(total, sum);
    for (size_t i = 0; i < items.size(); ++i) {
      const Lifetime &a = items[i];
      EXPECT_EQ(a.offset % kAlignment, 0);
      if (a.first > a.last)
        continue;
      EXPECT_LE(a.offset + a.bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const Lifetime &b = items[j];
        if (b.first > b.last || a.last < b.first || b.last < a.first || a.bytes == 0 || b.bytes == 0)
          continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
  }
}

TEST(MemoryPlan, MemoryIsUsedAgain) {
  // A chain: each value dies after the next is made. Two places suffice.
  std::vector<Lifetime> chain;
  for (int64_t i = 0; i < 10; ++i)
    chain.push_back({1000, i, i + 1, 0});
  EXPECT_EQ(plan(chain), 2 * 1024);
}

TEST(MemoryPlan, TheSmallestGapIsTaken) {
  // Three long-lived ones leave gaps of 1024 (in steps 0-1, below) and 512; the small one goes into the small gap.
  std::vector<Lifetime> items{{4096, 0, 1, 0}, {2048, 1, 2, 0}, {1024, 0, 0, 0}, {512, 0, 0, 0}};
  EXPECT_EQ(plan(items), 4096 + 2048);
  EXPECT_EQ(items[2].offset, 4096);
  EXPECT_EQ(items[3].offset, 4096 + 1024);
}

TEST(MemoryPlan, WhatSticksOutIsPlacedFirst) {
  // By falling size, the two of 3 units lie on top of each other and leave no room for the long one of 2 beside the
  // last of 3: 8 units. Placed first, it needs none: never more than 6 are alive.
  constexpr int64_t unit = kAlignment;
  std::vector<Lifetime> items{{3 * unit, 0, 1, 0}, {3 * unit, 1, 2, 0}, {3 * unit, 3, 4, 0},
                              {2 * unit, 2, 3, 0}, {1 * unit, 2, 2, 0}, {1 * unit, 3, 3, 0}};
  EXPECT_EQ(plan(items), 6 * unit);
}

TEST(MemoryPlan, IsCloseToTheLargestSum) {
  // Values of a network: each made in a step, most read in the next ones, some by a backward half much later.
  std::mt19937 random(7);
  double worst = 0, sum = 0;
  int trials = 300, late = 0;
  for (int trial = 0; trial < trials; ++trial) {
    int64_t steps = 10 + random() % 40;
    std::vector<Lifetime> items;
    for (int64_t step = 0; step < steps; ++step)
      for (uint64_t k = random() % 3; k-- > 0;) {
        int64_t last = random() % 4 == 0 ? std::max(step, 2 * steps - step - 1) : step + 1 + int64_t(random() % 3);
        items.push_back({int64_t(1 + random() % 20) * 1000 * (random() % 5 == 0 ? 20 : 1), step, last, 0});
      }
    if (items.empty())
      continue;
    int64_t peak = 0;
    for (int64_t step = 0; step < 3 * steps; ++step) {
      int64_t live = 0;
      for (const Lifetime &item : items)
        live += item.first <= step && step <= item.last ? rounded(item.bytes) : 0;
      peak = std::max(peak, live);
    }
    double ratio = double(plan(items)) / double(peak);
    worst = std::max(worst, ratio);
    sum += ratio;
    late += ratio > 1.1;
  }
  EXPECT_LE(worst, 1.2);
  EXPECT_LE(late, trials / 50);
  EXPECT_LE(sum / trials, 1.02);
  std::printf("%g times the largest sum at worst, %g on average, above 1.1 in %d of %d\n", worst, sum / trials, late,
              trials);
}

TEST(MemoryPlan, ManyBuffersAreTriedInOtherOrdersWhereTheyAreLarge) {
  // A deep model on a small graph has hundreds of buffers and little memory: there the first order does.
  std::mt19937 random(3);
  int better = 0;
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<Lifetime> small;
    for (int64_t step = 0; step < 400; ++step) {
      int64_t last = random() % 4 == 0 ? std::max<int64_t>(step, 799 - step) : step + 1 + int64_t(random() % 3);
      small.push_back({int64_t(1 + random() % 20) * kAlignment * (random() % 5 == 0 ? 20 : 1), step, last, 0});
    }
    std::vector<Lifetime> large = small;
    for (Lifetime &item : large)
      item.bytes *= 10000;
    int64_t first = plan(small), best = plan(large);
    EXPECT_LE(best, first * 10000);
    better += best < first * 10000;
  }
  EXPECT_GT(better, 0);
}

TEST(MemoryPlan, OverflowIsSeen) {
  std::vector<Lifetime> items{{INT64_MAX - 100, 0, 1, 0}, {4096, 0, 1, 0}};
  EXPECT_EQ(plan(items), -1);
  items = {{INT64_MAX, 0, 1, 0}};
  EXPECT_EQ(plan(items), -1);
}

TEST(MemoryPlan, Nothing) {
  std::vector<Lifetime> items;
  EXPECT_EQ(plan(items), 0);
}

/// Plans of one model's graphs begin with the order that was good before, and are as good as without it.
TEST(MemoryPlan, OrdersAreLearnt) {
  std::mt19937 random(5);
  std::vector<Lifetime> items(60);
  for (Lifetime &item : items) {
    item.first = random() % 30;
    item.last = item.first + random() % 9;
    item.bytes = 64 * (1 + random() % 400);
  }
  std::vector<int64_t> scratch(kPlanWords * items.size()), room(sizeof(PlanOrder) / sizeof(int64_t) + items.size());
  auto *known = new (room.data()) PlanOrder{int64_t(items.size())};
  auto planWith = [&](std::vector<Lifetime> own) {
    int64_t total;
    planMemory(own.data(), int64_t(own.size()), scratch.data(), total, known);
    for (const Lifetime &a : own)
      for (const Lifetime &b : own)
        if (&a != &b && a.first <= b.last && b.first <= a.last)
          EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    return total;
  };
  int64_t alone = plan(items);
  EXPECT_EQ(planWith(items), alone);
  EXPECT_EQ(known->count, int64_t(items.size()));
  std::vector<int64_t> learnt(known->items(), known->items() + known->count);
  EXPECT_EQ(planWith(items), alone) << "the same graph again";
  for (int scale : {2, 3, 7}) { // larger graphs, whose buffers are in proportion
    std::vector<Lifetime> larger = items;
    for (Lifetime &item : larger)
      item.bytes *= scale;
    EXPECT_EQ(planWith(larger), scale * alone);
  }
  EXPECT_EQ(learnt, std::vector<int64_t>(known->items(), known->items() + known->count)) << "nothing else was tried";
  // Other buffers are not placed by an order that lacks them.
  std::vector<Lifetime> fewer = items;
  fewer[3].bytes = fewer[7].bytes = 0;
  EXPECT_EQ(planWith(fewer), plan(fewer));
  EXPECT_EQ(known->count, int64_t(items.size()) - 2);
}

} // namespace
