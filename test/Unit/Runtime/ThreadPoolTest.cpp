//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace gnnc::runtime;

namespace {

using Counts = std::vector<std::atomic<int>>;

void countBlock(const void *argument, int64_t block) {
  (*const_cast<Counts *>(static_cast<const Counts *>(argument)))[block].fetch_add(1, std::memory_order_relaxed);
}

void expectAll(const Counts &counts, int value) {
  for (const auto &count : counts)
    EXPECT_EQ(count.load(), value);
}

void runFromSeveralThreads(ThreadPool &pool, int times) {
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      Counts counts(33);
      for (int i = 0; i < times; ++i)
        pool.run(33, countBlock, &counts);
      expectAll(counts, times);
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, EveryBlockRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(defaultAllocator());
    ASSERT_EQ(pool.start(threads, nullptr, nullptr), GNNC_OK);
    for (int64_t blocks : {0, 1, 2, 7, 1000}) {
      Counts counts(blocks);
      for (int i = 0; i < 50; ++i)
        pool.run(blocks, countBlock, &counts);
      expectAll(counts, 50);
    }
  }
}

TEST(ThreadPool, RegionsAfterASleep) {
  ThreadPool pool(defaultAllocator());
  ASSERT_EQ(pool.start(4, nullptr, nullptr), GNNC_OK);
  Counts counts(64);
  for (int i = 0; i < 20; ++i) {
    usleep(2000); // longer than workers spin
    pool.run(64, countBlock, &counts);
  }
  expectAll(counts, 20);
}

TEST(ThreadPool, SlowBlocksAreAwaited) {
  ThreadPool pool(defaultAllocator());
  ASSERT_EQ(pool.start(4, nullptr, nullptr), GNNC_OK);
  Counts counts(8);
  auto slow = [](const void *argument, int64_t block) {
    usleep(block % 2 ? 3000 : 10);
    countBlock(argument, block);
  };
  for (int i = 1; i <= 5; ++i) {
    pool.run(8, slow, &counts);
    expectAll(counts, i);
  }
}

TEST(ThreadPool, SeveralCallers) {
  ThreadPool pool(defaultAllocator());
  ASSERT_EQ(pool.start(3, nullptr, nullptr), GNNC_OK);
  runFromSeveralThreads(pool, 500);
}

TEST(ThreadPool, StartsAndStops) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(defaultAllocator());
    ASSERT_EQ(pool.start(1 + i % 5, nullptr, nullptr), GNNC_OK);
    if (i % 3 == 0) {
      Counts counts(10);
      pool.run(10, countBlock, &counts);
      expectAll(counts, 1);
    }
  }
}

// Threads of the host: GOMP_parallel stands for those of OpenMP.

std::atomic<int> regions{0}, mostLent{0};

void lend(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
  EXPECT_EQ(flags, 0u);
  regions.fetch_add(1);
  mostLent.store(threads);
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(body, data);
  body(data);
  for (std::thread &other : others)
    other.join();
}

void lendNone(void (*body)(void *), void *data, unsigned, unsigned) { body(data); }

TEST(ThreadPool, ThreadsOfTheHost) {
  for (int64_t blocks : {2, 7, 1000}) {
    ThreadPool pool(defaultAllocator());
    ASSERT_EQ(pool.start(4, lend, nullptr), GNNC_OK);
    Counts counts(blocks);
    regions.store(0);
    for (int i = 0; i < 20; ++i)
      pool.run(blocks, countBlock, &counts);
    expectAll(counts, 20);
    EXPECT_EQ(regions.load(), 20);
    EXPECT_EQ(mostLent.load(), 4) << "runtimes of OpenMP are slow where the number changes";
  }
}

TEST(ThreadPool, ThreadsOfTheHostAreNotAskedForInVain) {
  regions.store(0);
  for (auto [threads, blocks] : {std::pair{4, 1}, {4, 0}, {1, 9}}) {
    ThreadPool pool(defaultAllocator());
    ASSERT_EQ(pool.start(threads, lend, nullptr), GNNC_OK);
    Counts counts(blocks);
    pool.run(blocks, countBlock, &counts);
    expectAll(counts, 1);
  }
  EXPECT_EQ(regions.load(), 0);
}

TEST(ThreadPool, SeveralCallersWithThreadsOfTheHost) {
  for (gnnc_parallel parallel : {lend, lendNone}) {
    ThreadPool pool(defaultAllocator());
    ASSERT_EQ(pool.start(3, parallel, nullptr), GNNC_OK);
    runFromSeveralThreads(pool, 50);
  }
}

} // namespace
