//===- OrderAggregation.cpp - Aggregate or transform first ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R6 for products with a shared weight. What sums rows over members, moves them, scales each by one number and adds
// them up acts on rows from the left; a product with a weight acts on them from the right; so they commute:
//
//   (L x) W = L (x W)      L: sums and means along maps, movements, scales of rows, additions
//
// The movement should carry the narrower rows, so the product comes first where it makes rows narrower and last where
// it makes them wider; and a product on the members of a sum becomes one on its owners. All this is decided by the
// sizes of axes. A bias is not linear: it ends the pattern, as do maxima, softmaxes and dropout.
//
//===----------------------------------------------------------------------===//

#include "Lifting.h"
#include "Remarks.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_ORDERAGGREGATION
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "order-aggregation"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// How an operation acts on the rows of one operand.
enum class Action {
  None,
  Move,  ///< a broadcast that fills with 0, or along a total map
  Sum,   ///< a sum or mean along a map
  Scale, ///< a number for each row
  Add,   ///< all operands are acted on
};

struct RowAction {
  Action kind = Action::None;
  unsigned operand = 0;
};

RowAction classify(Operation *op) {
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

/// The value whose rows are acted on, as deep as there is one. Values that others need as well are not looked through.
Value coreOf(Value value, bool root, unsigned &sums) {
  Operation *op = value.getDefiningOp();
  RowAction action = op && (root || value.hasOneUse()) ? classify(op) : RowAction();
  if (action.kind == Action::None)
    return value;
  if (action.kind != Action::Add) {
    sums += action.kind == Action::Sum;
    return coreOf(op->getOperand(action.operand), false, sums);
  }
  unsigned inside = 0;
  Value core;
  for (Value operand : op->getOperands()) {
    Value own = coreOf(operand, false, inside);
    if (core && own != core)
      return value;
    core = own;
  }
  sums += inside;
  return core;
}

/// The same action on another value's rows.
Value rebuild(OpBuilder &b, Value value, Value core, Value replacement) {
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

/// The operand of a product with a shared weight that has rows; null for other contractions.
OpOperand *rowsOf(ContractOp op) {
  bool left = bool(getResidency(op.getLhs().getType())), right = bool(getResidency(op.getRhs().getType()));
  return left == right ? nullptr : &op->getOpOperand(left ? 0 : 1);
}

/// The product with other rows instead.
Value multiply(OpBuilder &b, ContractOp op, Value rows) {
  SmallVector<Value> operands(op->getOperands());
  operands[rowsOf(op)->getOperandNumber()] = rows;
  return cloneOn(b, op, operands, Rules::withFeatures(rows.getType(), getFeatureShape(op.getType())));
}

std::string widths(int64_t from, int64_t to) {
  return "rows of " + std::to_string(from) + " become rows of " + std::to_string(to);
}

struct OrderAggregation : public gnnc::impl::OrderAggregationBase<OrderAggregation> {
  void runOnOperation() override {
    SmallVector<Operation *> pending;
    getOperation().walk([&](Operation *op) {
      if (isa<ContractOp>(op) || (isa<ReduceOp>(op) && classify(op).kind == Action::Sum))
        pending.push_back(op);
    });
    for (Operation *op : pending) {
      if (auto product = dyn_cast<ContractOp>(op)) {
        if (!product->use_empty())
          transformFirst(product);
      } else if (!op->use_empty()) {
        aggregateFirst(cast<ReduceOp>(op));
      }
    }
  }

  /// (L x) W -> L (x W) where W makes rows narrower.
  void transformFirst(ContractOp product) {
    OpOperand *rows = rowsOf(product);
    if (!rows || !rows->get().getDefiningOp())
      return;
    Value acted = rows->get();
    unsigned sums = 0;
    Value core = coreOf(acted, /*root=*/true, sums);
    if (sums == 0)
      return;
    int64_t from = getFeatureElements(acted.getType()), to = getFeatureElements(product.getType());
    auto decline = [&](StringRef reason) {
      remarkMissed(
          product, DEBUG_TYPE, "transform-first", [] { return "product comes after the sum"; },
          [&] { return reason.str(); });
    };
    if (to >= from)
      return decline(widths(from, to));
    if (!acted.hasOneUse())
      return decline("the sum is needed by others as well");
    if (getResidency(core.getType()) != getResidency(acted.getType()))
      return decline("which space has fewer elements is not known");
    OpBuilder b(product);
    Value result = rebuild(b, acted, core, multiply(b, product, core));
    remarkPassed(product, DEBUG_TYPE, "transform-first",
                 [&] { return "product comes before the sum: " + widths(from, to); });
    product.replaceAllUsesWith(result);
    product.erase();
    ++numMoved;
  }

  /// L (x W) -> (L x) W where W makes rows wider, or where the product is one of members.
  void aggregateFirst(ReduceOp sum) {
    unsigned sums = 0;
    Value core = coreOf(sum.getResult(), /*root=*/true, sums);
    auto product = core.getDefiningOp<ContractOp>();
    OpOperand *rows = product ? rowsOf(product) : nullptr;
    if (!rows)
      return;
    auto decline = [&](StringRef reason) {
      remarkMissed(
          sum, DEBUG_TYPE, "aggregate-first", [] { return "sum comes after the product"; },
          [&] { return reason.str(); });
    };
    int64_t from = getFeatureElements(rows->get().getType()), to = getFeatureElements(product.getType());
    FlatSymbolRefAttr space = getResidency(core.getType());
    bool ofMembers = space == getResidency(sum.getInput().getType());
    if (!product->hasOneUse())
      return decline("the product is needed by others as well");
    if (!ofMembers && space != getResidency(sum.getType()))
      return decline("which space has fewer elements is not known");
    // A product of members with one number as its result is cheaper than the sum of its operands.
    if (ofMembers ? to == 1 : to <= from)
      return decline(widths(from, to));
    OpBuilder b(sum);
    Value result = multiply(b, product, rebuild(b, sum.getResult(), core, rows->get()));
    remarkPassed(sum, DEBUG_TYPE, "aggregate-first", [&] {
      return ofMembers ? std::string("product is made of the sum, not of its members")
                       : "sum comes before the product: " + widths(from, to);
    });
    sum.replaceAllUsesWith(result);
    sum.erase();
    ++numMoved;
  }
};

} // namespace
