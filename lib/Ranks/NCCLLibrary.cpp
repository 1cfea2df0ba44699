//===- NCCLLibrary.cpp - What is used of NCCL and the CUDA driver ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NCCLLibrary.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace gnnc::nccl;

namespace {

struct Entry {
  const char *name;
  void **place;
};

/// Says what is missing of a library; it stays loaded.
template <size_t N> std::string loadAll(const char *file, const Entry (&entries)[N]) {
  void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    return why ? why : std::string("cannot load ") + file;
  }
  for (const Entry &entry : entries)
    if (!(*entry.place = dlsym(handle, entry.name)))
      return std::string(file) + " has no '" + entry.name + "'";
  return "";
}

template <typename Function> void **at(Function *&place) { return reinterpret_cast<void **>(&place); }

} // namespace

std::string Library::load() {
  const Entry ofDriver[] = {{"cuInit", at(init)},
                            {"cuDeviceGet", at(deviceGet)},
                            {"cuDevicePrimaryCtxRetain", at(retainContext)},
                            {"cuDevicePrimaryCtxRelease_v2", at(releaseContext)},
                            {"cuCtxPushCurrent_v2", at(pushContext)},
                            {"cuCtxPopCurrent_v2", at(popContext)},
                            {"cuEventCreate", at(eventCreate)},
                            {"cuEventRecord", at(eventRecord)},
                            {"cuEventQuery", at(eventQuery)},
                            {"cuEventDestroy_v2", at(eventDestroy)},
                            {"cuStreamIsCapturing", at(streamIsCapturing)}};
  const Entry ofNCCL[] = {{"ncclGetUniqueId", at(getUniqueId)},
                          {"ncclCommInitRank", at(commInitRank)},
                          {"ncclCommDestroy", at(commDestroy)},
                          {"ncclCommAbort", at(commAbort)},
                          {"ncclCommGetAsyncError", at(commGetAsyncError)},
                          {"ncclGetErrorString", at(getErrorString)},
                          {"ncclGroupStart", at(groupStart)},
                          {"ncclGroupEnd", at(groupEnd)},
                          {"ncclSend", at(send)},
                          {"ncclRecv", at(recv)},
                          {"ncclAllGather", at(allGather)}};
  if (std::string failed = loadAll("libcuda.so.1", ofDriver); !failed.empty())
    return failed;
  const char *given = std::getenv("GNNC_NCCL_LIBRARY");
  return loadAll(given ? given : "libnccl.so.2", ofNCCL);
}
