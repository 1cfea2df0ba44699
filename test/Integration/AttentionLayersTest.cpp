//===- AttentionLayersTest.cpp - Attention layers against plain loops ---===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveLayers.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// sum over o of x[row, h * out + o] * a[h, o].
double headDot(const Tensor &x, int64_t row, const Tensor &a, int64_t h) {
  double total = 0;
  for (int64_t o = 0; o < a.shape[1]; ++o)
    total += x(row, h * a.shape[1] + o) * a(h, o);
  return total;
}

Tensor meanOfHeads(const Tensor &y, int64_t heads) {
  int64_t out = y.shape[1] / heads;
  Tensor mean = Tensor::zeros({y.shape[0], out});
  for (int64_t v = 0; v < y.shape[0]; ++v)
    for (int64_t c = 0; c < y.shape[1]; ++c)
      mean(v, c % out) += y(v, c) / heads;
  return mean;
}

Tensor gat(const std::vector<NaiveEdge> &edges, const Tensors &t) {
  Tensor z = product(t.at("x"), t.at("c.W"));
  const Tensor &source = t.at("c.a_src"), &target = t.at("c.a_dst");
  Tensor score = Tensor::zeros({int64_t(edges.size()), source.shape[0]});
  for (size_t e = 0; e < edges.size(); ++e)
    for (int64_t h = 0; h < source.shape[0]; ++h)
      score(e, h) = leakyRelu(headDot(z, edges[e].src, source, h) + headDot(z, edges[e].dst, target, h), 0.2);
  Tensor alpha = attention(edges, z.shape[0], score);
  return weightedSum(edges, z.shape[0], alpha, source.shape[1],
                     [&](int64_t e, int64_t c) { return z(edges[e].src, c); });
}

/// GATv2; `edgePart` has what features of edges add to the sum under the nonlinearity, or is empty.
Tensor gatv2(const std::vector<NaiveEdge> &edges, const Tensors &t, const Tensor *edgePart) {
  Tensor l = plus(product(t.at("x"), t.at("c.W_l")), t.at("c.b_l"));
  Tensor r = plus(product(t.at("x"), t.at("c.W_r")), t.at("c.b_r"));
  const Tensor &a = t.at("c.a");
  int64_t heads = a.shape[0], out = a.shape[1];
  Tensor score = Tensor::zeros({int64_t(edges.size()), heads});
  for (size_t e = 0; e < edges.size(); ++e)
    for (int64_t c = 0; c < heads * out; ++c)
      score(e, c / out) +=
          a(c / out, c % out) *
          leakyRelu(l(edges[e].src, c) + r(edges[e].dst, c) + (edgePart ? (*edgePart)(e, c) : 0.0), 0.2);
  Tensor alpha = attention(edges, l.shape[0], score);
  return weightedSum(edges, l.shape[0], alpha, out, [&](int64_t e, int64_t c) { return l(edges[e].src, c); });
}

} // namespace

TEST(AttentionLayers, GATWithLoops) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = GAT(x, heads: 3, out: 4) as c }",
             [](const Graph &graph, const Tensors &t) { return plus(gat(edgesWithSelfLoops(graph), t), t.at("c.b")); });
}

TEST(AttentionLayers, GATWithoutLoopsHeadsAveraged) {
  checkLayer("import std\nmodel M { input x: node[6]\n"
             "output y = GATPlain(x, heads: 3, out: 4, concat: false) as c }",
             [](const Graph &graph, const Tensors &t) {
               return plus(meanOfHeads(gat(plainEdges(graph), t), 3), t.at("c.b"));
             });
}

TEST(AttentionLayers, BipartiteGAT) {
  Graph graph;
  graph.extents = {{"user", 9}, {"item", 6}, {"follows", 12}};
  graph.maps["follows.src"] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 3};
  graph.maps["follows.dst"] = {0, 0, 0, 0, 1, 1, 2, 2, 4, 4, 4, 0};
  checkLayer("import std\nspace user\nspace item\nrelation follows: user -> item\n"
             "model M { input xs: user[4]\n input xt: item[3]\n"
             "output y = BipartiteGAT(xs, xt, heads: 2, out: 5) on follows as c }",
             [](const Graph &graph, const Tensors &t) {
               std::vector<NaiveEdge> edges;
               for (int64_t e = 0; e < graph.extent("follows"); ++e)
                 edges.push_back({graph.map("follows.src")[e], graph.map("follows.dst")[e], e});
               Tensor s = product(t.at("xs"), t.at("c.W_src")), d = product(t.at("xt"), t.at("c.W_dst"));
               Tensor score = Tensor::zeros({int64_t(edges.size()), 2});
               for (size_t e = 0; e < edges.size(); ++e)
                 for (int64_t h = 0; h < 2; ++h)
                   score(e, h) = leakyRelu(headDot(s, edges[e].src, t.at("c.a_src"), h) +
                                               headDot(d, edges[e].dst, t.at("c.a_dst"), h),
                                           0.2);
               Tensor alpha = attention(edges, graph.extent("item"), score);
               return plus(weightedSum(edges, graph.extent("item"), alpha, 5,
                                       [&](int64_t e, int64_t c) { return s(edges[e].src, c); }),
                           t.at("c.b"));
             },
             {graph});
}

TEST(AttentionLayers, GATv2WithLoops) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = GATv2(x, heads: 2, out: 4, concat: false) as c }",
             [](const Graph &graph, const Tensors &t) {
               return plus(meanOfHeads(gatv2(edgesWithSelfLoops(graph), t, nullptr), 2), t.at("c.b"));
             });
}

TEST(AttentionLayers, GATv2EdgeWithLoops) {
  checkLayer("import std\nmodel M { input x: node[6]\n input f: edge[3]\n"
             "output y = GATv2Edge(x, f, heads: 2, out: 4) as c }",
             [](const Graph &graph, const Tensors &t) {
               // A loop that the layer adds has the mean of the features of the other edges into its node.
               std::vector<NaiveEdge> edges = edgesWithSelfLoops(graph);
               const Tensor &given = t.at("f");
               Tensor features = Tensor::zeros({int64_t(edges.size()), 3});
               for (size_t e = 0; e < edges.size(); ++e) {
                 std::vector<int64_t> from = {edges[e].original};
                 if (edges[e].src == edges[e].dst) {
                   from.clear();
                   for (int64_t k = 0; k < graph.extent("edge"); ++k)
                     if (graph.map("dst")[k] == edges[e].dst && graph.map("src")[k] != edges[e].dst)
                       from.push_back(k);
                 }
                 for (int64_t k : from)
                   for (int64_t c = 0; c < 3; ++c)
                     features(e, c) += given(k, c) / from.size();
               }
               Tensor part = product(features, t.at("c.W_e"));
               return plus(gatv2(edges, t, &part), t.at("c.b"));
             });
}

TEST(AttentionLayers, GraphTransformerEdge) {
  checkLayer("import std\nmodel M { input x: node[6]\n input f: edge[3]\n"
             "output y = GraphTransformerEdge(x, f, heads: 2, out: 4) as c }",
             [](const Graph &graph, const Tensors &t) {
               auto linear = [&](const char *weight, const char *bias) {
                 return plus(product(t.at("x"), t.at(weight)), t.at(bias));
               };
               Tensor q = linear("c.W_q", "c.b_q"), k = linear("c.W_k", "c.b_k"), v = linear("c.W_v", "c.b_v");
               Tensor f = product(t.at("f"), t.at("c.W_e"));
               std::vector<NaiveEdge> edges = plainEdges(graph);
               Tensor score = Tensor::zeros({int64_t(edges.size()), 2});
               for (size_t e = 0; e < edges.size(); ++e)
                 for (int64_t c = 0; c < 8; ++c)
                   score(e, c / 4) += q(edges[e].dst, c) * (k(edges[e].src, c) + f(e, c)) / std::sqrt(4.0);
               Tensor alpha = attention(edges, q.shape[0], score);
               Tensor y = weightedSum(edges, q.shape[0], alpha, 4,
                                      [&](int64_t e, int64_t c) { return v(edges[e].src, c) + f(e, c); });
               Tensor skip = linear("c.W_s", "c.b_s");
               for (size_t i = 0; i < y.data.size(); ++i)
                 y.data[i] += skip.data[i];
               return y;
             });
}

TEST(AttentionLayers, AGNN) {
  auto reference = [](const Graph &graph, const Tensors &t) {
    const Tensor &x = t.at("x");
    std::vector<NaiveEdge> edges = edgesWithSelfLoops(graph);
    auto length = [&](int64_t v) {
      double total = 0;
      for (int64_t c = 0; c < x.shape[1]; ++c)
        total += x(v, c) * x(v, c);
      return std::max(std::sqrt(total), 1e-12);
    };
    Tensor score = Tensor::zeros({int64_t(edges.size()), 1});
    for (size_t e = 0; e < edges.size(); ++e)
      for (int64_t c = 0; c < x.shape[1]; ++c)
        score(e, 0) +=
            t.at("c.beta")() * x(edges[e].src, c) * x(edges[e].dst, c) / (length(edges[e].src) * length(edges[e].dst));
    Tensor alpha = attention(edges, x.shape[0], score);
    return weightedSum(edges, x.shape[0], alpha, x.shape[1], [&](int64_t e, int64_t c) { return x(edges[e].src, c); });
  };
  std::string text = "import std\nmodel M { input x: node[6]\n output y = AGNN(x) as c }";
  checkLayer(text, reference);
  // A row of zeros has no direction; its cosine with any other is 0.
  checkLayer(text, reference, testGraphs(), [](Tensors &t) {
    for (int64_t c = 0; c < 6 && t["x"].shape[0] > 0; ++c)
      t["x"](0, c) = 0;
  });
}

TEST(AttentionLayers, CGAT) {
  std::vector<Graph> graphs = testGraphs();
  for (Graph &graph : graphs) {
    std::vector<int32_t> first, second;
    for (int64_t i = 0; i < graph.extent("edge"); ++i)
      for (int64_t j = 0; j < graph.extent("edge"); ++j)
        if (graph.map("dst")[i] == graph.map("dst")[j]) {
          first.push_back(int32_t(i));
          second.push_back(int32_t(j));
        }
    graph.extents["edge_pair"] = int64_t(first.size());
    graph.maps["first"] = first;
    graph.maps["second"] = second;
  }
  checkLayer(
      "import std\nmodel M { input x: node[6]\n output y = CGAT(x, out: 4, slope: 0.1) as c }",
      [](const Graph &graph, const Tensors &t) {
        Tensor z = product(t.at("x"), t.at("c.W"));
        std::vector<NaiveEdge> edges = plainEdges(graph);
        std::vector<double> score(edges.size(), 0.0);
        for (size_t e = 0; e < edges.size(); ++e) {
          for (int64_t c = 0; c < 4; ++c)
            score[e] += z(edges[e].src, c) * t.at("c.a_src")(c) + z(edges[e].dst, c) * t.at("c.a_dst")(c);
          score[e] = leakyRelu(score[e], 0.1);
        }
        Tensor alpha = Tensor::zeros({int64_t(edges.size()), 1});
        for (size_t i = 0; i < edges.size(); ++i)
          for (size_t j = 0; j < edges.size(); ++j)
            if (edges[i].dst == edges[j].dst)
              alpha(j, 0) += std::max(0.0, score[j] - score[i]);
        return weightedSum(edges, z.shape[0], alpha, 4, [&](int64_t e, int64_t c) { return z(edges[e].src, c); });
      },
      graphs);
}
