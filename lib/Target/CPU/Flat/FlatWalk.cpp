//===- FlatWalk.cpp - One walk over an owner's members --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatWalk.h"
#include "Flat/MemberStep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::Level;

FlatWalk::FlatWalk(FlatSweep &sweep, unsigned walk, Value owner, FlatSweep::Range range,
                   const FlatSweep::Values &values)
    : sweep(sweep), flat(sweep.flat), plan(sweep.plan), b(sweep.b), loc(sweep.loc), walk(walk), owner(owner),
      range(range), lanes(sweep.target.registerBytes() * 8 / sweep.elementBits()),
      operations(sweep.operationsOfWalk(walk)) {
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk == walk && !accumulate.isFound())
      sums.push_back(&accumulate);
  for (auto [i, softmax] : llvm::enumerate(plan.softmaxes))
    if (softmax.walk == walk)
      maxima.push_back(i);
  makeSlots();
  // Members of the next owner are not those that follow where they are paired.
  lastPosition = sweep.lastMember ? sweep.lastMember : sweep.kernel.add(range.second, sweep.kernel.i64(-1));

  auto know = [&](Value value) {
    if (known.count(value))
      return;
    auto argument = dyn_cast<BlockArgument>(value);
    Value found = values.lookup(value);
    if (sweep.innerAxis(value) < 0)
      known[value] = found;
    else if (argument)
      known[value] = sweep.loadOperand(argument.getArgNumber(), owner, {});
    else
      known[value] = sweep.innerPart(value, found);
  };
  auto knowOperands = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (plan.levels.lookup(operand) != Level::Member)
        know(operand);
  };
  for (Operation *op : operations) {
    knowOperands(op);
  }
  for (unsigned number : maxima)
    knowOperands(plan.softmaxes[number].op);
  for (const AccumulatePlan *sum : sums)
    knowOperands(sum->op);
  for (unsigned result : sweep.memberResultsOfWalk(walk))
    if (Value value = sweep.yield.getValues()[result]; plan.levels.lookup(value) != Level::Member)
      know(value);
}

void FlatWalk::makeSlots() {
  double infinity = std::numeric_limits<double>::infinity();
  for (const AccumulatePlan *sum : sums) {
    mpk::AccumulateOp op = sum->op;
    int64_t n = sweep.width(op.getInput());
    sumSlots.push_back(slots.size());
    switch (op.getKind()) {
    case ReduceKind::Sum:
    case ReduceKind::Mean:
      slots.push_back({0, n, Merge::Add});
      break;
    case ReduceKind::Max:
      slots.push_back({-infinity, n, Merge::Max});
      break;
    case ReduceKind::Min:
      slots.push_back({infinity, n, Merge::Min});
      break;
    case ReduceKind::LogSumExp:
    case ReduceKind::SoftmaxShift:
    case ReduceKind::SoftmaxScale:
      slots.push_back({lowestFinite(sweep.element), n, Merge::Same});
      slots.push_back({0, n, Merge::Add});
      break;
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin:
      slots.push_back({op.getKind() == ReduceKind::ArgMax ? -infinity : infinity, n, Merge::None});
      slots.push_back({0, n, Merge::None, true});
      break;
    }
  }
  for (unsigned number : maxima) {
    mpk::SoftmaxOp op = plan.softmaxes[number].op;
    int64_t n = sweep.width(op.getInput());
    softmaxSlots.push_back(slots.size());
    slots.push_back({lowestFinite(sweep.element), n, Merge::Same});
    slots.push_back({0, n, Merge::Add});
  }
}

int64_t FlatWalk::lanesOf(const Slot &slot, unsigned members) const {
  return isNarrow(slot.width) && slot.merge != Merge::None ? members * slot.width : slot.width;
}

Value FlatWalk::startOf(const Slot &slot, unsigned members) {
  if (slot.number)
    return flat.elementNumber(sweep.kernel.i64(-1), slot.width);
  return flat.splat(slot.start, lanesOf(slot, members));
}

Value FlatWalk::collapse(const Slot &slot, Value value, unsigned members) {
  if (lanesOf(slot, members) == slot.width)
    return value;
  if (slot.merge == Merge::Same)
    return flat.slice(value, {int64_t(members), slot.width}, 0, 0, 1);
  ReduceKind kind = slot.merge == Merge::Add   ? ReduceKind::Sum
                    : slot.merge == Merge::Max ? ReduceKind::Max
                                               : ReduceKind::Min;
  return flat.fold(kind, value, {int64_t(members), slot.width}, {0});
}

/// Several members a step pay where they share work on narrow values, or keep more additions going than one would.
unsigned FlatWalk::chooseMembers() {
  bool shared = false;
  int64_t widest = 1;
  auto visit = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (plan.levels.lookup(operand) == Level::Member)
        widest = std::max(widest, sweep.width(operand));
    if (op->getNumResults() == 0 || plan.levels.lookup(op->getResult(0)) != Level::Member)
      return;
    int64_t n = sweep.width(op->getResult(0));
    widest = std::max(widest, n);
    shared |= isNarrow(n) && !isa<ReshapeOp>(op);
  };
  for (Operation *op : operations)
    visit(op);
  for (const AccumulatePlan *sum : sums)
    visit(sum->op);
  // Running maxima of wide scores are kept one member at a time.
  for (const Slot &slot : slots)
    if (slot.merge == Merge::Same && !isNarrow(slot.width))
      return 1;
  int64_t registers = (widest + lanes - 1) / lanes;
  if (!shared && registers > 2)
    return 1;
  return registers <= 4 ? 4 : registers <= 8 ? 2 : 1;
}

bool FlatWalk::reads(Value argument) const {
  auto uses = [&](Operation *op) { return llvm::is_contained(op->getOperands(), argument); };
  return llvm::any_of(operations, uses) ||
         llvm::any_of(sums, [&](const AccumulatePlan *sum) { return uses(sum->op); }) ||
         llvm::any_of(sweep.memberResultsOfWalk(walk),
                      [&](unsigned result) { return sweep.yield.getValues()[result] == argument; });
}

Value FlatWalk::spread(const Slot &slot, Value value, unsigned members) {
  if (lanesOf(slot, members) == slot.width)
    return value;
  if (slot.merge != Merge::Add)
    return flat.repeat(value, {1, slot.width}, {int64_t(members), slot.width});
  return flat.join({value, flat.splat(slot.start, (members - 1) * slot.width)});
}

void FlatWalk::visit(Value from, Value to, unsigned members, SmallVector<Value> &carried) {
  auto walkIn = [&](unsigned count, Value end) {
    auto steps = sweep.loop(from, end, carried, count);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    SmallVector<Value> now(steps.getRegionIterArgs());
    MemberStep(*this, count, steps.getInductionVar(), now).run();
    if (!now.empty())
      scf::YieldOp::create(b, loc, now);
    carried.assign(steps.getResults().begin(), steps.getResults().end());
    from = end;
  };
  if (members > 1) {
    Value count = arith::SubIOp::create(b, loc, to, from);
    Value whole = arith::AndIOp::create(b, loc, count, sweep.kernel.i64(-int64_t(members)));
    walkIn(members, sweep.kernel.add(from, whole));
    for (auto [slot, value] : llvm::zip(slots, carried))
      value = collapse(slot, value, members);
  }
  walkIn(1, to);
}

void FlatWalk::visitStaged(unsigned members, SmallVector<Value> &carried) {
  KernelBuilder &kernel = sweep.kernel;
  // Of several walks that read them each makes the rows of its owner again; else rows serve the owners that follow.
  unsigned readers = 0;
  for (unsigned other = 0; other < plan.walks; ++other)
    readers += sweep.readsStaged(other);
  bool ownRows = readers > 1;
  Value from = ownRows ? range.first : sweep.stagedFrom, to = ownRows ? range.first : sweep.stagedTo;
  SmallVector<Value> init{range.first, from, to};
  llvm::append_range(init, carried);
  auto chunks = scf::WhileOp::create(b, loc, ValueRange(init).getTypes(), init);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(init.size(), loc);
  Block *before = b.createBlock(&chunks.getBefore(), {}, ValueRange(init).getTypes(), locations);
  Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, before->getArgument(0), range.second);
  scf::ConditionOp::create(b, loc, more, before->getArguments());
  Block *body = b.createBlock(&chunks.getAfter(), {}, ValueRange(init).getTypes(), locations);
  Value position = body->getArgument(0);
  Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, position, body->getArgument(2));
  auto stage = scf::IfOp::create(b, loc, TypeRange{b.getI64Type(), b.getI64Type()}, none, true);
  {
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(stage.thenBlock());
    Value last = ownRows ? range.second : kernel.add(sweep.lastMember, kernel.i64(1));
    Value next = arith::MinSIOp::create(b, loc, kernel.add(position, kernel.i64(sweep.staging->rows)), last);
    sweep.staging->make(position, next);
    scf::YieldOp::create(b, loc, ValueRange{position, next});
    b.setInsertionPointToStart(stage.elseBlock());
    scf::YieldOp::create(b, loc, ValueRange{body->getArgument(1), body->getArgument(2)});
  }
  sweep.staging->see(stage.getResult(0));
  Value end = arith::MinSIOp::create(b, loc, range.second, stage.getResult(1));
  SmallVector<Value> now;
  for (auto [slot, value] : llvm::zip(slots, body->getArguments().drop_front(3)))
    now.push_back(spread(slot, value, members));
  visit(position, end, members, now);
  now.insert(now.begin(), {end, stage.getResult(0), stage.getResult(1)});
  scf::YieldOp::create(b, loc, now);
  carried.assign(chunks.getResults().begin() + 3, chunks.getResults().end());
  sweep.stagedFrom = chunks.getResult(1);
  sweep.stagedTo = chunks.getResult(2);
}

SmallVector<Value> FlatWalk::walkMembers() {
  unsigned members = chooseMembers();
  bool staged = sweep.staging && sweep.readsStaged(walk);
  SmallVector<Value> carried;
  for (const Slot &slot : slots)
    carried.push_back(startOf(slot, staged ? 1 : members));
  if (staged)
    visitStaged(members, carried);
  else
    visit(range.first, range.second, members, carried);
  return carried;
}

FlatWalk::Results FlatWalk::finish(ValueRange done) {
  Results results;
  DenseMap<unsigned, Value> inverse;
  for (auto [slot, number] : llvm::zip(softmaxSlots, maxima)) {
    Value shift = done[slot], sum = done[slot + 1];
    for (const AccumulatePlan &accumulate : plan.accumulates)
      if (accumulate.statisticOf == int(number)) {
        mpk::AccumulateOp statistic = accumulate.op;
        results.push_back({statistic.getResult(), flat.statistic(statistic.getKind(), shift, sum)});
      }
    inverse[number] = flat.statistic(ReduceKind::SoftmaxScale, shift, sum);
  }
  for (auto [slot, sum] : llvm::zip(sumSlots, sums)) {
    mpk::AccumulateOp op = sum->op;
    Value value = done[slot];
    if (isStatistic(op.getKind())) {
      // And those that follow from the same two numbers.
      int number = sum - plan.accumulates.begin();
      for (auto [i, other] : llvm::enumerate(plan.accumulates))
        if (int(i) == number || other.sameAs == number) {
          mpk::AccumulateOp statistic = other.op;
          results.push_back({statistic.getResult(), flat.statistic(statistic.getKind(), value, done[slot + 1])});
        }
      continue;
    }
    if (namesWinner(op.getKind())) {
      results.push_back({op.getResult(), done[slot + 1]}); // -1 where there are no members
      continue;
    }
    if (sum->online >= 0) {
      mpk::SoftmaxOp softmax = plan.softmaxes[sum->online].op;
      value = flat.mul(value, sweep.repeatByClass(inverse.lookup(sum->online), softmax.getInput(), op.getInput()));
    }
    if (op.getKind() == ReduceKind::Mean)
      value = flat.div(value, sweep.memberCount(range, FlatOps::count(value)));
    if (op.getKind() != ReduceKind::Sum)
      value = sweep.whereMembers(range, value);
    results.push_back({op.getResult(), value});
  }
  return results;
}
