//===- ConvLayersTest.cpp - Convolutions against plain loops ----------===//
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

/// D^(-1/2) A D^(-1/2) x with edge weights, where 0 stands for the inverse root of what is not positive.
Tensor symmetricSum(const std::vector<NaiveEdge> &edges, const std::vector<double> &weights, const Tensor &x) {
  std::vector<double> degree(x.shape[0], 0.0);
  for (size_t e = 0; e < edges.size(); ++e)
    degree[edges[e].dst] += weights[e];
  auto root = [&](int64_t v) { return degree[v] > 0 ? 1 / std::sqrt(degree[v]) : 0.0; };
  Tensor y = Tensor::zeros(x.shape);
  for (size_t e = 0; e < edges.size(); ++e)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      y(edges[e].dst, c) += root(edges[e].src) * weights[e] * root(edges[e].dst) * x(edges[e].src, c);
  return y;
}

/// Weights of `edges` from the weights of the graph's edges, 1 where a loop was added.
std::vector<double> weightsOf(const std::vector<NaiveEdge> &edges, const Tensor &weight) {
  std::vector<double> weights;
  for (const NaiveEdge &edge : edges)
    weights.push_back(edge.original < 0 ? 1 : weight(edge.original));
  return weights;
}

Tensor aggregate(const Graph &graph, const Tensor &messages, int64_t owners, const char *map, bool mean) {
  Tensor y = Tensor::zeros({owners, messages.shape[1]});
  std::vector<int64_t> count(owners, 0);
  for (int64_t e = 0; e < messages.shape[0]; ++e) {
    ++count[graph.map(map)[e]];
    for (int64_t c = 0; c < messages.shape[1]; ++c)
      y(graph.map(map)[e], c) += messages(e, c);
  }
  for (int64_t v = 0; mean && v < owners; ++v)
    for (int64_t c = 0; c < messages.shape[1]; ++c)
      y(v, c) /= std::max<int64_t>(count[v], 1);
  return y;
}

Tensor gather(const Tensor &x, const std::vector<int32_t> &rows) {
  Tensor y = Tensor::zeros({int64_t(rows.size()), x.shape[1]});
  for (size_t r = 0; r < rows.size(); ++r)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      y(r, c) = x(rows[r], c);
  return y;
}

/// Operands side by side.
Tensor beside(const std::vector<Tensor> &parts) {
  int64_t width = 0, rows = parts[0].shape[0];
  for (const Tensor &part : parts)
    width += part.shape[1];
  Tensor y = Tensor::zeros({rows, width});
  for (int64_t r = 0, base; r < rows; ++r) {
    base = 0;
    for (const Tensor &part : parts) {
      for (int64_t c = 0; c < part.shape[1]; ++c)
        y(r, base + c) = part(r, c);
      base += part.shape[1];
    }
  }
  return y;
}

/// Matrices one above the other.
Tensor above(const std::vector<Tensor> &parts) {
  Tensor y = Tensor::zeros({0, parts[0].shape[1]});
  for (const Tensor &part : parts) {
    y.shape[0] += part.shape[0];
    y.data.insert(y.data.end(), part.data.begin(), part.data.end());
  }
  return y;
}

Tensor sumOf(Tensor a, const Tensor &b) {
  for (size_t i = 0; i < a.data.size(); ++i)
    a.data[i] += b.data[i];
  return a;
}

} // namespace

TEST(ConvLayers, GCNWithoutWeights) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = GCN(x, out: 5) as c }",
             [](const Graph &graph, const Tensors &t) {
               std::vector<NaiveEdge> edges = edgesWithSelfLoops(graph);
               Tensor y = symmetricSum(edges, std::vector<double>(edges.size(), 1.0), product(t.at("x"), t.at("c.W")));
               return plus(y, t.at("c.b"));
             });
}

TEST(ConvLayers, GCNWithWeights) {
  checkLayer(
      "import std\nmodel M { input x: node[6]\n input w: edge[]\n output y = GCN(x, w, out: 5) as c }",
      [](const Graph &graph, const Tensors &t) {
        std::vector<NaiveEdge> edges = edgesWithSelfLoops(graph);
        Tensor y = symmetricSum(edges, weightsOf(edges, t.at("w")), product(t.at("x"), t.at("c.W")));
        return plus(y, t.at("c.b"));
      },
      testGraphs(),
      [](Tensors &t) {
        for (double &weight : t["w"].data)
          weight = std::abs(weight);
      });
}

TEST(ConvLayers, GCNPlainWithWeightsOfBothSigns) {
  // Where the weights into a node sum to something negative or near 0 float32 has nothing to say, so sums are kept away
  // from there; whole nodes are of one sign, and those of negative sums get 0.
  checkLayer(
      "import std\nmodel M { input x: node[6]\n input w: edge[]\n output y = GCNPlain(x, w, out: 5) as c }",
      [](const Graph &graph, const Tensors &t) {
        std::vector<NaiveEdge> edges = plainEdges(graph);
        Tensor y = symmetricSum(edges, weightsOf(edges, t.at("w")), product(t.at("x"), t.at("c.W")));
        return plus(y, t.at("c.b"));
      },
      {randomGraph(45, 260, 1)},
      [](Tensors &t) {
        Graph graph = randomGraph(45, 260, 1);
        for (int64_t e = 0; e < graph.extent("edge"); ++e)
          t["w"](e) = (0.5 + std::abs(t["w"](e))) * (graph.map("dst")[e] % 5 == 2 ? -1 : 1);
      });
}

TEST(ConvLayers, SGC) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = SGC(x, hops: 3, out: 5) as c }",
             [](const Graph &graph, const Tensors &t) {
               // In the paper's order: first the hops, then the product.
               std::vector<NaiveEdge> edges = edgesWithSelfLoops(graph);
               Tensor h = t.at("x");
               for (int hop = 0; hop < 3; ++hop)
                 h = symmetricSum(edges, std::vector<double>(edges.size(), 1.0), h);
               return plus(product(h, t.at("c.W")), t.at("c.b"));
             });
}

TEST(ConvLayers, NNConv) {
  checkLayer("import std\nmodel M { input x: node[4]\n input e: edge[3]\n"
             "output y = NNConv(x, e, hidden: 6, out: 5) as c }",
             [](const Graph &graph, const Tensors &t) {
               const Tensor &x = t.at("x");
               Tensor hidden = relu(plus(product(t.at("e"), t.at("c.net.first.W")), t.at("c.net.first.b")));
               Tensor entries = plus(product(hidden, t.at("c.net.second.W")), t.at("c.net.second.b"));
               Tensor y = plus(product(x, t.at("c.root")), t.at("c.b"));
               for (int64_t e = 0; e < graph.extent("edge"); ++e)
                 for (int64_t i = 0; i < 4; ++i)
                   for (int64_t o = 0; o < 5; ++o)
                     y(graph.map("dst")[e], o) += x(graph.map("src")[e], i) * entries(e, i * 5 + o);
               return y;
             });
}

TEST(ConvLayers, BipartiteSAGE) {
  Graph graph;
  graph.extents = {{"user", 9}, {"item", 6}, {"follows", 12}};
  graph.maps["follows.src"] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 3};
  graph.maps["follows.dst"] = {0, 0, 0, 0, 1, 1, 2, 2, 4, 4, 4, 0};
  checkLayer("import std\nspace user\nspace item\nrelation follows: user -> item\n"
             "model M { input xs: user[4]\n input xt: item[3]\n"
             "output y = BipartiteSAGE(xs, xt, out: 5) on follows as c }",
             [](const Graph &graph, const Tensors &t) {
               Tensor messages = gather(t.at("xs"), graph.map("follows.src"));
               Tensor mean = aggregate(graph, messages, graph.extent("item"), "follows.dst", /*mean=*/true);
               return sumOf(plus(product(mean, t.at("c.W_l")), t.at("c.b")), product(t.at("xt"), t.at("c.W_r")));
             },
             {graph});
}

TEST(ConvLayers, InteractionNetwork) {
  checkLayer("import std\nmodel M { input x: node[4]\n input e: edge[3]\n"
             "let e1 = EdgeNetwork(x, e, hidden: 6, out: 5) as edge1\n"
             "let x1 = NodeNetwork(x, e1, hidden: 6, out: 7) as node1\n"
             "let e2 = EdgeNetwork(x1, e1, hidden: 4, out: 2) as edge2\n"
             "output y = NodeNetwork(x1, e2, hidden: 5, out: 3) as node2 }",
             [](const Graph &graph, const Tensors &t) {
               Tensor x = t.at("x"), e = t.at("e");
               for (std::string round : {"1", "2"}) {
                 std::string p = "edge" + round + ".";
                 Tensor weight = above({t.at(p + "W_e"), t.at(p + "W_s"), t.at(p + "W_d")});
                 Tensor input = beside({e, gather(x, graph.map("src")), gather(x, graph.map("dst"))});
                 Tensor hidden = relu(plus(product(input, weight), t.at(p + "b")));
                 e = plus(product(hidden, t.at(p + "second.W")), t.at(p + "second.b"));
                 p = "node" + round + ".";
                 input = beside({x, aggregate(graph, e, graph.extent("node"), "dst", /*mean=*/false)});
                 hidden = relu(plus(product(input, above({t.at(p + "W_x"), t.at(p + "W_e")})), t.at(p + "b")));
                 x = plus(product(hidden, t.at(p + "second.W")), t.at(p + "second.b"));
               }
               return x;
             });
}

TEST(ConvLayers, ResidualGCN) {
  checkLayer("import std\nmodel M { input x: node[6]\n"
             "output y = Residual(x, relu(GCN(x, out: 6) as c)) }",
             [](const Graph &graph, const Tensors &t) {
               std::vector<NaiveEdge> edges = edgesWithSelfLoops(graph);
               Tensor y = symmetricSum(edges, std::vector<double>(edges.size(), 1.0), product(t.at("x"), t.at("c.W")));
               return sumOf(relu(plus(y, t.at("c.b"))), t.at("x"));
             });
}
