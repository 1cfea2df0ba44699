//===- DeviceGraph.cpp - A prepared graph on a GPU ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are made on the host, as for a CPU, and copied; worklists are made of the same groupings. All of it lies in
// one block of device memory.
//
//===----------------------------------------------------------------------===//

#include "../Choose.h"
#include "../Graph.h"
#include "../MemoryPlan.h"
#include "LaunchItems.h"
#include "Prepare.h"
#include "Worklist.h"
#include <string.h>

namespace gnnc::runtime::cuda {

using namespace table;

static int64_t aligned(int64_t bytes) { return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment; }

DeviceGraph::~DeviceGraph() {
  if (staged || arrived)
    device.releaseRanks(*this);
  for (int64_t i = 0; i < numKept; ++i)
    device.releaseIdle(kept[i].memory, kept[i].bytes, stream);
  device.giveBack();
}

bool DeviceGraph::keep(Address array, int64_t size, Memory &lists) {
  if (numKept == capacity) {
    int64_t wanted = capacity ? 2 * capacity : 32;
    Kept *more = lists.array<Kept>(wanted);
    if (!more)
      return false;
    for (int64_t i = 0; i < numKept; ++i)
      more[i] = kept[i];
    lists.release(kept);
    kept = more;
    capacity = wanted;
  }
  kept[numKept++] = {array, size};
  bytes += size;
  return true;
}

namespace {

/// One array to copy: first all are counted, then all are copied, in the same order.
class Upload {
public:
  Upload(const Device &device, Handle stream) : device(device), stream(stream) {}

  Address add(const void *data, int64_t bytes, gnnc_error *error) {
    Address at = base + static_cast<Address>(size);
    size += aligned(bytes);
    if (copies && !status)
      status = device.copy(reinterpret_cast<void *>(at), true, data, false, static_cast<size_t>(bytes), stream, error);
    return at;
  }

  const Device &device;
  const Handle stream;
  bool copies = false;
  Address base = kDeviceAlignment; ///< while it counts: any but null, which is no place
  int64_t size = 0;
  gnnc_status status = GNNC_OK;
};

class DevicePreparation {
public:
  DevicePreparation(gnnc_graph &graph, Indices &indices, Memory &scratch, gnnc_error *error)
      : graph(graph), model(graph.model), header(graph.model.header()), indices(indices), scratch(scratch),
        error(error) {}

  /// With a builder these are the graph's, else they are made on the host and uploaded.
  gnnc_status makeWorklists(bool (*isUsed)(const void *, int64_t), const void *user, GraphBuilder *builder);
  /// Keeps what a builder has made, and fills what stands in for absent inputs.
  gnnc_status takeOver(GraphBuilder &builder, const int32_t **arrays);
  void upload(Upload &upload, const int32_t *const *arrays, const int64_t *lengths);
  gnnc_status outOfMemory() { return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a graph's data on the GPU"); }

private:
  gnnc_graph &graph;
  const Model &model;
  const Header &header;
  Indices &indices;
  Memory &scratch;
  gnnc_error *error;
  Worklist *worklists = nullptr;
};

} // namespace

static bool needsWorklist(const LaunchRec &launch) {
  return launch.grid == GridKind::Items || launch.grid == GridKind::HeavyItems || launch.grid == GridKind::HeavyOwners;
}

gnnc_status DevicePreparation::makeWorklists(bool (*isUsed)(const void *, int64_t), const void *user,
                                             GraphBuilder *builder) {
  worklists = scratch.array<Worklist>(header.numMaps);
  const Grouping **groupings = scratch.array<const Grouping *>(header.numMaps);
  DeviceWorklist **results = scratch.array<DeviceWorklist *>(header.numMaps);
  if (!worklists || !groupings || !results)
    return outOfMemory();
  int64_t count = 0;
  for (int64_t map = 0; map < header.numMaps; ++map) {
    worklists[map] = Worklist();
    graph.device->worklists[map] = DeviceWorklist();
  }
  for (int64_t i = 0; i < header.numSteps; ++i) {
    if (!isUsed(user, i))
      continue;
    const DeviceStepRec &step = model.deviceStep(i);
    for (int64_t k = 0; k < step.numLaunches; ++k) {
      const LaunchRec &launch = model.launch(step.firstLaunch + k);
      if (!needsWorklist(launch) || worklists[launch.symbol].chunk)
        continue;
      if (isChosenMap(model, launch.symbol)) { // Each run makes an item for each owner.
        DeviceWorklist &list = graph.device->worklists[launch.symbol];
        list.numItems = graph.extents[model.map(launch.symbol).to];
        list.chunk = graph.extents[model.map(launch.symbol).from] + 1; // however many an owner has
        continue;
      }
      const Grouping *grouping;
      if (gnnc_status status = indices.grouping(launch.symbol, grouping))
        return status;
      if (builder) {
        worklists[launch.symbol].chunk = chunkFor(grouping->count, grouping->owners);
        groupings[count] = grouping;
        results[count++] = &graph.device->worklists[launch.symbol];
      } else if (!makeWorklist(*grouping, scratch, worklists[launch.symbol])) {
        return outOfMemory();
      }
    }
  }
  if (count > 0)
    builder->worklists(groupings, count, results);
  return builder ? builder->status : GNNC_OK;
}

void DevicePreparation::upload(Upload &upload, const int32_t *const *arrays, const int64_t *lengths) {
  DeviceGraph &result = *graph.device;
  for (int64_t i = 0; i < header.numIndices; ++i) {
    result.indices[i] = 0;
    if (!arrays[i])
      continue;
    for (int64_t j = 0; j < i && !result.indices[i]; ++j)
      if (arrays[j] == arrays[i] && lengths[j] >= lengths[i])
        result.indices[i] = result.indices[j];
    if (!result.indices[i])
      result.indices[i] = upload.add(arrays[i], lengths[i] * 4, error);
  }
  for (int64_t map = 0; map < header.numMaps; ++map) {
    const Worklist &from = worklists[map];
    DeviceWorklist to = result.worklists[map]; // what each run lists has a length
    if (from.items) {
      to.items = upload.add(from.items, from.numItems * static_cast<int64_t>(sizeof(Item)), error);
      to.heavy = upload.add(from.heavy, from.numHeavy * static_cast<int64_t>(sizeof(Heavy)), error);
      to.heavyOfSlot = upload.add(from.heavyOfSlot, from.numSlots * 4, error);
      to.numItems = from.numItems, to.numSlots = from.numSlots, to.numHeavy = from.numHeavy;
      to.chunk = from.chunk;
      to.bySize = from.bySize;
      memcpy(to.largest, from.largest, sizeof to.largest);
    }
    result.worklists[map] = to;
  }
  // One array for each default, as on the host.
  for (int64_t i = 0; i < header.numBuffers; ++i) {
    const PreparedBuffer &buffer = graph.buffers[i];
    result.fills[i] = 0;
    if (!buffer.fill)
      continue;
    int64_t bytes = 0, first = i;
    for (int64_t j = 0; j < header.numBuffers; ++j)
      if (graph.buffers[j].fill == buffer.fill) {
        bytes = graph.buffers[j].bytes > bytes ? graph.buffers[j].bytes : bytes;
        first = j < first ? j : first;
      }
    result.fills[i] = first < i ? result.fills[first] : upload.add(buffer.fill, bytes, error);
  }
}

gnnc_status DevicePreparation::takeOver(GraphBuilder &builder, const int32_t **arrays) {
  DeviceGraph &result = *graph.device;
  bool isKept = true;
  auto keep = [&](const void *array) {
    // Not for those that were kept already under another name.
    int64_t bytes = builder.keep(array);
    if (bytes && !result.keep(reinterpret_cast<Address>(array), bytes, graph.memory)) {
      result.device.releaseOrdered(reinterpret_cast<Address>(array), bytes, result.stream);
      isKept = false;
    }
  };
  auto keepAddress = [&](Address array) { keep(reinterpret_cast<const void *>(array)); };
  // As Preparation::fillDefaults: one array for each value and width.
  for (int64_t i = 0; i < header.numBuffers; ++i)
    result.fills[i] = 0;
  for (int64_t i = 0; i < header.numBuffers; ++i) {
    const BufferRec &record = model.buffer(i);
    if (!record.optional || result.fills[i])
      continue;
    auto alike = [&](int64_t j) {
      const BufferRec &other = model.buffer(j);
      return other.optional && other.fill == record.fill && other.dtypeBits == record.dtypeBits;
    };
    int64_t bytes = 0;
    for (int64_t j = i; j < header.numBuffers; ++j)
      if (alike(j) && graph.buffers[j].bytes > bytes)
        bytes = graph.buffers[j].bytes;
    void *data = builder.allocate((bytes + 3) / 4 * 4);
    double value;
    memcpy(&value, &record.fill, sizeof value);
    float narrow = static_cast<float>(value);
    uint32_t word;
    memcpy(&word, &narrow, sizeof word);
    if (record.dtypeBits == 16) // Two at a time.
      builder.fill(data, (bytes + 3) / 4, uint32_t(record.fill) * 0x10001u);
    else if (record.dtypeBits == 32)
      builder.fill(data, bytes / 4, word);
    else
      builder.fill64(data, bytes / 8, record.fill);
    keep(data);
    for (int64_t j = i; j < header.numBuffers; ++j)
      if (alike(j))
        result.fills[j] = reinterpret_cast<Address>(data);
  }
  // Only now it is known whether the maps are right, which arrays are equal and how long the worklists are.
  gnnc_status status = builder.finish();
  if (!status)
    status = indices.settle(arrays);
  if (status)
    return status;
  for (int64_t i = 0; i < header.numIndices; ++i) {
    result.indices[i] = reinterpret_cast<Address>(arrays[i]);
    keep(arrays[i]);
  }
  for (int64_t map = 0; map < header.numMaps; ++map) {
    const DeviceWorklist &list = result.worklists[map];
    keepAddress(list.items);
    keepAddress(list.heavy);
    keepAddress(list.heavyOfSlot);
  }
  return isKept ? GNNC_OK : outOfMemory();
}

/// Sizes of a step's scratch memory; -1 if that cannot be addressed.
static int64_t scratchBytes(const gnnc_graph &graph, int64_t number, const ScratchRec &scratch) {
  const DeviceStepRec &step = graph.model.deviceStep(number);
  const Model &model = graph.model;
  const DeviceGraph &device = *graph.device;
  int64_t count = 0, bytes;
  const int64_t *most = graph.capacities;
  auto mostOf = [&](int64_t (*mostOf)(int64_t owners, int64_t members)) {
    return mostOf(most[model.map(scratch.map).to], most[model.map(scratch.map).from]);
  };
  if (scratch.kind == ScratchKind::Choice)
    count = choiceBytes(graph, number);
  else if (scratch.kind == ScratchKind::Slots)
    count = most ? mostOf(mostSlots) : device.worklists[scratch.map].numSlots;
  else if (scratch.kind == ScratchKind::HeavyOwners)
    count = most ? mostOf(mostHeavy) : device.worklists[scratch.map].numHeavy;
  else if (scratch.kind == ScratchKind::Ranks)
    count = graph.ranks.size > 1 ? graph.ranks.size : 0;
  else if (scratch.kind == ScratchKind::Elements)
    count = scratch.map < 0 ? 1 : most ? most[scratch.map] : graph.extents[scratch.map];
  else
    for (int64_t k = 0; k < step.numLaunches; ++k)
      if (model.launch(step.firstLaunch + k).isCounted)
        count += device.mostBlocks[step.firstLaunch + k];
  // The kernel that combines partial results uses the first place even if there was no block.
  if (scratch.kind == ScratchKind::Blocks && count == 0)
    count = 1;
  return __builtin_mul_overflow(count, scratch.bytes, &bytes) ? -1 : bytes;
}

gnnc_status planDevice(gnnc_graph &graph, int64_t number, Memory &scratch, PlanOrders *orders, PreparedFunction &result,
                       gnnc_error *error) {
  const Model &model = graph.model;
  const FunctionRec &function = model.function(number);
  DeviceGraph &device = *graph.device;
  int64_t numScratch = 0;
  for (int64_t i = 0; i < function.numSteps; ++i)
    numScratch += model.deviceStep(function.firstStep + i).numScratch;
  int64_t count = function.numBuffers + numScratch, total = 0;
  Lifetime *items = scratch.array<Lifetime>(count);
  int64_t *words = scratch.array<int64_t>(kPlanWords * count);
  if (!items || !words)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the plan of the workspace");
  // The plan knows 64-byte places; 256 of the device's bytes are one of its units.
  auto scaled = [](int64_t bytes) { return aligned(bytes) / kDeviceAlignment * kAlignment; };
  for (int64_t i = 0; i < function.numBuffers; ++i) {
    const BufferRec &record = model.buffer(function.firstBuffer + i);
    bool inArena = record.kind == BufferKind::Arena;
    items[i] = {inArena ? scaled(graph.buffers[function.firstBuffer + i].room) : 0, record.first, record.last, 0};
  }
  int64_t next = function.numBuffers;
  for (int64_t i = 0; i < function.numSteps; ++i) {
    const DeviceStepRec &step = model.deviceStep(function.firstStep + i);
    for (int64_t k = 0; k < step.numScratch; ++k) {
      int64_t bytes = scratchBytes(graph, function.firstStep + i, model.scratch(step.firstScratch + k));
      if (bytes < 0 || bytes > (INT64_MAX >> 8))
        return fail(error, GNNC_UNSUPPORTED, "the workspace for this graph is larger than can be addressed");
      device.scratchBytes[step.firstScratch + k] = bytes;
      items[next++] = {scaled(bytes), i, i, 0};
    }
  }
  PlanOrder *known = orders ? orders->take(number) : nullptr;
  planMemory(items, count, words, total, known);
  if (known)
    orders->give(number, known);
  if (total < 0 || total > (INT64_MAX >> 8))
    return fail(error, GNNC_UNSUPPORTED, "the workspace for this graph is larger than can be addressed");
  constexpr int64_t kScale = kDeviceAlignment / kAlignment;
  for (int64_t i = 0; i < function.numBuffers; ++i)
    graph.buffers[function.firstBuffer + i].offset = items[i].offset * kScale;
  next = function.numBuffers;
  for (int64_t i = 0; i < function.numSteps; ++i) {
    const DeviceStepRec &step = model.deviceStep(function.firstStep + i);
    for (int64_t k = 0; k < step.numScratch; ++k)
      device.scratch[step.firstScratch + k] = items[next++].offset * kScale;
  }
  result.arenaAt = 0;
  result.workspaceBytes = total * kScale;
  return GNNC_OK;
}

gnnc_status prepareDevice(gnnc_graph &graph, Device &device, Handle stream, Indices &indices, const int32_t **arrays,
                          const int64_t *lengths, Memory &scratch, bool (*isUsed)(const void *, int64_t),
                          const void *user, GraphBuilder *builder, const Tuning &tuning, gnnc_error *error) {
  const Header &header = graph.model.header();
  DevicePreparation preparation(graph, indices, scratch, error);
  graph.device = create<DeviceGraph>(graph.memory.getAllocator(), device);
  if (!graph.device)
    return preparation.outOfMemory();
  DeviceGraph &result = *graph.device;
  result.stream = stream;
  result.indices = graph.memory.array<Address>(header.numIndices);
  result.worklists = graph.memory.array<DeviceWorklist>(header.numMaps);
  result.blocks = graph.memory.array<int64_t>(header.numLaunches);
  result.mostBlocks = graph.memory.array<int64_t>(header.numLaunches);
  result.items = graph.memory.array<ItemRange>(header.numLaunches);
  result.sizes = graph.memory.array<ItemSizes>(header.numLaunches);
  result.scratch = graph.memory.array<int64_t>(header.numScratch);
  result.scratchBytes = graph.memory.array<int64_t>(header.numScratch);
  result.fills = graph.memory.array<Address>(header.numBuffers);
  if (!result.indices || !result.worklists || !result.blocks || !result.mostBlocks || !result.items || !result.sizes ||
      !result.scratch || !result.scratchBytes || !result.fills)
    return preparation.outOfMemory();
  if (gnnc_status status = preparation.makeWorklists(isUsed, user, builder))
    return status;
  if (gnnc_status status = graph.ranks.areReached() ? device.prepareRanks(graph, result, error) : GNNC_OK)
    return status;
  if (builder) {
    gnnc_status status = preparation.takeOver(*builder, arrays);
    return status ? status : decideGrids(graph, device, tuning, error);
  }
  Upload counting(device, stream);
  preparation.upload(counting, arrays, lengths);
  if (device.isPlanned()) {
    result.bytes = counting.size;
    return decideGrids(graph, device, tuning, error);
  }
  Address memory = 0;
  if (gnnc_status status = counting.size ? device.allocateOrdered(counting.size, stream, memory, error) : GNNC_OK)
    return status;
  if (memory && !result.keep(memory, counting.size, graph.memory)) {
    device.releaseOrdered(memory, counting.size, stream);
    return preparation.outOfMemory();
  }
  Upload copying(device, stream);
  copying.base = memory;
  copying.copies = true;
  preparation.upload(copying, arrays, lengths);
  gnnc_status status = copying.status;
  // The host's arrays may go once this returns.
  if (!status)
    status = device.synchronize(stream, error);
  if (!status)
    status = decideGrids(graph, device, tuning, error);
  return status;
}

} // namespace gnnc::runtime::cuda
