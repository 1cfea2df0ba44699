//===- Repeats.cpp - Calls that are run again and again -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Repeats.h"
#include "../PreparedCall.h"
#include <string.h>

namespace gnnc::runtime::cuda {

/// Runs from which they are recorded: what is recorded took as long as some of them.
constexpr int64_t kOften = 3;
/// Other runs after which addresses are no longer expected.
constexpr int64_t kForgotten = 64;
/// Fewer steps are launched as quickly one by one.
constexpr int64_t kLeastSteps = 3;

/// What one device has recorded of all its calls: of the driver's memory, which nobody else counts.
constexpr int64_t kMostRecorded = 256;

/// While it lives this thread may call whatever it likes, whoever captures meanwhile: nothing here is of their streams.
struct Relaxed {
  explicit Relaxed(const Driver &driver) : driver(driver) { driver.exchangeCaptureMode(&mode); }
  ~Relaxed() { driver.exchangeCaptureMode(&mode); }
  Relaxed(const Relaxed &) = delete;
  Relaxed &operator=(const Relaxed &) = delete;

private:
  const Driver &driver;
  int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
};

/// The device's context is current.
static void discard(Repeats::Addresses &set, const Device &device) {
  if (!set.executable)
    return;
  Relaxed relaxed(device.driver);
  device.driver.destroyExecutable(set.executable);
  set.executable = nullptr;
  device.countRecorded(-1);
}

Repeats::~Repeats() {
  if (!device)
    return;
  {
    Current current(*device);
    for (Addresses &set : sets)
      discard(set, *device);
  }
  device->giveBack();
}

/// The runs with these addresses, this one among them; null: there are too many others.
static Repeats::Addresses *find(Repeats &repeats, const gnnc_call &made, void *const *data, const void *workspace,
                                const Device &device) {
  size_t bytes = static_cast<size_t>(made.numData) * sizeof(void *);
  ++repeats.runs;
  // What is not recorded makes room first.
  Repeats::Addresses *oldest = nullptr;
  for (Repeats::Addresses &set : repeats.sets) {
    if (set.all && memcmp(set.all, data, bytes) == 0 && set.all[made.numData] == workspace) {
      ++set.runs, set.last = repeats.runs;
      return &set;
    }
    bool isOlder = oldest && set.last < oldest->last;
    if (!oldest || (oldest->executable ? !set.executable || isOlder : !set.executable && isOlder))
      oldest = &set;
  }
  if (oldest->executable && repeats.runs - oldest->last < kForgotten)
    return nullptr;
  if (!oldest->all)
    oldest->all = repeats.memory.array<const void *>(made.numData + 1);
  if (!oldest->all)
    return nullptr;
  discard(*oldest, device);
  memcpy(oldest->all, data, bytes);
  oldest->all[made.numData] = workspace;
  oldest->runs = 1, oldest->last = repeats.runs;
  return oldest;
}

/// The call as one executable; null: that cannot be had, and nobody asks again.
Handle Device::recordCall(const Call &call) const {
  constexpr int kThisThread = 1; // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: others may allocate meanwhile
  constexpr unsigned kAlone = 1; // CU_STREAM_NON_BLOCKING
  Handle stream = nullptr, graph = nullptr, executable = nullptr;
  Relaxed relaxed(driver);
  if (driver.createStream(&stream, kAlone))
    return nullptr;
  gnnc_error ignored;
  Call silent{call.graph,     call.program,  nullptr,  0,       nullptr,    0,
              call.workspace, call.pointers, &ignored, nullptr, call.needed};
  if (driver.beginCapture(stream, kThisThread) == 0) {
    gnnc_status status = run(silent, stream);
    int code = driver.endCapture(stream, &graph);
    if (status || code || !graph || driver.instantiate(&executable, graph, 0))
      executable = nullptr;
    if (graph)
      driver.destroyGraph(graph);
  }
  driver.destroyStream(stream);
  return executable;
}

gnnc_status Device::runAgain(const Call &call, const gnnc_call &made, void *const *data, Handle stream) const {
  Repeats &repeats = *made.repeats;
  Current current(*this);
  // What is captured, or follows its graph, is recorded by somebody else; ranks move rows in one order.
  int captured = 0;
  bool isAlone = !call.recorder && !call.graph.capacities && !call.graph.ranks.areReached() &&
                 call.program.numSteps >= kLeastSteps && driver.captureInfo && driver.setDependencies &&
                 driver.exchangeCaptureMode &&
                 driver.captureInfo(stream, &captured, nullptr, nullptr, nullptr, nullptr) == 0 && captured == 0;
  if (!isAlone || pthread_mutex_trylock(&repeats.lock) != 0)
    return run(call, stream);
  Repeats::Addresses *known = repeats.cannot ? nullptr : find(repeats, made, data, call.workspace, *this);
  if (known && !known->executable && known->runs >= kOften) {
    if (countRecorded(1) > kMostRecorded) {
      countRecorded(-1);
    } else if ((known->executable = recordCall(call))) {
      if (!repeats.device)
        repeats.device = const_cast<Device *>(this), repeats.device->share();
    } else {
      countRecorded(-1);
      repeats.cannot = true;
    }
  }
  bool isLaunched = known && known->executable && driver.launchGraph(known->executable, stream) == 0;
  // Its first launch takes memory, which there may be none of; what else is wrong the kernels will tell.
  if (known && known->executable && !isLaunched)
    discard(*known, *this), repeats.cannot = true;
  pthread_mutex_unlock(&repeats.lock);
  return isLaunched ? GNNC_OK : run(call, stream);
}

} // namespace gnnc::runtime::cuda
