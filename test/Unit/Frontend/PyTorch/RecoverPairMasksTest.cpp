//===- RecoverPairMasksTest.cpp - Graphs that pairs of elements make ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

/// x: [N, 4], the numbers of its rows' graphs, and the products of all pairs of rows.
ProgramBuilder products() {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("batch", {"N"});
  b.node("t", "t.default", {arg("self", "x")}, {"4", "N"});
  b.node("pairs", "matmul.default", {arg("self", "x"), arg("other", "t")}, {"N", "N"});
  return b;
}

ProgramBuilder &sameGraph(ProgramBuilder &b) {
  b.integerNode("rows", "unsqueeze.default", {arg("self", "batch"), arg("dim", 1)}, {"N", "1"});
  b.integerNode("columns", "unsqueeze.default", {arg("self", "batch"), arg("dim", 0)}, {"1", "N"});
  return b.maskNode("same", "eq.Tensor", {arg("self", "rows"), arg("other", "columns")}, {"N", "N"});
}

/// What the rows of the edges where `mask` is true add up to.
std::string ofEdges(ProgramBuilder &b, const char *mask) {
  b.integerNode("places", "nonzero.default", {arg("self", mask)}, {"u0", "2"});
  b.integerNode("i", "select.int", {arg("self", "places"), arg("dim", 1), arg("index", 0)}, {"u0"});
  b.integerNode("j", "select.int", {arg("self", "places"), arg("dim", 1), arg("index", 1)}, {"u0"});
  b.node("message", "index.Tensor", {arg("self", "x"), list("indices", {"j"})}, {"u0", "4"});
  b.node("zeros", "zeros_like.default", {arg("self", "x")}, {"N", "4"});
  b.node("y", "index_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "i"), arg("source", "message")},
         {"N", "4"});
  return b.output("y").text();
}

TEST(RecoverPairMasksTest, PlacesOfAMaskAreEdges) {
  ProgramBuilder b = products();
  b.maskNode("near", "gt.Scalar", {arg("self", "pairs"), arg("other", 1)}, {"N", "N"});
  std::string text = ofEdges(b, "near");
  EXPECT_NE(text.find("space pair = pairs(node)"), std::string::npos) << text;
  EXPECT_NE(text.find("space kept = filter(pair, x.pair.dst @ x.pair.src > 1)"), std::string::npos) << text;
  EXPECT_NE(text.find("output y = sum(x.kept_node, along: kept_node2)"), std::string::npos) << text;
}

TEST(RecoverPairMasksTest, OnlyPairsThatAgreeAreTried) {
  ProgramBuilder b = products();
  sameGraph(b).maskNode("near", "gt.Scalar", {arg("self", "pairs"), arg("other", 1)}, {"N", "N"});
  b.maskNode("both", "__and__.Tensor", {arg("self", "near"), arg("other", "same")}, {"N", "N"});
  std::string text = ofEdges(b, "both");
  EXPECT_NE(text.find("space pair = pairs(batch)"), std::string::npos) << text;
  EXPECT_NE(text.find("space kept = filter(pair, x.pair.dst @ x.pair.src > 1)"), std::string::npos) << text;
}

TEST(RecoverPairMasksTest, AllPairsOfAGraphNeedNoChoice) {
  ProgramBuilder b = products();
  std::string text = ofEdges(sameGraph(b), "same");
  EXPECT_EQ(text.find("filter"), std::string::npos) << text;
  EXPECT_NE(text.find("sum(x.pair.src, along: pair.dst)"), std::string::npos) << text;
}

TEST(RecoverPairMasksTest, NumbersOfPairsAreComputedOnTheEdgesThatReadThem) {
  ProgramBuilder b = products();
  b.integers("i", {"E"}).integers("j", {"E"});
  b.node("y", "index.Tensor", {arg("self", "pairs"), list("indices", {"i", "j"})}, {"E"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("pairs("), std::string::npos) << text;
  EXPECT_NE(text.find("output y = x.i @ x.j"), std::string::npos) << text;
}

TEST(RecoverPairMasksTest, NumbersThatAllPairsShareAreNotReadAtSome) {
  ProgramBuilder b = products();
  b.integers("i", {"E"}).integers("j", {"E"});
  b.node("sums", "cumsum.default", {arg("self", "pairs"), arg("dim", 1)}, {"N", "N"});
  b.node("y", "index.Tensor", {arg("self", "sums"), list("indices", {"i", "j"})}, {"E"});
  EXPECT_EQ(b.output("y").text().rfind("refused: ", 0), 0u) << b.text();
}

/// Random numbers are drawn for the whole matrix, so that they are those of eager PyTorch: pairs read them by their
/// places.
TEST(RecoverPairMasksTest, NumbersThatAreDrawnForAPairAreReadAtItsPlace) {
  ProgramBuilder b = products();
  b.input("mask", {"N*N"});
  b.node("kept", "drawn.default", {arg("self", "pairs"), arg("numbers", "mask")}, {"N", "N"});
  b.program.graph.nodes.back().target = "torch.ops.gnnc.drawn.default";
  b.node("y", "matmul.default", {arg("self", "kept"), arg("other", "x")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("pairs("), std::string::npos) << text;
  EXPECT_NE(text.find("from div(arange(0, mul(size(x, 0), size(x, 0)), 1), maximum(size(x, 0), 1))"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("size(mask"), std::string::npos) << text;
}

/// The rows that the best columns of `scores` name, added up.
ProgramBuilder &ofBest(ProgramBuilder &b, const char *scores, bool largest) {
  b.node("values", "topk.default", {arg("self", scores), arg("k", 3), arg("dim", -1), arg("largest", largest)},
         {"N", "3"});
  b.second("best", {"N", "3"}, ScalarType::Int64);
  b.node("rows", "index.Tensor", {arg("self", "x"), list("indices", {"best"})}, {"N", "3", "4"});
  b.node("y", "sum.dim_IntList", {arg("self", "rows"), ints("dim", {1})}, {"N", "4"});
  b.output("y").grids();
  b.gridOptions.chosen = {3};
  return b;
}

TEST(RecoverPairMasksTest, TheBestColumnsAreATopk) {
  ProgramBuilder b = products();
  std::string text = ofBest(b, "pairs", true).text();
  EXPECT_NE(text.find("space near = topk(x.pair.dst @ x.pair.src, k: 3, along: pair.dst)"), std::string::npos) << text;
  EXPECT_NE(text.find("along: near.dst)"), std::string::npos) << text;
}

TEST(RecoverPairMasksTest, OrdersOfDistancesAreSearches) {
  ProgramBuilder b = products();
  b.node("d", "_cdist_forward.default", {arg("x1", "x"), arg("x2", "x"), arg("p", 2.0)}, {"N", "N"});
  ProgramBuilder other = b;
  std::string text = ofBest(b, "d", false).text();
  EXPECT_NE(text.find("space near = knn(x, k: 3, self: true)"), std::string::npos) << text;
  // The farthest are no neighbours.
  text = ofBest(other, "d", true).text();
  EXPECT_EQ(text.find("knn"), std::string::npos) << text;
  // |x_j|^2 - 2 x_i x_j
  ProgramBuilder third = products();
  third.node("squares", "square.default", {arg("self", "x")}, {"N", "4"});
  third.node("norms", "sum.dim_IntList", {arg("self", "squares"), ints("dim", {1})}, {"N"});
  third.node("twice", "mul.Tensor", {arg("self", "pairs"), arg("other", 2)}, {"N", "N"});
  ProgramBuilder wrong = third;
  third.node("scores", "sub.Tensor", {arg("self", "twice"), arg("other", "norms")}, {"N", "N"});
  text = ofBest(third, "scores", true).text();
  EXPECT_NE(text.find("space near = knn(x, k: 3, self: true)"), std::string::npos) << text;
  wrong.node("scores", "add.Tensor", {arg("self", "twice"), arg("other", "norms")}, {"N", "N"});
  text = ofBest(wrong, "scores", true).text();
  EXPECT_EQ(text.find("knn"), std::string::npos) << text;
}

TEST(RecoverPairMasksTest, TablesOfChosenColumnsNeedAnAxisOfElements) {
  ProgramBuilder b = products();
  ofBest(b, "pairs", true);
  b.gridOptions = {};
  EXPECT_EQ(b.text(), "refused: its indices select elements along an axis of features");
}

} // namespace
