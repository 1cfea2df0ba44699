//===- Preparation.cpp - How a graph is prepared --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Preparation.h"
#include "Capacity.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

gnnc_status Preparation::run(const gnnc_graph_desc &desc, const PrepareFor &with, gnnc_status earlier) {
  if (with.part && !model.ranks)
    return fail(error, GNNC_UNSUPPORTED, "prepare_part: the model is for one process; compile it with --distributed");
  if (with.part) {
    if (gnnc_status status = agreement.read(*with.part, with.isPlanned, device != nullptr))
      return status;
    topology.rank = graph.ranks.rank;
  }
  gnnc_status status = earlier ? earlier : describe(desc, with.part);
  // Ranks say that they have failed before they leave.
  if (model.ranks)
    status = agreement.begin(status);
  if (status)
    return status;
  chooseFunctions();
  // With capacities each update must find the workspace that there is.
  orders = graph.capacities ? nullptr : with.orders;
  status = makeAll();
  return model.ranks ? agreement.end(status) : status;
}

/// What the caller's description has, and which functions it is enough for.
gnnc_status Preparation::describe(const gnnc_graph_desc &desc, const gnnc_part_desc *part) {
  graph.extents = memory.array<int64_t>(header.numSpaces);
  if (!graph.extents)
    return outOfMemory("the extents");
  gnnc_status status = part ? agreement.checkDesc(desc) : GNNC_OK;
  if (!status)
    status = topology.build(desc, graph.extents);
  if (!status)
    status = findCapacities(desc);
  if (!status)
    status = findFunctions(desc);
  return status || !model.ranks ? status : agreement.findCounts(part);
}

gnnc_status Preparation::makeAll() {
  gnnc_status status = makeIndices();
  if (!status)
    status = sizeBuffers();
  if (!status && !device)
    status = cutSteps();
  if (!status && !builder)
    status = fillDefaults();
  if (!status && device)
    status = fillDevice();
  if (!status)
    status = noteEqualIndices();
  for (int64_t i = 0; !status && i < header.numFunctions; ++i)
    if (isRun(i))
      status = planWorkspace(i, graph.functions[i]);
  // What is wrong with a map comes first.
  gnnc_status earlier = status && builder ? topology.finishReading() : GNNC_OK;
  return earlier ? earlier : status;
}

gnnc_status Preparation::findCapacities(const gnnc_graph_desc &desc) {
  if (!before)
    return runtime::findCapacities(model, desc, graph.extents, memory, graph.capacities, error);
  int64_t *own = memory.array<int64_t>(header.numSpaces);
  if (!own)
    return outOfMemory("the capacities");
  memcpy(own, before->capacities, static_cast<size_t>(header.numSpaces) * sizeof(int64_t));
  graph.capacities = own;
  return checkCapacities(model, graph.extents, own, error);
}

// Once for a graph: made for size.
[[gnu::cold]] gnnc_status Preparation::makeIndices() {
  if (gnnc_status status = indices.start())
    return status;
  int64_t count = header.numIndices;
  arrays = memory.array<const int32_t *>(count);
  lengths = scratch.array<int64_t>(count);
  bool *used = scratch.array<bool>(count);
  if (!arrays || !lengths || !used)
    return outOfMemory("the list of indices");
  for (int64_t i = 0; i < count; ++i) {
    arrays[i] = nullptr;
    lengths[i] = 0;
    used[i] = false;
  }
  for (int64_t i = 0; i < header.numSteps; ++i) {
    int64_t at = device ? model.deviceStep(i).indicesAt : model.step(i).indicesAt;
    int64_t number = device ? model.deviceStep(i).numIndices : model.step(i).numIndices;
    for (int64_t k = 0; isUsed(i) && k < number; ++k)
      used[model.list(at)[k]] = !model.index(model.list(at)[k]).isChosen;
  }
  if (builder) {
    bool *grouped = scratch.array<bool>(header.numMaps);
    if (!grouped)
      return outOfMemory("the list of maps");
    memset(grouped, 0, static_cast<size_t>(header.numMaps));
    for (int64_t i = 0; i < count; ++i)
      if (used[i] && model.index(i).kind != IndexKind::Raw)
        grouped[model.index(i).map] = true;
    if (gnnc_status status = indices.examineOnDevice(grouped))
      return status;
    if (gnnc_status status = indices.plan(used))
      return status;
  }
  for (int64_t i = 0; i < count; ++i)
    if (used[i])
      if (gnnc_status status = indices.array(model.index(i), arrays[i], lengths[i]))
        return status;
  if (builder)
    builder->share(arrays, lengths, count);
  else
    Indices::share(arrays, lengths, count);
  return builder ? builder->status : GNNC_OK;
}

/// On a device it is known at the end only which arrays are equal.
gnnc_status Preparation::noteEqualIndices() {
  graph.equalIndices = memory.array<int64_t>(header.numIndices);
  if (!graph.equalIndices)
    return outOfMemory("the list of indices");
  for (int64_t i = 0; i < header.numIndices; ++i) {
    int64_t first = 0;
    while (arrays[first] != arrays[i])
      ++first;
    graph.equalIndices[i] = arrays[i] ? first : -1;
  }
  return GNNC_OK;
}

/// Copies what kernels need to the device. The host keeps no index arrays.
gnnc_status Preparation::fillDevice() {
  auto used = [](const void *self, int64_t step) { return static_cast<const Preparation *>(self)->isUsed(step); };
  return cuda::prepareDevice(graph, *device, stream, indices, arrays, lengths, scratch, used, this, builder, tuning,
                             error);
}

} // namespace gnnc::runtime
