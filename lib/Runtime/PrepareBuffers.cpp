//===- PrepareBuffers.cpp - Where numbers of a graph are ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Capacity.h"
#include "MemoryPlan.h"
#include "Preparation.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

gnnc_status Preparation::sizeBuffers() {
  graph.buffers = memory.array<PreparedBuffer>(header.numBuffers);
  if (!graph.buffers)
    return outOfMemory("the list of buffers");
  for (int64_t i = 0; i < header.numBuffers; ++i) {
    const BufferRec &record = model.buffer(i);
    PreparedBuffer buffer;
    buffer.rows = (record.space < 0 ? 1 : graph.extents[record.space]) + record.moreRows;
    int64_t elements;
    if (__builtin_mul_overflow(buffer.rows, record.rowElements, &elements) ||
        __builtin_mul_overflow(elements, record.dtypeBits / 8, &buffer.bytes))
      return fail(error, GNNC_UNSUPPORTED, "buffer '%s': %lld rows of %lld numbers are more than can be addressed",
                  model.name(record.name), static_cast<long long>(buffer.rows),
                  static_cast<long long>(record.rowElements));
    int64_t most =
        record.space < 0 || !graph.capacities ? buffer.rows : graph.capacities[record.space] + record.moreRows;
    if (__builtin_mul_overflow(most, record.rowElements * (record.dtypeBits / 8), &buffer.room))
      return fail(error, GNNC_UNSUPPORTED, "buffer '%s': its capacity is more than can be addressed",
                  model.name(record.name));
    graph.buffers[i] = buffer;
  }
  return GNNC_OK;
}

template <typename T> static void fillWith(void *data, int64_t count, T value) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<T *>(data)[i] = value;
}

/// One array for each value and width serves all optional inputs; it is as long as the longest of them.
gnnc_status Preparation::fillDefaults() {
  for (int64_t i = 0; i < header.numBuffers; ++i) {
    const BufferRec &record = model.buffer(i);
    if (!record.optional || graph.buffers[i].fill)
      continue;
    auto alike = [&](int64_t j) {
      const BufferRec &other = model.buffer(j);
      return other.optional && other.fill == record.fill && other.dtypeBits == record.dtypeBits;
    };
    int64_t bytes = 0;
    for (int64_t j = i; j < header.numBuffers; ++j)
      if (alike(j) && graph.buffers[j].bytes > bytes)
        bytes = graph.buffers[j].bytes;
    void *data = memory.allocate(bytes, 1);
    if (!data)
      return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the default of input '%s'", model.name(record.name));
    double value;
    memcpy(&value, &record.fill, sizeof value);
    if (record.dtypeBits == 16)
      fillWith(data, bytes / 2, static_cast<uint16_t>(record.fill));
    else if (record.dtypeBits == 32)
      fillWith(data, bytes / 4, static_cast<float>(value));
    else
      fillWith(data, bytes / 8, value);
    for (int64_t j = i; j < header.numBuffers; ++j)
      if (alike(j))
        graph.buffers[j].fill = data;
  }
  return GNNC_OK;
}

// Once for a graph: made for size.
[[gnu::cold]] gnnc_status Preparation::planWorkspace(int64_t number, PreparedFunction &result) {
  const FunctionRec &function = model.function(number);
  int64_t numMerges = 0, mostBuffers = 0, mostMerges = 0, mostIndices = 0;
  auto atLeast = [](int64_t &most, int64_t value) { most = most > value ? most : value; };
  auto stepAt = [&](int64_t i) -> const StepRec & { return model.step(function.firstStep + i); };
  if (device)
    return cuda::planDevice(graph, number, scratch, orders, result, error);
  for (int64_t i = 0; i < function.numSteps; ++i) {
    numMerges += stepAt(i).numMerges;
    atLeast(mostBuffers, stepAt(i).numBuffers);
    atLeast(mostMerges, stepAt(i).numMerges);
    if (function.numChosen)
      atLeast(mostIndices, stepAt(i).numIndices);
  }
  int64_t count = function.numBuffers + numMerges + function.numSteps;
  Lifetime *items = scratch.array<Lifetime>(count);
  int64_t *words = scratch.array<int64_t>(kPlanWords * count);
  int64_t *partials = memory.array<int64_t>(numMerges);
  if (!items || !words || !partials)
    return outOfMemory("the plan of the workspace");

  for (int64_t i = 0; i < function.numBuffers; ++i) {
    const BufferRec &record = model.buffer(function.firstBuffer + i);
    bool inArena = record.kind == BufferKind::Arena;
    items[i] = {inArena ? graph.buffers[function.firstBuffer + i].room : 0, record.first, record.last, 0};
  }
  int64_t next = function.numBuffers;
  auto tooLarge = [&] {
    return fail(error, GNNC_UNSUPPORTED, "the workspace for this graph is larger than can be addressed");
  };
  for (int64_t i = 0; i < function.numSteps; ++i) {
    const StepRec &step = stepAt(i);
    int64_t bytes, blocks = graph.capacities ? mostBlocks(model, step, graph.capacities)
                                             : graph.steps[function.firstStep + i].partition.blocks;
    if (__builtin_mul_overflow(step.blockBytes, blocks, &bytes))
      return tooLarge();
    items[function.numBuffers + numMerges + i] = {bytes, i, i, 0};
    for (int64_t k = 0; k < step.numMerges; ++k) {
      const MergeRec &merge = model.merge(step, k);
      if (__builtin_mul_overflow(merge.elements, blocks, &bytes) ||
          __builtin_mul_overflow(bytes, model.buffer(merge.buffer).dtypeBits / 8, &bytes))
        return tooLarge();
      items[next++] = {bytes, i, i, 0};
    }
  }
  int64_t arena;
  PlanOrder *known = orders ? orders->take(number) : nullptr;
  planMemory(items, count, words, arena, known);
  if (known)
    orders->give(number, known);
  if (arena < 0)
    return tooLarge();

  for (int64_t i = 0; i < function.numBuffers; ++i)
    graph.buffers[function.firstBuffer + i].offset = items[i].offset;
  for (int64_t i = 0, merge = 0; i < function.numSteps; ++i) {
    graph.steps[function.firstStep + i].partials = partials + merge;
    graph.steps[function.firstStep + i].blockMemory = items[function.numBuffers + numMerges + i].offset;
    for (int64_t k = 0; k < stepAt(i).numMerges; ++k, ++merge)
      partials[merge] = items[function.numBuffers + merge].offset;
  }
  result.stepBuffersAt = function.numBuffers * static_cast<int64_t>(sizeof(void *));
  result.stepPartialsAt = result.stepBuffersAt + mostBuffers * static_cast<int64_t>(sizeof(void *));
  result.stepIndicesAt = result.stepPartialsAt + mostMerges * static_cast<int64_t>(sizeof(void *));
  result.stepExtentsAt = result.stepIndicesAt + mostIndices * static_cast<int64_t>(sizeof(void *));
  int64_t tables =
      result.stepExtentsAt + (function.numChosen ? header.numSpaces : 0) * static_cast<int64_t>(sizeof(int64_t));
  result.arenaAt = (tables + kAlignment - 1) / kAlignment * kAlignment;
  if (__builtin_add_overflow(result.arenaAt, arena, &result.workspaceBytes))
    return tooLarge();
  return GNNC_OK;
}

} // namespace gnnc::runtime
