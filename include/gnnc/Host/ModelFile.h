//===- ModelFile.h - Loading and running a model.so -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading a model.so and running it. A model is native code: load only models that you would run as programs.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_MODELFILE_H
#define GNNC_HOST_MODELFILE_H

#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/ModelInfo.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace gnnc {

/// An opened model.so of this library's ABI version. Must outlive its sessions.
class ModelFile {
public:
  static llvm::Expected<ModelFile> open(llvm::StringRef path);
  /// The same, but an object for another architecture is read without loading it: `info` and `description` are all that
  /// it has.
  static llvm::Expected<ModelFile> openToInspect(llvm::StringRef path);

  /// "x86-64", "aarch64": of the processors that the object is for.
  llvm::StringRef architecture() const { return architectureName; }
  /// False where openToInspect found an object for another architecture.
  bool isLoaded() const { return table; }
  const std::string &path() const { return filePath; }
  const ModelInfo &info() const { return modelInfo; }
  /// The model's description of itself, as JSON.
  llvm::StringRef description() const { return descriptionText; }
  const gnnc_api &api() const { return *table; }
  /// A copy of the values that the object has for a parameter or state; an error if it has none.
  llvm::Expected<HostTensor> embedded(const TensorInfo &tensor) const;
  /// A digest of the whole file, 16 hexadecimal digits. It differs if anything in the file was compiled differently.
  llvm::Expected<std::string> digest() const;

private:
  static llvm::Expected<ModelFile> open(llvm::StringRef path, bool mayBeForeign);
  struct Close {
    void operator()(void *handle) const;
  };
  std::string filePath;
  std::unique_ptr<void, Close> handle;
  const gnnc_api *table = nullptr;
  std::string architectureName;
  llvm::StringRef descriptionText;
  std::unique_ptr<llvm::MemoryBuffer> foreign; ///< the file, if it is not loaded
  ModelInfo modelInfo;
};

class Session;

/// Where a model runs: DLPack's device type (1: CPU, 2: CUDA) and the device's number.
struct DeviceChoice {
  int32_t type = 1;
  int32_t id = 0;
  bool planOnly = false; ///< nothing is run, and the device need not be present
  bool isCPU() const { return type == 1; }
};

/// "cpu", "cuda" or "cuda:1".
llvm::Expected<DeviceChoice> parseDevice(llvm::StringRef name);

/// Tensors of the host that the programs of one session share on its device, where each exists once, by name. What a
/// program updates is newer on the device until it is fetched.
class DeviceTensors {
public:
  struct Tensor {
    std::shared_ptr<void> memory;
    void *host = nullptr;
    size_t bytes = 0;
  };
  llvm::StringMap<Tensor> tensors;
};

/// One program of a session, with its own workspace and output tensors. May be used by one thread at a time, and must
/// not outlive its session.
class ProgramRun {
public:
  ProgramRun() = default;
  /// Runs the program. `inputs` has all inputs, parameters and states, and may have those that only other programs
  /// need. Parameters and states that the program updates are written.
  llvm::Error run(llvm::ArrayRef<gnnc_binding> inputs);
  // The parts of `run`, to measure them and to let values stay on the device: they copy the inputs there; start the
  // program without waiting for it; wait for it; and bring back the outputs, or what it updated. On a CPU all of them
  // except `launch` do nothing.
  llvm::Error bind(llvm::ArrayRef<gnnc_binding> inputs);
  llvm::Error launch();
  llvm::Error wait();
  llvm::Error fetchOutputs();
  llvm::Error fetchUpdates();
  llvm::ArrayRef<HostTensor> outputs() const { return outputTensors; }
  size_t workspaceBytes() const { return workspaceSize; }
  /// Bytes that inputs, parameters, states and outputs take on the device; 0 on a CPU.
  size_t tensorBytes() const;

private:
  friend class Session;
  const Session *session = nullptr;
  const ProgramRun *before = nullptr;
  std::string name;
  std::shared_ptr<void> workspace;
  size_t workspaceSize = 0;
  std::vector<HostTensor> outputTensors;
  std::vector<gnnc_binding> inputBindings, outputBindings;
  std::shared_ptr<DeviceTensors> onDevice;
  /// On a device: all outputs, one after the other.
  std::shared_ptr<void> outputMemory;
  std::vector<size_t> outputPlaces; ///< and the size of all of them
  llvm::Error allocate(const ProgramInfo *info);
  void bindOutputs();
  llvm::Expected<gnnc_binding> mirror(const gnnc_binding &binding);
};

/// A recording of some programs, which can be replayed at once; null: none.
struct RecordingDeleter {
  const gnnc_api *api = nullptr;
  gnnc_context *context = nullptr;
  void operator()(gnnc_recording *recording) const { api->free_recording(context, recording); }
};
using Recording = std::unique_ptr<gnnc_recording, RecordingDeleter>;

/// A model with one prepared graph: a context and the graph. On a device, everything is done on one stream.
class Session {
public:
  /// `threads`: 0 is one for each processor. If the description's tuning is for another compilation of the model, it is
  /// ignored, and `ignored` says why; without `ignored` this is an error. With `part` the graph is one of several
  /// ranks, which all do this at once.
  static llvm::Expected<Session> create(const ModelFile &model, const gnnc_graph_desc &graph, int threads,
                                        DeviceChoice device = {}, std::string *ignored = nullptr,
                                        const gnnc_part_desc *part = nullptr);
  /// The same or another graph in the same context.
  llvm::Expected<Session> prepare(const gnnc_graph_desc &graph) const;

  /// What was chosen for the graph, as JSON; GraphInfo reads it.
  llvm::Expected<std::string> describeGraph() const;

  /// Bytes of workspace that a program needs; an error if the graph lacks something that the program needs.
  llvm::Expected<size_t> workspaceBytes(llvm::StringRef program) const;
  /// A program of the model, ready to be run. With `before`, which must not be moved, it is the rest of the same
  /// function: it uses the workspace of `before` and reads its outputs. With `shared`, programs see each other's
  /// updates on a device without fetching them. All memory that the program requires is allocated now; if it does not
  /// fit, the error gives the bytes needed and free.
  llvm::Expected<ProgramRun> program(llvm::StringRef name, const ProgramRun *before = nullptr,
                                     std::shared_ptr<DeviceTensors> shared = nullptr) const;

  /// Records the bound `programs`, one after the other, as one recording; for a device.
  llvm::Expected<Recording> record(llvm::ArrayRef<ProgramRun *> programs) const;
  llvm::Error replay(const Recording &recording) const;

  bool isOnCPU() const { return device.isCPU(); }
  /// Whether what runs on it can be recorded: on a device, if no other rank has to be waited for.
  bool canRecord() const { return !device.isCPU() && !isOfRanks; }
  /// Extent of a space in the prepared graph; -1 for an unknown name.
  int64_t extent(const std::string &space) const;
  size_t graphBytes() const;

  /// Memory of the device, and copies between it and the host. Copies from or to the host are waited for.
  llvm::Expected<std::shared_ptr<void>> allocate(size_t bytes) const;
  llvm::Error copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes) const;
  llvm::Error wait() const;

private:
  friend class ProgramRun;
  struct Deleter {
    const gnnc_api *api;
    void operator()(gnnc_context *context) const { api->close(context); }
    void operator()(gnnc_graph *graph) const { api->free_graph(graph); }
  };
  template <typename T> using Handle = std::unique_ptr<T, Deleter>;

  explicit Session(const ModelFile &model) : model(&model), api(&model.api()) {}

  const ModelFile *model;
  const gnnc_api *api;
  DeviceChoice device;
  bool isOfRanks = false;
  llvm::Error prepareGraph(const gnnc_graph_desc &graph, gnnc_status &status, const gnnc_part_desc *part = nullptr);
  std::shared_ptr<gnnc_context> context; ///< released after the graph and the stream
  std::shared_ptr<void> stream;          ///< null on a CPU
  Handle<gnnc_graph> graph{nullptr, Deleter{nullptr}};
};

} // namespace gnnc

#endif // GNNC_HOST_MODELFILE_H
