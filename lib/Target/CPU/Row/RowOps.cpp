//===- RowOps.cpp - Operations on rows in stack memory --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation is a loop over the elements of its result; each operand has a stride for each axis of it.
//
//===----------------------------------------------------------------------===//

#include "Row/RowSweep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;

namespace {

/// An element offset for each of `sets` of strides, from a linear index over `shape`.
SmallVector<Value> offsetsAt(KernelBuilder &kernel, Value linear, ArrayRef<int64_t> shape,
                             ArrayRef<SmallVector<int64_t>> sets) {
  OpBuilder &b = kernel.builder();
  SmallVector<Value> offsets(sets.size(), kernel.i64(0));
  Value left = linear;
  for (size_t axis = shape.size(); axis-- > 0;) {
    Value size = kernel.i64(shape[axis]);
    Value index = axis == 0 ? left : Value(arith::RemUIOp::create(b, kernel.loc(), left, size));
    if (axis > 0)
      left = arith::DivUIOp::create(b, kernel.loc(), left, size);
    for (auto [offset, strides] : llvm::zip(offsets, sets))
      if (strides[axis] != 0)
        offset = kernel.add(offset, kernel.mul(index, strides[axis]));
  }
  return offsets;
}

} // namespace

SmallVector<int64_t> cpu::rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Value RowSweep::memory(Value value, int64_t count) {
  Value &pointer = scratch[value];
  return pointer ? pointer : pointer = kernel.scratch(count, element);
}

scf::ForOp RowSweep::loop(Value from, Value to, int64_t step, ValueRange init) {
  return scf::ForOp::create(b, loc, from, to, kernel.i64(step), init);
}

void RowSweep::repeat(int64_t from, int64_t to, int64_t step, function_ref<void(Value)> body) {
  if (from >= to)
    return;
  auto op = loop(kernel.i64(from), kernel.i64(to), step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

void RowSweep::fill(Value pointer, int64_t count, double number) {
  apply({count}, {pointer, {1}}, {}, [&](ArrayRef<Value>) { return Value(); }, number);
}

void RowSweep::copy(int64_t count, Value to, Value from) {
  apply({count}, {to, {1}}, {{from, {1}}}, [](ArrayRef<Value> x) { return x[0]; });
}

Strided RowSweep::aligned(Value value, Rows &rows) {
  SmallVector<int64_t> strides = rowMajor(shapeOf(value));
  for (auto [stride, size] : llvm::zip(strides, shapeOf(value)))
    if (size == 1)
      stride = 0;
  return {row(value, rows), strides};
}

SmallVector<int64_t> RowSweep::stridesByClass(Value from, Value to) {
  SmallVector<int64_t> own = rowMajor(shapeOf(from)), strides(shapeOf(to).size(), 0);
  if (from == to) // Classes would not tell axes apart that are of the same one.
    return own;
  for (auto [i, cls] : llvm::enumerate(plan.axes.of(to)))
    for (auto [j, other] : llvm::enumerate(plan.axes.of(from)))
      if (cls >= 0 && cls == other)
        strides[i] = own[j];
  return strides;
}

void RowSweep::apply(ArrayRef<int64_t> shape, Strided out, ArrayRef<Strided> in,
                     function_ref<Value(ArrayRef<Value>)> compute) {
  apply(shape, out, in, compute, 0);
}

void RowSweep::apply(ArrayRef<int64_t> shape, Strided out, ArrayRef<Strided> in,
                     function_ref<Value(ArrayRef<Value>)> compute, double constant) {
  int64_t count = RefTensor::product(shape), lanes = target.registerBytes() * 8 / elementBits();
  SmallVector<int64_t> dense = rowMajor(shape);
  auto isDense = [&](const Strided &s) {
    for (auto [stride, want, size] : llvm::zip(s.strides, dense, shape))
      if (size != 1 && stride != want)
        return false;
    return true;
  };
  auto isScalar = [](const Strided &s) { return llvm::all_of(s.strides, [](int64_t x) { return x == 0; }); };
  bool linear = isDense(out) && llvm::all_of(in, [&](const Strided &s) { return isDense(s) || isScalar(s); });
  auto at = [&](int64_t width, Value index) {
    SmallVector<SmallVector<int64_t>> sets{out.strides};
    for (const Strided &s : in)
      sets.push_back(s.strides);
    SmallVector<Value> offsets;
    if (linear) {
      offsets.push_back(index);
      for (const Strided &s : in)
        offsets.push_back(isScalar(s) && !isDense(s) ? kernel.i64(0) : index);
    } else {
      offsets = offsetsAt(kernel, index, shape, sets);
    }
    SmallVector<Value> values;
    for (auto [s, offset] : llvm::zip(in, ArrayRef<Value>(offsets).drop_front())) {
      Value pointer = kernel.address(s.pointer, offset, element);
      bool one = width == 1 || (linear && isScalar(s) && !isDense(s));
      values.push_back(one && width > 1 ? flat.splatOf(kernel.load(element, pointer, element), width)
                                        : kernel.load(flat.type(width), pointer, element));
    }
    Value result = compute(values);
    if (!result)
      result = flat.splat(constant, width);
    kernel.store(result, kernel.address(out.pointer, offsets[0], element), element);
  };
  // Rows whose numbers are neighbours, or one number that is repeated.
  auto isAlongRow = [](const Strided &s) { return s.strides.back() == 0 || s.strides.back() == 1; };
  int64_t atOnce = shape.empty() ? 1 : lanesAlong(shape.back());
  if (!linear && atOnce > 1 && out.strides.back() == 1 && llvm::all_of(in, isAlongRow)) {
    SmallVector<SmallVector<int64_t>> sets{SmallVector<int64_t>(ArrayRef(out.strides).drop_back())};
    for (const Strided &s : in)
      sets.push_back(SmallVector<int64_t>(ArrayRef(s.strides).drop_back()));
    repeat(0, count / shape.back(), 1, [&](Value row) {
      SmallVector<Value> offsets = offsetsAt(kernel, row, shape.drop_back(), sets);
      auto along = [&](int64_t width, Value index) {
        SmallVector<Value> values;
        for (auto [s, offset] : llvm::zip(in, ArrayRef<Value>(offsets).drop_front())) {
          bool isOne = s.strides.back() == 0;
          Value pointer = kernel.address(s.pointer, isOne ? offset : kernel.add(offset, index), element);
          values.push_back(isOne && width > 1 ? flat.splatOf(kernel.load(element, pointer, element), width)
                                              : kernel.load(flat.type(width), pointer, element));
        }
        Value result = compute(values);
        if (!result)
          result = flat.splat(constant, width);
        kernel.store(result, kernel.address(out.pointer, kernel.add(offsets[0], index), element), element);
      };
      int64_t whole = shape.back() / atOnce * atOnce;
      repeat(0, whole, atOnce, [&](Value i) { along(atOnce, i); });
      for (int64_t at = whole, rest; at < shape.back(); at += rest)
        along(rest = llvm::bit_floor(uint64_t(shape.back() - at)), kernel.i64(at));
    });
    return;
  }
  int64_t whole = linear ? count / lanes * lanes : 0;
  repeat(0, whole, lanes, [&](Value i) { at(lanes, i); });
  repeat(whole, count, 1, [&](Value i) { at(1, i); });
}

void RowSweep::nest(ArrayRef<int64_t> sizes, ArrayRef<SmallVector<int64_t>> strides,
                    function_ref<void(ArrayRef<Value>)> body) {
  int64_t count = RefTensor::product(sizes);
  repeat(0, count, 1, [&](Value i) { body(offsetsAt(kernel, i, sizes, strides)); });
}

void RowSweep::compute(Operation *op, Rows &rows, Value owner, Value position) {
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(result);
  if (isa<ReshapeOp, DetachOp>(op)) {
    rows[result] = row(op->getOperand(0), rows);
    return;
  }
  Value pointer = memory(result);
  rows[result] = pointer;
  Strided out{pointer, rowMajor(shape)};
  auto inputs = [&] {
    SmallVector<Strided> list;
    for (Value operand : op->getOperands())
      list.push_back(aligned(operand, rows));
    return list;
  };
  TypeSwitch<Operation *>(op)
      .Case<ConstantOp>([&](ConstantOp c) { fill(pointer, RefTensor::product(shape), c.getValue().convertToDouble()); })
      .Case<ExtentOp>([&](ExtentOp e) {
        Value count = kernel.extent(spaceNumber(e.getSpaceAttr()));
        kernel.store(flat.splatOf(arith::SIToFPOp::create(b, loc, element, count), 1), pointer, element);
      })
      .Case<ElementOp>(
          [&](ElementOp e) { kernel.store(flat.elementNumber(elementAt(e, owner, position), 1), pointer, element); })
      .Case<IotaOp>([&](IotaOp) {
        repeat(0, RefTensor::product(shape), 1,
               [&](Value i) { kernel.store(flat.elementNumber(i, 1), kernel.address(pointer, i, element), element); });
      })
      .Case<IsElementOp>([&](IsElementOp) {
        apply(shape, out, inputs(), [&](ArrayRef<Value> x) { return flat.isElement(x[0], x[1]); });
      })
      .Case<RandomOp>([&](RandomOp r) {
        apply(shape, out, inputs(),
              [&](ArrayRef<Value> x) { return flat.random(x[0], x[1], x[2], x[3], x[4], r.getSite()); });
      })
      .Case<UnaryOp>([&](UnaryOp u) {
        apply(shape, out, inputs(),
              [&](ArrayRef<Value> x) { return flat.unary(u.getKind(), x[0], u.getAlpha().convertToDouble()); });
      })
      .Case<BinaryOp>([&](BinaryOp o) {
        apply(shape, out, inputs(), [&](ArrayRef<Value> x) { return flat.binary(o.getKind(), x[0], x[1]); });
      })
      .Case<SelectOp>([&](SelectOp) {
        apply(shape, out, inputs(), [&](ArrayRef<Value> x) { return flat.select(x[0], x[1], x[2]); });
      })
      .Case<ContractOp>([&](ContractOp c) { contract(c, rows); })
      .Case<FoldOp>([&](FoldOp f) { fold(f, rows); })
      .Case<TransposeOp>([&](TransposeOp t) {
        SmallVector<int64_t> from = rowMajor(shapeOf(t.getInput())), strides;
        for (int64_t axis : t.getPermutation())
          strides.push_back(from[axis]);
        apply(shape, out, {{row(t.getInput(), rows), strides}}, [](ArrayRef<Value> x) { return x[0]; });
      })
      .Case<ConcatOp>([&](ConcatOp c) {
        int64_t begin = 0, axis = c.getAxis();
        for (Value input : c.getInputs()) {
          Value to = kernel.address(pointer, kernel.i64(begin * out.strides[axis]), element);
          apply(shapeOf(input), {to, out.strides}, {{row(input, rows), rowMajor(shapeOf(input))}},
                [](ArrayRef<Value> x) { return x[0]; });
          begin += shapeOf(input)[axis];
        }
      })
      .Case<SliceOp>([&](SliceOp s) {
        SmallVector<int64_t> from = rowMajor(shapeOf(s.getInput()));
        Value start = kernel.address(row(s.getInput(), rows), kernel.i64(s.getBegin() * from[s.getAxis()]), element);
        apply(shape, out, {{start, from}}, [](ArrayRef<Value> x) { return x[0]; });
      });
}
