//===- PairsTest.cpp - Spaces of pairs ------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements that two maps send to the same one, in every form against the interpreter, which looks at all there are:
// where sweeps walk the sides, and where pairs have to be listed.
//
//===----------------------------------------------------------------------===//

#include "Clouds.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Of the largest cloud. More would take an emulated GPU minutes.
constexpr int64_t kMostPoints = 70;

void compare(const std::string &text, bool gradient = false) {
  compareAll(text, gradient, /*equalPoints=*/false, kMostPoints);
}

void compareBoth(const std::string &text) {
  compare(text);
  compare(text, /*gradient=*/true);
}

} // namespace

/// Attention of the nodes of each graph to each other, several heads.
TEST(Pairs, Attention) {
  compareBoth("space pair = pairs(batch)\n"
              "model M { input q: node[h = 2, d = 4], k: node[h, d], v: node[h, e = 3]\n"
              " let a = softmax(dot(q.pair.dst, k.pair.src, over: d), along: pair.dst)\n"
              " output y = sum(a * v.pair.src, along: pair.dst) }");
}

/// Owners with more members than an item of a GPU's worklist.
TEST(Pairs, OfLongClouds) {
  compareAll("space pair = pairs(batch)\nmodel M { input x: node[c = 3]\n"
             " let a = softmax(dot(x.pair.dst, x.pair.src, over: c), along: pair.dst)\n"
             " output y = sum(a * x.pair.src, along: pair.dst) }");
}

/// Of all elements there are, whatever they belong to.
TEST(Pairs, OfWholeSpaces) {
  compareBoth("space pair = pairs(node)\n"
              "model M { input x: node[c = 5]\n"
              " let w = exp(0 - sum(square(x.pair.src - x.pair.dst), over: c))\n"
              " output y = sum(w * x.pair.src, along: pair.dst)\n output z = mean(w, along: pair.src) }");
}

TEST(Pairs, BetweenTwoSpaces) {
  compareBoth(
      "model M { input x: node[c = 5], q: query[c]\n space pair = pairs(qbatch, batch)\n"
      " let a = softmax(dot(q.pair.dst, x.pair.src, over: c), along: pair.dst)\n"
      " output y = sum(a * x.pair.src, along: pair.dst)\n output back = sum(a * q.pair.dst, along: pair.src) }");
}

/// What both sides share is seen through either of them, and pooled.
TEST(Pairs, PlacesOfBothSides) {
  compareBoth("model M { input x: node[c = 4], g: graph[c]\n space pair = pairs(batch)\n"
              " output y = sum(x.pair.src * g.batch.pair.src, along: pair.dst)\n"
              " output z = sum(tanh(x.pair.src - 2 * x.pair.dst), along: pair.dst.batch)\n"
              " output n = degree(pair.dst)\n output m = degree(pair.src) }");
}

/// Layers take pairs for edges.
TEST(Pairs, AsARelation) {
  compareBoth("space pair = pairs(batch)\n"
              "model M { input x: node[c = 4]\n output y = GATv2(x, heads: 2, out: 3) on pair }");
}

/// What has a number for each pair in memory needs a list of them: outputs, products, winners, draws.
TEST(Pairs, Listed) {
  compareBoth("model M { input x: node[c = 4]\n space pair = pairs(batch)\n"
              " output y = max(tanh(x.pair.src - x.pair.dst), along: pair.dst) }");
  compare("model M { input x: node[c = 4]\n space pair = pairs(batch)\n"
          " output s = sum(x.pair.src * x.pair.dst, over: c)\n output y = sum(s, along: pair.src) }");
  compareBoth("model M { input x: node[c = 4]\n space pair = pairs(batch)\n param W[f = 20, e = 24]\n"
              " let h = relu(Linear(concat(x.pair.src, x.pair.dst, axis: b), out: 20) as first)\n"
              " output y = sum(tanh(rename(h, out: f) @ W), along: pair.dst) }");
}

/// Other spaces are made of pairs: those of two different elements, and pairs beside edges.
TEST(Pairs, PartsOfOthers) {
  compareBoth("model M { input x: node[c = 4]\n space pair = pairs(batch)\n"
              " space other = filter(pair, pair.src != pair.dst)\n"
              " output y = sum(exp(0 - square(x.pair.src.other - x.pair.dst.other)), along: other.pair.dst)\n"
              " output n = sum(x.pair.src, along: pair.dst) }");
}

/// Edges that follow each other: of each path of two edges both, without a list of the paths.
TEST(Pairs, Paths) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: edge[c = 3], angle: node[c]\n space path = pairs(src, dst)\n"
               " output y = sum(tanh(x.path.src + x.path.dst * angle.src.path.dst), along: path.dst)\n"
               " output n = sum(x.path.src, along: path.dst.dst) }");
  ASSERT_TRUE(model);
  Graph graph = randomGraph(60, 200, 5);
  Tensors inputs = randomTensors(*model, graph, 3), expected;
  for (const std::unique_ptr<Runner> &runner : allRunners(*model, /*gradient=*/false)) {
    llvm::Expected<Tensors> found = runner->run(graph, inputs);
    ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
    if (expected.empty())
      expected = *found;
    for (const auto &[name, tensor] : expected)
      EXPECT_LT(relativeError((*found)[name], tensor), 1e-5) << runner->name() << ", " << name;
  }
}
