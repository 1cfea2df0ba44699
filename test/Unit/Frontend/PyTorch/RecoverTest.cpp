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
  EXPECT_EQ(over.output("y").missing({"  output y = where(degree(dst) == 0, 1, max(x.src, along: dst))"}), "");
  b.node("y", "scatter_reduce.two",
         {arg("self", "ones"), arg("dim", 0), arg("index", "w"), arg("src", "g"), text("reduce", "amax")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = where(degree(dst) == 0, 1, maximum(1, max(x.src, along: dst)))"}), "");
}

TEST(RecoverTest, AnIndexOfEachFeatureAddsToItsOwn) {
  ProgramBuilder b = graph();
  b.integers("other", {"E", "4"});
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  b.node("y", "scatter_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "other"), arg("src", "g")},
         {"N", "4"});
  std::string text = b.output("y").text();
  for (const char *part : {"from column(other, 0)", "from column(other, 3)"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RecoverTest, AnIndexThatCoversAPartOfTheFeaturesWritesThatPart) {
  ProgramBuilder b = graph();
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "s")}, {"E", "4"});
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  b.integerNode("c", "view.default", {arg("self", "d")}, {"E", "1"}); // only the first feature
  ProgramBuilder added = b;
  added.node("y", "scatter_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "c"), arg("src", "g")},
             {"N", "4"});
  EXPECT_EQ(added.output("y").missing({"  output y = concat(flatten(sum(x.src[in: 0], along: dst), one), "
                                       "concat(s, s, s, axis: f3), axis: f4)"}),
            "");
  ProgramBuilder extreme = b;
  extreme.node("y", "scatter_reduce.two",
               {arg("self", "x"), arg("dim", 0), arg("index", "c"), arg("src", "g"), text("reduce", "amax")},
               {"N", "4"});
  EXPECT_EQ(extreme.output("y").missing({"  output y = concat(flatten(where(degree(dst) == 0, h, maximum(h, "
                                         "max(x.src[in: 0], along: dst))), one),",
                                         "      x[in: 1..4], axis: f4)"}),
            "");
  b.node("y", "scatter.value", {arg("self", "x"), arg("dim", 0), arg("index", "c"), arg("value", 5.0)}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = concat(flatten(where(move(1, node_dst, fill: 0), move(5, node_dst, "
                                   "fill: 0), x[in: 0]), one),",
                                   "      x[in: 1..4], axis: f4)"}),
            "");
}

TEST(RecoverTest, AnIndexThatCoversAPartOfTheRowsIsRefused) {
  ProgramBuilder b = graph();
  b.integers("class", {"M"});
  b.integerNode("c", "view.default", {arg("self", "class")}, {"M", "1"});
  b.node("y", "scatter.value", {arg("self", "x"), arg("dim", 1), arg("index", "c"), arg("value", 5.0)}, {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "refused: the index covers only a part of the result");
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

TEST(RecoverTest, ComputedMasksChooseElementsAndNumbersOfThem) {
  ProgramBuilder b = graph();
  b.maskNode("m", "gt.Scalar", {arg("self", "x"), arg("other", 0)}, {"N", "4"});
  b.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"m"})}, {"u0"});
  EXPECT_EQ(
      b.output("y").missing({"space pair = pairs(node, kind)", "  map kept_node: kept -> node = kept_pair.pair.dst"}),
      "");
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

TEST(RecoverTest, NumbersAreAddedAtPairsOfARowAndAFeature) {
  auto add = [](bool accumulate, const char *columns, const char *size) {
    ProgramBuilder b = graph();
    b.input("w", {"E"}).integers("kind", {"T"});
    b.node("zeros", "zeros.default", {}, {"N", size});
    b.node("y", "index_put.default",
           {arg("self", "zeros"), list("indices", {"d", columns}), arg("values", "w"), arg("accumulate", accumulate)},
           {"N", size});
    return b.output("y");
  };
  EXPECT_EQ(add(true, "kind", "3")
                .missing({"map kind2: edge -> kind from kind",
                          "output y = sum(w * rename(onehot(kind2), kind: f3), along: dst)"}),
            "");
  const char *refused =
      "refused: it writes along two axes at once: instead of a matrix of all pairs, gather and add up "
      "along edges";
  EXPECT_EQ(add(false, "kind", "3").text(), refused);
  EXPECT_EQ(add(true, "s", "N").text(), refused);
}

/// torch may give each list a size of its own.
TEST(RecoverTest, ListsOfPairsAreEquallyLong) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("w", {"W"}).integers("a", {"A"}).integers("b", {"B"});
  b.node("zeros", "zeros.default", {}, {"N", "4"});
  // Before and behind it, and both ways round.
  b.node("g", "index_select.default", {arg("self", "x"), arg("dim", 0), arg("index", "b")}, {"B", "4"});
  for (auto [name, first, second] : {std::tuple("p", "a", "b"), std::tuple("q", "b", "a")})
    b.node(name, "index_put.default",
           {arg("self", "zeros"), list("indices", {first, second}), arg("values", "w"), arg("accumulate", true)},
           {"N", "4"});
  b.node("pq", "mul.Tensor", {arg("self", "p"), arg("other", "q")}, {"N", "4"});
  b.node("h", "index_select.default", {arg("self", "pq"), arg("dim", 0), arg("index", "a")}, {"A", "4"});
  b.node("y", "add.Tensor", {arg("self", "g"), arg("other", "h")}, {"A", "4"});
  EXPECT_EQ(b.output("y").missing({"map a: w_row -> node from a", "map b: w_row -> node from b",
                                   "let h = sum(w * rename(onehot(b2), kind: in), along: a) * "
                                   "sum(w * rename(onehot(a2), kind: in), along: b)",
                                   "output y = x.b + h.a"}),
            "");
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
            "refused: 'v' is used after node 'changed' wrote to its memory in place through another tensor, which is "
            "not supported; compute a new tensor instead, for instance with torch.where, or write to the whole tensor "
            "by its own name");
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
  EXPECT_EQ(b.output("y").missing({"  param a[one = 1, in] as \"a\"", "  output y = x * a[one: 0]"}), "");
}

TEST(RecoverTest, ViewsOfSpacesAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("y", "view.default", {arg("self", "x")}, {"M"});
  EXPECT_EQ(b.output("y").text(), "refused: a view of shape [M] does not fit its operand, of shape [N, 4]: it would "
                                  "regroup elements of a space");
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
  EXPECT_EQ(other.output("y").missing({"  output y = sum(x.src, along: dst) / maximum(degree(dst), 2)"}), "");
}

/// Rows of x summed along a map of which `places`, of as many elements as `size` says, is the list.
std::string summedBy(ProgramBuilder b, const char *places, const std::string &size) {
  b.input("rows", {size, "4"}).node("zeros", "zeros.default", {}, {"N", "4"});
  b.node("y", "index_add.default", {arg("self", "zeros"), arg("dim", 0), arg("index", places), arg("source", "rows")},
         {"N", "4"});
  return b.output("y").text();
}

TEST(RecoverTest, IntegersAreJoinedInAnyForm) {
  ProgramBuilder b = graph();
  b.integerNode("loop", "arange.default", {arg("end", "N")}, {"N"}).integer("N", "N");
  b.integerNode("wide", "expand.default", {arg("self", "loop"), ints("size", {2, -1})}, {"2", "N"});
  b.integerNode("rows2", "vstack.default", {list("tensors", {"loop", "loop"})}, {"2", "N"});
  ProgramBuilder expanded = b, piled = b, beside = b;
  expanded.integerNode("all", "cat.default", {list("tensors", {"edge_index", "wide"}), arg("dim", 1)}, {"2", "E+N"});
  piled.integerNode("all", "cat.default", {list("tensors", {"edge_index", "rows2"}), arg("dim", 1)}, {"2", "E+N"});
  beside.integerNode("all", "hstack.default", {list("tensors", {"edge_index", "wide"})}, {"2", "E+N"});
  std::vector<std::string> texts;
  for (ProgramBuilder *each : {&expanded, &piled, &beside}) {
    each->integerNode("places", "select.int", {arg("self", "all"), arg("dim", 0), arg("index", 1)}, {"E+N"});
    texts.push_back(summedBy(*each, "places", "E+N"));
    EXPECT_EQ(texts.back().find("refused"), std::string::npos) << texts.back();
    EXPECT_EQ(texts.back(), texts.front());
  }
}

TEST(RecoverTest, ListsAreComparedSortedAndCounted) {
  ProgramBuilder least = graph(), sorted = graph(), unique = graph(), places = graph();
  least.integerNode("c", "min.other", {arg("self", "s"), arg("other", "d")}, {"E"});
  EXPECT_NE(summedBy(least, "c", "E").find("minimum(edge_index[0], edge_index[1])"), std::string::npos);
  // Equal elements keep their order, which PyTorch leaves open.
  sorted.integerNode("c", "sort.default", {arg("self", "d")}, {"E"}).second("order", {"E"}, ScalarType::Int64);
  EXPECT_EQ(summedBy(sorted, "c", "E").find("refused"), std::string::npos) << summedBy(sorted, "c", "E");
  places.integerNode("c", "sort.default", {arg("self", "d")}, {"E"}).second("order", {"E"}, ScalarType::Int64);
  EXPECT_NE(summedBy(places, "order", "E").find("from argsort(edge_index[1])"), std::string::npos);
  unique.integerNode("c", "_unique2.default", {arg("self", "d"), arg("return_counts", true)}, {"u0"});
  unique.second("inverse", {"0"}, ScalarType::Int64).second("counts", {"u0"}, ScalarType::Int64);
  EXPECT_EQ(summedBy(unique, "c", "u0").find("refused"), std::string::npos) << summedBy(unique, "c", "u0");
}

TEST(RecoverTest, IntegersAsNumbersHaveNoGradient) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("keep", {"N"}, ScalarType::Bool);
  b.maskNode("v", "view.default", {arg("self", "keep")}, {"N", "1"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "v")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  input mask: node[] from keep", "  output y = x * mask"}), "");
}

// What `detach` was comes out of decompositions as `alias`, as does x[...].
TEST(RecoverTest, AliasesOfDecomposedProgramsThatWereDetachedHaveNoGradient) {
  auto program = [](bool isTraining, std::optional<bool> wasDetach) {
    ProgramBuilder b;
    b.decomposed(!isTraining).input("x", {"N", "4"});
    b.node("a", "alias.default", {arg("self", "x")}, {"N", "4"});
    b.program.graph.nodes.back().wasDetach = wasDetach;
    b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "a")}, {"N", "4"});
    return b.output("y");
  };
  EXPECT_EQ(program(true, std::nullopt).missing({"  output y = x * x"}), "");
  EXPECT_EQ(program(false, false).missing({"  output y = x * x"}), "");
  EXPECT_EQ(program(false, true).missing({"  output y = x * detach(x)"}), "");
  EXPECT_EQ(
      program(false, std::nullopt).text(),
      "refused: 'alias' is what decompositions leave of 'detach', but of x[...] too, and the file does not say of "
      "which; save the program before run_decompositions()");
}

TEST(RecoverTest, InputsOfAllPairsAreRefused) {
  ProgramBuilder b;
  b.input("adj", {"N", "N"});
  EXPECT_EQ(b.output("adj").text().substr(0, 60), "refused: input 'adj' has two axes whose sizes are not fixed,");
}

TEST(RecoverTest, SizesThatAreAllFixedAreSaidToBeSo) {
  ProgramBuilder b;
  b.input("x", {"13", "6"}).integers("edge_index", {"2", "40"}).output("x");
  EXPECT_EQ(b.text().find("refused"), std::string::npos) << b.text();
  Recover recover(b.program);
  EXPECT_EQ(recover.run().fixedSizes, "the sizes of all inputs are fixed: 'x' [13, 6], 'edge_index' [2, 40]; "
                                      "export with dynamic_shapes, which say what differs from graph to graph");
}

TEST(RecoverTest, UnknownOperatorsAreRefusedByName) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("y", "svd.default", {arg("self", "x")}, {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "refused: operator 'torch.ops.aten.svd.default' has no meaning in gnnc: write it "
                                  "with others, or keep it out of what is compiled");
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

/// x: [N, 4], W: [4, 4] and b: [4].
ProgramBuilder layer() {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).param("p_w", "w", {"4", "4"}).param("p_b", "b", {"4"});
  return b;
}

TEST(RecoverTest, ProductsAreScaled) {
  ProgramBuilder b = layer();
  b.node("y", "addmm.default",
         {arg("self", "p_b"), arg("mat1", "x"), arg("mat2", "p_w"), arg("beta", 0.5), arg("alpha", 2)}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = x @ w * 2 + b * 0.5"}), "");
  ProgramBuilder without = layer();
  without.node("y", "addmm.default", {arg("self", "p_b"), arg("mat1", "x"), arg("mat2", "p_w"), arg("beta", 0)},
               {"N", "4"});
  EXPECT_EQ(without.output("y").missing({"  output y = x @ w"}), "");
}

TEST(RecoverTest, TiedParametersAreOne) {
  ProgramBuilder b;
  b.input("x", {"N", "4"})
      .param("p_a", "a.w", {"4", "4"})
      .param("p_b", "b.w", {"4", "4"})
      .param("p_c", "c.w", {"4", "4"});
  b.lies("a.w", "weight_0").lies("b.w", "weight_0").lies("c.w", "weight_1");
  b.node("h", "mm.default", {arg("self", "x"), arg("mat2", "p_b")}, {"N", "4"});
  b.node("y", "mm.default", {arg("self", "h"), arg("mat2", "p_c")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find(" as \"a.w\""), std::string::npos) << text;
  EXPECT_EQ(text.find("b.w"), std::string::npos) << text;
  EXPECT_NE(text.find(" as \"c.w\""), std::string::npos) << text;
}

TEST(RecoverTest, AllRowsOfASpaceReachASingleElement) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integer("n", "N");
  b.integerNode("batch", "new_zeros.default", {arg("self", "x")}, {"N"});
  b.integerNode("column", "view.default", {arg("self", "batch")}, {"N", "1"});
  b.integerNode("wide", "expand_as.default", {arg("self", "column"), arg("other", "x")}, {"N", "4"});
  b.node("zeros", "new_zeros.default", {arg("self", "x"), ints("size", {1, 4})}, {"1", "4"});
  b.node("sum", "scatter_add_.default", {arg("self", "zeros"), arg("dim", 0), arg("index", "wide"), arg("src", "x")},
         {"1", "4"});
  b.node("v", "view.default", {arg("self", "sum")}, {"1", "2", "2"});
  b.node("w", "view.default", {arg("self", "v")}, {"1", "4"});
  b.node("y", "index_select.default", {arg("self", "w"), arg("dim", 0), arg("index", "batch")}, {"N", "4"});
  b.node("z", "sub.Tensor", {arg("self", "x"), arg("other", "y")}, {"N", "4"});
  std::string text = b.output("z").text();
  EXPECT_NE(text.find("sum(x, along: all)"), std::string::npos) << text;
  EXPECT_EQ(text.find("static"), std::string::npos) << text;
}

TEST(RecoverTest, SlopesThatAreLearnt) {
  ProgramBuilder b = layer();
  b.node("y", "prelu.default", {arg("self", "x"), arg("weight", "p_b")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = where(x > 0, x, x * b)"}), "");
}

TEST(RecoverTest, InstancesAreNormalisedOverTheirRows) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("t", "t.default", {arg("self", "x")}, {"4", "N"});
  b.node("u", "unsqueeze.default", {arg("self", "t"), arg("dim", 0)}, {"1", "4", "N"});
  b.node("i", "instance_norm.default", {arg("input", "u"), arg("use_input_stats", true), arg("eps", 0.25)},
         {"1", "4", "N"});
  b.node("s", "squeeze.dim", {arg("self", "i"), arg("dim", 0)}, {"4", "N"});
  b.node("y", "t.default", {arg("self", "s")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing(
                {"  let h = x - mean(x, along: all)", "  output y = h * rsqrt(mean(square(h), along: all) + 0.25)"}),
            "");
}

TEST(RecoverTest, ASecondResultOfACellIsItsOwn) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("h", {"N", "1"}).input("c", {"N", "1"});
  b.param("p_i", "i", {"4", "4"}).param("p_h", "hh", {"4", "1"});
  b.node("n", "lstm_cell.default", {arg("input", "x"), list("hx", {"h", "c"}), arg("w_ih", "p_i"), arg("w_hh", "p_h")},
         {"N", "1"});
  b.second("m", {"N", "1"});
  EXPECT_EQ(b.output("m").text().find("refused"), std::string::npos) << b.text();
  // The state c goes through no gate of the output.
  std::string text = b.text();
  size_t tanhs = 0;
  for (size_t at = text.find("tanh("); at != std::string::npos; at = text.find("tanh(", at + 1))
    ++tanhs;
  EXPECT_EQ(tanhs, 1u) << text;
}

TEST(RecoverTest, InputsAndNothingMayBeReturned) {
  ProgramBuilder b = layer();
  b.node("y", "relu.default", {arg("self", "x")}, {"N", "4"});
  b.output("y").outputNone().output("x");
  EXPECT_EQ(b.missing({"  output y = relu(x)", "  output x2 = x"}), "");
}

TEST(RecoverTest, IntegersAreNumbersWhereTheyAreOutputs) {
  ProgramBuilder b = graph();
  EXPECT_EQ(b.output("s").missing({"  input number: number_row[] from edge_index[0]", "  output s = number"}), "");
}

TEST(RecoverTest, DotsOfAnEinsumAreTheFirstAxes) {
  ProgramBuilder b;
  b.input("x", {"N", "2", "4"}).input("z", {"N", "2", "4"});
  b.node("y", "einsum.default", {text("equation", "...l,...l->..."), list("tensors", {"x", "z"})}, {"N", "2"});
  std::string dots = b.output("y").text();
  ProgramBuilder c;
  c.input("x", {"N", "2", "4"}).input("z", {"N", "2", "4"});
  c.node("y", "einsum.default", {text("equation", "nhl,nhl->nh"), list("tensors", {"x", "z"})}, {"N", "2"});
  EXPECT_EQ(dots, c.output("y").text());
  EXPECT_EQ(dots.find("refused"), std::string::npos) << dots;
}

TEST(RecoverTest, AnAxisThatEinsumNamesTwiceIsADiagonal) {
  ProgramBuilder b;
  b.input("x", {"N", "3", "3"});
  b.node("y", "einsum.default", {text("equation", "nii->ni"), list("tensors", {"x"})}, {"N", "3"});
  std::string named = b.output("y").text();
  ProgramBuilder c;
  c.input("x", {"N", "3", "3"});
  c.node("y", "diagonal.default", {arg("self", "x"), arg("dim1", 1), arg("dim2", 2)}, {"N", "3"});
  EXPECT_EQ(named, c.output("y").text());
  EXPECT_EQ(named.find("refused"), std::string::npos) << named;
}

TEST(RecoverTest, ResultsMayHaveSeveralAxesOfSizeOne) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).param("W", "o.weight", {"1", "4"});
  b.node("s", "sum.dim_IntList", {arg("self", "x"), ints("dim", {0}), arg("keepdim", true)}, {"1", "4"});
  b.node("y", "linear.default", {arg("input", "s"), arg("weight", "W")}, {"1", "1"});
  std::string text = b.output("y").text();
  EXPECT_EQ(text.find("refused"), std::string::npos) << text;
  // They are in order as they were split off, and none is named that was split.
  EXPECT_NE(text.find("one, one2: 1, one3: 1)"), std::string::npos) << text;
  EXPECT_EQ(text.find("permute("), std::string::npos) << text;
}

TEST(RecoverTest, CrossProductsAreSlices) {
  ProgramBuilder b;
  b.input("x", {"N", "3"}).input("z", {"N", "3"});
  b.node("y", "linalg_cross.default", {arg("self", "x"), arg("other", "z")}, {"N", "3"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("let h = x[in: 1]\n  let h2 = z[in: 2]\n  let h3 = x[in: 2]\n  let h4 = z[in: 1]\n"
                      "  let h5 = z[in: 0]\n  let h6 = x[in: 0]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("concat(flatten(h * h2 - h3 * h4, one), flatten(h3 * h5 - h6 * h2, one), "
                      "flatten(h6 * h4 - h * h5, one),\n      axis: f3)"),
            std::string::npos)
      << text;
}

TEST(RecoverTest, ColumnsOfIntegersAreMaps) {
  ProgramBuilder b;
  b.integers("x", {"N", "3"}).param("p_w", "w", {"7", "4"});
  b.integerNode("i", "select.int", {arg("self", "x"), arg("dim", 1), arg("index", 2)}, {"N"});
  b.node("y", "embedding.default", {arg("weight", "p_w"), arg("indices", "i")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find(" from column(x, 2)\n"), std::string::npos) << text;
}

/// With a space and two maps if there are many columns; otherwise each column is a map.
TEST(RecoverTest, TablesOfNeighboursAreEdges) {
  auto text = [](const std::string &columns, bool isReturned) {
    ProgramBuilder b;
    b.input("x", {"N", "4"}).integers("table", {"N", columns});
    b.node("near", "embedding.default", {arg("weight", "x"), arg("indices", "table")}, {"N", columns, "4"});
    b.node("y", "amax.default", {arg("self", "near"), ints("dim", {1})}, {"N", "4"});
    return isReturned ? b.output("y").output("near").text() : b.output("y").text();
  };
  std::string edges = text("8", false);
  for (const char *part : {"from mul(size(x, 0), 8)", "from flat(table, -1, 8)", "along: "})
    EXPECT_NE(edges.find(part), std::string::npos) << edges;
  for (const std::string &other : {text("3", false), text("8", true)}) { // few columns, and an axis that is returned
    EXPECT_NE(other.find("from column(table, 2)"), std::string::npos) << other;
    EXPECT_EQ(other.find("along: "), std::string::npos) << other;
  }
}

TEST(RecoverTest, AColumnOfEachRowIsWritten) {
  ProgramBuilder b;
  b.input("x", {"N", "2"}).integers("label", {"N"});
  b.integerNode("zeros", "zeros.default", {}, {"N", "2"});
  b.integerNode("at", "unsqueeze.default", {arg("self", "label"), arg("dim", 1)}, {"N", "1"});
  b.integerNode("one", "scatter.value", {arg("self", "zeros"), arg("dim", 1), arg("index", "at"), arg("value", 1)},
                {"N", "2"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "one")}, {"N", "2"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("map node_kind: node -> kind partial from where(both(ge(label, 0), lt(label, 2)), label, -1)"),
            std::string::npos)
      << text;
}

TEST(RecoverTest, DropoutInTrainingIsRefused) {
  ProgramBuilder b = layer();
  b.node("y", "dropout.default", {arg("input", "x"), arg("p", 0.5), arg("train", true)}, {"N", "4"});
  EXPECT_EQ(b.output("y").text(), "refused: dropout in training mode; export the model after eval()");
}

TEST(RecoverTest, KeywordsAreQuoted) {
  ProgramBuilder b;
  b.input("input", {"N", "4"});
  b.node("y", "relu.default", {arg("self", "input")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  input `input`: input_row[in = 4]", "  output y = relu(`input`)"}), "");
}

TEST(RecoverTest, WritesToAllOfATensorReachIt) {
  ProgramBuilder b = layer();
  b.node("c", "mul.Tensor", {arg("self", "x"), arg("other", 2)}, {"N", "4"});
  b.node("all", "slice.Tensor", {arg("self", "c"), arg("dim", 0), arg("start", 0)}, {"N", "4"});
  b.node("changed", "relu_.default", {arg("self", "all")}, {"N", "4"});
  b.node("y", "exp.default", {arg("self", "c")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  output y = exp(relu(x * 2))"}), "");
}

TEST(RecoverTest, LossesOfDifferences) {
  auto text = [](const char *op, int reduction) {
    ProgramBuilder b;
    b.input("x", {"N", "4"}).input("t", {"N", "4"});
    std::vector<std::string> shape = reduction ? std::vector<std::string>() : std::vector<std::string>{"N", "4"};
    b.node("y", op, {arg("self", "x"), arg("target", "t"), arg("reduction", reduction)}, shape);
    return b.output("y").text();
  };
  EXPECT_NE(text("mse_loss.default", 0).find("output y = square(x - t)\n"), std::string::npos);
  EXPECT_NE(text("l1_loss.default", 0).find("output y = abs(x - t)\n"), std::string::npos);
  EXPECT_NE(text("mse_loss.default", 2).find("output y = sum(sum(square(x - t), over: in), along: all)\n"),
            std::string::npos)
      << text("mse_loss.default", 2);
  EXPECT_NE(text("mse_loss.default", 1).find("output y = mean(mean(square(x - t), over: in), along: all)\n"),
            std::string::npos);
}

TEST(RecoverTest, BinsOfBincountAreAsManyAsItNeeds) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("batch", {"N"});
  b.integerNode("counts", "bincount.default", {arg("self", "batch"), arg("minlength", 3)}, {"u0"});
  b.integerNode("own", "index.Tensor", {arg("self", "counts"), list("indices", {"batch"})}, {"N"});
  b.node("column", "unsqueeze.default", {arg("self", "own"), arg("dim", 1)}, {"N", "1"}, ScalarType::Int64);
  b.node("y", "div.Tensor", {arg("self", "x"), arg("other", "column")}, {"N", "4"});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("scatter_sum(batch, 1, add(max(cat(batch, 2)), 1))"), std::string::npos) << text;
}

TEST(RecoverTest, AnInputThatIsCalledLikeAParameter) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("w", {"N", "4"}).param("p_w", "w", {"4"}).lies("w", "weight_0");
  b.node("s", "mul.Tensor", {arg("self", "x"), arg("other", "p_w")}, {"N", "4"});
  b.node("y", "mul.Tensor", {arg("self", "s"), arg("other", "w")}, {"N", "4"});
  EXPECT_EQ(
      b.output("y").missing({"  input w_input: node[in]", "  param w[in] as \"w\"", "  output y = x * w * w_input"}),
      "");
}

} // namespace
