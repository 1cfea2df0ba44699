// Runs a model on a graph in two parts: the path of four nodes 0 - 1 - 2 - 3, of which one rank has the first half and
// another one the second. The ranks are threads; see docs/Distributed.md for processes.
//
//   gnnc compile examples/c/model.gnn --distributed -o model.so
//   c++ -std=c++20 -Iinclude examples/distributed/threads.cpp lib/Ranks/ThreadRanks.cpp -ldl -pthread -o threads
//   ./threads ./model.so
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gnnc-c/gnnc.h"
#include "gnnc/Ranks/ThreadRanks.h"

#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

/// What `gnnc partition` would write for a rank. Own nodes have the first numbers, then those of the other rank that
/// edges come from.
struct Part {
  std::vector<int64_t> src, dst;    ///< of the edges that lead to own nodes
  std::vector<int64_t> sent;        ///< own nodes that the other rank has edges from
  std::vector<int64_t> halo, sends; ///< how many rows come from each rank, and go there
  std::vector<float> x;
};
const Part parts[] = {{{1, 0, 2}, {0, 1, 1}, {1}, {0, 1}, {0, 1}, {1, 0, 0, 0, 1, 0}},
                      {{2, 1, 0}, {0, 0, 1}, {0}, {1, 0}, {1, 0}, {0, 0, 1, 1, 1, 1}}};

gnnc_binding tensor(const char *name, const float *data, int32_t ndim, const int64_t *shape) {
  return {name, {const_cast<float *>(data), 1, 0, ndim, 2, 32, 1, shape, nullptr, 0}};
}

/// One rank. Returns why it failed, or nothing.
std::string runRank(const gnnc_api &api, const Part &part, const gnnc_collectives &collectives, float *logits) {
  gnnc_error error = {};
  gnnc_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  gnnc_context *context = nullptr;
  if (api.open(&options, &context, &error))
    return error.message;
  const gnnc_extent extents[] = {{"node", 2}, {"edge", 3}, {"node.halo", 1}, {"node.send", 1}};
  const gnnc_index maps[] = {{"src", part.src.data(), 3, 64, GNNC_INDEX_EACH},
                             {"dst", part.dst.data(), 3, 64, GNNC_INDEX_EACH},
                             {"node.sent", part.sent.data(), 1, 64, GNNC_INDEX_EACH}};
  gnnc_graph_desc graphDesc = {};
  graphDesc.struct_size = sizeof graphDesc;
  graphDesc.num_extents = 4;
  graphDesc.extents = extents;
  graphDesc.num_indices = 3;
  graphDesc.indices = maps;
  const gnnc_row_counts counts[] = {{"node.halo", part.halo.data()}, {"node.send", part.sends.data()}};
  const gnnc_part_desc partDesc = {sizeof partDesc, 2, counts, &collectives};
  gnnc_graph *graph = nullptr;
  std::string failed;
  if (api.prepare_part(context, &graphDesc, &partDesc, &graph, &error)) {
    failed = error.message;
  } else {
    // Parameters are the same on all ranks, inputs and outputs a rank's own rows.
    const float W[] = {1, 0, 0, 1, 1, 1}, b[] = {0, 0.5f};
    const int64_t xDims[] = {2, 3}, WDims[] = {3, 2}, bDims[] = {2}, yDims[] = {2, 2};
    const gnnc_binding in[] = {tensor("x", part.x.data(), 2, xDims), tensor("c1.W", W, 2, WDims),
                               tensor("c1.b", b, 1, bDims)};
    const gnnc_binding out[] = {tensor("logits", logits, 2, yDims)};
    if (api.run(context, graph, "forward", in, 3, out, 1, nullptr, 0, nullptr, &error))
      failed = error.message;
    api.free_graph(graph);
  }
  api.close(context);
  return failed;
}

} // namespace

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  auto model = library ? reinterpret_cast<gnnc_model_function>(dlsym(library, "gnnc_model")) : nullptr;
  if (!model || model()->abi_version != GNNC_ABI_VERSION) {
    std::fprintf(stderr, "usage: threads MODEL.so\n");
    return 1;
  }
  float logits[4][2]; // 0.5000 0.9082, 0.7416 1.1667, 1.1498 1.9832, 1.4082 1.9082, as on the whole graph
  gnnc::ThreadRanks ranks(2);
  std::string failed = ranks.run([&](int rank, const gnnc_collectives &collectives) {
    return runRank(*model(), parts[rank], collectives, logits[2 * rank]);
  });
  if (!failed.empty()) {
    std::fprintf(stderr, "%s\n", failed.c_str());
    return 1;
  }
  for (int node = 0; node < 4; ++node)
    std::printf("node %d: %.4f %.4f\n", node, logits[node][0], logits[node][1]);
}
