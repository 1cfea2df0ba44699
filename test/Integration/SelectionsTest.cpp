//===- SelectionsTest.cpp - Spaces that are made from values --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neighbours chosen by distance, in every form against the interpreter, which tries all pairs: on clouds of several
// sizes, empty ones and single points among them, and with equal points.
//
//===----------------------------------------------------------------------===//

#include "Clouds.h"

using namespace gnnc;
using namespace gnnc::test;

/// Which they are and in what order: the offsets to the neighbours, each weighted by its place.
TEST(Selections, NearestInOrder) {
  for (const char *width : {"1", "3", "17"})
    for (bool equalPoints : {false, true})
      compareAll("model M(k: int = 5) { input pos: node[d = " + std::string(width) +
                     "], weight: node[]\n space near = knn(pos, k: k, along: batch)\n"
                     " let w = weight.near.src * sum(weight.near.src, along: near.dst).near.dst\n"
                     " output y = sum(w * (pos.near.src - pos.near.dst), along: near.dst)\n"
                     " output back = sum(w, along: near.src)\n output times = degree(near.src) }",
                 /*gradient=*/false, equalPoints);
}

TEST(Selections, WithThemselvesAndOverAll) {
  compareAll("model M { input pos: node[d = 3], x: node[c = 4]\n space near = knn(pos, k: 4, self: true)\n"
             " output y = max(x.near.src, along: near.dst) }");
}

/// Many points of a few numbers are searched by a tree.
static std::string nearestOfMany(const std::string &width) {
  return "model M { input pos: node[d = " + width +
         "], weight: node[]\n space near = knn(pos, k: 5)\n"
         " let w = weight.near.src * sum(weight.near.src, along: near.dst).near.dst\n"
         " output y = sum(w * (pos.near.src - pos.near.dst), along: near.dst)\n output back = sum(w, along: near.src) "
         "}";
}

static std::string nearestInGroups(const std::string &k) {
  return "model M { input pos: node[d = 3], q: query[e = 3], weight: node[]\n space near = knn(pos, k: " + k +
         ", of: q, along: batch | qbatch)\n"
         " output y = sum(weight.near.src * (pos.near.src - rename(q, e: d).near.dst), along: near.dst) }";
}

TEST(Selections, NearestOfMany) {
  for (const char *width : {"1", "2", "3", "4"})
    for (bool equalPoints : {false, true})
      compareOn({clouds({1060}, 4)}, nearestOfMany(width), /*gradient=*/false, equalPoints);
  for (const char *k : {"32", "40"})
    compareOn({clouds({1300, 0, 1900}, 5)}, nearestInGroups(k));
}

TEST(Selections, NearestByTree) {
  compareOn({clouds({1060}, 4)}, nearestOfMany("3"), /*gradient=*/false, /*equalPoints=*/true);
  compareOn({clouds({1100, 1000}, 5)}, nearestInGroups("1"));
}

TEST(Selections, MoreThanThereAre) {
  compareAll("model M { input pos: node[d = 3], x: node[c = 4]\n space near = knn(pos, k: 1000, along: batch)\n"
             " output y = mean(x.near.src, along: near.dst)\n output n = degree(near.dst) }");
}

TEST(Selections, BetweenTwoSpaces) {
  compareAll("model M { input pos: node[d = 3], q: query[e = 3], x: node[c = 4]\n"
             " space near = knn(pos, k: 3, of: q, along: batch | qbatch)\n"
             " output y = sum(x.near.src * sum(square(pos.near.src - rename(q, e: d).near.dst), over: d),"
             " along: near.dst)\n output back = sum(q.near.dst, along: near.src) }");
}

TEST(Selections, TheNearestOne) {
  compareAll("model M { input pos: node[d = 3], q: query[e = 3], weight: node[]\n"
             " space near = knn(pos, k: 1, of: q, along: batch | qbatch)\n"
             " output y = sum(weight.near.src * (pos.near.src - rename(q, e: d).near.dst), along: near.dst) }");
}

/// The second search is among what the first one has made.
TEST(Selections, DynamicEdges) {
  std::string text = "model M { input pos: node[d = 3]\n space near = knn(pos, k: 6, along: batch)\n"
                     " let h = max(relu(Linear(concat(pos.near.dst, pos.near.src - pos.near.dst, axis: b), out: 16)),"
                     " along: near.dst)\n space far = knn(h, k: 3, along: batch)\n"
                     " let g = tanh(Linear(h.far.src - h.far.dst, out: 8))\n"
                     " output y = sum(g, along: far.dst)\n output s = sum(g, along: far.src) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}

/// Gradients pass through rows that are moved along the chosen maps, and not through the choice.
TEST(Selections, GradientsOfDistances) {
  compareAll("model M { input pos: node[d = 3], x: node[c = 4]\n space near = knn(pos, k: 5, along: batch)\n"
             " let r = sum(square(pos.near.src - pos.near.dst), over: d)\n"
             " let a = softmax(0 - r, along: near.dst)\n output y = sum(a * x.near.src, along: near.dst) }",
             /*gradient=*/true);
}

/// Maps that are made of chosen ones: unions with loops, and what is chosen of what is chosen.
TEST(Selections, MapsMadeOfChosenOnes) {
  std::string text =
      "model M { input pos: node[d = 3], x: node[c = 4]\n space near = knn(pos, k: 3, along: batch)\n"
      " space ring = union(near, node)\n map in: ring -> node = near.src | node\n map at: ring -> node = near.dst | "
      "node\n"
      " output y = sum(softmax(x.in + x.at, along: at) * x.in, along: at)\n output z = sum(x.at, along: in) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}

/// What is chosen belongs where its owner does.
TEST(Selections, PoolsOverGraphs) {
  compareAll("model M { input pos: node[d = 3]\n space near = knn(pos, k: 3, along: batch)\n"
             " output y = sum(square(pos.near.src), along: near.src.batch) }",
             /*gradient=*/true);
}

/// Of pairs of which none is a loop, all are kept where loops are not, and none where they are.
TEST(Selections, LayersThatAddLoops) {
  std::string head = "model M { input pos: node[d = 3], x: node[c = 4]\n space near = knn(pos, k: 3, along: batch)\n";
  compareAll(head + " output y = GCN(x, out: 5) on near }", /*gradient=*/true);
  compareAll(head + " output y = GAT(x, heads: 2, out: 3) on near }");
}

/// Rows of 16 bits are not what decides who is near.
TEST(Selections, StoredIn16Bits) {
  std::optional<frontend::ModelSpec> model =
      loadText(std::string(kSpaces) + "model M { input pos: node[d = 3], x: node[c = 40]\n param W[d, e = 40]\n"
                                      " let h = tanh(pos @ W)\n space near = knn(h, k: 4, along: batch)\n"
                                      " output y = sum(x.near.src, along: near.dst) }");
  ASSERT_TRUE(model);
  Graph graph = clouds({40, 7, 300}, 1);
  Tensors inputs = randomTensors(*model, graph, 3);
  for (Tensor *tensor : {&inputs["x"], &inputs["pos"]})
    for (double &number : tensor->data)
      number = std::round(number * 64) / 64; // which 16 bits hold
  CompileOptions options;
  options.cpuLevels = {bestProcessorLevel()};
  auto whole = CompiledModel::create(*model, options);
  ASSERT_TRUE(bool(whole)) << llvm::toString(whole.takeError());
  for (Storage storage : {Storage::BF16, Storage::F16}) {
    options.storage = storage;
    auto narrow = CompiledModel::create(*model, options);
    ASSERT_TRUE(bool(narrow)) << llvm::toString(narrow.takeError());
    llvm::Expected<Tensors> found = (*narrow)->run(graph, inputs), expected = (*whole)->run(graph, inputs);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
    EXPECT_LT(relativeError((*found)["y"], (*expected)["y"]), 1e-2);
  }
}
