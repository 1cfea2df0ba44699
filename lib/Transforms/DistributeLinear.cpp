//===- DistributeLinear.cpp - Linear operations of sums are sums ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R5:  f(u + v) = f(u) + f(v)  for a linear f whose cost is more than its operand's size. It is done where every term
// then moves along a map of its own, or is shared, so that R1 makes each f where the term comes from: EdgeConv's
// (x.src - x.dst) W is one product on nodes. Where a term stays on the members, f would cost the same there and the
// other terms come on top, so the sum is kept.
//
//===----------------------------------------------------------------------===//

#include "Lifting.h"
#include "Remarks.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_DISTRIBUTELINEAR
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "distribute-linear"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

bool isLinearInOne(Operation *op, unsigned operand) {
  auto linear = dyn_cast_or_null<LinearOpInterface>(op);
  SmallVector<bool> marked(op->getNumOperands(), false);
  marked[operand] = true;
  return linear && linear.isLinearIn(marked);
}

/// An addition: elementwise and linear in all operands together, but in none alone.
bool isAddition(Operation *op) {
  auto linear = dyn_cast_or_null<LinearOpInterface>(op);
  if (!linear || !linear.isElementwise() || !op->hasTrait<RowFunction>() || op->getNumOperands() < 2)
    return false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (isLinearInOne(op, i) ||
        getFeatureShape(op->getOperand(i).getType()) != getFeatureShape(op->getResult(0).getType()))
      return false;
  return linear.isLinearIn(SmallVector<bool>(op->getNumOperands(), true));
}

struct DistributeLinear : public gnnc::impl::DistributeLinearBase<DistributeLinear> {
  void runOnOperation() override {
    SmallVector<Operation *> pending;
    getOperation().walk([&](CostOpInterface op) {
      if (op->hasTrait<RowFunction>() && op.flopsPerRow() > 0)
        pending.push_back(op);
    });
    for (Operation *op : pending)
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        if (isLinearInOne(op, i) && !cast<LinearOpInterface>(op).isElementwise() &&
            isAddition(op->getOperand(i).getDefiningOp())) {
          if (distribute(op, i))
            break;
        }
  }

  /// The terms of a sum of sums, if each may be had before a movement together with `others`.
  static bool findTerms(Operation *op, ArrayRef<Value> others, Value value) {
    if (!getResidency(value.getType()))
      return true;
    SmallVector<Value> together(others);
    together.push_back(value);
    if (findLift(op, together))
      return true;
    Operation *sum = value.getDefiningOp();
    return sum && isAddition(sum) &&
           llvm::all_of(sum->getOperands(), [&](Value term) { return findTerms(op, others, term); });
  }

  bool distribute(Operation *op, unsigned operand) {
    SmallVector<Value> others;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (i != operand)
        others.push_back(op->getOperand(i));
    Value sum = op->getOperand(operand);
    SmallVector<Value> whole(op->getOperands());
    if (!getResidency(sum.getType()) || findLift(op, whole))
      return false; // It moves as a whole.
    if (!findTerms(op, others, sum)) {
      remarkMissed(
          op, DEBUG_TYPE, "distribute", [&] { return op->getName().getStringRef().str() + " of a sum stays whole"; },
          [] { return "a term, or what it meets, does not come from another space"; });
      return false;
    }
    OpBuilder b(op);
    remarkPassed(op, DEBUG_TYPE, "distribute",
                 [&] { return op->getName().getStringRef().str() + " of a sum becomes a sum"; });
    op->getResult(0).replaceAllUsesWith(apply(b, op, operand, sum, others));
    op->erase();
    ++numDistributed;
    return true;
  }

  Value apply(OpBuilder &b, Operation *op, unsigned operand, Value value, ArrayRef<Value> others) {
    SmallVector<Value> together(others);
    together.push_back(value);
    SmallVector<Value> operands(op->getOperands());
    auto typeOf = [&](ArrayRef<Value> from) -> Type {
      for (Value each : from)
        if (getResidency(each.getType()))
          return op->getResult(0).getType();
      return getElementType(op->getResult(0).getType());
    };
    if (!getResidency(value.getType()) || findLift(op, together)) {
      operands[operand] = value;
      return cloneOn(b, op, operands, typeOf(operands));
    }
    Operation *sum = value.getDefiningOp();
    SmallVector<Value> terms;
    for (Value term : sum->getOperands())
      terms.push_back(apply(b, op, operand, term, others));
    return cloneOn(b, sum, terms, typeOf(terms));
  }
};

} // namespace
