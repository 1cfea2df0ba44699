//===- FlatMath.cpp - exp and its like on flat vectors --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In float32, x = n ln 2 + r with |r| <= ln(2) / 2, and exp(r) - 1 is r + r^2 p(r) with the polynomial of Cephes' expf.
// Then exp(x) = 2^n (exp(r) - 1) + 2^n, and exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1), where nothing cancels near 0. n
// is rounded by adding 1.5 * 2^23, which leaves it in the lowest bits. Arguments are clamped to where 2^n is a normal
// number or the next beyond: with 2^(n-1) in place of 2^n, and twice the result, what is too large becomes infinite,
// and what is below 2^-125.5 is 0. A NaN stays one: comparisons with it are false.
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

/// 2^(n-1), 0 for the least n, and exp(r) - 1.
static std::pair<Value, Value> splitExp(FlatOps &flat, OpBuilder &b, Location loc, Value x) {
  int64_t lanes = FlatOps::count(x);
  auto number = [&](double value) { return flat.splat(value, lanes); };
  auto fma = [&](Value p, Value q, Value r) -> Value { return math::FmaOp::create(b, loc, p, q, r); };
  Value low = number(-87.33654), high = number(89);
  x = arith::SelectOp::create(b, loc, flat.greater(low, x), low, x);
  x = arith::SelectOp::create(b, loc, flat.greater(x, high), high, x);
  Value magic = number(12582912), shifted = fma(x, number(1.44269504088896341), magic);
  Value n = arith::SubFOp::create(b, loc, shifted, magic); // Exact; not to be simplified.
  Value r = fma(n, number(2.12194440e-4), fma(n, number(-0.693359375), x));
  Value p = number(1.9875691500e-4);
  for (double coefficient : {1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})
    p = fma(p, r, number(coefficient));
  Value q = fma(p, arith::MulFOp::create(b, loc, r, r), r);

  auto integers = VectorType::get({lanes}, b.getI32Type());
  auto integer = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(integers, b.getI32IntegerAttr(value)));
  };
  Value bits = arith::BitcastOp::create(b, loc, integers, shifted);
  Value exponent = arith::ShLIOp::create(b, loc, bits, integer(23));
  Value scale = arith::AddIOp::create(b, loc, exponent, integer(0x3f000000));
  return {arith::BitcastOp::create(b, loc, flat.type(lanes), scale), q};
}

Value FlatOps::exp(Value x) {
  if (!element.isF32())
    return math::ExpOp::create(b, loc, x);
  auto [half, q] = splitExp(*this, b, loc, x);
  return mul(splat(2, count(x)), math::FmaOp::create(b, loc, half, q, half));
}

Value FlatOps::expm1(Value x) {
  if (!element.isF32())
    return math::ExpM1Op::create(b, loc, x);
  auto [half, q] = splitExp(*this, b, loc, x);
  Value less = arith::SubFOp::create(b, loc, half, splat(0.5, count(x)));
  return mul(splat(2, count(x)), math::FmaOp::create(b, loc, half, q, less));
}

/// max(x, 0) + log(1 + e) with e = exp(-|x|), which is in [0, 1]: log(1 + e) = 2 artanh(s) with s = e / (2 + e), an odd
/// function of s in [0, 1/3], by a polynomial of s * s. Its relative error is 4e-9.
Value FlatOps::softplus(Value x) {
  int64_t lanes = count(x);
  Value magnitude = math::AbsFOp::create(b, loc, x),
        positive = arith::SelectOp::create(b, loc, greater(x, splat(0, lanes)), x, splat(0, lanes));
  Value e = exp(arith::NegFOp::create(b, loc, magnitude)); // NaN where x is not a number
  if (!element.isF32())
    return add(positive, math::Log1pOp::create(b, loc, e));
  Value s = arith::DivFOp::create(b, loc, e, arith::AddFOp::create(b, loc, e, splat(2, lanes)));
  Value square = arith::MulFOp::create(b, loc, s, s), p = splat(0.28178334593, lanes);
  for (double coefficient : {0.27960603257, 0.40024910205, 0.66666314685, 2.0})
    p = math::FmaOp::create(b, loc, p, square, splat(coefficient, lanes));
  return math::FmaOp::create(b, loc, s, p, positive);
}

/// In float32 a quotient of polynomials of x * x, times x, within 6 units of the last place; from 4 on it is 1. They
/// are fitted to erf(x) / x on [0, 4] by least squares of relative errors, weighted until these are alike: 2.5e-8 at
/// most.
Value FlatOps::erf(Value x) {
  if (!element.isF32())
    return math::ErfOp::create(b, loc, x);
  int64_t lanes = count(x);
  auto clamp = [&](Value value, double most) -> Value { // A NaN stays one.
    Value low = splat(-most, lanes), high = splat(most, lanes);
    value = arith::SelectOp::create(b, loc, greater(low, value), low, value);
    return arith::SelectOp::create(b, loc, greater(value, high), high, value);
  };
  x = clamp(x, 4);
  Value square = arith::MulFOp::create(b, loc, x, x);
  auto polynomial = [&](ArrayRef<double> coefficients) {
    Value p = splat(coefficients.front(), lanes);
    for (double coefficient : coefficients.drop_front())
      p = math::FmaOp::create(b, loc, p, square, splat(coefficient, lanes));
    return p;
  };
  Value p = polynomial({1.98678679640e-06, 2.84566301160e-04, 3.88334561875e-03, 5.31017493119e-02, 1.93545051463e-01,
                        1.12837913933e+00});
  Value q =
      polynomial({3.74202428108e-05, 1.18557227279e-03, 1.52072530970e-02, 1.15350000274e-01, 5.04857391478e-01, 1.0});
  return clamp(arith::DivFOp::create(b, loc, arith::MulFOp::create(b, loc, x, p), q), 1);
}
