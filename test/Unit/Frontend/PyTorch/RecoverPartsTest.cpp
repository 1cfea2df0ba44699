//===- RecoverPartsTest.cpp - More of the importer's rules ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants, masks, views that join axes, parts that are written, attention, and integers that are known now.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

ProgramBuilder rows() {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  return b;
}

TEST(RecoverPartsTest, ClassesAreOneHotRows) {
  ProgramBuilder b = rows();
  b.integers("label", {"N"});
  b.integerNode("rows", "one_hot.default", {arg("self", "label"), arg("num_classes", 4)}, {"N", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "rows")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"map node_kind: node -> kind partial from "
                                   "where(both(ge(label, 0), lt(label, 4)), label, -1)",
                                   "  output y = x * rename(onehot(node_kind), kind: in)"}),
            "");
}

TEST(RecoverPartsTest, RowsOfAnEdgeListInAnotherOrder) {
  for (const char *op : {"index.Tensor", "flip.default"}) {
    ProgramBuilder b = rows();
    b.integers("edge_index", {"2", "E"});
    bool byList = op == std::string("index.Tensor");
    if (byList) {
      b.integerNode("first", "full.default", {ints("size", {1}), arg("fill_value", 1)}, {"1"});
      b.integerNode("second", "full.default", {ints("size", {1}), arg("fill_value", 0)}, {"1"});
      b.integerNode("order", "cat.default", {list("tensors", {"first", "second"})}, {"2"});
      b.integerNode("back", op, {arg("self", "edge_index"), list("indices", {"order"})}, {"2", "E"});
    } else {
      b.integerNode("back", op, {arg("self", "edge_index"), ints("dims", {0})}, {"2", "E"});
    }
    b.integerNode("s", "select.int", {arg("self", "back"), arg("dim", 0), arg("index", 0)}, {"E"});
    b.node("y", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
    EXPECT_EQ(b.output("y").missing({"map dst: edge -> node from edge_index[1]", "  output y = x.dst"}), "") << op;
  }
}

TEST(RecoverPartsTest, RowsOfAnEdgeListAreWritten) {
  ProgramBuilder b = rows();
  b.integers("edge_index", {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.integerNode("loops", "select_scatter.default",
                {arg("self", "edge_index"), arg("src", "s"), arg("dim", 0), arg("index", -1)}, {"2", "E"});
  b.integerNode("t", "select.int", {arg("self", "loops"), arg("dim", 0), arg("index", 1)}, {"E"});
  b.node("y", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "t")}, {"E", "4"});
  EXPECT_EQ(b.output("y").missing({"map src: edge -> node from edge_index[0]", "  output y = x.src"}), "");
}

TEST(RecoverPartsTest, SomeEdgesAreWritten) {
  ProgramBuilder b = rows();
  b.integers("edge_index", {"2", "E"});
  b.integers("others", {"2", "3"});
  b.integerNode("mixed", "slice_scatter.default",
                {arg("self", "edge_index"), arg("src", "others"), arg("dim", 1), arg("start", 2), arg("end", 5)},
                {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "mixed"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.node("y", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  std::string text = b.output("y").text();
  for (const char *part : {"from slice(edge_index[0], 0, 2, 1)", "from others[0]", "from slice(edge_index[0], 5, "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RecoverPartsTest, ASinglePlaceOfAListIsWritten) {
  ProgramBuilder b = rows();
  b.integers("edge_index", {"2", "E"});
  b.integers("other", {"2"});
  b.integerNode("mixed", "select_scatter.default",
                {arg("self", "edge_index"), arg("src", "other"), arg("dim", 1), arg("index", 0)}, {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "mixed"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.node("y", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  std::string text = b.output("y").text();
  for (const char *part : {"take(other, 0)", "from slice(edge_index[0], 1, "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RecoverPartsTest, OneRowIsTheSameForAll) {
  ProgramBuilder b = rows();
  b.node("first", "slice.Tensor", {arg("self", "x"), arg("dim", 0), arg("start", 0), arg("end", 1)}, {"1", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "first")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("  output y = x * sum(x."), std::string::npos) << text;
}

TEST(RecoverPartsTest, CopiesOfAListAreOneList) {
  ProgramBuilder b = rows();
  b.integers("edge_index", {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.integerNode("column", "unsqueeze.default", {arg("self", "s"), arg("dim", 1)}, {"E", "1"});
  b.integerNode("wide", "repeat.default", {arg("self", "column"), ints("repeats", {1, 4})}, {"E", "4"});
  b.node("y", "gather.default", {arg("self", "x"), arg("dim", 0), arg("index", "wide")}, {"E", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = x.src"}), "");
}

TEST(RecoverPartsTest, SequencesAreStates) {
  ProgramBuilder b = rows();
  b.node("steps", "linspace.default", {arg("start", 0), arg("end", 3), arg("steps", 4)}, {"4"});
  b.node("h", "add.Tensor", {arg("self", "x"), arg("other", "steps")}, {"N", "4"});
  b.node("again", "arange.default", {arg("end", 4.0)}, {"4"});
  b.node("y", "mul.Tensor", {arg("self", "h"), arg("other", "again")}, {"N", "4"});
  // The same numbers are one state.
  EXPECT_EQ(b.output("y").missing({"  state constant[in] as \"constant\"", "  output y = (x + constant) * constant"}),
            "");
  Recover recover(b.program);
  RecoveredProgram program = recover.run();
  ASSERT_EQ(program.constants.size(), 1u);
  EXPECT_EQ(program.constants[0].numbers, (std::vector<double>{0, 1, 2, 3}));
}

TEST(RecoverPartsTest, MasksOfComputedNumbersAreJoined) {
  ProgramBuilder b = rows();
  b.maskNode("low", "gt.Scalar", {arg("self", "x"), arg("other", 0)}, {"N", "4"});
  b.maskNode("high", "lt.Scalar", {arg("self", "x"), arg("other", 1)}, {"N", "4"});
  b.maskNode("both", "__and__.Tensor", {arg("self", "low"), arg("other", "high")}, {"N", "4"});
  b.maskNode("none", "bitwise_not.default", {arg("self", "both")}, {"N", "4"});
  b.node("y", "where.ScalarOther", {arg("condition", "none"), arg("self", "x"), arg("other", 0.0)}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = where(minimum(x > 0, x < 1) == 0, x, 0)"}), "");
}

TEST(RecoverPartsTest, LogicTakesNumbersForTruthValues) {
  ProgramBuilder b = rows();
  b.input("z", {"N", "4"});
  b.maskNode("m", "logical_and.default", {arg("self", "x"), arg("other", "z")}, {"N", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "m")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = x * minimum(x != 0, z != 0)"}), "");
}

TEST(RecoverPartsTest, IntegersOfComputedNumbersAreTheirWholeParts) {
  ProgramBuilder b = rows();
  b.integerNode("i", "to.dtype", {arg("self", "x")}, {"N", "4"});
  b.node("f", "_to_copy.default", {arg("self", "i")}, {"N", "4"});
  b.node("y", "sub.Tensor", {arg("self", "x"), arg("other", "f")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = x - sign(x) * floor(abs(x))"}), "");
}

TEST(RecoverPartsTest, ComputedNumbersAreNoElements) {
  ProgramBuilder b = rows();
  b.input("table", {"M", "4"});
  b.node("score", "sum.dim_IntList", {arg("self", "x"), ints("dim", {1})}, {"N"});
  b.integerNode("i", "to.dtype", {arg("self", "score")}, {"N"});
  b.node("y", "index_select.default", {arg("self", "table"), arg("dim", 0), arg("index", "i")}, {"N", "4"});
  EXPECT_NE(b.output("y").text().find("refused: "), std::string::npos) << b.output("y").text();
}

TEST(RecoverPartsTest, AxesMoveAndKeepTheOrderOfTheOthers) {
  ProgramBuilder b;
  b.input("x", {"N", "2", "3", "4"});
  b.node("first", "movedim.int", {arg("self", "x"), arg("source", -1), arg("destination", 1)}, {"N", "4", "2", "3"});
  b.node("both", "movedim.intlist", {arg("self", "first"), ints("source", {1, 2}), ints("destination", {3, 1})},
         {"N", "2", "3", "4"});
  b.node("y", "swapaxes.default", {arg("self", "both"), arg("axis0", 1), arg("axis1", -1)}, {"N", "4", "3", "2"});
  EXPECT_EQ(b.output("y").missing({"  output y = permute(x, (in, f3, f2))"}), "");
}

TEST(RecoverPartsTest, AllPairsAreNoOutput) {
  ProgramBuilder b = rows();
  b.node("t", "t.default", {arg("self", "x")}, {"4", "N"});
  b.node("pairs", "matmul.default", {arg("self", "x"), arg("other", "t")}, {"N", "N"});
  EXPECT_EQ(b.output("pairs").text(),
            "refused: output 0, of shape [N, N], has a number for every pair of elements; return what is summed up "
            "along one of its axes");
}

TEST(RecoverPartsTest, ADiagonalOfPairsIsOfEachElementAlone) {
  ProgramBuilder b = rows();
  b.node("t", "t.default", {arg("self", "x")}, {"4", "N"});
  b.node("pairs", "matmul.default", {arg("self", "x"), arg("other", "t")}, {"N", "N"});
  b.node("scores", "exp.default", {arg("self", "pairs")}, {"N", "N"});
  ProgramBuilder both = b;
  b.node("y", "diagonal.default", {arg("self", "scores")}, {"N"});
  EXPECT_EQ(b.output("y").missing({"  output y = exp(x @ x)"}), "");
  // Of numbers that are added up along one side, the element's own.
  both.node("sums", "sum.dim_IntList", {arg("self", "scores"), ints("dim", {1}), arg("keepdim", true)}, {"N", "1"});
  both.node("parts", "div.Tensor", {arg("self", "scores"), arg("other", "sums")}, {"N", "N"});
  both.node("y", "diagonal.default", {arg("self", "parts")}, {"N"});
  EXPECT_EQ(both.output("y").text().find("refused"), std::string::npos) << both.text();
}

TEST(RecoverPartsTest, CrossEntropyOfEachRowWithItself) {
  ProgramBuilder b = rows();
  b.node("t", "t.default", {arg("self", "x")}, {"4", "N"});
  b.node("pairs", "matmul.default", {arg("self", "x"), arg("other", "t")}, {"N", "N"});
  ProgramBuilder other = b;
  b.integer("n", "N").integerNode("own", "arange.default", {arg("end", "n")}, {"N"});
  b.node("y", "cross_entropy_loss.default", {arg("self", "pairs"), arg("target", "own")}, {});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  other.integers("target", {"N"});
  other.node("y", "cross_entropy_loss.default", {arg("self", "pairs"), arg("target", "target")}, {});
  EXPECT_NE(other.output("y").text().find("only taken as arange(n), each row's own"), std::string::npos);
}

TEST(RecoverPartsTest, OneNumberHasNoElementsToRegroup) {
  ProgramBuilder b = rows();
  b.node("zeros", "zeros.default", {ints("size", {0, 4})}, {"N+N", "4"});
  b.node("v", "view.default", {arg("self", "zeros")}, {"N", "2", "4"});
  b.node("sums", "sum.dim_IntList", {arg("self", "v"), ints("dim", {1})}, {"N", "4"});
  b.node("y", "add.Tensor", {arg("self", "x"), arg("other", "sums")}, {"N", "4"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
}

TEST(RecoverPartsTest, BilinearFormsOfBatches) {
  ProgramBuilder b;
  b.input("x", {"N", "3", "4"}).input("z", {"N", "3", "5"}).param("w", "w", {"2", "4", "5"});
  ProgramBuilder other = b;
  b.node("y", "bilinear.default", {arg("input1", "x"), arg("input2", "z"), arg("weight", "w")}, {"N", "3", "2"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  other.input("one", {"N", "5"});
  other.node("y", "bilinear.default", {arg("input1", "x"), arg("input2", "one"), arg("weight", "w")}, {"N", "3", "2"});
  EXPECT_NE(other.output("y").text().find("bilinear: expected two inputs with as many axes, found shapes"),
            std::string::npos);
}

// As torch.nn.MultiheadAttention does it: heads and rows are one axis while products are made.
TEST(RecoverPartsTest, AViewMayJoinASpaceWithAxes) {
  ProgramBuilder b;
  b.input("x", {"N", "3", "4"});
  b.node("v", "view.default", {arg("self", "x")}, {"N", "3", "2", "2"});
  b.program.graph.tensors["joined"] = ProgramBuilder::meta({"N+N+N", "2", "2"});
  b.node("joined", "reshape.default", {arg("self", "v")}, {"N+N+N", "2", "2"});
  b.node("h", "exp.default", {arg("self", "joined")}, {"N+N+N", "2", "2"});
  b.node("y", "view.default", {arg("self", "h")}, {"N", "3", "4"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("refused"), std::string::npos) << text;
  ProgramBuilder mixed;
  mixed.input("x", {"N", "3", "4"});
  mixed.node("y", "view.default", {arg("self", "x")}, {"3", "N", "4"});
  EXPECT_NE(mixed.output("y").text().find("it would regroup elements of a space"), std::string::npos);
}

TEST(RecoverPartsTest, PartsThatAreWrittenBelongToTheWhole) {
  ProgramBuilder b = rows();
  b.node("c", "clone.default", {arg("self", "x")}, {"N", "4"});
  b.node("all", "slice.Tensor", {arg("self", "c"), arg("dim", 0), arg("start", 0)}, {"N", "4"});
  b.node("first", "select.int", {arg("self", "all"), arg("dim", 1), arg("index", 0)}, {"N"});
  b.node("filled", "fill_.Scalar", {arg("self", "first"), arg("value", 2.0)}, {"N"});
  b.node("y", "exp.default", {arg("self", "c")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("refused"), std::string::npos) << text;
  EXPECT_NE(text.find("concat("), std::string::npos) << text;
  EXPECT_NE(text.find("x[in: 1..4]"), std::string::npos) << text;
}

TEST(RecoverPartsTest, AttentionOverStepsIsProductsAndOverElementsPairs) {
  ProgramBuilder b;
  b.input("x", {"N", "3", "4"});
  b.node("y", "scaled_dot_product_attention.default", {arg("query", "x"), arg("key", "x"), arg("value", "x")},
         {"N", "3", "4"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  ProgramBuilder all = rows();
  all.node("y", "scaled_dot_product_attention.default", {arg("query", "x"), arg("key", "x"), arg("value", "x")},
           {"N", "4"});
  EXPECT_EQ(all.output("y").missing({"space pair = pairs(node)", "along: pair.dst) * h, along: pair.dst)"}), "");
}

TEST(RecoverPartsTest, TheFirstOfTheLargestNumbers) {
  ProgramBuilder b = rows();
  b.integerNode("y", "argmax.default", {arg("self", "x"), arg("dim", 1)}, {"N"});
  EXPECT_EQ(
      b.output("y").missing({"  output y = min(where(maximum(h == max(h, over: in), h != h), constant, 4), over: in)"}),
      "")
      << b.text();
}

TEST(RecoverPartsTest, TheLastNumberOfAList) {
  ProgramBuilder b = rows();
  b.integers("batch", {"N"});
  b.integerNode("last", "select.int", {arg("self", "batch"), arg("dim", 0), arg("index", -1)}, {});
  b.integer("item", "u0");
  b.node("unused", "item.default", {arg("self", "last")}, {});
  b.program.graph.nodes.back().outputs = {"item"};
  b.program.graph.tensors.erase("unused");
  b.node("zeros", "zeros.default", {}, {"u0+1", "4"});
  b.node("y", "index_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "batch"), arg("source", "x")},
         {"u0+1", "4"});
  EXPECT_EQ(b.output("y").missing({"space graph from add(take(batch, add(size(x, 0), -1)), 1)"}), "");
}

TEST(RecoverPartsTest, SumsUpToEachPlace) {
  ProgramBuilder b = rows();
  b.node("y", "cumsum.default", {arg("self", "x"), arg("dim", 1)}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = x @ constant"}), "");
  ProgramBuilder all = rows();
  all.node("y", "cumsum.default", {arg("self", "x"), arg("dim", 0)}, {"N", "4"});
  EXPECT_EQ(all.output("y").text(), "refused: 'cumsum': expected an axis of fixed size, found one of N elements");
}

TEST(RecoverPartsTest, AnInfiniteNumberIsAState) {
  ProgramBuilder b = rows();
  b.maskNode("m", "gt.Scalar", {arg("self", "x"), arg("other", 0)}, {"N", "4"});
  b.node("y", "masked_fill.Scalar", {arg("self", "x"), arg("mask", "m"), arg("value", -HUGE_VAL)}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  state infinity[] as \"infinity\"", "  output y = where(x > 0, (-infinity), x)"}),
            "");
}

TEST(RecoverPartsTest, ASumWithoutWhatWasThereKeepsItWhereThereAreNoMembers) {
  ProgramBuilder b = rows();
  b.integers("edge_index", {"2", "E"});
  b.integerNode("d", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 1)}, {"E"});
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "d")}, {"E", "4"});
  b.integerNode("c", "view.default", {arg("self", "d")}, {"E", "1"});
  b.integerNode("w", "expand_as.default", {arg("self", "c"), arg("other", "g")}, {"E", "4"});
  b.node("ones", "ones.default", {}, {"N", "4"});
  b.node("y", "scatter_reduce.two",
         {arg("self", "ones"), arg("dim", 0), arg("index", "w"), arg("src", "g"), text("reduce", "sum"),
          arg("include_self", false)},
         {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = where(degree(dst) == 0, 1, sum(x.dst, along: dst))"}), "");
}

TEST(RecoverPartsTest, ResultsOfModulesAreCalledAfterThem) {
  ProgramBuilder b = rows();
  auto inModule = [&](const char *path) {
    b.program.graph.nodes.back().modules = {{"", "Net", 0}, {path, "Module", 0}};
  };
  b.node("h", "exp.default", {arg("self", "x")}, {"N", "4"});
  inModule("convs.0");
  b.node("g", "mul.Tensor", {arg("self", "h"), arg("other", "h")}, {"N", "4"});
  inModule("convs.0");
  b.node("y", "mul.Tensor", {arg("self", "g"), arg("other", "g")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  let h = exp(x)", "  let conv = h * h", "  output y = conv * conv"}), "");
}

TEST(RecoverPartsTest, AnglesHaveAPolynomial) {
  ProgramBuilder b = rows();
  b.input("z", {"N", "4"});
  b.node("y", "atan2.default", {arg("self", "x"), arg("other", "z")}, {"N", "4"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
}

TEST(RecoverPartsTest, OrdersOfAFewNumbers) {
  ProgramBuilder b = rows();
  b.node("y", "topk.default", {arg("self", "x"), arg("k", 2), arg("dim", 1)}, {"N", "2"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
  ProgramBuilder all = rows();
  all.node("y", "sort.default", {arg("self", "x"), arg("dim", 0)}, {"N", "4"});
  EXPECT_EQ(all.output("y").text().substr(0, 54), "refused: numbers are ordered along an axis of size N, ");
}

TEST(RecoverPartsTest, WindowsAlongAnAxisAreSlices) {
  ProgramBuilder b;
  b.input("x", {"N", "2", "4"});
  b.node("y", "max_pool1d.default", {arg("self", "x"), ints("kernel_size", {2})}, {"N", "2", "2"});
  EXPECT_NE(b.output("y").text().find("maximum("), std::string::npos) << b.text();
}

TEST(RecoverPartsTest, RowsAndColumnsAreIndexedTogether) {
  ProgramBuilder b;
  b.input("x", {"N", "3", "4"}).integers("edge_index", {"2", "E"}).integers("kind", {"E"});
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"s", "kind"})}, {"E", "4"});
  EXPECT_NE(b.output("y").text().find("dot("), std::string::npos) << b.text();
}

} // namespace
