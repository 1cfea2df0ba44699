//===- MPIRanks.cpp - Collectives over MPI --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All calls are started and then looked at until they are done, so that one that waits for a rank that is gone ends.
// Between looks other processes may run: on a machine with fewer cores than ranks they are who is waited for.
//
//===----------------------------------------------------------------------===//

// Of MPI the C interface alone.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "gnnc-c/gnnc_mpi.h"

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <thread>
#include <vector>

/// Counts of rows as MPI has them, and where each rank's rows begin.
struct RowRanges {
  std::vector<int> counts, begins;
};

struct gnnc_mpi {
  MPI_Comm communicator = MPI_COMM_NULL;
  RowRanges sent, received;    ///< of the last exchange: a call that is given up may read them for as long as MPI runs
  bool isBroken = false;       ///< a call was given up: what others send later is no answer to a new one
  bool isOurs = false;         ///< MPI itself is to be finalised
  bool isForOneThread = false; ///< MPI was initialised for calls of its main thread alone
  double timeout = 0;
  gnnc_collectives collectives = {};
};

namespace {

gnnc_status fail(gnnc_error *error, gnnc_status status, const char *call, const char *what) {
  if (error) {
    error->status = status;
    std::snprintf(error->message, sizeof error->message, "%s: %s", call, what);
  }
  return status;
}

gnnc_status failMPI(gnnc_error *error, const char *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(error, GNNC_COLLECTIVE_ERROR, call, text);
}

/// Waits until a call that was started is done.
gnnc_status finish(gnnc_mpi &mpi, MPI_Request &request, const char *call, gnnc_error *error) {
  using Clock = std::chrono::steady_clock;
  constexpr int kEager = 2000;
  Clock::time_point start = Clock::now();
  for (int looks = 0;; ++looks) {
    int isDone = 0;
    if (int code = MPI_Test(&request, &isDone, MPI_STATUS_IGNORE))
      return failMPI(error, call, code);
    if (isDone)
      return GNNC_OK;
    if (looks < kEager) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (mpi.timeout > 0 && waited > mpi.timeout) {
      char text[96];
      std::snprintf(text, sizeof text, "waited %.0f s for the other ranks", mpi.timeout);
      mpi.isBroken = true;
      return fail(error, GNNC_COLLECTIVE_ERROR, call, text);
    }
  }
}

/// Whether a call can be made, and by this thread.
gnnc_status check(const gnnc_mpi &mpi, const char *call, gnnc_error *error) {
  int isMain = 1;
  if (mpi.isForOneThread)
    MPI_Is_thread_main(&isMain);
  if (!isMain)
    return fail(error, GNNC_UNSUPPORTED, call,
                "it is called while kernels run, by another thread: expected MPI that was initialised for "
                "MPI_THREAD_SERIALIZED, found less");
  return mpi.isBroken ? fail(error, GNNC_COLLECTIVE_ERROR, call, "an earlier call was given up") : GNNC_OK;
}

/// False if the counts do not fit.
bool narrow(const int64_t *counts, int size, RowRanges &ranges) {
  ranges = {};
  int64_t sum = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (counts[rank] < 0 || counts[rank] > INT_MAX - sum)
      return false;
    ranges.begins.push_back(static_cast<int>(sum));
    ranges.counts.push_back(static_cast<int>(counts[rank]));
    sum += counts[rank];
  }
  return true;
}

gnnc_status exchange(void *user, const void *send, const int64_t *sendCounts, void *receive,
                     const int64_t *receiveCounts, int64_t rowBytes, void *, gnnc_error *error) {
  gnnc_mpi &mpi = *static_cast<gnnc_mpi *>(user);
  if (gnnc_status status = check(mpi, "exchange", error))
    return status;
  if (!narrow(sendCounts, mpi.collectives.size, mpi.sent) ||
      !narrow(receiveCounts, mpi.collectives.size, mpi.received) || rowBytes > INT_MAX)
    return fail(error, GNNC_UNSUPPORTED, "exchange", "expected fewer than 2^31 rows, and bytes a row");
  MPI_Datatype row;
  if (int code = MPI_Type_contiguous(static_cast<int>(rowBytes), MPI_BYTE, &row))
    return failMPI(error, "exchange", code);
  MPI_Type_commit(&row);
  MPI_Request request;
  int code = MPI_Ialltoallv(send, mpi.sent.counts.data(), mpi.sent.begins.data(), row, receive,
                            mpi.received.counts.data(), mpi.received.begins.data(), row, mpi.communicator, &request);
  gnnc_status status = code ? failMPI(error, "exchange", code) : finish(mpi, request, "exchange", error);
  MPI_Type_free(&row);
  return status;
}

gnnc_status gatherAs(const char *name, gnnc_mpi &mpi, const void *own, void *all, int64_t bytes, gnnc_error *error) {
  if (gnnc_status status = check(mpi, name, error))
    return status;
  MPI_Request request;
  // Counts are of one datatype with all the bytes, which may be more than an int has.
  constexpr int64_t kUnit = 1 << 20;
  MPI_Datatype units, whole;
  int code = MPI_Type_contiguous(static_cast<int>(kUnit), MPI_BYTE, &units);
  if (code || bytes / kUnit > INT_MAX)
    return code ? failMPI(error, name, code) : fail(error, GNNC_UNSUPPORTED, name, "too many bytes");
  int lengths[] = {static_cast<int>(bytes / kUnit), static_cast<int>(bytes % kUnit)};
  MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / kUnit * kUnit)};
  MPI_Datatype types[] = {units, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, places, types, &whole);
  MPI_Type_commit(&whole);
  code = bytes == 0 ? MPI_Ibarrier(mpi.communicator, &request)
                    : MPI_Iallgather(own, 1, whole, all, 1, whole, mpi.communicator, &request);
  gnnc_status status = code ? failMPI(error, name, code) : finish(mpi, request, name, error);
  MPI_Type_free(&whole);
  MPI_Type_free(&units);
  return status;
}

gnnc_status gather(void *user, const void *own, void *all, int64_t bytes, void *, gnnc_error *error) {
  return gatherAs("gather", *static_cast<gnnc_mpi *>(user), own, all, bytes, error);
}

gnnc_status gatherHost(void *user, const void *own, void *all, int64_t bytes, gnnc_error *error) {
  return gatherAs("gather_host", *static_cast<gnnc_mpi *>(user), own, all, bytes, error);
}

} // namespace

gnnc_status gnnc_mpi_open(const void *communicator, double timeout, gnnc_mpi **result, gnnc_error *error) {
  if (!result)
    return fail(error, GNNC_INVALID_ARGUMENT, "gnnc_mpi_open", "mpi is null");
  *result = nullptr;
  auto mpi = std::make_unique<gnnc_mpi>();
  int isInitialised = 0, level = 0;
  MPI_Initialized(&isInitialised);
  if (!isInitialised) {
    if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level))
      return failMPI(error, "MPI_Init", code);
    mpi->isOurs = true;
  }
  MPI_Query_thread(&level);
  mpi->isForOneThread = level < MPI_THREAD_SERIALIZED;
  MPI_Comm from = communicator ? *static_cast<const MPI_Comm *>(communicator) : MPI_COMM_WORLD;
  if (int code = MPI_Comm_dup(from, &mpi->communicator))
    return failMPI(error, "MPI_Comm_dup", code);
  // Errors are for whoever made the call.
  MPI_Comm_set_errhandler(mpi->communicator, MPI_ERRORS_RETURN);
  int rank = 0, size = 1;
  MPI_Comm_rank(mpi->communicator, &rank);
  MPI_Comm_size(mpi->communicator, &size);
  mpi->timeout = timeout;
  mpi->collectives = {sizeof(gnnc_collectives), rank, size, 1, mpi.get(), exchange, gather, gatherHost};
  *result = mpi.release();
  return GNNC_OK;
}

const gnnc_collectives *gnnc_mpi_collectives(const gnnc_mpi *mpi) { return &mpi->collectives; }

void gnnc_mpi_close(gnnc_mpi *mpi) {
  // A call that was given up is still under way in MPI, which would wait for it, and reads what is kept for it.
  if (!mpi || mpi->isBroken)
    return;
  MPI_Comm_free(&mpi->communicator);
  if (mpi->isOurs)
    MPI_Finalize();
  delete mpi;
}

void gnnc_mpi_abort(gnnc_mpi *mpi, int status) { MPI_Abort(mpi ? mpi->communicator : MPI_COMM_WORLD, status); }
