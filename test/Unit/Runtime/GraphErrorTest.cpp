//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

using namespace gnnc;
using namespace gnnc::table;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

class GraphErrorTest : public ::testing::Test {
protected:
  GraphErrorTest() {
    int64_t node = b.root("node"), edge = b.root("edge"), type = b.fixed("edge_type", 4);
    b.rootMap("src", edge, node);
    int64_t dst = b.rootMap("dst", edge, node);
    b.rootMap("etype", edge, type);
    int64_t both = b.unite("both", {node, edge});
    b.index(IndexKind::Pointers, dst);
    b.input("x", both, {1000000007});
    model = b.build();
    context = open(model, 1, &counter.allocator);
    idle = counter.bytes;
    data.extent("node", 3);
    data.extent("edge", 4);
    src(Words{0, 1, 2, 0});
    data.each("dst", {1, 1, 0, 0}, 32);
    data.each("etype", {0, 1, 2, 3});
  }
  ~GraphErrorTest() override { gnnc_model()->close(context); }

  /// The one under test comes first.
  void src(const Words &targets, int bits = 64) { replace(targets, bits, false); }
  void rows(const Words &pointers, int bits = 64) { replace(pointers, bits, true); }
  void replace(const Words &values, int bits, bool asRows) {
    for (size_t i = 0; i < data.indices.size(); ++i)
      if (std::string(data.indices[i].map) == "src")
        data.indices.erase(data.indices.begin() + i);
    asRows ? data.rows("src", values, bits) : data.each("src", values, bits);
    std::rotate(data.indices.begin(), data.indices.end() - 1, data.indices.end());
  }

  void expect(gnnc_status status, const std::string &message) { expectOf(data.desc(), status, message); }
  void expectOf(const gnnc_graph_desc &desc, gnnc_status status, const std::string &message) {
    gnnc_graph *graph;
    error.message[0] = 0;
    EXPECT_EQ(gnnc_model()->prepare(context, &desc, &graph, &error), status);
    EXPECT_EQ(error.status, status);
    EXPECT_EQ(error.message, message);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(counter.bytes, idle) << "memory was lost";
    EXPECT_EQ(gnnc_model()->prepare(context, &desc, &graph, nullptr), status);
  }

  ModelBuilder b;
  runtime::Model model;
  GraphData data;
  CountingAllocator counter;
  gnnc_context *context;
  size_t idle;
  gnnc_error error;
};

TEST_F(GraphErrorTest, AGoodGraph) {
  gnnc_graph *graph;
  data.extent("unknown", -5);
  data.each("unknown", {17});
  EXPECT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, &error), GNNC_OK) << error.message;
  EXPECT_EQ(gnnc_model()->extent(graph, "both"), 7);
  EXPECT_EQ(gnnc_model()->extent(graph, "edge_type"), 4);
  EXPECT_EQ(gnnc_model()->extent(graph, "nothing"), -1);
  EXPECT_EQ(gnnc_model()->graph_bytes(graph), counter.bytes - idle);
  gnnc_model()->free_graph(graph);
  EXPECT_EQ(counter.bytes, idle);
}

TEST_F(GraphErrorTest, Extents) {
  data.extents[0].extent = -1;
  expect(GNNC_INVALID_GRAPH, "space 'node': expected an extent of 0 or more, found -1");
  data.extents[0].extent = INT32_MAX;
  expect(GNNC_UNSUPPORTED, "space 'node': expected an extent of at most 2147483646, found 2147483647");
  data.extents[0].extent = INT64_MAX;
  expect(GNNC_UNSUPPORTED, "space 'node': expected an extent of at most 2147483646, found 9223372036854775807");
  data.extents[0].extent = 2;
  expect(GNNC_INVALID_GRAPH, "map 'src': element 2 points to 2, but space 'node' has 2 elements");
  data.extents[0].extent = 3;
  data.extent("edge_type", 5);
  expect(GNNC_INVALID_GRAPH, "space 'edge_type': expected 4 elements, as compiled, found 5");
  data.extents.back().extent = 4;
  data.extent("node", 3);
  expect(GNNC_INVALID_ARGUMENT, "space 'node': its extent is given twice");
  data.extents = {data.extents[0]};
  expect(GNNC_INVALID_ARGUMENT, "space 'edge': its extent is missing");
}

TEST_F(GraphErrorTest, TooManyElements) {
  data.extents[0].extent = INT32_MAX - 1;
  expect(GNNC_UNSUPPORTED, "space 'both': expected at most 2147483646 elements, found at least 2147483650");
}

TEST_F(GraphErrorTest, Maps) {
  src({0, 1, 2});
  expect(GNNC_INVALID_GRAPH, "map 'src': expected 4 elements, one for each of space 'edge', found 3");
  src({0, 1, 2, 3});
  expect(GNNC_INVALID_GRAPH, "map 'src': element 3 points to 3, but space 'node' has 3 elements");
  src({0, -1, 2, 0}, 32);
  expect(GNNC_INVALID_GRAPH, "map 'src': element 1 points to -1, but space 'node' has 3 elements");
  src({0, (int64_t{1} << 32) + 1, 2, 0}); // 1 after narrowing
  expect(GNNC_INVALID_GRAPH, "map 'src': element 1 points to 4294967297, but space 'node' has 3 elements");
  src({0, 1, 2, 0});
  data.indices[0].bits = 16;
  expect(GNNC_INVALID_ARGUMENT, "map 'src': expected 32 or 64 bits, found 16");
  data.indices[0].bits = 64;
  data.indices[0].format = 2;
  expect(GNNC_INVALID_ARGUMENT, "map 'src': expected format 0 (each) or 1 (rows), found 2");
  data.indices[0].format = GNNC_INDEX_EACH | GNNC_INDEX_ON_DEVICE;
  expect(GNNC_INVALID_ARGUMENT, "map 'src': expected data on the host, found it on a device");
  data.indices[0].format = 0;
  data.indices[0].length = -4;
  expect(GNNC_INVALID_GRAPH, "map 'src': expected 4 elements, one for each of space 'edge', found -4");
  data.indices[0].length = 4;
  data.indices[0].data = nullptr;
  expect(GNNC_INVALID_ARGUMENT, "map 'src': expected 4 elements, found a null pointer");
  src({0, 1, 2, 0});
  data.each("src", {0, 1, 2, 0});
  expect(GNNC_INVALID_ARGUMENT, "map 'src' is given twice");
  data.indices.clear();
  expect(GNNC_INVALID_ARGUMENT, "map 'src' from space 'edge' to space 'node' is missing");
}

TEST_F(GraphErrorTest, RowPointers) {
  for (int bits : {32, 64}) {
    rows({0, 1, 4}, bits);
    expect(GNNC_INVALID_GRAPH, "map 'src': expected 4 row pointers, one more than space 'node' has elements, found 3");
    rows({1, 1, 2, 4}, bits);
    expect(GNNC_INVALID_GRAPH, "map 'src': expected the first row pointer to be 0, found 1");
    rows({0, 3, 2, 4}, bits);
    expect(GNNC_INVALID_GRAPH, "map 'src': row pointers must not fall, but number 2 is 2 after 3");
    rows({0, 1, 2, 3}, bits);
    expect(GNNC_INVALID_GRAPH, "map 'src': row pointers end at 3, but space 'edge' has 4 elements");
    rows({0, 5, 5, 5}, bits);
    expect(GNNC_INVALID_GRAPH, "map 'src': row pointer 1 is 5, but space 'edge' has 4 elements");
  }
  rows({0, 1, (int64_t{1} << 32) + 2, (int64_t{1} << 32) + 4});
  expect(GNNC_INVALID_GRAPH, "map 'src': row pointer 2 is 4294967298, but space 'edge' has 4 elements");
}

TEST_F(GraphErrorTest, Descriptions) {
  gnnc_graph_desc desc = data.desc();
  desc.struct_size = 8;
  expectOf(desc, GNNC_VERSION_MISMATCH, "graph description: expected struct_size 64, found 8");
  desc = data.desc();
  desc.num_extents = -1;
  expectOf(desc, GNNC_INVALID_ARGUMENT, "graph description: num_extents is -1");
  desc = data.desc();
  desc.extents = nullptr;
  expectOf(desc, GNNC_INVALID_ARGUMENT, "graph description: num_extents is 2, but extents is null");
  desc = data.desc();
  desc.indices = nullptr;
  expectOf(desc, GNNC_INVALID_ARGUMENT, "graph description: num_indices is 3, but indices is null");
  data.extents[1].space = nullptr;
  expect(GNNC_INVALID_ARGUMENT, "graph description: extent 1 has no name");
  data.extents[1].space = "edge";
  data.indices[2].map = nullptr;
  expect(GNNC_INVALID_ARGUMENT, "graph description: index 2 has no name");

  gnnc_graph *graph;
  EXPECT_EQ(gnnc_model()->prepare(nullptr, &desc, &graph, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "prepare: context is null");
  EXPECT_EQ(gnnc_model()->prepare(context, nullptr, &graph, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "prepare: the graph description is null");
  EXPECT_EQ(gnnc_model()->prepare(context, &desc, nullptr, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "prepare: graph is null");
}

/// Random damage: whatever happens, it is a status, and nothing is lost.
TEST_F(GraphErrorTest, Damage) {
  std::mt19937_64 random(5);
  const int64_t odd[] = {-1, 0, 1, 2, 3, 4, 5, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t{1} << 32};
  int good = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    GraphData damaged;
    auto any = [&] { return odd[random() % std::size(odd)]; };
    auto value = [&](int64_t sound) { return random() % 24 ? sound : any(); };
    damaged.extent("node", value(3));
    damaged.extent("edge", value(4));
    damaged.extent("edge_type", value(4));
    Words lists[] = {{0, 1, 2, 0}, {1, 1, 0, 0}, {0, 1, 2, 3}};
    const char *names[] = {"src", "dst", "etype"};
    for (int i = 0; i < 3; ++i) {
      for (int64_t &word : lists[i])
        word = value(word);
      if (i == 0 && trial % 2)
        damaged.rows("src", {value(0), value(1), value(3), value(4)});
      else
        damaged.each(names[i], lists[i]);
    }
    for (gnnc_index &index : damaged.indices) {
      index.length = random() % 24 ? index.length : random() % 5;
      index.bits = static_cast<int32_t>(random() % 24 ? index.bits : any());
      index.format = static_cast<int32_t>(random() % 24 ? index.format : any());
    }
    gnnc_graph *graph;
    gnnc_status status = gnnc_model()->prepare(context, &damaged.desc(), &graph, &error);
    EXPECT_EQ(status == GNNC_OK, graph != nullptr);
    EXPECT_TRUE(status == GNNC_OK || status == GNNC_INVALID_GRAPH || status == GNNC_INVALID_ARGUMENT ||
                status == GNNC_UNSUPPORTED || status == GNNC_OUT_OF_MEMORY);
    good += status == GNNC_OK;
    gnnc_model()->free_graph(graph);
    EXPECT_EQ(counter.bytes, idle);
  }
  EXPECT_GT(good, 100);
}

TEST(GraphSizes, Overflow) {
  ModelBuilder builder;
  int64_t node = builder.root("node");
  builder.input("x", node, {int64_t{1} << 40, 1 << 10});
  gnnc_context *context = open(builder.build());
  GraphData data;
  data.extent("node", 1 << 20);
  gnnc_graph *graph;
  gnnc_error error;
  EXPECT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, &error), GNNC_UNSUPPORTED);
  EXPECT_STREQ(error.message, "buffer 'x': 1048576 rows of 1125899906842624 numbers are more than can be addressed");
  gnnc_model()->close(context);

  ModelBuilder many;
  node = many.root("node");
  for (int i = 0; i < 3; ++i)
    many.arena(node, {int64_t{1} << 40}, 0, 1);
  context = open(many.build());
  EXPECT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, &error), GNNC_UNSUPPORTED);
  EXPECT_STREQ(error.message, "the workspace for this graph is larger than can be addressed");
  gnnc_model()->close(context);
}

} // namespace
