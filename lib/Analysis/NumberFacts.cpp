//===- NumberFacts.cpp - What is known of a value's numbers ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/NumberFacts.h"
#include "dialects/mpdfg/IR/MPDFG.h"

#include <cmath>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// Proofs follow operands this far; deeper ones are given up.
constexpr unsigned kDepth = 16;

bool finite(Value value, unsigned depth);
bool positive(Value value, unsigned depth);

std::optional<double> constantOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? std::optional(constant.getValue().convertToDouble()) : std::nullopt;
}

/// Changes of shape and place, which keep all facts.
Value source(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<ReshapeOp, TransposeOp, SliceOp, DetachOp>(op) || isView(op)) ? op->getOperand(0) : Value();
}

/// The number that rows without an image hold; none for a total map.
std::optional<double> fillOf(BroadcastOp move) {
  if (move.getAlong() == kAllMap)
    return std::nullopt;
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(move, move.getAlongAttr());
  return map.getPartial() ? std::optional(move.getFill().convertToDouble()) : std::nullopt;
}

bool atLeastZero(Value value, unsigned depth) {
  if (depth == 0)
    return false;
  if (Value same = source(value))
    return atLeastZero(same, depth - 1);
  if (std::optional<double> number = constantOf(value))
    return *number >= 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<DegreeOp, ExtentOp, NormOp>(op))
    return true;
  if (auto unary = dyn_cast<UnaryOp>(op))
    return llvm::is_contained({UnaryKind::Abs, UnaryKind::Square, UnaryKind::Relu, UnaryKind::Sqrt}, unary.getKind()) ||
           positive(value, depth - 1);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min},
                              reduce.getKind()) &&
           atLeastZero(reduce.getInput(), depth - 1);
  if (auto fold = dyn_cast<FoldOp>(op))
    return fold.getKind() != ReduceKind::LogSumExp && atLeastZero(fold.getInput(), depth - 1);
  if (auto move = dyn_cast<BroadcastOp>(op))
    return fillOf(move).value_or(0) >= 0 && atLeastZero(move.getInput(), depth - 1);
  if (auto binary = dyn_cast<BinaryOp>(op))
    if (llvm::is_contained({BinaryKind::Add, BinaryKind::Mul, BinaryKind::Minimum}, binary.getKind()))
      return atLeastZero(binary.getLhs(), depth - 1) && atLeastZero(binary.getRhs(), depth - 1);
  return positive(value, depth - 1);
}

/// Whether `condition` says that `value` is above 0.
bool saysPositive(Value condition, Value value) {
  auto compare = condition.getDefiningOp<BinaryOp>();
  if (!compare || compare.getKind() != BinaryKind::Gt || compare.getLhs() != value)
    return false;
  std::optional<double> bound = constantOf(compare.getRhs());
  return bound && *bound >= 0;
}

bool positive(Value value, unsigned depth) {
  if (depth == 0)
    return false;
  if (Value same = source(value))
    return positive(same, depth - 1);
  if (std::optional<double> number = constantOf(value))
    return *number > 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto unary = dyn_cast<UnaryOp>(op))
    switch (unary.getKind()) {
    case UnaryKind::Sqrt:
    case UnaryKind::Rsqrt:
    case UnaryKind::Recip:
      return positive(unary.getInput(), depth - 1) && finite(unary.getInput(), depth - 1);
    default:
      return false; // The others underflow.
    }
  if (auto move = dyn_cast<BroadcastOp>(op))
    return fillOf(move).value_or(1) > 0 && positive(move.getInput(), depth - 1);
  if (auto select = dyn_cast<SelectOp>(op))
    return positive(select.getFalseValue(), depth - 1) &&
           (saysPositive(select.getCondition(), select.getTrueValue()) || positive(select.getTrueValue(), depth - 1));
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    Value x = binary.getLhs(), y = binary.getRhs();
    auto either = [&](auto proof, auto other) {
      return (proof(x, depth - 1) && other(y, depth - 1)) || (proof(y, depth - 1) && other(x, depth - 1));
    };
    switch (binary.getKind()) {
    case BinaryKind::Maximum:
      return either(positive, finite);
    case BinaryKind::Add:
      return either(positive, atLeastZero);
    case BinaryKind::Minimum:
      return positive(x, depth - 1) && positive(y, depth - 1);
    default:
      return false;
    }
  }
  return false;
}

bool nonZero(Value value, unsigned depth) {
  if (depth == 0)
    return false;
  if (Value same = source(value))
    return nonZero(same, depth - 1);
  if (std::optional<double> number = constantOf(value))
    return *number != 0;
  Operation *op = value.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op))
    return fillOf(move).value_or(1) != 0 && nonZero(move.getInput(), depth - 1);
  if (auto select = dyn_cast_or_null<SelectOp>(op)) {
    // where(x == 0, c, x), and where(x, x, c).
    auto compare = select.getCondition().getDefiningOp<BinaryOp>();
    bool isZero = compare && compare.getKind() == BinaryKind::Eq && compare.getLhs() == select.getFalseValue() &&
                  constantOf(compare.getRhs()) == 0.0;
    if (isZero || select.getCondition() == select.getTrueValue()) {
      Value other = isZero ? select.getTrueValue() : select.getFalseValue();
      Value own = isZero ? select.getFalseValue() : select.getTrueValue();
      return nonZero(other, depth - 1) && finite(own, depth - 1);
    }
  }
  return positive(value, depth - 1);
}

bool finite(Value value, unsigned depth) {
  if (depth == 0)
    return false;
  if (std::optional<double> number = constantOf(value))
    return std::isfinite(*number);
  Operation *op = value.getDefiningOp();
  if (!op || isa<DegreeOp, ExtentOp>(op))
    return true;
  auto operands = [&] { return llvm::all_of(op->getOperands(), [&](Value v) { return finite(v, depth - 1); }); };
  if (auto unary = dyn_cast<UnaryOp>(op))
    switch (unary.getKind()) {
    case UnaryKind::Exp:
      return false; // It overflows where its operand is large.
    case UnaryKind::Log:
    case UnaryKind::Rsqrt:
    case UnaryKind::Recip:
      return positive(unary.getInput(), depth - 1) && finite(unary.getInput(), depth - 1);
    case UnaryKind::Sqrt:
      return atLeastZero(unary.getInput(), depth - 1) && finite(unary.getInput(), depth - 1);
    default:
      return operands();
    }
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    if (binary.getKind() == BinaryKind::Pow)
      return false;
    if (binary.getKind() == BinaryKind::Div && !nonZero(binary.getRhs(), depth - 1))
      return false;
    return operands();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min},
                              reduce.getKind()) &&
           operands();
  if (auto move = dyn_cast<BroadcastOp>(op))
    return std::isfinite(fillOf(move).value_or(0)) && operands();
  return (op->hasTrait<RowFunction>() || isView(op) || isa<NormOp>(op)) && operands();
}

/// Whether a value comes from the graph alone: numbers of members, and what is computed from them.
bool ofGraphAlone(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  return depth > 0 && op && llvm::all_of(op->getOperands(), [&](Value v) { return ofGraphAlone(v, depth - 1); });
}

/// The largest operand for which exp is taken to be finite, in single precision.
constexpr double kLargestExponent = 80;

/// Every number is at most kLargestExponent.
bool exponent(Value value, unsigned depth) {
  if (depth == 0)
    return false;
  if (Value same = source(value))
    return exponent(same, depth - 1);
  if (std::optional<double> number = constantOf(value))
    return *number <= kLargestExponent;
  Operation *op = value.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op))
    return fillOf(move).value_or(0) <= kLargestExponent && exponent(move.getInput(), depth - 1);
  if (auto unary = dyn_cast_or_null<UnaryOp>(op)) {
    if (unary.getKind() == UnaryKind::Neg)
      return atLeastZero(unary.getInput(), depth - 1);
    return llvm::is_contained(
               {UnaryKind::Tanh, UnaryKind::Sigmoid, UnaryKind::Sin, UnaryKind::Cos, UnaryKind::Erf, UnaryKind::Sign},
               unary.getKind()) &&
           finite(unary.getInput(), depth - 1);
  }
  auto binary = dyn_cast_or_null<BinaryOp>(op);
  if (!binary)
    return false;
  Value x = binary.getLhs(), y = binary.getRhs();
  auto either = [&](auto proof, auto other) {
    return (proof(x, depth - 1) && other(y, depth - 1)) || (proof(y, depth - 1) && other(x, depth - 1));
  };
  auto atMostZero = [](Value v, unsigned d) {
    auto negation = v.getDefiningOp<UnaryOp>();
    std::optional<double> number = constantOf(v);
    return (negation && negation.getKind() == UnaryKind::Neg && atLeastZero(negation.getInput(), d)) ||
           (number && *number <= 0);
  };
  switch (binary.getKind()) {
  case BinaryKind::Minimum:
    return either(exponent, finite);
  case BinaryKind::Mul: // A square times a negative factor, as in Gaussians.
    return either(atMostZero, atLeastZero);
  case BinaryKind::Div:
    return atMostZero(x, depth - 1) && atLeastZero(y, depth - 1);
  default:
    return false;
  }
}

} // namespace

bool gnnc::isHarmless(Operation *op) {
  auto known = [](Value value) { return isPositive(value) && isFinite(value); };
  bool harmless = true;
  if (auto unary = dyn_cast<UnaryOp>(op)) {
    bool hasPole =
        llvm::is_contained({UnaryKind::Log, UnaryKind::Sqrt, UnaryKind::Rsqrt, UnaryKind::Recip}, unary.getKind());
    // Where exp overflows, so does its derivative.
    harmless =
        unary.getKind() == UnaryKind::Exp ? exponent(unary.getInput(), kDepth) : !hasPole || known(unary.getInput());
  } else if (auto binary = dyn_cast<BinaryOp>(op)) {
    harmless =
        binary.getKind() != BinaryKind::Pow && (binary.getKind() != BinaryKind::Div || isNonZero(binary.getRhs()));
  } else if (auto fold = dyn_cast<FoldOp>(op)) {
    harmless = fold.getKind() != ReduceKind::LogSumExp || isFinite(fold.getInput());
  }
  return harmless || llvm::all_of(op->getOperands(), [](Value v) { return ofGraphAlone(v, kDepth); });
}

bool gnnc::isFinite(Value value) { return finite(value, kDepth); }
bool gnnc::isNeverNegative(Value value) { return atLeastZero(value, kDepth); }
bool gnnc::isPositive(Value value) { return positive(value, kDepth); }
bool gnnc::isNonZero(Value value) { return nonZero(value, kDepth); }
