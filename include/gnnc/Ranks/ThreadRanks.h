//===- ThreadRanks.h - Ranks that are threads -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives among threads of one process, which copy from each other's memory. They need nothing else than the
// standard library, and say what is wrong when ranks do not make the same calls.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RANKS_THREADRANKS_H
#define GNNC_RANKS_THREADRANKS_H

#include "gnnc-c/gnnc.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace gnnc {

class ThreadRanks {
public:
  using Milliseconds = std::chrono::milliseconds;

  /// A call fails on all ranks if one does not come within `patience`.
  explicit ThreadRanks(int size, Milliseconds patience = Milliseconds(60000));
  ~ThreadRanks();
  ThreadRanks(const ThreadRanks &) = delete;
  ThreadRanks &operator=(const ThreadRanks &) = delete;

  int size() const;
  /// For the thread that is this rank. Belongs to this object.
  const gnnc_collectives &collectives(int rank) const;
  /// The rank makes no more calls: those of the others fail, and give the reason.
  void leave(int rank, const std::string &reason);
  /// From now on rows are on their way for so long, if nothing else keeps them.
  void delayExchanges(Milliseconds delay);
  /// Bytes that were received from other ranks by exchanges, by all of them together.
  int64_t bytesExchanged() const;

  /// Runs `body` as each rank on a thread of its own and waits for all of them. What `body` returns, unless it is
  /// empty, is why that rank failed, and it leaves with it. The result is that of the first rank that failed by itself,
  /// or empty.
  std::string run(const std::function<std::string(int rank, const gnnc_collectives &collectives)> &body);

private:
  struct Group;
  std::unique_ptr<Group> group;
};

} // namespace gnnc

#endif // GNNC_RANKS_THREADRANKS_H
