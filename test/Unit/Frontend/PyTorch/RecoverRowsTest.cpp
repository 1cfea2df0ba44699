//===- RecoverRowsTest.cpp - Which rows a tensor has ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of classes beside those of nodes, views that number rows of several tensors, and sizes that others decide.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

/// The sums of x over the nodes of each of 3 classes.
ProgramBuilder classes() {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("kind", {"N"});
  b.node("none", "zeros.default", {ints("size", {3, 4})}, {"3", "4"});
  b.node("c", "index_add.default", {arg("self", "none"), arg("dim", 0), arg("index", "kind"), arg("source", "x")},
         {"3", "4"});
  return b;
}

TEST(RecoverRowsTest, ClassesBesideNodesAreAnAxis) {
  ProgramBuilder b = classes();
  b.node("turned", "t.default", {arg("self", "c")}, {"4", "3"});
  b.node("y", "mm.default", {arg("self", "x"), arg("mat2", "turned")}, {"N", "3"});
  EXPECT_EQ(b.output("y").missing({"map kind2: node -> kind from kind",
                                   "  output y = x @ sum(outer(sum(x, along: kind2) * rename(onehot(kind_kind), kind: "
                                   "f3)), along: all)"}),
            "");
}

TEST(RecoverRowsTest, AllPairsOfClasses) {
  ProgramBuilder b = classes();
  b.node("left", "unsqueeze.default", {arg("self", "c"), arg("dim", 1)}, {"3", "1", "4"});
  b.node("right", "unsqueeze.default", {arg("self", "c"), arg("dim", 0)}, {"1", "3", "4"});
  b.node("y", "sub.Tensor", {arg("self", "left"), arg("other", "right")}, {"3", "3", "4"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
}

TEST(RecoverRowsTest, NodesOfTwoKindsAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("z", {"4", "M"});
  b.node("y", "mm.default", {arg("self", "x"), arg("mat2", "z")}, {"N", "M"});
  EXPECT_EQ(b.output("y").text().substr(0, 8), "refused:");
}

TEST(RecoverRowsTest, PlacesInARowOfEachNode) {
  for (bool isPutTogether : {true, false}) {
    ProgramBuilder b = graph();
    b.integers("type", {"E"}).integers("place", {"E"});
    b.node("parts", "view.default", {arg("self", "x"), ints("size", {-1, 2})}, {"N+N", "2"});
    b.integerNode("first", "mul.Tensor", {arg("self", "s"), arg("other", 2)}, {"E"});
    b.integerNode("at", "add.Tensor", {arg("self", "first"), arg("other", "type")}, {"E"});
    b.node("y", "index.Tensor", {arg("self", "parts"), list("indices", {isPutTogether ? "at" : "place"})}, {"E", "2"});
    std::string text = b.output("y").text();
    for (const char *map : isPutTogether
                               ? std::initializer_list<const char *>{"from edge_index[0]", "from type"}
                               : std::initializer_list<const char *>{"from div(place, 2)", "from mod(place, 2)"})
      EXPECT_NE(text.find(map), std::string::npos) << text;
  }
}

TEST(RecoverRowsTest, BothEndsOfEdgesInOneList) {
  ProgramBuilder b = graph();
  b.integerNode("ends", "view.default", {arg("self", "edge_index"), ints("size", {-1})}, {"E+E"});
  b.node("rows", "index.Tensor", {arg("self", "x"), list("indices", {"ends"})}, {"E+E", "4"});
  b.node("two", "view.default", {arg("self", "rows"), ints("size", {2, -1, 4})}, {"2", "E", "4"});
  b.node("y", "select.int", {arg("self", "two"), arg("dim", 0), arg("index", 1)}, {"E", "4"});
  EXPECT_EQ(b.output("y").missing({"map dst: edge -> node from edge_index[1]"}), "");
}

TEST(RecoverRowsTest, SumsAlongColumnsInCoreOperators) {
  ProgramBuilder b = graph();
  b.decomposed(true);
  b.node("messages", "index.Tensor", {arg("self", "x"), list("indices", {"s"})}, {"E", "4"});
  b.node("turned", "permute.default", {arg("self", "messages"), ints("dims", {1, 0})}, {"4", "E"});
  b.node("none", "full.default", {ints("size", {4, 0}), arg("fill_value", 0)}, {"4", "N"});
  b.node("sums", "index_put.default",
         {arg("self", "none"), list("indices", {"", "d"}), arg("values", "turned"), arg("accumulate", true)},
         {"4", "N"});
  b.node("y", "permute.default", {arg("self", "sums"), ints("dims", {1, 0})}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = sum(x.src, along: dst)"}), "");
}

TEST(RecoverRowsTest, BinsAreOneMoreThanTheLargestNumber) {
  for (bool isCountedFirst : {true, false}) {
    ProgramBuilder b;
    b.input("x", {"N", "4"}).integers("batch", {"N"});
    auto count = [&] { b.integerNode("count", "bincount.default", {arg("self", "batch")}, {"u1"}); };
    if (isCountedFirst)
      count();
    b.integerNode("last", "max.default", {arg("self", "batch")}, {});
    b.integerNode("number", "item.default", {arg("self", "last")}, {}).integer("number", "u0");
    b.program.graph.tensors.erase("number");
    if (!isCountedFirst)
      count();
    b.node("none", "zeros.default", {ints("size", {0, 4})}, {"u0+1", "4"});
    b.node("sums", "index_add.default", {arg("self", "none"), arg("dim", 0), arg("index", "batch"), arg("source", "x")},
           {"u0+1", "4"});
    b.integerNode("own", "unsqueeze.default", {arg("self", "count"), arg("dim", 1)}, {"u1", "1"});
    b.node("y", "div.Tensor", {arg("self", "sums"), arg("other", "own")}, {"u0+1", "4"});
    EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  }
}

TEST(RecoverRowsTest, BinsForAllNodes) {
  ProgramBuilder b = graph();
  b.integer("n", "N");
  b.integerNode("count", "bincount.default", {arg("self", "d"), arg("minlength", "n")}, {"u0"});
  b.node("degree", "to.dtype", {arg("self", "count"), arg("dtype", 7)}, {"u0"});
  b.node("y", "index.Tensor", {arg("self", "degree"), list("indices", {"s"})}, {"E"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
}

TEST(RecoverRowsTest, WrittenPlacesCountFromTheEnd) {
  ProgramBuilder b = graph();
  b.integerNode("places", "full.default", {ints("size", {1}), arg("fill_value", -2)}, {"1"});
  ProgramBuilder columns = b;
  b.node("row", "index.Tensor", {arg("self", "x"), list("indices", {"places"})}, {"1", "4"});
  b.node("y", "add.Tensor", {arg("self", "x"), arg("other", "row")}, {"N", "4"});
  EXPECT_NE(b.output("y").text().find("add(size(x, 0), -2)"), std::string::npos) << b.text();
  columns.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"", "places"})}, {"N", "1"});
  EXPECT_NE(columns.output("y").text().find("[in: 2]"), std::string::npos) << columns.text();
}

TEST(RecoverRowsTest, ColumnsThatAreWrittenAreJoinedWithTheOthers) {
  for (bool isMask : {false, true}) {
    ProgramBuilder b = graph();
    b.integerNode("numbers", "arange.default", {arg("end", 4)}, {"4"});
    b.maskNode("chosen", "lt.Scalar", {arg("self", "numbers"), arg("other", 1)}, {"4"});
    b.integerNode("first", "full.default", {ints("size", {1}), arg("fill_value", 0)}, {"1"});
    b.node("column", "slice.Tensor", {arg("self", "x"), arg("dim", 1), arg("start", 3)}, {"N", "1"});
    b.node("y", "index_put.default",
           {arg("self", "x"), list("indices", {"", isMask ? "chosen" : "first"}), arg("values", "column")}, {"N", "4"});
    EXPECT_EQ(b.output("y").missing({"  output y = concat(flatten(x[in: 3], one), x[in: 1..4], axis: f4)"}), "");
  }
}

TEST(RecoverRowsTest, WhatIsTheSameForAllHasARowForEach) {
  ProgramBuilder b = graph();
  b.param("w", "w", {"4"});
  b.node("y", "expand.default", {arg("self", "w"), ints("size", {0, 4})}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  input ones: ones_row[] from full(size(x, 0), 1)", "  output y = w * ones"}), "");
}

TEST(RecoverRowsTest, WhatNothingReadsIsNotRefused) {
  ProgramBuilder b = graph(), read = graph();
  for (ProgramBuilder *each : {&b, &read})
    each->maskNode("valid", "_is_all_true.default", {arg("self", "x")}, {});
  b.node("y", "relu.default", {arg("self", "x")}, {"N", "4"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  read.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "valid")}, {"N", "4"});
  EXPECT_EQ(read.output("y").text().find("refused: operator 'torch.ops.aten._is_all_true.default'"), 0u) << read.text();
}

TEST(RecoverRowsTest, NumbersThatAreNoneStayNone) {
  ProgramBuilder b = graph(), other = graph();
  b.maskNode("missing", "isnan.default", {arg("self", "x")}, {"N", "4"});
  other.maskNode("missing", "gt.Scalar", {arg("self", "x"), arg("other", 0)}, {"N", "4"});
  for (ProgramBuilder *each : {&b, &other}) {
    each->node("none", "full.default", {ints("size", {}), arg("fill_value", std::nan(""))}, {});
    each->node("root", "sqrt.default", {arg("self", "x")}, {"N", "4"});
    each->node("y", "where.self", {arg("condition", "missing"), arg("self", "none"), arg("other", "root")}, {"N", "4"});
    each->output("y");
  }
  EXPECT_EQ(b.missing({"  output y = where(x != x, detach(x), sqrt(x))"}), "");
  EXPECT_EQ(other.text(), "refused: it writes a constant that is not a number (NaN)");
}

TEST(RecoverRowsTest, BagsAreSegmentsOfRows) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("list", {"M"}).integers("offsets", {"N"}).param("w", "w", {"9", "4"});
  b.node("sums", "embedding_bag.padding_idx", {arg("weight", "w"), arg("indices", "list"), arg("offsets", "offsets")},
         {"N", "4"});
  b.node("y", "add.Tensor", {arg("self", "x"), arg("other", "sums")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("interleave(arange(0, size(x, 0), 1), diff(cat(offsets, size(list, 0))))"), std::string::npos)
      << text;
}

TEST(RecoverRowsTest, LowestBitsAreRemainders) {
  for (auto [op, number, source] : {std::tuple("bitwise_and.Scalar", 3, "mod(kind, 4)"),
                                    {"__rshift__.Scalar", 2, "div(kind, 4)"},
                                    {"bitwise_and.Scalar", 5, "refused: bits of integers"}}) {
    ProgramBuilder b;
    b.param("w", "w", {"9", "4"}).input("x", {"N", "4"}).integers("kind", {"N"});
    b.integerNode("low", op, {arg("self", "kind"), arg("other", number)}, {"N"});
    b.node("y", "embedding.default", {arg("weight", "w"), arg("indices", "low")}, {"N", "4"});
    EXPECT_NE(b.output("y").text().find(source), std::string::npos) << b.text();
  }
}

TEST(RecoverRowsTest, ListsOfEdgesAreNoResults) {
  ProgramBuilder b = graph();
  EXPECT_EQ(b.output("edge_index").text(),
            "refused: output 0 ('edge_index') is a list of edges: whoever calls the object has the graph; return the "
            "numbers alone");
}

TEST(RecoverRowsTest, ConvolutionsAtEachPlaceAreProducts) {
  ProgramBuilder b;
  b.input("x", {"N", "2", "5", "1"}).param("w", "w", {"3", "2", "1", "1"});
  b.node("y", "conv2d.default", {arg("input", "x"), arg("weight", "w")}, {"N", "3", "5", "1"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  ProgramBuilder square;
  square.input("x", {"N", "2", "5", "5"}).param("w", "w", {"3", "2", "2", "2"});
  square.node("y", "conv2d.default", {arg("input", "x"), arg("weight", "w")}, {"N", "3", "4", "4"});
  EXPECT_EQ(square.output("y").text(),
            "refused: expected a convolution along one axis, found a weight of shape [3, 2, 2, 2]");
}

} // namespace
