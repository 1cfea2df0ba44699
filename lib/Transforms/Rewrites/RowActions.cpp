//===- RowActions.cpp - What acts on rows as a whole ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rewrites/RowActions.h"
#include "dialects/mpdfg/Derivatives/Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

RowAction gnnc::classify(Operation *op) {
  if (auto move = dyn_cast<BroadcastOp>(op)) {
    bool linear = move.getAlong() != kAllMap && (move.getFill().isZero() || !isPartial(op, move.getAlongAttr()));
    return {linear ? Action::Move : Action::None, 0};
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    bool linear =
        reduce.getAlong() != kAllMap && (reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Mean);
    return {linear ? Action::Sum : Action::None, 0};
  }
  auto linear = dyn_cast<LinearOpInterface>(op);
  if (!linear || !linear.isElementwise() || !op->hasTrait<RowFunction>())
    return {};
  ArrayRef<int64_t> features = getFeatureShape(op->getResult(0).getType());
  auto asWide = [&](Value v) { return getFeatureShape(v.getType()) == features && getResidency(v.getType()); };
  SmallVector<bool> marked(op->getNumOperands(), false);
  for (unsigned i = 0; i < marked.size(); ++i) {
    marked[i] = true;
    bool numbers = true;
    for (auto [j, other] : llvm::enumerate(op->getOperands()))
      numbers &= j == i || getFeatureElements(other.getType()) == 1;
    if (linear.isLinearIn(marked) && numbers && asWide(op->getOperand(i)))
      return {Action::Scale, i};
    marked[i] = false;
  }
  if (linear.isLinearIn(SmallVector<bool>(marked.size(), true)) && llvm::all_of(op->getOperands(), asWide))
    return {Action::Add, 0};
  return {};
}

Value gnnc::coreOf(Value value, bool root, ActionCounts &counts) {
  Operation *op = value.getDefiningOp();
  RowAction action = op && (root || value.hasOneUse()) ? classify(op) : RowAction();
  if (action.kind == Action::None)
    return value;
  if (action.kind != Action::Add) {
    counts.sums += action.kind == Action::Sum;
    counts.moves += action.kind == Action::Move;
    return coreOf(op->getOperand(action.operand), false, counts);
  }
  ActionCounts inside;
  Value core;
  for (Value operand : op->getOperands()) {
    Value own = coreOf(operand, false, inside);
    if (core && own != core)
      return value;
    core = own;
  }
  counts.sums += inside.sums;
  counts.moves += inside.moves;
  return core;
}

Value gnnc::rebuild(OpBuilder &b, Value value, Value core, Value replacement) {
  if (value == core)
    return replacement;
  Operation *op = value.getDefiningOp();
  RowAction action = classify(op);
  Rules r(b, op->getLoc());
  ArrayRef<int64_t> features = getFeatureShape(replacement.getType());
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool acted = action.kind == Action::Add || i == action.operand;
    operands.push_back(acted ? rebuild(b, operand, core, replacement)
                             : r.reshape(operand, SmallVector<int64_t>(features.size(), 1)));
  }
  return cloneOn(b, op, operands, Rules::withFeatures(value.getType(), features));
}
