//===- TestModel.cpp - Models, graphs and ways to run them ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gnnc/Frontend/Frontend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <malloc.h>
#include <random>

using namespace gnnc;
using namespace gnnc::test;

/// The interpreter makes and drops large tensors all the time. Pages that each of them gets from the system and gives
/// back would take a third of a random test's time.
[[maybe_unused]] static const bool keepsMemory = [] {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
  return true;
}();

Tensor Tensor::zeros(std::vector<int64_t> shape) {
  Tensor tensor;
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  tensor.shape = std::move(shape);
  tensor.data.assign(count, 0.0);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Graph test::randomGraph(int64_t nodes, int64_t edges, unsigned seed, int64_t nodeTypes, int64_t edgeTypes,
                        int64_t graphs) {
  std::mt19937 random(seed);
  auto below = [&](int64_t n) { return int32_t(random() % uint64_t(n)); };
  Graph graph;
  graph.extents = {
      {"node", nodes}, {"edge", edges}, {"graph", graphs}, {"node_type", nodeTypes}, {"edge_type", edgeTypes}};
  for (const char *name : {"src", "dst", "etype", "ntype", "batch"})
    graph.maps[name];
  auto &src = graph.maps["src"], &dst = graph.maps["dst"], &etype = graph.maps["etype"];
  // The last fifth of the nodes has no edges; node 0 receives every fourth edge.
  int64_t connected = std::max<int64_t>(1, nodes - nodes / 5);
  for (int64_t e = 0; e < edges; ++e) {
    src.push_back(below(connected));
    dst.push_back(e % 4 == 0 ? 0 : below(connected));
    if (e % 9 == 1) // self loops, several on some nodes
      src.back() = dst.back() = below(std::max<int64_t>(1, connected / 4));
    if (e % 7 == 6) { // repeated edges
      src.back() = src[e - 3];
      dst.back() = dst[e - 3];
    }
    etype.push_back(below(edgeTypes));
  }
  for (int64_t v = 0; v < nodes; ++v) {
    graph.maps["ntype"].push_back(below(nodeTypes));
    int32_t g = below(graphs);
    graph.maps["batch"].push_back(g == 1 ? 0 : g);
  }
  std::sort(graph.maps["batch"].begin(), graph.maps["batch"].end());
  return graph;
}

std::vector<Graph> test::testGraphs() {
  return {randomGraph(45, 260, 1), randomGraph(7, 0, 2), randomGraph(1, 3, 3), randomGraph(0, 0, 4)};
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

std::optional<frontend::ModelSpec> test::loadText(const std::string &text,
                                                  const std::map<std::string, std::string> &defines) {
  frontend::CompileInputs inputs;
  inputs.defines = defines;
  std::vector<frontend::Diagnostic> diagnostics;
  std::optional<frontend::ModelSpec> model = frontend::loadModelFromText("test.gnn", text, inputs, diagnostics);
  EXPECT_TRUE(model) << frontend::render(diagnostics);
  return model;
}

std::optional<frontend::ModelSpec> test::loadFile(const std::string &path,
                                                  const std::map<std::string, std::string> &defines) {
  frontend::CompileInputs inputs;
  inputs.mainPath = path;
  inputs.defines = defines;
  std::vector<frontend::Diagnostic> diagnostics;
  std::optional<frontend::ModelSpec> model = frontend::loadModel(inputs, diagnostics);
  EXPECT_TRUE(model) << frontend::render(diagnostics);
  return model;
}

Tensors test::randomTensors(const frontend::ModelSpec &model, const Graph &graph, unsigned seed) {
  Tensors tensors;
  for (const frontend::Value &value : model.values) {
    if (value.op != frontend::OpCode::Input && value.op != frontend::OpCode::Param &&
        value.op != frontend::OpCode::State)
      continue;
    std::vector<int64_t> shape;
    if (value.residency != frontend::kNone) {
      const frontend::Space &space = model.spaces[value.residency];
      shape.push_back(space.kind == frontend::Space::Kind::Static ? space.extent : graph.extent(space.name));
    }
    for (const frontend::Axis &axis : value.axes)
      shape.push_back(axis.size);
    Tensor tensor = Tensor::zeros(shape);
    uint32_t mixed = seed;
    for (unsigned char c : value.name)
      mixed = mixed * 31 + c;
    std::mt19937 random(mixed);
    for (double &number : tensor.data)
      number = float(int32_t(random() % 2000001) - 1000000) / 1e6f;
    tensors[value.name] = std::move(tensor);
  }
  return tensors;
}

bool test::haveSameBits(const Tensor &a, const Tensor &b) {
  return a.data.size() == b.data.size() &&
         (a.data.empty() || std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(double)) == 0);
}

double test::relativeError(const Tensor &actual, const Tensor &expected) {
  if (actual.data.size() != expected.data.size())
    return std::numeric_limits<double>::infinity();
  double difference = 0, magnitude = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    if (!std::isfinite(actual.data[i]))
      return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(actual.data[i] - expected.data[i]));
    magnitude = std::max(magnitude, std::abs(expected.data[i]));
  }
  return difference == 0 ? 0 : difference / std::max(magnitude, 1e-30);
}
