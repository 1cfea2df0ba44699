//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Run by mpirun, by any number of processes: rows arrive where they belong, values are gathered by rank, and a rank
// that waits for another one says for which call. Exits with 1, on one rank at least, where something is wrong.
//
//===----------------------------------------------------------------------===//

#include "gnnc-c/gnnc_mpi.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

int self = -1, wrong = 0;

void expect(bool holds, const std::string &what) {
  if (holds)
    return;
  std::printf("rank %d: %s\n", self, what.c_str());
  wrong = 1;
}

/// Rows from one rank to another; none for some.
int64_t rowsFor(int from, int to) { return (3 * from + 5 * to) % 4; }
float numberOf(int from, int to, int64_t row, int64_t column) {
  return float(((from * 8 + to) * 4 + int(row)) * 4 + int(column));
}

void testExchange(const gnnc_collectives &ranks) {
  constexpr int64_t kWidth = 3;
  std::vector<int64_t> sent, received;
  std::vector<float> send;
  int64_t arriving = 0;
  for (int rank = 0; rank < ranks.size; ++rank) {
    sent.push_back(rowsFor(self, rank));
    received.push_back(rowsFor(rank, self));
    arriving += received.back();
    for (int64_t row = 0; row < sent.back(); ++row)
      for (int64_t column = 0; column < kWidth; ++column)
        send.push_back(numberOf(self, rank, row, column));
  }
  std::vector<float> receive(size_t(arriving * kWidth), -1);
  gnnc_error error = {};
  expect(ranks.exchange(ranks.user, send.data(), sent.data(), receive.data(), received.data(), kWidth * 4, nullptr,
                        &error) == GNNC_OK,
         error.message);
  size_t next = 0;
  for (int rank = 0; rank < ranks.size; ++rank)
    for (int64_t row = 0; row < received[size_t(rank)]; ++row)
      for (int64_t column = 0; column < kWidth; ++column)
        expect(receive[next++] == numberOf(rank, self, row, column), "a row did not arrive");
}

void testGather(const gnnc_collectives &ranks, int64_t bytes) {
  std::vector<char> own(size_t(bytes), char('a' + self)), all(size_t(bytes * ranks.size), '-');
  gnnc_error error = {};
  for (bool isHost : {false, true}) {
    gnnc_status status = isHost ? ranks.gather_host(ranks.user, own.data(), all.data(), bytes, &error)
                                : ranks.gather(ranks.user, own.data(), all.data(), bytes, nullptr, &error);
    expect(status == GNNC_OK, error.message);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] != char('a' + int64_t(i) / bytes)) {
        expect(false, "gathered other bytes");
        break;
      }
  }
}

/// `waiting`: ranks that wait as long as it takes.
void testTimeout(const gnnc_collectives &waiting) {
  gnnc_mpi *mpi = nullptr;
  gnnc_error error = {};
  expect(gnnc_mpi_open(nullptr, 0.3, &mpi, &error) == GNNC_OK, error.message);
  const gnnc_collectives &ranks = *gnnc_mpi_collectives(mpi);
  // MPI may still use them when the call has been given up.
  static int64_t own = self;
  static std::vector<int64_t> all(size_t(ranks.size), -1);
  // The first is late: it comes when all others have given up, however long that takes on a busy machine.
  gnnc_error ofWaiting = {};
  auto meet = [&] {
    expect(waiting.gather_host(waiting.user, nullptr, nullptr, 0, &ofWaiting) == GNNC_OK, ofWaiting.message);
  };
  if (self == 0)
    meet();
  gnnc_status status = ranks.gather(ranks.user, &own, all.data(), sizeof own, nullptr, &error);
  if (self > 0) {
    expect(status == GNNC_COLLECTIVE_ERROR, "did not notice that a rank is late");
    expect(std::string(error.message).find("gather: waited") == 0, error.message);
    // What arrives late would be taken for an answer to the next call.
    std::vector<int64_t> none(size_t(ranks.size), 0);
    status = ranks.exchange(ranks.user, &own, none.data(), &own, none.data(), sizeof own, nullptr, &error);
    expect(status == GNNC_COLLECTIVE_ERROR, "a call after one that was given up");
    expect(std::string(error.message) == "exchange: an earlier call was given up", error.message);
    meet();
    gnnc_mpi_close(mpi);
  }
}

} // namespace

int main() {
  gnnc_mpi *mpi = nullptr;
  gnnc_error error = {};
  if (gnnc_mpi_open(nullptr, 60, &mpi, &error)) {
    std::printf("%s\n", error.message);
    return 1;
  }
  const gnnc_collectives &ranks = *gnnc_mpi_collectives(mpi);
  self = ranks.rank;
  testExchange(ranks);
  for (int64_t bytes : {1, 16, 5000, (1 << 20) + 12345})
    testGather(ranks, bytes);
  expect(ranks.gather_host(ranks.user, nullptr, nullptr, 0, &error) == GNNC_OK, error.message);
  if (ranks.size > 1)
    testTimeout(ranks);
  // All ranks know of each other's mistakes.
  int64_t own = wrong;
  std::vector<int64_t> all(size_t(ranks.size), 0);
  expect(ranks.gather_host(ranks.user, &own, all.data(), sizeof own, &error) == GNNC_OK, error.message);
  for (int64_t each : all)
    wrong |= each != 0;
  if (self == 0 && !wrong)
    std::printf("%d ranks: all is well\n", ranks.size);
  std::fflush(stdout);
  gnnc_mpi_close(mpi);
  return wrong;
}
