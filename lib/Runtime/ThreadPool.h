//===- ThreadPool.h - Threads that share the blocks of a step ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *region* is a number of independent blocks. The thread that starts a region works on it too, and any worker that is
// awake in time joins; all claim blocks from one counter. A region ends when its blocks are done and every worker that
// joined has left; a worker that wakes too late finds it closed and never delays it.
//
// A pool may have the host's threads instead of workers; then the host decides who joins, and waits for them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_THREADPOOL_H
#define GNNC_RUNTIME_THREADPOOL_H

#include "Memory.h"
#include <atomic>
#include <pthread.h>

namespace gnnc::runtime {

class ThreadPool {
public:
  using Body = void (*)(const void *argument, int64_t block);

  explicit ThreadPool(const gnnc_allocator &allocator) : memory(allocator) {}
  ~ThreadPool() { stop(); }

  /// Starts `threads - 1` workers (the caller of `run` is the other one), or with `parallel` none: it lends so many.
  gnnc_status start(int threads, gnnc_parallel parallel, gnnc_error *error);
  /// Waits for the workers to end.
  void stop();

  /// Calls `body` once for each block in [0, blocks), from any thread, and waits. May be called from several threads at
  /// once: while one region is in flight, the others run on their callers alone.
  void run(int64_t blocks, Body body, const void *argument);

private:
  static void *workerEntry(void *pool);
  void work();
  bool join();
  void leave();
  bool awaitRegion(uint32_t &seen);
  void awaitWorkers();
  void runBlocks();

  // Bits of `state`: workers inside the region, whether it takes more, whether its starter sleeps until they leave.
  static constexpr uint32_t kInside = 0xffff, kOpen = 1u << 16, kAwaited = 1u << 17;

  // What all threads write is kept apart from what they only read while they work.
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> state{0};
  alignas(64) std::atomic<uint32_t> epoch{0}; ///< counts regions; workers sleep on it
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  std::atomic<bool> busy{false};

  // The region in flight: written while none is open, read by those inside.
  int64_t numBlocks = 0;
  Body body = nullptr;
  const void *argument = nullptr;

  Memory memory;
  pthread_t *workers = nullptr;
  int numWorkers = 0;
  gnnc_parallel parallel = nullptr;
  int numLent = 0; ///< threads that `parallel` is asked for
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_THREADPOOL_H
