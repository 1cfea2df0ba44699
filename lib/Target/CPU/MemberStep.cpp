//===- MemberStep.cpp - A few members at once -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemberStep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::Level;

MemberStep::MemberStep(FlatWalk &walk, unsigned count, Value position, SmallVector<Value> &now)
    : walk(walk), flat(walk.flat), b(walk.b), loc(walk.loc), count(count), now(now) {
  for (unsigned m = 0; m < count; ++m)
    positions.push_back(m == 0 ? position : walk.sweep.kernel.add(position, walk.sweep.kernel.i64(m)));
}

SmallVector<int64_t> MemberStep::shapeOfAll(Value value) {
  SmallVector<int64_t> result{int64_t(count)};
  llvm::append_range(result, shape(value));
  return result;
}

Value MemberStep::repeatMembers(Value value) {
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

bool MemberStep::isSideBySide(Value value) {
  Operation *op = value.getDefiningOp();
  if (count == 1 || !op || !isNarrow(value))
    return false;
  if (sumsLastAxis(op))
    return true;
  if (!isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp, ReshapeOp, DetachOp, FoldOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return !isMember(operand) || isNarrow(operand); });
}

Value MemberStep::part(Value value, unsigned member) {
  if (!isMember(value))
    return walk.known.lookup(value);
  if (SmallVector<Value> &found = parts[value]; !found.empty() && found[member])
    return found[member];
  Value result;
  if (joined.contains(value) || isSideBySide(value)) {
    int64_t n = walk.sweep.width(value);
    result = flat.slice(all(value), {int64_t(count), n}, 0, member, 1);
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = walk.sweep.loadOperand(argument.getArgNumber(), walk.owner, positions[member]);
  } else {
    Operation *op = value.getDefiningOp();
    FlatSweep::Values values;
    for (Value operand : op->getOperands())
      values[operand] = part(operand, member);
    walk.sweep.compute(op, values, walk.owner, positions[member]);
    result = values.lookup(value);
  }
  SmallVector<Value> &found = parts[value]; // The map may have grown meanwhile.
  found.resize(count);
  return found[member] = result;
}

Value MemberStep::all(Value value) {
  if (!isMember(value))
    return repeatMembers(walk.known.lookup(value));
  if (Value found = joined.lookup(value))
    return found;
  if (isSideBySide(value))
    return joined[value] = computeAll(value.getDefiningOp());
  SmallVector<Value> each;
  for (unsigned m = 0; m < count; ++m)
    each.push_back(part(value, m));
  return joined[value] = flat.join(each);
}

Value MemberStep::summands(Operation *op, unsigned member) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return part(fold.getInput(), member);
  auto contract = cast<ContractOp>(op);
  Value lhs = part(contract.getLhs(), member);
  return flat.mul(lhs, part(contract.getRhs(), member));
}

Value MemberStep::sumLast(Operation *op) {
  SmallVector<Value> each;
  SmallVector<int64_t> current;
  for (unsigned m = 0; m < count; ++m) {
    current = shape(op->getOperand(0));
    each.push_back(flat.halve(summands(op, m), current, walk.lanes));
  }
  current.insert(current.begin(), count);
  return flat.fold(ReduceKind::Sum, flat.join(each), current, {int64_t(current.size()) - 1});
}

Value MemberStep::computeAll(Operation *op) {
  if (sumsLastAxis(op))
    return sumLast(op);
  if (auto fold = dyn_cast<FoldOp>(op)) {
    SmallVector<int64_t> axes;
    for (int64_t axis : fold.getAxes())
      axes.push_back(axis + 1);
    return flat.fold(fold.getKind(), all(fold.getInput()), shapeOfAll(fold.getInput()), axes);
  }
  SmallVector<int64_t> to = shapeOfAll(op->getResult(0));
  bool sameAxes = !isa<ReshapeOp>(op);
  return walk.sweep.elementwise(op, [&](Value operand) {
    if (isMember(operand))
      return sameAxes ? flat.repeat(all(operand), shapeOfAll(operand), to) : all(operand);
    SmallVector<int64_t> from{1};
    llvm::append_range(from, shape(operand));
    return flat.repeat(walk.known.lookup(operand), from, to);
  });
}

void MemberStep::rescale(Value score, Value scoreShape, unsigned maximumSlot,
                         ArrayRef<std::pair<unsigned, Value>> scaled) {
  Value grows = flat.greater(score, now[maximumSlot]);
  Value any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, grows);
  SmallVector<Type> types{score.getType()};
  for (auto [slot, like] : scaled)
    types.push_back(now[slot].getType());
  auto branch = scf::IfOp::create(b, loc, types, any, true);
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(branch.thenBlock());
  int64_t n = walk.sweep.width(scoreShape);
  Value larger = arith::SelectOp::create(b, loc, grows, score, now[maximumSlot]);
  Value one = now[maximumSlot];
  if (count > 1) {
    one = flat.slice(one, {int64_t(count), n}, 0, 0, 1);
    larger = flat.fold(ReduceKind::Max, larger, {int64_t(count), n}, {0});
  }
  Value factor = flat.exp(flat.sub(one, larger));
  SmallVector<Value> results{count > 1 ? repeatMembers(larger) : larger};
  for (auto [slot, like] : scaled) {
    Value own = walk.sweep.repeatByClass(factor, scoreShape, like);
    results.push_back(flat.mul(now[slot], FlatOps::count(own) == FlatOps::count(now[slot]) ? own : repeatMembers(own)));
  }
  scf::YieldOp::create(b, loc, results);
  b.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> same{now[maximumSlot]};
  for (auto [slot, like] : scaled)
    same.push_back(now[slot]);
  scf::YieldOp::create(b, loc, same);
  now[maximumSlot] = branch.getResult(0);
  for (auto [i, entry] : llvm::enumerate(scaled))
    now[entry.first] = branch.getResult(i + 1);
}

/// Adds to the sum of exp of a softmax; one that is computed online has its weights from then on.
void MemberStep::score(unsigned order, unsigned number) {
  const SoftmaxPlan &softmax = walk.plan.softmaxes[number];
  mpk::SoftmaxOp op = softmax.op;
  unsigned slot = walk.softmaxSlots[order];
  SmallVector<std::pair<unsigned, Value>> scaled{{slot + 1, op.getInput()}};
  if (softmax.online)
    for (auto [sumSlot, sum] : llvm::zip(walk.sumSlots, walk.sums))
      if (sum->online == int(number)) {
        mpk::AccumulateOp target = sum->op;
        scaled.push_back({sumSlot, target.getInput()});
      }
  Value input = all(op.getInput());
  rescale(input, op.getInput(), slot, scaled);
  Value weight = flat.exp(flat.sub(input, now[slot]));
  now[slot + 1] = flat.add(now[slot + 1], weight);
  if (softmax.online)
    joined[op.getResult()] = weight;
}

void MemberStep::accumulate(const AccumulatePlan &sum, unsigned slot) {
  mpk::AccumulateOp op = sum.op;
  Value input = op.getInput();
  ReduceKind kind = op.getKind();
  if (kind == ReduceKind::LogSumExp) {
    Value score = all(input);
    rescale(score, input, slot, {{slot + 1, input}});
    now[slot + 1] = flat.add(now[slot + 1], flat.exp(flat.sub(score, now[slot])));
    return;
  }
  if (namesWinner(kind)) {
    for (unsigned m = 0; m < count; ++m) {
      Value mine = part(input, m);
      std::tie(now[slot], now[slot + 1]) =
          walk.sweep.winner(kind, mine, walk.sweep.memberAt(positions[m]), now[slot], now[slot + 1]);
    }
    return;
  }
  auto combine = [&](Value x, Value old) {
    return kind == ReduceKind::Max ? flat.max(x, old) : kind == ReduceKind::Min ? flat.min(x, old) : flat.add(old, x);
  };
  if (isNarrow(input)) {
    now[slot] = combine(all(input), now[slot]);
    return;
  }
  for (unsigned m = 0; m < count; ++m)
    now[slot] = combine(part(input, m), now[slot]);
}

void MemberStep::writeResults() {
  FlatSweep &sweep = walk.sweep;
  for (unsigned result : sweep.memberResultsOfWalk(walk.walk)) {
    Value value = sweep.yield.getValues()[result], output = sweep.sweep.getResults()[result];
    if (sweep.inner && !walk.first && sweep.innerAxis(value) < 0)
      continue;
    for (unsigned m = 0; m < count; ++m) {
      Value at = sweep.rowStart(output, sweep.memberAt(positions[m]));
      sweep.storeRow(part(value, m), sweep.kernel.address(sweep.kernel.buffer(output), at, sweep.element), value);
    }
  }
}

/// Asks for rows of several cache lines that later steps gather: they come from further away than out-of-order
/// execution sees ahead.
void MemberStep::prefetch() {
  FlatSweep &sweep = walk.sweep;
  KernelBuilder &kernel = sweep.kernel;
  int64_t line = 64 * 8 / sweep.elementBits(); // numbers in a cache line
  for (auto [i, argument] : llvm::enumerate(sweep.sweep.getBody().getArguments())) {
    mpk::AccessAttr access = sweep.sweep.getAccessOf(i);
    if (access.getKind() != mpk::AccessKind::GatherMember || sweep.width(argument) <= line || !walk.reads(argument) ||
        sweep.mapIsPartial(access.getMap()))
      continue;
    Value input = sweep.sweep.getInputs()[i], buffer = kernel.buffer(input);
    Value index = kernel.index({IndexKind::Sorted, sweep.sweep.getAlongAttr(), access.getMap()});
    for (Value position : positions) {
      Value ahead = kernel.add(position, kernel.i64(kMembersAhead));
      Value row = kernel.loadIndex(index, arith::MinSIOp::create(b, loc, ahead, walk.lastPosition));
      sweep.forEachRun(argument, [&](Value offset, int64_t, int64_t run) {
        Value start = kernel.add(sweep.rowStart(input, row), offset);
        for (int64_t at = 0; at < run; at += line)
          LLVM::Prefetch::create(b, loc, kernel.address(buffer, kernel.add(start, kernel.i64(at)), sweep.element),
                                 /*rw=*/0, /*hint=*/3, /*cache=*/1);
      });
    }
  }
}

void MemberStep::run() {
  prefetch();
  for (Operation *op : walk.operations) {
    auto softmax = dyn_cast<mpk::SoftmaxOp>(op);
    if (!softmax)
      continue; // Computed when it is asked for.
    const SoftmaxPlan *found = llvm::find_if(walk.plan.softmaxes, [&](auto &p) { return p.op == softmax; });
    unsigned number = found - walk.plan.softmaxes.begin();
    if (found->online) {
      score(llvm::find(walk.maxima, number) - walk.maxima.begin(), number);
      continue;
    }
    // Its log-sum-exp is known from an earlier walk.
    Value statistic = walk.known.lookup(softmax.getResult());
    joined[softmax.getResult()] =
        flat.exp(flat.sub(all(softmax.getInput()), count > 1 ? repeatMembers(statistic) : statistic));
  }
  for (auto [order, number] : llvm::enumerate(walk.maxima))
    if (!walk.plan.softmaxes[number].online)
      score(order, number);
  for (auto [slot, sum] : llvm::zip(walk.sumSlots, walk.sums))
    accumulate(*sum, slot);
  writeResults();
}
