//===- PartitionTest.cpp --------------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/Partition.h"
#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace gnnc;

namespace {

constexpr PartitionKind kKinds[] = {PartitionKind::Metis, PartitionKind::Contiguous, PartitionKind::Random};

/// Nodes and edges with src and dst; and chosen nodes with a map that is undefined on some.
GraphStructure randomStructure(int64_t nodes, int64_t edges, unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t count) {
    std::vector<int32_t> targets(static_cast<size_t>(nodes ? count : 0));
    for (int32_t &target : targets)
      target = int32_t(random() % uint64_t(nodes));
    return targets;
  };
  GraphStructure graph;
  std::vector<int32_t> src = draw(edges), dst = draw(edges), chosen = draw(5);
  if (!chosen.empty())
    chosen[2] = -1;
  graph.spaces = {
      {"node", nodes, {}}, {"edge", int64_t(src.size()), {}}, {"train", int64_t(chosen.size()), std::nullopt}};
  graph.maps = {{"src", 1, 0, src}, {"dst", 1, 0, dst}, {"train_idx", 2, 0, chosen}};
  graph.chooseAlong();
  return graph;
}

/// Everything that a partition promises.
void check(const GraphStructure &graph, const GraphPartition &partition) {
  int parts = partition.parts();
  for (auto [s, space] : llvm::enumerate(graph.spaces)) {
    // Every element is in exactly one part, by rising number.
    std::vector<int> times(size_t(space.extent), 0);
    for (int rank = 0; rank < parts; ++rank) {
      const PartOfSpace &part = partition.part(s, rank);
      EXPECT_TRUE(llvm::is_sorted(partition.own(s, rank)));
      EXPECT_EQ(int64_t(partition.own(s, rank).size()), partition.ownCount(s, rank));
      for (int32_t element : partition.own(s, rank)) {
        ++times[size_t(element)];
        EXPECT_EQ(partition.ownerOf(s, element), rank);
      }
      EXPECT_EQ(std::accumulate(part.sentCounts.begin(), part.sentCounts.end(), size_t(0)), part.sent.size());
      EXPECT_EQ(std::accumulate(part.haloCounts.begin(), part.haloCounts.end(), size_t(0)), part.halo.size());
    }
    EXPECT_TRUE(llvm::all_of(times, [](int n) { return n == 1; }));

    // What one sends is what the other has in its halo, in the same order; nobody sends to itself.
    std::vector<size_t> sentBefore(size_t(parts), 0);
    for (int to = 0; to < parts; ++to) {
      const PartOfSpace &receiver = partition.part(s, to);
      size_t received = 0;
      for (int from = 0; from < parts; ++from) {
        const PartOfSpace &sender = partition.part(s, from);
        EXPECT_EQ(sender.sentCounts[size_t(to)], receiver.haloCounts[size_t(from)]);
        if (from == to) {
          EXPECT_EQ(sender.sentCounts[size_t(to)], 0);
        }
        for (int32_t i = 0; i < receiver.haloCounts[size_t(from)]; ++i)
          EXPECT_EQ(partition.own(s, from)[size_t(sender.sent[sentBefore[size_t(from)]++])], receiver.halo[received++]);
      }
    }
  }
  for (auto [m, map] : llvm::enumerate(graph.maps))
    for (int rank = 0; rank < parts; ++rank) {
      const PartOfSpace &to = partition.part(map.to, rank);
      llvm::ArrayRef<int32_t> from = partition.own(map.from, rank), own = partition.own(map.to, rank);
      std::vector<int32_t> targets = partition.localTargets(m, rank);
      ASSERT_EQ(targets.size(), from.size());
      for (auto [element, target] : llvm::zip_equal(from, targets)) {
        int32_t global = map.targets[size_t(element)];
        if (global < 0) {
          EXPECT_EQ(target, -1);
          continue;
        }
        bool isOwn = size_t(target) < own.size();
        EXPECT_EQ(isOwn ? own[size_t(target)] : to.halo[size_t(target) - own.size()], global);
        if (graph.spaces[map.from].along == m) {
          EXPECT_TRUE(isOwn) << "element " << element << " is not with its owner";
        }
      }
    }
}

TEST(Partition, KeepsItsPromisesOnRandomGraphs) {
  for (PartitionKind kind : kKinds)
    for (int parts : {1, 2, 3, 7})
      for (auto [nodes, edges] : {std::pair(200, 900), std::pair(40, 0), std::pair(1, 9), std::pair(0, 0)}) {
        SCOPED_TRACE(testing::Message() << int(kind) << ", " << parts << " parts, " << nodes << " nodes");
        GraphStructure graph = randomStructure(nodes, edges, unsigned(parts + nodes));
        GraphPartition partition = llvm::cantFail(GraphPartition::create(graph, parts, kind));
        check(graph, partition);
        // The same with the elements of one part at a time, or of a few.
        for (int64_t listed : {0, 300}) {
          GraphPartition narrow = llvm::cantFail(GraphPartition::create(graph, parts, kind, listed));
          check(graph, narrow);
          EXPECT_EQ(narrow.digest(), partition.digest());
        }
      }
}

TEST(Partition, TakesMorePartsThanNodes) {
  for (PartitionKind kind : kKinds) {
    GraphStructure graph = randomStructure(3, 8, 1);
    check(graph, llvm::cantFail(GraphPartition::create(graph, 5, kind)));
  }
}

TEST(Partition, GivesEachPartOneNode) {
  GraphStructure graph = randomStructure(6, 0, 1);
  graph.maps[2].targets = std::vector<int32_t>(5, -1);
  GraphPartition partition = llvm::cantFail(GraphPartition::create(graph, 6, PartitionKind::Contiguous));
  check(graph, partition);
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(partition.own(0, rank).vec(), std::vector<int32_t>{rank});
}

TEST(Partition, IsTheOneThatIsGiven) {
  GraphStructure graph = randomStructure(6, 20, 1);
  std::vector<std::vector<int32_t>> owners(graph.spaces.size());
  for (auto [of, space] : llvm::zip_equal(owners, graph.spaces))
    for (int32_t element = 0; element < space.extent && !space.along; ++element)
      of.push_back(element % 2 ? 3 : 1); // two of the parts are empty
  GraphPartition partition = llvm::cantFail(GraphPartition::create(graph, 4, owners));
  check(graph, partition);
  EXPECT_EQ(partition.own(0, 1).vec(), (std::vector<int32_t>{0, 2, 4}));
  EXPECT_EQ(partition.own(0, 3).vec(), (std::vector<int32_t>{1, 3, 5}));
  auto error = [&] { return llvm::toString(GraphPartition::create(graph, 4, owners).takeError()); };
  owners[0][2] = 4;
  EXPECT_EQ(error(), "space 'node': expected an owner below 4, found 4 for element 2");
  owners[0].pop_back();
  EXPECT_EQ(error(), "space 'node': expected owners of 6 elements, found 5");
  owners.pop_back();
  EXPECT_NE(error().find("expected owners for "), std::string::npos);
}

/// Edges, with one of two maps chosen: they go along dst if nothing is said.
TEST(Partition, GoesAlongTheMapThatIsAskedFor) {
  GraphStructure graph = randomStructure(50, 200, 3);
  EXPECT_EQ(graph.spaces[1].along, std::optional<size_t>(1));
  graph.spaces[1].along = 0;
  check(graph, llvm::cantFail(GraphPartition::create(graph, 3, PartitionKind::Metis)));
}

/// Two kinds of nodes with edges between them, and nodes that belong to graphs: maps between spaces that are divided.
TEST(Partition, DividesSeveralSpacesTogether) {
  std::mt19937 random(5);
  auto draw = [&](int64_t count, int below) {
    std::vector<int32_t> targets(static_cast<size_t>(count));
    for (int32_t &target : targets)
      target = int32_t(random() % unsigned(below));
    return targets;
  };
  GraphStructure graph;
  graph.spaces = {{"user", 60, {}}, {"item", 20, {}}, {"rated", 300, {}}, {"graph", 4, std::nullopt}};
  graph.maps = {{"rated.src", 2, 0, draw(300, 60)}, {"rated.dst", 2, 1, draw(300, 20)}, {"batch", 0, 3, draw(60, 4)}};
  graph.chooseAlong();
  EXPECT_EQ(graph.spaces[2].along, std::optional<size_t>(1));
  EXPECT_FALSE(graph.spaces[0].along);
  for (PartitionKind kind : kKinds) {
    GraphPartition partition = llvm::cantFail(GraphPartition::create(graph, 3, kind));
    check(graph, partition);
    EXPECT_TRUE(partition.hasHalo(0));
    EXPECT_FALSE(partition.hasHalo(1));
    EXPECT_TRUE(partition.hasHalo(3));
  }
  // Whole graphs stay together if their nodes go along.
  graph.spaces[0].along = 2;
  GraphPartition partition = llvm::cantFail(GraphPartition::create(graph, 2, PartitionKind::Metis));
  check(graph, partition);
  EXPECT_FALSE(partition.hasHalo(3));
}

/// Two cliques and an edge between them.
TEST(Partition, CutsFewEdgesWithMetis) {
  GraphStructure graph;
  std::vector<int32_t> src{0}, dst{39};
  for (int32_t half : {0, 20})
    for (int32_t a = 0; a < 20; ++a)
      for (int32_t b = 0; b < 20; ++b)
        if (a != b) {
          // Even numbers are one clique, odd ones the other.
          src.push_back(2 * a + (half > 0));
          dst.push_back(2 * b + (half > 0));
        }
  graph.spaces = {{"node", 40, {}}, {"edge", int64_t(src.size()), std::nullopt}};
  graph.maps = {{"src", 1, 0, src}, {"dst", 1, 0, dst}};
  graph.chooseAlong();
  GraphPartition partition = llvm::cantFail(GraphPartition::create(graph, 2, PartitionKind::Metis));
  check(graph, partition);
  EXPECT_EQ(partition.own(0, 0).size(), 20u);
  EXPECT_EQ(partition.part(0, 0).halo.size() + partition.part(0, 1).halo.size(), 1u);
  EXPECT_EQ(partition.digest(), llvm::cantFail(GraphPartition::create(graph, 2, PartitionKind::Metis)).digest());
}

/// Another source of one edge: the owners are the same, what is sent is not.
TEST(Partition, TellsPartitionsApart) {
  GraphStructure graph = randomStructure(50, 200, 3), other = graph;
  std::vector<int32_t> sources(graph.maps[0].targets.begin(), graph.maps[0].targets.end());
  sources[7] = (sources[7] + 25) % 50;
  other.maps[0].targets = sources;
  auto digest = [](const GraphStructure &of, int parts) {
    return llvm::cantFail(GraphPartition::create(of, parts, PartitionKind::Contiguous)).digest();
  };
  EXPECT_EQ(digest(graph, 2), digest(graph, 2));
  EXPECT_NE(digest(graph, 2), digest(other, 2));
  EXPECT_NE(digest(graph, 2), digest(graph, 3));
}

/// Only METIS has a limit of all elements and targets.
TEST(Partition, SaysWhoseLimitItIs) {
  GraphStructure graph;
  graph.spaces = {{"node", 1 << 20, {}}, {"edge", INT32_MAX, 0}};
  graph.maps = {{"dst", 1, 0, {}}};
  EXPECT_EQ(llvm::toString(GraphPartition::create(graph, 2, PartitionKind::Metis).takeError()),
            "METIS: expected fewer than 2^31 elements and targets of maps, found 2148532223; --by contiguous and --by "
            "random have no such limit");
  graph.spaces = {{"user", INT32_MAX, {}}, {"item", 1, std::nullopt}};
  graph.maps.clear();
  EXPECT_EQ(llvm::toString(GraphPartition::create(graph, 2, PartitionKind::Random).takeError()),
            "expected fewer than 2^31 elements of spaces that go along no map, found 2147483648");
  EXPECT_EQ(llvm::toString(GraphPartition::create(graph, kMostRanks + 1, PartitionKind::Random).takeError()),
            "expected 1 to 4096 parts, found 4097");
}

TEST(Partition, SaysHowItWasMade) {
  GraphStructure graph = randomStructure(200, 900, 1);
  EXPECT_EQ(llvm::cantFail(GraphPartition::create(graph, 4, PartitionKind::Metis)).kind(), PartitionKind::Metis);
  EXPECT_EQ(llvm::cantFail(GraphPartition::create(graph, 64, PartitionKind::Metis)).kind(), PartitionKind::Contiguous);
}

TEST(Partition, SaysWhatGoesInCircles) {
  GraphStructure graph;
  graph.spaces = {{"a", 2, 0}, {"b", 2, 1}};
  graph.maps = {{"f", 0, 1, {0, 1}}, {"g", 1, 0, {0, 1}}};
  EXPECT_EQ(llvm::toString(GraphPartition::create(graph, 2, PartitionKind::Random).takeError()),
            "space 'a' depends on itself through its maps");
}

} // namespace
