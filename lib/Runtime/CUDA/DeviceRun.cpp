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

#include "../Choose.h"
#include "../Error.h"
#include "Branches.h"
#include "Recording.h"
#include "Worklist.h"
#include <string.h>

namespace gnnc::runtime::cuda {

using namespace table;

int64_t graphWord(const gnnc_graph &of, int64_t step, const WordRec &word) {
  auto [kind, number] = word;
  const Model &model = of.model;
  const DeviceGraph &graph = *of.device;
  auto address = [](Address at) { return static_cast<int64_t>(at); };
  switch (kind) {
  case WordKind::Index:
    return address(graph.indices[number]);
  case WordKind::Extent:
    return number < 0 ? 1 : of.extents[number];
  case WordKind::Items:
    return address(graph.worklists[number].items);
  case WordKind::NumItems:
    return graph.worklists[number].numItems;
  case WordKind::NumHeavyItems:
    return graph.worklists[number].numSlots;
  case WordKind::Heavy:
    return address(graph.worklists[number].heavy);
  case WordKind::NumHeavy:
    return graph.worklists[number].numHeavy;
  case WordKind::HeavyOfSlot:
    return address(graph.worklists[number].heavyOfSlot);
  case WordKind::BlocksBefore:
  case WordKind::Blocks: {
    const DeviceStepRec &record = model.deviceStep(step);
    int64_t last = kind == WordKind::Blocks ? record.numLaunches : number, blocks = 0;
    for (int64_t k = 0; k < last; ++k)
      if (model.launch(record.firstLaunch + k).isCounted)
        blocks += graph.blocks[record.firstLaunch + k];
    return blocks;
  }
  case WordKind::PartItems: {
    int64_t part = model.deviceStep(step).firstLaunch + number;
    return address(graph.worklists[model.launch(part).symbol].items) +
           graph.items[part].first * static_cast<int64_t>(sizeof(Item));
  }
  case WordKind::PartNumItems:
    return graph.items[model.deviceStep(step).firstLaunch + number].count;
  case WordKind::PartBlocks:
    return graph.blocks[model.deviceStep(step).firstLaunch + number];
  default:
    return 0;
  }
}

int64_t gridBlocks(const gnnc_graph &graph, int64_t step, int64_t launch) {
  int64_t blocks = graph.device->blocks[launch], first = graph.model.deviceStep(step).firstLaunch;
  for (int64_t k = launch; k > first && graph.model.launch(k - 1).isJoined; --k)
    blocks += graph.device->blocks[k - 1];
  return blocks;
}

gnnc_status Device::launch(const Call &call, int64_t step, int64_t number, Handle stream) const {
  const Model &model = call.graph.model;
  const LaunchRec &record = model.launch(number);
  if (record.isJoined || !has(record))
    return GNNC_OK;
  int64_t blocks = gridBlocks(call.graph, step, number);
  if (blocks == 0 && !call.recorder)
    return GNNC_OK;
  int64_t words[kMostWords];
  if (record.numWords > kMostWords) // The compiler makes no such kernels.
    return fail(call.error, GNNC_UNSUPPORTED, "kernel '%s' has more than %lld arguments", model.name(record.kernel),
                static_cast<long long>(kMostWords));
  for (int64_t i = 0; i < record.numWords; ++i) {
    const WordRec &word = model.word(record, i);
    if (call.record().numChosen && chosenWord(call, step, number, word, words[i]))
      continue;
    words[i] = word.kind == WordKind::Buffer    ? reinterpret_cast<int64_t>(call.pointer(word.number))
               : word.kind == WordKind::Scratch ? reinterpret_cast<int64_t>(call.workspace + call.function().arenaAt +
                                                                            call.graph.device->scratch[word.number])
                                                : graphWord(call.graph, step, word);
  }
  // CU_LAUNCH_PARAM_BUFFER_POINTER, ..._SIZE, ..._END
  size_t size = static_cast<size_t>(record.numWords) * sizeof(int64_t);
  void *extra[] = {reinterpret_cast<void *>(1), words, reinterpret_cast<void *>(2), &size, nullptr};
  // What has nothing to do now is recorded too: it may have when its graph was updated.
  LaunchConfig config = {{static_cast<unsigned>(blocks ? blocks : 1), static_cast<unsigned>(record.gridY),
                          static_cast<unsigned>(record.gridZ)},
                         {static_cast<unsigned>(record.threads), 1, 1},
                         static_cast<unsigned>(record.sharedBytes),
                         stream,
                         nullptr,
                         0};
  // Kernels for sm_90 and later wait for the one before by themselves (followLaunch in PTX.cuh), so they may be started
  // while it ends. What a recorder notes is launched as ever: its nodes may be switched off.
  LaunchAttribute overlaps = {LaunchAttribute::ProgrammaticStreamSerialization, {}, {1}};
  int code = 0;
  if (driver.launchWith && codeFor >= 90 && !call.recorder) {
    config.attributes = &overlaps, config.numAttributes = 1;
    code = driver.launchWith(&config, functions[number], nullptr, extra);
  } else {
    code = driver.launch(functions[number], config.grid[0], config.grid[1], config.grid[2], config.block[0], 1, 1,
                         config.sharedBytes, stream, nullptr, extra);
  }
  if (code)
    return driverError(driver, code, model.name(record.kernel), call.error);
  return call.recorder ? call.recorder->note(driver, call, step, number, words) : GNNC_OK;
}

gnnc_status Device::runStep(const Call &call, int64_t number, Handle stream) const {
  const Model &model = call.graph.model;
  const DeviceStepRec &step = model.deviceStep(number);
  if (isCollective(model.step(number)))
    return runCollective(call, number, stream);
  if (isChoice(model.step(number)))
    return runChoice(call, number, stream);
  for (int64_t k = 0; k < step.numZeroed; ++k) {
    int64_t buffer = model.list(step.zeroedAt)[k];
    const PreparedBuffer &place = call.graph.buffers[buffer];
    size_t bytes = static_cast<size_t>(call.recorder ? place.room : place.bytes);
    if (bytes == 0)
      continue;
    if (int code = driver.fillBytes(reinterpret_cast<Address>(call.pointer(buffer)), 0, bytes, stream))
      return driverError(driver, code, "cannot clear a buffer", call.error);
  }
  for (int64_t k = 0; k < step.numLaunches; ++k)
    if (gnnc_status status = launch(call, number, step.firstLaunch + k, stream))
      return status;
  return GNNC_OK;
}

bool Device::isIdle(const Call &call, int64_t number) const {
  const Model &model = call.graph.model;
  const DeviceStepRec &step = model.deviceStep(number);
  if (isCollective(model.step(number)))
    return model.step(number).kind == StepKind::Await; // of one rank alone, whose transfer is a copy
  if (isChoice(model.step(number)))
    return false;
  if (call.recorder)
    return step.numZeroed + step.numLaunches == 0;
  for (int64_t k = 0; k < step.numZeroed; ++k)
    if (call.graph.buffers[model.list(step.zeroedAt)[k]].bytes > 0)
      return false;
  for (int64_t k = 0; k < step.numLaunches; ++k)
    if (call.graph.device->blocks[step.firstLaunch + k] > 0)
      return false;
  return true;
}

/// Each step is recorded behind those that it must wait for. Only recordings come here, so it is made for size.
[[gnu::cold]] gnnc_status Device::runBranched(const Call &call, Handle stream) const {
  constexpr unsigned kSet = 1; // CU_STREAM_SET_CAPTURE_DEPENDENCIES
  int64_t count = call.program.numSteps, first = call.record().firstStep + call.program.firstStep;
  int captured;
  size_t numFound;
  const Handle *found;
  auto look = [&] { return driver.captureInfo(stream, &captured, nullptr, nullptr, &found, &numFound); };
  auto cannot = [&](int code) { return driverError(driver, code, "cannot record branches", call.error); };
  if (int code = look())
    return cannot(code);
  size_t numStart = numFound;
  Handle *start = static_cast<Handle *>(__builtin_alloca((numStart + 1) * sizeof(Handle)));
  for (size_t i = 0; i < numStart; ++i)
    start[i] = found[i];
  size_t steps = static_cast<size_t>(count);
  Handle *nodes = static_cast<Handle *>(__builtin_alloca(steps * sizeof(Handle)));
  Handle *waited = static_cast<Handle *>(__builtin_alloca(steps * sizeof(Handle)));
  int64_t *before = static_cast<int64_t *>(__builtin_alloca(steps * sizeof(int64_t)));
  bool *isWaitedFor = static_cast<bool *>(__builtin_alloca(steps));
  size_t words = static_cast<size_t>(StepOrder::wordsFor(call)) * sizeof(uint64_t);
  uint64_t *room = static_cast<uint64_t *>(__builtin_alloca(words));
  memset(room, 0, words);
  StepOrder order(call, room);
  for (int64_t i = 0; i < count; ++i) {
    nodes[i] = nullptr;
    isWaitedFor[i] = false;
    if (!call.needs(i) || isIdle(call, first + i))
      continue;
    size_t numWaited = 0;
    for (int64_t k = 0, number = order.find(i, before); k < number; ++k)
      if (nodes[before[k]]) {
        waited[numWaited++] = nodes[before[k]];
        isWaitedFor[before[k]] = true;
      }
    int code = numWaited ? driver.setDependencies(stream, waited, numWaited, kSet)
                         : driver.setDependencies(stream, start, numStart, kSet);
    if (code)
      return cannot(code);
    if (gnnc_status status = runStep(call, first + i, stream))
      return status;
    if (int failed = look())
      return cannot(failed);
    nodes[i] = numFound > 0 ? found[0] : nullptr;
  }
  size_t numEnds = 0;
  for (int64_t i = 0; i < count; ++i)
    if (nodes[i] && !isWaitedFor[i])
      waited[numEnds++] = nodes[i];
  int code = numEnds ? driver.setDependencies(stream, waited, numEnds, kSet) : 0;
  return code ? cannot(code) : GNNC_OK;
}

gnnc_status Device::run(const Call &call, Handle stream) const {
  Current current(*this);
  int captured = 0;
  // Ranks move data in one order, so their steps have no branches.
  if (stream && !call.graph.ranks.areReached() && driver.captureInfo && driver.setDependencies &&
      call.program.numSteps > 1 && call.program.numSteps <= kMostBranchedSteps &&
      driver.captureInfo(stream, &captured, nullptr, nullptr, nullptr, nullptr) == 0 && captured == 1)
    return runBranched(call, stream);
  int64_t first = call.record().firstStep + call.program.firstStep;
  for (int64_t i = 0; i < call.program.numSteps; ++i)
    if (gnnc_status status = call.needs(i) ? runStep(call, first + i, stream) : GNNC_OK) {
      // Rows that are on their way arrive before anything else is done with their memory.
      if (call.graph.ranks.areReached())
        joinAside(call, stream);
      return status;
    }
  return GNNC_OK;
}

} // namespace gnnc::runtime::cuda
