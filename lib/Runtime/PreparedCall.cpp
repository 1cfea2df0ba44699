//===- PreparedCall.cpp - A program bound to a graph ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparedCall.h"
#include "CUDA/Device.h"
#include "Ranks.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

static int64_t aligned(int64_t bytes) {
  return (bytes + cuda::kDeviceAlignment - 1) / cuda::kDeviceAlignment * cuda::kDeviceAlignment;
}

namespace {

/// Steps of a function and the buffers that they use, on the graph's device.
class Steps {
public:
  Steps(const gnnc_graph &graph, const FunctionRec &function)
      : model(graph.model), function(function), onDevice(graph.device) {}

  template <typename Function> void eachUsed(int64_t step, const Function &visit) const {
    const StepRec &record = model.step(function.firstStep + step);
    if (const DeviceStepRec *there = deviceStep(step))
      each(there->buffersAt, there->numBuffers, visit);
    else
      each(record.buffersAt, record.numBuffers, visit);
    for (int64_t k = 0; k < record.numMerges; ++k)
      visit(model.merge(record, k).buffer);
    eachWritten(step, visit);
  }
  template <typename Function> void eachWritten(int64_t step, const Function &visit) const {
    const StepRec &record = model.step(function.firstStep + step);
    if (const DeviceStepRec *there = deviceStep(step))
      each(there->writtenAt, there->numWritten, visit);
    else
      each(record.writtenAt, record.numWritten, visit);
  }

private:
  /// Null on a CPU, and for collectives, which are described once.
  const DeviceStepRec *deviceStep(int64_t step) const {
    int64_t number = function.firstStep + step;
    return onDevice && !isCollective(model.step(number)) ? &model.deviceStep(number) : nullptr;
  }
  template <typename Function> void each(int64_t at, int64_t count, const Function &visit) const {
    for (int64_t k = 0; k < count; ++k)
      visit(model.list(at)[k]);
  }

  const Model &model;
  const FunctionRec &function;
  bool onDevice;
};

class CallMaker {
public:
  CallMaker(gnnc_call &call, const gnnc_call_desc &desc, gnnc_error *error)
      : call(call), desc(desc), error(error), graph(call.graph), model(graph.model), program(call.program),
        function(model.function(program.function)), steps(graph, function), scratch(call.memory.getAllocator()) {}

  gnnc_status run();

private:
  gnnc_status outOfMemory() { return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a call"); }
  int64_t &place(int64_t buffer) { return places[buffer - function.firstBuffer]; }
  bool &isWanted(int64_t buffer) { return wanted[buffer - function.firstBuffer]; }
  // Once for a call that is run many times: made for size.
  [[gnu::cold]] gnnc_status listNames();
  template <typename Function> void eachNamed(const char *name, const Function &visit) const;
  [[gnu::cold]] gnnc_status take(const char *const *names, int32_t count, bool areOutputs, int64_t firstNumber);
  [[gnu::cold]] gnnc_status wantLater();
  [[gnu::cold]] bool wants(int64_t step);
  [[gnu::cold]] gnnc_status findNeeded();
  [[gnu::cold]] gnnc_status findPlaces();

  gnnc_call &call;
  const gnnc_call_desc &desc;
  gnnc_error *error;
  const gnnc_graph &graph;
  const Model &model;
  const ProgramRec &program;
  const FunctionRec &function;
  Steps steps;
  Memory scratch;
  int64_t *places = nullptr; ///< for each buffer of the function, its number in the caller's list; -1: not given
  bool *wanted = nullptr;    ///< for each buffer of the function, whether what it holds is needed
  /// The function's buffers by their names: the first one of each class of names, and the next of each one's class.
  int64_t *firstNamed = nullptr, *nextNamed = nullptr;
  uint64_t numClasses = 1; ///< a power of two
};

} // namespace

static uint64_t classOf(const char *name) {
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (; *name; ++name)
    hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211u;
  return hash ^ hash >> 32;
}

/// Deep models have thousands of buffers and hundreds of names.
gnnc_status CallMaker::listNames() {
  while (numClasses < static_cast<uint64_t>(function.numBuffers))
    numClasses *= 2;
  firstNamed = scratch.array<int64_t>(static_cast<int64_t>(numClasses));
  nextNamed = scratch.array<int64_t>(function.numBuffers);
  if (!firstNamed || !nextNamed)
    return outOfMemory();
  for (uint64_t k = 0; k < numClasses; ++k)
    firstNamed[k] = -1;
  for (int64_t k = function.numBuffers - 1; k >= 0; --k) {
    int64_t &first = firstNamed[classOf(model.name(model.buffer(function.firstBuffer + k).name)) & (numClasses - 1)];
    nextNamed[k] = first;
    first = k;
  }
  return GNNC_OK;
}

/// The function's buffers of this name, in order.
template <typename Function> void CallMaker::eachNamed(const char *name, const Function &visit) const {
  for (int64_t k = firstNamed[classOf(name) & (numClasses - 1)]; k >= 0; k = nextNamed[k])
    if (strcmp(model.name(model.buffer(function.firstBuffer + k).name), name) == 0)
      visit(function.firstBuffer + k);
}

/// The numbers of the caller's names. What only other programs know is ignored, as by `run`.
gnnc_status CallMaker::take(const char *const *names, int32_t count, bool areOutputs, int64_t firstNumber) {
  const char *what = areOutputs ? "output" : "input";
  auto fits = [&](const BufferRec &record) { return areOutputs ? isOutput(record) : isInput(record); };
  if (count < 0 || (count > 0 && !names))
    return fail(error, GNNC_INVALID_ARGUMENT, "make_call: num_%ss is %d%s", what, count,
                names ? "" : ", but the list is null");
  for (int32_t i = 0; i < count; ++i) {
    if (!names[i])
      return fail(error, GNNC_INVALID_ARGUMENT, "make_call: %s %d has no name", what, i);
    bool isKnown = false, isTwice = false;
    eachNamed(names[i], [&](int64_t k) {
      if (!fits(model.buffer(k)))
        return;
      isKnown = true;
      isTwice |= place(k) >= 0;
      place(k) = firstNumber + i;
      isWanted(k) = areOutputs;
    });
    if (isTwice)
      return fail(error, GNNC_INVALID_ARGUMENT, "make_call: %s '%.80s' is given twice", what, names[i]);
    for (int64_t k = 0; k < model.header().numBuffers && !isKnown; ++k)
      isKnown = fits(model.buffer(k)) && strcmp(model.name(model.buffer(k).name), names[i]) == 0;
    if (!isKnown)
      return fail(error, GNNC_INVALID_ARGUMENT, "make_call: unknown %s '%.80s'", what, names[i]);
  }
  return GNNC_OK;
}

/// What programs that go on in this workspace are to give.
gnnc_status CallMaker::wantLater() {
  if (desc.num_later < 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "make_call: num_later is %d", desc.num_later);
  for (int64_t k = function.firstBuffer; k < function.firstBuffer + function.numBuffers; ++k)
    if (isOutput(model.buffer(k)) && !desc.later)
      isWanted(k) = true;
  for (int32_t i = 0; desc.later && i < desc.num_later; ++i) {
    bool isKnown = false;
    if (desc.later[i])
      eachNamed(desc.later[i], [&](int64_t k) {
        if (isOutput(model.buffer(k)))
          isWanted(k) = isKnown = true;
      });
    if (!isKnown)
      return fail(error, GNNC_INVALID_ARGUMENT, "make_call: unknown later output '%.80s'",
                  desc.later[i] ? desc.later[i] : "");
  }
  return GNNC_OK;
}

/// Whether a step gives something that is wanted; then all that it uses is.
bool CallMaker::wants(int64_t step) {
  bool isNeeded = false, writes = false;
  steps.eachWritten(step, [&](int64_t buffer) {
    writes = true;
    isNeeded |= isWanted(buffer) || model.buffer(buffer).replaces >= 0;
  });
  if (!isNeeded && writes)
    return false;
  steps.eachUsed(step, [&](int64_t buffer) { isWanted(buffer) = true; });
  return true;
}

gnnc_status CallMaker::findNeeded() {
  int64_t end = program.firstStep + program.numSteps;
  // What `outputs` names is wanted of this program; what comes after it is asked for its own.
  bool *own = scratch.array<bool>(function.numBuffers);
  call.needed = call.memory.array<uint64_t>((program.numSteps + 63) / 64);
  if (!own || !call.needed)
    return outOfMemory();
  memcpy(own, wanted, static_cast<size_t>(function.numBuffers));
  if (end < function.numSteps) {
    memset(wanted, 0, static_cast<size_t>(function.numBuffers));
    if (gnnc_status status = wantLater())
      return status;
    for (int64_t i = function.numSteps - 1; i >= end; --i)
      wants(i);
    for (int64_t k = 0; k < function.numBuffers; ++k)
      wanted[k] |= own[k];
  }
  memset(call.needed, 0, static_cast<size_t>((program.numSteps + 63) / 64) * sizeof(uint64_t));
  bool all = true;
  for (int64_t i = program.numSteps - 1; i >= 0; --i) {
    bool isNeeded = wants(program.firstStep + i);
    all &= isNeeded;
    call.needed[i / 64] |= uint64_t(isNeeded) << (i % 64);
  }
  if (all)
    call.needed = nullptr;
  return GNNC_OK;
}

gnnc_status CallMaker::findPlaces() {
  // Whether a needed step uses a buffer, one writes it, and the first one does; and whether a used buffer replaces it.
  bool *isUsed = scratch.array<bool>(function.numBuffers), *isMade = scratch.array<bool>(function.numBuffers);
  bool *isMadeFirst = scratch.array<bool>(function.numBuffers), *isUpdated = scratch.array<bool>(function.numBuffers);
  call.places = call.memory.array<BufferPlace>(function.numBuffers);
  call.written = call.memory.array<int64_t>(function.numBuffers);
  call.given = call.memory.array<int64_t>(function.numBuffers);
  if (!isUsed || !isMade || !isMadeFirst || !isUpdated || !call.places || !call.written || !call.given)
    return outOfMemory();
  memset(isUsed, 0, static_cast<size_t>(function.numBuffers));
  memset(isMade, 0, static_cast<size_t>(function.numBuffers));
  memset(isMadeFirst, 0, static_cast<size_t>(function.numBuffers));
  memset(isUpdated, 0, static_cast<size_t>(function.numBuffers));
  for (int64_t i = 0; i < program.numSteps; ++i) {
    if (call.needed && !(call.needed[i / 64] >> (i % 64) & 1))
      continue;
    steps.eachWritten(program.firstStep + i, [&](int64_t buffer) {
      int64_t k = buffer - function.firstBuffer;
      isMade[k] = true;
      isMadeFirst[k] |= !isUsed[k];
    });
    steps.eachUsed(program.firstStep + i, [&](int64_t buffer) {
      isUsed[buffer - function.firstBuffer] = true;
      if (int64_t replaced = model.buffer(buffer).replaces; replaced >= 0)
        isUpdated[replaced - function.firstBuffer] = true;
    });
  }
  int64_t behind = 0, end = 0; // where an output's place is behind the workspace, and where all of them end
  for (int64_t k = 0; k < function.numBuffers; ++k) {
    int64_t buffer = function.firstBuffer + k;
    const BufferRec &record = model.buffer(buffer);
    const int64_t at = behind;
    behind += isOutput(record) ? aligned(graph.buffers[buffer].room) : 0;
    if (!isUsed[k])
      continue;
    BufferPlace found{buffer, PlaceKind::Given, places[k]};
    if (record.kind == BufferKind::Arena)
      found.kind = PlaceKind::Arena;
    else if (record.kind == BufferKind::Constant)
      found.kind = PlaceKind::Constant;
    else if (record.replaces >= 0)
      found.number = place(record.replaces);
    else if (found.number < 0 && record.optional)
      found.kind = PlaceKind::Fill;
    else if (found.number < 0 && record.values >= 0 && !isUpdated[k])
      found.kind = PlaceKind::Values;
    else if (found.number < 0 && record.kind == BufferKind::Output && isMadeFirst[k]) {
      found = {buffer, PlaceKind::Behind, at};
      end = behind;
    }
    if (found.kind == PlaceKind::Given && found.number < 0)
      return reportMissing(graph, record.replaces >= 0 ? record.replaces : buffer, error);
    if (found.kind == PlaceKind::Given) {
      if (isMade[k])
        call.written[call.numWritten++] = call.numPlaces;
      call.given[call.numGiven++] = call.numPlaces;
    }
    call.places[call.numPlaces++] = found;
  }
  int64_t own = graph.functions[program.function].workspaceBytes;
  own = end ? aligned(own) : own;
  return __builtin_add_overflow(own, end, &call.workspaceBytes)
             ? fail(error, GNNC_UNSUPPORTED, "the workspace for this graph is larger than can be addressed")
             : GNNC_OK;
}

gnnc_status CallMaker::run() {
  places = scratch.array<int64_t>(function.numBuffers);
  wanted = scratch.array<bool>(function.numBuffers);
  if (!places || !wanted)
    return outOfMemory();
  for (int64_t k = 0; k < function.numBuffers; ++k)
    places[k] = -1, wanted[k] = false;
  gnnc_status status = listNames();
  if (!status)
    status = take(desc.inputs, desc.num_inputs, false, 0);
  if (!status)
    status = take(desc.outputs, desc.num_outputs, true, desc.num_inputs);
  call.numData = status ? 0 : int64_t(desc.num_inputs) + desc.num_outputs;
  if (!status)
    status = findNeeded();
  return status ? status : findPlaces();
}

gnnc_status makeCall(const gnnc_graph &graph, const ProgramRec &program, const gnnc_call_desc &desc, gnnc_call *&call,
                     gnnc_error *error) {
  const gnnc_allocator &allocator = graph.memory.getAllocator();
  gnnc_call *made = create<gnnc_call>(allocator, graph, program, allocator);
  if (!made)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a call");
  if (gnnc_status status = CallMaker(*made, desc, error).run()) {
    destroy(made, gnnc_allocator(allocator));
    return status;
  }
  if (graph.device) // without it, launches are as they are the first time
    made->repeats = create<cuda::Repeats>(allocator, allocator);
  call = made;
  return GNNC_OK;
}

gnnc_status placeBuffers(const gnnc_call &prepared, const Call &call, void *const *data) {
  const gnnc_graph &graph = prepared.graph;
  const Model &model = graph.model;
  constexpr uintptr_t kDeviceData = 16; // Kernels read as many bytes at a time.
  const char *arena = call.workspace + call.function().arenaAt;
  for (int64_t i = 0; i < prepared.numPlaces; ++i) {
    const BufferPlace &place = prepared.places[i];
    const BufferRec &record = model.buffer(place.buffer);
    void *&pointer = call.pointer(place.buffer);
    switch (place.kind) {
    case PlaceKind::Given:
      pointer = data[place.number];
      if (!pointer && graph.buffers[place.buffer].bytes > 0)
        return fail(call.error, GNNC_INVALID_ARGUMENT, "'%s': expected %lld bytes of data, found a null pointer",
                    model.name(record.name), static_cast<long long>(graph.buffers[place.buffer].bytes));
      if (graph.device && reinterpret_cast<uintptr_t>(pointer) % kDeviceData != 0)
        return fail(call.error, GNNC_INVALID_ARGUMENT, "'%s': expected an address that 16 divides, found %p",
                    model.name(record.name), pointer);
      break;
    case PlaceKind::Arena:
      pointer = const_cast<char *>(arena) + graph.buffers[place.buffer].offset;
      break;
    case PlaceKind::Constant:
      pointer = const_cast<char *>(model.constants + record.constantAt);
      break;
    case PlaceKind::Fill:
      pointer = graph.device ? reinterpret_cast<void *>(graph.device->fills[place.buffer])
                             : const_cast<void *>(graph.buffers[place.buffer].fill);
      break;
    case PlaceKind::Values:
      pointer = valuesOf(graph, record);
      break;
    case PlaceKind::Behind:
      pointer = call.workspace + aligned(call.function().workspaceBytes) + place.number;
    }
  }
  for (int64_t i = 0; i < prepared.numWritten; ++i) {
    const BufferPlace &to = prepared.places[prepared.written[i]];
    const void *begin = call.pointer(to.buffer);
    int64_t bytes = graph.buffers[to.buffer].bytes;
    const char *name = model.name(model.buffer(to.buffer).name);
    if (overlap(begin, bytes, call.workspace, prepared.workspaceBytes))
      return fail(call.error, GNNC_INVALID_ARGUMENT, "'%s' overlaps the workspace in memory", name);
    for (int64_t k = 0; k < prepared.numGiven; ++k) {
      const BufferPlace &other = prepared.places[prepared.given[k]];
      if (other.number != to.number &&
          overlap(begin, bytes, call.pointer(other.buffer), graph.buffers[other.buffer].bytes))
        return fail(call.error, GNNC_INVALID_ARGUMENT, "'%s' overlaps '%s' in memory", name,
                    model.name(model.buffer(other.buffer).name));
    }
  }
  return GNNC_OK;
}

} // namespace gnnc::runtime
