//===- Branches.cpp - Steps of a recording side by side -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Branches.h"

namespace gnnc::runtime::cuda {

using namespace table;

int64_t StepOrder::wordsFor(const Call &call) {
  int64_t steps = call.program.numSteps;
  return steps * ((steps + 63) / 64);
}

StepOrder::StepOrder(const Call &call, uint64_t *words)
    : call(call), model(call.graph.model), numSteps(call.program.numSteps), rowWords((numSteps + 63) / 64),
      reached(words) {}

bool StepOrder::isWriter(int64_t step, int64_t buffer) const {
  const DeviceStepRec &record = model.deviceStep(call.record().firstStep + call.program.firstStep + step);
  const int64_t *written = model.list(record.writtenAt);
  for (int64_t k = 0; k < record.numWritten; ++k)
    if (written[k] == buffer)
      return true;
  return false;
}

int64_t StepOrder::numPlaces(int64_t step) const {
  const DeviceStepRec &record = model.deviceStep(call.record().firstStep + call.program.firstStep + step);
  return record.numBuffers + record.numScratch;
}

StepOrder::Place StepOrder::place(int64_t step, int64_t number) const {
  const DeviceStepRec &record = model.deviceStep(call.record().firstStep + call.program.firstStep + step);
  if (number >= record.numBuffers) {
    int64_t scratch = record.firstScratch + number - record.numBuffers;
    const DeviceGraph &graph = *call.graph.device;
    return {-1, graph.scratch[scratch], graph.scratch[scratch] + graph.scratchBytes[scratch], true};
  }
  int64_t buffer = model.list(record.buffersAt)[number];
  const BufferRec &of = model.buffer(buffer);
  const PreparedBuffer &prepared = call.graph.buffers[buffer];
  bool written = isWriter(step, buffer);
  if (of.kind == BufferKind::Arena)
    return {-1, prepared.offset, prepared.offset + prepared.room, written};
  return {of.kind == BufferKind::Output && of.replaces >= 0 ? of.replaces : buffer, 0, 1, written};
}

bool StepOrder::conflict(int64_t a, int64_t b) const {
  for (int64_t i = 0; i < numPlaces(a); ++i) {
    Place x = place(a, i);
    for (int64_t k = 0; k < numPlaces(b); ++k) {
      Place y = place(b, k);
      if ((x.written || y.written) && x.space == y.space && x.begin < y.end && y.begin < x.end)
        return true;
    }
  }
  return false;
}

int64_t StepOrder::find(int64_t step, int64_t *before) {
  uint64_t *row = reached + step * rowWords;
  int64_t count = 0;
  for (int64_t i = step - 1; i >= 0; --i) {
    if (row[i / 64] >> (i % 64) & 1 || !conflict(i, step))
      continue;
    before[count++] = i;
    row[i / 64] |= uint64_t(1) << (i % 64);
    for (int64_t w = 0; w < rowWords; ++w)
      row[w] |= reached[i * rowWords + w];
  }
  return count;
}

} // namespace gnnc::runtime::cuda
