//===- CapacityTest.cpp - Graphs that may change --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Capacity.h"
#include "CUDA/LaunchItems.h"
#include "CUDA/Worklist.h"
#include "Graph.h"
#include "Partition.h"
#include "TestModel.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace gnnc;
using namespace gnnc::runtime;
using namespace gnnc::table;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

/// Row pointers of so many members, spread over owners in one of several ways.
std::vector<int32_t> spread(int64_t owners, int64_t members, int64_t way, std::mt19937 &random) {
  std::vector<int32_t> degrees(size_t(owners), 0);
  int64_t left = members, each = way == 0 ? 1 : way == 1 ? 257 : way == 2 ? 513 : way == 3 ? 2049 : members;
  for (int64_t i = 0; i < owners && left > 0; ++i) {
    int64_t own = i + 1 == owners ? left : std::min(left, way == 5 ? int64_t(random() % 3000) : each);
    degrees[size_t(i)] = int32_t(own);
    left -= own;
  }
  std::shuffle(degrees.begin(), degrees.end(), random);
  std::vector<int32_t> pointers{0};
  for (int32_t degree : degrees)
    pointers.push_back(pointers.back() + degree);
  return pointers;
}

/// y[node] = number of in-edges, with a partial maximum over all nodes; no code is run.
struct Counts {
  ModelBuilder b;
  Model model;
  GraphData data;
  gnnc_error error = {};
  Counts() {
    int64_t node = b.root("node"), edge = b.root("edge");
    int64_t src = b.rootMap("src", edge, node), dst = b.rootMap("dst", edge, node);
    int64_t loop = b.filter("loop", edge, src, dst, true);
    b.unite("all", {node, loop});
    int64_t pointers = b.index(IndexKind::Pointers, dst);
    int64_t most = b.output("most", -1, {1}), h = b.arena(node, {4}, 0, 1);
    b.step({nullptr, StepKind::Sweep, dst, {h}, {pointers}, {}});
    b.step({nullptr, StepKind::Rows, node, {h}, {}, {{most, MergeKind::Max, 1}}});
    model = b.build();
  }
  void graph(int64_t nodes, int64_t edges) {
    data = GraphData();
    data.extent("node", nodes);
    data.extent("edge", edges);
    Words src, dst;
    for (int64_t i = 0; i < edges; ++i) {
      src.push_back(i % nodes);
      dst.push_back(i * 7 % nodes);
    }
    data.each("src", src);
    data.each("dst", dst);
  }
};

} // namespace

TEST(CapacityTest, WorklistsAreWithinTheirBounds) {
  std::mt19937 random(3);
  Memory memory(defaultAllocator());
  for (int64_t members : {0, 1, 255, 257, 5000, 300000, (1 << 21) + 5, (1 << 22) + 9, 9000000})
    for (int64_t way = 0; way < 6; ++way)
      for (int64_t owners : {int64_t(1), int64_t(90), int64_t(700), members / 257 + 1}) {
        std::vector<int32_t> pointers = spread(owners, members, way, random);
        Grouping grouping{pointers.data(), nullptr, owners, members};
        cuda::Worklist list;
        ASSERT_TRUE(makeWorklist(grouping, memory, list));
        // Of this graph, and of any larger capacity.
        for (int64_t room : {int64_t(0), int64_t(1000), int64_t(3000000)}) {
          EXPECT_LE(list.numSlots, cuda::mostSlots(owners + room, members + room)) << members << " " << way;
          EXPECT_LE(list.numHeavy, cuda::mostHeavy(owners + room, members + room)) << members << " " << way;
          EXPECT_LE(list.numItems, cuda::mostItems(owners + room, members + room)) << members << " " << way;
        }
      }
}

/// One owner has work for the whole device; many have it without being cut.
TEST(CapacityTest, FewOwnersHaveShortItems) {
  EXPECT_EQ(cuda::chunkFor(11758, 1), 32);
  EXPECT_EQ(cuda::chunkFor(169343, 1), 128);
  EXPECT_EQ(cuda::chunkFor(65536, 64), 32);
  EXPECT_EQ(cuda::chunkFor(1000, 90), cuda::kLeastChunk); // Eleven members each are walked by one warp.
  EXPECT_EQ(cuda::chunkFor(169343, 600), cuda::kLeastChunk);
  Memory memory(defaultAllocator());
  std::vector<int32_t> pointers{0, 11758};
  cuda::Worklist list;
  ASSERT_TRUE(makeWorklist(Grouping{pointers.data(), nullptr, 1, 11758}, memory, list));
  EXPECT_EQ(list.numItems, 368);
  EXPECT_EQ(list.numHeavy, 1);
}

TEST(CapacityTest, BlocksAreWithinTheirBounds) {
  std::mt19937 random(4);
  Memory memory(defaultAllocator());
  Counts counts;
  for (int64_t members : {0, 1, 63, 65, 1000, 70000, 3000000})
    for (int64_t owners : {1, 90, 40000}) {
      std::vector<int32_t> pointers = spread(owners, members, 5, random);
      Grouping grouping{pointers.data(), nullptr, owners, members};
      Partition sweep, grouped;
      ASSERT_TRUE(partitionSweep(grouping, memory, sweep) && partitionGrouped(grouping, true, memory, grouped));
      for (int64_t room : {0, 5, 100000}) {
        int64_t capacities[] = {owners + room, members + room, 0, 0, 0};
        StepRec step{};
        step.map = 1; // from edge to node
        step.kind = StepKind::Sweep;
        EXPECT_LE(sweep.blocks, mostBlocks(counts.model, step, capacities));
        step.kind = StepKind::Grouped;
        EXPECT_LE(grouped.blocks, mostBlocks(counts.model, step, capacities));
        step.kind = StepKind::Rows;
        step.space = 1;
        EXPECT_LE(partitionRows(members, true).blocks, mostBlocks(counts.model, step, capacities));
      }
    }
}

TEST(CapacityTest, OneWorkspaceServesAllUpdates) {
  Counts counts;
  gnnc_context *context = open(counts.model);
  const gnnc_api *api = gnnc_model();
  counts.graph(100, 300);
  counts.data.capacity("node", 5000);
  counts.data.capacity("edge", 40000);
  gnnc_graph *graph = nullptr;
  ASSERT_EQ(api->prepare(context, &counts.data.desc(), &graph, &counts.error), GNNC_OK) << counts.error.message;
  size_t bytes = 0, own = 0;
  ASSERT_EQ(api->workspace_size(graph, nullptr, &bytes, nullptr), GNNC_OK);
  EXPECT_GE(bytes, 5000 * 4 * sizeof(float));
  for (auto [nodes, edges] : {std::pair<int64_t, int64_t>{5000, 40000}, {1, 0}, {4000, 39999}}) {
    counts.graph(nodes, edges);
    ASSERT_EQ(api->update(context, graph, &counts.data.desc(), &counts.error), GNNC_OK) << counts.error.message;
    EXPECT_EQ(api->extent(graph, "node"), nodes);
    ASSERT_EQ(api->workspace_size(graph, nullptr, &own, nullptr), GNNC_OK);
    EXPECT_EQ(own, bytes);
  }
  // What is wrong leaves the graph as it was.
  counts.graph(4001, 40001);
  EXPECT_EQ(api->update(context, graph, &counts.data.desc(), &counts.error), GNNC_INVALID_GRAPH);
  EXPECT_STREQ(counts.error.message, "space 'edge': expected at most 40000 elements, its capacity, found 40001");
  counts.graph(10, 20);
  counts.data.indices.pop_back();
  EXPECT_EQ(api->update(context, graph, &counts.data.desc(), &counts.error), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(api->extent(graph, "node"), 4000);
  counts.graph(10, 20);
  counts.data.capacity("node", 10);
  EXPECT_EQ(api->update(context, graph, &counts.data.desc(), &counts.error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(counts.error.message, "update: expected no capacities beside those of prepare, found 1");
  api->free_graph(graph);
  api->close(context);
}

TEST(CapacityTest, Errors) {
  Counts counts;
  gnnc_context *context = open(counts.model);
  const gnnc_api *api = gnnc_model();
  auto expectOf = [&](const char *message) {
    gnnc_graph *graph = nullptr;
    EXPECT_NE(api->prepare(context, &counts.data.desc(), &graph, &counts.error), GNNC_OK);
    EXPECT_STREQ(counts.error.message, message);
    EXPECT_EQ(graph, nullptr);
    counts.graph(10, 20);
  };
  counts.graph(10, 20);
  counts.data.capacity("node", 9);
  expectOf("space 'node': expected a capacity of its extent, 10, or more, found 9");
  counts.data.capacity("node", 20);
  counts.data.capacity("node", 21);
  expectOf("space 'node': its capacity is given twice");
  counts.data.capacity("node", INT32_MAX);
  expectOf("space 'node': expected a capacity of at most 2147483646, found 2147483647");
  counts.data.capacity("node", INT32_MAX - 1);
  expectOf("space 'all': expected a capacity of at most 2147483646, found 2147483666");
  counts.data.capacities.push_back({nullptr, 1});
  expectOf("graph description: capacity 0 has no name");

  gnnc_graph *graph = nullptr;
  ASSERT_EQ(api->prepare(context, &counts.data.desc(), &graph, &counts.error), GNNC_OK);
  EXPECT_EQ(api->update(context, graph, &counts.data.desc(), &counts.error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(counts.error.message, "update: the graph was prepared without capacities");
  EXPECT_EQ(api->update(context, nullptr, &counts.data.desc(), &counts.error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(counts.error.message, "update: graph is null");
  api->free_graph(graph);
  api->close(context);
}

// With static ones alone neither.
TEST(CapacityTest, WithoutRootSpacesThereIsNothingToUpdate) {
  ModelBuilder b;
  b.fixed("class", 4);
  int64_t sum = b.output("sum", -1, {1});
  b.step({nullptr, StepKind::Rows, -1, {sum}, {}, {}});
  Model model = b.build();
  GraphData data;
  gnnc_error error = {};
  gnnc_context *context = open(model);
  const gnnc_api *api = gnnc_model();
  gnnc_graph *graph = nullptr;
  ASSERT_EQ(api->prepare(context, &data.desc(), &graph, &error), GNNC_OK) << error.message;
  EXPECT_EQ(api->update(context, graph, &data.desc(), &error), GNNC_OK) << error.message;
  gnnc_graph_desc wrong = data.desc();
  wrong.num_extents = -1;
  EXPECT_EQ(api->update(context, graph, &wrong, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "graph description: num_extents is -1, but extents is null");
  api->free_graph(graph);
  api->close(context);
}

TEST(WorklistTest, WhatIsLongFollowsFromAllMembers) {
  using cuda::longFrom;
  EXPECT_EQ(longFrom(300000, 150000), 32);      // few members each: those of several rounds
  EXPECT_EQ(longFrom(300000, 15000), 160);      // eight times the average
  EXPECT_EQ(longFrom(300000, 1000), 256);       // what an item has at most
  EXPECT_EQ(longFrom(30000000, 1600000), 256);  // many items: what takes as long as a whole one of a small graph,
  EXPECT_EQ(longFrom(100000000, 2000000), 400); // unless that is nothing special,
  EXPECT_EQ(longFrom(100000000, 200000), 2048); // or more than an item has
  EXPECT_EQ(longFrom(0, 0), 32);
}

/// Each member of the list belongs to exactly one schedule, whatever the limits between them are.
TEST(ScheduleTest, SchedulesShareAllItems) {
  std::mt19937 random(5);
  Memory memory(defaultAllocator());
  for (int64_t members : {0, 50, 4000, 200000})
    for (int64_t way = 0; way < 6; ++way) {
      int64_t owners = 500;
      std::vector<int32_t> pointers = spread(owners, members, way, random);
      Grouping grouping{pointers.data(), nullptr, owners, members};
      cuda::Worklist made;
      ASSERT_TRUE(makeWorklist(grouping, memory, made));
      cuda::DeviceWorklist list;
      list.numItems = made.numItems, list.numSlots = made.numSlots;
      list.bySize = made.bySize;
      std::copy_n(made.largest, cuda::kNumSizes, list.largest);
      const std::vector<int64_t> limits[] = {{128, 8, 0}, {32, 0}, {1 << 20, 0, 0}, {0, 0, 0}, {1 << 20, 1 << 20, 0}};
      for (const std::vector<int64_t> &least : limits) {
        int64_t below = -1, next = 0;
        for (int64_t limit : least) {
          cuda::ItemRange range = chooseItems(list, members, limit, below);
          if (range.count > 0 && list.bySize) {
            EXPECT_EQ(range.first, next);
          }
          EXPECT_GE(range.count, 0);
          // By size, what is listed has as many members as the limits say; but items with a slot come first.
          for (int64_t i = range.first; list.bySize && i < range.first + range.count; ++i) {
            int64_t own = made.items[i].end - made.items[i].begin;
            if (made.items[i].slot < 0 && limit <= 2048) {
              EXPECT_GE(own, limit);
            }
            if (made.items[i].slot < 0 && below >= 0 && below <= 2048) {
              EXPECT_LT(own, below);
            }
          }
          next += range.count;
          below = limit;
        }
        EXPECT_EQ(next, list.numItems);
      }
    }
}
