//===- RowSweep.cpp - A sweep on rows in stack memory ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Row/RowSweep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

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
      if (isStatistic(kind))
        return flat.statisticOfEqual(kind, x[0], many);
      return flat.select(many, x[0], flat.splat(0, FlatOps::count(x[0])));
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
    for (mpk::AccumulateOp op : plan.shared)
      accumulate(op, own.lookup(op.getInput()), [&] { return owner; });
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

void cpu::emitRowSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel) {
  RowSweep(sweep, plan, target, kernel).run();
}
