//===- RowFolds.cpp - Sums and folds of rows in stack memory --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are added one after the other, and the numbers of one row by registers. Where rounding is fixed, sums that
// another kernel may hold in registers are added as it does: by halves.
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatTiles.h"
#include "Row/RowSweep.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;

bool RowSweep::addsByHalves(ArrayRef<int64_t> sizes) const {
  int64_t count = RefTensor::product(sizes);
  return kernel.hasFixedRounding() && count > 1 && count <= kWidestVector;
}

/// As FlatOps::fold adds, but for what a mean or a log-sum-exp does before and after it.
void RowSweep::addHalves(Value pointer, ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> strides = rowMajor(shape), current(shape), sorted(axes);
  llvm::sort(sorted, std::greater<int64_t>());
  for (int64_t axis : sorted) {
    auto add = [&](int64_t count, int64_t from) {
      current[axis] = count;
      Strided to{pointer, strides};
      Strided other{kernel.address(pointer, kernel.i64(from * strides[axis]), element), strides};
      apply(current, to, {to, other}, [&](ArrayRef<Value> x) { return flat.add(x[0], x[1]); });
    };
    for (int64_t n = shape[axis]; n > 1; n /= 2) {
      add(n / 2, n / 2);
      if (n % 2)
        add(1, n - 1);
    }
    current[axis] = 1;
  }
}

int64_t RowSweep::lanesAlong(int64_t count) {
  constexpr int64_t kShortestRow = 4;
  int64_t lanes = target.registerBytes() * 8 / elementBits();
  return count < kShortestRow ? 1 : std::min<int64_t>(lanes, llvm::bit_floor(uint64_t(count)));
}

/// The sum of the products of `count` neighbours: a vector of one number.
Value RowSweep::dot(Value left, Value right, int64_t count) {
  int64_t lanes = lanesAlong(count), whole = count / lanes * lanes;
  auto productAt = [&](Value index, int64_t width) {
    auto at = [&](Value pointer) {
      return kernel.load(flat.type(width), kernel.address(pointer, index, element), element);
    };
    return flat.mul(at(left), at(right));
  };
  auto sum = loop(kernel.i64(0), kernel.i64(whole), lanes, flat.splat(0, lanes));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(sum.getBody());
    Value next = flat.add(sum.getRegionIterArg(0), productAt(sum.getInductionVar(), lanes));
    scf::YieldOp::create(b, loc, ValueRange{next});
  }
  Value total = flat.fold(ReduceKind::Sum, sum.getResult(0), {lanes}, {0});
  for (int64_t at = whole, rest; at < count; at += rest) {
    rest = llvm::bit_floor(uint64_t(count - at));
    total = flat.add(total, flat.fold(ReduceKind::Sum, productAt(kernel.i64(at), rest), {rest}, {0}));
  }
  return total;
}

void RowSweep::contract(ContractOp op, Rows &rows) {
  ArrayRef<int64_t> lhsShape = shapeOf(op.getLhs()), rhsShape = shapeOf(op.getRhs()), shape = shapeOf(op.getResult());
  ArrayRef<int64_t> out = op.getOutLabels();
  ContractionOrder order(lhsShape, op.getLhsLabels(), rhsShape, op.getRhsLabels(), out);
  SmallVector<int64_t> summed, sizes;
  for (int64_t position : order.summed) {
    summed.push_back(order.labels[position]);
    sizes.push_back(order.sizes[position]);
  }
  auto stridesFor = [&](ArrayRef<int64_t> labels, ArrayRef<int64_t> own, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> dense = rowMajor(shape), strides;
    for (int64_t label : labels) {
      auto it = llvm::find(own, label);
      strides.push_back(it == own.end() ? 0 : dense[it - own.begin()]);
    }
    return strides;
  };
  SmallVector<int64_t> lhsSummed = stridesFor(summed, op.getLhsLabels(), lhsShape),
                       rhsSummed = stridesFor(summed, op.getRhsLabels(), rhsShape),
                       lhsOut = stridesFor(out, op.getLhsLabels(), lhsShape),
                       rhsOut = stridesFor(out, op.getRhsLabels(), rhsShape);
  Value lhs = row(op.getLhs(), rows), rhs = row(op.getRhs(), rows), result = memory(op.getResult());
  // A tile of an axis that lies innermost is at least a register wide, which such sums must fit then.
  int64_t lanes = target.registerBytes() * 8 / elementBits(), least = 1;
  for (auto [label, size] : llvm::zip(out, shape))
    for (ArrayRef<int64_t> own : {op.getLhsLabels(), op.getRhsLabels()})
      if (!own.empty() && own.back() == label)
        least = std::max(least, std::min(size, lanes));
  if (addsByHalves(sizes) && RefTensor::product(sizes) * least <= kWidestVector) {
    Value products = kernel.scratch(RefTensor::product(sizes), element);
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
    nest(shape, {lhsOut, rhsOut, rowMajor(shape)}, [&](ArrayRef<Value> offsets) {
      apply(sizes, {products, rowMajor(sizes)},
            {{kernel.address(lhs, offsets[0], element), lhsSummed},
             {kernel.address(rhs, offsets[1], element), rhsSummed}},
            [&](ArrayRef<Value> x) { return flat.mul(x[0], x[1]); });
      addHalves(products, sizes, axes);
      kernel.store(kernel.load(flat.type(1), products, element), kernel.address(result, offsets[2], element), element);
    });
    return;
  }
  fill(result, RefTensor::product(shape), 0);
  // Rows of both that are summed over are multiplied as they are: a sum of registers for each number of the result.
  if (!sizes.empty() && !kernel.hasFixedRounding() && lhsSummed.back() == 1 && rhsSummed.back() == 1 &&
      lanesAlong(sizes.back()) > 1 && (shape.empty() || lhsOut.back() != 1) && (shape.empty() || rhsOut.back() != 1)) {
    auto withoutLast = [](ArrayRef<int64_t> strides) { return SmallVector<int64_t>(strides.drop_back()); };
    nest(ArrayRef(sizes).drop_back(), {withoutLast(lhsSummed), withoutLast(rhsSummed)}, [&](ArrayRef<Value> term) {
      nest(shape, {lhsOut, rhsOut, rowMajor(shape)}, [&](ArrayRef<Value> offsets) {
        Value left = kernel.address(lhs, kernel.add(term[0], offsets[0]), element);
        Value right = kernel.address(rhs, kernel.add(term[1], offsets[1]), element);
        Value to = kernel.address(result, offsets[2], element);
        kernel.store(flat.add(kernel.load(flat.type(1), to, element), dot(left, right, sizes.back())), to, element);
      });
    });
    return;
  }
  nest(sizes, {lhsSummed, rhsSummed}, [&](ArrayRef<Value> offsets) {
    Strided sum{result, rowMajor(shape)};
    apply(shape, sum,
          {sum, {kernel.address(lhs, offsets[0], element), lhsOut}, {kernel.address(rhs, offsets[1], element), rhsOut}},
          [&](ArrayRef<Value> x) { return flat.add(x[0], flat.mul(x[1], x[2])); });
  });
}

void RowSweep::fold(FoldOp op, Rows &rows) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput()), outShape = shapeOf(op.getResult());
  SmallVector<int64_t> dense = rowMajor(shape), sizes, strides, kept(dense);
  for (int64_t axis : op.getAxes()) {
    sizes.push_back(shape[axis]);
    strides.push_back(dense[axis]);
    kept[axis] = 0;
  }
  Value input = row(op.getInput(), rows), result = memory(op.getResult());
  Strided out{result, rowMajor(outShape)};
  int64_t count = RefTensor::product(outShape);
  bool byHalves = addsByHalves(sizes);
  // Puts the sums of `summand` of each number of the input where the result is.
  auto sumByHalves = [&](ArrayRef<Strided> in, function_ref<Value(ArrayRef<Value>)> summand) {
    Value numbers = kernel.scratch(RefTensor::product(shape), element);
    apply(shape, {numbers, dense}, in, summand);
    addHalves(numbers, shape, op.getAxes());
    apply(outShape, out, {{numbers, dense}}, [](ArrayRef<Value> x) { return x[0]; });
  };
  auto over = [&](ReduceKind kind, Value into, function_ref<Value(ArrayRef<Value>)> map) {
    if (kind == ReduceKind::Sum && byHalves)
      return sumByHalves({{input, dense}}, [](ArrayRef<Value> x) { return x[0]; });
    fill(into, count, kind == ReduceKind::Max ? -kInfinity : kind == ReduceKind::Min ? kInfinity : 0);
    // A whole row is folded in registers; otherwise row by row in memory.
    int64_t lanes = target.registerBytes() * 8 / elementBits(), n = RefTensor::product(shape);
    if (count == 1 && kind == ReduceKind::Sum && n >= lanes) {
      auto sum = loop(kernel.i64(0), kernel.i64(n / lanes * lanes), lanes, flat.splat(0, lanes));
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(sum.getBody());
        Value x = kernel.load(flat.type(lanes), kernel.address(input, sum.getInductionVar(), element), element);
        Value m = map({flat.splat(0, lanes), x});
        scf::YieldOp::create(b, loc, ValueRange{m ? flat.add(sum.getRegionIterArg(0), m) : Value()});
      }
      kernel.store(flat.fold(ReduceKind::Sum, sum.getResult(0), {lanes}, {0}), into, element);
      repeat(n / lanes * lanes, n, 1, [&](Value i) {
        Value x = kernel.load(flat.type(1), kernel.address(input, i, element), element);
        Value old = kernel.load(flat.type(1), into, element);
        kernel.store(flat.add(old, map({flat.splat(0, 1), x})), into, element);
      });
      return;
    }
    nest(sizes, {strides}, [&](ArrayRef<Value> offset) {
      Strided in{kernel.address(input, offset[0], element), kept};
      Strided target{into, out.strides};
      apply(outShape, target, {target, in}, [&](ArrayRef<Value> x) {
        Value m = map(x);
        return kind == ReduceKind::Max   ? flat.max(x[0], m)
               : kind == ReduceKind::Min ? flat.min(x[0], m)
                                         : flat.add(x[0], m);
      });
    });
  };
  auto identity = [](ArrayRef<Value> x) { return x[1]; };
  ReduceKind kind = op.getKind();
  if (kind != ReduceKind::LogSumExp) {
    over(kind == ReduceKind::Mean ? ReduceKind::Sum : kind, result, identity);
    if (kind == ReduceKind::Mean)
      apply(outShape, out, {out}, [&](ArrayRef<Value> x) {
        return flat.mul(x[0], flat.splat(1.0 / double(RefTensor::product(sizes)), FlatOps::count(x[0])));
      });
    return;
  }
  // log-sum-exp: maximum, then the sum of exp(x - maximum), in memory of their own.
  Value maximum = kernel.scratch(count, element);
  over(ReduceKind::Max, maximum, identity);
  apply({count}, {maximum, {1}}, {{maximum, {1}}}, [&](ArrayRef<Value> x) { return flat.finite(x[0]); });
  if (byHalves) {
    SmallVector<int64_t> repeated = out.strides;
    for (int64_t axis : op.getAxes())
      repeated[axis] = 0;
    sumByHalves({{input, dense}, {maximum, repeated}},
                [&](ArrayRef<Value> x) { return flat.exp(flat.sub(x[0], x[1])); });
  } else {
    fill(result, count, 0);
    nest(sizes, {strides}, [&](ArrayRef<Value> offset) {
      Strided in{kernel.address(input, offset[0], element), kept};
      apply(outShape, out, {out, in, {maximum, out.strides}},
            [&](ArrayRef<Value> x) { return flat.add(x[0], flat.exp(flat.sub(x[1], x[2]))); });
    });
  }
  apply(outShape, out, {out, {maximum, out.strides}},
        [&](ArrayRef<Value> x) { return flat.add(x[1], flat.log(x[0])); });
}
