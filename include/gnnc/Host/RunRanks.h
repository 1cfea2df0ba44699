//===- RunRanks.h - The ranks of a run --------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that `mpirun` has started several times is one rank of each. MPI itself is in a library of its own
// (gnnc-c/gnnc_mpi.h), which is loaded then and not before.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_RUNRANKS_H
#define GNNC_HOST_RUNRANKS_H

#include "gnnc-c/gnnc.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

struct gnnc_mpi;

namespace gnnc {

class RunRanks {
public:
  /// How many processes a launcher of MPI programs has started; 1 if none has.
  static int launched();
  /// Which of the processes on this machine this is, and how many there are, as the launcher says; else 0 of 1.
  static int localRank();
  static int localSize();

  /// The ranks that a launcher has started. `library`: the file of gnnc_mpi. A collective that waits for longer than
  /// `timeout` seconds fails (0: never).
  static llvm::Expected<std::unique_ptr<RunRanks>> open(llvm::StringRef library, double timeout);
  /// Ranks that someone else has functions for; they must outlive the result.
  explicit RunRanks(const gnnc_collectives &collectives);
  ~RunRanks();
  RunRanks(const RunRanks &) = delete;
  RunRanks &operator=(const RunRanks &) = delete;

  int rank() const { return functions->rank; }
  int size() const { return functions->size; }
  /// Of the host's memory.
  const gnnc_collectives &collectives() const { return *functions; }

  /// Lets rows move between the ranks' CUDA devices, this rank's being number `device`, by NCCL. Called by all ranks.
  /// `path`: the file of gnnc_nccl. Returns why that cannot be, the same on all ranks; empty: it is so.
  llvm::Expected<std::string> useDevice(llvm::StringRef path, int device, double timeout);
  /// Of a device's memory where `useDevice` found a way; else of the host's.
  const gnnc_collectives &collectivesOfDevice() const;
  /// Whether what moved between devices arrived: what is given up in the middle of a run ends like anything else there.
  llvm::Error check() const;

  // All ranks call these together.
  llvm::Error barrier() const;
  /// `bytes` of each rank, by rank, at `all`.
  llvm::Error gather(const void *own, void *all, size_t bytes) const;
  /// Rows of all ranks, by rank, on rank 0; nothing elsewhere. Rows of all ranks are as wide.
  llvm::Expected<std::vector<char>> collect(const void *rows, int64_t count, int64_t rowBytes) const;
  /// What rank 0 has.
  llvm::Expected<int64_t> ofFirst(int64_t value) const;

  /// Ends all ranks: this one has failed.
  void abort(int status);

private:
  struct Library;
  struct DeviceLibrary;
  const gnnc_collectives *functions = nullptr;
  std::unique_ptr<Library> library;
  std::unique_ptr<DeviceLibrary> ofDevice;
};

} // namespace gnnc

#endif // GNNC_HOST_RUNRANKS_H
