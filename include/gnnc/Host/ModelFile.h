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

/// A model made ready for one graph: context, prepared graph, workspace and output tensors. For one thread at a time.
class Session {
public:
  /// `threads`: 0 is one for each processor.
  static llvm::Expected<Session> create(const ModelFile &model, const gnnc_graph_desc &graph, int threads);

  /// Computes the outputs from all inputs, parameters and states.
  llvm::Error run(llvm::ArrayRef<gnnc_binding> inputs);
  llvm::ArrayRef<HostTensor> outputs() const { return outputTensors; }

  /// Extent of a space in the prepared graph; -1 for an unknown name.
  int64_t extent(const std::string &space) const;
  size_t graphBytes() const;
  size_t workspaceBytes() const { return workspaceSize; }

private:
  struct Deleter {
    const gnnc_api *api;
    void operator()(gnnc_context *context) const { api->close(context); }
    void operator()(gnnc_graph *graph) const { api->free_graph(graph); }
    void operator()(void *memory) const { std::free(memory); }
  };
  template <typename T> using Handle = std::unique_ptr<T, Deleter>;

  Session(const gnnc_api &api) : api(&api) {}

  const gnnc_api *api;
  Handle<gnnc_context> context{nullptr, Deleter{nullptr}};
  Handle<gnnc_graph> graph{nullptr, Deleter{nullptr}};
  Handle<void> workspace{nullptr, Deleter{nullptr}};
  size_t workspaceSize = 0;
  std::vector<HostTensor> outputTensors;
  std::vector<gnnc_binding> outputBindings;
};

} // namespace gnnc

#endif // GNNC_HOST_MODELFILE_H
