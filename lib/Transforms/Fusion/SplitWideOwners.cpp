//===- SplitWideOwners.cpp - Wide rows of owners apart from narrow members ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target that spreads rows over lanes gives an owner as many as its members' rows and its own rows take together.
// Where those of members are narrow and have nothing to do with the owner's (a mean of 8 numbers joined with 200 of the
// node), most lanes walk over the members only to hold what others hold too.
//
//===----------------------------------------------------------------------===//

#include "Fusion/SplitOwners.h"
#include "Remarks.h"
#include "dialects/mpk/IR/BodySlice.h"
#include "gnnc/Analysis/SweepPlan.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITWIDEOWNERS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-wide-owners"

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

namespace {

/// Rows of members that are longer, or take more lanes, share a warp with few others: what their walk gains is no more
/// than what another sweep costs. Axes of owners fit the same lanes then.
constexpr int64_t kMostNumbers = 8, kMostLanes = 4;
/// A shorter axis of owners' rows is held by each lane.
constexpr int64_t kLongestHeld = 16;

/// The lanes that a row takes, of which each reads up to four neighbours.
int64_t lanesOf(Value row) {
  ArrayRef<int64_t> shape = mpdfg::getFeatureShape(row.getType());
  int64_t numbers = mpdfg::getFeatureElements(row.getType()), inner = shape.empty() ? 1 : shape.back();
  return llvm::PowerOf2Ceil(numbers / (inner % 4 == 0 ? 4 : inner % 2 == 0 ? 2 : 1));
}

struct SplitWideOwners : public gnnc::impl::SplitWideOwnersBase<SplitWideOwners> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto sweep : llvm::make_early_inc_range(function.getOps<mpk::SweepOp>())) {
        bool isTiled = llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); });
        if (!sweep.getAlongAttr() || isTiled)
          continue;
        SmallVector<unsigned> wide = findWide(sweep);
        if (wide.empty())
          continue;
        ++numSplit;
        remarkPassed(sweep, DEBUG_TYPE, "split", [] {
          return "owners' wide rows are made by a sweep of their own, since members have narrow ones";
        });
        splitOwners(sweep, wide);
      }
  }

  /// The results of owners with a long axis that no member has, where members' rows are narrow.
  static SmallVector<unsigned> findWide(mpk::SweepOp sweep) {
    DenseMap<Value, mpk::Level> levels = mpk::computeLevels(sweep);
    AxisClasses axes(sweep);
    llvm::SmallDenseSet<int> ofMembers;
    int64_t lanes = 0, numbers = 0; // none without members
    auto consider = [&](Value value) {
      if (levels.lookup(value) != mpk::Level::Member)
        return;
      lanes = std::max(lanes, lanesOf(value));
      numbers = std::max(numbers, mpdfg::getFeatureElements(value.getType()));
      if (axes.knows(value))
        ofMembers.insert_range(axes.of(value));
    };
    Block &block = sweep.getBody().front();
    llvm::for_each(block.getArguments(), consider);
    for (Operation &op : block)
      llvm::for_each(op.getResults(), consider);
    if (lanes == 0 || lanes > kMostLanes || numbers > kMostNumbers)
      return {};
    SmallVector<unsigned> wide;
    for (auto [i, value] : llvm::enumerate(cast<mpk::YieldOp>(block.getTerminator()).getValues()))
      if (sweep.getYieldOf(i).getKind() == AccessKind::Owner && !isAccumulation(value) &&
          hasLongAxis(value, axes, ofMembers))
        wide.push_back(i);
    return wide;
  }

  /// Whether what is made of accumulations has a long axis that no member has.
  static bool hasLongAxis(Value result, const AxisClasses &axes, const llvm::SmallDenseSet<int> &ofMembers) {
    llvm::SetVector<Value> values;
    values.insert(result);
    for (size_t i = 0; i < values.size(); ++i) {
      Value value = values[i];
      if (isAccumulation(value) || !axes.knows(value))
        continue;
      Operation *op = value.getDefiningOp();
      if (op)
        values.insert_range(op->getOperands());
      if (isa_and_nonnull<mpdfg::ConcatOp>(op)) // Its parts are written each by itself.
        continue;
      for (int cls : axes.of(value))
        if (cls >= 0 && axes.extent(cls) > kLongestHeld && !ofMembers.contains(cls))
          return true;
    }
    return false;
  }
};

} // namespace
