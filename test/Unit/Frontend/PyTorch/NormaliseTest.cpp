//===- NormaliseTest.cpp - Writes in place, and types ---------------------===//
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

using Strings = std::vector<std::string>;

/// h = x * 2, of shape [N, 4], and its view v.
ProgramBuilder viewed(const std::string &kind) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("h", "mul.Tensor", {arg("self", "x"), arg("other", 2)}, {"N", "4"});
  if (kind == "select")
    b.node("v", "select.int", {arg("self", "h"), arg("dim", 1), arg("index", 0)}, {"N"});
  else if (kind == "slice")
    b.node("v", "slice.Tensor", {arg("self", "h"), arg("dim", 1), arg("start", 0), arg("end", 2)}, {"N", "2"});
  else
    b.node("v", kind + ".default", {arg("self", "h")}, {"N", "2", "2"});
  return b;
}

Strings shapeOf(const std::string &kind) {
  return kind == "select" ? Strings{"N"} : kind == "slice" ? Strings{"N", "2"} : Strings{"N", "2", "2"};
}

TEST(NormaliseTest, AllWritesThroughAViewReachTheTensor) {
  for (std::string kind : {"view", "select", "slice"}) {
    ProgramBuilder b = viewed(kind);
    b.node("first", "exp_.default", {arg("self", "v")}, shapeOf(kind));
    b.node("second", "sin_.default", {arg("self", "v")}, shapeOf(kind));
    ProgramBuilder base = b, view = b;
    base.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
    EXPECT_NE(base.text().find("sin("), std::string::npos) << kind << "\n" << base.text();
    EXPECT_NE(base.text().find("exp("), std::string::npos) << kind << "\n" << base.text();
    view.node("y", "abs.default", {arg("self", "v")}, shapeOf(kind)).output("y");
    EXPECT_NE(view.text().find("abs(sin(exp("), std::string::npos) << kind << "\n" << view.text();
  }
}

TEST(NormaliseTest, AWriteAfterAWriteThroughAViewIsRead) {
  for (std::string kind : {"view", "select", "slice"}) {
    ProgramBuilder b = viewed(kind);
    b.node("first", "exp_.default", {arg("self", "v")}, shapeOf(kind));
    b.node("second", "sin_.default", {arg("self", "h")}, {"N", "4"});
    ProgramBuilder base = b;
    base.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
    EXPECT_NE(base.text().find("abs(sin("), std::string::npos) << kind << "\n" << base.text();
    // The view has its numbers from before.
    b.node("y", "abs.default", {arg("self", "v")}, shapeOf(kind)).output("y");
    EXPECT_NE(b.text().find("' is used after node 'second' wrote to its memory"), std::string::npos) << b.text();
  }
}

TEST(NormaliseTest, AViewIsNotReadAfterAWriteThroughAnother) {
  ProgramBuilder b = viewed("slice");
  b.node("first", "exp_.default", {arg("self", "v")}, {"N", "2"});
  b.node("w", "slice.Tensor", {arg("self", "h"), arg("dim", 1), arg("start", 1), arg("end", 3)}, {"N", "2"});
  b.node("second", "sin_.default", {arg("self", "w")}, {"N", "2"});
  ProgramBuilder base = b;
  b.output("v"); // even where nothing but the caller reads it
  EXPECT_NE(b.text().find("' is used after node 'second' wrote to its memory"), std::string::npos) << b.text();
  base.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
  EXPECT_NE(base.text().find("sin("), std::string::npos) << base.text();
  EXPECT_NE(base.text().find("exp("), std::string::npos) << base.text();
}

TEST(NormaliseTest, ViewsBetweenFollowWhatIsWrittenThroughThem) {
  ProgramBuilder b = viewed("view");
  b.node("part", "select.int", {arg("self", "v"), arg("dim", 1), arg("index", 0)}, {"N", "2"});
  b.node("first", "exp_.default", {arg("self", "part")}, {"N", "2"});
  b.node("second", "sin_.default", {arg("self", "v")}, {"N", "2", "2"});
  b.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
  EXPECT_NE(b.text().find("exp("), std::string::npos) << b.text();
  EXPECT_NE(b.text().find("sin("), std::string::npos) << b.text();
}

// `to` gives the tensor itself where it has that type, and a copy otherwise; `detach` shares its memory.
TEST(NormaliseTest, ConversionsThatHaveNothingToDoAreTheTensor) {
  auto written = [](const std::string &alias, ScalarType type, const std::string &read) {
    ProgramBuilder b;
    b.input("x", {"N", "4"});
    b.node("h", "tanh.default", {arg("self", "x")}, {"N", "4"});
    b.node("v", alias, {arg("self", "h")}, {"N", "4"}, type);
    b.node("part", "select.int", {arg("self", "v"), arg("dim", 1), arg("index", 0)}, {"N"}, type);
    b.node("changed", "exp_.default", {arg("self", "part")}, {"N"}, type);
    b.node("own", "to.dtype", {arg("self", read.c_str())}, {"N", "4"});
    b.node("y", "abs.default", {arg("self", "own")}, {"N", "4"});
    return b.output("y").text();
  };
  const std::string refused = "' is used after node 'changed' wrote to its memory";
  for (const char *alias : {"to.device", "float.default", "type_as.default", "detach.default"})
    EXPECT_NE(written(alias, ScalarType::Float32, "v").find("exp("), std::string::npos) << alias;
  EXPECT_NE(written("to.device", ScalarType::Float32, "h").find("exp("), std::string::npos);
  EXPECT_NE(written("detach.default", ScalarType::Float32, "h").find(refused), std::string::npos);
  EXPECT_EQ(written("to.dtype", ScalarType::Float64, "h").find(refused), std::string::npos);
  EXPECT_EQ(written("to.dtype", ScalarType::Float64, "h").find("exp("), std::string::npos);
}

// The slice before the write is the same operation, and has other numbers.
TEST(NormaliseTest, AnEqualViewAfterAWriteIsAnother) {
  ProgramBuilder b = viewed("reshape");
  auto half = {arg("self", "v"), arg("dim", 1), arg("start", 0), arg("end", 1)};
  b.node("part", "slice.Tensor", half, {"N", "1", "2"});
  b.node("first", "exp_.default", {arg("self", "part")}, {"N", "1", "2"});
  b.node("again", "slice.Tensor", half, {"N", "1", "2"});
  b.node("y", "abs.default", {arg("self", "again")}, {"N", "1", "2"}).output("y");
  EXPECT_NE(b.text().find("' is used after node 'first' wrote to its memory"), std::string::npos) << b.text();
}

// A reshape copies where its operand does not lie in order.
TEST(NormaliseTest, WritesIntoWhatMayBeACopyDoNotReachTheTensor) {
  for (std::string kind : {"reshape", "flatten"}) {
    ProgramBuilder b = viewed(kind);
    b.node("first", "exp_.default", {arg("self", "v")}, {"N", "2", "2"});
    ProgramBuilder view = b;
    b.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
    EXPECT_NE(b.text().find("refused: 'h' is used after node 'first' wrote to its memory"), std::string::npos)
        << b.text();
    view.node("y", "abs.default", {arg("self", "v")}, {"N", "2", "2"}).output("y");
    EXPECT_NE(view.text().find("abs(exp("), std::string::npos) << view.text();
  }
}

TEST(NormaliseTest, DropoutOutsideTrainingIsItsInput) {
  ProgramBuilder b = viewed("select");
  b.node("d", "dropout.default", {arg("input", "h"), arg("p", 0.5), arg("train", false)}, {"N", "4"});
  b.node("first", "exp_.default", {arg("self", "d")}, {"N", "4"});
  b.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
  EXPECT_NE(b.text().find("abs(exp("), std::string::npos) << b.text();
}

TEST(NormaliseTest, ViewsWithATypeAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.node("v", "view.dtype", {arg("self", "x"), {"dtype", ScalarType::Int32}}, {"N", "4"}, ScalarType::Int32);
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "v")}, {"N", "4"}).output("y");
  EXPECT_EQ(b.text(), "refused: it reads the bits of numbers as another type; use .to(dtype)");
}

TEST(NormaliseTest, NarrowIntegersThatMayOverflowAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N"}).integers("i", {"N"});
  ProgramBuilder narrowed = b;
  narrowed.node("n", "to.dtype", {arg("self", "i")}, {"N"}, ScalarType::Int8);
  narrowed.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "n")}, {"N"}).output("y");
  EXPECT_EQ(narrowed.text(), "refused: it narrows int64 to int8, whose numbers start again where they overflow; use "
                             "int64");
  // A truth value fits; what is computed of it may not.
  b.maskNode("m", "gt.Scalar", {arg("self", "i"), arg("other", 0)}, {"N"});
  b.node("n", "to.dtype", {arg("self", "m")}, {"N"}, ScalarType::UInt8);
  ProgramBuilder computed = b;
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "n")}, {"N"}).output("y");
  EXPECT_EQ(b.text().find("refused"), std::string::npos) << b.text();
  computed.node("s", "sub.Tensor", {arg("self", "n"), arg("other", 1)}, {"N"}, ScalarType::UInt8);
  computed.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "s")}, {"N"}).output("y");
  EXPECT_EQ(computed.text(), "refused: it computes in uint8, whose numbers start again where they overflow; use int64");
}

TEST(NormaliseTest, NumbersThatAreWrittenIntoIntegersAreRefused) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.integerNode("zeros", "zeros.default", {}, {"N", "4"});
  b.integerNode("c", "copy_.default", {arg("self", "zeros"), arg("src", "x")}, {"N", "4"});
  b.node("y", "mul.Tensor", {arg("self", "x"), arg("other", "c")}, {"N", "4"}).output("y");
  EXPECT_EQ(b.text(),
            "refused: it writes numbers of type float32 into a tensor of type int64, which changes them; make "
            "both of one type");
}

TEST(NormaliseTest, SizesBeyondTheFilesRangeAreErrors) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.program.ranges["N"] = {2, 10};
  b.node("y", "relu.default", {arg("self", "x")}, {"N", "4"}).output("y");
  EXPECT_EQ(b.missing({"space node from at_most(size(x, 0), 10)"}), "");
  b.program.ranges["N"] = {4, std::nullopt};
  EXPECT_EQ(b.missing({"space node from at_least(size(x, 0), 4)"}), "");
  b.program.ranges["N"] = {2, std::nullopt};
  EXPECT_EQ(b.missing({"space node from size(x, 0)"}), "");
}

/// `inner`, whose inputs are `given`, within no_grad; its output is called `result`.
void withoutGradient(ProgramBuilder &b, const ProgramBuilder &inner, const Strings &given, const std::string &result,
                     const Strings &sizes) {
  b.node(result, "", {}, sizes);
  Node &node = b.program.graph.nodes.back();
  node.target = "torch.ops.higher_order.wrap_with_set_grad_enabled";
  node.arguments = {{"", false}, {"", std::make_shared<const Graph>(inner.program.graph)}};
  for (const std::string &each : given)
    node.arguments.push_back({"", ValueName{each}});
}

constexpr const char *kChangedWithoutGradient = "it changes a tensor in place within no_grad, ";

TEST(NormaliseTest, WhatHasAGradientIsNotChangedWithinNoGrad) {
  for (bool throughView : {false, true}) {
    ProgramBuilder b = viewed("view"), inner;
    inner.input("a", {"N", "4"});
    if (throughView)
      inner.node("part", "select.int", {arg("self", "a"), arg("dim", 1), arg("index", 0)}, {"N"});
    inner.node("w", "exp_.default", {arg("self", throughView ? "part" : "a")},
               throughView ? Strings{"N"} : Strings{"N", "4"});
    inner.output("w");
    withoutGradient(b, inner, {"h"}, "wrapped", throughView ? Strings{"N"} : Strings{"N", "4"});
    b.node("y", "abs.default", {arg("self", "h")}, {"N", "4"}).output("y");
    EXPECT_NE(b.text().find(kChangedWithoutGradient), std::string::npos) << b.text();
  }
}

TEST(NormaliseTest, WhatHasNoGradientIsChangedAnywhere) {
  // A detached copy, and what was made within.
  ProgramBuilder b, inner;
  b.input("x", {"N", "4"});
  b.node("d", "detach.default", {arg("self", "x")}, {"N", "4"});
  b.node("h", "mul.Tensor", {arg("self", "d"), arg("other", 2)}, {"N", "4"});
  inner.input("a", {"N", "4"}).input("c", {"N", "4"});
  inner.node("made", "mul.Tensor", {arg("self", "c"), arg("other", 3)}, {"N", "4"});
  inner.node("first", "exp_.default", {arg("self", "made")}, {"N", "4"});
  inner.node("second", "add_.Tensor", {arg("self", "a"), arg("other", "made")}, {"N", "4"});
  inner.output("second");
  withoutGradient(b, inner, {"h", "x"}, "wrapped", {"N", "4"});
  b.node("y", "mul.Tensor", {arg("self", "h"), arg("other", "x")}, {"N", "4"}).output("y");
  EXPECT_EQ(b.text().find("refused"), std::string::npos) << b.text();
  EXPECT_NE(b.text().find("exp("), std::string::npos) << b.text();
}

} // namespace
