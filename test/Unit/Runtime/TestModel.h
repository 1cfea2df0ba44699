//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What the compiler would write as bytes, put together by name; and what a caller would pass.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_RUNTIME_TESTMODEL_H
#define GNNC_TEST_UNIT_RUNTIME_TESTMODEL_H

#include "Context.h"
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace gnnc::test {

using Words = std::vector<int64_t>;

/// Builds a table. Spaces and maps enter its order as they are added.
class ModelBuilder {
public:
  int64_t root(const std::string &name);
  int64_t fixed(const std::string &name, int64_t extent);
  int64_t filter(const std::string &name, int64_t base, int64_t left, int64_t right, bool equal);
  /// All elements on the first rank, none on others.
  int64_t share(const std::string &name, int64_t base);
  int64_t unite(const std::string &name, const Words &parts);
  int64_t distinct(const std::string &name, int64_t base, const Words &maps);
  /// `part` and `parts` as in MapRec.
  int64_t map(table::MapKind kind, const std::string &name, int64_t from, int64_t to, const Words &parts = {},
              int64_t part = 0, bool partial = false);
  int64_t rootMap(const std::string &name, int64_t from, int64_t to) {
    return map(table::MapKind::Root, name, from, to);
  }

  int64_t index(table::IndexKind kind, int64_t map, int64_t other = -1);

  struct Buffer {
    table::BufferKind kind = table::BufferKind::Arena;
    int64_t space = -1;
    Words dims;
    int64_t bits = 32;
    bool optional = false;
    double fill = 0;
    int64_t first = 0, last = -1;
    int64_t constantAt = 0;
    int64_t replaces = -1; ///< Output: the parameter or state that it is written to
    int64_t values = -1;   ///< Param, State: what addValues returned
  };
  int64_t buffer(const std::string &name, const Buffer &buffer);
  /// Values that the model itself has, as 32-bit floats.
  int64_t addValues(const std::string &name, const Words &shape, const std::vector<float> &numbers);
  int64_t input(const std::string &name, int64_t space, const Words &dims);
  int64_t output(const std::string &name, int64_t space, const Words &dims);
  /// Lives in steps [first, last].
  int64_t arena(int64_t space, const Words &dims, int64_t first, int64_t last);

  struct Step {
    table::Kernel kernel = nullptr;
    table::StepKind kind = table::StepKind::Rows;
    int64_t over = -1; ///< the map, or the space for StepKind::Rows
    Words buffers, indices;
    std::vector<table::MergeRec> merges;
    int64_t blockBytes = 0;
    Words written = {}; ///< of its buffers
  };
  void step(const Step &step);
  /// A program beside `forward`, which has all steps.
  void program(const std::string &name, int64_t firstStep, int64_t numSteps) {
    others.push_back({this->name(name), 0, firstStep, numSteps, 0, 0});
  }

  /// The model; its memory belongs to the builder. `level`: of its only variant.
  runtime::Model build(int64_t level = 0);

private:
  int64_t name(const std::string &text);
  int64_t list(const Words &words);

  std::string names, constants = std::string(64, 0);
  std::string values;
  Words words, order;
  std::vector<table::SpaceRec> spaces;
  std::vector<table::MapRec> maps;
  std::vector<table::IndexRec> indices;
  std::vector<table::BufferRec> buffers;
  std::vector<table::ValuesRec> valueRecords;
  std::vector<table::StepRec> steps;
  std::vector<table::ProgramRec> others;
  std::vector<table::Kernel> kernels;
  std::vector<table::Variant> variants;
  Words finished;
};

/// Extents and maps of a graph, by name.
class GraphData {
public:
  void extent(const std::string &space, int64_t extent);
  void capacity(const std::string &space, int64_t extent);
  void each(const std::string &map, const Words &targets, int bits = 64);
  void rows(const std::string &map, const Words &pointers, int bits = 64);
  /// Valid until the next change.
  const gnnc_graph_desc &desc();

  std::vector<gnnc_extent> extents;
  std::vector<gnnc_index> indices;
  std::vector<gnnc_extent> capacities;
  const char *tuning = nullptr;

private:
  void add(const std::string &map, const Words &values, int bits, gnnc_index_format format);

  std::deque<std::string> names;
  std::deque<std::vector<int32_t>> narrow;
  std::deque<Words> wide;
  gnnc_graph_desc result;
};

/// A tensor together with its shape.
struct Tensor {
  std::string name;
  Words shape;
  std::vector<float> data;
  gnnc_binding binding;

  Tensor(const std::string &name, const Words &shape, float value = 0);
  Tensor(const Tensor &) = delete;
};

/// An allocator that counts, and fails after `remaining` allocations.
struct CountingAllocator {
  size_t bytes = 0;
  int64_t calls = 0;
  int64_t remaining = INT64_MAX;
  gnnc_allocator allocator;
  CountingAllocator();
};

/// Opens a model; fails the test if it does not open.
gnnc_context *open(const runtime::Model &model, int threads = 1, const gnnc_allocator *allocator = nullptr);

/// COO lists of a random graph. Kinds: plain, without edges, with many self loops and repeated edges, with one hub.
struct RandomGraph {
  int64_t nodes, types;
  Words src, dst, type;
  RandomGraph(unsigned seed);
  int64_t edges() const { return static_cast<int64_t>(src.size()); }
};

} // namespace gnnc::test

#endif // GNNC_TEST_UNIT_RUNTIME_TESTMODEL_H
