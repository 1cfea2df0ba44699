//===- DeviceRanks.cpp - Steps between ranks on a GPU ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever moves the data may want it on the host. Then it goes there and back, and the stream is waited for.
//
//===----------------------------------------------------------------------===//

#include "../Context.h"
#include "Prepare.h"

namespace gnnc::runtime::cuda {

using namespace table;

gnnc_status Device::prepareRanks(const gnnc_graph &graph, DeviceGraph &result, gnnc_error *error) const {
  const Model &model = graph.model;
  if (gnnc_status status = loadPreparation(error)) // It has the kernel that combines values.
    return status;
  if (graph.ranks.with.device_type == 2)
    return GNNC_OK;
  int64_t most = 0;
  for (int64_t i = 0; i < model.header().numSteps; ++i) {
    const StepRec &step = model.step(i);
    if (!isCollective(step))
      continue;
    const int64_t *buffers = model.list(step.buffersAt);
    int64_t sent = graph.buffers[buffers[0]].bytes, received = graph.buffers[buffers[1]].bytes;
    if (step.kind == StepKind::AllReduce &&
        __builtin_mul_overflow(received, static_cast<int64_t>(graph.ranks.size), &received))
      received = INT64_MAX;
    if (__builtin_add_overflow(sent + kDeviceAlignment, received, &sent))
      return fail(error, GNNC_UNSUPPORTED, "%s: more than can be addressed", nameOf(model, step).c_str());
    most = sent > most ? sent : most;
  }
  Current current(*this);
  if (int code = most ? driver.allocateHost(&result.staged, static_cast<size_t>(most), 0) : 0) {
    result.staged = nullptr;
    return driverError(driver, code, "cannot allocate the host's memory for rows of other ranks", error);
  }
  return GNNC_OK;
}

void Device::releaseStaged(void *staged) const {
  Current current(*this);
  driver.releaseHost(staged);
}

/// What an exchange or a gathering reads, writes and how large that is.
struct Device::Moved {
  const void *from;
  int64_t fromBytes;
  void *to;
  int64_t toBytes;
};

gnnc_status Device::moveBetweenRanks(const Call &call, const StepRec &step, const Moved &moved, Handle stream) const {
  const Ranks &ranks = call.graph.ranks;
  const gnnc_collectives &with = ranks.with;
  const int64_t *buffers = call.graph.model.list(step.buffersAt);
  const BufferRec &own = call.graph.model.buffer(buffers[0]), &other = call.graph.model.buffer(buffers[1]);
  gnnc_error found = {};
  auto move = [&](const void *from, void *to, Handle stream) {
    gnnc_status status = step.kind == StepKind::Transfer
                             ? with.exchange(with.user, from, ranks.counts[own.space], to, ranks.counts[other.space],
                                             own.rowElements * (own.dtypeBits / 8), stream, &found)
                             : with.gather(with.user, from, to, moved.fromBytes, stream, &found);
    return status ? collectiveFailed(call, step, found) : GNNC_OK;
  };
  if (with.device_type == 2)
    return move(moved.from, moved.to, stream);
  int captured = 0;
  if (stream && driver.captureInfo && driver.captureInfo(stream, &captured, nullptr, nullptr, nullptr, nullptr) == 0 &&
      captured)
    return fail(call.error, GNNC_UNSUPPORTED, "%s: %s: ranks that move data on the host cannot be recorded",
                call.graph.model.name(call.program.name), nameOf(call.graph.model, step).c_str());
  char *sent = static_cast<char *>(call.graph.device->staged);
  char *received = sent + (moved.fromBytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
  if (gnnc_status status =
          copy(sent, false, moved.from, true, static_cast<size_t>(moved.fromBytes), stream, call.error))
    return status;
  if (gnnc_status status = synchronize(stream, call.error))
    return status;
  if (gnnc_status status = move(sent, received, nullptr))
    return status;
  return copy(moved.to, true, received, false, static_cast<size_t>(moved.toBytes), stream, call.error);
}

gnnc_status Device::runCollective(const Call &call, int64_t number, Handle stream) const {
  constexpr int64_t kThreads = 512;
  const Model &model = call.graph.model;
  const StepRec &step = model.step(number);
  const int64_t *buffers = model.list(step.buffersAt);
  const void *from = call.pointer(buffers[0]);
  void *to = call.pointer(buffers[1]);
  int64_t fromBytes = call.graph.buffers[buffers[0]].bytes, toBytes = call.graph.buffers[buffers[1]].bytes;
  int64_t size = call.graph.ranks.size;
  if (size == 1)
    return copy(to, true, from, true, static_cast<size_t>(toBytes), stream, call.error);
  if (step.kind == StepKind::Transfer)
    return moveBetweenRanks(call, step, {from, fromBytes, to, toBytes}, stream);
  char *all =
      call.workspace + call.function().arenaAt + call.graph.device->scratch[model.deviceStep(number).firstScratch];
  if (gnnc_status status = moveBetweenRanks(call, step, {from, fromBytes, all, toBytes * size}, stream))
    return status;
  const MergeRec &merge = model.merge(step, 0);
  int64_t bits = model.buffer(buffers[1]).dtypeBits, elements = toBytes / (bits / 8);
  int64_t words[] = {reinterpret_cast<int64_t>(all), elements, size, static_cast<int64_t>(merge.kind),
                     reinterpret_cast<int64_t>(to)};
  if (elements == 0)
    return GNNC_OK;
  int64_t blocks = (elements + kThreads - 1) / kThreads;
  return launchPreparation(bits == 32 ? GraphBuilder::CombineRanks32 : GraphBuilder::CombineRanks64,
                           blocks < 4 * numProcessors ? blocks : 4 * numProcessors, kThreads, words, 5, stream,
                           call.error);
}

} // namespace gnnc::runtime::cuda
