//===- FlatSine.cpp - Sine and cosine of flat vectors ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In float32, x = n pi/2 + r with |r| <= pi/4; the polynomials of Cephes' sinf and cosf give the sine and cosine of r,
// and n modulo 4 says which of them is wanted with which sign. pi/2 is subtracted in three parts of 24 bits (Cody and
// Waite); with fused products nothing is lost while n has less than 22 bits. Times in seconds are larger than that, and
// encodings of time take their cosine: if any number of a vector is, all are reduced in double precision, which is
// exact enough up to 1e15. Beyond that a float32 number is the same as thousands of others some turns away, and the
// result is only bounded.
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

namespace {

constexpr double kTwoOverPi = 0.63661977236758134308;
/// n stays below 2^21.
constexpr double kLargestQuick = 3.2e6;

struct Reduced {
  Value rest, quadrant; ///< r; n in the lowest bits of an i32
};

class SineBuilder {
public:
  SineBuilder(FlatOps &flat, OpBuilder &b, Location loc, int64_t lanes)
      : flat(flat), b(b), loc(loc), lanes(lanes), integers(VectorType::get({lanes}, b.getI32Type())) {}

  Reduced reduce(Value x);
  Reduced reduceInDouble(Value x);
  Value polynomial(Reduced reduced, bool ofCosine);

private:
  Value number(double value) { return flat.splat(value, lanes); }
  Value integer(int32_t value) {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(integers, b.getI32IntegerAttr(value)));
  }
  Value fma(Value p, Value q, Value r) { return math::FmaOp::create(b, loc, p, q, r); }

  FlatOps &flat;
  OpBuilder &b;
  Location loc;
  int64_t lanes;
  VectorType integers;
};

} // namespace

Reduced SineBuilder::reduce(Value x) {
  // Adding 1.5 * 2^23 rounds, and leaves n in the lowest bits.
  Value magic = number(12582912), shifted = fma(x, number(kTwoOverPi), magic);
  Value n = arith::SubFOp::create(b, loc, shifted, magic); // Exact; not to be simplified.
  Value r = x;
  for (double part : {-1.5707963705062866, 4.371138828673793e-8, 1.7151245100058819e-15})
    r = fma(n, number(part), r);
  return {r, arith::BitcastOp::create(b, loc, integers, shifted)};
}

Reduced SineBuilder::reduceInDouble(Value x) {
  auto doubles = VectorType::get({lanes}, b.getF64Type());
  auto longs = VectorType::get({lanes}, b.getI64Type());
  auto wide = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(doubles, b.getF64FloatAttr(value)));
  };
  Value from = arith::ExtFOp::create(b, loc, doubles, x), magic = wide(6755399441055744.0);
  Value shifted = fma(from, wide(kTwoOverPi), magic);
  Value n = arith::SubFOp::create(b, loc, shifted, magic);
  Value r = fma(n, wide(-6.123233995736766e-17), fma(n, wide(-1.5707963267948966), from));
  // Where n is too large for its bits, r is anything. A NaN stays one.
  Value high = wide(0.8), low = wide(-0.8);
  auto above = [&](Value p, Value q) { return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, p, q); };
  Value finite =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, loc, from), wide(3.5e38));
  r = arith::SelectOp::create(b, loc, above(r, high), high, r);
  r = arith::SelectOp::create(b, loc, above(low, r), low, r);
  r = arith::SelectOp::create(b, loc, finite, r, arith::SubFOp::create(b, loc, from, from));
  Value bits = arith::BitcastOp::create(b, loc, longs, shifted);
  return {arith::TruncFOp::create(b, loc, flat.type(lanes), r), arith::TruncIOp::create(b, loc, integers, bits)};
}

Value SineBuilder::polynomial(Reduced reduced, bool ofCosine) {
  Value r = reduced.rest, square = arith::MulFOp::create(b, loc, r, r);
  Value s = fma(fma(number(-1.9515295891e-4), square, number(8.3321608736e-3)), square, number(-1.6666654611e-1));
  s = fma(arith::MulFOp::create(b, loc, s, square), r, r);
  Value c = fma(fma(number(2.443315711809948e-5), square, number(-1.388731625493765e-3)), square,
                number(4.166664568298827e-2));
  c = fma(fma(c, square, number(-0.5)), square, number(1));
  Value quadrant = reduced.quadrant;
  if (ofCosine) // cos(x) = sin(x + pi/2)
    quadrant = arith::AddIOp::create(b, loc, quadrant, integer(1));
  Value odd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                    arith::AndIOp::create(b, loc, quadrant, integer(1)), integer(0));
  Value value = arith::SelectOp::create(b, loc, odd, c, s);
  // The second bit becomes the sign.
  Value sign = arith::ShLIOp::create(b, loc, arith::AndIOp::create(b, loc, quadrant, integer(2)), integer(30));
  Value bits = arith::XOrIOp::create(b, loc, arith::BitcastOp::create(b, loc, integers, value), sign);
  return arith::BitcastOp::create(b, loc, flat.type(lanes), bits);
}

Value FlatOps::sine(Value x, bool ofCosine) {
  if (!element.isF32())
    return ofCosine ? Value(math::CosOp::create(b, loc, x)) : Value(math::SinOp::create(b, loc, x));
  int64_t lanes = count(x);
  SineBuilder builder(*this, b, loc, lanes);
  Value large = greater(math::AbsFOp::create(b, loc, x), splat(kLargestQuick, lanes));
  Value isAnyLarge = any(large);
  auto integers = VectorType::get({lanes}, b.getI32Type());
  auto branch = scf::IfOp::create(b, loc, TypeRange{type(lanes), integers}, isAnyLarge, true);
  for (bool isLarge : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isLarge ? branch.thenBlock() : branch.elseBlock());
    Reduced reduced = isLarge ? builder.reduceInDouble(x) : builder.reduce(x);
    scf::YieldOp::create(b, loc, ValueRange{reduced.rest, reduced.quadrant});
  }
  return builder.polynomial({branch.getResult(0), branch.getResult(1)}, ofCosine);
}
