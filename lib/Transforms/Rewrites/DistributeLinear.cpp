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

#include "Remarks.h"
#include "Rewrites/Lifting.h"
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

struct DistributeLinear : public gnnc::impl::DistributeLinearBase<DistributeLinear> {
  void runOnOperation() override {
    SmallVector<Operation *> pending;
    getOperation().walk([&](CostOpInterface op) {
      if (op->hasTrait<RowFunction>() && op.flopsPerRow() > 0)
        pending.push_back(op);
    });
    // What replaces an operation is read by those after it, which have not been asked about.
    lifts = {};
    for (Operation *op : pending)
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        if (isLinearInOne(op, i) && !cast<LinearOpInterface>(op).isElementwise() &&
            isAddition(op->getOperand(i).getDefiningOp())) {
          if (distribute(op, i))
            break;
        }
    lifts = {};
  }

  bool movesWith(Operation *op, ArrayRef<Value> others, Value value) {
    SmallVector<Value> together(others);
    together.push_back(value);
    return bool(lifts.find(op, together));
  }

  bool distribute(Operation *op, unsigned operand) {
    SmallVector<Value> others;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (i != operand)
        others.push_back(op->getOperand(i));
    Value sum = op->getOperand(operand);
    SmallVector<Value> whole(op->getOperands());
    if (!getResidency(sum.getType()) || lifts.find(op, whole))
      return false; // It moves as a whole.
    if (!isSumOfLifted(lifts, op, sum, others)) {
      remarkMissed(
          op, DEBUG_TYPE, "distribute", [&] { return op->getName().getStringRef().str() + " of a sum stays whole"; },
          [] { return "a term, or what it meets, does not come from another space"; });
      return false;
    }
    OpBuilder b(op);
    remarkPassed(op, DEBUG_TYPE, "distribute",
                 [&] { return op->getName().getStringRef().str() + " of a sum becomes a sum"; });
    op->getResult(0).replaceAllUsesWith(apply(b, op, operand, sum, others));
    lifts.forget(op);
    op->erase();
    ++numDistributed;
    return true;
  }

  /// The operation on each term, and their sum.
  Value apply(OpBuilder &b, Operation *op, unsigned operand, Value whole, ArrayRef<Value> others) {
    SmallVector<Value> operands(op->getOperands());
    auto typeOf = [&](ArrayRef<Value> from) -> Type {
      for (Value each : from)
        if (getResidency(each.getType()))
          return op->getResult(0).getType();
      return getElementType(op->getResult(0).getType());
    };
    DenseMap<Value, Value> done;
    SmallVector<std::pair<Value, bool>> pending{{whole, false}};
    while (!pending.empty()) {
      auto [value, entered] = pending.pop_back_val();
      if (done.contains(value))
        continue;
      Operation *sum = value.getDefiningOp();
      if (entered) {
        auto terms = llvm::map_to_vector(sum->getOperands(), [&](Value term) { return done.lookup(term); });
        done[value] = cloneOn(b, sum, terms, typeOf(terms));
      } else if (!getResidency(value.getType()) || movesWith(op, others, value)) {
        operands[operand] = value;
        done[value] = cloneOn(b, op, operands, typeOf(operands));
      } else {
        pending.push_back({value, true});
        for (Value term : llvm::reverse(sum->getOperands()))
          pending.push_back({term, false});
      }
    }
    return done.lookup(whole);
  }

  LiftFinder lifts;
};

} // namespace
