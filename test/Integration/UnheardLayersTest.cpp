//===- UnheardLayersTest.cpp - Layers that no one has heard of ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A new layer is a few lines of the language and nothing else. Each of these was made up for this test; compiled at
// every level they equal the interpreter on graphs of every shape.
//
//===----------------------------------------------------------------------===//

#include "Gradient.h"
#include "RandomTrial.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Unheard {
  const char *name;
  const char *text;
};

void PrintTo(const Unheard &layer, std::ostream *stream) { *stream << layer.name; }

class UnheardLayers : public testing::TestWithParam<Unheard> {};

} // namespace

TEST_P(UnheardLayers, EqualTheInterpreter) {
  std::optional<frontend::ModelSpec> model = loadText(GetParam().text);
  ASSERT_TRUE(model);
  llvm::Expected<Trial> trial = makeTrial(*model, kGraphShapes, 1);
  ASSERT_TRUE(bool(trial)) << llvm::toString(trial.takeError());
  // Of the two, one has for each compiled way the processor level that the other has not.
  for (uint64_t seed : {0, 3})
    for (const Way &way : allWays({seed, BodySize::Full}))
      if (way.compiled || seed == 0)
        EXPECT_EQ(check(*trial, way), "") << way.name();
  llvm::Error error = record(*trial);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
}

/// A gradient that is zero in exact arithmetic is noise: all are compared with the largest number of all.
static double largest(const Tensors &tensors) {
  double most = 1e-6;
  for (const auto &[name, tensor] : tensors)
    for (double number : tensor.data)
      most = std::max(most, std::abs(number));
  return most;
}

static double difference(const Tensor &a, const Tensor &b) {
  double most = a.data.size() == b.data.size() ? 0 : INFINITY;
  for (size_t i = 0; i < b.data.size() && most < INFINITY; ++i)
    most = std::isfinite(a.data[i]) ? std::max(most, std::abs(a.data[i] - b.data[i])) : INFINITY;
  return most;
}

TEST_P(UnheardLayers, HaveTheInterpretersGradients) {
  std::optional<frontend::ModelSpec> model = loadText(GetParam().text);
  ASSERT_TRUE(model);
  llvm::Expected<Trial> trial = makeTrial(*model, kGraphShapes, 1);
  ASSERT_TRUE(bool(trial)) << llvm::toString(trial.takeError());
  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model, /*gradient=*/true);
  for (const Sample &sample : trial->samples) {
    Tensors given = sample.tensors, outputs;
    for (const frontend::Output &output : trial->model.outputs)
      outputs[output.name] = sample.values[size_t(output.value)];
    addOutputGradients(given, outputs, 7);
    std::optional<Tensors> expected;
    for (const std::unique_ptr<Runner> &runner : runners) {
      llvm::Expected<Tensors> found = runner->run(sample.graph, given);
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      if (!expected)
        expected = std::move(*found);
      else
        for (const auto &[name, tensor] : *expected)
          EXPECT_LE(difference(found->at(name), tensor), 2e-4 * largest(*expected)) << name << ", " << runner->name();
    }
  }
}

/// Five answers to what an edge asks, all of which must be yes. On a GPU the rows of each fit a block and those of all
/// do not, so that they are stored (test/Target/CUDA/tiles-after-all.gnn).
TEST(UnheardTiles, ThatDoNotFitTogether) {
  std::optional<frontend::ModelSpec> model = loadText(R"(
    model Unanimous(out: int = 256) { input x: node[in = 12]
      param A, B, C, D, E: [in, out]
      let m = tanh(x.src - x.dst)
      output y = sum(sigmoid(m @ A) * sigmoid(m @ B) * sigmoid(m @ C) * sigmoid(m @ D) * sigmoid(m @ E)) })");
  ASSERT_TRUE(model);
  llvm::Expected<Trial> trial = makeTrial(*model, {GraphShape::Small, GraphShape::Hub, GraphShape::NoEdges}, 1);
  ASSERT_TRUE(bool(trial)) << llvm::toString(trial.takeError());
  EXPECT_EQ(check(*trial, {}), "");
  llvm::Error error = record(*trial, /*unfused=*/false);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
}

INSTANTIATE_TEST_SUITE_P(
    Made, UnheardLayers,
    testing::Values(
        // What a neighbour's neighbours say opens or closes the way of what the neighbour says.
        Unheard{"TwoHopGate", R"(
    layer TwoHopGate(x: node[in], out: int) -> node[out] {
      param W[in, out], G[in, out], b[out]
      let far  = mean(mean((x @ G).src).src)
      let gate = sigmoid(far.dst + (x @ G).src + b)
      sum(gate * (x @ W).src) / (1 + degree(dst))
    }
    model M { input x: node[in = 6]
      output y = TwoHopGate(relu(TwoHopGate(x, out: 17) as a), out: 5) as b })"},

        // The largest product of two neighbours' projections, feature by feature, and which pair of heads it comes from
        // folded.
        Unheard{"MaxOfProduct", R"(
    layer MaxOfProduct(x: node[in], heads: int, out: int) -> node[out] {
      param P, Q: node_type[in, heads, out]
      max(max((x @ P.node).src * (x @ Q.node).dst) - min((x @ P.node).src), over: heads)
    }
    model M(node_type: int = 3) { input x: node[in = 7]
      output y = MaxOfProduct(x, heads: 2, out: 9) as m })"},

        // From users to items and back: an item is what its users are, weighted by how far they are from its mean user.
        Unheard{"Distinguished", R"(
    space user
    space item
    relation bought: user -> item
    layer Distinguished(x: user[in], y: item[own], out: int) on bought -> item[out] {
      param W[in, out], V[own, out], c[]
      let z = x @ W
      let away = sum(square(z.src - mean(z.src).dst), over: out)
      sum(softmax(-c * away) * z.src) + y @ V
    }
    model M { input u: user[in = 5], i: item[own = 3]
      let news = Distinguished(u, i, out: 8) on bought as d
      output items = news
      output users = max(news.bought.dst, along: bought.src)
      output popular = mean(degree(bought.dst), along: all) })"},

        // Repeated edges count once: each distinct pair of ends has one vote, as loud as the logarithm of its
        // repetitions.
        Unheard{"OneVoteAPair", R"(
    layer OneVoteAPair(x: node[in], w: edge[], out: int) -> node[out] {
      param W[in, out], U: edge_type[out]
      space pair = distinct(dst, src)
      space flavour = distinct(dst, etype)
      let loud = log(1 + sum(abs(w), along: pair))
      let said = sum(loud * move(x @ W, pair.src), along: pair.dst)
      let taste = max(U.flavour, along: flavour.dst)
      said * sigmoid(taste)
    }
    model M(edge_type: int = 4) { input x: node[in = 6], w: edge[]
      output y = OneVoteAPair(x, w, out: 7) as v })"},

        // Products whose rows are standardised, made shares of, scored and ranked as soon as they are made, narrow and
        // wide ones; and one that is scaled by its nodes' degrees.
        Unheard{"FoldedRows", R"(
    layer Folded(x: node[in], out: int) -> node[out] {
      param W[in, out], b[out], gain[out], V[in, out], U[in, out], a[out]
      let z = x @ W + b
      let c = z - mean(z, over: out)
      let n = gain * c / sqrt(mean(c * c, over: out) + 1)
      let v = x @ V
      let e = exp(v - max(v, over: out))
      let share = e / sum(e, over: out)
      let u = x @ U
      let rank = sum(u * a, over: out) + detach(min(u, over: out))
      sum((relu(n) / (1 + degree(dst)) + share * tanh(rank)).src)
    }
    model M { input x: node[in = 9]
      let h = Folded(x, out: 7) as a
      output y = Folded(h, out: 37) as b
      output z = Folded(h, out: 64) as c })"},

        // Products of long rows, narrow and of no round length.
        Unheard{"LongRows", R"(
    model M { input x: node[in = 300], z: node[other = 257]
      param W[in, out = 9], V[other, out], U[in, wide = 70]
      output y = sum(tanh(x @ W + z @ V).src)
      output w = relu(x @ U) })"},

        // Edges have a state, which remembers the share they had a step ago.
        Unheard{"EdgeMemory", R"(
    layer EdgeMemory(x: node[in], e: edge[mem], hidden: int) -> edge[mem] {
      param S[in, hidden], D[in, hidden], E[mem, hidden], O[hidden, mem]
      let h = tanh((x @ S).src + (x @ D).dst + e @ E)
      0.5 * e + 0.5 * softmax(h @ O)
    }
    layer Listen(x: node[in], e: edge[mem]) -> node[in] {
      param R[mem, in]
      x + sum((e @ R) * x.src) / (1 + degree(dst))
    }
    model M { input x: node[in = 5], e: edge[mem = 4]
      let e1 = EdgeMemory(x, e, hidden: 9) as m1
      let x1 = Listen(x, e1) as l1
      let e2 = EdgeMemory(x1, e1, hidden: 3) as m2
      output edges = e2
      output nodes = Listen(x1, e2) as l2 })"},

        // Two softmaxes over two ends of each edge, multiplied: an edge matters if it does to both.
        Unheard{"MutualAttention", R"(
    layer MutualAttention(x: node[in], heads: int, out: int) -> node[heads, out] {
      param W[in, heads, out], a[heads, out], b[heads, out]
      let z = x @ W
      let score = tanh(dot(z.src, a, over: out) + dot(z.dst, b, over: out))
      sum(softmax(score) * softmax(score, along: src) * z.src)
    }
    model M { input x: node[in = 6]
      output y = flatten(MutualAttention(x, heads: 3, out: 5) as m, features) })"},

        // Spread of the neighbourhood in several moments, each of which needs the one before: three phases of one
        // sweep.
        Unheard{"Moments", R"(
    layer Moments(x: node[in]) -> node[features = 3 * in] {
      let m = mean(x.src)
      let c = x.src - m.dst
      let v = mean(square(c))
      let s = mean(pow(abs(c) / sqrt(v + 0.5).dst, 3))
      concat(m, v, s, axis: features)
    }
    model M { input x: node[in = 33]
      output y = Moments(x) })"},

        // Each graph has an opinion of itself, which its nodes hear only if they have a self loop; the last one says
        // how loud.
        Unheard{"Echo", R"(
    layer Echo(x: node[in], w: edge[], out: int) -> node[out] {
      param W[in, out]
      space loop = filter(edge, src == dst)
      map own = last(loop, dst)
      let opinion = softmax(mean(x @ W, along: batch), over: out)
      move(move(w, loop), own, fill: -1) * opinion.batch
    }
    model M { input x: node[in = 6], w: edge[]
      output y = Echo(x, w, out: 4) as e })"}),
    [](const auto &info) { return info.param.name; });
