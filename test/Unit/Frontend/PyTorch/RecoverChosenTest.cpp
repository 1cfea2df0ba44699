//===- RecoverChosenTest.cpp - Places that the model computes -------------===//
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

/// x: [N, 4], and the place of each row's largest number.
ProgramBuilder best() {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).param("table", "table", {"4", "3"});
  b.integerNode("best", "argmax.default", {arg("self", "x"), arg("dim", 1)}, {"N"});
  return b;
}

TEST(RecoverChosenTest, ComputedClassesAreComparedWithAllClasses) {
  ProgramBuilder b = best();
  b.integerNode("rows", "one_hot.default", {arg("self", "best"), arg("num_classes", 4)}, {"N", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "rows")}, {"N", "4"});
  EXPECT_EQ(
      b.output("y").missing(
          {"  let h = detach(x)",
           "  output y = x * (min(where(maximum(h == max(h, over: in), h != h), constant, 4), over: in) == constant)"}),
      "");
}

TEST(RecoverChosenTest, ComputedClassesHaveACrossEntropy) {
  ProgramBuilder b = best();
  b.node("y", "cross_entropy_loss.default", {arg("self", "x"), arg("target", "best"), arg("ignore_index", 2)}, {});
  std::string text = b.output("y").text();
  EXPECT_NE(text.find("log_softmax(x, over: in)"), std::string::npos) << text;
  EXPECT_NE(text.find("== constant"), std::string::npos) << text;
  EXPECT_NE(text.find("== 2, 0, 1)"), std::string::npos) << text;
}

TEST(RecoverChosenTest, ProbabilitiesOfClassesHaveACrossEntropy) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("t", {"N", "4"});
  b.node("y", "cross_entropy_loss.default", {arg("self", "x"), arg("target", "t"), arg("reduction", 0)}, {"N"});
  EXPECT_EQ(b.output("y").missing({"  output y = -sum(t * log_softmax(x, over: in), over: in)"}), "");
}

TEST(RecoverChosenTest, RowsOfATableAreAProduct) {
  for (const char *op : {"embedding.default", "index.Tensor"}) {
    ProgramBuilder b = best();
    bool byIndex = op == std::string("index.Tensor");
    b.node("y", op,
           byIndex ? ProgramBuilder::Arguments{arg("self", "table"), list("indices", {"best"})}
                   : ProgramBuilder::Arguments{arg("weight", "table"), arg("indices", "best")},
           {"N", "3"});
    std::string place = "min(where(maximum(h == max(h, over: in), h != h), constant, 4), over: in)";
    EXPECT_EQ(b.output("y").missing(
                  byIndex ? std::vector<std::string>{"  let h2 = " + place,
                                                     "  output y = (where(h2 < 0, h2 + 4, h2) == constant) @ table"}
                          : std::vector<std::string>{"  output y = (" + place + " == constant) @ table"}),
              "")
        << op;
  }
}

TEST(RecoverChosenTest, PlacesOfEachRow) {
  ProgramBuilder b = best();
  b.node("values", "topk.default", {arg("self", "x"), arg("k", 2)}, {"N", "2"});
  b.second("places", {"N", "2"});
  b.program.graph.tensors["places"].type = ScalarType::Int64;
  b.node("gathered", "gather.default", {arg("self", "x"), arg("dim", 1), arg("index", "places")}, {"N", "2"});
  b.node("y", "scatter.src", {arg("self", "x"), arg("dim", 1), arg("index", "places"), arg("src", "gathered")},
         {"N", "4"});
  EXPECT_EQ(
      b.output("y").missing(
          {"  let is = h != h", "  let h2 = min(where(maximum(h == max(h, over: in), is), constant, 4), over: in)",
           "  let is2 = h2 == constant",
           "  let h3 = where(where(is2, 0, maximum(h == max(where(is2, (-infinity), h), over: in), is)), constant, 4)",
           "  output y = where(is4, h5[f2: 1], where(is3, h5[f2: 0], x))"}),
      "");
}

TEST(RecoverChosenTest, IntervalsCountBoundaries) {
  for (bool right : {false, true}) {
    ProgramBuilder b;
    b.input("x", {"N"}).param("bounds", "bounds", {"5"});
    b.integerNode("y", "bucketize.Tensor", {arg("self", "x"), arg("boundaries", "bounds"), arg("right", right)}, {"N"});
    std::string sign = right ? " <= " : " < ";
    EXPECT_EQ(b.output("y").missing({"  output y = sum(bounds" + sign + "x, over: f5)"}), "");
  }
}

TEST(RecoverChosenTest, RowsOfNodesAreRefused) {
  ProgramBuilder b = best();
  b.node("y", "index.Tensor", {arg("self", "x"), list("indices", {"best"})}, {"N", "4"});
  EXPECT_EQ(b.output("y").text().substr(0, 48), "refused: 'best' depends on computed numbers, so ");
}

TEST(RecoverChosenTest, MoreThanSixteenPlacesAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "32"});
  b.node("values", "topk.default", {arg("self", "x"), arg("k", 17)}, {"N", "17"});
  b.second("places", {"N", "17"});
  b.node("y", "gather.default", {arg("self", "x"), arg("dim", 1), arg("index", "places")}, {"N", "17"});
  EXPECT_EQ(b.output("y").text(),
            "refused: the places of ordered numbers are used: gnnc can give at most 16 along an axis of fixed size");
}

} // namespace
