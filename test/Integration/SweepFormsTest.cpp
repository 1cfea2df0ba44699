//===- SweepFormsTest.cpp - Sweeps that no layer leads to -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models whose kernels have operands in unusual places, in every form against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "RandomTrial.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

static void compareAll(const std::string &text, const Graph &graph) {
  std::optional<frontend::ModelSpec> model = loadText(text);
  ASSERT_TRUE(model);
  Tensors inputs = randomTensors(*model, graph, 3), expected;
  auto compare = [&](const Runner &runner, llvm::Expected<Tensors> found) {
    ASSERT_TRUE(bool(found)) << runner.name() << ": " << llvm::toString(found.takeError());
    if (expected.empty()) // the interpreter's
      expected = *found;
    for (const auto &[name, tensor] : expected)
      EXPECT_LT(relativeError((*found)[name], tensor), 1e-5) << runner.name() << ", " << name;
  };
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    compare(*runner, runner->run(graph, inputs));
    // What lies beside a row shows only if it is no number.
    if (auto compiled = dynamic_cast<CompiledModel *>(runner.get());
        compiled && !llvm::StringRef(runner->name()).contains("GPU"))
      compare(*runner, runGuarded(compiled->file(), graph, inputs, /*threads=*/1, /*variant=*/0));
  }
}

/// Members read, by way of their owner, what the map of the sweep leads that owner to, which may be nowhere. Enough
/// work to do it for the members of several owners at once.
TEST(SweepForms, OwnersThatTheirOwnMapLeadsNowhere) {
  const int64_t nodes = 40;
  Graph graph{{{"node", nodes}}, {{"up", {}}}};
  for (int32_t node = 0; node < nodes; ++node)
    graph.maps["up"].push_back(node < 4 ? -1 : node < 20 ? node / 5 : node - 13);
  for (const char *width : {"1", "2", "5", "16"})
    compareAll("map up: node -> node partial\n model M { input x: node[c = " + std::string(width) +
                   "], z: node[c]\n let own = move(z, up)\n output kept = own\n"
                   " output s = sum(exp(x + move(own, up, fill: 2)), along: up) }",
               graph);
}

/// What a weight multiplies is the owner's row, or the same for all, and no tile of rows.
TEST(SweepForms, OneRowTimesAWeight) {
  Graph graph = randomGraph(12, 40, 5);
  for (int width : {4, 40}) {
    std::string head = "model M { input x: node[c = " + std::to_string(width) + "]\n param W[c, d = 5], w[c]\n";
    compareAll(head + "let h = relu(relu(x.dst) @ W)\n output y = sum(h) }", graph);
    compareAll(head + "let h = relu(relu(x.dst) @ W)\n output y = sum(h)\n output z = sum(h, along: src) }", graph);
    compareAll(head + "let h = relu(sin(w) + 0 * sum(x, along: all)) @ W\n output y = sum(sin(h + 0 * x.src @ W)) }",
               graph);
  }
}

/// Rows of products that are too wide for registers: a walk goes over the members once for each part of them.
TEST(SweepForms, PartsOfRowsInTurn) {
  Graph graph = randomGraph(12, 40, 5);
  for (const char *sizes : {"a = 100, b = 5", "a = 50, b = 10", "a = 36, b = 15"})
    compareAll("model M { input x: node[" + std::string(sizes) +
                   "], e: edge[b], w: []\n output most = min(mean((x.dst @ e) * w), over: a)\n output same = x }",
               graph);
}

/// Weights of joined scores, which are taken apart where they are made, and put together before they weigh anything.
TEST(SweepForms, WeightsOfJoinedScores) {
  Graph graph = randomGraph(12, 40, 5);
  compareAll("model M { input u: edge[c = 5], v: edge[c]\n let w = softmax(concat(u, v, axis: k))\n"
             " output y = sum(outer(w, u)) }",
             graph);
}
