//===- WidthsTest.cpp - Layers of the widths that hardware likes ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multiples of four and of 64, odd numbers, rows wider than a warp, and an owner with so many members that they are cut
// into chunks: where targets use whole vectors, parts of vectors, tiles and several passes. Gradients against the
// interpreter's.
//
//===----------------------------------------------------------------------===//

#include "Gradient.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Wide {
  const char *name, *text;
};

void PrintTo(const Wide &wide, std::ostream *out) { *out << wide.name; }

class Widths : public testing::TestWithParam<Wide> {};
struct Many {
  Wide wide;
  size_t nodes, edges;
};
void PrintTo(const Many &many, std::ostream *out) { *out << many.wide.name; }
class ManyRows : public testing::TestWithParam<Many> {};

/// Two nodes have most edges, at either end: several items each on a GPU, and light owners that are long beside others.
Graph withHubs() {
  Graph graph = randomGraph(60, 2000, 3);
  for (size_t i = 0; i < 2000; ++i) {
    if (i % 3)
      graph.maps["dst"][i] = int32_t(i % 2 + (i % 16 == 0));
    if (i % 5 < 3)
      graph.maps["src"][i] = int32_t(3 + i % 2 + (i % 16 == 0));
  }
  return graph;
}

/// Outputs and gradients of a model, in all the ways that it is compiled.
void expectTheInterpreters(const Wide &wide, llvm::ArrayRef<Graph> graphs) {
  std::optional<frontend::ModelSpec> model = loadText(std::string("import std\n") + wide.text);
  ASSERT_TRUE(model);
  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model, /*gradient=*/true);
  Program forward(*model);
  for (const Graph &graph : graphs) {
    Tensors tensors = randomTensors(*model, graph, 7);
    llvm::Expected<Tensors> outputs = forward.run(graph, tensors);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    addOutputGradients(tensors, *outputs, 8);
    llvm::Expected<Tensors> expected = runners.front()->run(graph, tensors);
    ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
    double largest = 0;
    for (const auto &[name, value] : *expected)
      for (double x : value.data)
        largest = std::max(largest, std::fabs(x));
    for (const std::unique_ptr<Runner> &runner : runners) {
      llvm::Expected<Tensors> found = runner->run(graph, tensors);
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      for (const auto &[name, value] : *expected) {
        double magnitude = 0;
        for (double x : value.data)
          magnitude = std::max(magnitude, std::fabs(x));
        // Single precision over hundreds of members, where a softmax's gradient nearly cancels; a wrong number is much
        // further off. In double precision GPUs agree to 1e-10 (Replay.cpp).
        double error = relativeError((*found)[name], value) * std::min(1.0, magnitude / (0.05 * largest));
        EXPECT_LE(error, 3e-4) << runner->name() << ", " << name;
      }
    }
  }
}

} // namespace

TEST_P(Widths, MatchTheInterpreter) {
  expectTheInterpreters(GetParam(), {randomGraph(45, 260, 1), randomGraph(9, 1100, 2), withHubs()});
}

/// As many rows as warpgroups want (Kernels/Warpgroups.cuh), no multiple of their tiles, and too few.
TEST_P(ManyRows, MatchTheInterpreter) {
  const auto &[wide, nodes, edges] = GetParam();
  expectTheInterpreters(wide, {randomGraph(nodes, edges, 1), randomGraph(45, 260, 1)});
}

INSTANTIATE_TEST_SUITE_P(Products, ManyRows,
                         testing::Values(
                             // Two tiles with columns that are not there, and depths that are not there.
                             Many{{"Odd", "model M { input x: node[in = 70]\n param W[in, out = 99], b[out]\n"
                                          "output y = tanh(x @ W + b) }"},
                                  8300,
                                  60},
                             Many{{"Heads",
                                   "model M { input x: node[heads = 2, in = 64]\n param W[heads, in, out = 64]\n"
                                   "output y = tanh(x @ W) }"},
                                  8300,
                                  60},
                             Many{{"Rows", "model M { input x: node[heads = 3, in = 68]\n param W[in, out = 64]\n"
                                           "output y = tanh(x @ W) }"},
                                  8300,
                                  60},
                             // A weight that shared memory does not hold: ten panels, the last of which is short.
                             Many{{"Panels", "model M { input x: node[in = 620]\n param W[in, out = 70], b[out]\n"
                                             "output y = tanh(x @ W + b) }"},
                                  8300,
                                  60},
                             // The product's rows are folded where they are.
                             Many{{"Softmax", "model M { input x: node[in = 65]\n param W[in, out = 64]\n"
                                              "output y = softmax(x @ W, over: out) }"},
                                  16500,
                                  60},
                             // Rows of nodes that edges read, where nothing is rewritten.
                             Many{{"Gathered", "model M { input x: node[in = 65]\n param W[in, out = 66]\n"
                                               "output y = sum(tanh(x.src @ W)) }"},
                                  45,
                                  8300}),
                         [](const auto &info) { return info.param.wide.name; });

INSTANTIATE_TEST_SUITE_P(
    Layers, Widths,
    testing::Values(
        Wide{"GCN", "model M { input x: node[16], w: edge[]\n output y = GCN(x, abs(w), out: 64) }"},
        Wide{"Max", "model M { input x: node[32]\n output y = SAGEMax(x, out: 48) }"},
        Wide{"GMM", "model M { input x: node[16], p: edge[2]\n output y = GMM(x, p, kernels: 2, out: 16) }"},
        Wide{"GAT", "model M { input x: node[16]\n output y = GATPlain(x, heads: 4, out: 16) }"},
        Wide{"GATv2", "model M { input x: node[16]\n output y = GATv2Plain(x, heads: 2, out: 64) }"},
        Wide{"Transformer", "model M { input x: node[16]\n output y = GraphTransformer(x, heads: 4, out: 64) }"},
        Wide{"OneHead", "model M { input x: node[16]\n output y = GATPlain(x, heads: 1, out: 300) }"},
        Wide{"RGCN", "model M(edge_type: int = 4) { input x: node[64]\n output y = RGCN(x, out: 64) }"},
        Wide{"Messages", "model M { input x: node[24]\n output y = EdgeConvMLP(x, hidden: 32, out: 16) }"},
        Wide{"Matrices", "model M { input x: node[16], e: edge[3]\n output y = NNConv(x, e, hidden: 20, out: 12) }"},
        Wide{"WideMatrices", "model M { input x: node[40], e: edge[3]\n"
                             "output y = NNConv(x, e, hidden: 8, out: 36) }"},
        // Scores of a network, which are read by members and by owners; heads with a weight each.
        Wide{"Scores", "model M { input x: node[features = 24]\n"
                       "let s = MLP2(concat(x.src, x.dst, axis: features), hidden: 18, out: 1)\n"
                       "output y = sum(softmax(sum(s, over: out)) * x.src) }"},
        Wide{"Heads", "model M { input x: node[heads = 3, in = 8]\n param W[heads, in, out = 20]\n"
                      "output y = sum(relu(relu(x.src + x.dst) @ W)) }"},
        Wide{"Rows", "model M { input x: node[heads = 3, in = 8]\n param W[in, out = 20]\n"
                     "output y = max(relu(relu(x.src - x.dst) @ W)) }"},
        // A network of edges whose result is theirs, beside what its first layer comes to and what is made of that.
        Wide{"States", "model M { input x: node[in = 12], e: edge[in]\n param W[in, out = 20], V[out, low = 7]\n"
                       "let m = relu(relu(x.src - x.dst + e) @ W)\n"
                       "output f = tanh(m @ V)\n output y = tanh(mean(m))}"},
        // A wide row that lies in memory with its axes the other way round.
        Wide{"Turned", "model M(edge_type: int = 4) { input x: node[a = 3, b = 300]\n param w: edge_type[b, a]\n"
                       "output y = sum(tanh(0.05 * dot(x.src, w.etype, over: (a, b))), along: dst) }"},
        // Rows of two axes that are cut along both, so that what is left of them is narrow.
        Wide{"HeldFours", "model M { input x: node[a = 8], e: edge[b = 24], w: edge[]\n"
                          " output y = mean(outer(e, x.src) * w)\n output z = max(outer(x.dst, e))\n"
                          " output v = outer(e, x.src) }"},
        Wide{"HeldPairs", "model M { input x: node[a = 6], p: node[d = 2]\n let r = p.src - p.dst\n"
                          " output y = sum(outer(relu(x.src), r))\n output z = std(outer(r, x.src - x.dst)) }"},
        Wide{"HeldRows", "model M { input x: node[h = 3, a = 64, c = 4], e: edge[c]\n"
                         " output y = sum(softmax(dot(x.src, e, over: c)) * tanh(x.src)) }"},
        // Rows whose lanes have several numbers each; a product to two numbers among the operations on a row; tiles
        // that keep an attention's scores and read its weights, with rows in place of those that they are made of.
        Wide{"FewerLanes", "model M { input x: node[h = 3, a = 21], e: edge[a]\n"
                           " output y = sum(softmax(dot(x.src, e, over: a)) * tanh(x.src)) }"},
        Wide{"SweptProducts", "model M { input x: node[a = 17], r: edge[]\n param b[k = 25], W[k, m = 2], V[m, a]\n"
                              " output y = max(exp(-square(r - b)) @ W @ V * x.src)\n"
                              " output z = sum(silu(x.src - x.dst) * (square(r - b) @ W @ V)) }"},
        // Channels whose few numbers meet a small tensor (sweep-channels), parts of short axes, and their joins.
        Wide{"Channels", "model M { input x: node[u = 32, m = 3], d: edge[n = 5], w: edge[p = 3, u]\n"
                         " param C[m, n, k = 5], D[m, l = 3]\n"
                         " let a = dot(x.src, dot(C, d, over: n), over: m) * w[p: 1]\n"
                         " let b = (x.src * (1 + d[n: 2])) @ D\n"
                         " let c = concat(a[k: 1..3], a[k: 3..5] * w[p: 0], axis: k)\n"
                         " output y = sum(concat(a, c, axis: k))\n"
                         " output z = sum(b * w[p: 2]) + max(x.src) @ D }"},
        Wide{"PartsOfChannels", "model M { input x: node[u = 16, g = 6]\n"
                                " let t = concat(x.src[g: 4..6], x.dst[g: 0..2] * x.src[g: 2..4], axis: g)\n"
                                " output y = sum(softmax(t[g: 1..3]) * flatten(t, v)[v: 32..48])\n"
                                " output z = max(concat(flatten(t, v), flatten(x.src, v), axis: v)[v: 48..112]) }"},
        // Rows of which a lane would hold more numbers than registers, added up.
        Wide{"WideRows", "model M { input x: node[b = 10, f = 130], z: node[b, f]\n"
                         " output y = sum(flatten(x.src * z.dst, v), over: v) }"},
        // A few sums of very many terms, all of them shared, are a sum of outer products (spread-contractions).
        Wide{"LongShared", "model M { input x: node[r = 5]\n param A[r, k = 4200], B[b = 3, k]\n"
                           " output y = x @ dot(A, B, over: k) }"},
        // Weights that an edge network makes, in parts of several shapes: their gradients are read part by part
        // (split-joined-operands), and made by sweeps of their own (split-unrelated-rows).
        Wide{"EdgeWeights", "model M { input x: node[b = 30], z: node[f = 32], u: node[a = 15], e: edge[c = 5]\n"
                            " param H[c, h = 8], E[h, v = 1440]\n let w = tanh(e @ H) @ E\n"
                            " output y = sum(dot(w[v: 0..960], flatten(x.src * z.dst, v), over: v)\n"
                            "               + dot(w[v: 960..1440], flatten(u.src * z.dst, v), over: v)) }"},
        Wide{"KeptScores", "model M { input x: node[in = 9], e: edge[c = 5]\n"
                           " param A[in, h = 3, u = 40], E[c, h, u], v[h, u], G[u, w = 11]\n"
                           " let k = x @ A\n let s = leaky_relu(k.src + k.dst + e @ E, 0.2)\n"
                           " let p = softmax(dot(s, v, over: u))\n"
                           " output y = sum(p * (tanh(s) @ G)) }"},
        Wide{"CutTwice", "model M { input x: node[a = 66, b = 33]\n output y = sum(x, over: a)\n"
                         "output z = sum(square(x), over: a) }"},
        // A sum that is cut because its factors are wide, where its own rows are narrow.
        Wide{"CutSum", "model M { input s: edge[]\n param v[k = 100], w[n = 9, k]\n"
                       "output y = s * tanh(dot(v, w, over: k)) }"},
        // Three products, one after the other, whose rows are multiplied and summed.
        Wide{"Deep", "model M { input x: node[in = 16]\n param A[in, u = 20], B[u, v = 36], C[v, w = 36]\n"
                     "let b = relu(relu(relu(x.src + x.dst) @ A) @ B)\n"
                     "output y = min(b @ C) + rename(max(b), v: w) }"},
        // Narrow rows that are gathered through one map (pack-rows): two sums of one sweep, of which one is an output,
        // and what this sweep reads of its own element; in rows of odd length.
        Wide{"Packed", "model M { input x: node[in = 16]\n param A[in, heads = 3]\n let u = x @ A\n"
                       "let a = sum(tanh(u.src * u.dst))\n let b = max(u.src)\n output kept = b\n"
                       "output y = sum(exp(tanh(a.dst * u.dst + b.dst)), along: src) }"},
        // Rows of owners that are added in the end lie where the result goes (plan-memory).
        Wide{"Root", "model M { input x: node[in = 16]\n"
                     "param A[in, out = 64], B[in, out]\n"
                     "output y = tanh(max((x @ A).src) + x @ B) }"},
        Wide{"WideRoot", "model M { input x: node[in = 16]\n"
                         "param A[in, out = 600], B[in, out]\n"
                         "output y = tanh(max((x @ A).src) + x @ B) }"},
        Wide{"NarrowRoot", "model M { input x: node[in = 16]\n"
                           "param A[in, out = 3], B[in, out]\n"
                           "output y = tanh(max((x @ A).src) + x @ B) }"},
        // Those that members meet are written over when they have been.
        Wide{"Walked", "model M { input x: node[in = 16]\n"
                       "param A[in, out = 64], B[in, out]\n"
                       "let a = x @ A\nlet b = x @ B\n"
                       "output y = sum(tanh(a.src * b.dst)) }"},
        Wide{"WideWalked", "model M { input x: node[in = 16]\n"
                           "param A[in, out = 520], B[in, out]\n"
                           "let a = x @ A\nlet b = x @ B\n"
                           "output y = sum(tanh(a.src * b.dst)) }"},
        Wide{"MixedWalked", "model M { input x: node[in = 16]\n"
                            "param A[in, out = 700], B[in, out]\n"
                            "let a = x @ A\nlet b = x @ B\n"
                            "output y = sum(tanh(dot(a.src, b.dst, over: out)) * a.src) }"},
        Wide{"TwoWalked", "model M { input x: node[in = 16]\n"
                          "param A[in, out = 36], B[in, out], C[in, out]\n"
                          "let a = x @ A\nlet b = x @ B\nlet c = x @ C\n"
                          "output y = sum(tanh(a.src * b.dst + c.dst))\n"
                          "output z = sum(sigmoid(a.src + b.dst)) }"},
        Wide{"WalkedTwice", "model M { input x: node[in = 16]\n"
                            "param A[in, out = 20], B[in, out], C[in, out]\n"
                            "let a = x @ A\nlet b = x @ B\n"
                            "output y = max(softmax(dot(a.src, b.dst, over: out)) * a.src) + x @ C }"},
        Wide{"GatedRoot", "model M { input x: node[in = 16], s: node[heads = 2], e: edge[]\n"
                          "param A[in, heads, out = 7], B[in, heads, out]\n"
                          "output y = sum(exp(sigmoid(s.src + s.dst) * tanh(e)) * tanh(x @ A).src) + x @ B }"},
        // Not where a number is read in another's place.
        Wide{"TransposedRoot", "model M { input x: node[in = 16]\n"
                               "param A[in, p = 8, q = 8], C[in, p, q]\n"
                               "let a = x @ A\nlet c = x @ C\n"
                               "output y = sum(a.src * dot(a.src, a.dst, over: (p, q))) + "
                               "rename(permute(c, (q, p)), q: p, p: q) }"},
        // The same in a product that adds another's rows.
        Wide{"AddedProducts", "model M { input x: node[in = 16]\n param A[in, out = 64], B[in, out]\n"
                              "output y = tanh(max(x.src) @ A + (x @ B)) }"},
        Wide{"WideProducts", "model M { input x: node[in = 16]\n param A[in, out = 601], B[in, out]\n"
                             "output y = tanh(max(x.src) @ A + (x @ B)) }"},
        Wide{"ManyRows", "model M { input x: node[heads = 3, in = 16]\n param A[in, out = 20], B[in, out]\n"
                         "output y = tanh(max(x.src) @ A + (x @ B)) }"},
        Wide{"Norm", "model M { input x: node[512]\n output y = LayerNorm(x) }"},
        Wide{"Sum", "model M { input x: node[1433]\n output y = mean(x.src) + max(x.src) }"},
        Wide{"Moments", "model M { input x: node[8]\n let m = mean(x.src)\n"
                        "output y = mean(square(x.src - m.dst)) }"},
        // Rows that end within a register, of every register's width: products, sums of outer products, walks.
        Wide{"Odd3", "model M { input x: node[a = 1]\n param V[a, b = 3], W[b, c = 7], u[c]\n"
                     "let h = relu(x @ V)\n let m = tanh(h @ W + u)\n output y = sum(m.src * m.dst)\n"
                     "output z = max(h.src) }"},
        Wide{"Odd15", "model M { input x: node[a = 9]\n param V[a, b = 15], W[b, c = 17], u[c]\n"
                      "let h = relu(x @ V)\n let m = tanh(h @ W + u)\n output y = sum(m.src * m.dst)\n"
                      "output z = max(h.src) }"},
        Wide{"Odd33", "model M { input x: node[a = 31]\n param V[a, b = 33], W[b, c = 48], u[c]\n"
                      "let h = relu(x @ V)\n let m = tanh(h @ W + u)\n output y = sum(m.src * m.dst)\n"
                      "output z = max(h.src) }"},
        Wide{"Odd63", "model M { input x: node[a = 50]\n param V[a, b = 63], W[b, c = 65], u[c]\n"
                      "let h = relu(x @ V)\n let m = tanh(h @ W + u)\n output y = sum(m.src * m.dst)\n"
                      "output z = max(h.src) }"},
        Wide{"Odd127", "model M { input x: node[a = 97]\n param V[a, b = 127], W[b, c = 130], u[c]\n"
                       "let h = relu(x @ V)\n let m = tanh(h @ W + u)\n output y = sum(m.src * m.dst)\n"
                       "output z = max(h.src) }"},
        Wide{"OddHeads", "model M { input x: node[heads = 3, in = 5]\n param W[heads, in, out = 19]\n"
                         "output y = softmax(sum((x @ W).src), over: out) }"},
        Wide{"OddSoftmax", "model M { input x: node[c = 27], s: edge[c]\n"
                           "output y = sum(softmax(s + x.dst) * x.src)\n"
                           "output z = where(degree(dst) > 0, logsumexp(x.src * s), 0) }"},
        // Narrow work on operands alone, for the members of many owners at once; rows that are no power of two.
        Wide{"Gates", "model M { input x: node[heads = 2, out = 7], s: node[heads], e: edge[]\n"
                      "output y = sum(exp(sigmoid(s.src + s.dst) * tanh(e)) * x.src) }"},
        Wide{"WideGates", "model M { input x: node[heads = 8, out = 3], s: node[heads], e: edge[]\n"
                          "output y = sum(exp(sigmoid(s.src - s.dst) * tanh(e)) * x.src) / 8 }"},
        Wide{"GatedSoftmax", "model M { input x: node[out = 21], s: node[], e: edge[]\n"
                             "output y = sum(softmax(exp(tanh(s.src * e)) + s.dst) * tanh(exp(-square(e))) * x.src) }"},
        Wide{"Numbers", "model M { input s: node[], e: edge[3]\n"
                        "output y = sum(exp(tanh(s.src)) * sigmoid(s.dst) * e)\n"
                        "output z = tanh(exp(-square(s))) }"},
        // The first of two walks is cut along an axis that the second one folds.
        Wide{"Folded", "model M(a: int = 9, z: int = 12, node_type: int = 3) {\n"
                       "input s: node[a, b = 8, c = 7], t: node[b], u: node[z]\n"
                       "let p = softmax(max(dot(s, t, over: b), over: c), along: ntype)\n"
                       "output y = sum(min(p * u, over: a)[z: 5..9], along: ntype) }"},
        Wide{"Joins", "model M { input x: node[features = 8]\n"
                      "output y = sum(softmax(concat(x.src, x.dst, axis: features))) }"},
        // Rows that are joined, computed with and sliced again, at places that no vector fits.
        Wide{"JoinedStatistics", "model M { input x: node[features = 20], w: edge[]\n"
                                 "let m = concat(x.src * w, x.dst[features: 3..10], axis: features)\n"
                                 "let s = concat(mean(m), max(m), sum(m) / (degree(dst) + 1), axis: features)\n"
                                 "let t = tanh(s) * degree(src)\n"
                                 "output y = concat(x, t, relu(t), axis: features)\n"
                                 "output z = t[features: 11..50] * sum(sum(x.src[features: 2..6], over: features)) }"},
        // Numbers that lie apart in their rows, since others of theirs are between them.
        Wide{"Places", "model M { input x: node[features = 8, place = 4], z: node[features]\n"
                       "output y = sum(x[place: 0].src * x[place: 3].dst * z.src)\n"
                       "output t = concat(x[place: 2..3], tanh(x[place: 0..1]), axis: place) * 2 }"},
        // Products of a row with itself, which lanes see along two axes; channels of few components, some of them
        // joined, that are summed over the channels.
        Wide{"Squares", "model M { input x: node[channels = 20, part = 6], w: node[channels]\n"
                        "let t = rename(x, part: other)\n"
                        "output y = x * t\n output z = dot(x * t, tanh(t), over: other)\n"
                        "output u = dot(tanh(x) * tanh(t) * w, t, over: other) + x }"},
        Wide{"Components", "model M { input x: node[channels = 130, part = 7], w: node[channels]\n"
                           "input v: node[channels, part = 7]\n"
                           "let t = x * w + concat(v[part: 3..7], v[part: 0..3], axis: part)\n"
                           "output y = sum(t, over: channels)\n output z = sum(t * v, over: part) }"},
        // Several products of an edge's rows, each along short axes of its own, as gradients of tensor products are.
        Wide{"Products", "model M { input x: node[c = 16, d = 5], v: node[g = 32, h = 3], z: node[e = 16, b = 5]\n"
                         "input w: edge[c, e], u: edge[g, e]\n"
                         "let s = dot(x.src, w, over: c)\n let t = dot(v.src, u, over: g)\n"
                         "output p = dot(s, z.dst, over: e)\n output q = dot(t, z.dst, over: e)\n"
                         "output r = dot(s, t, over: e)\n output y = sum(dot(s, tanh(z.dst), over: e)) }"},
        // Weights that are joined, cut and multiplied with each other.
        Wide{"Weights", "model M { input x: node[in = 24]\n"
                        "param A[in, out = 36], B[in, out], C[out, last = 20]\n"
                        "let w = concat(A, B, axis: out)[out: 5..61]\n"
                        "let v = concat(A @ C, B @ C, axis: last)\n"
                        "output y = tanh(x @ w).src\n output z = sum((x @ v).src) }"},
        // Attention of more numbers than a warp's lanes hold: heads are cut into tiles, or nothing is.
        Wide{"WideHeads", "model M { input x: node[in = 10]\n"
                          "param Q[in, heads = 8, out = 64], K[in, heads, out], V[in, heads, out]\n"
                          "output y = sum(softmax(dot((x @ Q).dst, (x @ K).src, over: out) / 8) * (x @ V).src) }"},
        Wide{"OneWideHead", "model M { input x: node[in = 10]\n"
                            "param Q[in, out = 520], K[in, out], V[in, out]\n"
                            "output y = sum(softmax(dot((x @ Q).dst, (x @ K).src, over: out) / 9) * (x @ V).src) }"},
        // Rows that nothing sees together, of widths that have nothing to do with each other, with sums of all rows.
        Wide{"Apart", "model M { input k: node[in = 75], v: node[out = 89], u: node[side = 33]\n param g[side], c[in]\n"
                      "let s = dot(k.src * c, k.dst, over: in)\n"
                      "output y = concat(min(sigmoid(s) * v.src), sum(sigmoid(s) * v.src), axis: both)\n"
                      "output z = sum(softmax(s) * sum((u.src + u.dst) * g, over: side)) }"},
        // Wide rows of owners beside narrow ones of members, joined and multiplied.
        Wide{"NarrowMembers", "model M { input x: node[in = 70], e: edge[few = 6], s: node[]\n"
                              "let m = mean(elu(e - s.src))\n let t = sum(tanh(e) * s.dst)\n"
                              "output y = concat(2 * x, m, max(e), t * t, axis: both)\n"
                              "output z = sum(outer(x, t), over: few) + x\n output w = t * s }"},
        // Networks on edges so narrow that a thread has a row of its own, with a norm, heads, extremes and odd widths.
        Wide{"NarrowNetworks", "model M { input x: node[in = 6], e: edge[few = 3], h: node[heads = 2, each = 4]\n"
                               "param A[few, mid = 7], B[mid, in], c[mid], W[heads, each, out = 3]\n"
                               "let m = elu(e @ A + c)\n let g = tanh((m - mean(m, over: mid)) @ B)\n"
                               "output y = sum(g * x.src)\n output z = max(g * x.dst) - mean(g)\n"
                               "output u = sum(sigmoid((h.src - h.dst) @ W) * sum(e, over: few))\n"
                               "output t = sum(square(e @ A), along: all) }"},
        // A norm between two products of members.
        Wide{"EdgeNorms", "model M { input x: node[in = 24]\n param A[in, mid = 36], B[mid, out = 20], g[mid]\n"
                          "let h = silu((x.src + 2 * x.dst) @ A)\n let c = h - mean(h, over: mid)\n"
                          "let n = c * rsqrt(mean(square(c), over: mid) + 0.5) * g\n"
                          "output y = sum(tanh(n @ B)) }"},
        Wide{"EdgeHeads", "model M { input q: node[heads = 16, out = 48], k: node[heads, out], v: node[heads, out]\n"
                          "input a: edge[attr = 11]\n param W[attr, heads, out]\n"
                          "let qw = dot(q, W, over: out)\n"
                          "let s = (sum(q.dst * k.src, over: out) + sum(qw.dst * a, over: attr)) * 0.15\n"
                          "let p = softmax(s)\n"
                          "output y = sum(p * v.src) + dot(sum(p * a), W, over: attr) }"}),
    [](const auto &info) { return std::string(info.param.name); });
