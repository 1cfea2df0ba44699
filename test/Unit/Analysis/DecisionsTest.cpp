//===- DecisionsTest.cpp - Kernels whose rounding decides something -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/Decisions.h"
#include "ParsedSweep.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// The numbers of the kernels of a function on nodes with rows of 4 that decide something.
std::vector<unsigned> decidingIn(const std::string &kernels, const std::string &results, const std::string &types) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parse(context, R"(
    mpdfg.space @node root
    mpdfg.space @edge root
    mpdfg.map @src root from @edge to @node
    mpdfg.map @dst root from @edge to @node
    !node = tensor<?x4xf32, #mpdfg.on<@node>>
    !edge = tensor<?x4xf32, #mpdfg.on<@edge>>
    !row = tensor<4xf32>
    func.func @forward(%x: !node, %e: !edge, %w: tensor<4x4xf32>) -> ()" +
                         types + ") {" + kernels + "\nreturn " + results + " : " + types + "\n}");
  std::vector<unsigned> found;
  if (!module)
    return found;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  llvm::DenseSet<mlir::Operation *> deciding = findDecidingKernels(function);
  unsigned number = 0;
  for (mlir::Operation &op : function.getBody().front())
    if (mpk::isKernel(&op)) {
      if (deciding.contains(&op))
        found.push_back(number);
      ++number;
    }
  return found;
}

/// %y = x * x, and %z = x + x, of kernels of their own.
constexpr const char *kRows = R"(
  %y = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: !row):
    %0 = mpdfg.binary mul %a, %a : !row, !row -> !row
    mpk.yield %0 : !row
  } : (!node) -> !node
  %z = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: !row):
    %0 = mpdfg.binary add %a, %a : !row, !row -> !row
    mpk.yield %0 : !row
  } : (!node) -> !node)";

/// A sweep along @dst whose members are the rows of %y, moved, and of %e; its owners' rows are %z.
std::string sweepOf(const std::string &body) {
  return std::string(kRows) + R"(
  %s = mpk.sweep over @node along @dst (%y, %e, %z)
      access [#mpk.access<gather_member @src>, #mpk.access<member>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: !row, %b: !row, %c: !row):)" +
         body + "\n} : (!node, !edge, !node) -> !node";
}

TEST(Decisions, AWinnerDependsOnWhatItsMembersAreMadeOf) {
  EXPECT_EQ(decidingIn(sweepOf(R"(
    %0 = mpdfg.binary add %a, %b : !row, !row -> !row
    %1 = mpk.accumulate argmax %0 : !row
    mpk.yield %1 : !row)"),
                       "%s, %z", "!node, !node"),
            (std::vector<unsigned>{0, 2}));
}

TEST(Decisions, NumbersInMemoryAreComparedAsTheyAre) {
  EXPECT_EQ(decidingIn(sweepOf(R"(
    %0 = mpk.accumulate argmin %b : !row
    %1 = mpk.accumulate sum %a : !row
    mpk.yield %0 : !row)"),
                       "%s", "!node"),
            (std::vector<unsigned>{}));
}

TEST(Decisions, TheLargestNumberIsTheSameWhoeverHasIt) {
  EXPECT_EQ(decidingIn(sweepOf(R"(
    %0 = mpdfg.binary add %a, %b : !row, !row -> !row
    %1 = mpk.accumulate max %0 : !row
    mpk.yield %1 : !row)"),
                       "%s", "!node"),
            (std::vector<unsigned>{}));
}

TEST(Decisions, BothSidesOfAComparison) {
  EXPECT_EQ(decidingIn(sweepOf(R"(
    %0 = mpk.accumulate max %a : !row
    %1 = mpdfg.binary eq %0, %c : !row, !row -> !row
    mpk.yield %1 : !row)"),
                       "%s", "!node"),
            (std::vector<unsigned>{0, 1, 2}));
}

TEST(Decisions, ConstantsAreComparedWithWhateverComesOut) {
  EXPECT_EQ(decidingIn(sweepOf(R"(
    %0 = mpk.accumulate max %a : !row
    %1 = mpdfg.constant 0.0 : !row
    %2 = mpdfg.binary gt %0, %1 : !row, !row -> !row
    mpk.yield %2 : !row)"),
                       "%s", "!node"),
            (std::vector<unsigned>{}));
}

TEST(Decisions, EpiloguesOfProductsAndWhatTheyRead) {
  EXPECT_EQ(decidingIn(std::string(kRows) + R"(
  %p = mpk.product over @node (%y, %w) batch 1 rows 1 k 4 n 4 epilogue (%z) access [#mpk.access<owner>] {
  ^bb0(%row: !row, %c: !row):
    %0 = mpdfg.binary add %row, %c : !row, !row -> !row
    mpk.yield %0 : !row
  } : (!node, tensor<4x4xf32>, !node) -> !node
  %s = mpk.sweep over @node along @dst (%p) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
  ^bb0(%a: !row):
    %0 = mpk.accumulate argmax %a : !row
    mpk.yield %0 : !row
  } : (!node) -> !node)",
                       "%s", "!node"),
            (std::vector<unsigned>{0, 1, 2}));
}

} // namespace
