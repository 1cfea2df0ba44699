//===- NarrowStage.cpp - What is worth computing for many members ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A walk takes a few members of one owner at a time, and most owners of a sparse graph have only a few: a random number
// or an exponential for each of them leaves most lanes of a register idle. What depends on operands alone, not on what
// the walk accumulates, can be computed for the members of many owners at once, in rows at hand for the walk.
//
//===----------------------------------------------------------------------===//

#include "Row/RowGroup.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

namespace {

/// Operations for each number of a member that pay for keeping it: a random number does always; an exponential where
/// the few members of a walk's step fill less than a register.
constexpr int64_t kAlways = 48, kWhereThin = 16, kMembersOfStep = 4;

class StageChooser {
public:
  StageChooser(mpk::SweepOp sweep, const SweepPlan &plan, int64_t lanes) : sweep(sweep), plan(plan), lanes(lanes) {}

  SmallVector<Value> choose() {
    SmallVector<Value> staged;
    for (Operation &op : sweep.getBody().front()) {
      bool is = canStage(&op);
      if (is)
        possible.insert(&op);
      // What others read of values that can be made ahead.
      if (!is)
        for (Value operand : op.getOperands())
          if (Operation *maker = operand.getDefiningOp();
              maker && possible.contains(maker) && !llvm::is_contained(staged, operand))
            staged.push_back(operand);
    }
    llvm::erase_if(staged, [&](Value value) { return !pays(value); });
    // Rows are made once for owners in a row, which needs that one walk alone reads them.
    int reader = -1;
    for (unsigned walk = 0; walk < plan.walks; ++walk)
      if (reads(walk, staged)) {
        if (reader >= 0)
          return {};
        reader = walk;
      }
    return staged;
  }

private:
  int64_t width(Value value) const { return getFeatureElements(value.getType()); }

  /// Narrow work on a member's operands, its own number, its owner's operands and what is shared.
  bool canStage(Operation *op) {
    if (op->getNumResults() != 1 || plan.levels.lookup(op->getResult(0)) != Level::Member ||
        !isNarrowRow(width(op->getResult(0)), lanes) ||
        !isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp, ReshapeOp, DetachOp, ElementOp, FoldOp>(op))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      if (!isNarrowRow(width(operand), lanes))
        return false;
      if (isa<BlockArgument>(operand) || plan.levels.lookup(operand) == Level::Shared)
        return plan.phases.lookup(operand) == 0;
      return possible.contains(operand.getDefiningOp());
    });
  }

  bool pays(Value value) {
    int64_t cost = 0;
    DenseSet<Operation *> seen;
    SmallVector<Value> pending{value};
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val().getDefiningOp();
      if (!op || !possible.contains(op) || !seen.insert(op).second)
        continue;
      if (auto work = dyn_cast<CostOpInterface>(op))
        cost += work.flopsPerRow();
      llvm::append_range(pending, op->getOperands());
    }
    int64_t numbers = width(value);
    return cost >= numbers * (numbers * kMembersOfStep < lanes ? kWhereThin : kAlways);
  }

  /// Whether a walk needs one of `staged`.
  bool reads(unsigned walk, ArrayRef<Value> staged) {
    SmallVector<Value> wanted;
    for (const AccumulatePlan &accumulate : plan.accumulates)
      if (accumulate.perMember && accumulate.walk == walk)
        wanted.push_back(accumulate.op->getOperand(0));
    for (const SoftmaxPlan &softmax : plan.softmaxes)
      if (softmax.walk == walk)
        wanted.push_back(softmax.op->getOperand(0));
    auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (sweep.getYieldOf(i).getKind() == AccessKind::Member && plan.phases.lookup(value) == walk)
        wanted.push_back(value);
    DenseSet<Operation *> seen;
    while (!wanted.empty()) {
      Value value = wanted.pop_back_val();
      if (llvm::is_contained(staged, value))
        return true;
      Operation *op = value.getDefiningOp();
      if (op && plan.levels.lookup(value) == Level::Member && seen.insert(op).second)
        llvm::append_range(wanted, op->getOperands());
    }
    return false;
  }

  mutable mpk::SweepOp sweep;
  const SweepPlan &plan;
  int64_t lanes;
  DenseSet<Operation *> possible;
};

} // namespace

SmallVector<Value> cpu::chooseStaged(mpk::SweepOp sweep, const SweepPlan &plan, KernelBuilder &kernel) {
  Type element = getElementType(sweep.getResult(0).getType()).getElementType();
  int64_t lanes = kWidestTarget.registerBytes() * 8 / element.getIntOrFloatBitWidth();
  if (!sweep.getAlongAttr() || sweep.getPairsAttr() ||
      llvm::any_of(plan.shared, [](mpk::AccumulateOp op) { return namesWinner(op.getKind()); }))
    return {};
  SmallVector<Value> staged = StageChooser(sweep, plan, lanes).choose();
  // With rows at hand nothing is cut: each cut would make them again.
  if (!staged.empty() && !fitsUncut(sweep, plan, kernel))
    return {};
  return staged;
}
