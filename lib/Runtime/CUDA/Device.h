//===- Device.h - A model on a GPU ------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a context has of its GPU, and what a graph prepared for it has there. Everything is loaded when the context is
// opened and copied when the graph is prepared, so that `run` only launches kernels.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_DEVICE_H
#define GNNC_RUNTIME_CUDA_DEVICE_H

#include "../Memory.h"
#include "../Model.h"
#include "Driver.h"

struct gnnc_graph;

namespace gnnc::runtime {
struct Call;
struct PreparedFunction;
class Indices;
} // namespace gnnc::runtime

namespace gnnc::runtime::cuda {

/// Arrays and workspaces start at multiples of this, as memory of the driver does.
constexpr int64_t kDeviceAlignment = 256;

class Device {
public:
  Device(const Driver &driver, const gnnc_allocator &allocator) : driver(driver), memory(allocator) {}
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  gnnc_status open(const Model &model, int32_t ordinal, gnnc_error *error);

  // Memory of the device.
  gnnc_status allocate(int64_t bytes, Address &memory, gnnc_error *error) const;
  void release(Address memory) const;
  gnnc_status copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes, Handle stream,
                   gnnc_error *error) const;
  gnnc_status synchronize(Handle stream, gnnc_error *error) const;

  /// Launches all steps of a call whose buffers are bound.
  gnnc_status run(const Call &call, Handle stream) const;

  int64_t processors() const { return numProcessors; }
  const Driver &driver;

private:
  gnnc_status loadImage(const Model &model, gnnc_error *error);
  gnnc_status launch(const Call &call, int64_t step, int64_t number, Handle stream) const;

  Memory memory;
  Handle context = nullptr, module = nullptr;
  Handle *functions = nullptr; ///< for each launch of the table
  int device = -1;
  int architecture = 0; ///< 90 for compute capability 9.0
  int64_t numProcessors = 0;
  char name[96] = "";

  friend class Current;
};

/// Makes the device's context the calling thread's while it lives.
class Current {
public:
  explicit Current(const Device &device);
  ~Current();
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

private:
  const Driver &driver;
};

struct DeviceWorklist {
  Address items = 0, heavy = 0, heavyOfSlot = 0;
  int64_t numItems = 0, numSlots = 0, numHeavy = 0;
};

/// A graph's data on the device: index arrays, worklists, what stands in for absent inputs; and the grids of launches.
struct DeviceGraph {
  explicit DeviceGraph(const Device &device) : device(device) {}
  ~DeviceGraph();

  const Device &device;
  Address memory = 0;
  int64_t bytes = 0;
  Address *indices = nullptr;          ///< for each of the table
  DeviceWorklist *worklists = nullptr; ///< for each map; empty where no launch asks
  int64_t *blocks = nullptr;           ///< for each launch, along x
  int64_t *scratch = nullptr;          ///< for each scratch record, its offset from the start of the arena
  Address *fills = nullptr;            ///< for each buffer, what stands in for an absent input
};

/// Places a function's buffers and the scratch memory of its steps in its workspace.
gnnc_status planDevice(gnnc_graph &graph, const table::FunctionRec &function, Memory &scratch, PreparedFunction &result,
                       gnnc_error *error);

/// Makes what `graph` needs on the device. `arrays`: the index arrays on the host, `lengths` their numbers of elements.
gnnc_status prepareDevice(gnnc_graph &graph, const Device &device, Indices &indices, const int32_t *const *arrays,
                          const int64_t *lengths, Memory &scratch, bool (*isUsed)(const void *, int64_t step),
                          const void *user, gnnc_error *error);

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_DEVICE_H
