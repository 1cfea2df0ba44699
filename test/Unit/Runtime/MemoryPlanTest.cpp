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
  std::vector<int64_t> scratch(2 * items.size());
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

} // namespace
