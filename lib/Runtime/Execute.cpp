//===- Execute.cpp - Runs steps on the CPU --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Steps follow one another; the blocks of one are shared out over the threads. Results that all blocks contribute to
// are combined afterwards, in block order for each number, so that their bits do not depend on who computed what.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "Context.h"
#include "Processor.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

namespace {

struct StepCall {
  const Partition &partition;
  Frame frame;
  Kernel kernel;
};

struct MergeCall {
  void *target;
  const void *partials;
  int64_t elements, blocks;
  int64_t chunk; ///< numbers of the target that one thread takes at a time
};

struct Sum {
  template <typename T> static T combine(T a, T b) { return a + b; }
};
// Not-a-number wins, as in the kernels' own maxima.
struct Max {
  template <typename T> static T combine(T a, T b) { return b > a || b != b ? b : a; }
};
struct Min {
  template <typename T> static T combine(T a, T b) { return b < a || b != b ? b : a; }
};

} // namespace

static void runBlock(const void *argument, int64_t block) {
  const StepCall &step = *static_cast<const StepCall *>(argument);
  step.partition.run(step.frame, step.kernel, block);
}

template <typename T, typename Monoid> static void mergeChunk(const void *argument, int64_t number) {
  const MergeCall &merge = *static_cast<const MergeCall *>(argument);
  int64_t begin = number * merge.chunk;
  int64_t end = begin + merge.chunk < merge.elements ? begin + merge.chunk : merge.elements;
  T *target = static_cast<T *>(merge.target);
  const T *partials = static_cast<const T *>(merge.partials);
  memcpy(target + begin, partials + begin, (end - begin) * sizeof(T));
  for (int64_t block = 1; block < merge.blocks; ++block) {
    const T *partial = partials + block * merge.elements;
    for (int64_t i = begin; i < end; ++i)
      target[i] = Monoid::combine(target[i], partial[i]);
  }
}

/// Of equal numbers the first block's wins.
template <typename T, bool Most> static void mergeWinners(const void *argument, int64_t number) {
  const MergeCall &merge = *static_cast<const MergeCall *>(argument);
  int64_t elements = merge.elements / 2, begin = number * merge.chunk;
  int64_t end = begin + merge.chunk < elements ? begin + merge.chunk : elements;
  const T *partials = static_cast<const T *>(merge.partials);
  for (int64_t i = begin; i < end; ++i) {
    const T *best = partials + i;
    for (int64_t block = 1; block < merge.blocks; ++block) {
      const T *other = partials + block * merge.elements + i;
      if (Most ? *other > *best : *other < *best)
        best = other;
    }
    memcpy(static_cast<T *>(merge.target) + i, best + elements, sizeof(T));
  }
}

static ThreadPool::Body mergeFunction(MergeKind kind, int64_t bits) {
  switch (kind) {
  case MergeKind::Max:
    return bits == 32 ? mergeChunk<float, Max> : mergeChunk<double, Max>;
  case MergeKind::Min:
    return bits == 32 ? mergeChunk<float, Min> : mergeChunk<double, Min>;
  case MergeKind::ArgMax:
    return bits == 32 ? mergeWinners<float, true> : mergeWinners<double, true>;
  case MergeKind::ArgMin:
    return bits == 32 ? mergeWinners<float, false> : mergeWinners<double, false>;
  default:
    return bits == 32 ? mergeChunk<float, Sum> : mergeChunk<double, Sum>;
  }
}

void mergeStep(gnnc_context &context, const Call &call, const StepRec &step, int64_t blocks, void *const *partials) {
  const Model &model = call.graph.model;
  for (int64_t k = 0; k < step.numMerges; ++k) {
    const MergeRec &record = model.merge(step, k);
    int64_t bits = model.buffer(record.buffer).dtypeBits;
    void *target = call.pointer(record.buffer);
    if (record.elements == 0)
      continue;
    bool winners = record.kind == MergeKind::ArgMax || record.kind == MergeKind::ArgMin;
    int64_t elements = winners ? record.elements / 2 : record.elements;
    if (blocks == 0) {
      memset(target, winners ? -1 : 0, elements * (bits / 8));
      continue;
    }
    // About 16K additions a chunk: much less is not worth another thread.
    int64_t chunk = (16384 / blocks + 15) / 16 * 16;
    MergeCall merge{target, partials[k], record.elements, blocks, chunk > 64 ? chunk : 64};
    context.pool.run((elements + merge.chunk - 1) / merge.chunk, mergeFunction(record.kind, bits), &merge);
  }
}

static gnnc_status runSteps(gnnc_context &context, const Call &call) {
  DefaultFloatMode mode;
  const gnnc_graph &graph = call.graph;
  const Model &model = graph.model;
  const PreparedFunction &function = call.function();
  void **buffers = reinterpret_cast<void **>(call.workspace + function.stepBuffersAt);
  void **partials = reinterpret_cast<void **>(call.workspace + function.stepPartialsAt);
  int64_t first = call.record().firstStep + call.program.firstStep;
  for (int64_t i = first; i < first + call.program.numSteps; ++i) {
    if (!call.needs(i - first))
      continue;
    const StepRec &record = model.step(i);
    const PreparedStep &step = graph.steps[i];
    for (int64_t k = 0; k < record.numBuffers; ++k)
      buffers[k] = call.pointer(model.list(record.buffersAt)[k]);
    for (int64_t k = 0; k < record.numMerges; ++k)
      partials[k] = call.workspace + function.arenaAt + step.partials[k];
    if (isCollective(record)) {
      if (gnnc_status status = runCollective(context, call, record, partials))
        return status;
      continue;
    }
    const int64_t *extents = graph.extents;
    Partition partition = step.partition;
    if (call.record().numChosen)
      extents = followExtents(call, i, reinterpret_cast<int64_t *>(call.workspace + function.stepExtentsAt), partition);
    if (isChoice(record)) {
      choose(context, call, record, step, buffers, extents);
      continue;
    }
    const int32_t *const *indices = step.indices;
    if (call.record().numChosen)
      indices = followChoices(call, record, step,
                              reinterpret_cast<const int32_t **>(call.workspace + function.stepIndicesAt));
    Frame frame{buffers,          indices, partials, extents, call.workspace + function.arenaAt + step.blockMemory,
                record.blockBytes};
    StepCall stepCall{partition, frame, context.variant->kernels[record.kernel]};
    context.pool.run(partition.blocks, runBlock, &stepCall);
    mergeStep(context, call, record, partition.blocks, partials);
  }
  return GNNC_OK;
}

gnnc_status execute(gnnc_context &context, const Call &call) {
  gnnc_status status = runSteps(context, call);
  // Whatever happened, nobody writes to the caller's memory any more.
  if (Exchanges *exchanges = call.graph.ranks.exchanges)
    if (gnnc_status late = exchanges->finish(call))
      status = status ? status : late;
  return status;
}

} // namespace gnnc::runtime
