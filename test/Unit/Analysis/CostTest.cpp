//===- CostTest.cpp - Floating-point operations of one row ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedSweep.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// The cost of the last operation that has one.
int64_t flopsOf(const std::string &operations) {
  mlir::MLIRContext context;
  auto module = parse(context, R"(
    mpdfg.space @node root
    func.func @f(%x: tensor<?x8x4xf32, #mpdfg.on<@node>>, %y: tensor<?x8x1xf32, #mpdfg.on<@node>>, %w: tensor<8x4x16xf32>,
                 %a: tensor<8x4xf32>) {
      )" + operations + R"(
      return
    })");
  int64_t flops = -1;
  if (module)
    module->walk([&](mpdfg::CostOpInterface op) { flops = op.flopsPerRow(); });
  return flops;
}

const std::string kRow = "tensor<?x8x4xf32, #mpdfg.on<@node>>", kScore = "tensor<?x8x1xf32, #mpdfg.on<@node>>";

TEST(Cost, Elementwise) {
  EXPECT_EQ(flopsOf("mpdfg.unary relu %x : " + kRow + " -> " + kRow), 8 * 4);
  EXPECT_EQ(flopsOf("mpdfg.unary leaky_relu %x {alpha = 0.2 : f64} : " + kRow + " -> " + kRow), 2 * 8 * 4);
  EXPECT_EQ(flopsOf("mpdfg.unary exp %x : " + kRow + " -> " + kRow), 16 * 8 * 4);
  EXPECT_EQ(flopsOf("mpdfg.unary gelu %x : " + kRow + " -> " + kRow), 16 * 8 * 4);
  EXPECT_EQ(flopsOf("mpdfg.binary mul %x, %y : " + kRow + ", " + kScore + " -> " + kRow), 8 * 4)
      << "as many as the result has numbers";
  EXPECT_EQ(flopsOf("mpdfg.binary pow %y, %y : " + kScore + ", " + kScore + " -> " + kScore), 2 * 16 * 8);
  EXPECT_EQ(flopsOf("mpdfg.select %y, %x, %x : " + kScore + ", " + kRow + ", " + kRow + " -> " + kRow), 8 * 4);
}

TEST(Cost, ContractionsCountMultiplyAndAddForEachCombinationOfLabels) {
  EXPECT_EQ(flopsOf("mpdfg.contract %x [0, 1], %w [0, 1, 2] -> [0, 2] : " + kRow +
                    ", tensor<8x4x16xf32> -> tensor<?x8x16xf32, #mpdfg.on<@node>>"),
            2 * 8 * 4 * 16);
  EXPECT_EQ(flopsOf("mpdfg.contract %x [0, 1], %a [0, 1] -> [0] : " + kRow +
                    ", tensor<8x4xf32> -> tensor<?x8xf32, #mpdfg.on<@node>>"),
            2 * 8 * 4);
}

TEST(Cost, FoldsCountWhatTheyRead) { EXPECT_EQ(flopsOf("mpdfg.fold sum %x [1] : " + kRow + " -> " + kScore), 8 * 4); }

TEST(Cost, ChangesOfShapeAreFree) {
  EXPECT_EQ(flopsOf("mpdfg.reshape %x : " + kRow + " -> tensor<?x32xf32, #mpdfg.on<@node>>"), 0);
  EXPECT_EQ(flopsOf("mpdfg.transpose %x [1, 0] : " + kRow + " -> tensor<?x4x8xf32, #mpdfg.on<@node>>"), 0);
  EXPECT_EQ(flopsOf("mpdfg.slice %x axis 1 from 2 : " + kRow + " -> tensor<?x8x2xf32, #mpdfg.on<@node>>"), 0);
  EXPECT_EQ(
      flopsOf("mpdfg.concat %x, %y axis 1 : (" + kRow + ", " + kScore + ") -> tensor<?x8x5xf32, #mpdfg.on<@node>>"), 0);
}

TEST(Cost, RandomNumbersPayForTheirRounds) {
  EXPECT_EQ(flopsOf("mpdfg.random %y, %y, %y, %y, %x site 0 : " + kScore + ", " + kScore + ", " + kScore + ", " +
                    kScore + ", " + kRow + " -> " + kRow),
            56 * 8 * 4);
}

} // namespace
