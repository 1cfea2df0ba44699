//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Topology.h"
#include "TestModel.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <optional>

using namespace gnnc;
using namespace gnnc::runtime;
using namespace gnnc::table;
using namespace gnnc::test;

namespace {

/// Remaining self loops (GCN, GAT) and R-GCN's pairs, on one graph.
class TopologyTest : public ::testing::TestWithParam<unsigned> {
protected:
  TopologyTest() : graph(GetParam()) {
    node = b.root("node");
    edge = b.root("edge");
    type = b.fixed("edge_type", graph.types);
    src = b.rootMap("src", edge, node);
    dst = b.rootMap("dst", edge, node);
    etype = b.rootMap("etype", edge, type);
    real = b.filter("real", edge, src, dst, false);
    loop = b.filter("loop", edge, src, dst, true);
    realEdge = b.map(MapKind::Inclusion, "real.edge", real, edge);
    loopEdge = b.map(MapKind::Inclusion, "loop.edge", loop, edge);
    realSrc = b.map(MapKind::Compose, "real.src", real, node, {realEdge, src});
    realDst = b.map(MapKind::Compose, "real.dst", real, node, {realEdge, dst});
    loopDst = b.map(MapKind::Compose, "loop.dst", loop, node, {loopEdge, dst});
    last = b.map(MapKind::Last, "last", node, loop, {loopDst}, 0, true);
    lastEdge = b.map(MapKind::Compose, "last.edge", node, edge, {last, loopEdge}, 0, true);
    ring = b.unite("ring", {real, node});
    ringSrc = b.map(MapKind::Parts, "ring.src", ring, node, {realSrc, kIdentity});
    ringDst = b.map(MapKind::Parts, "ring.dst", ring, node, {realDst, kIdentity});
    ringOld = b.map(MapKind::Parts, "ring.old", ring, edge, {realEdge, lastEdge}, 0, true);
    ringReal = b.map(MapKind::Part, "ring.real", ring, real, {}, 0, true);
    ringNode = b.map(MapKind::Part, "ring.node", ring, node, {}, 1, true);
    ringNone = b.map(MapKind::Parts, "ring.none", ring, node, {kUndefined, kIdentity}, 0, true);
    nodeRing = b.map(MapKind::Injection, "node.ring", node, ring, {}, 1);
    pair = b.distinct("pair", edge, {dst, etype});
    pairOf = b.map(MapKind::Class, "pair.of", edge, pair);
    pairDst = b.map(MapKind::Projection, "pair.dst", pair, node, {}, 0);
    pairType = b.map(MapKind::Projection, "pair.type", pair, type, {}, 1);
    triple = b.distinct("triple", edge, {dst, etype, src});
    tripleOf = b.map(MapKind::Class, "triple.of", edge, triple);
    data.extent("node", graph.nodes);
    data.extent("edge", graph.edges());
    data.each("src", graph.src, 32);
    data.each("dst", graph.dst, 64);
    data.each("etype", graph.type, GetParam() % 2 ? 32 : 64);
  }

  void build() {
    model = b.build();
    topology.emplace(model, memory, &error);
    extents.resize(model.header().numSpaces);
    ASSERT_EQ(topology->build(data.desc(), extents.data()), GNNC_OK) << error.message;
  }

  Words values(int64_t map) {
    const int32_t *targets = topology->maps[map].targets;
    return Words(targets, targets + extents[model.map(map).from]);
  }

  RandomGraph graph;
  ModelBuilder b;
  GraphData data;
  Model model;
  gnnc_error error;
  Memory memory{defaultAllocator()};
  std::optional<Topology> topology;
  Words extents;
  int64_t node, edge, type, src, dst, etype, real, loop, realEdge, loopEdge, realSrc, realDst, loopDst, last, lastEdge;
  int64_t ring, ringSrc, ringDst, ringOld, ringReal, ringNode, ringNone, nodeRing;
  int64_t pair, pairOf, pairDst, pairType, triple, tripleOf;
};

TEST_P(TopologyTest, RemainingSelfLoops) {
  build();
  Words expectedSrc, expectedDst, expectedOld, expectedLast(graph.nodes, -1), lastOf(graph.nodes, -1);
  int64_t loops = 0;
  for (int64_t e = 0; e < graph.edges(); ++e) {
    if (graph.src[e] == graph.dst[e]) {
      expectedLast[graph.dst[e]] = loops++;
      lastOf[graph.dst[e]] = e;
      continue;
    }
    expectedSrc.push_back(graph.src[e]);
    expectedDst.push_back(graph.dst[e]);
    expectedOld.push_back(e);
  }
  int64_t reals = static_cast<int64_t>(expectedSrc.size());
  EXPECT_EQ(values(realEdge), expectedOld);
  EXPECT_EQ(values(realSrc), expectedSrc);
  for (int64_t v = 0; v < graph.nodes; ++v) {
    expectedSrc.push_back(v);
    expectedDst.push_back(v);
    expectedOld.push_back(lastOf[v]);
  }
  EXPECT_EQ(extents[real], reals);
  EXPECT_EQ(extents[loop], loops);
  EXPECT_EQ(extents[ring], reals + graph.nodes);
  Words expectedIn;
  for (int64_t v = 0; v < graph.nodes; ++v)
    expectedIn.push_back(reals + v);
  EXPECT_EQ(values(nodeRing), expectedIn);
  EXPECT_EQ(values(last), expectedLast);
  EXPECT_EQ(values(lastEdge), lastOf);
  EXPECT_EQ(values(ringSrc), expectedSrc);
  EXPECT_EQ(values(ringDst), expectedDst);
  EXPECT_EQ(values(ringOld), expectedOld);
  for (int64_t i = 0; i < extents[ring]; ++i) {
    EXPECT_EQ(values(ringReal)[i], i < reals ? i : -1);
    EXPECT_EQ(values(ringNode)[i], i < reals ? -1 : i - reals);
    EXPECT_EQ(values(ringNone)[i], i < reals ? -1 : i - reals);
  }
}

TEST_P(TopologyTest, DistinctTuples) {
  build();
  std::map<Words, int64_t> pairs, triples; // ordered as the space must be
  for (int64_t e = 0; e < graph.edges(); ++e) {
    pairs[{graph.dst[e], graph.type[e]}] = 0;
    triples[{graph.dst[e], graph.type[e], graph.src[e]}] = 0;
  }
  int64_t number = 0;
  for (auto &[tuple, element] : pairs)
    element = number++;
  number = 0;
  for (auto &[tuple, element] : triples)
    element = number++;
  ASSERT_EQ(extents[pair], static_cast<int64_t>(pairs.size()));
  ASSERT_EQ(extents[triple], static_cast<int64_t>(triples.size()));
  Words ofPair = values(pairOf), ofTriple = values(tripleOf);
  for (int64_t e = 0; e < graph.edges(); ++e) {
    EXPECT_EQ(ofPair[e], (pairs[{graph.dst[e], graph.type[e]}]));
    EXPECT_EQ(ofTriple[e], (triples[{graph.dst[e], graph.type[e], graph.src[e]}]));
  }
  for (auto &[tuple, element] : pairs) {
    EXPECT_EQ(values(pairDst)[element], tuple[0]);
    EXPECT_EQ(values(pairType)[element], tuple[1]);
  }
}

TEST_P(TopologyTest, RowsAndEachAgree) {
  // Edges in the order of their targets, given as rows and as targets.
  std::sort(graph.dst.begin(), graph.dst.end());
  Words pointers(graph.nodes + 1);
  for (int64_t target : graph.dst)
    ++pointers[target + 1];
  for (int64_t v = 0; v < graph.nodes; ++v)
    pointers[v + 1] += pointers[v];
  data.indices.erase(data.indices.begin() + 1);
  data.rows("dst", pointers, GetParam() % 2 ? 64 : 32);
  build();
  EXPECT_EQ(values(dst), graph.dst);
}

INSTANTIATE_TEST_SUITE_P(Graphs, TopologyTest, ::testing::Range(0u, 60u));

} // namespace
