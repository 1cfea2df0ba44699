//===- Repeats.h - Calls that are run again and again -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop runs a prepared call with the same addresses again and again: an allocator that caches gives back what it had.
// From the third time on such a run is recorded, and launched as a whole, which takes the host as long as one kernel;
// steps that need not wait for each other run side by side. Calls with other addresses are launched kernel by kernel.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_REPEATS_H
#define GNNC_RUNTIME_CUDA_REPEATS_H

#include "../Memory.h"
#include "../Parts.h"
#include "Driver.h"
#include <pthread.h>

namespace gnnc::runtime::cuda {

class Device;

/// What is known of the runs of one call. Whoever has not got the lock launches kernel by kernel.
struct Repeats {
  explicit Repeats(const gnnc_allocator &allocator) : memory(allocator) {}
  GNNC_OF_PART ~Repeats();
  Repeats(const Repeats &) = delete;
  Repeats &operator=(const Repeats &) = delete;

  /// Runs with the same addresses.
  struct Addresses {
    const void **all = nullptr; ///< the caller's, then the workspace; null: none yet
    int64_t runs = 0;
    int64_t last = 0; ///< the number of the last of them among all runs of the call
    Handle executable = nullptr;
  };
  /// As many sets of addresses as an allocator may take turns with.
  static constexpr int64_t kSets = 4;

  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Memory memory;
  Addresses sets[kSets];
  int64_t runs = 0;
  Device *device = nullptr; ///< where something is recorded
  bool cannot = false;      ///< recording failed
};

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_REPEATS_H
