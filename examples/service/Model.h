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
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace service {

inline void check(gnnc_status status, const gnnc_error &error) {
  if (status != GNNC_OK)
    throw std::runtime_error(error.message);
}

/// A dense float32 tensor that lies in `data`; `shape` must live as long.
inline gnnc_binding binding(const char *name, const float *data, const std::vector<int64_t> &shape) {
  return {name, {const_cast<float *>(data), 1, 0, int32_t(shape.size()), 2, 32, 1, shape.data(), nullptr, 0}};
}

/// The object of a model, loaded once and shared by all threads.
class Model {
public:
  explicit Model(const std::string &path) : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), close) {
    if (!library)
      throw std::runtime_error(dlerror());
    auto model = reinterpret_cast<gnnc_model_function>(dlsym(library.get(), "gnnc_model"));
    if (!model || model()->abi_version != GNNC_ABI_VERSION)
      throw std::runtime_error(path + " is not a model of this version of gnnc");
    table = model();
  }
  const gnnc_api &api() const { return *table; }

private:
  static void close(void *library) {
    if (library)
      dlclose(library);
  }
  std::unique_ptr<void, void (*)(void *)> library;
  const gnnc_api *table = nullptr;
};

/// What one thread runs the model with: a context without threads of its own, the graph at hand, and a workspace that
/// grows when a larger graph comes.
class Runner {
public:
  explicit Runner(const Model &model)
      : api(model.api()), context(nullptr, api.close), graph(nullptr, api.free_graph), workspace(nullptr, std::free) {
    gnnc_options options = {sizeof(gnnc_options), /*threads=*/1, nullptr, 0, 0, 0, 0, nullptr, nullptr};
    gnnc_error error;
    gnnc_context *opened = nullptr;
    check(api.open(&options, &opened, &error), error);
    context.reset(opened);
  }

  void prepare(int64_t nodes, const std::vector<int32_t> &src, const std::vector<int32_t> &dst) {
    int64_t edges = int64_t(src.size());
    gnnc_extent extents[] = {{"node", nodes}, {"edge", edges}};
    gnnc_index maps[] = {{"src", src.data(), edges, 32, GNNC_INDEX_EACH},
                         {"dst", dst.data(), edges, 32, GNNC_INDEX_EACH}};
    gnnc_graph_desc desc = {sizeof(gnnc_graph_desc), 2, extents, 2, maps, 0, nullptr, nullptr, nullptr};
    gnnc_error error;
    gnnc_graph *prepared = nullptr;
    check(api.prepare(context.get(), &desc, &prepared, &error), error);
    graph.reset(prepared);
    size_t bytes = 0;
    check(api.workspace_size(prepared, "forward", &bytes, &error), error);
    reserve(bytes);
  }

  /// Runs on the prepared graph; allocates nothing.
  void run(const std::vector<gnnc_binding> &inputs, const gnnc_binding &output) {
    gnnc_error error;
    check(api.run(context.get(), graph.get(), "forward", inputs.data(), int32_t(inputs.size()), &output, 1,
                  workspace.get(), capacity, /*stream=*/nullptr, &error),
          error);
  }

private:
  void reserve(size_t bytes) {
    if (bytes <= capacity)
      return;
    bytes = (bytes + 63) / 64 * 64; // aligned as a workspace has to be
    workspace.reset(std::aligned_alloc(64, bytes));
    capacity = workspace ? bytes : 0;
    if (!workspace)
      throw std::bad_alloc();
  }

  const gnnc_api &api;                                             // of an object that stays loaded for longer
  std::unique_ptr<gnnc_context, void (*)(gnnc_context *)> context; // closed after the graph, which is declared below it
  std::unique_ptr<gnnc_graph, void (*)(gnnc_graph *)> graph;
  std::unique_ptr<void, void (*)(void *)> workspace;
  size_t capacity = 0;
};

} // namespace service

#endif // SERVICE_MODEL_H
