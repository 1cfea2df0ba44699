//===- Device.h - A model on a GPU ------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a context has of its GPU, and what a graph prepared for it has there. Everything is loaded when the context is
// opened and copied when the graph is prepared, so that `run` only launches kernels.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_DEVICE_H
#define GNNC_RUNTIME_CUDA_DEVICE_H

#include "../Memory.h"
#include "../Model.h"
#include "Driver.h"
#include "gnnc/ModelFormat/DeviceData.h"
#include <pthread.h>

struct gnnc_call;
struct gnnc_graph;
struct gnnc_recording;

namespace gnnc::runtime {
struct Call;
struct PreparedFunction;
struct Tuning;
class Indices;
class PlanOrders;
namespace cuda {
class GraphBuilder;
class Recorder;
struct DeviceGraph;
} // namespace cuda
} // namespace gnnc::runtime

namespace gnnc::runtime::cuda {

/// Kernels that prepare graphs, in the order of GraphBuilder::Kernel.
constexpr int64_t kNumPreparationKernels = 41;
extern const char *const kPreparationKernels[kNumPreparationKernels];
/// Kernels that choose elements, which are numbered behind these.
constexpr int64_t kNumChoiceKernels = 28, kNumKernels = kNumPreparationKernels + kNumChoiceKernels;
GNNC_OF_PART const char *choiceKernel(int64_t number);

/// Of a GPU that graphs are planned for without it: an H200's.
constexpr int64_t kPlannedProcessors = 132;

/// What preparing a graph tells the host at once.
constexpr int64_t kPageBytes = 8192;

/// Memory of the device that a graph is prepared in, kept for the next one.
constexpr int64_t kPieceBytes = int64_t(32) << 20;

/// Arrays and workspaces start at multiples of this, as memory of the driver does.
constexpr int64_t kDeviceAlignment = 256;

class Device {
public:
  Device(const Driver &driver, const gnnc_allocator &allocator) : driver(driver), memory(allocator) {}
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// `allocator`: null, or whose memory graphs are prepared in.
  GNNC_OF_PART gnnc_status open(const Model &model, int32_t ordinal, const gnnc_device_allocator *allocator,
                                gnnc_error *error);
  /// Instead of `open`: there is no device, but graphs can be prepared, from the host's memory, as if there were.
  GNNC_OF_PART void plan();
  bool isPlanned() const { return numProcessors > 0 && !context; }

  /// It goes when its context and all graphs on it have given it back.
  void share() { __atomic_add_fetch(&owners, 1, __ATOMIC_RELAXED); }
  GNNC_OF_PART void giveBack();

  // Memory of the device.
  GNNC_OF_PART gnnc_status allocate(int64_t bytes, Address &memory, gnnc_error *error) const;
  GNNC_OF_PART void release(Address memory) const;
  GNNC_OF_PART gnnc_status copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes, Handle stream,
                                gnnc_error *error) const;
  GNNC_OF_PART gnnc_status synchronize(Handle stream, gnnc_error *error) const;

  // Streams, and recordings of what is launched on them.
  GNNC_OF_PART gnnc_status createStream(Handle &stream, gnnc_error *error) const;
  GNNC_OF_PART void destroyStream(Handle stream) const;
  GNNC_OF_PART gnnc_status beginRecording(Handle stream, gnnc_error *error);
  /// `recording` becomes what was recorded; one that is there already is brought up to date where that can be done.
  GNNC_OF_PART gnnc_status endRecording(Handle stream, gnnc_recording &recording, gnnc_error *error);
  GNNC_OF_PART gnnc_status replay(gnnc_recording &recording, Handle stream, gnnc_error *error) const;
  GNNC_OF_PART void destroyRecording(gnnc_recording &recording) const;
  /// What is recorded on a stream; null: nothing, or by a capture of the caller's own.
  GNNC_OF_PART Recorder *recorderOf(Handle stream);
  /// Brings a recorded launch to what its graph is now.
  gnnc_status refresh(gnnc_recording &recording, gnnc_error *error) const;

  // For preparing graphs: memory that is taken and given back in the order of a stream, of the caller's allocator or of
  // a pool. What is given back to the pool stays there for the next graph, up to a sixteenth of the device's memory.
  gnnc_status allocateOrdered(int64_t bytes, Handle stream, Address &memory, gnnc_error *error) const;
  void releaseOrdered(Address memory, int64_t bytes, Handle stream) const;
  /// When nobody uses it any longer. A caller's stream may be gone by then.
  void releaseIdle(Address memory, int64_t bytes, Handle stream) const;
  /// kPieceBytes, which the one who takes them gives back when all is done that was launched with them.
  gnnc_status takePiece(Handle stream, Address &taken, gnnc_error *error) const;
  void givePiece(Address taken, Handle stream) const;
  gnnc_status fill(Address words, int64_t count, uint32_t word, Handle stream, gnnc_error *error) const;
  GNNC_OF_PART gnnc_status loadPreparation(gnnc_error *error) const;
  GNNC_OF_PART gnnc_status launchPreparation(int64_t kernel, int64_t blocks, int64_t threads, int64_t *words,
                                             int64_t count, Handle stream, gnnc_error *error) const;
  /// The caller's stream, or where that is null the device's own, which is made when it is first needed.
  GNNC_OF_PART gnnc_status streamFor(void *given, Handle &stream, gnnc_error *error) const;
  /// Makes ready for the steps between a graph's ranks.
  GNNC_OF_PART gnnc_status prepareRanks(gnnc_graph &graph, DeviceGraph &result, gnnc_error *error) const;
  GNNC_OF_PART void releaseRanks(DeviceGraph &graph) const;
  /// kPageBytes of the host's memory that the device copies to at once; null while someone else has them.
  void *takePage() const { return __atomic_exchange_n(&page, nullptr, __ATOMIC_ACQUIRE); }
  void givePage(void *taken) const { __atomic_store_n(&page, taken, __ATOMIC_RELEASE); }

  /// Launches all steps of a call whose buffers are bound.
  GNNC_OF_PART gnnc_status run(const Call &call, Handle stream) const;
  /// The same of a prepared call, with the caller's addresses: as one launch where these come again and again.
  GNNC_OF_PART gnnc_status runAgain(const Call &call, const gnnc_call &made, void *const *data, Handle stream) const;

  /// Adds to the number of calls that are recorded here (Repeats.h), and returns it.
  int64_t countRecorded(int64_t more) const { return __atomic_add_fetch(&numRecorded, more, __ATOMIC_RELAXED); }
  int64_t processors() const { return numProcessors; }
  /// The object's own values of parameters and states, on the device.
  Address values() const { return modelValues; }
  /// Whether the code that is loaded has a launch's kernel.
  bool has(const table::LaunchRec &launch) const {
    return launch.architecture < 0 ? codeFor != -launch.architecture
                                   : launch.architecture == 0 || codeFor == launch.architecture;
  }
  /// The architecture of the machine code that is loaded; 0: PTX, or none.
  int64_t loadedCode() const { return codeFor; }
  /// What a tuning for this device is called: 90 for compute capability 9.0.
  GNNC_OF_PART int64_t tunedAs() const;
  const Driver &driver;

private:
  gnnc_status makePool(gnnc_error *error);
  /// The first of the best images for this device; null, with an error, if it can run none of them.
  const table::DeviceImage *findImage(const table::DeviceImage *images, int64_t count, gnnc_error *error) const;
  gnnc_status loadImage(const table::DeviceImage &image, Handle &result, gnnc_error *error) const;
  gnnc_status loadKernels(const Model &model, gnnc_error *error);
  gnnc_status loadValues(const Model &model, gnnc_error *error);
  gnnc_status cannotAllocate(int code, int64_t bytes, gnnc_error *error) const;
  void releasePiece() const;
  gnnc_status runStep(const Call &call, int64_t step, Handle stream) const;
  struct Moved;
  gnnc_status moveBetweenRanks(const Call &call, const table::StepRec &step, const Moved &moved, Handle stream) const;
  gnnc_status prepareAside(gnnc_graph &graph, DeviceGraph &result, gnnc_error *error) const;
  gnnc_status follow(Handle event, Handle first, Handle then, gnnc_error *error) const;
  GNNC_OF_PART gnnc_status runCollective(const Call &call, int64_t step, Handle stream) const;
  GNNC_OF_PART gnnc_status runChoice(const Call &call, int64_t step, Handle stream) const;
  GNNC_OF_PART void joinAside(const Call &call, Handle stream) const;
  /// Whether it will launch anything.
  bool isIdle(const Call &call, int64_t step) const;
  gnnc_status runBranched(const Call &call, Handle stream) const;
  Handle recordCall(const Call &call) const;
  gnnc_status launch(const Call &call, int64_t step, int64_t number, Handle stream) const;

  int64_t owners = 1;
  Recorder *recorders = nullptr; ///< those in progress, a list
  pthread_mutex_t recorderLock = PTHREAD_MUTEX_INITIALIZER;
  Memory memory;
  Handle context = nullptr;
  Handle *modules = nullptr; ///< the parts of the model's kernels
  int64_t numModules = 0;
  Handle *functions = nullptr; ///< for each launch of the table
  Address modelValues = 0;
  gnnc_device_allocator deviceAllocator = {};
  Handle pool = nullptr; ///< null: there is an allocator
  mutable Handle preparing = nullptr;
  mutable void *page = nullptr;
  mutable Address piece = 0;
  // Loaded for the first graph that is prepared here.
  mutable pthread_mutex_t preparationLock = PTHREAD_MUTEX_INITIALIZER;
  mutable Handle preparation = nullptr;
  mutable Handle preparationKernels[kNumKernels] = {};
  const table::DeviceImage *preparationImages = nullptr;
  int64_t numPreparationImages = 0;
  int device = -1;
  int architecture = 0; ///< 90 for compute capability 9.0
  int64_t codeFor = 0;  ///< the architecture of the machine code that is loaded; 0: PTX, or none
  int64_t numProcessors = 0;
  mutable int64_t numRecorded = 0;
  char name[96] = "";

  friend class Current;
};

/// Makes the device's context the calling thread's while it lives.
class Current {
public:
  GNNC_OF_PART explicit Current(const Device &device);
  GNNC_OF_PART ~Current();
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

private:
  const Driver &driver;
};

/// Sizes 1, 2, 4, ..., 2048.
using device::kNumSizes;

struct DeviceWorklist {
  Address items = 0, heavy = 0, heavyOfSlot = 0;
  int64_t numItems = 0, numSlots = 0, numHeavy = 0;
  int64_t chunk = 0; ///< members that an item has at most
  /// Items by falling size: the first largest[k] have a slot or at least 2^k members.
  bool bySize = false;
  int64_t largest[kNumSizes] = {};
};

/// Part of a worklist.
struct ItemRange {
  int64_t first = 0, count = 0;
};

/// Of which sizes a launch takes owners.
struct ItemSizes {
  int64_t least = 0, below = -1; ///< -1: however many members
  bool isTuned = false;
};

/// A graph's data on the device: index arrays, worklists, what stands in for absent inputs; and the grids of launches.
struct DeviceGraph {
  explicit DeviceGraph(Device &device) : device(device) { device.share(); }
  GNNC_OF_PART ~DeviceGraph();

  /// Takes over an array; false when the host runs out of memory.
  bool keep(Address array, int64_t bytes, Memory &lists);

  /// Memory that was allocated in the order of `stream`.
  struct Kept {
    Address memory;
    int64_t bytes;
  };
  Device &device;
  Handle stream = nullptr;
  int64_t bytes = 0;
  Kept *kept = nullptr;
  int64_t numKept = 0, capacity = 0;
  Address *indices = nullptr;          ///< for each of the table
  DeviceWorklist *worklists = nullptr; ///< for each map; empty where no launch asks
  int64_t *blocks = nullptr;           ///< for each launch, along x
  int64_t *mostBlocks = nullptr;       ///< and the most there can be
  ItemRange *items = nullptr;          ///< for each launch of items, which of its worklist,
  ItemSizes *sizes = nullptr;          ///< and why
  int64_t *scratchBytes = nullptr;     ///< for each scratch record
  int64_t *scratch = nullptr;          ///< for each scratch record, its offset from the start of the arena
  Address *fills = nullptr;            ///< for each buffer, what stands in for an absent input
  void *staged = nullptr;              ///< of the host, for rows of ranks that are reached from there
  // Where rows move on the device while kernels run; null where none do. All that ranks do together is on that stream.
  Handle aside = nullptr;
  Handle ordered = nullptr;  ///< an event, for one stream to follow the other
  Handle *arrived = nullptr; ///< for each step that begins a transfer, an event of its end
  int64_t numSteps = 0;
};

/// Places a function's buffers and the scratch memory of its steps in its workspace. `orders`: null, or what the plans
/// of other graphs have learnt.
GNNC_OF_PART gnnc_status planDevice(gnnc_graph &graph, int64_t function, Memory &scratch, PlanOrders *orders,
                                    PreparedFunction &result, gnnc_error *error);

/// Makes what `graph` needs on the device. `arrays`: the index arrays on the host, or where there is a `builder` on the
/// device already, and may then become others of the same contents; `lengths`: their numbers of elements. In the order
/// of `stream`.
GNNC_OF_PART gnnc_status prepareDevice(gnnc_graph &graph, Device &device, Handle stream, Indices &indices,
                                       const int32_t **arrays, const int64_t *lengths, Memory &scratch,
                                       bool (*isUsed)(const void *, int64_t step), const void *user,
                                       GraphBuilder *builder, const Tuning &tuning, gnnc_error *error);

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_DEVICE_H
