//===- SplitFactors.cpp - Factors part by where they come from ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What GroupTerms is for sums, for products and quotients of a row by numbers from both ends of an edge: GCN's
// x.src / sqrt(degree.src * degree.dst) becomes (x.src / sqrt(degree.src)) / sqrt(degree.dst), of which the first is
// made on nodes and the second leaves the sum.
//
//   f(p q) = f(p) f(q)          f: reciprocal; square root and its reciprocal where neither p nor q is below 0
//   x / (p q) = (x / p) / q     x and p move together, and not with q; the same for x * (p q)
//   (x / q) / p = (x / p) / q   likewise; the same with *
//
// No operation on a row is added where the row stays. Products change in the last bits.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITFACTORS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-factors"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

bool isScaling(BinaryKind kind) { return kind == BinaryKind::Mul || kind == BinaryKind::Div; }

bool moves(LiftFinder &lifts, Operation *from, ValueRange values) {
  return llvm::any_of(values, [](Value value) { return bool(getResidency(value.getType())); }) &&
         lifts.find(from, values);
}

/// The factors of a value that is a product of numbers from different spaces, all of one shape; nothing if it moves as
/// a whole or a factor does not move.
std::optional<std::pair<Value, Value>> factorsOf(LiftFinder &lifts, Operation *from, Value value) {
  if (!getResidency(value.getType()) || moves(lifts, from, value))
    return std::nullopt;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto mul = value.getDefiningOp<BinaryOp>();
  if (!mul || mul.getKind() != BinaryKind::Mul)
    return std::nullopt;
  for (Value factor : mul->getOperands())
    if (!moves(lifts, from, factor) || getFeatureShape(factor.getType()) != getFeatureShape(mul.getType()))
      return std::nullopt;
  return std::pair(mul.getLhs(), mul.getRhs());
}

/// The factor in the shape that the product had.
Value shaped(Rules &rules, Value factor, Value product) {
  ArrayRef<int64_t> shape = getFeatureShape(product.getType());
  return getFeatureShape(factor.getType()) == shape ? factor : rules.reshape(factor, shape);
}

struct SplitFactors : public gnnc::impl::SplitFactorsBase<SplitFactors> {
  void runOnOperation() override {
    SmallVector<Operation *> pending;
    getOperation().walk([&](Operation *op) {
      if (isa<UnaryOp, BinaryOp>(op))
        pending.push_back(op);
    });
    // What replaces an operation is read by those after it, which have not been asked about.
    lifts = {};
    for (Operation *op : pending) {
      OpBuilder b(op);
      Value result;
      if (auto unary = dyn_cast<UnaryOp>(op)) {
        result = splitFunction(b, unary);
      } else if (auto binary = cast<BinaryOp>(op); isScaling(binary.getKind())) {
        result = splitFactor(b, binary, binary.getLhs(), binary.getRhs());
        if (!result && binary.getKind() == BinaryKind::Mul)
          result = splitFactor(b, binary, binary.getRhs(), binary.getLhs());
      }
      if (!result)
        continue;
      remarkPassed(op, DEBUG_TYPE, "split", [] { return std::string("factors from different spaces part"); });
      op->getResult(0).replaceAllUsesWith(result);
      lifts.forget(op);
      op->erase();
      ++numSplit;
    }
    lifts = {};
  }

  /// f(p q), or nothing.
  Value splitFunction(OpBuilder &b, UnaryOp op) {
    bool isRoot = op.getKind() == UnaryKind::Sqrt || op.getKind() == UnaryKind::Rsqrt;
    if (!isRoot && op.getKind() != UnaryKind::Recip)
      return {};
    auto factors = factorsOf(lifts, op, op.getInput());
    if (!factors)
      return {};
    auto [p, q] = *factors;
    if (isRoot && !(isNeverNegative(p) && isNeverNegative(q))) {
      remarkMissed(
          op, DEBUG_TYPE, "split", [] { return std::string("the root of a product stays whole"); },
          [] { return std::string("a factor may be below 0"); });
      return {};
    }
    Rules rules(b, op.getLoc());
    auto part = [&](Value factor) { return rules.unary(op.getKind(), shaped(rules, factor, op.getInput())); };
    return rules.mul(part(p), part(q));
  }

  /// `row` scaled by `by`, where that can be done in an order in which the row moves with a factor; else nothing.
  Value splitFactor(OpBuilder &b, BinaryOp op, Value row, Value by) {
    RankedTensorType type = op.getType();
    if (!getResidency(row.getType()) || getFeatureShape(row.getType()) != getFeatureShape(type) ||
        moves(lifts, op, {row, by}))
      return {};
    Rules rules(b, op.getLoc());
    if (auto factors = factorsOf(lifts, op, by)) {
      auto [p, q] = *factors;
      if (moves(lifts, op, {row, q}))
        std::swap(p, q);
      if (!moves(lifts, op, {row, p}))
        return {};
      Value first = rules.binary(op.getKind(), row, shaped(rules, p, by));
      return rules.binary(op.getKind(), first, shaped(rules, q, by));
    }
    auto scaled = row.getDefiningOp<BinaryOp>();
    if (!scaled || !isScaling(scaled.getKind()) || !row.hasOneUse())
      return {};
    for (auto [x, q] : {std::pair(scaled.getLhs(), scaled.getRhs()), std::pair(scaled.getRhs(), scaled.getLhs())}) {
      if (getResidency(x.getType()) && getFeatureShape(x.getType()) == getFeatureShape(type) &&
          moves(lifts, op, {x, by}))
        return rules.binary(scaled.getKind(), rules.binary(op.getKind(), x, by), q);
      if (scaled.getKind() == BinaryKind::Div)
        break;
    }
    return {};
  }

  LiftFinder lifts;
};

} // namespace
