//===- DeviceRun.cpp - Launching a program's kernels ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All arguments of a kernel are 64-bit words in one struct, which the table describes word by word. Nothing here waits
// for the GPU or allocates, so a run can be captured in a CUDA graph.
//
//===----------------------------------------------------------------------===//

#include "../Context.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

using namespace table;

namespace {

/// Most words of a kernel's arguments: what CUDA allows.
constexpr int64_t kMostWords = 512;

class Arguments {
public:
  Arguments(const Call &call, const DeviceStepRec &step)
      : call(call), model(call.graph.model), graph(*call.graph.device), step(step) {}

  int64_t word(int64_t kind, int64_t number) const;

private:
  const Call &call;
  const Model &model;
  const DeviceGraph &graph;
  const DeviceStepRec &step;
};

} // namespace

int64_t Arguments::word(int64_t kind, int64_t number) const {
  auto address = [](Address at) { return static_cast<int64_t>(at); };
  switch (kind) {
  case WordBuffer:
    return reinterpret_cast<int64_t>(call.pointer(number));
  case WordIndex:
    return address(graph.indices[number]);
  case WordExtent:
    return number < 0 ? 1 : call.graph.extents[number];
  case WordItems:
    return address(graph.worklists[number].items);
  case WordNumItems:
    return graph.worklists[number].numItems;
  case WordNumHeavyItems:
    return graph.worklists[number].numSlots;
  case WordHeavy:
    return address(graph.worklists[number].heavy);
  case WordNumHeavy:
    return graph.worklists[number].numHeavy;
  case WordHeavyOfSlot:
    return address(graph.worklists[number].heavyOfSlot);
  case WordScratch:
    return reinterpret_cast<int64_t>(call.workspace + call.function().arenaAt + graph.scratch[number]);
  case WordBlocksBefore:
  case WordBlocks: {
    int64_t last = kind == WordBlocks ? step.numLaunches : number, blocks = 0;
    for (int64_t k = 0; k < last; ++k)
      if (model.launch(step.firstLaunch + k).isCounted)
        blocks += graph.blocks[step.firstLaunch + k];
    return blocks;
  }
  default:
    return 0;
  }
}

gnnc_status Device::launch(const Call &call, int64_t step, int64_t number, Handle stream) const {
  const Model &model = call.graph.model;
  const LaunchRec &record = model.launch(number);
  int64_t blocks = call.graph.device->blocks[number];
  if (blocks == 0)
    return GNNC_OK;
  int64_t words[kMostWords];
  Arguments arguments(call, model.deviceStep(step));
  const int64_t *list = model.list(record.wordsAt);
  for (int64_t i = 0; i < record.numWords; ++i)
    words[i] = arguments.word(list[2 * i], list[2 * i + 1]);
  // CU_LAUNCH_PARAM_BUFFER_POINTER, ..._SIZE, ..._END
  size_t size = static_cast<size_t>(record.numWords) * sizeof(int64_t);
  void *extra[] = {reinterpret_cast<void *>(1), words, reinterpret_cast<void *>(2), &size, nullptr};
  int code = driver.launch(functions[number], static_cast<unsigned>(blocks), static_cast<unsigned>(record.gridY),
                           static_cast<unsigned>(record.gridZ), static_cast<unsigned>(record.threads), 1, 1,
                           static_cast<unsigned>(record.sharedBytes), stream, nullptr, extra);
  return code ? driverError(driver, code, model.name(record.kernel), call.error) : GNNC_OK;
}

gnnc_status Device::run(const Call &call, Handle stream) const {
  Current current(*this);
  const Model &model = call.graph.model;
  for (int64_t i = 0; i < call.program.numSteps; ++i) {
    int64_t number = call.record().firstStep + call.program.firstStep + i;
    const DeviceStepRec &step = model.deviceStep(number);
    for (int64_t k = 0; k < step.numZeroed; ++k) {
      int64_t buffer = model.list(step.zeroedAt)[k];
      size_t bytes = static_cast<size_t>(call.graph.buffers[buffer].bytes);
      if (bytes == 0)
        continue;
      if (int code = driver.fillBytes(reinterpret_cast<Address>(call.pointer(buffer)), 0, bytes, stream))
        return driverError(driver, code, "cannot clear a buffer", call.error);
    }
    for (int64_t k = 0; k < step.numLaunches; ++k)
      if (gnnc_status status = launch(call, number, step.firstLaunch + k, stream))
        return status;
  }
  return GNNC_OK;
}

} // namespace gnnc::runtime::cuda
