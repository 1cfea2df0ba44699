//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include "Partition.h"
#include "TestModel.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>

using namespace gnnc;
using namespace gnnc::runtime;
using namespace gnnc::table;
using namespace gnnc::test;

namespace {

class IndicesTest : public ::testing::TestWithParam<unsigned> {
protected:
  IndicesTest() : graph(GetParam()) {
    node = b.root("node");
    edge = b.root("edge");
    src = b.rootMap("src", edge, node);
    dst = b.rootMap("dst", edge, node);
    loop = b.filter("loop", edge, src, dst, true);
    loopEdge = b.map(MapKind::Inclusion, "loop.edge", loop, edge);
    loopDst = b.map(MapKind::Compose, "loop.dst", loop, node, {loopEdge, dst});
    last = b.map(MapKind::Last, "last", node, loop, {loopDst}, 0, true);
  }

  void build() {
    data.extent("node", graph.nodes);
    data.extent("edge", graph.edges());
    data.each("src", graph.src);
    data.each("dst", graph.dst);
    model = b.build();
    topology.emplace(model, memory, &error);
    extents.resize(model.header().numSpaces);
    ASSERT_EQ(topology->build(data.desc(), extents.data()), GNNC_OK) << error.message;
    indices.emplace(*topology);
    ASSERT_EQ(indices->start(), GNNC_OK);
  }

  const int32_t *array(IndexKind kind, int64_t map, int64_t other, int64_t &length) {
    const int32_t *data = nullptr;
    EXPECT_EQ(indices->array({kind, map, other}, data, length), GNNC_OK);
    return data;
  }
  Words values(IndexKind kind, int64_t map, int64_t other = -1) {
    int64_t length;
    const int32_t *data = array(kind, map, other, length);
    return Words(data, data + length);
  }
  Words targets(int64_t map) {
    const int32_t *data = topology->maps[map].targets;
    return Words(data, data + extents[model.map(map).from]);
  }

  /// By definition: the elements sorted by target, stably, undefined ones left out.
  void check(int64_t map, int64_t other) {
    Words to = targets(map), members;
    for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i)
      if (to[i] >= 0)
        members.push_back(i);
    std::sort(members.begin(), members.end(),
              [&](int64_t a, int64_t b) { return std::pair(to[a], a) < std::pair(to[b], b); });
    Words pointers{0}, sorted;
    for (int64_t owner = 0; owner < extents[model.map(map).to]; ++owner)
      pointers.push_back(pointers.back() + std::count(to.begin(), to.end(), owner));
    for (int64_t i : members)
      sorted.push_back(targets(other)[i]);
    EXPECT_EQ(values(IndexKind::Pointers, map), pointers);
    EXPECT_EQ(values(IndexKind::Members, map), members);
    bool isNatural = true;
    for (size_t i = 0; i < members.size(); ++i)
      isNatural &= members[i] == static_cast<int64_t>(i);
    const Grouping *group;
    ASSERT_EQ(indices->grouping(map, group), GNNC_OK);
    // An owner's elements may be natural numbers though the map is not in order, never the other way round.
    EXPECT_TRUE(isNatural || !group->inOrder());
    EXPECT_EQ(values(IndexKind::MembersOrNone, map), group->inOrder() ? Words() : members);
    EXPECT_EQ(values(IndexKind::Sorted, map, other), sorted);
    EXPECT_EQ(values(IndexKind::Raw, map), to);
  }

  RandomGraph graph;
  ModelBuilder b;
  GraphData data;
  Model model;
  gnnc_error error;
  Memory memory{defaultAllocator()};
  std::optional<Topology> topology;
  std::optional<Indices> indices;
  Words extents;
  int64_t node, edge, src, dst, loop, loopEdge, loopDst, last;
};

TEST_P(IndicesTest, MatchTheirDefinition) {
  build();
  check(dst, src);
  check(src, dst);
  check(loopDst, loopEdge);
  check(last, last);
}

TEST_P(IndicesTest, AreSharedWhereEdgesStandInOrder) {
  std::sort(graph.dst.begin(), graph.dst.end());
  build();
  check(dst, src);
  const Grouping *group;
  ASSERT_EQ(indices->grouping(dst, group), GNNC_OK);
  EXPECT_TRUE(group->inOrder());
  int64_t length;
  EXPECT_EQ(array(IndexKind::MembersOrNone, dst, -1, length), nullptr);
  EXPECT_EQ(length, 0);
  EXPECT_EQ(array(IndexKind::Sorted, dst, src, length), array(IndexKind::Raw, src, -1, length));
}

INSTANTIATE_TEST_SUITE_P(Graphs, IndicesTest, ::testing::Range(0u, 40u));

TEST(Indices, EqualArraysAreOne) {
  int32_t a[] = {1, 2}, b[] = {1, 2}, c[] = {1, 3}, d[] = {1, 2, 3};
  const int32_t *arrays[] = {a, c, b, d};
  int64_t lengths[] = {2, 2, 2, 3};
  Indices::share(arrays, lengths, 4);
  EXPECT_EQ(arrays[2], a);
  EXPECT_EQ(arrays[1], c);
  EXPECT_EQ(arrays[3], d);
}

/// Runs all blocks; counts how often each row is in one and lists their (begin, end, owner, block).
void cover(const Partition &partition, Words &seen, std::vector<Words> &blocks) {
  void *buffers[] = {&seen, &blocks};
  for (int64_t b = 0; b < partition.blocks; ++b)
    partition.run(
        {buffers, nullptr, nullptr, nullptr, nullptr, 0},
        [](const Frame *frame, int64_t begin, int64_t end, int64_t owner, int64_t block) {
          for (int64_t i = begin; i < end; ++i)
            ++static_cast<Words *>(frame->buffers[0])->at(i);
          static_cast<std::vector<Words> *>(frame->buffers[1])->push_back({begin, end, owner, block});
        },
        b);
}

TEST(Partition, Rows) {
  for (int64_t rows : {0, 1, 63, 64, 65, 1000, 4097, 100000, 5000000})
    for (bool merged : {false, true}) {
      Partition partition = partitionRows(rows, merged);
      Words seen(rows);
      std::vector<Words> blocks;
      cover(partition, seen, blocks);
      EXPECT_EQ(seen, Words(rows, 1));
      for (size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_LT(blocks[i][0], blocks[i][1]);
        EXPECT_EQ(blocks[i][2], -1);
        EXPECT_EQ(blocks[i][3], static_cast<int64_t>(i));
      }
      EXPECT_LE(merged ? partition.blocks : partition.blockRows, merged ? kMaxMergedBlocks : 4096);
    }
  EXPECT_EQ(partitionRows(0, false).blocks, 0);
  EXPECT_EQ(partitionRows(64, false).blocks, 1);
  EXPECT_EQ(partitionRows(65, false).blocks, 2);
  EXPECT_EQ(partitionRows(1 << 20, false).blocks, 256);
}

TEST(Partition, BlocksWithLargePartialResultsHaveMoreRows) {
  EXPECT_FALSE(isLargeMerge(16383));
  EXPECT_TRUE(isLargeMerge(16384));
  for (int64_t elements : {0, 1433, 16383})
    EXPECT_EQ(partitionRows(2708, true, elements).blockRows, 64);
  EXPECT_EQ(partitionRows(2708, true, 1433 * 16).blockRows, 176);
  EXPECT_EQ(partitionRows(2708, true, 1433 * 16).blocks, 16);
  EXPECT_EQ(partitionRows(60, true, 1433 * 16).blocks, 1);
  EXPECT_EQ(partitionRows(20000, true, 1433 * 16).blockRows, 512);
  EXPECT_EQ(partitionRows(1 << 20, true, 1433 * 16).blockRows, partitionRows(1 << 20, true).blockRows);
  EXPECT_EQ(partitionRows(2708, false, 1433 * 16).blockRows, 64); // nothing is merged
}

class GroupedPartition : public ::testing::TestWithParam<unsigned> {
protected:
  /// Owners with degrees that differ much; some without members.
  GroupedPartition() {
    std::mt19937 random(GetParam());
    int64_t owners = GetParam() % 4 == 0 ? 0 : random() % 3000;
    pointers.push_back(0);
    for (int64_t j = 0; j < owners; ++j) {
      int64_t degree = random() % 5 == 0 ? 0 : random() % 10;
      if (random() % 500 == 0)
        degree = 20000;
      pointers.push_back(static_cast<int32_t>(pointers.back() + degree));
    }
    grouping.pointers = pointers.data();
    grouping.owners = owners;
    grouping.count = pointers.back();
  }

  std::vector<int32_t> pointers;
  Grouping grouping;
  Memory memory{defaultAllocator()};
  Partition partition;
  std::vector<Words> blocks;
};

TEST_P(GroupedPartition, Sweep) {
  ASSERT_TRUE(partitionSweep(grouping, memory, partition));
  Words seen(grouping.owners);
  cover(partition, seen, blocks);
  EXPECT_EQ(seen, Words(grouping.owners, 1));
  int64_t total = grouping.count + grouping.owners, target = std::max<int64_t>(1024, (total + 255) / 256);
  EXPECT_LE(partition.blocks, 256);
  // Heavy blocks start first; the numbers of blocks follow their owners all the same.
  bool light = false;
  for (Words &block : blocks) {
    bool heavy = pointers[block[1]] - pointers[block[0]] + block[1] - block[0] > 2 * target;
    EXPECT_FALSE(heavy && light);
    light |= !heavy;
  }
  std::sort(blocks.begin(), blocks.end());
  int64_t next = 0, number = 0;
  for (Words &block : blocks) {
    EXPECT_EQ(block[3], number++);
    EXPECT_EQ(block[0], next);
    EXPECT_LT(block[0], block[1]);
    next = block[1];
    // Without its last owner, who may be heavy, a block is not larger than the target.
    int64_t weight = pointers[block[1] - 1] - pointers[block[0]] + block[1] - 1 - block[0];
    EXPECT_LE(weight, target);
  }
}

TEST_P(GroupedPartition, Grouped) {
  for (bool merged : {false, true}) {
    blocks.clear();
    ASSERT_TRUE(partitionGrouped(grouping, merged, memory, partition));
    Words seen(grouping.count);
    cover(partition, seen, blocks);
    EXPECT_EQ(seen, Words(grouping.count, 1));
    for (Words &block : blocks) {
      EXPECT_LT(block[0], block[1]);
      EXPECT_GE(block[0], pointers[block[2]]);
      EXPECT_LE(block[1], pointers[block[2] + 1]);
      if (!merged) {
        EXPECT_LE(block[1] - block[0], 1024);
      }
    }
    if (merged) {
      EXPECT_LE(partition.blocks, kMaxMergedBlocks + grouping.owners);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Degrees, GroupedPartition, ::testing::Range(0u, 24u));

} // namespace
