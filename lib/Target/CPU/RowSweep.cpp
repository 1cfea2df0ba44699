//===- RowSweep.cpp - A sweep on rows in stack memory ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For rows that are too wide to be vectors and whose axes are mixed, so that they cannot be cut (a norm over 1433
// features, a product with a weight for each edge). Every body value is a row in stack memory; an operation is a loop
// over the result's elements that reads its operands with a stride for each axis: 0 repeats, a permutation transposes.
// Operands in memory are read where they are.
//
//===----------------------------------------------------------------------===//

#include "SweepBase.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SmallVector<int64_t> rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// A row, and how far apart its elements are along each axis of whoever reads it.
struct Strided {
  Value pointer;
  SmallVector<int64_t> strides;
};

class RowSweep : public SweepBase {
public:
  using SweepBase::SweepBase;
  void run();

private:
  using Rows = DenseMap<Value, Value>; ///< body value -> pointer to its row

  scf::ForOp loop(Value from, Value to, int64_t step = 1, ValueRange init = {}) {
    return scf::ForOp::create(b, loc, from, to, kernel.i64(step), init);
  }
  /// Runs `body(i)` for i in [0, count) in steps.
  void repeat(int64_t from, int64_t to, int64_t step, function_ref<void(Value)> body) {
    if (from >= to)
      return;
    auto op = loop(kernel.i64(from), kernel.i64(to), step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  Value memory(Value value) { return memory(value, getFeatureElements(value.getType())); }
  Value memory(Value value, int64_t count) {
    Value &pointer = scratch[value];
    return pointer ? pointer : pointer = kernel.scratch(count, element);
  }
  Value row(Value value, Rows &rows) { return rows.lookup(value); }

  /// out[index] = compute(in0[index], ...) for each index of `shape`.
  void apply(ArrayRef<int64_t> shape, Strided out, ArrayRef<Strided> in, function_ref<Value(ArrayRef<Value>)> compute);
  void fill(Value pointer, int64_t count, double number) {
    apply({count}, {pointer, {1}}, {}, [&](ArrayRef<Value>) { return Value(); }, number);
  }
  void apply(ArrayRef<int64_t> shape, Strided out, ArrayRef<Strided> in, function_ref<Value(ArrayRef<Value>)> compute,
             double constant);
  void copy(int64_t count, Value to, Value from) {
    apply({count}, {to, {1}}, {{from, {1}}}, [](ArrayRef<Value> x) { return x[0]; });
  }
  /// Strides of an operand that is aligned with a result of the same rank: axes of size 1 repeat.
  Strided aligned(Value value, Rows &rows) {
    SmallVector<int64_t> strides = rowMajor(shapeOf(value));
    for (auto [stride, size] : llvm::zip(strides, shapeOf(value)))
      if (size == 1)
        stride = 0;
    return {row(value, rows), strides};
  }
  /// Strides of `from` as seen by a reader with the axes of `to`, matched by class.
  SmallVector<int64_t> stridesByClass(Value from, Value to) {
    SmallVector<int64_t> own = rowMajor(shapeOf(from)), strides(shapeOf(to).size(), 0);
    if (from == to) // Classes would not tell axes apart that are of the same one.
      return own;
    for (auto [i, cls] : llvm::enumerate(plan.axes.of(to)))
      for (auto [j, other] : llvm::enumerate(plan.axes.of(from)))
        if (cls >= 0 && cls == other)
          strides[i] = own[j];
    return strides;
  }

  void compute(Operation *op, Rows &rows, Value owner, Value position);
  void contract(ContractOp op, Rows &rows);
  void fold(FoldOp op, Rows &rows);
  /// Calls `body(offset)` for each index over `sizes`, where offset is the sum of index * stride.
  void nest(ArrayRef<int64_t> sizes, ArrayRef<SmallVector<int64_t>> strides, function_ref<void(ArrayRef<Value>)> body);
  Value operandPointer(unsigned operand, Value owner, Value position);
  void levelOperations(Level level, unsigned phase, Rows &rows, Value owner, std::pair<Value, Value> range);
  void emitWalk(unsigned walk, Value owner, std::pair<Value, Value> range, Rows &rows);
  void raise(Value score, Rows &rows, Value maximum, ArrayRef<std::pair<Value, Value>> scaled, Value like);
  void beginWinner(mpk::AccumulateOp op);
  void raiseWinner(mpk::AccumulateOp op, Value input, Value candidate);
  Value countOf(std::pair<Value, Value> range) {
    return arith::SIToFPOp::create(b, loc, element, arith::SubIOp::create(b, loc, range.second, range.first));
  }

  DenseMap<Value, Value> scratch;                            ///< body value -> its row in stack memory
  DenseMap<Operation *, std::pair<Value, Value>> statistics; ///< softmax or logsumexp -> running maximum and sum
};

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
  int64_t whole = linear ? count / lanes * lanes : 0;
  repeat(0, whole, lanes, [&](Value i) { at(lanes, i); });
  repeat(whole, count, 1, [&](Value i) { at(1, i); });
}

void RowSweep::nest(ArrayRef<int64_t> sizes, ArrayRef<SmallVector<int64_t>> strides,
                    function_ref<void(ArrayRef<Value>)> body) {
  int64_t count = RefTensor::product(sizes);
  repeat(0, count, 1, [&](Value i) { body(offsetsAt(kernel, i, sizes, strides)); });
}

void RowSweep::contract(ContractOp op, Rows &rows) {
  ArrayRef<int64_t> out = op.getOutLabels();
  SmallVector<int64_t> summed, sizes;
  auto stridesFor = [&](ArrayRef<int64_t> labels, ArrayRef<int64_t> own, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> dense = rowMajor(shape), strides;
    for (int64_t label : labels) {
      auto it = llvm::find(own, label);
      strides.push_back(it == own.end() ? 0 : dense[it - own.begin()]);
    }
    return strides;
  };
  auto collect = [&](ArrayRef<int64_t> own, ArrayRef<int64_t> shape) {
    for (auto [label, size] : llvm::zip(own, shape))
      if (!llvm::is_contained(out, label) && !llvm::is_contained(summed, label)) {
        summed.push_back(label);
        sizes.push_back(size);
      }
  };
  ArrayRef<int64_t> lhsShape = shapeOf(op.getLhs()), rhsShape = shapeOf(op.getRhs()), shape = shapeOf(op.getResult());
  collect(op.getLhsLabels(), lhsShape);
  collect(op.getRhsLabels(), rhsShape);
  Value result = memory(op.getResult());
  fill(result, RefTensor::product(shape), 0);
  nest(sizes, {stridesFor(summed, op.getLhsLabels(), lhsShape), stridesFor(summed, op.getRhsLabels(), rhsShape)},
       [&](ArrayRef<Value> offsets) {
         Strided lhs{kernel.address(row(op.getLhs(), rows), offsets[0], element),
                     stridesFor(out, op.getLhsLabels(), lhsShape)};
         Strided rhs{kernel.address(row(op.getRhs(), rows), offsets[1], element),
                     stridesFor(out, op.getRhsLabels(), rhsShape)};
         Strided sum{result, rowMajor(shape)};
         apply(shape, sum, {sum, lhs, rhs}, [&](ArrayRef<Value> x) { return flat.add(x[0], flat.mul(x[1], x[2])); });
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
  auto over = [&](ReduceKind kind, Value into, function_ref<Value(ArrayRef<Value>)> map) {
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
  fill(result, count, 0);
  nest(sizes, {strides}, [&](ArrayRef<Value> offset) {
    Strided in{kernel.address(input, offset[0], element), kept};
    apply(outShape, out, {out, in, {maximum, out.strides}},
          [&](ArrayRef<Value> x) { return flat.add(x[0], flat.exp(flat.sub(x[1], x[2]))); });
  });
  apply(outShape, out, {out, {maximum, out.strides}},
        [&](ArrayRef<Value> x) { return flat.add(x[1], flat.log(x[0])); });
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

Value RowSweep::operandPointer(unsigned operand, Value owner, Value position) {
  Value input = sweep.getInputs()[operand], argument = sweep.getBody().getArgument(operand);
  bool partial;
  Value at = operandRow(operand, owner, position, partial);
  auto read = [&](Value row) {
    mpdfg::DegreeOp degree = degreeOf(operand);
    if (!degree)
      return kernel.address(kernel.buffer(input), rowStart(input, row), element);
    Value there = kernel.scratch(1, element);
    kernel.store(loadDegree(degree, row), there, element);
    return there;
  };
  if (!partial)
    return read(at);
  // Undefined: a row that holds the fill.
  FloatAttr number = sweep.getAccessOf(operand).getFill();
  Type held = cast<RankedTensorType>(input.getType()).getElementType();
  Value &missing = scratch[argument];
  if (!missing) // As the rows it stands for.
    missing = kernel.scratch(getFeatureElements(argument.getType()), held);
  fill(missing, getFeatureElements(argument.getType()), number ? number.getValueAsDouble() : 0);
  Value zero = kernel.i64(0);
  Value defined = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, at, zero);
  Value safe = arith::SelectOp::create(b, loc, defined, at, zero);
  Value there = read(safe);
  Value chosen = LLVM::SelectOp::create(b, loc, defined, there, missing);
  kernel.setHeld(chosen, held);
  return chosen;
}

void RowSweep::levelOperations(Level level, unsigned phase, Rows &rows, Value owner, std::pair<Value, Value> range) {
  for (Operation &op : sweep.getBody().front()) {
    if (op.getNumResults() == 0 || plan.levels.lookup(op.getResult(0)) != level ||
        plan.phases.lookup(op.getResult(0)) != phase || rows.count(op.getResult(0)))
      continue;
    auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
    if (!accumulate) {
      compute(&op, rows, owner, {});
      continue;
    }
    const AccumulatePlan *found = llvm::find_if(plan.accumulates, [&](auto &p) { return p.op == accumulate; });
    if (accumulate.getShared() || found->perMember)
      continue;
    // The same for every member: by their number.
    ReduceKind kind = accumulate.getKind();
    Value pointer = memory(accumulate.getResult());
    rows[accumulate.getResult()] = pointer;
    int64_t n = getFeatureElements(accumulate.getType());
    if (namesWinner(kind)) {
      Value first = firstMember(range);
      apply({n}, {pointer, {1}}, {{pointer, {1}}},
            [&](ArrayRef<Value> x) { return flat.elementNumber(first, FlatOps::count(x[0])); });
      continue;
    }
    Value count = countOf(range);
    apply({n}, {pointer, {1}}, {{row(accumulate.getInput(), rows), {1}}}, [&](ArrayRef<Value> x) -> Value {
      Value many = flat.splatOf(count, FlatOps::count(x[0]));
      if (kind == ReduceKind::Sum) // No members: 0, even where one would be infinite.
        return flat.select(many, flat.mul(x[0], many), flat.splat(0, FlatOps::count(x[0])));
      if (kind == ReduceKind::LogSumExp)
        return flat.add(x[0], flat.log(many));
      return flat.select(many, x[0], flat.splat(0, FlatOps::count(x[0])));
    });
  }
}

/// Raises a running maximum to `score` where that is larger, and scales what was summed under the old one.
void RowSweep::raise(Value score, Rows &rows, Value maximum, ArrayRef<std::pair<Value, Value>> scaled, Value like) {
  ArrayRef<int64_t> shape = shapeOf(like);
  int64_t n = RefTensor::product(shape);
  Value factor = kernel.scratch(n, element);
  apply({n}, {factor, {1}}, {{maximum, {1}}, {score, {1}}},
        [&](ArrayRef<Value> x) { return flat.exp(flat.sub(x[0], flat.max(x[1], x[0]))); });
  apply({n}, {maximum, {1}}, {{maximum, {1}}, {score, {1}}}, [&](ArrayRef<Value> x) { return flat.max(x[1], x[0]); });
  for (auto [pointer, value] : scaled) {
    Strided target{pointer, rowMajor(shapeOf(value))};
    apply(shapeOf(value), target, {target, {factor, stridesByClass(like, value)}},
          [&](ArrayRef<Value> x) { return flat.mul(x[0], x[1]); });
  }
}

/// Nobody yet, with the worst number there is.
void RowSweep::beginWinner(mpk::AccumulateOp op) {
  int64_t n = getFeatureElements(op.getType());
  auto &[best, number] = statistics[op];
  if (!best) {
    best = kernel.scratch(n, element);
    number = kernel.scratch(n, element);
  }
  fill(best, n, op.getKind() == ReduceKind::ArgMax ? -kInfinity : kInfinity);
  apply({n}, {number, {1}}, {{number, {1}}},
        [&](ArrayRef<Value> x) { return flat.elementNumber(kernel.i64(-1), FlatOps::count(x[0])); });
}

/// The first of equals wins: the number is replaced before the best is.
void RowSweep::raiseWinner(mpk::AccumulateOp op, Value input, Value candidate) {
  int64_t n = getFeatureElements(op.getType());
  auto [best, number] = statistics[op];
  bool most = op.getKind() == ReduceKind::ArgMax;
  auto better = [&](Value x, Value old) { return flat.beats(x, old, most); };
  Strided from{input, {1}}, old{best, {1}};
  apply({n}, {number, {1}}, {from, old, {number, {1}}}, [&](ArrayRef<Value> x) -> Value {
    Value mine = flat.elementNumber(candidate, FlatOps::count(x[0]));
    return arith::SelectOp::create(b, loc, better(x[0], x[1]), mine, x[2]);
  });
  apply({n}, old, {from, old},
        [&](ArrayRef<Value> x) -> Value { return arith::SelectOp::create(b, loc, better(x[0], x[1]), x[0], x[1]); });
}

void RowSweep::emitWalk(unsigned walk, Value owner, std::pair<Value, Value> range, Rows &rows) {
  SmallVector<const AccumulatePlan *> sums;
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk == walk)
      sums.push_back(&accumulate);
  auto beginStatistics = [&](Operation *op) {
    int64_t n = getFeatureElements(op->getOperand(0).getType());
    auto &[maximum, sum] = statistics[op];
    if (!maximum) {
      maximum = kernel.scratch(n, element);
      sum = kernel.scratch(n, element);
    }
    fill(maximum, n, lowest(element));
    fill(sum, n, 0);
  };
  for (const AccumulatePlan *sum : sums) {
    mpk::AccumulateOp op = sum->op;
    if (op.getKind() == ReduceKind::LogSumExp) {
      beginStatistics(op);
    } else if (namesWinner(op.getKind())) {
      beginWinner(op);
    } else {
      fill(memory(op.getResult()), getFeatureElements(op.getType()),
           op.getKind() == ReduceKind::Max   ? -kInfinity
           : op.getKind() == ReduceKind::Min ? kInfinity
                                             : 0);
    }
    rows[op.getResult()] = memory(op.getResult());
  }
  for (const SoftmaxPlan &softmax : plan.softmaxes)
    if (softmax.walk == walk)
      beginStatistics(softmax.op);

  auto members = loop(range.first, range.second);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(members.getBody());
    Value position = members.getInductionVar();
    Rows inner = rows;
    auto ensure = [&](Value value) {
      if (auto argument = dyn_cast<BlockArgument>(value); argument && !inner.count(value))
        inner[value] = operandPointer(argument.getArgNumber(), owner, position);
    };
    auto addStatistics = [&](Operation *op, ArrayRef<std::pair<Value, Value>> scaled, Value weight) {
      auto [maximum, sum] = statistics[op];
      Value input = op->getOperand(0), score = inner.lookup(input);
      int64_t n = getFeatureElements(input.getType());
      SmallVector<std::pair<Value, Value>> all(scaled);
      all.push_back({sum, input});
      raise(score, inner, maximum, all, input);
      if (!weight)
        weight = kernel.scratch(n, element);
      apply({n}, {weight, {1}}, {{score, {1}}, {maximum, {1}}},
            [&](ArrayRef<Value> x) { return flat.exp(flat.sub(x[0], x[1])); });
      apply({n}, {sum, {1}}, {{sum, {1}}, {weight, {1}}}, [&](ArrayRef<Value> x) { return flat.add(x[0], x[1]); });
    };
    for (Operation *op : operationsOfWalk(walk)) {
      for (Value operand : op->getOperands())
        ensure(operand);
      auto softmax = dyn_cast<mpk::SoftmaxOp>(op);
      if (!softmax) {
        compute(op, inner, owner, position);
        continue;
      }
      unsigned number =
          llvm::find_if(plan.softmaxes, [&](auto &p) { return p.op == softmax; }) - plan.softmaxes.begin();
      Value weight = memory(softmax.getResult());
      if (plan.softmaxes[number].online) {
        SmallVector<std::pair<Value, Value>> scaled;
        for (const AccumulatePlan *sum : sums)
          if (sum->online == int(number)) {
            mpk::AccumulateOp target = sum->op;
            scaled.push_back({memory(target.getResult()), target.getResult()});
          }
        addStatistics(op, scaled, weight);
      } else {
        auto [maximum, sum] = statistics[op];
        apply({getFeatureElements(softmax.getType())}, {weight, {1}},
              {{inner.lookup(softmax.getInput()), {1}}, {maximum, {1}}, {sum, {1}}},
              [&](ArrayRef<Value> x) { return flat.div(flat.exp(flat.sub(x[0], x[1])), x[2]); });
      }
      inner[softmax.getResult()] = weight;
    }
    for (const SoftmaxPlan &softmax : plan.softmaxes)
      if (softmax.walk == walk && !softmax.online) {
        ensure(softmax.op->getOperand(0));
        addStatistics(softmax.op, {}, {});
      }
    for (const AccumulatePlan *sum : sums) {
      mpk::AccumulateOp op = sum->op;
      ensure(op.getInput());
      if (op.getKind() == ReduceKind::LogSumExp) {
        addStatistics(op, {}, {});
        continue;
      }
      if (namesWinner(op.getKind())) {
        raiseWinner(op, inner.lookup(op.getInput()), memberAt(position));
        continue;
      }
      Value pointer = memory(op.getResult());
      apply({getFeatureElements(op.getType())}, {pointer, {1}}, {{pointer, {1}}, {inner.lookup(op.getInput()), {1}}},
            [&](ArrayRef<Value> x) {
              return op.getKind() == ReduceKind::Max   ? flat.max(x[1], x[0])
                     : op.getKind() == ReduceKind::Min ? flat.min(x[1], x[0])
                                                       : flat.add(x[0], x[1]);
            });
    }
    for (unsigned result : memberResultsOfWalk(walk)) {
      Value value = yield.getValues()[result], output = sweep.getResults()[result];
      ensure(value);
      Value to = kernel.address(kernel.buffer(output), rowStart(output, memberAt(position)), element);
      copy(getFeatureElements(value.getType()), to, inner.lookup(value));
    }
  }

  Value count = countOf(range);
  for (const AccumulatePlan *sum : sums) {
    mpk::AccumulateOp op = sum->op;
    int64_t n = getFeatureElements(op.getType());
    Strided out{memory(op.getResult()), rowMajor(shapeOf(op.getResult()))};
    if (namesWinner(op.getKind())) {
      copy(n, out.pointer, statistics[op].second);
      continue;
    }
    if (op.getKind() == ReduceKind::LogSumExp) {
      auto [maximum, total] = statistics[op];
      apply({n}, {out.pointer, {1}}, {{maximum, {1}}, {total, {1}}},
            [&](ArrayRef<Value> x) { return flat.add(x[0], flat.log(x[1])); });
      continue;
    }
    if (sum->online >= 0) {
      mpk::SoftmaxOp softmax = plan.softmaxes[sum->online].op;
      Strided total{statistics[softmax].second, stridesByClass(softmax.getInput(), op.getResult())};
      apply(shapeOf(op.getResult()), out, {out, total},
            [&](ArrayRef<Value> x) { return flat.select(x[1], flat.div(x[0], x[1]), x[1]); });
    }
    if (op.getKind() != ReduceKind::Sum)
      apply({n}, {out.pointer, {1}}, {{out.pointer, {1}}}, [&](ArrayRef<Value> x) {
        Value many = flat.splatOf(count, FlatOps::count(x[0]));
        Value value = op.getKind() == ReduceKind::Mean ? flat.div(x[0], many) : x[0];
        return flat.select(many, value, flat.splat(0, FlatOps::count(x[0])));
      });
  }
}

void RowSweep::run() {
  Rows rows;
  for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments()))
    if (sweep.getAccessOf(i).getKind() == AccessKind::Shared)
      rows[argument] = operandPointer(i, {}, {});
  levelOperations(Level::Shared, 0, rows, {}, {});
  for (mpk::AccumulateOp op : plan.shared) {
    ReduceKind kind = op.getKind();
    if (namesWinner(kind)) {
      beginWinner(op);
      continue;
    }
    fill(memory(op.getResult()), getFeatureElements(op.getType()),
         kind == ReduceKind::Max   ? -kInfinity
         : kind == ReduceKind::Min ? kInfinity
                                   : 0);
    rows[op.getResult()] = memory(op.getResult());
  }

  auto owners = loop(kernel.begin(), kernel.end());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(owners.getBody());
    Value owner = owners.getInductionVar();
    Rows own = rows;
    for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments())) {
      AccessKind kind = sweep.getAccessOf(i).getKind();
      if (kind == AccessKind::Owner || kind == AccessKind::GatherOwner)
        own[argument] = operandPointer(i, owner, {});
    }
    std::pair<Value, Value> range;
    if (sweep.getAlongAttr())
      range = memberRange(owner);
    levelOperations(Level::Owner, 0, own, owner, range);
    for (unsigned walk = 0; walk < plan.walks; ++walk) {
      emitWalk(walk, owner, range, own);
      levelOperations(Level::Owner, walk + 1, own, owner, range);
    }
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (sweep.getYieldOf(i).getKind() == AccessKind::Owner) {
        Value output = sweep.getResults()[i];
        copy(getFeatureElements(value.getType()),
             kernel.address(kernel.buffer(output), rowStart(output, owner), element), own.lookup(value));
      }
    for (mpk::AccumulateOp op : plan.shared) {
      if (namesWinner(op.getKind())) {
        raiseWinner(op, own.lookup(op.getInput()), owner);
        continue;
      }
      Value pointer = memory(op.getResult());
      apply({getFeatureElements(op.getType())}, {pointer, {1}}, {{pointer, {1}}, {own.lookup(op.getInput()), {1}}},
            [&](ArrayRef<Value> x) {
              return op.getKind() == ReduceKind::Max   ? flat.max(x[1], x[0])
                     : op.getKind() == ReduceKind::Min ? flat.min(x[1], x[0])
                                                       : flat.add(x[0], x[1]);
            });
    }
  }

  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (sweep.getYieldOf(i).getKind() != AccessKind::Shared)
      continue;
    Value output = sweep.getResults()[i];
    int64_t n = getFeatureElements(value.getType());
    auto op = value.getDefiningOp<mpk::AccumulateOp>();
    if (!op) {
      copy(n, kernel.buffer(output), rows.lookup(value));
      continue;
    }
    if (namesWinner(op.getKind())) {
      MergeKind kind = op.getKind() == ReduceKind::ArgMax ? MergeKind::ArgMax : MergeKind::ArgMin;
      Value partial = kernel.partial(output, kind, 2 * n, element);
      auto [best, number] = statistics[op];
      copy(n, partial, best);
      copy(n, kernel.address(partial, kernel.i64(n), element), number);
      continue;
    }
    MergeKind kind = op.getKind() == ReduceKind::Max   ? MergeKind::Max
                     : op.getKind() == ReduceKind::Min ? MergeKind::Min
                                                       : MergeKind::Sum;
    Value factor = op.getKind() == ReduceKind::Mean ? sharedMeanFactor(op) : Value();
    Strided partial{kernel.partial(output, kind, n, element), {1}};
    apply({n}, partial, {{rows.lookup(value), {1}}, partial}, [&](ArrayRef<Value> x) {
      Value total = factor ? flat.mul(x[0], flat.splatOf(factor, FlatOps::count(x[0]))) : x[0];
      if (!kernel.addsToPartials())
        return total;
      return kind == MergeKind::Max   ? flat.max(total, x[1])
             : kind == MergeKind::Min ? flat.min(total, x[1])
                                      : flat.add(x[1], total);
    });
  }
}

void cpu::emitRowSweep(mpk::SweepOp sweep, const SweepPlan &plan, const CPUTarget &target, KernelBuilder &kernel) {
  RowSweep(sweep, plan, target, kernel).run();
}
