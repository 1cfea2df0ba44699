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

std::optional<APFloat> gnnc::constantOf(Value value) {
  auto constant = skipReshapes(value).getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  APFloat number = constant.getValue();
  bool inexact;
  number.convert(cast<FloatType>(getElementTypeOrSelf(constant.getType())).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &inexact);
  return number;
}

namespace {

/// Proofs follow operands this far, which is farther than programs are deep; deeper ones are given up.
constexpr unsigned kDepth = 2000;

/// Whether a number is told from 0 everywhere: processors may take what is too small for a normal number for 0.
bool isSeen(const APFloat &number) { return number.isNormal() || number.isInfinity(); }

/// Changes of shape within rows, which keep all facts.
Value source(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa<ReshapeOp, TransposeOp, SliceOp, DetachOp>(op) ? op->getOperand(0) : Value();
}

/// The number that rows without an image hold; none for a total map.
std::optional<double> fillOf(BroadcastOp move) {
  if (move.getAlong() == kAllMap)
    return std::nullopt;
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(move, move.getAlongAttr());
  return map.getPartial() ? std::optional(move.getFill().convertToDouble()) : std::nullopt;
}

/// Whether a value comes from the graph alone: numbers of members, and what is computed from them.
bool ofGraphAlone(Value value, unsigned depth = 16) {
  Operation *op = value.getDefiningOp();
  return depth > 0 && op && llvm::all_of(op->getOperands(), [&](Value v) { return ofGraphAlone(v, depth - 1); });
}

/// The number of members along the map that a condition asks for, and the answer where it holds: true for "there are
/// some".
std::optional<std::pair<FlatSymbolRefAttr, bool>> askedDegree(Value condition) {
  auto degreeOf = [](Value value) {
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getInput();
    return value.getDefiningOp<DegreeOp>();
  };
  if (DegreeOp degree = degreeOf(condition))
    return std::pair(degree.getAlongAttr(), true);
  auto compare = condition.getDefiningOp<BinaryOp>();
  DegreeOp degree = compare ? degreeOf(compare.getLhs()) : DegreeOp();
  std::optional<APFloat> bound = degree ? constantOf(compare.getRhs()) : std::nullopt;
  if (!bound || !bound->isZero())
    return std::nullopt;
  if (compare.getKind() == BinaryKind::Gt)
    return std::pair(degree.getAlongAttr(), true);
  if (compare.getKind() == BinaryKind::Eq)
    return std::pair(degree.getAlongAttr(), false);
  return std::nullopt;
}

/// Proofs of what holds for all numbers of a value, or for those of the rows that a map leads some element to, or none.
class Proofs {
public:
  /// What a question was about: which fact, of which value, in which rows.
  using Question = std::pair<int, std::pair<Value, Attribute>>;
  /// Values are asked about once: programs are graphs, not trees.
  using Answers = DenseMap<Question, bool>;

  explicit Proofs(Answers &answers, FlatSymbolRefAttr map = {}, bool hasMembers = false)
      : answers(answers), map(map), hasMembers(hasMembers) {}

  bool finite(Value value, unsigned depth) const { return ask(0, &Proofs::findFinite, value, depth); }
  bool positive(Value value, unsigned depth) const { return ask(1, &Proofs::findPositive, value, depth); }
  bool nonZero(Value value, unsigned depth) const { return ask(2, &Proofs::findNonZero, value, depth); }
  bool atLeastZero(Value value, unsigned depth) const { return ask(3, &Proofs::findAtLeastZero, value, depth); }
  /// Every number is at most kLargestExponent.
  bool exponent(Value value, unsigned depth) const { return ask(4, &Proofs::findExponent, value, depth); }

private:
  using Proof = bool (Proofs::*)(Value, unsigned) const;

  bool ask(int fact, Proof find, Value value, unsigned depth) const {
    Question question{2 * fact + int(hasMembers), {value, map}};
    if (auto known = answers.find(question); known != answers.end())
      return known->second;
    return answers[question] = depth > 0 && (this->*find)(value, depth);
  }
  bool findFinite(Value value, unsigned depth) const;
  bool findPositive(Value value, unsigned depth) const;
  bool findNonZero(Value value, unsigned depth) const;
  bool findAtLeastZero(Value value, unsigned depth) const;
  bool findExponent(Value value, unsigned depth) const;

  /// A fact that holds for all rows, as it must of values on other spaces.
  bool anywhere(Proof proof, Value value, unsigned depth) const { return (Proofs(answers).*proof)(value, depth); }
  /// One operand has one property and the other one the other.
  bool either(BinaryOp op, Proof one, Proof other, unsigned depth) const {
    Value x = op.getLhs(), y = op.getRhs();
    return ((this->*one)(x, depth) && (this->*other)(y, depth)) || ((this->*one)(y, depth) && (this->*other)(x, depth));
  }
  bool both(SelectOp select, Proof proof, unsigned depth) const;
  bool atMostZero(Value value, unsigned depth) const;

  Answers &answers;
  FlatSymbolRefAttr map; ///< null: all rows
  bool hasMembers;
};

/// What a selection takes has a property if both values have it where they are taken.
bool Proofs::both(SelectOp select, Proof proof, unsigned depth) const {
  auto asked = askedDegree(select.getCondition());
  for (auto [value, holds] : {std::pair(select.getTrueValue(), true), {select.getFalseValue(), false}}) {
    if (!asked) {
      if (!(this->*proof)(value, depth))
        return false;
      continue;
    }
    bool members = asked->second == holds;
    if (asked->first == map && members != hasMembers)
      continue; // It is never taken.
    // One assumption is enough: the narrower one.
    if (!(Proofs(answers, asked->first, members).*proof)(value, depth))
      return false;
  }
  return true;
}

bool Proofs::findAtLeastZero(Value value, unsigned depth) const {
  if (Value same = source(value))
    return atLeastZero(same, depth - 1);
  if (std::optional<APFloat> number = constantOf(value))
    return !number->isNaN() && (number->isZero() || !number->isNegative());
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<DegreeOp, ExtentOp, NormOp>(op))
    return true;
  if (auto unary = dyn_cast<UnaryOp>(op))
    return llvm::is_contained({UnaryKind::Abs, UnaryKind::Square, UnaryKind::Relu, UnaryKind::Sqrt}, unary.getKind()) ||
           (llvm::is_contained({UnaryKind::Floor, UnaryKind::Ceil, UnaryKind::Round}, unary.getKind()) &&
            atLeastZero(unary.getInput(), depth - 1)) ||
           positive(value, depth - 1);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min},
                              reduce.getKind()) &&
           anywhere(&Proofs::atLeastZero, reduce.getInput(), depth - 1);
  if (auto fold = dyn_cast<FoldOp>(op))
    return fold.getKind() != ReduceKind::LogSumExp && atLeastZero(fold.getInput(), depth - 1);
  if (auto move = dyn_cast<BroadcastOp>(op))
    return fillOf(move).value_or(0) >= 0 && anywhere(&Proofs::atLeastZero, move.getInput(), depth - 1);
  if (isView(op))
    return anywhere(&Proofs::atLeastZero, op->getOperand(0), depth - 1);
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
  std::optional<APFloat> bound = constantOf(compare.getRhs());
  return bound && !bound->isNaN() && (bound->isZero() || !bound->isNegative());
}

bool Proofs::findPositive(Value value, unsigned depth) const {
  if (Value same = source(value))
    return positive(same, depth - 1);
  if (std::optional<APFloat> number = constantOf(value))
    return isSeen(*number) && !number->isNegative();
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto degree = dyn_cast<DegreeOp>(op))
    return degree.getAlongAttr() == map && hasMembers;
  if (auto unary = dyn_cast<UnaryOp>(op))
    switch (unary.getKind()) {
    case UnaryKind::Recip: // That of a large number is too small to be seen; counts are never as large.
      if (!ofGraphAlone(unary.getInput()))
        return false;
      [[fallthrough]];
    case UnaryKind::Sqrt:
    case UnaryKind::Rsqrt:
      return positive(unary.getInput(), depth - 1) && finite(unary.getInput(), depth - 1);
    default:
      return false; // The others underflow.
    }
  if (auto move = dyn_cast<BroadcastOp>(op))
    return fillOf(move).value_or(1) > 0 && anywhere(&Proofs::positive, move.getInput(), depth - 1);
  if (isView(op))
    return anywhere(&Proofs::positive, op->getOperand(0), depth - 1);
  if (auto select = dyn_cast<SelectOp>(op))
    return both(select, &Proofs::positive, depth - 1) ||
           (positive(select.getFalseValue(), depth - 1) && saysPositive(select.getCondition(), select.getTrueValue()));
  if (auto binary = dyn_cast<BinaryOp>(op))
    switch (binary.getKind()) {
    case BinaryKind::Maximum:
      return either(binary, &Proofs::positive, &Proofs::finite, depth - 1);
    case BinaryKind::Add:
      return either(binary, &Proofs::positive, &Proofs::atLeastZero, depth - 1);
    case BinaryKind::Minimum:
      return positive(binary.getLhs(), depth - 1) && positive(binary.getRhs(), depth - 1);
    default:
      return false;
    }
  return false;
}

bool Proofs::findNonZero(Value value, unsigned depth) const {
  if (Value same = source(value))
    return nonZero(same, depth - 1);
  if (std::optional<APFloat> number = constantOf(value))
    return isSeen(*number);
  Operation *op = value.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op))
    return fillOf(move).value_or(1) != 0 && anywhere(&Proofs::nonZero, move.getInput(), depth - 1);
  if (auto select = dyn_cast_or_null<SelectOp>(op)) {
    // where(x == 0, c, x), and where(x, x, c).
    auto compare = select.getCondition().getDefiningOp<BinaryOp>();
    std::optional<APFloat> with = compare ? constantOf(compare.getRhs()) : std::nullopt;
    bool isZero = compare && compare.getKind() == BinaryKind::Eq && compare.getLhs() == select.getFalseValue() &&
                  with && with->isZero();
    if (isZero || select.getCondition() == select.getTrueValue()) {
      Value other = isZero ? select.getTrueValue() : select.getFalseValue();
      Value own = isZero ? select.getFalseValue() : select.getTrueValue();
      if (nonZero(other, depth - 1) && finite(own, depth - 1))
        return true;
    }
    return both(select, &Proofs::nonZero, depth - 1);
  }
  return positive(value, depth - 1);
}

bool Proofs::findFinite(Value value, unsigned depth) const {
  if (std::optional<APFloat> number = constantOf(value))
    return number->isFinite();
  Operation *op = value.getDefiningOp();
  if (!op || isa<DegreeOp, ExtentOp>(op))
    return true;
  auto operands = [&] { return llvm::all_of(op->getOperands(), [&](Value v) { return finite(v, depth - 1); }); };
  auto operand = [&] { return anywhere(&Proofs::finite, op->getOperand(0), depth - 1); };
  if (auto unary = dyn_cast<UnaryOp>(op))
    switch (unary.getKind()) {
    case UnaryKind::Exp:
      return exponent(unary.getInput(), depth - 1) && finite(unary.getInput(), depth - 1);
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
  if (auto select = dyn_cast<SelectOp>(op))
    return both(select, &Proofs::finite, depth - 1);
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (!llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min}, reduce.getKind()))
      return false;
    return (reduce.getAlongAttr() == map && !hasMembers) || operand();
  }
  if (auto move = dyn_cast<BroadcastOp>(op))
    return std::isfinite(fillOf(move).value_or(0)) && operand();
  if (isView(op) || isa<NormOp>(op))
    return operand();
  return op->hasTrait<RowFunction>() && operands();
}

/// The largest operand for which exp is taken to be finite, in single precision.
constexpr double kLargestExponent = 80;

bool Proofs::atMostZero(Value value, unsigned depth) const {
  auto negation = value.getDefiningOp<UnaryOp>();
  std::optional<APFloat> number = constantOf(value);
  return (negation && negation.getKind() == UnaryKind::Neg && atLeastZero(negation.getInput(), depth)) ||
         (number && !number->isNaN() && (number->isZero() || number->isNegative()));
}

bool Proofs::findExponent(Value value, unsigned depth) const {
  if (Value same = source(value))
    return exponent(same, depth - 1);
  if (std::optional<APFloat> number = constantOf(value))
    return number->convertToDouble() <= kLargestExponent;
  Operation *op = value.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op))
    return fillOf(move).value_or(0) <= kLargestExponent && anywhere(&Proofs::exponent, move.getInput(), depth - 1);
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
  switch (binary.getKind()) {
  case BinaryKind::Minimum:
    return either(binary, &Proofs::exponent, &Proofs::finite, depth - 1);
  case BinaryKind::Mul: // A square times a negative factor, as in Gaussians.
    return either(binary, &Proofs::atMostZero, &Proofs::atLeastZero, depth - 1);
  case BinaryKind::Div:
    return atMostZero(binary.getLhs(), depth - 1) && atLeastZero(binary.getRhs(), depth - 1);
  default:
    return false;
  }
}

} // namespace

bool gnnc::isOfGraphAlone(Value value) { return ofGraphAlone(value); }

/// A proof of its own: the program may have changed since the last one.
static bool prove(bool (Proofs::*proof)(Value, unsigned) const, Value value, FlatSymbolRefAttr without = {}) {
  Proofs::Answers answers;
  return (Proofs(answers, without, /*hasMembers=*/false).*proof)(value, kDepth);
}

bool gnnc::isFinite(Value value) { return prove(&Proofs::finite, value); }
bool gnnc::isNeverNegative(Value value) { return prove(&Proofs::atLeastZero, value); }
bool gnnc::isPositive(Value value) { return prove(&Proofs::positive, value); }
bool gnnc::isNonZero(Value value) { return prove(&Proofs::nonZero, value); }

bool gnnc::isFiniteWithoutMembers(Value value, FlatSymbolRefAttr map) { return prove(&Proofs::finite, value, map); }
bool gnnc::isNonZeroWithoutMembers(Value value, FlatSymbolRefAttr map) { return prove(&Proofs::nonZero, value, map); }

bool gnnc::isHarmless(Operation *op) {
  auto known = [](Value value) { return isPositive(value) && isFinite(value); };
  bool harmless = true;
  if (auto unary = dyn_cast<UnaryOp>(op)) {
    bool hasPole =
        llvm::is_contained({UnaryKind::Log, UnaryKind::Sqrt, UnaryKind::Rsqrt, UnaryKind::Recip}, unary.getKind());
    // Where exp overflows, so does its derivative.
    harmless = unary.getKind() == UnaryKind::Exp ? prove(&Proofs::exponent, unary.getInput())
                                                 : !hasPole || known(unary.getInput());
  } else if (auto binary = dyn_cast<BinaryOp>(op)) {
    harmless =
        binary.getKind() != BinaryKind::Pow && (binary.getKind() != BinaryKind::Div || isNonZero(binary.getRhs()));
  } else if (auto fold = dyn_cast<FoldOp>(op)) {
    harmless = fold.getKind() != ReduceKind::LogSumExp || isFinite(fold.getInput());
  }
  return harmless || llvm::all_of(op->getOperands(), isOfGraphAlone);
}
