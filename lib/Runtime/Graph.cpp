//===- Graph.cpp - Prepares a graph ---------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// In order: spaces and maps; index arrays; sizes of buffers; blocks of steps; default inputs; the plan of the
// workspace. Spaces and maps live in scratch memory, of which only the index arrays are kept.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "CUDA/Prepare.h"
#include "Capacity.h"
#include "MemoryPlan.h"
#include "Tuning.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

namespace {

class Preparation {
public:
  /// `before`: what the graph was before an update.
  Preparation(gnnc_graph &graph, cuda::Device *device, cuda::Handle stream, cuda::GraphBuilder *builder,
              const gnnc_graph *before, gnnc_error *error)
      : graph(graph), device(device), stream(stream), builder(builder), before(before), model(graph.model),
        header(graph.model.header()), error(error), memory(graph.memory), scratch(graph.memory.getAllocator()),
        topology(graph.model, scratch, error, builder), indices(topology),
        agreement(graph, graph.model, scratch, error) {}

  /// `earlier`: how making ready for it went.
  gnnc_status run(const gnnc_graph_desc &desc, const PrepareFor &with, gnnc_status earlier = GNNC_OK);

private:
  gnnc_status describe(const gnnc_graph_desc &desc, const gnnc_part_desc *part);
  gnnc_status makeAll();
  gnnc_status findCapacities(const gnnc_graph_desc &desc);
  gnnc_status findFunctions(const gnnc_graph_desc &desc);
  void chooseFunctions();
  void take(int64_t other, int64_t own);
  bool isRun(int64_t function) const {
    return graph.functions[function].missing < 0 && graph.functions[function].isRun;
  }
  bool isUsed(int64_t step) const;
  gnnc_status makeIndices();
  gnnc_status noteEqualIndices();
  gnnc_status sizeBuffers();
  gnnc_status cutSteps();
  gnnc_status fillDevice();
  gnnc_status cutStep(int64_t step, Partition &result);
  gnnc_status fillDefaults();
  gnnc_status planWorkspace(const FunctionRec &function, PreparedFunction &result);
  gnnc_status outOfMemory(const char *what) { return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for %s", what); }

  gnnc_graph &graph;
  cuda::Device *device;        ///< null: the CPU
  cuda::Handle stream;         ///< of the device
  cuda::GraphBuilder *builder; ///< null: arrays are made on the host
  const gnnc_graph *before;    ///< null: it is prepared for the first time
  const Model &model;
  const Header &header;
  gnnc_error *error;
  Memory &memory;
  Memory scratch;
  Topology topology;
  Indices indices;
  Agreement agreement;
  Tuning tuning;
  const int32_t **arrays = nullptr;
  int64_t *lengths = nullptr;
};

} // namespace

gnnc_status Preparation::run(const gnnc_graph_desc &desc, const PrepareFor &with, gnnc_status earlier) {
  if (with.part && !model.ranks)
    return fail(error, GNNC_UNSUPPORTED, "prepare_part: the model is for one process; compile it with --distributed");
  if (with.part)
    if (gnnc_status status = agreement.read(*with.part, with.isPlanned))
      return status;
  gnnc_status status = earlier ? earlier : describe(desc, with.part);
  // Ranks say that they have failed before they leave.
  if (model.ranks)
    status = agreement.begin(status);
  if (status)
    return status;
  chooseFunctions();
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
      status = planWorkspace(model.function(i), graph.functions[i]);
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

/// Which functions can be run. The first one is the model's outputs: without it a graph is of no use.
gnnc_status Preparation::findFunctions(const gnnc_graph_desc &desc) {
  graph.functions = memory.array<PreparedFunction>(header.numFunctions);
  if (!graph.functions)
    return outOfMemory("the list of functions");
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    const FunctionRec &record = model.function(i);
    PreparedFunction function;
    for (int64_t k = 0; k < record.numNeeds && function.missing < 0; ++k)
      if (int64_t need = model.list(record.needsAt)[k]; topology.isMissing(need))
        function.missing = topology.causeOf(need);
    if (i == 0 && function.missing >= 0)
      return topology.reportMissing(function.missing);
    function.chosen = i;
    graph.functions[i] = function;
  }
  if (desc.tuning) {
    int64_t architecture = device ? device->tunedAs() : kOnCPU;
    if (gnnc_status status = readTuning(model, desc.tuning, architecture,
                                        graph.capacities ? graph.capacities : graph.extents, scratch, tuning, error))
      return status;
  }
  return GNNC_OK;
}

double evaluate(const Model &model, int64_t at, int64_t numTerms, const int64_t *extents) {
  double sum = 0;
  for (const int64_t *term = model.list(at); numTerms > 0; --numTerms, term += 2)
    sum += static_cast<double>(term[1]) * (term[0] < 0 ? 1 : static_cast<double>(extents[term[0]]));
  return sum;
}

/// Runs function `other` in place of `own`.
void Preparation::take(int64_t other, int64_t own) {
  graph.functions[graph.functions[own].chosen].isRun = false;
  graph.functions[other].isRun = true;
  graph.functions[own].chosen = other;
}

/// Of a function and its alternatives the one that costs least on this graph, or at its capacities; or what a tuning or
/// the graph before its update has.
void Preparation::chooseFunctions() {
  const int64_t *extents = graph.capacities ? graph.capacities : model.ranks ? agreement.extents() : graph.extents;
  auto costOf = [&](int64_t at, int64_t count) { return evaluate(model, at, count, extents); };
  for (int64_t i = 0; i < header.numAlternatives; ++i) {
    const AlternativeRec &record = model.alternative(i);
    PreparedFunction &own = graph.functions[record.insteadOf], &other = graph.functions[record.function];
    other.isRun = false;
    if (own.missing >= 0 || other.missing >= 0)
      continue;
    if (own.chosen == record.insteadOf)
      own.cost = costOf(record.insteadCostAt, record.numInsteadTerms) * static_cast<double>(record.percent) / 100;
    double cost = costOf(record.costAt, record.numTerms);
    if (cost < own.cost) {
      take(record.function, record.insteadOf);
      own.cost = cost;
    }
  }
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    PreparedFunction &own = graph.functions[i];
    int64_t wanted = before ? before->functions[i].chosen : tuning.functions ? tuning.functions[i] : -1;
    if (wanted < 0 || own.missing >= 0 || graph.functions[wanted].missing >= 0 ||
        graph.functions[own.chosen].missing >= 0)
      continue;
    if (own.chosen != i || wanted != i)
      take(wanted, i);
    own.isTuned = before ? before->functions[i].isTuned : true;
  }
}

bool Preparation::isUsed(int64_t step) const {
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    const FunctionRec &record = model.function(i);
    if (step >= record.firstStep && step < record.firstStep + record.numSteps)
      return isRun(i);
  }
  return false;
}

gnnc_status Preparation::makeIndices() {
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
      used[model.list(at)[k]] = true;
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

gnnc_status Preparation::sizeBuffers() {
  graph.buffers = memory.array<PreparedBuffer>(header.numBuffers);
  if (!graph.buffers)
    return outOfMemory("the list of buffers");
  for (int64_t i = 0; i < header.numBuffers; ++i) {
    const BufferRec &record = model.buffer(i);
    PreparedBuffer buffer;
    buffer.rows = record.space < 0 ? 1 : graph.extents[record.space];
    int64_t elements;
    if (__builtin_mul_overflow(buffer.rows, record.rowElements, &elements) ||
        __builtin_mul_overflow(elements, record.dtypeBits / 8, &buffer.bytes))
      return fail(error, GNNC_UNSUPPORTED, "buffer '%s': %lld rows of %lld numbers are more than can be addressed",
                  model.name(record.name), static_cast<long long>(buffer.rows),
                  static_cast<long long>(record.rowElements));
    int64_t most = record.space < 0 || !graph.capacities ? buffer.rows : graph.capacities[record.space];
    if (__builtin_mul_overflow(most, record.rowElements * (record.dtypeBits / 8), &buffer.room))
      return fail(error, GNNC_UNSUPPORTED, "buffer '%s': its capacity is more than can be addressed",
                  model.name(record.name));
    graph.buffers[i] = buffer;
  }
  return GNNC_OK;
}

gnnc_status Preparation::cutStep(int64_t number, Partition &result) {
  const StepRec &step = model.step(number);
  auto isMerged = [](const StepRec &step) { return step.numMerges > 0 || step.blockBytes > 0; };
  bool merged = isMerged(step);
  // Steps that are cut alike share their blocks.
  for (int64_t i = 0; i < number; ++i) {
    const StepRec &other = model.step(i);
    if (isUsed(i) && other.kind == step.kind && other.map == step.map && other.space == step.space &&
        isMerged(other) == merged) {
      result = graph.steps[i].partition;
      return GNNC_OK;
    }
  }
  if (isCollective(step)) {
    // Each rank's value is like a block's.
    result.blocks = graph.ranks.size > 1 ? graph.ranks.size : 0;
    return GNNC_OK;
  }
  if (step.kind == StepKind::Rows) {
    result = partitionRows(step.space < 0 ? 1 : graph.extents[step.space], merged);
    return GNNC_OK;
  }
  const Grouping *grouping;
  if (gnnc_status status = indices.grouping(step.map, grouping))
    return status;
  bool done = step.kind == StepKind::Sweep ? partitionSweep(*grouping, memory, result)
                                           : partitionGrouped(*grouping, merged, memory, result);
  return done ? GNNC_OK : outOfMemory("the blocks of a step");
}

gnnc_status Preparation::cutSteps() {
  graph.steps = memory.array<PreparedStep>(header.numSteps);
  int64_t numPointers = 0;
  for (int64_t i = 0; i < header.numSteps; ++i)
    numPointers += model.step(i).numIndices;
  const int32_t **pointers = memory.array<const int32_t *>(numPointers);
  if (!graph.steps || !pointers)
    return outOfMemory("the list of steps");
  for (int64_t i = 0; i < header.numSteps; ++i) {
    const StepRec &record = model.step(i);
    PreparedStep step;
    if (isUsed(i))
      if (gnnc_status status = cutStep(i, step.partition))
        return status;
    step.indices = pointers;
    for (int64_t k = 0; k < record.numIndices; ++k)
      *pointers++ = arrays[model.list(record.indicesAt)[k]];
    graph.steps[i] = step;
  }
  // Groupings are not asked for any more: keep what the table lists.
  for (int64_t i = 0; i < header.numIndices; ++i) {
    bool seen = !arrays[i];
    for (int64_t j = 0; j < i && !seen; ++j)
      seen = arrays[j] == arrays[i];
    if (!seen)
      memory.adopt(arrays[i], scratch);
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

/// Copies what kernels need to the device. The host keeps no index arrays.
gnnc_status Preparation::fillDevice() {
  auto used = [](const void *self, int64_t step) { return static_cast<const Preparation *>(self)->isUsed(step); };
  return cuda::prepareDevice(graph, *device, stream, indices, arrays, lengths, scratch, used, this, builder, tuning,
                             error);
}

gnnc_status Preparation::planWorkspace(const FunctionRec &function, PreparedFunction &result) {
  int64_t numMerges = 0, mostBuffers = 0, mostMerges = 0;
  auto atLeast = [](int64_t &most, int64_t value) { most = most > value ? most : value; };
  auto stepAt = [&](int64_t i) -> const StepRec & { return model.step(function.firstStep + i); };
  if (device)
    return cuda::planDevice(graph, function, scratch, result, error);
  for (int64_t i = 0; i < function.numSteps; ++i) {
    numMerges += stepAt(i).numMerges;
    atLeast(mostBuffers, stepAt(i).numBuffers);
    atLeast(mostMerges, stepAt(i).numMerges);
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
  planMemory(items, count, words, arena);
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
  int64_t tables = result.stepPartialsAt + mostMerges * static_cast<int64_t>(sizeof(void *));
  result.arenaAt = (tables + kAlignment - 1) / kAlignment * kAlignment;
  if (__builtin_add_overflow(result.arenaAt, arena, &result.workspaceBytes))
    return tooLarge();
  return GNNC_OK;
}

/// What is large, or there already, is prepared on the device; the results are the same.
static bool belongsOnDevice(const gnnc_graph_desc &desc) {
  constexpr int64_t kMany = 1 << 15;
  int64_t total = 0;
  for (int32_t i = 0; desc.indices && i < desc.num_indices; ++i) {
    if (desc.indices[i].format & GNNC_INDEX_ON_DEVICE)
      return true;
    total += desc.indices[i].length;
  }
  return total >= kMany;
}

static gnnc_status prepareOnDevice(gnnc_graph &graph, const gnnc_graph_desc &desc, const PrepareFor &with,
                                   cuda::Handle stream, const gnnc_graph *before, gnnc_error *error) {
  Memory lists(graph.memory.getAllocator());
  cuda::GraphBuilder builder(*with.device, stream, lists, error);
  gnnc_status status = builder.start();
  return Preparation(graph, with.device, stream, &builder, before, error).run(desc, with, status);
}

static gnnc_status prepareAs(const Model &model, const gnnc_allocator &allocator, const gnnc_graph_desc &desc,
                             gnnc_graph *&graph, const gnnc_graph *before, gnnc_error *error, const PrepareFor &with) {
  cuda::Device *device = with.device;
  gnnc_graph *result = create<gnnc_graph>(allocator, model, allocator);
  if (!result)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a graph");
  bool isOurs = device && !device->isPlanned() && desc.struct_size == sizeof desc;
  cuda::Handle stream = nullptr;
  gnnc_status status = isOurs ? device->streamFor(desc.stream, stream, error) : GNNC_OK;
  // What has failed so far is told to the other ranks.
  status = !status && isOurs && belongsOnDevice(desc)
               ? prepareOnDevice(*result, desc, with, stream, before, error)
               : Preparation(*result, device, stream, nullptr, before, error).run(desc, with, status);
  if (status) {
    destroy(result, allocator);
    return status;
  }
  graph = result;
  return GNNC_OK;
}

gnnc_status prepareGraph(const Model &model, const gnnc_allocator &allocator, const gnnc_graph_desc &desc,
                         gnnc_graph *&graph, gnnc_error *error, const PrepareFor &with) {
  return prepareAs(model, allocator, desc, graph, nullptr, error, with);
}

template <typename T> static void exchange(T &a, T &b) {
  T other = a;
  a = b;
  b = other;
}

gnnc_status updateGraph(gnnc_graph &graph, const gnnc_graph_desc &desc, gnnc_error *error, cuda::Device *device) {
  if (graph.ranks.size > 1)
    return fail(error, GNNC_UNSUPPORTED, "update: expected a graph of one rank, found one of %d", graph.ranks.size);
  // Without root spaces there is nothing that a caller could name a capacity of, and nothing that changes.
  const Model &model = graph.model;
  bool isFixed = true;
  for (int64_t i = 0; i < model.header().numSpaces; ++i)
    isFixed = isFixed && model.space(i).kind != SpaceKind::Root;
  if (!graph.capacities && !isFixed)
    return fail(error, GNNC_INVALID_ARGUMENT, "update: the graph was prepared without capacities");
  if (desc.struct_size == sizeof desc && desc.num_capacities != 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "update: expected no capacities beside those of prepare, found %d",
                desc.num_capacities);
  gnnc_graph *fresh;
  const gnnc_allocator &allocator = graph.memory.getAllocator();
  PrepareFor with{device};
  if (gnnc_status status = prepareAs(graph.model, allocator, desc, fresh, isFixed ? nullptr : &graph, error, with))
    return status;
  if (isFixed) {
    destroy(fresh, gnnc_allocator(allocator));
    return GNNC_OK;
  }
  graph.memory.exchange(fresh->memory);
  exchange(graph.extents, fresh->extents);
  exchange(graph.capacities, fresh->capacities);
  exchange(graph.equalIndices, fresh->equalIndices);
  exchange(graph.buffers, fresh->buffers);
  exchange(graph.steps, fresh->steps);
  exchange(graph.functions, fresh->functions);
  exchange(graph.device, fresh->device);
  ++graph.version;
  destroy(fresh, gnnc_allocator(allocator));
  return GNNC_OK;
}

} // namespace gnnc::runtime

gnnc_graph::~gnnc_graph() {
  if (ranks.exchanges)
    gnnc::runtime::destroy(ranks.exchanges, gnnc_allocator(memory.getAllocator()));
  if (device)
    gnnc::runtime::destroy(device, gnnc_allocator(memory.getAllocator()));
}
