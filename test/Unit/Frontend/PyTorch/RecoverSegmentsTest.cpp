//===- RecoverSegmentsTest.cpp - Reductions of rows in a row --------------===//
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

/// x [N, 4] by row pointers, of which there is one more than segments.
ProgramBuilder byPointers(NamedArgument reduce, std::vector<NamedArgument> more = {}) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("pointers", {"P"});
  std::vector<NamedArgument> arguments = {arg("data", "x"), std::move(reduce), arg("offsets", "pointers")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  b.node("y", "segment_reduce.default", arguments, {"P+-1", "4"});
  return b.output("y");
}

TEST(RecoverSegmentsTest, RowPointersAreAMap) {
  EXPECT_EQ(byPointers(text("reduce", "sum")).text(),
            "space node from size(x, 0)\n"
            "space part from add(size(pointers, 0), -1)\n"
            "map node_part: node -> part from interleave(arange(0, add(size(pointers, 0), -1), 1), diff(pointers))\n"
            "\n"
            "model m exported {\n"
            "  input x: node[in = 4]\n"
            "  output y = sum(x, along: node_part)\n"
            "}\n");
}

TEST(RecoverSegmentsTest, LengthsAreAMap) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("lengths", {"B"});
  b.node("y", "segment_reduce.default",
         {arg("data", "x"), text("reduce", "max"), arg("lengths", "lengths"), arg("initial", 0.5)}, {"B", "4"});
  EXPECT_EQ(b.output("y").missing(
                {"map node_part: node -> part from interleave(arange(0, size(lengths, 0), 1), lengths)",
                 "  output y = where(degree(node_part) == 0, 0.5, maximum(0.5, max(x, along: node_part)))"}),
            "");
}

TEST(RecoverSegmentsTest, MeansOfNoRow) {
  EXPECT_EQ(byPointers(text("reduce", "mean"), {arg("initial", 0)}).missing({"  output y = mean(x, along: node_part)"}),
            "");
  EXPECT_EQ(
      byPointers(text("reduce", "mean")).missing({"  output y = mean(x, along: node_part) + 0 / degree(node_part)"}),
      "");
}

TEST(RecoverSegmentsTest, ThreePointersAreABoundOfNobodysMaking) {
  ProgramBuilder b = byPointers(text("reduce", "sum"));
  b.program.ranges["P"].least = 3;
  EXPECT_EQ(b.missing({"space part from add(size(pointers, 0), -1)"}), "");
  b.program.ranges["P"].least = 4;
  EXPECT_EQ(b.missing({"space part from add(at_least(size(pointers, 0), 4), -1)"}), "");
}

TEST(RecoverSegmentsTest, OtherSegmentsAreRefused) {
  EXPECT_EQ(byPointers(text("reduce", "median")).text(),
            "refused: argument 'reduce': expected sum, mean, prod, max or min, found 'median'");
  EXPECT_EQ(byPointers(text("reduce", "sum"), {arg("axis", 1)}).text(),
            "refused: segments along another axis than the first; move that axis with transpose");
}

} // namespace
