//===- RowWalk.cpp - A walk over members on rows in stack memory ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is accumulated lies in rows of its own: sums, maxima with their winners, and for softmax and log-sum-exp a
// running maximum, under which sums are scaled when it rises.
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

Value RowSweep::countOf(std::pair<Value, Value> range) {
  return arith::SIToFPOp::create(b, loc, element, arith::SubIOp::create(b, loc, range.second, range.first));
}

/// Raises a running maximum to `score` where that is larger, and scales what was summed under the old one.
void RowSweep::raise(Value score, Rows &rows, Value maximum, ArrayRef<std::pair<Value, Value>> scaled, Value like) {
  ArrayRef<int64_t> shape = shapeOf(like);
  int64_t n = RefTensor::product(shape);
  Value factor = kernel.scratch(n, element);
  auto larger = [&](ArrayRef<Value> x) { return flat.finite(flat.max(x[1], x[0])); };
  apply({n}, {factor, {1}}, {{maximum, {1}}, {score, {1}}},
        [&](ArrayRef<Value> x) { return flat.exp(flat.sub(x[0], larger(x))); });
  apply({n}, {maximum, {1}}, {{maximum, {1}}, {score, {1}}}, larger);
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

void RowSweep::accumulate(mpk::AccumulateOp op, Value input, function_ref<Value()> candidate) {
  if (namesWinner(op.getKind()))
    return raiseWinner(op, input, candidate());
  Value pointer = memory(op.getResult());
  apply({getFeatureElements(op.getType())}, {pointer, {1}}, {{pointer, {1}}, {input, {1}}}, [&](ArrayRef<Value> x) {
    return op.getKind() == ReduceKind::Max   ? flat.max(x[1], x[0])
           : op.getKind() == ReduceKind::Min ? flat.min(x[1], x[0])
                                             : flat.add(x[0], x[1]);
  });
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
    fill(maximum, n, lowestFinite(element));
    fill(sum, n, 0);
  };
  for (const AccumulatePlan *sum : sums) {
    mpk::AccumulateOp op = sum->op;
    if (isStatistic(op.getKind())) {
      if (!sum->isFound())
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
      SmallVector<std::pair<Value, Value>> scaled;
      for (const AccumulatePlan *sum : sums)
        if (sum->online == int(number)) {
          mpk::AccumulateOp target = sum->op;
          scaled.push_back({memory(target.getResult()), target.getResult()});
        }
      addStatistics(op, scaled, weight);
      inner[softmax.getResult()] = weight;
    }
    for (const AccumulatePlan *sum : sums) {
      mpk::AccumulateOp op = sum->op;
      ensure(op.getInput());
      if (isStatistic(op.getKind())) {
        if (!sum->isFound())
          addStatistics(op, {}, {});
        continue;
      }
      accumulate(op, inner.lookup(op.getInput()), [&] { return memberAt(position); });
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
    if (isStatistic(op.getKind())) {
      Operation *finder = op;
      if (sum->statisticOf >= 0)
        finder = plan.softmaxes[sum->statisticOf].op;
      else if (sum->sameAs >= 0)
        finder = plan.accumulates[sum->sameAs].op;
      auto [shift, total] = statistics[finder];
      apply({n}, {out.pointer, {1}}, {{shift, {1}}, {total, {1}}},
            [&](ArrayRef<Value> x) { return flat.statistic(op.getKind(), x[0], x[1]); });
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
