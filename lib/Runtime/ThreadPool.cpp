//===- ThreadPool.cpp - Threads that share the blocks of a step -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waiting is a short spin, because steps follow each other closely, and then a futex, because models do not.
//
// Why no wake-up is lost: a worker adds itself to `sleepers` and then lets the kernel compare `epoch` with the value it
// has seen; the starter advances `epoch` and then reads `sleepers`. All four are sequentially consistent, so either the
// starter sees the sleeper or the kernel sees the new epoch.
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"
#include "Error.h"
#include "Processor.h"
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gnnc::runtime {

constexpr int kSpins = 2000;

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Sleeps while `word` holds `value`; may return early.
static void sleepWhile(std::atomic<uint32_t> &word, uint32_t value) {
  static_assert(sizeof word == sizeof(uint32_t));
  int saved = errno;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  errno = saved;
}

static void wake(std::atomic<uint32_t> &word, int64_t count) {
  int saved = errno;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, static_cast<int>(count), nullptr, nullptr, 0);
  errno = saved;
}

gnnc_status ThreadPool::start(int threads, gnnc_parallel lend, gnnc_error *error) {
  if (threads <= 1)
    return GNNC_OK;
  if (lend) {
    parallel = lend;
    numLent = threads;
    return GNNC_OK;
  }
  workers = memory.array<pthread_t>(threads - 1);
  if (!workers)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for %d threads", threads);
  // The workers belong to a library: signals are the program's business.
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  gnnc_status status = GNNC_OK;
  for (; numWorkers < threads - 1; ++numWorkers)
    if (pthread_create(&workers[numWorkers], nullptr, workerEntry, this) != 0) {
      status = fail(error, GNNC_OUT_OF_MEMORY, "the system refused to start thread %d of %d", numWorkers + 2, threads);
      break;
    }
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  if (status != GNNC_OK)
    stop();
  return status;
}

void ThreadPool::stop() {
  stopping.store(true);
  epoch.fetch_add(1);
  wake(epoch, INT32_MAX);
  for (int i = 0; i < numWorkers; ++i)
    pthread_join(workers[i], nullptr);
  numWorkers = 0;
  memory.releaseAll();
}

namespace {

/// A region that the host's threads work on. Any number of them are in flight.
struct LentRegion {
  ThreadPool::Body body;
  const void *argument;
  int64_t blocks;
  std::atomic<int64_t> next{0};
};

} // namespace

static void workOnLentRegion(void *data) {
  DefaultFloatMode mode;
  auto &region = *static_cast<LentRegion *>(data);
  for (int64_t block; (block = region.next.fetch_add(1, std::memory_order_relaxed)) < region.blocks;)
    region.body(region.argument, block);
}

void ThreadPool::run(int64_t blocks, Body newBody, const void *newArgument) {
  if (parallel && blocks > 1) {
    // Always as many threads: runtimes of OpenMP end those that one region has too many, and start them again.
    LentRegion region{newBody, newArgument, blocks};
    parallel(workOnLentRegion, &region, static_cast<unsigned>(numLent), 0);
    return;
  }
  if (blocks <= 1 || numWorkers == 0 || busy.exchange(true, std::memory_order_acquire)) {
    for (int64_t block = 0; block < blocks; ++block)
      newBody(newArgument, block);
    return;
  }
  numBlocks = blocks;
  body = newBody;
  argument = newArgument;
  next.store(0, std::memory_order_relaxed);
  state.store(kOpen, std::memory_order_release);
  epoch.fetch_add(1);
  if (uint32_t asleep = sleepers.load())
    wake(epoch, asleep < blocks - 1 ? asleep : blocks - 1);
  runBlocks();
  awaitWorkers();
  busy.store(false, std::memory_order_release);
}

void ThreadPool::runBlocks() {
  int64_t count = numBlocks;
  for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < count;)
    body(argument, block);
}

/// Closes the region and waits until all workers have left it.
void ThreadPool::awaitWorkers() {
  uint32_t current = state.fetch_and(~kOpen, std::memory_order_acquire) & ~kOpen;
  for (int spin = 0; current != 0 && spin < kSpins; ++spin) {
    pause();
    current = state.load(std::memory_order_acquire);
  }
  if (current == 0)
    return;
  current = state.fetch_or(kAwaited, std::memory_order_acquire) | kAwaited;
  while (current & kInside) {
    sleepWhile(state, current);
    current = state.load(std::memory_order_acquire);
  }
}

bool ThreadPool::join() {
  uint32_t current = state.load(std::memory_order_relaxed);
  while (current & kOpen)
    if (state.compare_exchange_weak(current, current + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void ThreadPool::leave() {
  uint32_t current = state.fetch_sub(1, std::memory_order_release) - 1;
  if ((current & kAwaited) && (current & kInside) == 0)
    wake(state, 1);
}

/// Waits for a region that this worker has not seen; false when the pool stops.
bool ThreadPool::awaitRegion(uint32_t &seen) {
  uint32_t current = epoch.load();
  for (int spin = 0; current == seen && spin < kSpins; ++spin) {
    pause();
    current = epoch.load(std::memory_order_acquire);
  }
  while (current == seen) {
    sleepers.fetch_add(1);
    sleepWhile(epoch, seen);
    sleepers.fetch_sub(1);
    current = epoch.load();
  }
  seen = current;
  return !stopping.load();
}

void ThreadPool::work() {
  DefaultFloatMode mode;
  uint32_t seen = 0;
  while (awaitRegion(seen))
    if (join()) {
      runBlocks();
      leave();
    }
}

void *ThreadPool::workerEntry(void *pool) {
  static_cast<ThreadPool *>(pool)->work();
  return nullptr;
}

} // namespace gnnc::runtime
