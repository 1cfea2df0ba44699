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
// A sum over no members is 0, and so is what has no image along a partial map; 0 times an infinite weight is not, so
// the weight has to be finite (see NumberFacts), or is made so for owners without members where it is theirs.
//
// The movement should carry the narrower rows, so the product comes first where it makes rows narrower and last where
// it makes them wider; and a product on the members of a sum becomes one on its owners. All this is decided by the
// sizes of axes, but where the two sides are on different spaces: there it takes an assumption (`extents`). A bias that
// is added to a product right under a sum is added afterwards, once for each member; elsewhere it ends the pattern, as
// do maxima, softmaxes and dropout.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "Rewrites/RowActions.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
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

/// The operand of a product that has rows, the other one being a shared weight; null for other contractions. With
/// `owners` the weight may also be the same for all members of an owner.
OpOperand *rowsOf(ContractOp op, Lifting *owners = nullptr) {
  auto isWeight = [&](Value value) { return owners ? owners->canLift(value) : !getResidency(value.getType()); };
  bool left = !isWeight(op.getLhs()), right = !isWeight(op.getRhs());
  return left == right ? nullptr : &op->getOpOperand(left ? 0 : 1);
}

/// The product with other rows instead, and the weight that these have.
Value multiply(OpBuilder &b, ContractOp op, unsigned which, Value rows, Lifting *owners = nullptr) {
  SmallVector<Value> operands(op->getOperands());
  Value &weight = operands[1 - which];
  operands[which] = rows;
  if (owners)
    weight = guardUnread(b, op.getLoc(), owners->lift(b, weight), owners->getMap());
  return cloneOn(b, op, operands, Rules::withFeatures(rows.getType(), getFeatureShape(op.getType())));
}

/// Whether zeros stay zeros in a product with this operand.
bool keepsZeros(ContractOp op, OpOperand &rows) {
  Value weight = op->getOperand(1 - rows.getOperandNumber());
  return getResidency(weight.getType()) || isFinite(weight);
}

constexpr StringLiteral kInfinite = "the weight may be infinite where there is nothing to sum";

std::string widths(int64_t from, int64_t to) {
  return "rows of " + std::to_string(from) + " become rows of " + std::to_string(to);
}

struct OrderAggregation : public gnnc::impl::OrderAggregationBase<OrderAggregation> {
  using OrderAggregationBase::OrderAggregationBase;

  void runOnOperation() override {
    SmallVector<Operation *> pending;
    getOperation().walk([&](Operation *op) {
      auto sum = dyn_cast<ReduceOp>(op); // Products for all rows of a large table may be far more than there are.
      if (isa<ContractOp>(op) || (sum && classify(op).kind == Action::Sum && !isLookup(op, sum.getAlongAttr())))
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
    ActionCounts counts;
    Value core = coreOf(acted, /*root=*/true, counts);
    if (counts.sums == 0)
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
    if (getResidency(core.getType()) != getResidency(acted.getType()) && extents != Extents::FewSources)
      return decline("which space has fewer elements is not known");
    if (!keepsZeros(product, *rows))
      return decline(kInfinite);
    OpBuilder b(product);
    Value result = rebuild(b, acted, core, multiply(b, product, rows->getOperandNumber(), core));
    remarkPassed(product, DEBUG_TYPE, "transform-first",
                 [&] { return "product comes before the sum: " + widths(from, to); });
    product.replaceAllUsesWith(result);
    product.erase();
    ++numMoved;
  }

  /// sum(x W + b) -> sum(x W) + count * b, and of a mean b where there are members: what is left is linear.
  ReduceOp withoutBias(ReduceOp sum) {
    auto added = sum.getInput().getDefiningOp<BinaryOp>();
    bool isSum = sum.getKind() == ReduceKind::Sum;
    if (!added || added.getKind() != BinaryKind::Add || !added->hasOneUse() || sum.getAlong() == kAllMap ||
        (!isSum && sum.getKind() != ReduceKind::Mean))
      return sum;
    for (unsigned i : {0, 1}) {
      Value bias = added->getOperand(i);
      auto product = added->getOperand(1 - i).getDefiningOp<ContractOp>();
      OpOperand *rows = product ? rowsOf(product) : nullptr;
      if (getResidency(bias.getType()) || !rows || !product->hasOneUse() || product.getType() != added.getType() ||
          getFeatureElements(product.getType()) == 1 || !isFinite(bias) || !keepsZeros(product, *rows))
        continue;
      OpBuilder b(sum);
      Rules r(b, sum.getLoc());
      Value linear = r.reduce(sum.getKind(), product, sum.getAlongAttr(), sum.getType());
      Value count = DegreeOp::create(b, r.loc, Rules::withFeatures(sum.getType(), {}), sum.getAlongAttr());
      count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(bias.getType()).size(), 1));
      Value times = isSum ? count : r.greater(count, r.number(0, count));
      sum.replaceAllUsesWith(r.add(linear, r.mul(times, bias)));
      sum.erase();
      added.erase();
      return linear.getDefiningOp<ReduceOp>();
    }
    return sum;
  }

  /// L (x W) -> (L x) W where W makes rows wider, or where the product is one of members.
  void aggregateFirst(ReduceOp sum) {
    sum = withoutBias(sum);
    ActionCounts counts;
    Value core = coreOf(sum.getResult(), /*root=*/true, counts);
    auto product = core.getDefiningOp<ContractOp>();
    if (!product)
      return;
    FlatSymbolRefAttr space = getResidency(core.getType());
    // Of the members themselves: a weight of theirs is not that of the rows that they get along another map.
    bool ofMembers = counts.sums == 1 && counts.moves == 0;
    Lifting owners(sum, sum.getAlongAttr(), Unread::Finite);
    OpOperand *rows = rowsOf(product, ofMembers ? &owners : nullptr);
    if (!rows)
      return;
    auto decline = [&](StringRef reason) {
      remarkMissed(
          sum, DEBUG_TYPE, "aggregate-first", [] { return "sum comes after the product"; },
          [&] { return reason.str(); });
    };
    int64_t from = getFeatureElements(rows->get().getType()), to = getFeatureElements(product.getType());
    if (!product->hasOneUse())
      return decline("the product is needed by others as well");
    bool elsewhere = !ofMembers && space != getResidency(sum.getType());
    if (elsewhere && extents != Extents::FewOwners)
      return decline("which space has fewer elements is not known");
    // Left for each member, a typed product is made for each pair of where its rows come from and type (group-types).
    if (Value weight = product->getOperand(1 - rows->getOperandNumber());
        ofMembers && getResidency(weight.getType()) && extents == Extents::FewSources && findLift(sum, rows->get()))
      return decline("senders are taken to be fewer");
    // A product of members with one number as its result is cheaper than the sum of its operands.
    if (ofMembers ? to == 1 : to <= from && !elsewhere)
      return decline(widths(from, to));
    if (!keepsZeros(product, *rows))
      return decline(kInfinite);
    OpBuilder b(sum);
    Value acted = rebuild(b, sum.getResult(), core, rows->get());
    Value result = multiply(b, product, rows->getOperandNumber(), acted, ofMembers ? &owners : nullptr);
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
