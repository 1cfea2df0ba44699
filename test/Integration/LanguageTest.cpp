//===- LanguageTest.cpp - What expressions compute ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions and statements of the language that the front end says in terms of other operations, against loops.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "NaiveLayers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

/// The variance of x over the edges into each node.
static Tensor variance(const Graph &graph, const Tensor &x) {
  int64_t nodes = graph.extent("node"), width = x.shape[1];
  Tensor result = Tensor::zeros({nodes, width});
  std::vector<NaiveEdge> edges = plainEdges(graph);
  for (int64_t node = 0; node < nodes; ++node)
    for (int64_t i = 0; i < width; ++i) {
      double sum = 0, squares = 0, count = 0;
      for (const NaiveEdge &edge : edges)
        if (edge.dst == node) {
          sum += x(edge.src, i);
          ++count;
        }
      for (const NaiveEdge &edge : edges)
        if (edge.dst == node)
          squares += std::pow(x(edge.src, i) - sum / count, 2);
      result(node, i) = count ? squares / count : 0;
    }
  return result;
}

// Beside 1: where all members are equal, nothing but rounding is left of the differences.
TEST(Language, VarianceAlongEdges) {
  const std::string head = "model M { input x: node[c = 5]\n output y = 1 + ";
  auto expected = [](bool root) {
    return [root](const Graph &graph, const Tensors &in) {
      Tensor result = variance(graph, in.at("x"));
      for (double &number : result.data)
        number = 1 + (root ? std::sqrt(number) : number);
      return result;
    };
  };
  checkLayer(head + "var(x.src) }", expected(false));
  checkLayer(head + "std(x.src) }", expected(true));
}

TEST(Language, VarianceOverAxesAndAll) {
  checkLayer("model M { input x: node[a = 3, b = 4]\n output y = std(x, over: b) }",
             [](const Graph &graph, const Tensors &in) {
               const Tensor &x = in.at("x");
               Tensor y = Tensor::zeros({x.shape[0], 3});
               for (int64_t node = 0; node < x.shape[0]; ++node)
                 for (int64_t a = 0; a < 3; ++a) {
                   double mean = 0, squares = 0;
                   for (int64_t b = 0; b < 4; ++b)
                     mean += x(node, a, b) / 4;
                   for (int64_t b = 0; b < 4; ++b)
                     squares += std::pow(x(node, a, b) - mean, 2) / 4;
                   y(node, a) = std::sqrt(squares);
                 }
               return y;
             });
  // Jointly over an axis and all nodes.
  checkLayer("model M { input x: node[b = 4]\n output y = var(x, over: b, along: all) }",
             [](const Graph &graph, const Tensors &in) {
               double mean = 0, squares = 0, count = std::max<size_t>(1, in.at("x").data.size());
               for (double number : in.at("x").data)
                 mean += number / count;
               for (double number : in.at("x").data)
                 squares += std::pow(number - mean, 2) / count;
               return Tensor{{}, {squares}};
             });
}

/// Owners with one member, or several that are equal.
TEST(Language, TheRootOfNoVarianceHasADerivative) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[c = 2]\n output y = gradient(sum(sum(std(x.src), over: c), along: all), x) }");
  ASSERT_TRUE(model);
  Graph graph{{{"node", 3}, {"edge", 5}}, {{"src", {0, 1, 2, 2, 2}}, {"dst", {0, 0, 1, 2, 2}}}};
  for (const std::unique_ptr<Runner> &runner : compiledRunners(*model)) {
    llvm::Expected<Tensors> found = runner->run(graph, {{"x", {{3, 2}, {1, 4, 3, -4, 5, 6}}}});
    ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
    EXPECT_LE(relativeError((*found)["y"], Tensor{{3, 2}, {-0.5, 0.5, 0.5, -0.5, 0, 0}}), 1e-6) << runner->name();
  }
}

TEST(Language, EdgesThatAreLoops) {
  checkLayer("model M { input w: edge[]\n output y = where(src == dst, 10, w) + 2 * (src != dst) }",
             [](const Graph &graph, const Tensors &in) {
               Tensor y = in.at("w");
               for (const NaiveEdge &edge : plainEdges(graph))
                 y(edge.original) = edge.src == edge.dst ? 10 : y(edge.original) + 2;
               return y;
             });
  checkLayer("layer L(x: node[k]) on with_self_loops { sum(where(src == dst, 3, 1) * x.src) }\n"
             "model M { input x: node[c = 4]\n output y = L(x) }",
             [](const Graph &graph, const Tensors &in) {
               Tensor y = Tensor::zeros({graph.extent("node"), 4});
               for (const NaiveEdge &edge : edgesWithSelfLoops(graph))
                 for (int64_t i = 0; i < 4; ++i)
                   y(edge.dst, i) += (edge.src == edge.dst ? 3 : 1) * in.at("x")(edge.src, i);
               return y;
             });
}

TEST(Language, IndicesTransposesAndBounds) {
  checkLayer("model M { input x: node[a = 3, b = 4]\n output y = x[b: 2] * x[a: 1][b: 0] }",
             [](const Graph &graph, const Tensors &in) {
               const Tensor &x = in.at("x");
               Tensor y = Tensor::zeros({x.shape[0], 3});
               for (int64_t node = 0; node < x.shape[0]; ++node)
                 for (int64_t a = 0; a < 3; ++a)
                   y(node, a) = x(node, a, 2) * x(node, 1, 0);
               return y;
             });
  checkLayer("model M { input x: node[in = 4]\n param W[in, out = 3]\n"
             "  output y = clamp(rename(x @ W, out: in) @ W.T, -0.5, 0.25) }",
             [](const Graph &graph, const Tensors &in) {
               const Tensor &x = in.at("x"), &w = in.at("W");
               Tensor y = Tensor::zeros({x.shape[0], 4});
               for (int64_t node = 0; node < x.shape[0]; ++node)
                 for (int64_t i = 0; i < 4; ++i) {
                   for (int64_t o = 0; o < 3; ++o)
                     for (int64_t j = 0; j < 4; ++j)
                       y(node, i) += x(node, j) * w(j, o) * w(i, o);
                   y(node, i) = std::clamp(y(node, i), -0.5, 0.25);
                 }
               return y;
             });
}

TEST(Language, InstancesShareParameters) {
  checkLayer("layer Cell(m: node[k], h: node[k]) -> node[k] { param W[k, out = k]\n h - rename(m @ W, out: k) }\n"
             "model M { input x: node[k = 3]\n instance cell = Cell()\n let h = x\n"
             "  repeat 3 { let h = cell(sum(h.src), h) }\n output y = h }",
             [](const Graph &graph, const Tensors &in) {
               Tensor h = in.at("x");
               for (int round = 0; round < 3; ++round) {
                 Tensor m = Tensor::zeros(h.shape);
                 for (const NaiveEdge &edge : plainEdges(graph))
                   for (int64_t i = 0; i < 3; ++i)
                     m(edge.dst, i) += h(edge.src, i);
                 for (int64_t node = 0; node < h.shape[0]; ++node)
                   for (int64_t o = 0; o < 3; ++o)
                     for (int64_t i = 0; i < 3; ++i)
                       h(node, o) -= m(node, i) * in.at("cell.W")(i, o);
               }
               return h;
             });
}

TEST(Language, LongSums) {
  std::string sum = "x";
  for (int i = 1; i < 300; ++i)
    sum += " + x";
  checkLayer("model M { input x: node[c = 2]\n output y = " + sum + " }", [](const Graph &graph, const Tensors &in) {
    Tensor y = in.at("x");
    for (double &number : y.data)
      number *= 300;
    return y;
  });
}
