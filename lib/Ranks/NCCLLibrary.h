//===- NCCLLibrary.h - What is used of NCCL and the CUDA driver -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declared here by their names in NCCL 2 and the driver since CUDA 11, so that neither is needed to build.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_RANKS_NCCLLIBRARY_H
#define GNNC_LIB_RANKS_NCCLLIBRARY_H

#include <cstddef>
#include <string>

namespace gnnc::nccl {

using Handle = void *; ///< of a context, stream or event
using Comm = void *;
struct UniqueId {
  char internal[128];
};

constexpr int kBytes = 0;      ///< ncclInt8
constexpr int kInProgress = 7; ///< ncclInProgress

struct Library {
  /// Says why it cannot be loaded; empty: it is.
  std::string load();

  int (*getUniqueId)(UniqueId *id) = nullptr;
  int (*commInitRank)(Comm *comm, int size, UniqueId id, int rank) = nullptr;
  int (*commDestroy)(Comm comm) = nullptr;
  int (*commAbort)(Comm comm) = nullptr;
  int (*commGetAsyncError)(Comm comm, int *error) = nullptr;
  const char *(*getErrorString)(int error) = nullptr;
  int (*groupStart)() = nullptr;
  int (*groupEnd)() = nullptr;
  int (*send)(const void *data, size_t count, int type, int peer, Comm comm, Handle stream) = nullptr;
  int (*recv)(void *data, size_t count, int type, int peer, Comm comm, Handle stream) = nullptr;
  int (*allGather)(const void *own, void *all, size_t count, int type, Comm comm, Handle stream) = nullptr;

  int (*init)(unsigned flags) = nullptr;
  int (*deviceGet)(int *device, int ordinal) = nullptr;
  int (*retainContext)(Handle *context, int device) = nullptr;
  int (*releaseContext)(int device) = nullptr;
  int (*pushContext)(Handle context) = nullptr;
  int (*popContext)(Handle *context) = nullptr;
  int (*eventCreate)(Handle *event, unsigned flags) = nullptr;
  int (*eventRecord)(Handle event, Handle stream) = nullptr;
  int (*eventQuery)(Handle event) = nullptr;
  int (*eventDestroy)(Handle event) = nullptr;
  int (*streamIsCapturing)(Handle stream, int *captured) = nullptr;
};

} // namespace gnnc::nccl

#endif // GNNC_LIB_RANKS_NCCLLIBRARY_H
