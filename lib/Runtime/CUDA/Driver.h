//===- Driver.h - The CUDA driver, if there is one --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcuda.so.1 is loaded when a device is first asked for, so a model with GPU code loads on a machine without a GPU.
// Its interface is declared here, by the names the driver has had since CUDA 11, so that no toolkit is needed to build.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_DRIVER_H
#define GNNC_RUNTIME_CUDA_DRIVER_H

#include "../Error.h"
#include "../Parts.h"

namespace gnnc::runtime::cuda {

using Address = unsigned long long;
using Handle = void *; ///< of a context, module, function, stream or graph

/// CUlaunchAttribute and CUlaunchConfig.
struct alignas(8) LaunchAttribute {
  enum Kind : int { ProgrammaticStreamSerialization = 6 } kind;
  char padding[4];
  int value[16]; ///< of 64 bytes
};
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  Handle stream;
  const LaunchAttribute *attributes;
  unsigned numAttributes;
};

struct Driver {
  int (*init)(unsigned flags);
  int (*errorName)(int error, const char **name);
  int (*errorString)(int error, const char **text);
  int (*deviceCount)(int *count);
  int (*deviceGet)(int *device, int ordinal);
  int (*deviceName)(char *name, int length, int device);
  int (*deviceAttribute)(int *value, int attribute, int device);
  int (*retainContext)(Handle *context, int device);
  int (*releaseContext)(int device);
  int (*pushContext)(Handle context);
  int (*popContext)(Handle *context);
  int (*loadModule)(Handle *module, const void *image, unsigned numOptions, int *options, void **values);
  int (*unloadModule)(Handle module);
  int (*getFunction)(Handle *function, Handle module, const char *name);
  int (*setFunctionAttribute)(Handle function, int attribute, int value);
  int (*allocate)(Address *memory, size_t bytes);
  int (*release)(Address memory);
  int (*copyToDevice)(Address to, const void *from, size_t bytes, Handle stream);
  int (*copyToHost)(void *to, Address from, size_t bytes, Handle stream);
  int (*copyOnDevice)(Address to, Address from, size_t bytes, Handle stream);
  int (*fillBytes)(Address to, unsigned char value, size_t count, Handle stream);
  int (*fillWords)(Address to, unsigned value, size_t count, Handle stream);
  int (*synchronize)(Handle stream);
  int (*memoryInfo)(size_t *free, size_t *total);
  int (*createPool)(Handle *pool, const void *properties);
  int (*destroyPool)(Handle pool);
  int (*setPoolAttribute)(Handle pool, int attribute, void *value);
  int (*trimPool)(Handle pool, size_t keep);
  int (*allocateOrdered)(Address *memory, size_t bytes, Handle pool, Handle stream);
  int (*releaseOrdered)(Address memory, Handle stream);
  int (*allocateHost)(void **memory, size_t bytes, unsigned flags);
  int (*releaseHost)(void *memory);
  int (*createStream)(Handle *stream, unsigned flags);
  int (*destroyStream)(Handle stream);
  int (*createEvent)(Handle *event, unsigned flags);
  int (*destroyEvent)(Handle event);
  int (*recordEvent)(Handle event, Handle stream);
  int (*waitForEvent)(Handle stream, Handle event, unsigned flags);
  int (*beginCapture)(Handle stream, int mode);
  int (*endCapture)(Handle stream, Handle *graph);
  int (*instantiate)(Handle *executable, Handle graph, unsigned long long flags);
  int (*launchGraph)(Handle executable, Handle stream);
  int (*destroyExecutable)(Handle executable);
  int (*destroyGraph)(Handle graph);
  int (*launch)(Handle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                unsigned blockZ, unsigned sharedBytes, Handle stream, void **parameters, void **extra);
  // Null where the driver has them not.
  int (*launchWith)(const LaunchConfig *config, Handle function, void **parameters, void **extra);
  int (*captureInfo)(Handle stream, int *status, unsigned long long *id, Handle *graph, const Handle **nodes,
                     size_t *count);
  int (*setDependencies)(Handle stream, Handle *nodes, size_t count, unsigned flags);
  int (*updateExecutable)(Handle executable, Handle graph, void *resultInfo);
  int (*setKernelNode)(Handle executable, Handle node, const void *parameters);
  int (*enableNode)(Handle executable, Handle node, unsigned enabled);
  int (*exchangeCaptureMode)(int *mode); ///< of the calling thread
};

// gnnc_load_cuda_driver (ModelTable.h) loads and initialises it, once for the process, and gives a `const Driver *`;
// GNNC_UNSUPPORTED if there is none, or no device.

/// Fills `error` from a driver call that failed: "<what>: <the driver's name and text>".
GNNC_OF_PART gnnc_status driverError(const Driver &driver, int code, const char *what, gnnc_error *error);

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_DRIVER_H
