//===- NodeOrderTest.cpp --------------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/NodeOrder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace gnnc;

namespace {

struct Edges {
  int64_t nodes;
  std::vector<int32_t> src, dst;
  EdgeList list() const { return {nodes, src, dst}; }
};

/// Communities of 256 nodes with most edges inside, their numbers shuffled.
Edges communities(int64_t nodes, int64_t edges) {
  std::mt19937 random(7);
  std::vector<int32_t> number(nodes);
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), random);
  Edges found{nodes, {}, {}};
  for (int64_t i = 0; i < edges; ++i) {
    int64_t a = random() % nodes, b = random() % 8 ? a / 256 * 256 + random() % 256 : random() % nodes;
    found.src.push_back(number[a]);
    found.dst.push_back(number[b]);
  }
  return found;
}

bool isPermutation(std::vector<int32_t> order, int64_t nodes) {
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < int64_t(order.size()); ++i)
    if (order[i] != i)
      return false;
  return int64_t(order.size()) == nodes;
}

double localityIn(const Edges &edges, const std::vector<int32_t> &order, int64_t window) {
  std::vector<int32_t> number(edges.nodes), src, dst;
  for (int64_t i = 0; i < edges.nodes; ++i)
    number[order[i]] = int32_t(i);
  for (int32_t node : edges.src)
    src.push_back(number[node]);
  for (int32_t node : edges.dst)
    dst.push_back(number[node]);
  return gatherLocality(edges.nodes, dst, src, window);
}

class NodeOrder : public testing::TestWithParam<NodeOrderKind> {};

TEST_P(NodeOrder, IsAPermutationAndAlwaysTheSame) {
  for (const Edges &edges : {communities(4096, 40000), Edges{5, {0, 1, 1}, {0, 2, 2}}, Edges{3, {}, {}},
                             Edges{0, {}, {}}, Edges{1, {0}, {0}}}) {
    auto first = findNodeOrder(GetParam(), edges.list());
    ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
    EXPECT_TRUE(isPermutation(*first, edges.nodes)) << edges.nodes;
    EXPECT_EQ(*first, llvm::cantFail(findNodeOrder(GetParam(), edges.list())));
  }
}

INSTANTIATE_TEST_SUITE_P(All, NodeOrder,
                         testing::Values(NodeOrderKind::Metis, NodeOrderKind::RCM, NodeOrderKind::Degree));

TEST(NodeOrder, OfPartsKeepsCommunitiesTogether) {
  Edges edges = communities(8192, 100000);
  std::vector<int32_t> asIs(edges.nodes);
  std::iota(asIs.begin(), asIs.end(), 0);
  double before = localityIn(edges, asIs, 2048);
  double after = localityIn(edges, llvm::cantFail(findNodeOrder(NodeOrderKind::Metis, edges.list())), 2048);
  EXPECT_LT(before, 0.3);
  EXPECT_GT(after, 0.6);
}

TEST(NodeOrder, ByDegreeBeginsWithHubs) {
  Edges star{5, {0, 1, 2, 4, 0}, {3, 3, 3, 3, 1}}; // degrees 2, 2, 1, 4, 1
  EXPECT_EQ(llvm::cantFail(findNodeOrder(NodeOrderKind::Degree, star.list())), (std::vector<int32_t>{3, 0, 1, 2, 4}));
}

TEST(NodeOrder, OfCuthillMcKeeFollowsAPath) {
  Edges path{6, {4, 2, 0, 5, 1}, {2, 0, 5, 1, 3}}; // 4 2 0 5 1 3
  std::vector<int32_t> order = llvm::cantFail(findNodeOrder(NodeOrderKind::RCM, path.list()));
  if (order.front() == 3)
    std::reverse(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int32_t>{4, 2, 0, 5, 1, 3}));
}

TEST(GatherLocality, CountsWhatWasGatheredShortlyBefore) {
  std::vector<int32_t> owner{1, 0, 1, 0, 2}, member{7, 7, 3, 4, 7};
  // Walked: 7 4 | 7 3 | 7.
  EXPECT_DOUBLE_EQ(gatherLocality(8, owner, member, 2), 2.0 / 5);
  EXPECT_DOUBLE_EQ(gatherLocality(8, owner, member, 1), 0);
  EXPECT_DOUBLE_EQ(gatherLocality(8, {}, {}, 1), 1);
}

TEST(NodeOrder, HasNames) {
  EXPECT_EQ(parseNodeOrderKind("rcm"), NodeOrderKind::RCM);
  EXPECT_EQ(parseNodeOrderKind("hilbert"), std::nullopt);
}

} // namespace
