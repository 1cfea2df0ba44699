//===- ThreadsTest.cpp - The same numbers whatever the threads ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph large enough for many blocks and with one node that half of the edges go to: results are the same to the bit
// for any number of threads and any run, and they are the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace gnnc;
using namespace gnnc::test;

namespace {

class Threads : public testing::TestWithParam<const char *> {};

Graph hubGraph() {
  Graph graph = randomGraph(4000, 50000, 5);
  for (size_t e = 0; e < graph.maps["dst"].size(); e += 2)
    graph.maps["dst"][e] = 3;
  return graph;
}

} // namespace

TEST_P(Threads, GiveTheSameBits) {
  std::optional<frontend::ModelSpec> model =
      loadText(std::string("import std\nmodel M(node_type: int = 3, edge_type: int = 4) { input x: node[16]\n"
                           "output y = ") +
               GetParam() + " }");
  ASSERT_TRUE(model);
  Graph graph = hubGraph();
  Tensors tensors = randomTensors(*model, graph, 7);
  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model);
  Tensor expected;
  for (const std::unique_ptr<Runner> &runner : runners) {
    auto *compiled = dynamic_cast<CompiledModel *>(runner.get());
    if (!compiled) {
      llvm::Expected<Tensors> outputs = runner->run(graph, tensors);
      ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
      expected = (*outputs)["y"];
      continue;
    }
    Tensor first;
    for (int threads : {1, 2, 3, 7, 2}) {
      compiled->setThreads(threads);
      llvm::Expected<Tensors> outputs = compiled->run(graph, tensors);
      ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
      Tensor &actual = (*outputs)["y"];
      EXPECT_LE(relativeError(actual, expected), 1e-5) << runner->name() << ", " << threads << " threads";
      if (first.data.empty())
        first = actual;
      ASSERT_EQ(first.data.size(), actual.data.size());
      EXPECT_TRUE(haveSameBits(first, actual)) << runner->name() << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Threads,
                         testing::Values("GCN(x, out: 16) as c", "SAGEMax(x, out: 9) as c",
                                         "GAT(x, heads: 2, out: 8) as c", "GATv2(x, heads: 3, out: 5) as c",
                                         "GraphTransformer(x, heads: 2, out: 8) as c",
                                         "EdgeConvMLP(x, hidden: 24, out: 8)", "EdgeConv(x, out: 8) as c",
                                         "RGCN(x, out: 8) as c", "HGT(x, heads: 2, out: 4) as c",
                                         "GlobalAttentionPool(x) as c"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name(info.param);
                           return name.substr(0, name.find('('));
                         });
