//===- MemberStep.cpp - A few members at once -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flat/MemberStep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::Level;

MemberStep::MemberStep(FlatWalk &walk, unsigned count, Value position, SmallVector<Value> &now)
    : RowGroup(walk.sweep, Level::Member, count, position), walk(walk), now(now) {}

Value MemberStep::known(Value value) { return walk.known.lookup(value); }

Value MemberStep::load(unsigned operand, unsigned row) {
  return sweep.loadOperand(operand, walk.owner, positions[row]);
}

/// Rows that were made for these members lie one after the other.
Value MemberStep::loadAll(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !isNarrow(value))
    return {};
  Value input = sweep.sweep.getInputs()[argument.getArgNumber()];
  if (sweep.sweep.getAccessOf(argument.getArgNumber()).getKind() != mpk::AccessKind::Member ||
      !sweep.kernel.isAtHand(input))
    return {};
  Value place =
      sweep.kernel.address(sweep.kernel.buffer(input), sweep.rowStart(input, positions.front()), sweep.element);
  return sweep.kernel.load(flat.type(count * sweep.width(value)), place, sweep.element);
}

void MemberStep::compute(Operation *op, FlatSweep::Values &values, unsigned row) {
  sweep.compute(op, values, walk.owner, positions[row]);
}

void MemberStep::rescale(Value score, Value scoreShape, unsigned maximumSlot,
                         ArrayRef<std::pair<unsigned, Value>> scaled) {
  Value grows = flat.greater(score, now[maximumSlot]);
  Value any = flat.any(grows);
  SmallVector<Type> types{score.getType()};
  for (auto [slot, like] : scaled)
    types.push_back(now[slot].getType());
  auto branch = scf::IfOp::create(b, loc, types, any, true);
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(branch.thenBlock());
  int64_t n = sweep.width(scoreShape);
  Value larger = arith::SelectOp::create(b, loc, grows, score, now[maximumSlot]);
  Value one = now[maximumSlot];
  if (count > 1) {
    one = flat.slice(one, {int64_t(count), n}, 0, 0, 1);
    larger = flat.fold(ReduceKind::Max, larger, {int64_t(count), n}, {0});
  }
  larger = flat.finite(larger);
  SmallVector<Value> unscaled;
  for (auto [slot, like] : scaled)
    unscaled.push_back(now[slot]);
  // Where the sum of exponentials is still 0, so is all that they weigh: most owners have few members.
  Value total = now[maximumSlot + 1];
  Value counted = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, total, flat.splat(0, FlatOps::count(total)));
  Value begun = flat.any(counted);
  auto scale = scf::IfOp::create(b, loc, ValueRange(unscaled).getTypes(), begun, true);
  {
    OpBuilder::InsertionGuard further(b);
    b.setInsertionPointToStart(scale.thenBlock());
    Value factor = flat.exp(flat.sub(one, larger));
    SmallVector<Value> results;
    for (auto [slot, like] : scaled) {
      Value own = sweep.repeatByClass(factor, scoreShape, like);
      results.push_back(flat.mul(now[slot], FlatOps::count(own) == FlatOps::count(now[slot]) ? own : repeatRows(own)));
    }
    scf::YieldOp::create(b, loc, results);
    b.setInsertionPointToStart(scale.elseBlock());
    scf::YieldOp::create(b, loc, unscaled);
  }
  SmallVector<Value> results{count > 1 ? repeatRows(larger) : larger};
  llvm::append_range(results, scale.getResults());
  scf::YieldOp::create(b, loc, results);
  b.setInsertionPointToStart(branch.elseBlock());
  unscaled.insert(unscaled.begin(), now[maximumSlot]);
  scf::YieldOp::create(b, loc, unscaled);
  now[maximumSlot] = branch.getResult(0);
  for (auto [i, entry] : llvm::enumerate(scaled))
    now[entry.first] = branch.getResult(i + 1);
}

/// Adds to the sum of exp of a softmax, which has its weights from then on.
void MemberStep::score(unsigned order, unsigned number) {
  mpk::SoftmaxOp op = walk.plan.softmaxes[number].op;
  unsigned slot = walk.softmaxSlots[order];
  SmallVector<std::pair<unsigned, Value>> scaled{{slot + 1, op.getInput()}};
  for (auto [sumSlot, sum] : llvm::zip(walk.sumSlots, walk.sums))
    if (sum->online == int(number)) {
      mpk::AccumulateOp target = sum->op;
      scaled.push_back({sumSlot, target.getInput()});
    }
  Value input = all(op.getInput());
  rescale(input, op.getInput(), slot, scaled);
  Value weight = flat.exp(flat.sub(input, now[slot]));
  now[slot + 1] = flat.add(now[slot + 1], weight);
  joined[op.getResult()] = weight;
}

void MemberStep::accumulate(const AccumulatePlan &sum, unsigned slot) {
  mpk::AccumulateOp op = sum.op;
  Value input = op.getInput();
  ReduceKind kind = op.getKind();
  if (isStatistic(kind)) {
    Value score = all(input);
    rescale(score, input, slot, {{slot + 1, input}});
    now[slot + 1] = flat.add(now[slot + 1], flat.exp(flat.sub(score, now[slot])));
    return;
  }
  if (namesWinner(kind)) {
    for (unsigned m = 0; m < count; ++m) {
      Value mine = part(input, m);
      std::tie(now[slot], now[slot + 1]) =
          sweep.winner(kind, mine, sweep.memberAt(positions[m]), now[slot], now[slot + 1]);
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
  for (unsigned result : sweep.memberResultsOfWalk(walk.walk)) {
    Value value = sweep.yield.getValues()[result], output = sweep.sweep.getResults()[result];
    SmallVector<Value> rows;
    for (unsigned m = 0; m < count; ++m)
      rows.push_back(part(value, m));
    // What the tiles of the walk do not divide is written by the first.
    OpBuilder::InsertionGuard guard(b);
    if (sweep.inner && sweep.innerAxis(value) < 0) {
      Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, sweep.innerBegin, sweep.kernel.i64(0));
      auto branch = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    for (unsigned m = 0; m < count; ++m) {
      Value at = sweep.rowStart(output, sweep.memberAt(positions[m]));
      sweep.storeRow(rows[m], sweep.kernel.address(sweep.kernel.buffer(output), at, sweep.element), value);
    }
  }
}

/// Rows that later steps gather or that lie where the members' numbers say, in another order than the walk's.
void MemberStep::prefetch() {
  FlatSymbolRefAttr along = sweep.sweep.getAlongAttr();
  SmallVector<FlatSweep::RowsAhead> rows;
  for (auto [i, argument] : llvm::enumerate(sweep.sweep.getBody().getArguments())) {
    mpk::AccessAttr access = sweep.sweep.getAccessOf(i);
    if (!walk.reads(argument))
      continue;
    if (access.getKind() == mpk::AccessKind::GatherMember && !sweep.mapIsPartial(access.getMap()))
      rows.push_back({unsigned(i), {IndexKind::Sorted, along, access.getMap()}});
    else if (access.getKind() == mpk::AccessKind::Member && !sweep.kernel.isAtHand(sweep.sweep.getInputs()[i]))
      rows.push_back({unsigned(i), {IndexKind::Members, along, {}}});
  }
  sweep.prefetch(rows, positions, walk.lastPosition);
}

void MemberStep::run() {
  prefetch();
  for (Operation *op : walk.operations) {
    auto softmax = dyn_cast<mpk::SoftmaxOp>(op);
    if (!softmax)
      continue; // Computed when it is asked for.
    const SoftmaxPlan *found = llvm::find_if(walk.plan.softmaxes, [&](auto &p) { return p.op == softmax; });
    unsigned number = found - walk.plan.softmaxes.begin();
    score(llvm::find(walk.maxima, number) - walk.maxima.begin(), number);
  }
  for (auto [slot, sum] : llvm::zip(walk.sumSlots, walk.sums))
    accumulate(*sum, slot);
  writeResults();
}
