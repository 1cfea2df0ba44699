//===- Model.h - A compiled model in C++ ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a C++ program needs around the C interface: owners that close what they opened. Needs gnnc-c/gnnc.h and dlopen,
// nothing else. Copy it and make it yours.
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_MODEL_H
#define SERVICE_MODEL_H

#include "gnnc-c/gnnc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace service {

inline void check(gnnc_status status, const gnnc_error &error) {
  if (status != GNNC_OK)
    throw std::runtime_error(error.message);
}

/// A dense float32 tensor that lies in `data`; `shape` must live as long.
inline gnnc_binding bind(const char *name, const float *data, const std::vector<int64_t> &shape) {
  return {name, {const_cast<float *>(data), 1, 0, int32_t(shape.size()), 2, 32, 1, shape.data(), nullptr, 0}};
}

/// A graph made ready for the model; one thread at a time may run on it.
class Graph {
public:
  Graph(const gnnc_api &api, gnnc_context *context, const gnnc_graph_desc &desc) : graph(nullptr, api.free_graph) {
    gnnc_error error;
    gnnc_graph *prepared = nullptr;
    check(api.prepare(context, &desc, &prepared, &error), error);
    graph.reset(prepared);
  }
  gnnc_graph *get() const { return graph.get(); }

private:
  std::unique_ptr<gnnc_graph, void (*)(gnnc_graph *)> graph;
};

/// An opened model, shared by all threads.
class Model {
public:
  Model(const std::string &path, int threads)
      : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), close), context(nullptr, nullptr) {
    if (!library)
      throw std::runtime_error(dlerror());
    auto model = reinterpret_cast<gnnc_model_function>(dlsym(library.get(), "gnnc_model"));
    if (!model || model()->abi_version != GNNC_ABI_VERSION)
      throw std::runtime_error(path + " is not a model of this version of gnnc");
    table = model();
    gnnc_options options = {sizeof(gnnc_options), threads, nullptr, 0, 0, 0, 0, nullptr, nullptr};
    gnnc_error error;
    gnnc_context *opened = nullptr;
    check(table->open(&options, &opened, &error), error);
    context = {opened, table->close};
  }

  /// The graph with these edges.
  Graph prepare(int64_t nodes, const std::vector<int32_t> &src, const std::vector<int32_t> &dst) const {
    int64_t edges = int64_t(src.size());
    gnnc_extent extents[] = {{"node", nodes}, {"edge", edges}};
    gnnc_index maps[] = {{"src", src.data(), edges, 32, GNNC_INDEX_EACH},
                         {"dst", dst.data(), edges, 32, GNNC_INDEX_EACH}};
    return Graph(*table, context.get(), {sizeof(gnnc_graph_desc), 2, extents, 2, maps, 0, nullptr, nullptr, nullptr});
  }

  size_t workspaceBytes(const Graph &graph) const {
    gnnc_error error;
    size_t bytes = 0;
    check(table->workspace_size(graph.get(), "forward", &bytes, &error), error);
    return bytes;
  }

  /// Allocates nothing. `workspace` belongs to the calling thread and is aligned to 64 bytes.
  void run(const Graph &graph, const std::vector<gnnc_binding> &inputs, const std::vector<gnnc_binding> &outputs,
           void *workspace, size_t workspaceBytes) const {
    gnnc_error error;
    check(table->run(context.get(), graph.get(), "forward", inputs.data(), int32_t(inputs.size()), outputs.data(),
                     int32_t(outputs.size()), workspace, workspaceBytes, /*stream=*/nullptr, &error),
          error);
  }

private:
  static void close(void *library) {
    if (library)
      dlclose(library);
  }
  std::unique_ptr<void, void (*)(void *)> library; // closed after the context, which is declared below it
  const gnnc_api *table = nullptr;
  std::unique_ptr<gnnc_context, void (*)(gnnc_context *)> context;
};

/// Memory aligned to 64 bytes that grows when a larger event comes and is kept.
class Workspace {
public:
  void *reserve(size_t bytes) {
    if (bytes > capacity) {
      memory.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      if (!memory)
        throw std::bad_alloc();
      capacity = bytes;
    }
    return memory.get();
  }

private:
  std::unique_ptr<void, void (*)(void *)> memory{nullptr, std::free};
  size_t capacity = 0;
};

} // namespace service

#endif // SERVICE_MODEL_H
