//===- RowGroup.cpp - Several rows side by side ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Row/RowGroup.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

/// Operations on narrow rows that pay for taking several owners at a time though other rows are wide.
constexpr int64_t kWorthGrouping = 32;

RowGroup::RowGroup(FlatSweep &sweep, Level level, unsigned count, Value first)
    : sweep(sweep), flat(sweep.flat), b(sweep.b), loc(sweep.loc), level(level), count(count),
      lanes(sweep.target.registerBytes() * 8 / sweep.elementBits()) {
  for (unsigned row = 0; row < count; ++row)
    positions.push_back(row == 0 ? first : sweep.kernel.add(first, sweep.kernel.i64(row)));
}

SmallVector<int64_t> RowGroup::shapeOfAll(Value value) {
  SmallVector<int64_t> result{int64_t(count)};
  llvm::append_range(result, shape(value));
  return result;
}

Value RowGroup::repeatRows(Value value) {
  return flat.repeat(value, {1, FlatOps::count(value)}, {int64_t(count), FlatOps::count(value)});
}

/// Operations over the last axis of what they read: folds, and products that are summed over it.
static bool sumsLastAxis(Operation *op) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return fold.getKind() == ReduceKind::Sum && fold.getAxes().size() == 1 &&
           fold.getAxes().front() == int64_t(getFeatureShape(fold.getInput().getType()).size()) - 1;
  auto contract = dyn_cast<ContractOp>(op);
  if (!contract || contract.getLhsLabels() != contract.getRhsLabels() || contract.getLhsLabels().empty())
    return false;
  return contract.getLhsLabels().drop_back() == contract.getOutLabels() &&
         getFeatureShape(contract.getLhs().getType()) == getFeatureShape(contract.getRhs().getType());
}

bool RowGroup::sumsInRegisters(Operation *op) { return !sweep.kernel.hasFixedRounding() && sumsLastAxis(op); }

bool RowGroup::isSideBySide(Value value) {
  Operation *op = value.getDefiningOp();
  if (count == 1 || !op || !isNarrow(value))
    return false;
  if (sumsInRegisters(op))
    return true;
  if (!isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp, ReshapeOp, DetachOp, FoldOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return !isOfRows(operand) || isNarrow(operand); });
}

Value RowGroup::part(Value value, unsigned row) {
  if (!isOfRows(value))
    return known(value);
  if (SmallVector<Value> &found = parts[value]; !found.empty() && found[row])
    return found[row];
  Value result;
  if (joined.contains(value) || isSideBySide(value)) {
    int64_t n = sweep.width(value);
    result = flat.slice(all(value), {int64_t(count), n}, 0, row, 1);
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = load(argument.getArgNumber(), row);
  } else {
    Operation *op = value.getDefiningOp();
    FlatSweep::Values values;
    for (Value operand : op->getOperands())
      values[operand] = part(operand, row);
    compute(op, values, row);
    result = values.lookup(value);
  }
  SmallVector<Value> &found = parts[value]; // The map may have grown meanwhile.
  found.resize(count);
  return found[row] = result;
}

Value RowGroup::all(Value value) {
  if (!isOfRows(value))
    return repeatRows(known(value));
  if (Value found = joined.lookup(value))
    return found;
  if (isSideBySide(value))
    return joined[value] = computeAll(value.getDefiningOp());
  if (count > 1)
    if (Value found = loadAll(value))
      return joined[value] = found;
  SmallVector<Value> each;
  for (unsigned m = 0; m < count; ++m)
    each.push_back(part(value, m));
  return joined[value] = flat.join(each);
}

Value RowGroup::summands(Operation *op, unsigned row) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return part(fold.getInput(), row);
  auto contract = cast<ContractOp>(op);
  Value lhs = part(contract.getLhs(), row);
  return flat.mul(lhs, part(contract.getRhs(), row));
}

Value RowGroup::sumLast(Operation *op) {
  SmallVector<Value> each;
  SmallVector<int64_t> current;
  for (unsigned m = 0; m < count; ++m) {
    current = shape(op->getOperand(0));
    Value row = flat.halve(summands(op, m), current, lanes);
    // Halves of halves: what is missing to a power of two is 0.
    int64_t last = current.size() - 1, size = current[last], padded = llvm::PowerOf2Ceil(size);
    if (padded > size) {
      SmallVector<int64_t> missing(current);
      missing[last] = padded - size;
      row = flat.concat({row, flat.splat(0, RefTensor::product(missing))}, {current, missing}, last);
      current[last] = padded;
    }
    each.push_back(row);
  }
  current.insert(current.begin(), count);
  return flat.fold(ReduceKind::Sum, flat.join(each), current, {int64_t(current.size()) - 1});
}

Value RowGroup::computeAll(Operation *op) {
  if (sumsInRegisters(op))
    return sumLast(op);
  if (auto fold = dyn_cast<FoldOp>(op)) {
    SmallVector<int64_t> axes;
    for (int64_t axis : fold.getAxes())
      axes.push_back(axis + 1);
    return flat.fold(fold.getKind(), all(fold.getInput()), shapeOfAll(fold.getInput()), axes);
  }
  SmallVector<int64_t> to = shapeOfAll(op->getResult(0));
  bool sameAxes = !isa<ReshapeOp>(op);
  return sweep.elementwise(op, [&](Value operand) {
    if (isOfRows(operand))
      return sameAxes ? flat.repeat(all(operand), shapeOfAll(operand), to) : all(operand);
    SmallVector<int64_t> from{1};
    llvm::append_range(from, shape(operand));
    return flat.repeat(known(operand), from, to);
  });
}

unsigned OwnerGroup::chooseCount(FlatSweep &sweep) {
  if (sweep.isCut()) // A tile of a row is not next to the same tile of the next row, however narrow it is.
    return 1;
  int64_t lanes = sweep.target.registerBytes() * 8 / sweep.elementBits(), widest = 1, cost = 0;
  auto visit = [&](Value value) {
    if (sweep.plan.levels.lookup(value) == Level::Owner)
      widest = std::max(widest, sweep.width(value));
  };
  for (Operation &op : sweep.sweep.getBody().front()) {
    for (Value value : op.getOperands())
      visit(value);
    for (Value value : op.getResults()) {
      visit(value);
      auto work = dyn_cast<CostOpInterface>(op);
      if (work && sweep.plan.levels.lookup(value) == Level::Owner && isNarrowRow(sweep.width(value), lanes))
        cost += work.flopsPerRow();
    }
  }
  // Wide rows are not side by side, but for their sake a few registers of them must be free.
  if (widest >= lanes)
    return cost < kWorthGrouping || widest > 4 * lanes ? 1 : 4;
  return cost == 0 ? 1 : std::min<int64_t>(lanes, 4 * lanes / int64_t(llvm::PowerOf2Ceil(widest)));
}

Value OwnerGroup::load(unsigned operand, unsigned row) { return sweep.loadOperand(operand, positions[row], {}); }

void OwnerGroup::compute(Operation *op, FlatSweep::Values &of, unsigned row) {
  sweep.compute(op, of, positions[row], {});
}

Value OwnerGroup::indices(IndexRef ref) {
  Type i32 = b.getI32Type();
  return sweep.kernel.load(VectorType::get({int64_t(count)}, i32),
                           sweep.kernel.address(sweep.kernel.index(ref), positions.front(), i32), i32);
}

Value OwnerGroup::loadAll(Value value) {
  KernelBuilder &kernel = sweep.kernel;
  FlatSymbolRefAttr along = kernel.getPositions();
  if (auto number = value.getDefiningOp<ElementOp>()) {
    if (!along)
      return flat.elementNumbers(positions.front(), count);
    Value numbers = indices(number->hasAttr(mpk::kOfOwnerAttr) ? IndexRef{IndexKind::Sorted, along, along}
                                                               : IndexRef{IndexKind::Members, along, {}});
    if (!sweep.element.isF32())
      numbers = arith::ExtSIOp::create(b, loc, VectorType::get({int64_t(count)}, b.getI64Type()), numbers);
    return arith::BitcastOp::create(b, loc, flat.type(count), numbers);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || sweep.degreeOf(argument.getArgNumber()))
    return {};
  unsigned operand = argument.getArgNumber();
  mpk::AccessAttr access = sweep.sweep.getAccessOf(operand);
  Value input = sweep.sweep.getInputs()[operand];
  int64_t width = sweep.width(value);
  if (access.getKind() == AccessKind::Owner && (!along || kernel.isAtHand(input)))
    return kernel.load(flat.type(count * width),
                       kernel.address(kernel.buffer(input), sweep.rowStart(input, positions.front()), sweep.element),
                       sweep.element);
  // Gathers have no form that converts.
  if (width != 1 || kernel.isThroughOwner(input) || kernel.heldAt(kernel.buffer(input), sweep.element) != sweep.element)
    return {};
  bool partial =
      access.getKind() == AccessKind::GatherOwner && access.getMap() != along && sweep.mapIsPartial(access.getMap());
  Value rows = indices(access.getKind() == AccessKind::Owner ? IndexRef{IndexKind::Members, along, {}}
                                                             : sweep.gatherIndex(operand));
  auto bits = VectorType::get({int64_t(count)}, b.getI1Type()),
       i32s = VectorType::get({int64_t(count)}, b.getI32Type());
  Value zero = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(i32s, b.getI32IntegerAttr(0)));
  Value there = partial ? Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, rows, zero))
                        : Value(arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bits, true)));
  FloatAttr fill = access.getFill();
  auto pointers = VectorType::get({int64_t(count)}, LLVM::LLVMPointerType::get(b.getContext()));
  Value places =
      LLVM::GEPOp::create(b, loc, pointers, sweep.element, kernel.buffer(input), ArrayRef<LLVM::GEPArg>{rows});
  return LLVM::masked_gather::create(b, loc, flat.type(count), places, there,
                                     flat.splat(fill ? fill.getValueAsDouble() : 0, count),
                                     b.getI32IntegerAttr(sweep.elementBits() / 8));
}

void OwnerGroup::writeResults() {
  KernelBuilder &kernel = sweep.kernel;
  auto place = [&](unsigned result, Value row) {
    Value output = sweep.sweep.getResults()[result];
    return kernel.address(kernel.buffer(output), sweep.rowStart(output, row), sweep.element);
  };
  // All is read before the first result is written: it may lie where an operand lay.
  SmallVector<std::pair<Value, Value>> found; // rows and their place
  for (auto [i, value] : llvm::enumerate(sweep.yield.getValues())) {
    if (sweep.sweep.getYieldOf(i).getKind() != AccessKind::Owner)
      continue;
    if (isNarrow(value)) {
      found.push_back({all(value), place(i, positions.front())});
      continue;
    }
    for (unsigned row = 0; row < count; ++row)
      found.push_back({part(value, row), place(i, positions[row])});
  }
  for (auto [rows, at] : found)
    kernel.store(rows, at, sweep.element);
}

SmallVector<Value> OwnerGroup::accumulate(ValueRange totals) {
  SmallVector<Value> next;
  for (mpk::AccumulateOp op : sweep.plan.shared) {
    Value input = op.getInput(), now = totals[next.size()];
    if (namesWinner(op.getKind())) {
      Value number = totals[next.size() + 1];
      for (unsigned row = 0; row < count; ++row)
        std::tie(now, number) = sweep.winner(op.getKind(), part(input, row), positions[row], now, number);
      next.append({now, number});
      continue;
    }
    bool most = op.getKind() == ReduceKind::Max, least = op.getKind() == ReduceKind::Min;
    auto combine = [&](Value mine) {
      now = most ? flat.max(mine, now) : least ? flat.min(mine, now) : flat.add(now, mine);
    };
    if (isNarrow(input))
      combine(flat.fold(most    ? ReduceKind::Max
                        : least ? ReduceKind::Min
                                : ReduceKind::Sum,
                        all(input), {int64_t(count), sweep.width(input)}, {0}));
    else
      for (unsigned row = 0; row < count; ++row)
        combine(part(input, row));
    next.push_back(now);
  }
  return next;
}
