//===- DeviceRanks.cpp - Steps between ranks on a GPU ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever moves the data may want it on the host. Then it goes there and back, and the stream is waited for, also of a
// transfer that other steps could run beside: there is one buffer for what goes through the host.
//
// On the device rows move on a second stream where steps run beside a transfer: that stream follows the first one where
// the transfer begins, and the first one follows it at the await. A capture of the first stream takes both.
//
//===----------------------------------------------------------------------===//

#include "../Context.h"
#include "Prepare.h"

namespace gnnc::runtime::cuda {

using namespace table;

gnnc_status Device::prepareRanks(gnnc_graph &graph, DeviceGraph &result, gnnc_error *error) const {
  const Model &model = graph.model;
  if (gnnc_status status = loadPreparation(error)) // It has the kernel that combines values.
    return status;
  if (graph.ranks.with.device_type == 2)
    return prepareAside(graph, result, error);
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

gnnc_status Device::prepareAside(gnnc_graph &graph, DeviceGraph &result, gnnc_error *error) const {
  constexpr unsigned kApart = 1, kNoTiming = 2; // CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING
  const Model &model = graph.model;
  int64_t numSteps = model.header().numSteps;
  bool isWanted = false;
  for (int64_t i = 0; i < numSteps; ++i)
    isWanted |= model.step(i).kind == StepKind::Start;
  if (!isWanted || !graph.ranks.areReached())
    return GNNC_OK;
  result.arrived = graph.memory.array<Handle>(numSteps);
  if (!result.arrived)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the events of ranks");
  result.numSteps = numSteps;
  for (int64_t i = 0; i < numSteps; ++i)
    result.arrived[i] = nullptr;
  Current current(*this);
  int code = driver.createStream(&result.aside, kApart);
  if (!code)
    code = driver.createEvent(&result.ordered, kNoTiming);
  for (int64_t i = 0; i < numSteps && !code; ++i)
    if (model.step(i).kind == StepKind::Start)
      code = driver.createEvent(&result.arrived[i], kNoTiming);
  return code ? driverError(driver, code, "cannot create a stream for rows of other ranks", error) : GNNC_OK;
}

void Device::releaseRanks(DeviceGraph &graph) const {
  Current current(*this);
  if (graph.staged)
    driver.releaseHost(graph.staged);
  for (int64_t i = 0; i < graph.numSteps; ++i)
    if (graph.arrived[i])
      driver.destroyEvent(graph.arrived[i]);
  if (graph.ordered)
    driver.destroyEvent(graph.ordered);
  if (graph.aside)
    driver.destroyStream(graph.aside);
}

/// What is launched on `then` from now on comes after what is on `first`.
gnnc_status Device::follow(Handle event, Handle first, Handle then, gnnc_error *error) const {
  int code = driver.recordEvent(event, first);
  if (!code)
    code = driver.waitForEvent(then, event, 0);
  return code ? driverError(driver, code, "cannot order what ranks do together", error) : GNNC_OK;
}

void Device::joinAside(const Call &call, Handle stream) const {
  const DeviceGraph &graph = *call.graph.device;
  if (graph.aside)
    follow(graph.ordered, graph.aside, stream, nullptr);
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
    gnnc_status status = isTransfer(step)
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

/// The transfer that an await ends.
static int64_t startOf(const Model &model, int64_t await) {
  auto received = [&](int64_t step) { return model.list(model.step(step).buffersAt)[1]; };
  int64_t number = await;
  while (model.step(number).kind != StepKind::Start || received(number) != received(await))
    --number;
  return number;
}

gnnc_status Device::runCollective(const Call &call, int64_t number, Handle stream) const {
  constexpr int64_t kThreads = 512;
  const Model &model = call.graph.model;
  const DeviceGraph &graph = *call.graph.device;
  const StepRec &step = model.step(number);
  const int64_t *buffers = model.list(step.buffersAt);
  const void *from = call.pointer(buffers[0]);
  void *to = call.pointer(buffers[1]);
  int64_t fromBytes = call.graph.buffers[buffers[0]].bytes, toBytes = call.graph.buffers[buffers[1]].bytes;
  int64_t size = call.graph.ranks.size;
  if (step.kind == StepKind::Await) {
    int code = graph.aside ? driver.waitForEvent(stream, graph.arrived[startOf(model, number)], 0) : 0;
    return code ? driverError(driver, code, "cannot wait for rows of other ranks", call.error) : GNNC_OK;
  }
  if (size == 1)
    return copy(to, true, from, true, static_cast<size_t>(toBytes), stream, call.error);
  if (graph.aside)
    if (gnnc_status status = follow(graph.ordered, stream, graph.aside, call.error))
      return status;
  Handle with = graph.aside ? graph.aside : stream;
  if (isTransfer(step)) {
    if (gnnc_status status = moveBetweenRanks(call, step, {from, fromBytes, to, toBytes}, with))
      return status;
    if (!graph.aside)
      return GNNC_OK;
    if (step.kind == StepKind::Transfer)
      return follow(graph.ordered, graph.aside, stream, call.error);
    int code = driver.recordEvent(graph.arrived[number], graph.aside);
    return code ? driverError(driver, code, "cannot tell when rows of other ranks are here", call.error) : GNNC_OK;
  }
  char *all = call.workspace + call.function().arenaAt + graph.scratch[model.deviceStep(number).firstScratch];
  if (gnnc_status status = moveBetweenRanks(call, step, {from, fromBytes, all, toBytes * size}, with))
    return status;
  if (graph.aside)
    if (gnnc_status status = follow(graph.ordered, graph.aside, stream, call.error))
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
