//===- RecoverSizesTest.cpp - Sizes that are equal, and stacks ------------===//
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

/// Nodes and the graphs that they are of, whose number the file calls `batch`.
ProgramBuilder batched(const std::string &batch) {
  ProgramBuilder b;
  return b.input("x", {"s0", "4"}).integers("batch", {batch}).input("base", {"s1", "4"});
}

ProgramBuilder scattered(const std::string &batch) {
  ProgramBuilder b = batched(batch);
  b.integerNode("c", "view.default", {arg("self", "batch")}, {batch, "1"});
  b.integerNode("w", "expand.default", {arg("self", "c"), ints("size", {-1, 4})}, {batch, "4"});
  b.node("y", "scatter_add.default", {arg("self", "base"), arg("dim", 0), arg("index", "w"), arg("src", "x")},
         {"s1", "4"});
  return b.output("y");
}

TEST(RecoverSizesTest, AListOfPlacesIsAsLongAsTheRows) {
  EXPECT_EQ(scattered("s0").text().find("refused"), std::string::npos);
  EXPECT_EQ(scattered("s7").text(), scattered("s0").text());
}

TEST(RecoverSizesTest, AListWhoseLengthIsComputedMayBeShorter) {
  EXPECT_EQ(scattered("u7").text().substr(0, 33), "refused: the index has length u7,");
}

TEST(RecoverSizesTest, OperandsAreOfOneSize) {
  ProgramBuilder b = batched("s0");
  b.input("z", {"s9", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "z")}, {"s0", "4"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
}

// The map has a target for each element of the other space, so that preparing a graph compares their numbers.
TEST(RecoverSizesTest, SizesThatOnlyAnOperationSaysToBeEqualAreCompared) {
  ProgramBuilder b;
  b.input("a", {"s0", "4"}).input("b", {"s1", "4"}).input("c", {"s2", "4"}).input("d", {"s3", "4"});
  b.node("left", "cat.default", {list("tensors", {"a", "b"})}, {"s0+s1", "4"});
  b.node("right", "cat.default", {list("tensors", {"c", "d"})}, {"s2+s3", "4"});
  ProgramBuilder sum = b;
  b.node("y", "mul.Tensor", {arg("self", "left"), arg("other", "right")}, {"s0+s1", "4"});
  EXPECT_EQ(b.output("y").missing({"from arange(0, add(size(c, 0), size(d, 0)), 1)"}), "");

  sum.input("base", {"N", "4"}).integers("at", {"s9"});
  sum.node("y", "index_add.default", {arg("self", "base"), arg("dim", 0), arg("index", "at"), arg("source", "left")},
           {"N", "4"});
  EXPECT_EQ(sum.output("y").missing({"from arange(0, add(size(a, 0), size(b, 0)), 1)"}), "");
}

TEST(RecoverSizesTest, PlacesOfFeaturesAndMasksAreOfOneSizeWithTheRows) {
  auto gathered = [](const char *size) {
    ProgramBuilder b;
    b.input("x", {"s0", "4"}).integers("label", {size});
    b.integerNode("places", "unsqueeze.default", {arg("self", "label"), arg("dim", 1)}, {size, "1"});
    b.node("y", "gather.default", {arg("self", "x"), arg("dim", 1), arg("index", "places")}, {size, "1"});
    return b.output("y").text();
  };
  EXPECT_EQ(gathered("s0").find("refused"), std::string::npos) << gathered("s0");
  EXPECT_EQ(gathered("s7"), gathered("s0"));

  auto masked = [](const char *size) {
    ProgramBuilder b;
    b.input("x", {"s0", "4"}).input("token", {"4"}).integers("label", {size});
    b.maskNode("mask", "gt.Scalar", {arg("self", "label"), arg("other", 0)}, {size});
    b.node("y", "index_put.default", {arg("self", "x"), list("indices", {"mask"}), arg("values", "token")},
           {"s0", "4"});
    return b.output("y").text();
  };
  EXPECT_EQ(masked("s0").find("refused"), std::string::npos) << masked("s0");
  EXPECT_EQ(masked("s7"), masked("s0"));
}

/// Rows that are summed up in turn; of as many as `rows` says, into s7 rows.
std::string inParts(const char *rows) {
  ProgramBuilder b;
  b.input("x", {"s0", "4"}).integers("row", {rows}).integers("column", {rows});
  b.node("read", "index.Tensor", {arg("self", "x"), list("indices", {"column"})}, {rows, "4"});
  b.node("base", "zeros.default", {}, {"s7", "4"});
  b.node("y", "index_add.default", {arg("self", "base"), arg("dim", 0), arg("index", "row"), arg("source", "read")},
         {"s7", "4"});
  return b.output("y").text();
}

/// Row pointers, as cumsum(length, out=pointers[1:]) writes them into memory that was never read.
TEST(RecoverSizesTest, WhatIsWrittenByOutIsAPartOfItsTensor) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("length", {"N"});
  b.integerNode("empty", "new_empty.default", {arg("self", "length")}, {"N+1"});
  b.integerNode("first", "narrow.default", {arg("self", "empty"), arg("dim", 0), arg("start", 0), arg("length", 1)},
                {"1"});
  b.integerNode("zero", "zero_.default", {arg("self", "first")}, {"1"});
  b.integerNode("rest", "slice.Tensor", {arg("self", "empty"), arg("dim", 0), arg("start", 1)}, {"N"});
  b.integerNode("sums", "cumsum.out", {arg("self", "length"), arg("dim", 0), arg("out", "rest")}, {"N"});
  b.integerNode("begin", "slice.Tensor",
                {arg("self", "empty"), arg("dim", 0), arg("start", 0), {"end", ValueName{"n"}}}, {"N"});
  b.integer("n", "N");
  b.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"begin"})}, {"N", "4"});
  b.output("y");
  EXPECT_NE(b.text().find("cumsum(length)"), std::string::npos) << b.text();
}

/// The edges of a module's own graph go by name, and nothing spells them out.
TEST(RecoverSizesTest, LongListsOfTheFileGoByName) {
  const int64_t edges = 5000;
  auto numbers = std::make_shared<std::vector<std::byte>>(size_t(edges) * 16);
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  ProgramInput input;
  input.kind = ProgramInput::Kind::Buffer;
  input.value = "b_mesh_edges";
  input.target = "mesh.edges";
  b.program.inputs.push_back(input);
  b.program.graph.inputs.push_back(input.value);
  b.program.graph.tensors[input.value] = ProgramBuilder::meta({"2", "5000"}, ScalarType::Int64);
  StoredTensor &stored = b.program.tensors[input.target];
  stored.meta = ProgramBuilder::meta({"2", "5000"}, ScalarType::Int64);
  stored.strides = {edges, 1};
  stored.storage = numbers;
  for (const char *end : {"s", "d"})
    b.integerNode(end, "select.int", {arg("self", "b_mesh_edges"), arg("dim", 0), arg("index", int(*end == 'd'))},
                  {"5000"});
  b.node("read", "index.Tensor", {arg("self", "x"), list("indices", {"s"})}, {"5000", "4"});
  b.node("base", "zeros_like.default", {arg("self", "x")}, {"N", "4"});
  b.node("y", "index_add.default", {arg("self", "base"), arg("dim", 0), arg("index", "d"), arg("source", "read")},
         {"N", "4"});
  b.output("y");
  EXPECT_NE(b.text().find("from mesh_edges[1]"), std::string::npos) << b.text();
  EXPECT_LT(b.text().size(), 500u);
}

TEST(RecoverSizesTest, SizesOfInputsAreSolvedForSymbols) {
  EXPECT_NE(inParts("s7+s7+s7").find("from div(size(row, 0), 3)"), std::string::npos) << inParts("s7+s7+s7");
  EXPECT_NE(inParts("s0+s7").find("from sub(size(row, 0), size(x, 0))"), std::string::npos) << inParts("s0+s7");
}

TEST(RecoverSizesTest, SizesSayThatTwoSymbolsAreEqual) {
  auto of = [](const char *symbol, int64_t factor) { return gnnc::SymbolicExpr::of(symbol, factor); };
  EqualSizes sizes;
  sizes.unite(of("a", 2) + of("b", -1), of("b", 1)); // the halves of 2 a rows
  EXPECT_EQ(sizes.rootOf("a"), sizes.rootOf("b"));
  sizes.unite(of("c", 1) + gnnc::SymbolicExpr(1), of("d", 1) + gnnc::SymbolicExpr(1));
  EXPECT_EQ(sizes.rootOf("c"), sizes.rootOf("d"));
  sizes.unite(of("d", 1), of("c", 1)); // again
  sizes.unite(of("a", 2), of("c", 1));
  sizes.unite(of("a", 1) + gnnc::SymbolicExpr(1), of("c", 1));
  sizes.unite(of("a", 1) + of("e", 1), of("c", 1));
  EXPECT_NE(sizes.rootOf("a"), sizes.rootOf("c"));
}

TEST(RecoverSizesTest, ComputedSizesAreNotTakenForOne) {
  // One of them may be 1, and its row go with all of the others.
  ProgramBuilder b = batched("s0");
  b.input("left", {"u0+1", "4"}).input("right", {"u1+1", "4"});
  b.node("y", "mul.Tensor", {arg("self", "left"), arg("other", "right")}, {"u0+1", "4"});
  EXPECT_EQ(b.output("y").text().substr(0, 9), "refused: ");
}

TEST(RecoverSizesTest, ATableAsOneListIsTheTable) {
  ProgramBuilder b;
  b.input("x", {"s0", "3"}).integers("table", {"s0", "4"});
  ProgramBuilder flat = b;
  flat.integerNode("list", "view.default", {arg("self", "table")}, {"s0+s0+s0+s0"});
  flat.node("rows", "index.Tensor", {arg("self", "x"), list("indices", {"list"})}, {"s0+s0+s0+s0", "3"});
  ProgramBuilder edges = flat;
  flat.node("y", "view.default", {arg("self", "rows")}, {"s0", "4", "3"});
  b.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"table"})}, {"s0", "4", "3"});
  EXPECT_EQ(flat.output("y").text(), b.output("y").text());
  EXPECT_EQ(b.text().find("refused"), std::string::npos) << b.text();

  // What is made of the rows of the list is a row for each of its elements, and then the node's.
  edges.node("h", "tanh.default", {arg("self", "rows")}, {"s0+s0+s0+s0", "3"});
  edges.node("y", "view.default", {arg("self", "h")}, {"s0", "4", "3"});
  std::string text = edges.output("y").text();
  EXPECT_EQ(text.find("refused"), std::string::npos) << text;
  EXPECT_NE(text.find("take(cat(column(table, 0), column(table, 1), column(table, 2), column(table, 3)), "),
            std::string::npos)
      << text;
}

TEST(RecoverSizesTest, WholeSlicesOfAListAreTheList) {
  ProgramBuilder b;
  b.input("x", {"s0", "4"}).integers("batch", {"s0"}).input("base", {"s1", "4"});
  ProgramBuilder sliced = b;
  sliced.integerNode("all", "slice.Tensor", {arg("self", "batch")}, {"s0"});
  sliced.node("y", "index_add.default", {arg("self", "base"), arg("dim", 0), arg("index", "all"), arg("source", "x")},
              {"s1", "4"});
  b.node("y", "index_add.default", {arg("self", "base"), arg("dim", 0), arg("index", "batch"), arg("source", "x")},
         {"s1", "4"});
  EXPECT_EQ(sliced.output("y").text(), b.output("y").text());
}

/// The largest of rows and their doubles, stacked in front: as `stack`, or as decompositions leave it.
std::string stacked(bool decomposed, const char *count) {
  ProgramBuilder b;
  b.input("x", {"s0", "4"});
  b.node("twice", "mul.Tensor", {arg("self", "x"), arg("other", 2)}, {"s0", "4"});
  if (decomposed) {
    b.node("joined", "cat.default", {list("tensors", {"x", "twice"})}, {"s0+s0", "4"});
    b.node("both", "view.default", {arg("self", "joined"), ints("size", {2, -1, 4})}, {count, "s0", "4"});
  } else {
    b.node("both", "stack.default", {list("tensors", {"x", "twice"}), arg("dim", 0)}, {"2", "s0", "4"});
  }
  b.node("y", "amax.default", {arg("self", "both"), ints("dim", {0})}, {"s0", "4"});
  return b.output("y").text();
}

TEST(RecoverSizesTest, WhatDecompositionsLeaveOfAStackIsOne) {
  EXPECT_EQ(stacked(false, "2").find("refused"), std::string::npos);
  EXPECT_EQ(stacked(true, "2"), stacked(false, "2"));
}

TEST(RecoverSizesTest, OtherViewsOfJoinedRowsAreNoStack) { EXPECT_EQ(stacked(true, "3").substr(0, 9), "refused: "); }

} // namespace
