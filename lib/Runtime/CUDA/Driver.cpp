//===- Driver.cpp - The CUDA driver, if there is one ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "gnnc/ModelFormat/ModelTable.h"
#include <dlfcn.h>
#include <pthread.h>

namespace gnnc::runtime::cuda {

namespace {

struct Entry {
  const char *name;
  void **function;
};

Driver loaded;
gnnc_error failure; ///< why there is none; status GNNC_OK if there is
pthread_once_t once = PTHREAD_ONCE_INIT;

void loadOnce() {
  // Stays loaded: contexts of other libraries in this process use it too.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(&failure, GNNC_UNSUPPORTED, "CUDA was requested, but this machine has no NVIDIA driver (%s)",
         "libcuda.so.1 is not found");
    return;
  }
#define GNNC_ENTRY(field, symbol)                                                                                      \
  {                                                                                                                    \
    symbol, reinterpret_cast<void **>(&loaded.field)                                                                   \
  }
  const Entry entries[] = {
      GNNC_ENTRY(init, "cuInit"),
      GNNC_ENTRY(errorName, "cuGetErrorName"),
      GNNC_ENTRY(errorString, "cuGetErrorString"),
      GNNC_ENTRY(deviceCount, "cuDeviceGetCount"),
      GNNC_ENTRY(deviceGet, "cuDeviceGet"),
      GNNC_ENTRY(deviceName, "cuDeviceGetName"),
      GNNC_ENTRY(deviceAttribute, "cuDeviceGetAttribute"),
      GNNC_ENTRY(retainContext, "cuDevicePrimaryCtxRetain"),
      GNNC_ENTRY(releaseContext, "cuDevicePrimaryCtxRelease_v2"),
      GNNC_ENTRY(pushContext, "cuCtxPushCurrent_v2"),
      GNNC_ENTRY(popContext, "cuCtxPopCurrent_v2"),
      GNNC_ENTRY(loadModule, "cuModuleLoadDataEx"),
      GNNC_ENTRY(unloadModule, "cuModuleUnload"),
      GNNC_ENTRY(getFunction, "cuModuleGetFunction"),
      GNNC_ENTRY(setFunctionAttribute, "cuFuncSetAttribute"),
      GNNC_ENTRY(allocate, "cuMemAlloc_v2"),
      GNNC_ENTRY(release, "cuMemFree_v2"),
      GNNC_ENTRY(copyToDevice, "cuMemcpyHtoDAsync_v2"),
      GNNC_ENTRY(copyToHost, "cuMemcpyDtoHAsync_v2"),
      GNNC_ENTRY(copyOnDevice, "cuMemcpyDtoDAsync_v2"),
      GNNC_ENTRY(fillBytes, "cuMemsetD8Async"),
      GNNC_ENTRY(fillWords, "cuMemsetD32Async"),
      GNNC_ENTRY(synchronize, "cuStreamSynchronize"),
      GNNC_ENTRY(memoryInfo, "cuMemGetInfo_v2"),
      GNNC_ENTRY(createPool, "cuMemPoolCreate"),
      GNNC_ENTRY(destroyPool, "cuMemPoolDestroy"),
      GNNC_ENTRY(setPoolAttribute, "cuMemPoolSetAttribute"),
      GNNC_ENTRY(trimPool, "cuMemPoolTrimTo"),
      GNNC_ENTRY(allocateOrdered, "cuMemAllocFromPoolAsync"),
      GNNC_ENTRY(releaseOrdered, "cuMemFreeAsync"),
      GNNC_ENTRY(allocateHost, "cuMemHostAlloc"),
      GNNC_ENTRY(releaseHost, "cuMemFreeHost"),
      GNNC_ENTRY(createStream, "cuStreamCreate"),
      GNNC_ENTRY(destroyStream, "cuStreamDestroy_v2"),
      GNNC_ENTRY(createEvent, "cuEventCreate"),
      GNNC_ENTRY(destroyEvent, "cuEventDestroy_v2"),
      GNNC_ENTRY(recordEvent, "cuEventRecord"),
      GNNC_ENTRY(waitForEvent, "cuStreamWaitEvent"),
      GNNC_ENTRY(beginCapture, "cuStreamBeginCapture_v2"),
      GNNC_ENTRY(endCapture, "cuStreamEndCapture"),
      GNNC_ENTRY(instantiate, "cuGraphInstantiateWithFlags"),
      GNNC_ENTRY(launchGraph, "cuGraphLaunch"),
      GNNC_ENTRY(destroyExecutable, "cuGraphExecDestroy"),
      GNNC_ENTRY(destroyGraph, "cuGraphDestroy"),
      GNNC_ENTRY(launch, "cuLaunchKernel"),
  };
#undef GNNC_ENTRY
  // Before CUDA 12.3 what is launched so cannot be captured.
  constexpr int kLeastVersion = 12030;
  int (*versionOf)(int *) = nullptr, version = 0;
  *reinterpret_cast<void **>(&versionOf) = dlsym(library, "cuDriverGetVersion");
  if (versionOf && versionOf(&version) == 0 && version >= kLeastVersion)
    *reinterpret_cast<void **>(&loaded.launchWith) = dlsym(library, "cuLaunchKernelEx");
  *reinterpret_cast<void **>(&loaded.updateExecutable) = dlsym(library, "cuGraphExecUpdate_v2");
  *reinterpret_cast<void **>(&loaded.setKernelNode) = dlsym(library, "cuGraphExecKernelNodeSetParams");
  *reinterpret_cast<void **>(&loaded.enableNode) = dlsym(library, "cuGraphNodeSetEnabled");
  *reinterpret_cast<void **>(&loaded.exchangeCaptureMode) = dlsym(library, "cuThreadExchangeStreamCaptureMode");
  *reinterpret_cast<void **>(&loaded.captureInfo) = dlsym(library, "cuStreamGetCaptureInfo_v2");
  *reinterpret_cast<void **>(&loaded.setDependencies) = dlsym(library, "cuStreamUpdateCaptureDependencies");
  for (const Entry &entry : entries) {
    *entry.function = dlsym(library, entry.name);
    if (!*entry.function) {
      fail(&failure, GNNC_UNSUPPORTED, "the NVIDIA driver is too old: it has no function '%s'", entry.name);
      return;
    }
  }
  if (int code = loaded.init(0)) {
    driverError(loaded, code, "the NVIDIA driver does not start", &failure);
    failure.status = GNNC_UNSUPPORTED;
  }
}

} // namespace

gnnc_status driverError(const Driver &driver, int code, const char *what, gnnc_error *error) {
  constexpr int kOutOfMemory = 2;
  const char *name = nullptr, *text = nullptr;
  driver.errorName(code, &name);
  driver.errorString(code, &text);
  return fail(error, code == kOutOfMemory ? GNNC_OUT_OF_MEMORY : GNNC_DEVICE_ERROR, "%s: %s (%s)", what,
              text ? text : "unknown error", name ? name : "no name");
}

} // namespace gnnc::runtime::cuda

gnnc_status gnnc_load_cuda_driver(const void **driver, gnnc_error *error) {
  using namespace gnnc::runtime::cuda;
  *driver = &loaded;
  pthread_once(&once, loadOnce);
  if (failure.status != GNNC_OK && error)
    *error = failure;
  return failure.status;
}
