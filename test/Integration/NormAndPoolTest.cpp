//===- NormAndPoolTest.cpp - Norms and readouts against plain loops ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveLayers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// The nodes of each graph of a batch.
std::vector<std::vector<int64_t>> nodesOfGraphs(const Graph &graph) {
  std::vector<std::vector<int64_t>> nodes(graph.extent("graph"));
  for (int64_t v = 0; v < graph.extent("node"); ++v)
    nodes[graph.map("batch")[v]].push_back(v);
  return nodes;
}

void makeVariancesPositive(Tensors &t) {
  for (double &number : t["c.running_var"].data)
    number = 0.5 + std::abs(number);
}

} // namespace

TEST(NormAndPool, LayerNorm) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = LayerNorm(x) as c }",
             [](const Graph &, const Tensors &t) {
               Tensor y = t.at("x");
               for (int64_t v = 0; v < y.shape[0]; ++v) {
                 double mean = 0, variance = 0;
                 for (int64_t c = 0; c < 6; ++c)
                   mean += y(v, c) / 6;
                 for (int64_t c = 0; c < 6; ++c)
                   variance += (y(v, c) - mean) * (y(v, c) - mean) / 6;
                 for (int64_t c = 0; c < 6; ++c)
                   y(v, c) = (y(v, c) - mean) / std::sqrt(variance + 1e-5) * t.at("c.gain")(c) + t.at("c.shift")(c);
               }
               return y;
             });
}

TEST(NormAndPool, BatchNorm) {
  checkLayer(
      "import std\nmodel M { input x: node[6]\n output y = BatchNorm(x) as c }",
      [](const Graph &, const Tensors &t) {
        Tensor y = t.at("x");
        for (int64_t v = 0; v < y.shape[0]; ++v)
          for (int64_t c = 0; c < 6; ++c)
            y(v, c) =
                (y(v, c) - t.at("c.running_mean")(c)) / std::sqrt(t.at("c.running_var")(c) + 1e-5) * t.at("c.gain")(c) +
                t.at("c.shift")(c);
        return y;
      },
      testGraphs(), makeVariancesPositive);
}

TEST(NormAndPool, GraphNorm) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = GraphNorm(x) as c }",
             [](const Graph &graph, const Tensors &t) {
               Tensor y = t.at("x");
               for (const std::vector<int64_t> &nodes : nodesOfGraphs(graph))
                 for (int64_t c = 0; c < 6; ++c) {
                   double mean = 0, variance = 0;
                   for (int64_t v : nodes)
                     mean += y(v, c) / nodes.size();
                   for (int64_t v : nodes)
                     y(v, c) -= t.at("c.share")(c) * mean;
                   for (int64_t v : nodes)
                     variance += y(v, c) * y(v, c) / nodes.size();
                   for (int64_t v : nodes)
                     y(v, c) = y(v, c) / std::sqrt(variance + 1e-5) * t.at("c.gain")(c) + t.at("c.shift")(c);
                 }
               return y;
             });
}

TEST(NormAndPool, GlobalSumMeanAndMaxPool) {
  for (std::string kind : {"Sum", "Mean", "Max"})
    checkLayer(
        "import std\nmodel M { input x: node[6]\n output y = Global" + kind + "Pool(x) }",
        [kind](const Graph &graph, const Tensors &t) {
          std::vector<std::vector<int64_t>> nodes = nodesOfGraphs(graph);
          Tensor y = Tensor::zeros({int64_t(nodes.size()), 6});
          for (size_t g = 0; g < nodes.size(); ++g)
            for (int64_t c = 0; c < 6; ++c) {
              double total = 0, largest = nodes[g].empty() ? 0 : -INFINITY;
              for (int64_t v : nodes[g]) {
                total += t.at("x")(v, c);
                largest = std::max(largest, t.at("x")(v, c));
              }
              y(g, c) = kind == "Max" ? largest : kind == "Sum" || nodes[g].empty() ? total : total / nodes[g].size();
            }
          return y;
        });
}

TEST(NormAndPool, GlobalAttentionPool) {
  checkLayer("import std\nmodel M { input x: node[6]\n output y = GlobalAttentionPool(x) as c }",
             [](const Graph &graph, const Tensors &t) {
               std::vector<std::vector<int64_t>> nodes = nodesOfGraphs(graph);
               Tensor y = Tensor::zeros({int64_t(nodes.size()), 6});
               for (size_t g = 0; g < nodes.size(); ++g) {
                 std::vector<double> weight;
                 double total = 0;
                 for (int64_t v : nodes[g]) {
                   double score = t.at("c.b")();
                   for (int64_t c = 0; c < 6; ++c)
                     score += t.at("x")(v, c) * t.at("c.a")(c);
                   weight.push_back(std::exp(score));
                   total += weight.back();
                 }
                 for (size_t i = 0; i < nodes[g].size(); ++i)
                   for (int64_t c = 0; c < 6; ++c)
                     y(g, c) += weight[i] / total * t.at("x")(nodes[g][i], c);
               }
               return y;
             });
}

// A classifier of small graphs: convolution, norm, residual, readout, network.
TEST(NormAndPool, GraphClassifier) {
  checkLayer(
      "import std\nmodel M { input x: node[6]\n"
      "let h = Residual(x, relu(BatchNorm(GIN(x, hidden: 5, out: 6) as conv) as c))\n"
      "output y = MLP2(GlobalMeanPool(h), hidden: 4, out: 3) as head }",
      [](const Graph &graph, const Tensors &t) {
        const Tensor &x = t.at("x");
        Tensor h = x;
        for (double &number : h.data)
          number *= 1 + t.at("conv.eps")();
        for (const NaiveEdge &edge : plainEdges(graph))
          for (int64_t c = 0; c < 6; ++c)
            h(edge.dst, c) += x(edge.src, c);
        h = relu(plus(product(h, t.at("conv.mlp.first.W")), t.at("conv.mlp.first.b")));
        h = plus(product(h, t.at("conv.mlp.second.W")), t.at("conv.mlp.second.b"));
        for (int64_t v = 0; v < x.shape[0]; ++v)
          for (int64_t c = 0; c < 6; ++c) {
            double z = (h(v, c) - t.at("c.running_mean")(c)) / std::sqrt(t.at("c.running_var")(c) + 1e-5);
            h(v, c) = x(v, c) + std::max(0.0, z * t.at("c.gain")(c) + t.at("c.shift")(c));
          }
        std::vector<std::vector<int64_t>> nodes = nodesOfGraphs(graph);
        Tensor pooled = Tensor::zeros({int64_t(nodes.size()), 6});
        for (size_t g = 0; g < nodes.size(); ++g)
          for (int64_t v : nodes[g])
            for (int64_t c = 0; c < 6; ++c)
              pooled(g, c) += h(v, c) / nodes[g].size();
        Tensor y = relu(plus(product(pooled, t.at("head.first.W")), t.at("head.first.b")));
        return plus(product(y, t.at("head.second.W")), t.at("head.second.b"));
      },
      testGraphs(), makeVariancesPositive);
}
