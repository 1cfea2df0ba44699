//===- Recording.cpp - Recordings that follow their graphs ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recording.h"
#include <string.h>

namespace gnnc::runtime::cuda {

using namespace table;

gnnc_status Recorder::note(const Driver &driver, const Call &call, int64_t step, int64_t launch, const int64_t *words) {
  const Model &model = call.graph.model;
  const LaunchRec &record = model.launch(launch);
  int captured = 0;
  size_t count = 0;
  const Handle *nodes = nullptr;
  int code = driver.captureInfo ? driver.captureInfo(stream, &captured, nullptr, nullptr, &nodes, &count) : 0;
  if (code || count != 1)
    return code ? driverError(driver, code, "cannot note a recorded launch", call.error)
                : fail(call.error, GNNC_UNSUPPORTED, "recording a graph with capacities: expected a driver of CUDA %s",
                       "11.6 or later");
  auto *result = memory.array<RecordedLaunch>(1);
  auto *copy = memory.array<int64_t>(record.numWords);
  bool *isFill = memory.array<bool>(record.numWords);
  if (!result || !copy || !isFill)
    return fail(call.error, GNNC_OUT_OF_MEMORY, "out of memory for a recording");
  for (int64_t i = 0; i < record.numWords; ++i) {
    auto [kind, number] = model.word(record, i);
    copy[i] = words[i];
    isFill[i] = kind == WordKind::Buffer && model.buffer(number).optional &&
                words[i] == static_cast<int64_t>(call.graph.device->fills[number]);
  }
  *result = {nodes[0], &call.graph, call.program.function, step, launch, -1, copy, isFill, true, nullptr};
  *end = result;
  end = &result->next;
  return GNNC_OK;
}

gnnc_status Device::beginRecording(Handle stream, gnnc_error *error) {
  constexpr int kThisThread = 1; // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: others may allocate meanwhile
  Current current(*this);
  Recorder *recorder = create<Recorder>(memory.getAllocator(), memory.getAllocator(), stream);
  if (!recorder)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a recording");
  if (int code = driver.beginCapture(stream, kThisThread)) {
    destroy(recorder, memory.getAllocator());
    return driverError(driver, code, "cannot record on this stream", error);
  }
  pthread_mutex_lock(&recorderLock);
  recorder->next = recorders;
  recorders = recorder;
  pthread_mutex_unlock(&recorderLock);
  return GNNC_OK;
}

Recorder *Device::recorderOf(Handle stream) {
  pthread_mutex_lock(&recorderLock);
  Recorder *found = recorders;
  while (found && found->stream != stream)
    found = found->next;
  pthread_mutex_unlock(&recorderLock);
  return found;
}

gnnc_status Device::endRecording(Handle stream, gnnc_recording &recording, gnnc_error *error) {
  Current current(*this);
  pthread_mutex_lock(&recorderLock);
  Recorder **place = &recorders;
  while (*place && (*place)->stream != stream)
    place = &(*place)->next;
  Recorder *recorder = *place;
  if (recorder)
    *place = recorder->next;
  pthread_mutex_unlock(&recorderLock);
  bool follows = recorder && recorder->first;

  Handle graph = nullptr;
  int code = driver.endCapture(stream, &graph);
  struct {
    int result;
    Handle node, from;
  } info = {};
  // Only arguments and grids differ: the executable is kept. (Nodes that are noted must be those it was made of.)
  bool isCurrent = !code && graph && recording.executable && !follows && !recording.recorder &&
                   driver.updateExecutable && driver.updateExecutable(recording.executable, graph, &info) == 0;
  gnnc_status status = GNNC_OK;
  if (code || !graph) {
    status = driverError(driver, code, "the recording failed", error);
  } else if (!isCurrent) {
    destroyRecording(recording);
    if (follows && (!driver.setKernelNode || !driver.enableNode))
      status = fail(error, GNNC_UNSUPPORTED, "recording a graph with capacities: expected a driver of CUDA %s",
                    "11.6 or later");
    else if ((code = driver.instantiate(&recording.executable, graph, 0))) {
      recording.executable = nullptr;
      status = driverError(driver, code, "the recording cannot be made ready", error);
    }
  }
  if (!status && follows) {
    recording.graph = graph;
    recording.recorder = recorder;
    return refresh(recording, error);
  }
  if (graph)
    driver.destroyGraph(graph);
  if (recorder)
    destroy(recorder, memory.getAllocator());
  return status;
}

gnnc_status Device::refresh(gnnc_recording &recording, gnnc_error *error) const {
  // CUDA_KERNEL_NODE_PARAMS; its last two members came later.
  struct {
    Handle function;
    unsigned grid[3], threads[3], sharedBytes;
    void **parameters, **extra;
    Handle kernel, context;
  } parameters = {};
  for (RecordedLaunch *note = recording.recorder->first; note; note = note->next) {
    const gnnc_graph &graph = *note->graph;
    if (note->version == graph.version)
      continue;
    const Model &model = graph.model;
    const PreparedFunction &function = graph.functions[note->function];
    const LaunchRec &record = model.launch(note->launch);
    if (function.missing >= 0)
      return fail(error, GNNC_INVALID_ARGUMENT,
                  "replay: a recorded program needs data that was not given when the graph was updated");
    for (int64_t i = 0; i < record.numWords; ++i) {
      const WordRec &word = model.word(record, i);
      if (note->isFill[i])
        note->words[i] = static_cast<int64_t>(graph.device->fills[word.number]);
      else if (word.kind != WordKind::Buffer && word.kind != WordKind::Scratch)
        note->words[i] = graphWord(graph, note->step, word);
    }
    int64_t blocks = gridBlocks(graph, note->step, note->launch);
    bool isEnabled = blocks > 0;
    size_t size = static_cast<size_t>(record.numWords) * sizeof(int64_t);
    void *extra[] = {reinterpret_cast<void *>(1), note->words, reinterpret_cast<void *>(2), &size, nullptr};
    parameters.function = functions[note->launch];
    parameters.grid[0] = isEnabled ? static_cast<unsigned>(blocks) : 1;
    parameters.grid[1] = static_cast<unsigned>(record.gridY);
    parameters.grid[2] = static_cast<unsigned>(record.gridZ);
    parameters.threads[0] = static_cast<unsigned>(record.threads);
    parameters.threads[1] = parameters.threads[2] = 1;
    parameters.sharedBytes = static_cast<unsigned>(record.sharedBytes);
    parameters.extra = extra;
    int code = isEnabled ? driver.setKernelNode(recording.executable, note->node, &parameters) : 0;
    if (!code && isEnabled != note->isEnabled)
      code = driver.enableNode(recording.executable, note->node, isEnabled);
    if (code)
      return driverError(driver, code, "cannot bring a recording up to date", error);
    note->isEnabled = isEnabled;
    note->version = graph.version;
  }
  return GNNC_OK;
}

gnnc_status Device::replay(gnnc_recording &recording, Handle stream, gnnc_error *error) const {
  Current current(*this);
  if (recording.recorder)
    if (gnnc_status status = refresh(recording, error))
      return status;
  int code = driver.launchGraph(recording.executable, stream);
  return code ? driverError(driver, code, "cannot replay a recording", error) : GNNC_OK;
}

void Device::destroyRecording(gnnc_recording &recording) const {
  Current current(*this);
  if (recording.executable)
    driver.destroyExecutable(recording.executable);
  if (recording.graph)
    driver.destroyGraph(recording.graph);
  if (recording.recorder)
    destroy(recording.recorder, memory.getAllocator());
  recording.executable = recording.graph = nullptr;
  recording.recorder = nullptr;
}

} // namespace gnnc::runtime::cuda
