//===- AxisClassesTest.cpp - Which feature axes belong together -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedSweep.h"

using namespace gnnc;
using namespace mlir;
using namespace gnnc::test;

namespace {

/// A body of one member-level value that is summed.
ParsedSweep bodyOf(const std::string &operations, const std::string &name, const char *features) {
  std::string type = std::string("tensor<") + features + "xf32>";
  return ParsedSweep(operations + "\n%sum = mpk.accumulate sum " + name + " : " + type + "\nmpk.yield %sum : " + type,
                     {{"owner", features}});
}

TEST(AxisClasses, ElementwiseOperandsShareTheirAxes) {
  auto parsed =
      bodyOf("%0 = mpdfg.binary mul %s, %v : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>", "%0", "2x4");
  AxisClasses axes(parsed.sweep);
  int heads = axes.of(parsed.argument(1))[0], features = axes.of(parsed.argument(1))[1];
  EXPECT_NE(heads, features);
  EXPECT_EQ(axes.extent(heads), 2);
  EXPECT_EQ(axes.extent(features), 4);
  EXPECT_EQ(axes.of(parsed.argument(0)), llvm::ArrayRef<int>({heads, -1})) << "an axis of size 1 has no class";
  EXPECT_EQ(axes.of(parsed.value(0)), llvm::ArrayRef<int>({heads, features}));
  EXPECT_EQ(axes.of(parsed.value(1)), llvm::ArrayRef<int>({heads, features})) << "sums are by feature";
  EXPECT_TRUE(axes.isParallel(heads));
  EXPECT_TRUE(axes.isParallel(features));
  EXPECT_EQ(axes.size(), 4u) << "the owner's value is not used, so its two axes are by themselves";
}

TEST(AxisClasses, FoldMixesTheFoldedAxisOnly) {
  auto parsed = bodyOf("%0 = mpdfg.fold sum %v [1] : tensor<2x4xf32> -> tensor<2x1xf32>", "%0", "2x1");
  AxisClasses axes(parsed.sweep);
  int heads = axes.of(parsed.argument(1))[0], features = axes.of(parsed.argument(1))[1];
  EXPECT_EQ(axes.of(parsed.value(0)), llvm::ArrayRef<int>({heads, -1}));
  EXPECT_TRUE(axes.isParallel(heads));
  EXPECT_FALSE(axes.isParallel(features));
}

TEST(AxisClasses, OnlyOperationsThatCountMix) {
  auto parsed = bodyOf("%0 = mpdfg.fold sum %v [1] : tensor<2x4xf32> -> tensor<2x1xf32>", "%0", "2x1");
  AxisClasses axes(parsed.sweep, [](Operation *op) { return !isa<mpdfg::FoldOp>(op); });
  EXPECT_TRUE(axes.isParallel(axes.of(parsed.argument(1))[1]));
  EXPECT_TRUE(axes.knows(parsed.argument(1))) << "operands are always known";
  EXPECT_TRUE(axes.knows(parsed.value(0))) << "an operation that counts uses it";
}

TEST(AxisClasses, ContractionMixesWhatItSums) {
  auto parsed = bodyOf(
      "%0 = mpdfg.contract %v [0, 1], %o [0, 1] -> [0] : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2xf32>", "%0", "2");
  AxisClasses axes(parsed.sweep);
  auto left = axes.of(parsed.argument(1)), right = axes.of(parsed.argument(2));
  EXPECT_EQ(left, right);
  EXPECT_EQ(axes.of(parsed.value(0)), left.take_front());
  EXPECT_TRUE(axes.isParallel(left[0]));
  EXPECT_FALSE(axes.isParallel(left[1]));
}

TEST(AxisClasses, MixingReachesAllOfAClass) {
  // The features of %v are summed after %o was added: so no tile of %o alone is of use either.
  auto parsed = bodyOf(R"(
    %0 = mpdfg.binary add %v, %o : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %1 = mpdfg.fold sum %0 [1] : tensor<2x4xf32> -> tensor<2x1xf32>)",
                       "%1", "2x1");
  AxisClasses axes(parsed.sweep);
  EXPECT_FALSE(axes.isParallel(axes.of(parsed.argument(2))[1]));
}

TEST(AxisClasses, ReshapeThatAddsUnitAxesKeepsClasses) {
  auto parsed = bodyOf("%0 = mpdfg.reshape %v : tensor<2x4xf32> -> tensor<2x1x4xf32>", "%0", "2x1x4");
  AxisClasses axes(parsed.sweep);
  auto from = axes.of(parsed.argument(1));
  EXPECT_EQ(axes.of(parsed.value(0)), llvm::ArrayRef<int>({from[0], -1, from[1]}));
  EXPECT_TRUE(axes.isParallel(from[0]));
  EXPECT_TRUE(axes.isParallel(from[1]));
}

TEST(AxisClasses, ReshapeThatMergesMixes) {
  auto parsed = bodyOf("%0 = mpdfg.reshape %v : tensor<2x4xf32> -> tensor<8xf32>", "%0", "8");
  AxisClasses axes(parsed.sweep);
  for (mlir::Value value : {parsed.argument(1), parsed.value(0)})
    for (int cls : axes.of(value))
      EXPECT_FALSE(axes.isParallel(cls));
}

TEST(AxisClasses, TransposePermutes) {
  auto parsed = bodyOf("%0 = mpdfg.transpose %v [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>", "%0", "4x2");
  AxisClasses axes(parsed.sweep);
  auto from = axes.of(parsed.argument(1));
  EXPECT_EQ(axes.of(parsed.value(0)), llvm::ArrayRef<int>({from[1], from[0]}));
  EXPECT_TRUE(axes.isParallel(from[1]));
}

TEST(AxisClasses, ConcatAndSliceMixTheirAxis) {
  auto parsed = bodyOf(R"(
    %0 = mpdfg.concat %v, %o axis 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    %1 = mpdfg.slice %0 axis 1 from 3 : tensor<2x8xf32> -> tensor<2x2xf32>)",
                       "%1", "2x2");
  AxisClasses axes(parsed.sweep);
  int heads = axes.of(parsed.argument(1))[0];
  EXPECT_EQ(axes.of(parsed.argument(2))[0], heads);
  EXPECT_EQ(axes.of(parsed.value(1))[0], heads);
  EXPECT_TRUE(axes.isParallel(heads));
  for (mlir::Value value : {parsed.argument(1), parsed.argument(2), parsed.value(0), parsed.value(1)})
    EXPECT_FALSE(axes.isParallel(axes.of(value)[1]));
}

TEST(AxisClasses, OuterProductWithItselfIsNotCut) {
  auto parsed = bodyOf("%0 = mpdfg.contract %v [0, 1], %v [0, 2] -> [0, 1, 2] : tensor<2x4xf32>, tensor<2x4xf32> -> "
                       "tensor<2x4x4xf32>",
                       "%0", "2x4x4");
  AxisClasses axes(parsed.sweep);
  auto own = axes.of(parsed.value(0));
  EXPECT_EQ(own[1], own[2]);
  EXPECT_TRUE(axes.isParallel(own[0]));
  EXPECT_FALSE(axes.isParallel(own[1])) << "tiles of both axes would be the diagonal";
}

} // namespace
