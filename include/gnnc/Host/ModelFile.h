//===- ModelFile.h - Loading and running a model.so -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading a model.so and running it. A model is native code: load only what you would run.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_MODELFILE_H
#define GNNC_HOST_MODELFILE_H

#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/ModelInfo.h"

#include <map>
#include <memory>

namespace gnnc {

/// An opened model.so of this library's ABI version. Must outlive its sessions.
class ModelFile {
public:
  static llvm::Expected<ModelFile> open(llvm::StringRef path);

  const std::string &path() const { return filePath; }
  const ModelInfo &info() const { return modelInfo; }
  /// The description as the model gives it.
  llvm::StringRef description() const { return descriptionText; }
  const gnnc_api &api() const { return *table; }

private:
  struct Close {
    void operator()(void *handle) const;
  };
  std::string filePath;
  std::unique_ptr<void, Close> handle;
  const gnnc_api *table = nullptr;
  llvm::StringRef descriptionText;
  ModelInfo modelInfo;
};

class Session;

/// Where a model runs: DLPack's device type (1: CPU, 2: CUDA) and the device's number.
struct DeviceChoice {
  int32_t type = 1;
  int32_t id = 0;
  bool isCPU() const { return type == 1; }
};

/// "cpu", "cuda" or "cuda:1".
llvm::Expected<DeviceChoice> parseDevice(llvm::StringRef name);

/// One program of a session, with a workspace and output tensors of its own. For one thread at a time. Must not outlive
/// its session.
class ProgramRun {
public:
  ProgramRun() = default;
  /// Runs it on all inputs, parameters and states; what only other programs need may be among them. Parameters and
  /// states that it updates are written.
  llvm::Error run(llvm::ArrayRef<gnnc_binding> inputs);
  // Its parts, to measure them: inputs are taken to the device; the program is started, and on a device not waited for;
  // it is waited for; outputs and what was updated are brought back. On a CPU all but `launch` do nothing.
  llvm::Error bind(llvm::ArrayRef<gnnc_binding> inputs);
  llvm::Error launch();
  llvm::Error wait();
  llvm::Error fetch();
  llvm::ArrayRef<HostTensor> outputs() const { return outputTensors; }
  size_t workspaceBytes() const { return workspaceSize; }

private:
  friend class Session;
  const Session *session = nullptr;
  const ProgramRun *before = nullptr;
  std::string name;
  std::shared_ptr<void> workspace;
  size_t workspaceSize = 0;
  std::vector<HostTensor> outputTensors;
  std::vector<gnnc_binding> inputBindings, outputBindings;
  /// On a device: memory for what was bound, by name, and where on the host it is from.
  struct Mirror {
    std::shared_ptr<void> memory;
    void *host = nullptr;
    size_t bytes = 0;
  };
  std::map<std::string, Mirror> mirrors;
  llvm::Expected<gnnc_binding> mirror(const gnnc_binding &binding, bool copies);
};

/// A model made ready for one graph: a context and a prepared graph.
class Session {
public:
  /// `threads`: 0 is one for each processor.
  static llvm::Expected<Session> create(const ModelFile &model, const gnnc_graph_desc &graph, int threads,
                                        DeviceChoice device = {});

  /// Bytes of workspace a program needs; an error where the graph lacks something it needs.
  llvm::Expected<size_t> workspaceBytes(llvm::StringRef program) const;
  /// A program of the model, ready to be run; with `before`, which must stay where it is, the rest of
  /// the same function: in its workspace, and reading its outputs.
  llvm::Expected<ProgramRun> program(llvm::StringRef name, const ProgramRun *before = nullptr) const;

  /// Extent of a space in the prepared graph; -1 for an unknown name.
  int64_t extent(const std::string &space) const;
  size_t graphBytes() const;

private:
  friend class ProgramRun;
  llvm::Expected<std::shared_ptr<void>> allocate(size_t bytes) const;
  llvm::Error copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes) const;
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
  Handle<gnnc_context> context{nullptr, Deleter{nullptr}};
  Handle<gnnc_graph> graph{nullptr, Deleter{nullptr}};
};

} // namespace gnnc

#endif // GNNC_HOST_MODELFILE_H
