// Runs a model that gnnc.export wrote: no Python, no PyTorch.
//
//   PYTHONPATH=python python3 examples/pytorch/export.py model.so
//   c++ -std=c++17 -Iinclude examples/pytorch/deploy.cpp -ldl -o deploy && ./deploy ./model.so
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "gnnc-c/gnnc.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string &what, const char *why) {
  std::fprintf(stderr, "deploy: %s: %s\n", what.c_str(), why);
  std::exit(1);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    fail("usage", "deploy MODEL.so");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(argv[1], dlerror());
  auto model = reinterpret_cast<gnnc_model_function>(dlsym(library, "gnnc_model"));
  if (!model || model()->abi_version != GNNC_ABI_VERSION)
    fail(argv[1], "not a model of this version of gnnc");
  const gnnc_api &api = *model();
  gnnc_error error;
  gnnc_context *context;
  if (api.open(nullptr, &context, &error))
    fail("open", error.message);

  // A ring of 6 nodes. The names are those that export.py prints; parameters are in the object.
  constexpr int64_t kNodes = 6, kFeatures = 4, kClasses = 3;
  std::vector<int64_t> source, target;
  for (int64_t node = 0; node < kNodes; ++node) {
    source.push_back(node);
    target.push_back((node + 1) % kNodes);
  }
  int64_t edges = static_cast<int64_t>(source.size());
  std::vector<gnnc_extent> extents = {{"node", kNodes}, {"edge", edges}};
  std::vector<gnnc_index> maps = {{"src", source.data(), edges, 64, GNNC_INDEX_EACH},
                                  {"dst", target.data(), edges, 64, GNNC_INDEX_EACH}};
  gnnc_graph_desc description = {sizeof description, 2, extents.data(), 2, maps.data(), 0, nullptr, nullptr, nullptr};
  gnnc_graph *graph;
  if (api.prepare(context, &description, &graph, &error))
    fail("prepare", error.message);

  std::vector<float> x(kNodes * kFeatures), scores(kNodes * kClasses);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.1f * static_cast<float>(i % 7);
  int64_t xShape[] = {kNodes, kFeatures}, scoresShape[] = {kNodes, kClasses};
  gnnc_binding input = {"x", {x.data(), 1, 0, 2, 2, 32, 1, xShape, nullptr, 0}};
  gnnc_binding output = {"add_1", {scores.data(), 1, 0, 2, 2, 32, 1, scoresShape, nullptr, 0}};
  if (api.run(context, graph, "forward", &input, 1, &output, 1, nullptr, 0, nullptr, &error))
    fail("run", error.message);
  for (int64_t node = 0; node < kNodes; ++node)
    std::printf("node %d: %.4f %.4f %.4f\n", static_cast<int>(node), scores[node * kClasses],
                scores[node * kClasses + 1], scores[node * kClasses + 2]);
  api.free_graph(graph);
  api.close(context);
  return 0;
}
