//===- FlatRandom.cpp - Element and random numbers on flat vectors --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rounds of Support/Philox.h on vectors. Each word is the lower half of a 64-bit lane, whose upper half is whatever
// an earlier product left there: then a product's two words need no more than a shift, and nothing is packed or
// unpacked between rounds. Element numbers travel as bits in the memory of floating-point numbers.
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatOps.h"
#include "gnnc/Support/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using mpdfg::BinaryKind;

Value FlatOps::elementNumber(Value number, int64_t n) {
  Type integer = b.getIntegerType(element.getIntOrFloatBitWidth());
  Value narrow = integer.isInteger(64) ? number : Value(arith::TruncIOp::create(b, loc, integer, number));
  Value all = vector::BroadcastOp::create(b, loc, VectorType::get({n}, integer), narrow);
  return arith::BitcastOp::create(b, loc, type(n), all);
}

Value FlatOps::elementNumbers(Value first, int64_t n) {
  auto integers = VectorType::get({n}, b.getIntegerType(element.getIntOrFloatBitWidth()));
  SmallVector<APInt> steps;
  for (int64_t i = 0; i < n; ++i)
    steps.emplace_back(element.getIntOrFloatBitWidth(), i);
  Value start = arith::BitcastOp::create(b, loc, integers, elementNumber(first, n));
  Value step = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(integers, steps));
  return arith::BitcastOp::create(b, loc, type(n), arith::AddIOp::create(b, loc, start, step));
}

Value FlatOps::isElement(Value numbers, Value others) {
  int64_t n = count(numbers);
  auto integers = VectorType::get({n}, b.getIntegerType(element.getIntOrFloatBitWidth()));
  Value wanted = arith::BitcastOp::create(b, loc, integers, others);
  Value found = arith::BitcastOp::create(b, loc, integers, numbers);
  Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, wanted, found);
  return arith::SelectOp::create(b, loc, same, splat(1, n), splat(0, n));
}

Value FlatOps::random(Value seedLow, Value seedHigh, Value step, Value elements, Value features, int64_t site,
                      bool inFours) {
  int64_t numbers = count(elements), n = inFours ? numbers / 4 : numbers;
  auto words = VectorType::get({n}, b.getI32Type()), wide = VectorType::get({n}, b.getI64Type());
  auto constant = [&](uint64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(wide, APInt(64, value)));
  };
  auto widen = [&](Value x) -> Value { return arith::ExtUIOp::create(b, loc, wide, x); };
  SmallVector<int64_t> firsts;
  for (int64_t i = 0; i < numbers; i += 4)
    firsts.push_back(i);
  auto counters = [&](Value x) { return inFours ? shuffle(x, firsts) : x; };
  auto integer = [&](Value x) -> Value { // Anything out of range gives some number, but no undefined behaviour.
    Value number = counters(x), zero = splat(0, n), most = splat(double((1 << 24) - 1), n);
    number = arith::SelectOp::create(b, loc, greater(number, zero), number, zero);
    Value bounded = arith::SelectOp::create(b, loc, greater(most, number), number, most);
    return widen(arith::FPToSIOp::create(b, loc, words, bounded));
  };
  auto bits = [&](Value x) -> Value {
    auto integers = VectorType::get({n}, b.getIntegerType(element.getIntOrFloatBitWidth()));
    Value raw = arith::BitcastOp::create(b, loc, integers, counters(x));
    return integers == words ? widen(raw) : raw;
  };
  auto exclusive = [&](Value x, Value y) -> Value { return arith::XOrIOp::create(b, loc, x, y); };
  auto lower = [&](Value x) -> Value { return arith::AndIOp::create(b, loc, x, constant(0xffffffff)); };
  auto product = [&](Value x, uint32_t factor) -> Value {
    return arith::MulIOp::create(b, loc, lower(x), constant(factor));
  };
  auto high = [&](Value x) -> Value { return arith::ShRUIOp::create(b, loc, x, constant(32)); };
  Value key0 = integer(seedLow), key1 = integer(seedHigh), feature = bits(features);
  Value counter[4] = {bits(elements), arith::ShRUIOp::create(b, loc, lower(feature), constant(2)),
                      constant(uint32_t(site)), integer(step)};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    Value product0 = product(counter[0], kPhiloxMultiplier0), product1 = product(counter[2], kPhiloxMultiplier1);
    counter[0] = exclusive(high(product1), exclusive(counter[1], key0));
    counter[1] = product1;
    counter[2] = exclusive(high(product0), exclusive(counter[3], key1));
    counter[3] = product0;
    key0 = arith::AddIOp::create(b, loc, key0, constant(kPhiloxWeyl0));
    key1 = arith::AddIOp::create(b, loc, key1, constant(kPhiloxWeyl1));
  }
  auto integers = VectorType::get({numbers}, b.getI32Type());
  Value result;
  if (inFours) { // Two words share a lane, two lanes are neighbours.
    auto halves = VectorType::get({2 * n}, b.getI32Type());
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < n; ++i)
      lanes.append({2 * i, 2 * n + 2 * i});
    // Not shifted together: shifts are drawn into the products, which makes them products of 64 bits.
    auto pair = [&](Value low, Value high) -> Value {
      Value words = shuffle(vector::BitCastOp::create(b, loc, halves, low),
                            vector::BitCastOp::create(b, loc, halves, high), lanes);
      return vector::BitCastOp::create(b, loc, wide, words);
    };
    Value first = pair(counter[0], counter[1]), second = pair(counter[2], counter[3]);
    lanes.clear();
    for (int64_t i = 0; i < n; ++i)
      lanes.append({i, n + i});
    result = vector::BitCastOp::create(b, loc, integers, shuffle(first, second, lanes));
  } else {
    auto has = [&](uint64_t bit) -> Value {
      Value masked = arith::AndIOp::create(b, loc, feature, constant(bit));
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked, constant(0));
    };
    auto choose = [&](Value condition, Value yes, Value no) -> Value {
      return arith::SelectOp::create(b, loc, condition, yes, no);
    };
    Value odd = has(1);
    Value word = choose(has(2), choose(odd, counter[3], counter[2]), choose(odd, counter[1], counter[0]));
    result = arith::TruncIOp::create(b, loc, integers, word);
  }
  Value eight = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(integers, APInt(32, 8)));
  Value whole = arith::SIToFPOp::create(b, loc, type(numbers), arith::ShRUIOp::create(b, loc, result, eight));
  return arith::MulFOp::create(b, loc, whole, splat(0x1p-24, numbers));
}

Value FlatOps::randomBelow(Value random, double bound) {
  auto product = random.getDefiningOp<arith::MulFOp>();
  auto whole = product ? product.getLhs().getDefiningOp<arith::SIToFPOp>() : arith::SIToFPOp();
  auto shifted = whole ? whole.getIn().getDefiningOp<arith::ShRUIOp>() : arith::ShRUIOp();
  double steps = std::ceil((element.isF32() ? double(float(bound)) : bound) * 0x1p24);
  if (!shifted || !(steps >= 0 && steps < 0x1p24))
    return binary(BinaryKind::Lt, random, splat(bound, count(random)));
  auto words = cast<VectorType>(shifted.getLhs().getType());
  Value limit = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(words, APInt(32, uint32_t(steps) << 8)));
  Value truth = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, shifted.getLhs(), limit);
  return arith::SelectOp::create(b, loc, truth, splat(1, count(random)), splat(0, count(random)));
}
