//===- RandomGraph.cpp - Random graphs and tensors ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomModel.h"

#include <algorithm>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

const char *test::nameOf(GraphShape shape) {
  switch (shape) {
  case GraphShape::Empty:
    return "empty";
  case GraphShape::NoEdges:
    return "no edges";
  case GraphShape::OneNode:
    return "one node";
  case GraphShape::Repeated:
    return "repeated edges";
  case GraphShape::Hub:
    return "hub";
  case GraphShape::Small:
    return "small";
  case GraphShape::Large:
    return "large";
  }
  return "";
}

/// How many elements a root space has; `node`, `graph` and `item` are spaces of nodes, all others of edges.
static int64_t extentOf(const std::string &space, GraphShape shape, Random &random) {
  bool nodes = space == "node", few = space == "graph" || space == "item";
  switch (shape) {
  case GraphShape::Empty:
    return 0;
  case GraphShape::NoEdges:
    return nodes ? random.between(1, 9) : few ? random.between(1, 3) : 0;
  case GraphShape::OneNode:
    return nodes || few ? 1 : random.between(0, 4);
  case GraphShape::Repeated:
    return nodes ? random.between(2, 4) : few ? random.between(1, 2) : random.between(10, 40);
  case GraphShape::Hub:
    return nodes ? random.between(15, 40) : few ? random.between(1, 4) : random.between(60, 120);
  case GraphShape::Small:
    return nodes ? random.between(2, 12) : few ? random.between(1, 4) : random.between(1, 30);
  case GraphShape::Large:
    return nodes ? random.between(150, 400) : few ? random.between(3, 30) : random.between(800, 2500);
  }
  return 0;
}

/// Targets below `extent`: all over, mostly one, all one, the lower half (the others are isolated), or in order.
static std::vector<int32_t> targets(int64_t count, int64_t extent, bool partial, GraphShape shape, Random &random) {
  std::vector<int32_t> list;
  int64_t style = shape == GraphShape::Hub ? 1 : random.below(6);
  int64_t hub = extent ? random.below(extent) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t target = -1;
    if (extent > 0) {
      target = random.below(style == 3 ? (extent + 1) / 2 : extent);
      if ((style == 1 && random.chance(60)) || style == 2)
        target = hub;
    }
    if (partial && (style == 5 || random.chance(30)))
      target = -1;
    list.push_back(int32_t(target));
  }
  if (style == 4)
    std::sort(list.begin(), list.end());
  return list;
}

Graph test::randomGraphFor(const frontend::ModelSpec &model, GraphShape shape, Random &random) {
  Graph graph;
  for (const frontend::Space &space : model.spaces)
    if (space.kind == frontend::Space::Kind::Root)
      graph.extents[space.name] = extentOf(space.name, shape, random);
    else if (space.kind == frontend::Space::Kind::Static)
      graph.extents[space.name] = space.extent;
  // What has no targets has no elements.
  auto given = [&](const frontend::Map &map) { return map.kind == frontend::Map::Kind::Root; };
  for (size_t round = 0; round < model.maps.size(); ++round)
    for (const frontend::Map &map : model.maps)
      if (given(map) && !map.partial && graph.extent(model.spaces[map.to].name) == 0)
        graph.extents[model.spaces[map.from].name] = 0;
  for (const frontend::Map &map : model.maps)
    if (given(map))
      graph.maps[map.name] = targets(graph.extent(model.spaces[map.from].name), graph.extent(model.spaces[map.to].name),
                                     map.partial, shape, random);

  // Self loops, several on some nodes, and edges that are there twice.
  if (graph.maps.count("src") && graph.maps.count("dst")) {
    std::vector<int32_t> &src = graph.maps["src"], &dst = graph.maps["dst"];
    for (size_t e = 0; e < src.size(); ++e) {
      if (random.chance(shape == GraphShape::Repeated ? 30 : 10))
        src[e] = dst[e];
      if (e > 0 && random.chance(shape == GraphShape::Repeated ? 50 : 10)) {
        size_t other = size_t(random.below(int64_t(e)));
        src[e] = src[other];
        dst[e] = dst[other];
      }
    }
  }
  return graph;
}

Tensors test::randomTensorsFor(const frontend::ModelSpec &model, const std::map<std::string, int64_t> &extents,
                               Random &random) {
  Tensors tensors;
  for (const frontend::Value &value : model.values) {
    if (value.op != OpCode::Input && value.op != OpCode::Param && value.op != OpCode::State)
      continue;
    if (value.optional && random.chance(50))
      continue;
    std::vector<int64_t> shape;
    if (value.residency != frontend::kNone)
      shape.push_back(extents.at(model.spaces[size_t(value.residency)].name));
    for (const frontend::Axis &axis : value.axes)
      shape.push_back(axis.size);
    Tensor tensor = Tensor::zeros(shape);
    bool coarse = random.chance(20); // many equal numbers
    for (double &number : tensor.data)
      number = coarse ? double(random.between(-2, 2)) / 2 : double(random.between(-256, 256)) / 256;
    tensors[value.name] = std::move(tensor);
  }
  return tensors;
}
