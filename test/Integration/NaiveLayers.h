//===- NaiveLayers.h - Layers written as plain loops ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers of the references that layers are compared with: double precision, one loop over edges after the other,
// written from the papers' formulas and sharing nothing with the language.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_NAIVELAYERS_H
#define GNNC_TEST_INTEGRATION_NAIVELAYERS_H

#include "TestModel.h"

#include <functional>

namespace gnnc::test {

/// One edge; `original` is its number in the graph, -1 for a self loop that the layer has added.
struct NaiveEdge {
  int64_t src, dst, original;
};

std::vector<NaiveEdge> plainEdges(const Graph &graph);
/// The edges that are no self loops, and one self loop for each node; it stands for the last one the graph has there.
std::vector<NaiveEdge> edgesWithSelfLoops(const Graph &graph);

/// x[rows, in] times W[in, ...], W's other axes flat.
Tensor product(const Tensor &x, const Tensor &weight);
/// y plus a bias for each column.
Tensor plus(Tensor y, const Tensor &bias);
Tensor relu(Tensor x);
/// [rows, width] of any tensor's last axes flat.
Tensor flat(Tensor x);

double leakyRelu(double x, double slope);
double sigmoid(double x);
double gelu(double x);

/// Softmax of score[edge, head] over the edges into each node.
Tensor attention(const std::vector<NaiveEdge> &edges, int64_t nodes, const Tensor &score);
/// y[v, h*out + o] = sum over edges e into v of alpha[e, h] * value(e, h * out + o).
Tensor weightedSum(const std::vector<NaiveEdge> &edges, int64_t nodes, const Tensor &alpha, int64_t out,
                   const std::function<double(int64_t edge, int64_t column)> &value);

using Reference = std::function<Tensor(const Graph &, const Tensors &)>;

/// Loads a model with one output, and compares it in every way to run it with `reference` on each graph. `adjust` may
/// change the random inputs.
void checkLayer(const std::string &text, const Reference &reference, const std::vector<Graph> &graphs = testGraphs(),
                const std::function<void(Tensors &)> &adjust = nullptr);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_NAIVELAYERS_H
