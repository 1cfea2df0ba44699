//===- RecoverTest.cpp - The importer's rules, one by one -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/PyTorchImport.md states them in the same order.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

/// x: [N, 4] and e: [2, E], with the rows src and dst of e.
ProgramBuilder graph() {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("edge_index", {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.integerNode("d", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 1)}, {"E"});
  return b;
}

/// A scatter_add of `source`, [E, 4], to the targets.
void scatterToNodes(ProgramBuilder &b, const std::string &name, const char *source) {
  b.node("zeros_" + name, "zeros.default", {ints("size", {0, 4})}, {"N", "4"});
  b.integerNode("column_" + name, "view.default", {arg("self", "d")}, {"E", "1"});
  b.integerNode("wide_" + name, "expand_as.default", {arg("self", ("column_" + name).c_str()), arg("other", source)},
                {"E", "4"});
  b.node(name, "scatter_add_.default",
         {arg("self", ("zeros_" + name).c_str()), arg("dim", 0), arg("index", ("wide_" + name).c_str()),
          arg("src", source)},
         {"N", "4"});
}

TEST(RecoverTest, GathersMoveAndScattersReduce) {
  ProgramBuilder b = graph();
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", -2), arg("index", "s")}, {"E", "4"});
  scatterToNodes(b, "y", "g");
  EXPECT_EQ(b.output("y").text(), "space node from size(x, 0)\n"
                                  "space edge from size(edge_index, 1)\n"
                                  "map src: edge -> node from edge_index[0]\n"
                                  "map dst: edge -> node from edge_index[1]\n"
                                  "\n"
                                  "model m exported {\n"
                                  "  input x: node[in = 4]\n"
                                  "  output y = sum(x.src, along: dst)\n"
                                  "}\n");
}

TEST(RecoverTest, ExtremaOfNothingKeepWhatWasThere) {
  ProgramBuilder b = graph();
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  b.integerNode("c", "view.default", {arg("self", "d")}, {"E", "1"});
  b.integerNode("w", "expand_as.default", {arg("self", "c"), arg("other", "g")}, {"E", "4"});
  b.node("ones", "ones.default", {}, {"N", "4"});
  ProgramBuilder over = b;
  over.node("y", "scatter_reduce.two",
            {arg("self", "ones"), arg("dim", 0), arg("index", "w"), arg("src", "g"), text("reduce", "amax"),
             arg("include_self", false)},
            {"N", "4"});
  EXPECT_EQ(over.output("y").missing({"  output y = where(sum(1, along: dst) == 0, 1, max(x.src, along: dst))"}), "");
  b.node("y", "scatter_reduce.two",
         {arg("self", "ones"), arg("dim", 0), arg("index", "w"), arg("src", "g"), text("reduce", "amax")}, {"N", "4"});
  EXPECT_EQ(
      b.output("y").missing({"  output y = where(sum(1, along: dst) == 0, 1, maximum(1, max(x.src, along: dst)))"}),
      "");
}

TEST(RecoverTest, AnIndexThatDiffersFromFeatureToFeatureIsRefused) {
  ProgramBuilder b = graph();
  b.integers("other", {"E", "4"});
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  b.node("y", "scatter_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "other"), arg("src", "g")},
         {"N", "4"});
  EXPECT_EQ(b.output("y").text().substr(0, 9), "refused: ");
}

TEST(RecoverTest, AnIndexThatCoversAPartIsRefused) {
  ProgramBuilder b = graph();
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  b.integerNode("c", "view.default", {arg("self", "d")}, {"E", "1"}); // only the first feature
  b.node("y", "scatter_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "c"), arg("src", "g")},
         {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "refused: the index covers only a part of the rows");
}

TEST(RecoverTest, MasksOfIntegersAreFilters) {
  ProgramBuilder b = graph();
  b.input("w", {"E"});
  b.maskNode("m", "ne.Tensor", {arg("self", "s"), arg("other", "d")}, {"E"});
  b.node("a", "index.Tensor", {arg("self", "w"), list("indices", {"m"})}, {"u0"});
  // The same mask once more: the same space, though the file gives its size another name.
  b.node("w2", "mul.Tensor", {arg("self", "w"), arg("other", 2)}, {"E"});
  b.node("c", "index.Tensor", {arg("self", "w2"), list("indices", {"m"})}, {"u1"});
  b.node("y", "add.Tensor", {arg("self", "a"), arg("other", "c")}, {"u0"});
  EXPECT_EQ(b.output("y").text().find("refused"), std::string::npos) << b.text();
}

TEST(RecoverTest, MasksOfComputedNumbersAreRefused) {
  ProgramBuilder b = graph();
  b.maskNode("m", "gt.Scalar", {arg("self", "x"), arg("other", 0)}, {"N", "4"});
  b.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"m"})}, {"u0"});
  EXPECT_EQ(b.output("y").text(),
            "refused: 'm' depends on computed numbers, so the rows that it selects are known only when the model runs; "
            "a model's spaces must follow from its integer inputs");
}

TEST(RecoverTest, WritesKeepTheLastOfSeveral) {
  ProgramBuilder b = graph();
  b.input("w", {"E"});
  b.node("ones", "ones.default", {}, {"N"});
  b.node("y", "index_put_.default", {arg("self", "ones"), list("indices", {"d"}), arg("values", "w")}, {"N"});
  EXPECT_EQ(b.output("y").text().find("partial from put(full(size(x, 0), -1), edge_index[1], "
                                      "arange(0, size(edge_index, 1), 1))") == std::string::npos,
            false)
      << b.text();
}

TEST(RecoverTest, ChangesInPlaceReachLaterUses) {
  ProgramBuilder b = graph();
  b.node("c", "mul.Tensor", {arg("self", "x"), arg("other", 2)}, {"N", "4"});
  b.node("changed", "relu_.default", {arg("self", "c")}, {"N", "4"});
  b.node("y", "add.Tensor", {arg("self", "c"), arg("other", "x")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = relu(x * 2) + x"}), "");
}

TEST(RecoverTest, ViewsOfWhatIsChangedInPlaceAreRefused) {
  ProgramBuilder b = graph();
  b.node("c", "mul.Tensor", {arg("self", "x"), arg("other", 2)}, {"N", "4"});
  b.node("v", "view.default", {arg("self", "c")}, {"N", "2", "2"});
  b.node("changed", "relu_.default", {arg("self", "c")}, {"N", "4"});
  b.node("y", "exp.default", {arg("self", "v")}, {"N", "2", "2"});
  EXPECT_EQ(b.output("y").text(),
            "refused: 'v' shares its memory with what 'changed' changes in place, and is used afterwards; change a "
            "copy instead");
}

TEST(RecoverTest, InputsThatAreChangedInPlaceAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("y", "relu_.default", {arg("self", "x")}, {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "refused: the model changes 'x' in place; return the new value instead");
}

TEST(RecoverTest, OneAxisTwiceIsRenamed) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).param("p_w", "w", {"4", "4"});
  b.node("h", "linear.default", {arg("input", "x"), arg("weight", "p_w")}, {"N", "4"});
  b.node("y", "add.Tensor", {arg("self", "h"), arg("other", "x")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  input x: node[in = 4]", "  param w[f4 = 4, in] as \"w\"",
                                   "  output y = x @ w + rename(x, in: f4)"}),
            "");
}

TEST(RecoverTest, AxesOfSizeOneComeAndGo) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).param("p_a", "a", {"1", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "p_a")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  param a[f1 = 1, in] as \"a\"", "  output y = x * a[f1: 0]"}), "");
}

TEST(RecoverTest, ViewsOfSpacesAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("y", "view.default", {arg("self", "x")}, {"M"});
  EXPECT_EQ(b.output("y").text().find("elements of spaces cannot be regrouped") == std::string::npos, false);
}

TEST(RecoverTest, SumsOverMembersAreMeans) {
  ProgramBuilder b = graph();
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  scatterToNodes(b, "sum", "g");
  b.node("ones", "ones.default", {}, {"E"});
  b.node("none", "zeros.default", {}, {"N"});
  b.node("count", "scatter_add_.default", {arg("self", "none"), arg("dim", 0), arg("index", "d"), arg("src", "ones")},
         {"N"});
  ProgramBuilder other = b;
  b.node("least", "clamp.default", {arg("self", "count"), arg("min", 1)}, {"N"});
  b.node("v", "view.default", {arg("self", "least")}, {"N", "1"});
  b.node("y", "div.Tensor", {arg("self", "sum"), arg("other", "v")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = mean(x.src, along: dst)"}), "");
  // Divided by something else it is none.
  other.node("least", "clamp.default", {arg("self", "count"), arg("min", 2)}, {"N"});
  other.node("v", "view.default", {arg("self", "least")}, {"N", "1"});
  other.node("y", "div.Tensor", {arg("self", "sum"), arg("other", "v")}, {"N", "4"});
  EXPECT_EQ(other.output("y").missing({"  output y = sum(x.src, along: dst) / maximum(sum(1, along: dst), 2)"}), "");
}

TEST(RecoverTest, IntegersAsNumbersHaveNoGradient) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("keep", {"N"}, ScalarType::Bool);
  b.maskNode("v", "view.default", {arg("self", "keep")}, {"N", "1"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "v")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  input mask: node[] from keep", "  output y = x * mask"}), "");
}

TEST(RecoverTest, InputsOfAllPairsAreRefused) {
  ProgramBuilder b;
  b.input("adj", {"N", "N"});
  EXPECT_EQ(b.output("adj").text().substr(0, 60), "refused: input 'adj' has two axes whose sizes are not fixed,");
}

TEST(RecoverTest, UnknownOperatorsAreRefusedByName) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("y", "svd.default", {arg("self", "x")}, {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "refused: operator 'torch.ops.aten.svd.default' has no meaning in gnnc");
}

TEST(RecoverTest, ShapesAreComparedWithTheFiles) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("y", "relu.default", {arg("self", "x")}, {"N", "5"});
  EXPECT_EQ(b.output("y").text(),
            "refused: the file says that the result has shape [N, 5], but its operands give [N, 4]");
}

/// The loops of a graph replaced by one for each node.
ProgramBuilder withLoops() {
  ProgramBuilder b = graph();
  b.integer("n", "N");
  b.maskNode("m", "ne.Tensor", {arg("self", "s"), arg("other", "d")}, {"E"});
  b.integerNode("kept", "index.Tensor", {arg("self", "edge_index"), list("indices", {"", "m"})}, {"2", "u0"});
  b.integerNode("all", "arange.start", {arg("start", 0), arg("end", "n")}, {"N"});
  b.integerNode("row", "view.default", {arg("self", "all")}, {"1", "N"});
  b.integerNode("loops", "repeat.default", {arg("self", "row"), ints("repeats", {2, 1})}, {"2", "N"});
  b.integerNode("ring", "cat.default", {list("tensors", {"kept", "loops"}), arg("dim", 1)}, {"2", "u0+N"});
  b.integerNode("rs", "select.int", {arg("self", "ring"), arg("dim", 0), arg("index", 0)}, {"u0+N"});
  b.integerNode("rd", "select.int", {arg("self", "ring"), arg("dim", 0), arg("index", 1)}, {"u0+N"});
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "rs")}, {"u0+N", "4"});
  return b;
}

TEST(RecoverTest, SelfLoopsAreDerivedSpaces) {
  ProgramBuilder b = withLoops();
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  b.node("y", "index_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "rd"), arg("source", "g")},
         {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "space node from size(x, 0)\n"
                                  "space edge from size(edge_index, 1)\n"
                                  "map src: edge -> node from edge_index[0]\n"
                                  "map dst: edge -> node from edge_index[1]\n"
                                  "space edge_kept = filter(edge, src != dst)\n"
                                  "space edge_all = union(edge_kept, node)\n"
                                  "map edge_kept_src: edge_kept -> node = src\n"
                                  "map edge_all_src: edge_all -> node = edge_kept_src | node\n"
                                  "map edge_kept_dst: edge_kept -> node = dst\n"
                                  "map edge_all_dst: edge_all -> node = edge_kept_dst | node\n"
                                  "\n"
                                  "model m exported {\n"
                                  "  input x: node[in = 4]\n"
                                  "  output y = sum(x.edge_all_src, along: edge_all_dst)\n"
                                  "}\n");
}

TEST(RecoverTest, ASpaceWithAMapThatHasNoFormIsGiven) {
  ProgramBuilder b = withLoops();
  // Reversed, its targets are a list that somebody computes.
  b.integerNode("back", "flip.default", {arg("self", "rd"), ints("dims", {0})}, {"u0+N"});
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  b.node("y", "index_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "back"), arg("source", "g")},
         {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find(" = union("), std::string::npos) << text;
  EXPECT_NE(text.find(" from flip(cat("), std::string::npos) << text;
}

} // namespace
