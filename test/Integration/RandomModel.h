//===- RandomModel.h - Random models on random graphs -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models that nobody would write, made from a seed alone: every operation, along every kind of map, in shapes that are
// no multiple of anything. Their numbers stay tame (no division by almost 0, no comparison of numbers that rounding
// could swap), so that float32 must agree with the interpreter's double precision.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANDOMMODEL_H
#define GNNC_TEST_INTEGRATION_RANDOMMODEL_H

#include "RandomSeeds.h"
#include "TestModel.h"

#include "llvm/ADT/ArrayRef.h"

#include <random>

namespace gnnc::test {

/// Draws that are the same on every machine and standard library.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) {}

  uint64_t next() { return engine(); }
  /// In [0, n); n is at least 1.
  int64_t below(int64_t n) { return int64_t(engine() % uint64_t(n)); }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &list) { return list[size_t(below(int64_t(list.size())))]; }
  template <typename T> T pick(std::initializer_list<T> list) { return list.begin()[below(int64_t(list.size()))]; }
  template <typename T> void shuffle(std::vector<T> &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[size_t(below(int64_t(i)))]);
  }

private:
  std::mt19937_64 engine;
};

frontend::ModelSpec randomModel(const RandomSeed &seed);

/// The shapes of graph that go wrong. `Large` has enough rows for several blocks of each kernel.
enum class GraphShape { Empty, NoEdges, OneNode, Repeated, Hub, Small, Large };
constexpr GraphShape kGraphShapes[] = {GraphShape::Empty,    GraphShape::NoEdges, GraphShape::OneNode,
                                       GraphShape::Repeated, GraphShape::Hub,     GraphShape::Small,
                                       GraphShape::Large};
const char *nameOf(GraphShape shape);

/// A graph with every root space and root map of `model`.
Graph randomGraphFor(const frontend::ModelSpec &model, GraphShape shape, Random &random);

/// Numbers for all inputs, parameters and states: multiples of 1/256 in [-1, 1]. Those on derived spaces need their
/// `extents`. Some optional inputs are left out.
Tensors randomTensorsFor(const frontend::ModelSpec &model, const std::map<std::string, int64_t> &extents,
                         Random &random);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANDOMMODEL_H
