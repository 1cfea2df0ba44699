//===- FlatOps.cpp - Body operations on flat vectors ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using mpdfg::BinaryKind;
using mpdfg::ReduceKind;
using mpdfg::UnaryKind;

namespace {

/// Arithmetic keeps the order it is written in; a product and a sum may become one FMA, but not where rounding is
/// fixed.
arith::FastMathFlags flagsOf(bool fixed) { return fixed ? arith::FastMathFlags::none : arith::FastMathFlags::contract; }
/// A vector's numbers are added in the order that is best: without leave for that LLVM adds them one by one.
constexpr auto kReduction = arith::FastMathFlags::reassoc | arith::FastMathFlags::contract | arith::FastMathFlags::nsz;

/// Calls `visit` with each multi-index of `shape` in row-major order.
template <typename Fn> void forEachIndex(ArrayRef<int64_t> shape, Fn visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t n = RefTensor::product(shape), i = 0; i < n; ++i) {
    visit(ArrayRef<int64_t>(index));
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

/// Row-major position of an index in a shape whose axes of size 1 are repeated.
int64_t position(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t at = 0;
  for (auto [i, size] : llvm::zip(index, shape))
    at = at * size + (size == 1 ? 0 : i);
  return at;
}

bool isIota(ArrayRef<int64_t> lanes, int64_t count) {
  if (int64_t(lanes.size()) != count)
    return false;
  for (auto [i, lane] : llvm::enumerate(lanes))
    if (lane != int64_t(i))
      return false;
  return true;
}

} // namespace

Value FlatOps::splat(double number, int64_t n) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type(n), b.getFloatAttr(element, number)));
}

Value FlatOps::splatOf(Value scalar, int64_t n) { return vector::BroadcastOp::create(b, loc, type(n), scalar); }

Value FlatOps::shuffle(Value value, ArrayRef<int64_t> lanes) {
  if (isIota(lanes, count(value)))
    return value;
  if (llvm::all_of(lanes, [&](int64_t lane) { return lane == lanes.front(); })) {
    Value scalar = vector::ExtractOp::create(b, loc, value, lanes.front());
    return splatOf(scalar, lanes.size());
  }
  return vector::ShuffleOp::create(b, loc, value, value, lanes);
}

Value FlatOps::shuffle(Value a, Value c, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(b, loc, a, c, lanes);
}

Value FlatOps::repeat(Value value, Shape from, Shape to) {
  if (from == to)
    return value;
  SmallVector<int64_t> lanes;
  forEachIndex(to, [&](ArrayRef<int64_t> index) { lanes.push_back(position(index, from)); });
  return shuffle(value, lanes);
}

Value FlatOps::join(ArrayRef<Value> values) {
  SmallVector<Value> level(values);
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2) {
      SmallVector<int64_t> lanes(count(level[i]) + count(level[i + 1]));
      std::iota(lanes.begin(), lanes.end(), 0);
      next.push_back(shuffle(level[i], level[i + 1], lanes));
    }
    if (level.size() % 2)
      next.push_back(level.back());
    level = next;
  }
  return level.front();
}

Value FlatOps::add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y, flagsOf(fixed)); }
Value FlatOps::sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y, flagsOf(fixed)); }
Value FlatOps::mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y, flagsOf(fixed)); }
Value FlatOps::div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y, flagsOf(fixed)); }
Value FlatOps::greater(Value x, Value y) { return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y); }
Value FlatOps::isNaN(Value x) { return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x); }
Value FlatOps::max(Value x, Value y) {
  Value larger = arith::SelectOp::create(b, loc, greater(x, y), x, y); // y, if either is not a number
  return arith::SelectOp::create(b, loc, isNaN(x), x, larger);
}
Value FlatOps::min(Value x, Value y) {
  Value smaller = arith::SelectOp::create(b, loc, greater(y, x), x, y);
  return arith::SelectOp::create(b, loc, isNaN(x), x, smaller);
}
Value FlatOps::beats(Value x, Value best, bool most) {
  Value wins = most ? greater(x, best) : greater(best, x);
  Value isFirstNaN =
      arith::AndIOp::create(b, loc, isNaN(x), arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, best, best));
  return arith::OrIOp::create(b, loc, wins, isFirstNaN);
}
Value FlatOps::statistic(ReduceKind kind, Value shift, Value sum) {
  if (kind == ReduceKind::SoftmaxShift)
    return shift;
  if (kind == ReduceKind::LogSumExp)
    return add(shift, log(sum));
  int64_t n = count(sum);
  Value scale = select(sum, div(splat(1, n), sum), splat(0, n)); // A NaN stays one.
  return arith::SelectOp::create(b, loc, greater(sum, splat(-lowestFinite(element), n)),
                                 splat(std::numeric_limits<double>::quiet_NaN(), n), scale);
}
Value FlatOps::statisticOfEqual(ReduceKind kind, Value x, Value members) {
  Value zero = splat(0, count(x)), shift = finite(select(members, x, zero));
  return statistic(kind, shift, select(members, mul(exp(sub(x, shift)), members), zero));
}
Value FlatOps::finite(Value x) {
  Value lowest = splat(lowestFinite(element), count(x)), largest = splat(-lowestFinite(element), count(x));
  x = arith::SelectOp::create(b, loc, greater(lowest, x), lowest, x); // A NaN stays one.
  return arith::SelectOp::create(b, loc, greater(x, largest), largest, x);
}
/// To the nearest whole number, halves to even. LLVM's own operation needs a function of newer C libraries where
/// processors have no instruction for it. From 2^52 (2^23) on all numbers are whole, infinity and NaN stay.
Value FlatOps::round(Value x) {
  Value whole = splat(element.isF64() ? 0x1p52 : 0x1p23, count(x));
  Value magnitude = math::AbsFOp::create(b, loc, x);
  Value rounded = arith::SubFOp::create(b, loc, arith::AddFOp::create(b, loc, magnitude, whole), whole);
  Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, magnitude, whole);
  return arith::SelectOp::create(b, loc, isSmall, math::CopySignOp::create(b, loc, rounded, x), x);
}

Value FlatOps::log(Value x) { return math::LogOp::create(b, loc, x); }

Value FlatOps::select(Value condition, Value x, Value y) {
  Value nonzero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, condition, splat(0, count(condition)));
  return arith::SelectOp::create(b, loc, nonzero, x, y);
}

/// LLVM takes a mask for one integer of as many bits. Beyond a register's 64 it must be a power of two: for others (257
/// lanes) it may find no instructions with AVX-512 ("Cannot emit physreg copy instruction").
Value FlatOps::any(Value mask) {
  constexpr int64_t kBits = 64;
  Value found;
  for (int64_t first = 0, end = count(mask); first < end;) {
    int64_t left = end - first, lanes = left <= kBits ? left : int64_t(llvm::bit_floor(uint64_t(left)));
    auto part = llvm::to_vector(llvm::seq(first, first + lanes));
    Value holds = lanes == 1
                      ? Value(vector::ExtractOp::create(b, loc, mask, first))
                      : vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, shuffle(mask, part)).getResult();
    found = found ? Value(arith::OrIOp::create(b, loc, found, holds)) : holds;
    first += lanes;
  }
  return found;
}

Value FlatOps::unary(UnaryKind kind, Value x, double alpha) {
  int64_t n = count(x);
  auto number = [&](double value) { return splat(value, n); };
  auto choose = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  };
  auto positive = [&] { return greater(x, number(0)); };
  auto sigmoid = [&] { return div(number(1), add(number(1), exp(arith::NegFOp::create(b, loc, x)))); };
  switch (kind) {
  case UnaryKind::Neg:
    return arith::NegFOp::create(b, loc, x);
  case UnaryKind::Exp:
    return exp(x);
  case UnaryKind::Log:
    return log(x);
  case UnaryKind::Sqrt:
    return math::SqrtOp::create(b, loc, x);
  case UnaryKind::Rsqrt:
    return div(number(1), math::SqrtOp::create(b, loc, x));
  case UnaryKind::Recip:
    return div(number(1), x);
  case UnaryKind::Abs:
    return math::AbsFOp::create(b, loc, x);
  case UnaryKind::Sign:
    return choose(positive(), number(1), choose(greater(number(0), x), number(-1), x)); // or x: 0 or no number
  case UnaryKind::Square:
    return mul(x, x);
  case UnaryKind::Sin:
    return sine(x, false);
  case UnaryKind::Cos:
    return sine(x, true);
  case UnaryKind::Tanh:
    return math::TanhOp::create(b, loc, x);
  case UnaryKind::Erf:
    return erf(x);
  case UnaryKind::Relu: // what is not a number stays so
    return choose(greater(number(0), x), number(0), x);
  case UnaryKind::LeakyRelu: {
    Value scaled = mul(x, number(alpha));
    // The larger of both is the same to the bit where the slope neither grows x nor takes infinity to a NaN: one
    // instruction of a comparison and a choice.
    bool isLarger = alpha <= 1 && alpha >= std::numeric_limits<float>::min();
    return choose(isLarger ? greater(x, scaled) : positive(), x, scaled);
  }
  case UnaryKind::Elu:
    return choose(positive(), x, mul(number(alpha), expm1(x)));
  case UnaryKind::Gelu:
    return mul(mul(number(0.5), x), add(number(1), erf(mul(x, number(std::sqrt(0.5))))));
  case UnaryKind::Silu:
    return mul(x, sigmoid());
  case UnaryKind::Sigmoid:
    return sigmoid();
  case UnaryKind::Softplus:
    return softplus(x);
  case UnaryKind::Finite:
    return finite(x);
  case UnaryKind::Floor:
    return math::FloorOp::create(b, loc, x);
  case UnaryKind::Ceil:
    return math::CeilOp::create(b, loc, x);
  case UnaryKind::Round:
    return round(x);
  }
  llvm_unreachable("unknown unary kind");
}

Value FlatOps::binary(BinaryKind kind, Value x, Value y) {
  auto compare = [&](arith::CmpFPredicate predicate) -> Value {
    Value truth = arith::CmpFOp::create(b, loc, predicate, x, y);
    return arith::SelectOp::create(b, loc, truth, splat(1, count(x)), splat(0, count(x)));
  };
  switch (kind) {
  case BinaryKind::Add:
    return add(x, y);
  case BinaryKind::Sub:
    return sub(x, y);
  case BinaryKind::Mul:
    return mul(x, y);
  case BinaryKind::Div:
    return div(x, y);
  case BinaryKind::Pow:
    return math::PowFOp::create(b, loc, x, y);
  case BinaryKind::Maximum:
    return max(x, y);
  case BinaryKind::Minimum:
    return min(x, y);
  case BinaryKind::Lt:
    return compare(arith::CmpFPredicate::OLT);
  case BinaryKind::Le:
    return compare(arith::CmpFPredicate::OLE);
  case BinaryKind::Gt:
    return compare(arith::CmpFPredicate::OGT);
  case BinaryKind::Ge:
    return compare(arith::CmpFPredicate::OGE);
  case BinaryKind::Eq:
    return compare(arith::CmpFPredicate::OEQ);
  case BinaryKind::Ne:
    return compare(arith::CmpFPredicate::UNE);
  }
  llvm_unreachable("unknown binary kind");
}

/// Folds one axis after another, innermost first, by halves: [a, n, c] -> [a, n/2, c] -> ...
Value FlatOps::fold(ReduceKind kind, Value value, Shape shape, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> current(shape);
  auto combine = [&](Value x, Value y) {
    switch (kind) {
    case ReduceKind::Max:
      return max(x, y);
    case ReduceKind::Min:
      return min(x, y);
    default:
      return add(x, y);
    }
  };
  auto part = [&](Value from, int64_t axis, int64_t begin, int64_t count) {
    return slice(from, current, axis, begin, count);
  };
  if (RefTensor::product(shape) == 0) {
    for (int64_t axis : axes)
      current[axis] = 1;
    return splat(kind == ReduceKind::LogSumExp ? -std::numeric_limits<double>::infinity() : 0,
                 RefTensor::product(current));
  }
  Value maximum;
  if (kind == ReduceKind::LogSumExp) {
    SmallVector<int64_t> folded(shape);
    for (int64_t axis : axes)
      folded[axis] = 1;
    maximum = finite(fold(ReduceKind::Max, value, shape, axes));
    value = exp(sub(value, repeat(maximum, folded, shape)));
  }
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted, std::greater<int64_t>());
  int64_t members = 1;
  for (int64_t axis : sorted) {
    members *= current[axis];
    // One row out of many is a plain reduction, which LLVM knows how to do best, though not in the order of several.
    bool rest = !fixed && RefTensor::product(current) == current[axis];
    if (rest && current[axis] > 1 &&
        (kind == ReduceKind::Sum || kind == ReduceKind::Mean || kind == ReduceKind::LogSumExp)) {
      Value scalar = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, value, kReduction);
      value = splatOf(scalar, 1);
      current[axis] = 1;
      continue;
    }
    while (current[axis] > 1) {
      int64_t n = current[axis], half = n / 2;
      Value low = part(value, axis, 0, half), high = part(value, axis, half, half);
      Value odd = n % 2 ? part(value, axis, n - 1, 1) : Value();
      value = combine(low, high);
      current[axis] = half;
      if (odd) {
        // The odd one out joins the first of the remaining.
        Value first = combine(part(value, axis, 0, 1), odd);
        if (half == 1) {
          value = first;
        } else {
          Value others = part(value, axis, 1, half - 1);
          SmallVector<int64_t> one(current), more(current);
          one[axis] = 1;
          more[axis] = half - 1;
          value = concat({first, others}, {one, more}, axis);
        }
      }
    }
  }
  if (kind == ReduceKind::Mean && members > 0)
    value = mul(value, splat(1.0 / double(members), count(value)));
  if (kind == ReduceKind::LogSumExp)
    value = add(maximum, log(value));
  return value;
}

Value FlatOps::halve(Value value, SmallVectorImpl<int64_t> &shape, int64_t size) {
  int64_t last = shape.size() - 1;
  while (last >= 0 && shape[last] % 2 == 0 && shape[last] / 2 >= size) {
    int64_t half = shape[last] / 2;
    value = add(slice(value, shape, last, 0, half), slice(value, shape, last, half, half));
    shape[last] = half;
  }
  return value;
}

Value FlatOps::transpose(Value value, Shape shape, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> to, lanes;
  for (int64_t axis : permutation)
    to.push_back(shape[axis]);
  forEachIndex(to, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index.size());
    for (auto [i, axis] : llvm::enumerate(permutation))
      from[axis] = index[i];
    lanes.push_back(position(from, shape));
  });
  return shuffle(value, lanes);
}

Value FlatOps::concat(ArrayRef<Value> values, ArrayRef<SmallVector<int64_t>> shapes, int64_t axis) {
  Value joined = join(values);
  SmallVector<int64_t> to(shapes.front()), lanes;
  to[axis] = 0;
  for (const SmallVector<int64_t> &shape : shapes)
    to[axis] += shape[axis];
  forEachIndex(to, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    int64_t base = 0;
    for (const SmallVector<int64_t> &shape : shapes) {
      if (from[axis] < shape[axis]) {
        lanes.push_back(base + position(from, shape));
        return;
      }
      from[axis] -= shape[axis];
      base += RefTensor::product(shape);
    }
  });
  return shuffle(joined, lanes);
}

Value FlatOps::slice(Value value, Shape shape, int64_t axis, int64_t begin, int64_t n) {
  if (begin == 0 && n == shape[axis])
    return value;
  SmallVector<int64_t> to(shape), lanes;
  to[axis] = n;
  forEachIndex(to, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    from[axis] += begin;
    lanes.push_back(position(from, shape));
  });
  return shuffle(value, lanes);
}

ContractionOrder::ContractionOrder(ArrayRef<int64_t> lhsShape, ArrayRef<int64_t> lhsLabels, ArrayRef<int64_t> rhsShape,
                                   ArrayRef<int64_t> rhsLabels, ArrayRef<int64_t> outLabels) {
  auto sizeOf = [&](int64_t label) {
    auto it = llvm::find(lhsLabels, label);
    return it != lhsLabels.end() ? lhsShape[it - lhsLabels.begin()]
                                 : rhsShape[llvm::find(rhsLabels, label) - rhsLabels.begin()];
  };
  auto addMissing = [&](ArrayRef<int64_t> more) {
    for (int64_t label : more)
      if (!llvm::is_contained(labels, label))
        labels.push_back(label);
  };
  auto hasAll = [&](ArrayRef<int64_t> own, ArrayRef<int64_t> other) {
    return llvm::all_of(other, [&](int64_t label) { return llvm::is_contained(own, label); });
  };
  // An operand that has them all stays as it lies: then only the other one, and the result if its axes are in another
  // order, are moved.
  addMissing(hasAll(lhsLabels, rhsLabels) ? lhsLabels : hasAll(rhsLabels, lhsLabels) ? rhsLabels : outLabels);
  addMissing(outLabels);
  addMissing(lhsLabels);
  addMissing(rhsLabels);
  for (auto [i, label] : llvm::enumerate(labels)) {
    sizes.push_back(sizeOf(label));
    if (!llvm::is_contained(outLabels, label))
      summed.push_back(i);
  }
}

/// Terms of a contraction that are written out one after the other.
static constexpr int64_t kMostTerms = 64;

Value FlatOps::contract(Value lhs, Shape lhsShape, ArrayRef<int64_t> lhsLabels, Value rhs, Shape rhsShape,
                        ArrayRef<int64_t> rhsLabels, ArrayRef<int64_t> outLabels) {
  auto [labels, sizes, summed] = ContractionOrder(lhsShape, lhsLabels, rhsShape, rhsLabels, outLabels);
  auto spread = [&](Value value, Shape shape, ArrayRef<int64_t> own) {
    SmallVector<int64_t> lanes;
    forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> at;
      for (int64_t label : own)
        at.push_back(index[llvm::find(labels, label) - labels.begin()]);
      lanes.push_back(position(at, shape));
    });
    return shuffle(value, lanes);
  };
  // Where a row of the result is multiples of rows of an operand, they are added up as they are.
  auto endsAs = [&](ArrayRef<int64_t> own) {
    return !own.empty() && !outLabels.empty() && own.back() == outLabels.back();
  };
  int64_t terms = 1;
  for (int64_t position : summed)
    terms *= sizes[position];
  if (!fixed && terms > 1 && terms <= kMostTerms && (endsAs(lhsLabels) || endsAs(rhsLabels))) {
    SmallVector<int64_t> outSizes, termSizes;
    for (int64_t label : outLabels)
      outSizes.push_back(sizes[llvm::find(labels, label) - labels.begin()]);
    for (int64_t position : summed)
      termSizes.push_back(sizes[position]);
    auto partOf = [&](Value value, Shape shape, ArrayRef<int64_t> own, ArrayRef<int64_t> term) {
      SmallVector<int64_t> lanes;
      forEachIndex(outSizes, [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> at;
        for (int64_t label : own)
          if (auto out = llvm::find(outLabels, label); out != outLabels.end())
            at.push_back(index[out - outLabels.begin()]);
          else
            at.push_back(term[llvm::find(summed, llvm::find(labels, label) - labels.begin()) - summed.begin()]);
        lanes.push_back(position(at, shape));
      });
      return shuffle(value, lanes);
    };
    Value sum;
    forEachIndex(termSizes, [&](ArrayRef<int64_t> term) {
      Value product = mul(partOf(lhs, lhsShape, lhsLabels, term), partOf(rhs, rhsShape, rhsLabels, term));
      sum = sum ? add(sum, product) : product;
    });
    return sum;
  }
  // All labels at once; multiply, fold what is summed.
  Value product = mul(spread(lhs, lhsShape, lhsLabels), spread(rhs, rhsShape, rhsLabels));
  Value result = summed.empty() ? product : fold(ReduceKind::Sum, product, sizes, summed);
  SmallVector<int64_t> left, kept, permutation;
  for (auto [label, size] : llvm::zip(labels, sizes))
    if (llvm::is_contained(outLabels, label)) {
      left.push_back(label);
      kept.push_back(size);
    }
  for (int64_t label : outLabels)
    permutation.push_back(llvm::find(left, label) - left.begin());
  return transpose(result, kept, permutation);
}

int64_t cpu::flatWidth(Operation *op, function_ref<SmallVector<int64_t>(Value)> shapeOf) {
  int64_t width = 1;
  for (Value operand : op->getOperands())
    width = std::max(width, RefTensor::product(shapeOf(operand)));
  for (Value result : op->getResults())
    width = std::max(width, RefTensor::product(shapeOf(result)));
  if (auto contract = dyn_cast<mpdfg::ContractOp>(op)) {
    llvm::SmallDenseMap<int64_t, int64_t> sizes;
    for (auto [label, size] : llvm::zip(contract.getLhsLabels(), shapeOf(contract.getLhs())))
      sizes[label] = size;
    for (auto [label, size] : llvm::zip(contract.getRhsLabels(), shapeOf(contract.getRhs())))
      sizes[label] = size;
    int64_t all = 1;
    for (auto [label, size] : sizes)
      all *= size;
    width = std::max(width, all);
  }
  return width;
}
