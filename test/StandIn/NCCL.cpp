//===- NCCL.cpp - A stand-in for NCCL, over MPI ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves what it is asked to between the memories of stand-ins for GPUs, which are the hosts'. Each process of MPI is
// one rank. The file that GNNC_STAND_IN_NCCL names gets a line when the first rank leaves: how many calls there were.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

enum { Success = 0, SystemError = 2 };

struct UniqueId {
  char internal[128];
};

struct Communicator {
  MPI_Comm comm = MPI_COMM_NULL;
  long long exchanges = 0, gathers = 0;
};

std::vector<MPI_Request> pending;
Communicator *used = nullptr;

int resultOf(int code) { return code == MPI_SUCCESS ? Success : SystemError; }

} // namespace

EXPORTED int ncclGetUniqueId(UniqueId *id) {
  memset(id->internal, 7, sizeof id->internal);
  return Success;
}

EXPORTED int ncclCommInitRank(void **comm, int, UniqueId id, int) {
  if (id.internal[0] != 7)
    return SystemError;
  auto *made = new Communicator;
  *comm = made;
  return resultOf(MPI_Comm_dup(MPI_COMM_WORLD, &made->comm));
}

EXPORTED int ncclCommDestroy(void *handle) {
  auto *of = static_cast<Communicator *>(handle);
  int rank = 0;
  MPI_Comm_rank(of->comm, &rank);
  if (const char *path = getenv("GNNC_STAND_IN_NCCL"); path && rank == 0)
    if (FILE *file = fopen(path, "w")) {
      fprintf(file, "%lld exchanges, %lld gathers\n", of->exchanges, of->gathers);
      fclose(file);
    }
  int code = MPI_Comm_free(&of->comm);
  delete of;
  return resultOf(code);
}

EXPORTED int ncclCommAbort(void *) { return Success; }

EXPORTED int ncclCommGetAsyncError(void *, int *error) { return *error = Success; }

EXPORTED const char *ncclGetErrorString(int code) { return code ? "system error" : "no error"; }

EXPORTED int ncclGroupStart() { return Success; }

EXPORTED int ncclGroupEnd() {
  int code = MPI_Waitall(int(pending.size()), pending.data(), MPI_STATUSES_IGNORE);
  if (!pending.empty())
    ++used->exchanges;
  pending.clear();
  return resultOf(code);
}

EXPORTED int ncclSend(const void *data, size_t count, int, int peer, void *comm, void *) {
  used = static_cast<Communicator *>(comm);
  return resultOf(MPI_Isend(data, int(count), MPI_BYTE, peer, 0, used->comm, &pending.emplace_back()));
}

EXPORTED int ncclRecv(void *data, size_t count, int, int peer, void *comm, void *) {
  used = static_cast<Communicator *>(comm);
  return resultOf(MPI_Irecv(data, int(count), MPI_BYTE, peer, 0, used->comm, &pending.emplace_back()));
}

EXPORTED int ncclAllGather(const void *own, void *all, size_t count, int, void *comm, void *) {
  used = static_cast<Communicator *>(comm);
  ++used->gathers;
  return resultOf(MPI_Allgather(own, int(count), MPI_BYTE, all, int(count), MPI_BYTE, used->comm));
}
