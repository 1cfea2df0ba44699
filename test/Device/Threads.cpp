//===- Threads.cpp - Graphs prepared on a GPU by several threads ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   gnnc compile benchmarks/models/layers.gnn -m GCN64 --target cuda -o GCN64.so
//   c++ -std=c++20 -O2 -pthread -Iinclude test/Device/Threads.cpp -ldl -o threads
//   ./threads ./GCN64.so
//
// Threads that share a context each prepare graphs of their own, one after the other, and run the model on them. All
// outputs must be the bits that one thread alone gets. Exits with 0 if they are, 77 where there is no GPU.
//
//===----------------------------------------------------------------------===//

#include "gnnc-c/gnnc.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8, kTurns = 40, kFeatures = 64;

struct GraphLists {
  int64_t nodes;
  std::vector<int64_t> src, dst;
};

/// Small ones, skewed ones and such as are cut into many tiles, in order and not.
GraphLists makeLists(int number) {
  std::mt19937_64 random(static_cast<uint64_t>(number));
  GraphLists lists{2000 + 17000 * (number % 5), {}, {}};
  size_t edges = size_t(20000 + 90000 * (number % 4));
  for (size_t e = 0; e < edges; ++e) {
    lists.src.push_back(int64_t(random() % uint64_t(lists.nodes)));
    lists.dst.push_back(number % 3 == 0 && e % 2 ? 7 : int64_t(random() % uint64_t(lists.nodes)));
  }
  return lists;
}

class Model {
public:
  bool open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto function = library ? reinterpret_cast<gnnc_model_function>(dlsym(library, "gnnc_model")) : nullptr;
    if (!function) {
      std::printf("cannot load %s: %s\n", path, dlerror());
      return false;
    }
    api = function();
    gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, nullptr, nullptr};
    gnnc_error error = {};
    if (api->open(&options, &context, &error))
      std::printf("%s\n", error.message);
    return context != nullptr;
  }
  ~Model() {
    if (context)
      api->close(context);
  }

  /// The output's bits; empty after an error.
  std::vector<float> run(const GraphLists &lists, gnnc_error &error) const {
    gnnc_extent extents[] = {{"node", lists.nodes}, {"edge", int64_t(lists.src.size())}};
    gnnc_index indices[] = {{"src", lists.src.data(), int64_t(lists.src.size()), 64, GNNC_INDEX_EACH},
                            {"dst", lists.dst.data(), int64_t(lists.dst.size()), 64, GNNC_INDEX_EACH}};
    gnnc_graph_desc desc = {sizeof desc, 2, extents, 2, indices, 0, nullptr, nullptr, nullptr};
    gnnc_graph *graph = nullptr;
    if (api->prepare(context, &desc, &graph, &error))
      return {};
    int64_t rows[] = {lists.nodes, kFeatures}, weight[] = {kFeatures, kFeatures}, bias[] = {kFeatures};
    std::vector<float> x(size_t(lists.nodes) * kFeatures), w(kFeatures * kFeatures), found(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 97) / 97 - 0.5f;
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = float(i % 31) / 31 - 0.5f;
    std::vector<void *> blocks;
    auto place = [&](const float *numbers, size_t bytes) {
      void *memory = nullptr;
      if (!error.status && !api->allocate(context, bytes + 1, &memory, &error)) {
        blocks.push_back(memory);
        if (numbers)
          api->copy(context, memory, 2, numbers, 1, bytes, nullptr, &error);
      }
      return memory;
    };
    size_t bytes = 0;
    void *stream = nullptr;
    if (!api->workspace_size(graph, "forward", &bytes, &error) && !api->create_stream(context, &stream, &error)) {
      auto bind = [&](const char *name, void *memory, int64_t *shape, int axes) {
        return gnnc_binding{name, {memory, 2, 0, axes, 2, 32, 1, shape, nullptr, 0}};
      };
      gnnc_binding inputs[] = {bind("x", place(x.data(), x.size() * 4), rows, 2),
                               bind("conv.W", place(w.data(), w.size() * 4), weight, 2),
                               bind("conv.b", place(w.data(), kFeatures * 4), bias, 1)};
      gnnc_binding output = bind("y", place(nullptr, x.size() * 4), rows, 2);
      void *workspace = place(nullptr, bytes);
      if (!error.status && !api->synchronize(context, nullptr, &error) &&
          !api->run(context, graph, "forward", inputs, 3, &output, 1, workspace, bytes, stream, &error) &&
          !api->synchronize(context, stream, &error))
        api->copy(context, found.data(), 1, output.tensor.data, 2, found.size() * 4, nullptr, &error);
    }
    if (!error.status)
      api->synchronize(context, nullptr, &error);
    api->destroy_stream(context, stream);
    for (void *block : blocks)
      api->release(context, block);
    api->free_graph(graph);
    return error.status ? std::vector<float>() : found;
  }

private:
  const gnnc_api *api = nullptr;
  gnnc_context *context = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    std::printf("this machine has no GPU\n");
    return 77;
  }
  Model model;
  if (argc != 2 || !model.open(argv[1])) {
    std::printf("expected the object of GCN64\n");
    return 1;
  }
  std::vector<GraphLists> lists;
  std::vector<std::vector<float>> expected;
  for (int number = 0; number < 20; ++number) {
    gnnc_error error = {};
    lists.push_back(makeLists(number));
    expected.push_back(model.run(lists.back(), error));
    if (error.status) {
      std::printf("graph %d: %s\n", number, error.message);
      return 1;
    }
  }
  std::atomic<int> failures = 0;
  auto work = [&](int thread) {
    for (int turn = 0; turn < kTurns; ++turn) {
      size_t number = size_t(thread * 7 + turn * 3) % lists.size();
      gnnc_error error = {};
      std::vector<float> found = model.run(lists[number], error);
      if (error.status || std::memcmp(found.data(), expected[number].data(), expected[number].size() * 4) != 0) {
        std::printf("thread %d, graph %zu: %s\n", thread, number, error.status ? error.message : "other bits");
        ++failures;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(work, thread);
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%d graphs by %d threads, %d failures\n", kThreads * kTurns, kThreads, failures.load());
  return failures ? 1 : 0;
}
