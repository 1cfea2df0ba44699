//===- RecognizePatterns.cpp - Movements written out as arithmetic --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R7. What importers and old habits leave, as the movement that it means:
//
//   exp(x - m) / (sum of exp(x - m)).back, m = (max of x).back or 0   ->  softmax of x along the map, if it is total
//   sum of x / max(degree, 1), or with any other 1 for a degree of 0  ->  mean of x
//   sum of a constant                                                 ->  degree times the constant
//   x[k, 1] y[1, n], both long                                        ->  their product without what is 1 there
//   what is transposed, joined and transposed back                    ->  joined along another axis
//
// A sum that is divided by the bare degree is not a mean: it is 0/0 where there are no members.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"

#include <cmath>

namespace gnnc {
#define GEN_PASS_DEF_RECOGNIZEPATTERNS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "recognize-patterns"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// What is added to the denominator of a softmax whose largest term is 1 is lost in rounding up to this, in double
/// precision too.
constexpr double kInvisible = 0x1p-53;

/// Axes of a product of columns and rows from which on it is one of matrices.
constexpr int64_t kLeastOuter = 32;

/// A constant as it is computed with.
std::optional<double> numberOf(Value value) {
  std::optional<APFloat> constant = constantOf(value);
  return constant ? std::optional(constant->convertToDouble()) : std::nullopt;
}

BinaryOp binaryOf(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && op.getKind() == kind ? op : BinaryOp();
}

/// The reduction of `value` that comes back to its members along the map it went, or null.
ReduceOp broughtBack(Value moved, ReduceKind kind, Value value) {
  BroadcastOp move = getMove(moved);
  auto reduce = move ? move.getInput().getDefiningOp<ReduceOp>() : ReduceOp();
  bool same =
      reduce && reduce.getKind() == kind && reduce.getInput() == value && reduce.getAlongAttr() == move.getAlongAttr();
  return same ? reduce : ReduceOp();
}

/// Whether a value is the number of members along a map, and 1 where there are none.
bool isPositiveDegree(Value value, FlatSymbolRefAttr along) {
  value = skipReshapes(value);
  auto isDegree = [&](Value each) {
    auto degree = skipReshapes(each).getDefiningOp<DegreeOp>();
    return degree && degree.getAlongAttr() == along;
  };
  if (auto maximum = binaryOf(value, BinaryKind::Maximum))
    return (isDegree(maximum.getLhs()) && numberOf(maximum.getRhs()) == 1.0) ||
           (isDegree(maximum.getRhs()) && numberOf(maximum.getLhs()) == 1.0);
  auto select = value.getDefiningOp<SelectOp>();
  return select && isDegree(select.getCondition()) && isDegree(select.getTrueValue()) &&
         numberOf(select.getFalseValue()) == 1.0;
}

struct RecognizePatterns : public gnnc::impl::RecognizePatternsBase<RecognizePatterns> {
  void runOnOperation() override {
    SmallVector<Operation *> pending;
    getOperation().walk([&](Operation *op) {
      if (isa<BinaryOp, ReduceOp, TransposeOp>(op))
        pending.push_back(op);
    });
    for (Operation *op : pending) {
      OpBuilder b(op);
      auto quotient = dyn_cast<BinaryOp>(op);
      Value found;
      StringRef what;
      if (quotient && quotient.getKind() == BinaryKind::Mul) {
        what = "product of matrices";
        found = outer(b, quotient);
      } else if (quotient && quotient.getKind() == BinaryKind::Div) {
        what = "softmax";
        found = softmax(b, quotient);
        if (!found) {
          what = "mean";
          found = mean(b, quotient);
        }
      } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
        what = "concatenation";
        found = joined(b, transpose);
      } else if (auto sum = dyn_cast<ReduceOp>(op)) {
        what = "degree";
        found = degree(b, sum);
      }
      if (!found)
        continue;
      remarkPassed(op, DEBUG_TYPE, "recognize", [&] { return "this is a " + what.str(); });
      op->getResult(0).replaceAllUsesWith(found);
      ++numRecognized;
    }
  }

  static Value softmax(OpBuilder &b, BinaryOp quotient) {
    Value exponential = quotient.getLhs(), divisor = quotient.getRhs();
    auto exp = exponential.getDefiningOp<UnaryOp>();
    if (!exp || exp.getKind() != UnaryKind::Exp || quotient.getType() != exponential.getType())
      return {};
    Value x = exp.getInput();
    auto shifted = binaryOf(x, BinaryKind::Sub);
    ReduceOp maximum = shifted ? broughtBack(shifted.getRhs(), ReduceKind::Max, shifted.getLhs()) : ReduceOp();
    if (maximum)
      x = shifted.getLhs();
    // A small number that keeps the divisor from being 0, before it moves back or after.
    auto withoutEpsilon = [&](Value value) {
      auto sum = maximum ? binaryOf(value, BinaryKind::Add) : BinaryOp();
      std::optional<double> epsilon = sum ? numberOf(sum.getRhs()) : std::nullopt;
      return epsilon && *epsilon >= 0 && *epsilon <= kInvisible ? sum.getLhs() : value;
    };
    BroadcastOp move = getMove(withoutEpsilon(divisor));
    auto total = move ? withoutEpsilon(move.getInput()).getDefiningOp<ReduceOp>() : ReduceOp();
    if (!total || total.getKind() != ReduceKind::Sum || total.getInput() != exponential ||
        total.getAlongAttr() != move.getAlongAttr() || (maximum && maximum.getAlongAttr() != total.getAlongAttr()))
      return {};
    if (isPartial(quotient, total.getAlongAttr())) {
      remarkMissed(
          quotient, DEBUG_TYPE, "recognize", [] { return "this is not a softmax"; },
          [] { return "members without an owner would get 0"; });
      return {};
    }
    return NormOp::create(b, quotient.getLoc(), x.getType(), x, total.getAlongAttr());
  }

  /// Importers join along the last axis.
  static Value joined(OpBuilder &b, TransposeOp transpose) {
    auto concat = transpose.getInput().getDefiningOp<ConcatOp>();
    if (!concat)
      return {};
    ArrayRef<int64_t> order = transpose.getPermutation();
    SmallVector<Value> inputs;
    for (Value input : concat.getInputs()) {
      auto own = input.getDefiningOp<TransposeOp>();
      if (!own)
        return {};
      for (auto [axis, from] : llvm::enumerate(order))
        if (own.getPermutation()[from] != int64_t(axis))
          return {};
      inputs.push_back(own.getInput());
    }
    int64_t axis = llvm::find(order, concat.getAxis()) - order.begin();
    return ConcatOp::create(b, transpose.getLoc(), transpose.getType(), inputs, b.getI64IntegerAttr(axis));
  }

  /// What is summed up of it later is a matrix product then, and so are the sums of its derivative. Short axes are as
  /// well left to the elementwise operations around.
  static Value outer(OpBuilder &b, BinaryOp product) {
    ArrayRef<int64_t> shape = getFeatureShape(product.getType());
    SmallVector<int64_t> labels[2], shapes[2], all;
    Value operands[2] = {product.getLhs(), product.getRhs()};
    int64_t own[2] = {1, 1};
    for (unsigned i : {0u, 1u}) {
      ArrayRef<int64_t> given = getFeatureShape(product->getOperand(i).getType());
      ArrayRef<int64_t> other = getFeatureShape(product->getOperand(1 - i).getType());
      if (given.size() != shape.size() || other.size() != shape.size())
        return {};
      SmallVector<int64_t> kept;
      for (auto [axis, size] : llvm::enumerate(given))
        if (size != 1 || shape[axis] == 1) {
          labels[i].push_back(int64_t(axis));
          kept.push_back(size);
          own[i] *= other[axis] == 1 ? size : 1;
        }
      shapes[i] = kept;
    }
    if (std::min(own[0], own[1]) < kLeastOuter)
      return {};
    for (unsigned i : {0u, 1u})
      operands[i] = Rules(b, product.getLoc()).reshape(operands[i], shapes[i]);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      all.push_back(int64_t(axis));
    return ContractOp::create(b, product.getLoc(), product.getType(), operands[0], labels[0], operands[1], labels[1],
                              all);
  }

  static Value mean(OpBuilder &b, BinaryOp quotient) {
    auto sum = quotient.getLhs().getDefiningOp<ReduceOp>();
    if (!sum || sum.getKind() != ReduceKind::Sum || sum.getAlong() == kAllMap || quotient.getType() != sum.getType() ||
        !isPositiveDegree(quotient.getRhs(), sum.getAlongAttr()))
      return {};
    return Rules(b, quotient.getLoc()).reduce(ReduceKind::Mean, sum.getInput(), sum.getAlongAttr(), sum.getType());
  }

  static Value degree(OpBuilder &b, ReduceOp sum) {
    auto move = sum.getInput().getDefiningOp<BroadcastOp>();
    if (sum.getKind() != ReduceKind::Sum || sum.getAlong() == kAllMap || !move || move.getAlong() != kAllMap)
      return {};
    // No member has nothing, however large a number each of them would have.
    std::optional<double> constant = numberOf(move.getInput());
    if (!constant || !std::isfinite(*constant))
      return {};
    Rules r(b, sum.getLoc());
    ArrayRef<int64_t> features = getFeatureShape(sum.getType());
    Value count = DegreeOp::create(b, r.loc, Rules::withFeatures(sum.getType(), {}), sum.getAlongAttr());
    count = r.reshape(count, SmallVector<int64_t>(features.size(), 1));
    return r.repeat(*constant == 1 ? count : r.scale(count, *constant), features);
  }
};

} // namespace
