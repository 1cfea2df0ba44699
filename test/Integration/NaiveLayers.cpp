//===- NaiveLayers.cpp - Layers written as plain loops --------------------===//
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

std::vector<NaiveEdge> test::plainEdges(const Graph &graph) {
  std::vector<NaiveEdge> edges;
  for (int64_t e = 0; e < graph.extent("edge"); ++e)
    edges.push_back({graph.map("src")[e], graph.map("dst")[e], e});
  return edges;
}

std::vector<NaiveEdge> test::edgesWithSelfLoops(const Graph &graph) {
  std::vector<NaiveEdge> edges, loops;
  for (int64_t v = 0; v < graph.extent("node"); ++v)
    loops.push_back({v, v, -1});
  for (const NaiveEdge &edge : plainEdges(graph)) {
    if (edge.src == edge.dst)
      loops[edge.src].original = edge.original;
    else
      edges.push_back(edge);
  }
  edges.insert(edges.end(), loops.begin(), loops.end());
  return edges;
}

Tensor test::product(const Tensor &x, const Tensor &weight) {
  int64_t rows = x.shape[0], in = x.shape[1], out = 1;
  for (size_t axis = 1; axis < weight.shape.size(); ++axis)
    out *= weight.shape[axis];
  Tensor y = Tensor::zeros({rows, out});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        y(r, o) += x(r, i) * weight.data[i * out + o];
  return y;
}

Tensor test::plus(Tensor y, const Tensor &bias) {
  for (size_t i = 0; i < y.data.size(); ++i)
    y.data[i] += bias.data[i % bias.data.size()];
  return y;
}

Tensor test::relu(Tensor x) {
  for (double &number : x.data)
    number = std::max(number, 0.0);
  return x;
}

Tensor test::flat(Tensor x) {
  int64_t width = 1;
  for (size_t axis = 1; axis < x.shape.size(); ++axis)
    width *= x.shape[axis];
  x.shape = {x.shape[0], width};
  return x;
}

double test::leakyRelu(double x, double slope) { return x > 0 ? x : slope * x; }
double test::sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double test::gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

Tensor test::attention(const std::vector<NaiveEdge> &edges, int64_t nodes, const Tensor &score) {
  int64_t heads = score.shape[1];
  Tensor alpha = score;
  for (int64_t v = 0; v < nodes; ++v) {
    for (int64_t h = 0; h < heads; ++h) {
      double largest = -INFINITY, total = 0;
      for (size_t e = 0; e < edges.size(); ++e)
        if (edges[e].dst == v)
          largest = std::max(largest, score(e, h));
      for (size_t e = 0; e < edges.size(); ++e)
        if (edges[e].dst == v)
          total += std::exp(score(e, h) - largest);
      for (size_t e = 0; e < edges.size(); ++e)
        if (edges[e].dst == v)
          alpha(e, h) = std::exp(score(e, h) - largest) / total;
    }
  }
  return alpha;
}

Tensor test::weightedSum(const std::vector<NaiveEdge> &edges, int64_t nodes, const Tensor &alpha, int64_t out,
                         const std::function<double(int64_t, int64_t)> &value) {
  int64_t heads = alpha.shape[1];
  Tensor y = Tensor::zeros({nodes, heads * out});
  for (size_t e = 0; e < edges.size(); ++e)
    for (int64_t column = 0; column < heads * out; ++column)
      y(edges[e].dst, column) += alpha(e, column / out) * value(e, column);
  return y;
}

void test::checkLayer(const std::string &text, const Reference &reference, const std::vector<Graph> &graphs,
                      const std::function<void(Tensors &)> &adjust) {
  std::optional<frontend::ModelSpec> model = loadText(text);
  if (!model)
    return;
  ASSERT_EQ(model->outputs.size(), 1u);
  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model);
  for (size_t i = 0; i < graphs.size(); ++i) {
    Tensors tensors = randomTensors(*model, graphs[i], 17 + i);
    if (adjust)
      adjust(tensors);
    Tensor expected = reference(graphs[i], tensors);
    for (const std::unique_ptr<Runner> &runner : runners) {
      llvm::Expected<Tensors> outputs = runner->run(graphs[i], tensors);
      if (!outputs) {
        ADD_FAILURE() << runner->name() << ", graph " << i << ": " << llvm::toString(outputs.takeError());
        continue;
      }
      const Tensor &actual = (*outputs)[model->outputs[0].name];
      EXPECT_LE(relativeError(actual, expected), 1e-5) << runner->name() << ", graph " << i;
    }
  }
}
