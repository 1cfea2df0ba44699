//===- ReorderBroadcast.cpp - Products move before broadcasts -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R1 and R3 on contractions, whose cost dominates: f(g(x)) -> g(f(x)) where every operand is shared or moves along the
// same map m, possibly by way of it:
//
//   contract(x.m, W)          -> contract(x, W).m            W shared
//   contract(x.m, W.(t after m)) -> contract(x, W.t).m       a weight for each type of x's elements
//
// Graphiler's broadcast reordering (Xie et al., MLSys 2022, section 4.1) without looking at the other operand's
// residency would be wrong; here an operand along any other map declines. A fill other than 0 does too: the product of
// a filled row is not a filled row. Along total maps, operands may also be computed from moved values. It runs before
// differentiation as well, so that adjoint code is hoisted with what it is the adjoint of. Nothing moves to a large
// table that rows are looked up in (isLookup).
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_REORDERBROADCAST
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "reorder-broadcast"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct ReorderBroadcast : public gnnc::impl::ReorderBroadcastBase<ReorderBroadcast> {
  using ReorderBroadcastBase::ReorderBroadcastBase;

  void runOnOperation() override {
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp op) { contractions.push_back(op); });
    // What replaces a product is read by those after it, which have not been asked about.
    lifts = {};
    for (ContractOp op : contractions)
      hoist(op);
    lifts = {};
  }

  void hoist(ContractOp op) {
    // The map to move along: that of the operand whose composition the other one's may be.
    for (Value operand : op->getOperands()) {
      BroadcastOp move = getMove(operand);
      if (!move || isLookup(op, move.getAlongAttr()))
        continue;
      SmallVector<std::pair<Value, FlatSymbolRefAttr>> sources; // what is left to move, and along what
      for (Value other : op->getOperands())
        if (std::optional<std::pair<Value, FlatSymbolRefAttr>> source = without(op, other, move.getAlongAttr()))
          sources.push_back(*source);
      if (sources.size() == op->getNumOperands() && keepsFill(op, move))
        return rewrite(op, move, sources);
    }
    // What is computed from moved values is computed before they move.
    if (FlatSymbolRefAttr map = getResidency(op.getType()) ? lifts.find(op, op->getOperands()) : FlatSymbolRefAttr()) {
      OpBuilder b(op);
      Value product = Lifting(op, map, unreadWhere(op, gradient)).lift(b, op.getResult());
      return replace(op, b, product, map);
    }
    if (getMove(op.getLhs()) || getMove(op.getRhs()))
      remarkMissed(
          op, DEBUG_TYPE, "hoist", [] { return "product stays behind a broadcast"; },
          [] {
            return "its operands move along different maps, or with a fill, or a filled row has an infinite weight, or "
                   "they are looked up in a large table";
          });
  }

  /// Whether the product of rows that `move` fills with zeros is 0 again.
  static bool keepsFill(ContractOp op, BroadcastOp move) {
    return !isPartial(op, move.getAlongAttr()) || llvm::all_of(op->getOperands(), [](Value operand) {
      return getResidency(operand.getType()) || isFinite(operand);
    });
  }

  /// An operand as it is before the movement along `map`: itself if shared.
  static std::optional<std::pair<Value, FlatSymbolRefAttr>> without(Operation *op, Value operand,
                                                                    FlatSymbolRefAttr map) {
    if (!getResidency(operand.getType()))
      return std::pair(operand, FlatSymbolRefAttr());
    BroadcastOp move = getMove(operand);
    if (!move || !move.getFill().isZero())
      return std::nullopt;
    std::optional<FlatSymbolRefAttr> rest = remainderOf(op, move.getAlongAttr(), map, /*declare=*/true);
    return rest ? std::optional(std::pair(move.getInput(), *rest)) : std::nullopt;
  }

  void rewrite(ContractOp op, BroadcastOp move, ArrayRef<std::pair<Value, FlatSymbolRefAttr>> sources) {
    OpBuilder b(op);
    auto rows = cast<RankedTensorType>(move.getInput().getType());
    auto onRows = [&](Type like) {
      return getTensorOn(getResidency(rows), rows.getDimSize(0), getFeatureShape(like), rows.getElementType());
    };
    SmallVector<Value> operands;
    for (auto [value, along] : sources) {
      if (along)
        value = BroadcastOp::create(b, op.getLoc(), onRows(value.getType()), value, along, b.getF64FloatAttr(0));
      operands.push_back(unreadWhere(op, gradient) == Unread::Finite
                             ? guardUnread(b, op.getLoc(), value, move.getAlongAttr())
                             : value);
    }
    Value product = ContractOp::create(b, op.getLoc(), onRows(op.getType()), operands[0], op.getLhsLabels(),
                                       operands[1], op.getRhsLabels(), op.getOutLabels());
    replace(op, b, product, move.getAlongAttr());
  }

  void replace(ContractOp op, OpBuilder &b, Value product, FlatSymbolRefAttr along) {
    Value moved = BroadcastOp::create(b, op.getLoc(), op.getType(), product, along, b.getF64FloatAttr(0));
    remarkPassed(op, DEBUG_TYPE, "hoist",
                 [&] { return ("product is made before the broadcast along @" + along.getValue()).str(); });
    op.replaceAllUsesWith(moved);
    lifts.forget(op);
    op.erase();
    ++numHoisted;
  }

  LiftFinder lifts;
};

} // namespace
