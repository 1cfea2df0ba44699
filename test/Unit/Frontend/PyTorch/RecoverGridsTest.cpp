//===- RecoverGridsTest.cpp - Tensors with several axes of elements -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x of [batch, nodes, features]: which maps views, gathers and sums become, and what stays as it is.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

/// x of [B, N, 4] and edge_index of [2, E], with its rows s and d.
ProgramBuilder batch() {
  ProgramBuilder b;
  b.input("x", {"B", "N", "4"}).integers("edge_index", {"2", "E"}).grids();
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.integerNode("d", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 1)}, {"E"});
  return b;
}

TEST(RecoverGridsTest, ElementsOfABatchAreOneSpace) {
  ProgramBuilder b = batch();
  b.node("y", "relu.default", {arg("self", "x")}, {"B", "N", "4"});
  EXPECT_EQ(b.output("y").missing(
                {"space node from mul(size(x, 0), size(x, 1))", "  input x: node[in = 4]", "  output y = relu(x)"}),
            "");
}

TEST(RecoverGridsTest, WithoutGridsTheyAreRefused) {
  ProgramBuilder b = batch();
  b.gridOptions = {};
  b.node("y", "relu.default", {arg("self", "x")}, {"B", "N", "4"});
  EXPECT_NE(b.output("y").text().find("has two axes whose sizes are not fixed"), std::string::npos);
}

TEST(RecoverGridsTest, EdgesOfEachGraph) {
  ProgramBuilder b = batch();
  b.node("m", "index_select.default", {arg("self", "x"), arg("dim", 1), arg("index", "s")}, {"B", "E", "4"});
  b.node("none", "zeros_like.default", {arg("self", "x")}, {"B", "N", "4"});
  b.node("y", "index_add.default", {arg("self", "none"), arg("dim", 1), arg("index", "d"), arg("source", "m")},
         {"B", "N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = sum(x.part_src, along: part_dst)"}), "");
}

TEST(RecoverGridsTest, AFlatViewIsTheSameSpace) {
  ProgramBuilder b = batch();
  b.node("flat", "view.default", {arg("self", "x"), ints("size", {-1, 4})}, {"B*N", "4"});
  b.node("z", "relu.default", {arg("self", "flat")}, {"B*N", "4"});
  b.node("back", "view.default", {arg("self", "z"), ints("size", {-1, -1, 4})}, {"B", "N", "4"});
  b.node("y", "add.Tensor", {arg("self", "back"), arg("other", "x")}, {"B", "N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = relu(x) + x"}), "");
}

TEST(RecoverGridsTest, ATranspositionMovesNothing) {
  ProgramBuilder b = batch();
  b.node("turned", "transpose.int", {arg("self", "x"), arg("dim0", 0), arg("dim1", 1)}, {"N", "B", "4"});
  b.node("z", "relu.default", {arg("self", "turned")}, {"N", "B", "4"});
  b.node("y", "transpose.int", {arg("self", "z"), arg("dim0", 0), arg("dim1", 1)}, {"B", "N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = relu(x)"}), "");
}

TEST(RecoverGridsTest, ATransposedResultIsMoved) {
  ProgramBuilder b = batch();
  b.node("y", "transpose.int", {arg("self", "x"), arg("dim0", 0), arg("dim1", 1)}, {"N", "B", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = x.node_node"}), "");
}

TEST(RecoverGridsTest, SumsForgetACoordinate) {
  ProgramBuilder b = batch();
  b.node("y", "mean.dim", {arg("self", "x"), ints("dim", {1}), arg("keepdim", false)}, {"B", "4"});
  b.node("z", "amax.default", {arg("self", "x"), ints("dim", {0}), arg("keepdim", false)}, {"N", "4"});
  b.node("all", "sum.dim_IntList", {arg("self", "x"), ints("dim", {0, 1}), arg("keepdim", false)}, {"4"});
  std::string text = b.output("y").output("z").output("all").text();
  for (const char *part : {"mean(x, along: ", "max(x, along: ", "sum(x, along: all)"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RecoverGridsTest, RowsOfOneAxisMeetAllOfTheOther) {
  ProgramBuilder b = batch();
  b.input("g", {"B", "1", "4"}).input("h", {"N", "4"});
  b.node("z", "mul.Tensor", {arg("self", "x"), arg("other", "h")}, {"B", "N", "4"});
  b.node("y", "add.Tensor", {arg("self", "z"), arg("other", "g")}, {"B", "N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("from mod(arange(0, mul(size(x, 0), size(x, 1)), 1), size(x, 1))"), std::string::npos) << text;
  EXPECT_NE(text.find("from interleave(arange(0, size(x, 0), 1), full(size(x, 0), size(x, 1)))"), std::string::npos)
      << text;
}

TEST(RecoverGridsTest, AttentionIsOverPairsOfEachGraph) {
  ProgramBuilder b = batch();
  b.node("turned", "transpose.int", {arg("self", "x"), arg("dim0", 1), arg("dim1", 2)}, {"B", "4", "N"});
  b.node("scores", "bmm.default", {arg("self", "x"), arg("mat2", "turned")}, {"B", "N", "N"});
  b.node("weights", "_softmax.default", {arg("self", "scores"), arg("dim", -1)}, {"B", "N", "N"});
  b.node("y", "bmm.default", {arg("self", "weights"), arg("mat2", "x")}, {"B", "N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("space pair = pairs("), std::string::npos) << text;
  EXPECT_NE(text.find("sum(softmax(x.pair.dst @ h, along: pair.dst) * h, along: pair.dst)"), std::string::npos) << text;
}

TEST(RecoverGridsTest, SumsOfProductsWithPairsAsEinsums) {
  ProgramBuilder b = batch();
  b.node("scores", "einsum.default", {text("equation", "bid,bjd->bij"), list("tensors", {"x", "x"})}, {"B", "N", "N"});
  b.node("y", "einsum.default", {text("equation", "bij,bjd->bid"), list("tensors", {"scores", "x"})}, {"B", "N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("along: pair.dst)"), std::string::npos) << text;
}

TEST(RecoverGridsTest, AnEinsumThatLeavesElementsAloneIsOfRows) {
  ProgramBuilder b = batch();
  b.param("w", "w", {"4", "3"});
  b.node("y", "einsum.default", {text("equation", "...f,fg->...g"), list("tensors", {"x", "w"})}, {"B", "N", "3"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("pair"), std::string::npos) << text;
  EXPECT_NE(text.find("output y = "), std::string::npos) << text;
}

TEST(RecoverGridsTest, AllPairsOfAGraphAreItsOwn) {
  ProgramBuilder b = batch();
  b.node("scores", "einsum.default", {text("equation", "bid,bjd->bij"), list("tensors", {"x", "x"})}, {"B", "N", "N"});
  b.node("y", "sum.dim_IntList", {arg("self", "scores"), ints("dim", {1, 2}), arg("keepdim", false)}, {"B"});
  b.node("z", "sum.dim_IntList", {arg("self", "scores"), ints("dim", {0, 2}), arg("keepdim", false)}, {"N"});
  EXPECT_NE(b.output("z").text().find("adds up elements of several rows"), std::string::npos);
  b.program.outputs.clear();
  b.program.graph.outputs.clear();
  b.program.graph.nodes.pop_back();
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("along: all"), std::string::npos) << text;
  EXPECT_NE(text.find("along: node_graph"), std::string::npos) << text;
}

TEST(RecoverGridsTest, AFixedNumberOfNodesIsNoticed) {
  ProgramBuilder b;
  b.input("x", {"B", "50", "4"}).integers("list", {"E"});
  b.node("y", "index_select.default", {arg("self", "x"), arg("dim", 1), arg("index", "list")}, {"B", "E", "4"});
  b.output("y");
  EXPECT_EQ(b.listedSizes(), std::set<int64_t>{50});
  EXPECT_EQ(b.grids({50}).missing({"space node from mul(size(x, 0), 50)"}), "");
}

TEST(RecoverGridsTest, AsManyFeaturesAsNodesStayFeatures) {
  ProgramBuilder b;
  b.input("x", {"B", "50", "50"}).grids({50});
  b.node("y", "relu.default", {arg("self", "x")}, {"B", "50", "50"});
  EXPECT_EQ(b.output("y").missing({"  input x: node[in = 50]"}), "");
}

TEST(RecoverGridsTest, ParametersOfNodesAreSpreadBeforeTheyAreComputedWith) {
  ProgramBuilder b;
  b.input("x", {"B", "50", "4"}).param("e", "e", {"50", "4"}).grids({50});
  b.node("z", "relu.default", {arg("self", "e")}, {"50", "4"});
  b.node("y", "add.Tensor", {arg("self", "x"), arg("other", "z")}, {"B", "50", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("relu(spread(e, on: "), std::string::npos) << text;
}

TEST(RecoverGridsTest, WhatIsNotSupportedIsNamed) {
  ProgramBuilder b = batch();
  b.node("y", "erfinv.default", {arg("self", "x")}, {"B", "N", "4"});
  EXPECT_NE(b.output("y").text().find("refused: 'erfinv' of a tensor with several axes of elements"),
            std::string::npos);
  ProgramBuilder c;
  c.input("x", {"B", "N", "M", "4"}).grids();
  c.node("y", "relu.default", {arg("self", "x")}, {"B", "N", "M", "4"});
  EXPECT_EQ(c.output("y").text(),
            "refused: a tensor has more than two axes whose sizes are not fixed; give all but two "
            "of them as numbers");
}

} // namespace
