//===- ArrangeTest.cpp - The axis of elements comes first -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Arrange.h"
#include "ProgramBuilder.h"
#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

using Strings = std::vector<std::string>;

/// y = exp(x.T) in a row for each node, and the same in a column.
ProgramBuilder columns() {
  ProgramBuilder b;
  b.input("x", {"3", "N"});
  b.node("rows", "permute.default", {arg("self", "x"), ints("dims", {1, 0})}, {"N", "3"});
  b.node("y", "exp.default", {arg("self", "rows")}, {"N", "3"});
  b.node("z", "permute.default", {arg("self", "y"), ints("dims", {1, 0})}, {"3", "N"});
  return b.output("y").output("z");
}

TEST(ArrangeTest, ArgumentsAndResultsHaveItFirst) {
  ProgramBuilder b = columns();
  EXPECT_EQ(b.text(), "refused: input 'x': expected the axis whose size is not fixed to be the first");
  EXPECT_EQ(bringToFront(b.program), (Strings{"input 'x' (axis 1)", "result 1 (axis 1)"}));
  EXPECT_EQ(b.missing({"  input x: node[in = 3]", "  let h = exp(x)", "  output y = h", "  output z = h"}), "");
  EXPECT_TRUE(bringToFront(b.program).empty());
}

TEST(ArrangeTest, OtherAxesKeepTheirOrder) {
  ProgramBuilder b;
  b.input("x", {"3", "5", "N"});
  b.node("y", "exp.default", {arg("self", "x")}, {"3", "5", "N"}).output("y");
  EXPECT_EQ(bringToFront(b.program), (Strings{"input 'x' (axis 2)", "result 0 (axis 2)"}));
  Strings sizes;
  for (const Size &size : b.program.graph.tensors.at("x").sizes)
    sizes.push_back(size.text);
  EXPECT_EQ(sizes, (Strings{"N", "3", "5"}));
  EXPECT_NE(b.text().find("= exp(x)"), std::string::npos) << b.text();
}

TEST(ArrangeTest, OneValueMayBeSeveralResults) {
  ProgramBuilder b;
  b.input("x", {"3", "N"});
  b.node("y", "exp.default", {arg("self", "x")}, {"3", "N"}).output("y").output("y").output("x");
  EXPECT_EQ(bringToFront(b.program),
            (Strings{"input 'x' (axis 1)", "result 0 (axis 1)", "result 1 (axis 1)", "result 2 (axis 1)"}));
  EXPECT_EQ(b.missing({"  let h = exp(x)", "  output y = h", "  output y2 = h", "  output x_as_given = x"}), "");
}

TEST(ArrangeTest, WhatHasNoOrSeveralSuchAxesStays) {
  ProgramBuilder b;
  b.input("x", {"N", "3"}).input("table", {"4", "3"}).input("pairs", {"2", "N", "M"}).integers("index", {"2", "E"});
  b.node("y", "exp.default", {arg("self", "x")}, {"N", "3"}).output("y");
  EXPECT_TRUE(bringToFront(b.program).empty());
}

} // namespace
