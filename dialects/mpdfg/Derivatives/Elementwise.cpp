//===- Elementwise.cpp - Derivatives of elementwise functions -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table: x is the operand, y the result, g the gradient of y. At a kink (relu at 0, equal operands of maximum) the
// derivative is the one of the branch that the function takes there.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include <cmath>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// g where `positive` holds, else g times `slope`. Where g is a product with what all elements share, that takes the
/// slope: the choice is between two numbers that are known before any element is seen. (The order of an adjoint's
/// products is written nowhere.)
Value withSlope(Rules &r, Value positive, Value g, double slope) {
  auto choose = [&](Value x) { return r.select(positive, x, r.scale(x, slope)); };
  auto isShared = [](Value x) { return !getResidency(x.getType()) && !x.getDefiningOp<ConstantOp>(); };
  if (getResidency(g.getType())) {
    if (auto product = g.getDefiningOp<BinaryOp>(); product && product.getKind() == BinaryKind::Mul)
      for (auto [x, other] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}})
        if (isShared(x))
          return r.mul(other, choose(x));
    // A row that several numbers multiply, as a vector of attention.
    if (auto product = g.getDefiningOp<ContractOp>();
        product && isShared(product.getRhs()) && product.getRhsLabels() == product.getOutLabels() &&
        llvm::all_of(product.getLhsLabels(),
                     [&](int64_t label) { return llvm::is_contained(product.getOutLabels(), label); }))
      return ContractOp::create(r.b, r.loc, g.getType(), product.getLhs(), product.getLhsLabels(),
                                choose(product.getRhs()), product.getRhsLabels(), product.getOutLabels());
  }
  return choose(g);
}

Value adjointOf(UnaryOp op, Rules &r, Value g) {
  Value x = op.getInput(), y = op.getResult();
  double alpha = op.getAlpha().convertToDouble();
  auto number = [&](double value) { return r.number(value, x); };
  // Results of these functions are positive where their arguments are. Often the next product has the result in memory,
  // and then nothing needs the argument any more.
  auto positive = [&] { return r.greater(alpha >= 0 ? y : x, number(0)); };
  switch (op.getKind()) {
  case UnaryKind::Neg:
    return r.neg(g);
  case UnaryKind::Exp:
    return r.mul(g, y);
  case UnaryKind::Log:
    return r.div(g, x);
  case UnaryKind::Sqrt:
    return r.div(r.scale(g, 0.5), y);
  case UnaryKind::Rsqrt:
    return r.mul(r.scale(g, -0.5), r.div(y, x));
  case UnaryKind::Recip:
    return r.neg(r.mul(g, r.square(y)));
  case UnaryKind::Abs:
    return r.mul(g, r.unary(UnaryKind::Sign, x));
  case UnaryKind::Sign:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::Round:
    return Value();
  case UnaryKind::Square:
    return r.mul(g, r.scale(x, 2));
  case UnaryKind::Sin:
    return r.mul(g, r.unary(UnaryKind::Cos, x));
  case UnaryKind::Cos:
    return r.neg(r.mul(g, r.unary(UnaryKind::Sin, x)));
  case UnaryKind::Tanh:
    return r.mul(g, r.sub(number(1), r.square(y)));
  case UnaryKind::Erf:
    return r.mul(g, r.scale(r.exp(r.neg(r.square(x))), 2 / std::sqrt(M_PI)));
  case UnaryKind::Relu: // What is not a number has a gradient, as in PyTorch: it is not hidden.
    return r.select(r.binary(BinaryKind::Le, y, number(0)), number(0), g);
  case UnaryKind::LeakyRelu:
    return withSlope(r, positive(), g, alpha);
  case UnaryKind::Elu: // alpha (e^x - 1) + alpha = alpha e^x
    return r.select(positive(), g, r.mul(g, r.add(y, number(alpha))));
  case UnaryKind::Gelu: {
    Value cumulative = r.scale(r.add(number(1), r.unary(UnaryKind::Erf, r.scale(x, std::sqrt(0.5)))), 0.5);
    Value density = r.scale(r.exp(r.scale(r.square(x), -0.5)), 1 / std::sqrt(2 * M_PI));
    return r.mul(g, r.add(cumulative, r.mul(x, density)));
  }
  case UnaryKind::Silu: {
    Value s = r.unary(UnaryKind::Sigmoid, x);
    return r.mul(g, r.add(s, r.mul(y, r.sub(number(1), s))));
  }
  case UnaryKind::Sigmoid:
    return r.mul(g, r.mul(y, r.sub(number(1), y)));
  case UnaryKind::Softplus:
    return r.mul(g, r.unary(UnaryKind::Sigmoid, x));
  case UnaryKind::Finite:
    return r.select(r.binary(BinaryKind::Eq, x, y), g, number(0));
  }
  llvm_unreachable("unknown unary kind");
}

} // namespace

SmallVector<Value> UnaryOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  return {adjointOf(*this, r, g)};
}

SmallVector<Value> BinaryOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool> wanted) {
  Rules r(b, getLoc());
  Value x = getLhs(), y = getRhs();
  auto zero = [&] { return r.number(0, g); };
  auto both = [&](auto left, auto right) -> SmallVector<Value> {
    return {wanted[0] ? Value(left()) : Value(), wanted[1] ? Value(right()) : Value()};
  };
  switch (getKind()) {
  case BinaryKind::Add:
    return {g, g};
  case BinaryKind::Sub:
    return both([&] { return g; }, [&] { return r.neg(g); });
  case BinaryKind::Mul:
    return both([&] { return r.mul(g, y); }, [&] { return r.mul(g, x); });
  case BinaryKind::Div:
    return both([&] { return r.div(g, y); }, [&] { return r.neg(r.mul(g, r.div(getResult(), y))); });
  case BinaryKind::Pow:
    // 0 where y x^(y-1) and x^y log(x) would be 0 times infinity.
    return both(
        [&] {
          Value slope = r.mul(y, r.binary(BinaryKind::Pow, x, r.sub(y, r.number(1, y))));
          return r.select(y, r.mul(g, slope), zero());
        },
        [&] { return r.select(x, r.mul(g, r.mul(getResult(), r.unary(UnaryKind::Log, x))), zero()); });
  case BinaryKind::Maximum:
  case BinaryKind::Minimum: {
    bool maximum = getKind() == BinaryKind::Maximum;
    auto left = [&] { return maximum ? r.greater(x, y) : r.greater(y, x); };
    return both([&] { return r.select(left(), g, zero()); }, [&] { return r.select(left(), zero(), g); });
  }
  default: // Comparisons are constant almost everywhere.
    return {Value(), Value()};
  }
}

SmallVector<Value> SelectOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool> wanted) {
  Rules r(b, getLoc());
  // What is never chosen only says which shape the result has.
  Value condition = getCondition();
  while (auto reshape = condition.getDefiningOp<ReshapeOp>())
    condition = reshape.getInput();
  if (auto constant = condition.getDefiningOp<ConstantOp>()) {
    bool first = !constant.getValue().isZero();
    return {Value(), first && wanted[1] ? g : Value(), !first && wanted[2] ? g : Value()};
  }
  return {Value(), wanted[1] ? r.select(getCondition(), g, r.number(0, g)) : Value(),
          wanted[2] ? r.select(getCondition(), r.number(0, g), g) : Value()};
}

SmallVector<Value> DetachOp::emitAdjoint(OpBuilder &, Value, ArrayRef<bool>) { return {Value()}; }
SmallVector<Value> VariableOp::emitAdjoint(OpBuilder &, Value g, ArrayRef<bool>) { return {g}; }
SmallVector<Value> IsElementOp::emitAdjoint(OpBuilder &, Value, ArrayRef<bool>) { return {Value(), Value()}; }
SmallVector<Value> RandomOp::emitAdjoint(OpBuilder &, Value, ArrayRef<bool>) { return SmallVector<Value>(5); }
