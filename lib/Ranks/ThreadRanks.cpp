//===- ThreadRanks.cpp - Ranks that are threads ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a call each rank shows what it has, waits until all have, takes what is its own, and waits until all have taken.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Ranks/ThreadRanks.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

using namespace gnnc;

namespace {

/// What a rank shows the others in a call.
struct Shown {
  const char *call = nullptr;
  const char *data = nullptr;
  const int64_t *sendCounts = nullptr, *receiveCounts = nullptr;
  int64_t bytes = 0; ///< of a row, or of what is gathered
};

gnnc_status fail(gnnc_error *error, const std::string &message) {
  if (error) {
    error->status = GNNC_COLLECTIVE_ERROR;
    std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
  }
  return GNNC_COLLECTIVE_ERROR;
}

} // namespace

struct ThreadRanks::Group {
  struct Member {
    Group *group;
    gnnc_collectives collectives;
  };

  Group(int size, Milliseconds patience) : size(size), patience(patience), members(size_t(size)), shown(size_t(size)) {
    for (int rank = 0; rank < size; ++rank) {
      Member &member = members[size_t(rank)];
      member.group = this;
      member.collectives = {sizeof(gnnc_collectives), rank, size, 1, &member, exchange, gather, gatherHost};
    }
  }

  /// Waits until all ranks are here; says what kept one from it, which all that wait find.
  std::string meet(int rank, const char *call) {
    std::unique_lock<std::mutex> lock(mutex);
    if (!broken.empty())
      return std::string(call) + ": " + broken;
    int64_t round = rounds;
    arrived[rank] = true;
    if (++numArrived == size) {
      endRound();
      return "";
    }
    bool isOver = changed.wait_for(lock, patience, [&] { return rounds != round || !broken.empty(); });
    if (rounds != round)
      return "";
    if (!isOver) {
      std::string missing;
      for (int other = 0; other < size; ++other)
        if (!arrived[other])
          missing += (missing.empty() ? "rank " : ", ") + std::to_string(other);
      broken = "waited " + std::to_string(patience.count()) + " ms for " + missing;
      changed.notify_all();
    }
    return std::string(call) + ": " + broken;
  }

  /// The same for ranks that have met in this call, all of which come: what they showed is looked at until then.
  void meetAgain() {
    std::unique_lock<std::mutex> lock(mutex);
    int64_t round = rounds;
    if (++numArrived == size)
      endRound();
    else
      changed.wait(lock, [&] { return rounds != round; });
  }

  void endRound() {
    numArrived = 0;
    arrived.assign(size_t(size), false);
    ++rounds;
    changed.notify_all();
  }

  void leave(int rank, const std::string &reason) {
    std::lock_guard<std::mutex> lock(mutex);
    if (broken.empty())
      broken = "rank " + std::to_string(rank) + " failed: " + reason;
    changed.notify_all();
  }

  /// All ranks find the same.
  std::string check() const {
    for (int rank = 1; rank < size; ++rank) {
      const Shown &first = shown[0], &own = shown[size_t(rank)];
      if (std::strcmp(own.call, first.call) != 0)
        return std::string("rank 0 calls ") + first.call + ", but rank " + std::to_string(rank) + " " + own.call;
      if (own.bytes != first.bytes)
        return std::string(own.call) + ": rank 0 has " + std::to_string(first.bytes) + " bytes each, but rank " +
               std::to_string(rank) + " " + std::to_string(own.bytes);
    }
    for (int a = 0; shown[0].sendCounts && a < size; ++a)
      for (int b = 0; b < size; ++b)
        if (int64_t sent = shown[size_t(a)].sendCounts[b], taken = shown[size_t(b)].receiveCounts[a]; sent != taken)
          return std::string(shown[0].call) + ": rank " + std::to_string(a) + " sends " + std::to_string(sent) +
                 " rows to rank " + std::to_string(b) + ", which expects " + std::to_string(taken);
    return "";
  }

  template <typename Take> gnnc_status call(int rank, const Shown &own, gnnc_error *error, Take take) {
    shown[size_t(rank)] = own;
    std::string failed = meet(rank, own.call);
    if (!failed.empty())
      return fail(error, failed);
    failed = check();
    if (failed.empty())
      take();
    meetAgain();
    return failed.empty() ? GNNC_OK : fail(error, failed);
  }

  static gnnc_status exchange(void *user, const void *send, const int64_t *sendCounts, void *receive,
                              const int64_t *receiveCounts, int64_t rowBytes, void *, gnnc_error *error) {
    const Member &member = *static_cast<Member *>(user);
    Group &group = *member.group;
    int self = member.collectives.rank;
    std::this_thread::sleep_for(Milliseconds(group.delay));
    return group.call(self, {"exchange", static_cast<const char *>(send), sendCounts, receiveCounts, rowBytes}, error,
                      [&] {
                        char *to = static_cast<char *>(receive);
                        int64_t others = 0;
                        for (int rank = 0; rank < group.size; ++rank) {
                          const Shown &from = group.shown[size_t(rank)];
                          int64_t before = 0, bytes = receiveCounts[rank] * rowBytes;
                          for (int other = 0; other < self; ++other)
                            before += from.sendCounts[other];
                          if (bytes > 0)
                            std::memcpy(to, from.data + before * rowBytes, size_t(bytes));
                          to += bytes;
                          others += rank == self ? 0 : bytes;
                        }
                        std::lock_guard<std::mutex> lock(group.mutex);
                        group.exchanged += others;
                      });
  }

  static gnnc_status gatherAs(const char *name, void *user, const void *own, void *all, int64_t bytes,
                              gnnc_error *error) {
    const Member &member = *static_cast<Member *>(user);
    Group &group = *member.group;
    return group.call(
        member.collectives.rank, {name, static_cast<const char *>(own), nullptr, nullptr, bytes}, error, [&] {
          for (int rank = 0; rank < group.size && bytes > 0; ++rank)
            std::memcpy(static_cast<char *>(all) + rank * bytes, group.shown[size_t(rank)].data, size_t(bytes));
        });
  }
  static gnnc_status gather(void *user, const void *own, void *all, int64_t bytes, void *, gnnc_error *error) {
    return gatherAs("gather", user, own, all, bytes, error);
  }
  static gnnc_status gatherHost(void *user, const void *own, void *all, int64_t bytes, gnnc_error *error) {
    return gatherAs("gather_host", user, own, all, bytes, error);
  }

  const int size;
  const Milliseconds patience;
  std::vector<Member> members;
  std::vector<Shown> shown;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> arrived = std::vector<bool>(size_t(size));
  int numArrived = 0;
  int64_t rounds = 0, exchanged = 0;
  std::atomic<int64_t> delay = 0; ///< milliseconds of each exchange
  std::string broken;             ///< why no call succeeds any more
};

ThreadRanks::ThreadRanks(int size, Milliseconds patience) : group(std::make_unique<Group>(size, patience)) {}

ThreadRanks::~ThreadRanks() = default;

int ThreadRanks::size() const { return group->size; }

const gnnc_collectives &ThreadRanks::collectives(int rank) const { return group->members[size_t(rank)].collectives; }

void ThreadRanks::leave(int rank, const std::string &reason) { group->leave(rank, reason); }

void ThreadRanks::delayExchanges(Milliseconds delay) { group->delay = delay.count(); }

int64_t ThreadRanks::bytesExchanged() const {
  std::lock_guard<std::mutex> lock(group->mutex);
  return group->exchanged;
}

std::string ThreadRanks::run(const std::function<std::string(int, const gnnc_collectives &)> &body) {
  std::mutex mutex;
  std::string first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < group->size; ++rank)
    threads.emplace_back([&, rank] {
      std::string failed = body(rank, collectives(rank));
      if (failed.empty())
        return;
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (first.empty())
          first = "rank " + std::to_string(rank) + ": " + failed;
      }
      leave(rank, failed);
    });
  for (std::thread &thread : threads)
    thread.join();
  return first;
}
