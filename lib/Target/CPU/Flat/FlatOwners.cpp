//===- FlatOwners.cpp - The owners of a block -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most owners of a sparse graph have few members, and how many cannot be predicted. A softmax's walk is a chain of
// dependent operations, and what is made of its sums (a logarithm, a division, an activation of the result) continues
// it. Owners whose last walk has a softmax are therefore taken a few together, in two loops: the walks, which leave
// their registers in stack memory, and what comes after, which has no branches, so that owners overlap.
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatWalk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

namespace gnnc::cpu {

class FlatOwners {
public:
  FlatOwners(FlatSweep &sweep, const FlatSweep::Values &shared)
      : sweep(sweep), plan(sweep.plan), kernel(sweep.kernel), b(sweep.b), loc(sweep.loc), shared(shared),
        numTotals(sweep.plan.shared.size() +
                  llvm::count_if(sweep.plan.shared, [](mpk::AccumulateOp op) { return namesWinner(op.getKind()); })) {}
  SmallVector<Value> emit(Value from, ValueRange init) {
    return isSplit() ? emitSplit(from, init) : emitOne(from, init);
  }

private:
  using Values = FlatSweep::Values;
  using Range = FlatSweep::Range;
  static constexpr int64_t kTogether = 16;

  /// Rows of stack memory, one for each owner that is taken together: whole registers, or a power of two.
  struct Rows {
    Value memory;
    int64_t width, padded;
  };

  bool isSplit();
  SmallVector<Value> emitOne(Value from, ValueRange init);
  SmallVector<Value> emitSplit(Value from, ValueRange init);
  void findHanded();
  /// The walks of an owner but for the last one's end; returns what that leaves in registers.
  SmallVector<Value> emitWalks(Values &own, Value owner);
  void emitTail(Values &own, Value owner, ValueRange left);
  void stage(ValueRange positions) {
    if (sweep.staging)
      sweep.stagedFrom = positions[0], sweep.stagedTo = positions[1];
  }
  void yield(SmallVector<Value> values, bool staged) {
    if (staged && sweep.staging)
      values.append({sweep.stagedFrom, sweep.stagedTo});
    if (!values.empty())
      scf::YieldOp::create(b, loc, values);
  }

  Rows rowsFor(int64_t width);
  Value address(const Rows &rows, Value owner, Value first);
  void keep(Value value, const Rows &rows, Value owner, Value first);
  Value fetch(const Rows &rows, Value owner, Value first);

  FlatSweep &sweep;
  const SweepPlan &plan;
  KernelBuilder &kernel;
  OpBuilder &b;
  Location loc;
  const Values &shared;
  size_t numTotals;
  llvm::SetVector<Operation *> early; ///< what walks need of their owner
  SmallVector<Value> handed;          ///< what comes after them needs of that
};

} // namespace gnnc::cpu

bool FlatOwners::isSplit() {
  return sweep.sweep.getAlongAttr() && plan.walks > 0 && !sweep.isCut() &&
         llvm::any_of(plan.softmaxes, [&](const SoftmaxPlan &softmax) { return softmax.walk + 1 == plan.walks; });
}

FlatOwners::Rows FlatOwners::rowsFor(int64_t width) {
  int64_t lanes = sweep.target.registerBytes() * 8 / sweep.elementBits();
  int64_t padded = width < lanes ? llvm::PowerOf2Ceil(width) : llvm::alignTo(width, lanes);
  return {kernel.scratch(kTogether * padded, sweep.element), width, padded};
}

Value FlatOwners::address(const Rows &rows, Value owner, Value first) {
  Value row = arith::SubIOp::create(b, loc, owner, first);
  return kernel.address(rows.memory, arith::MulIOp::create(b, loc, row, kernel.i64(rows.padded)), sweep.element);
}

void FlatOwners::keep(Value value, const Rows &rows, Value owner, Value first) {
  if (rows.padded > rows.width)
    value = sweep.flat.join({value, sweep.flat.splat(0, rows.padded - rows.width)});
  kernel.store(value, address(rows, owner, first), sweep.element);
}

Value FlatOwners::fetch(const Rows &rows, Value owner, Value first) {
  Value row = kernel.load(sweep.flat.type(rows.padded), address(rows, owner, first), sweep.element);
  return rows.padded == rows.width ? row : sweep.flat.slice(row, {rows.padded}, 0, 0, rows.width);
}

void FlatOwners::findHanded() {
  SmallVector<Value> wanted;
  auto want = [&](Operation *op) { llvm::append_range(wanted, op->getOperands()); };
  for (unsigned walk = 0; walk < plan.walks; ++walk) {
    llvm::for_each(sweep.operationsOfWalk(walk), want);
    for (const SoftmaxPlan &softmax : plan.softmaxes)
      want(softmax.op);
    for (const AccumulatePlan &accumulate : plan.accumulates)
      if (accumulate.perMember)
        want(accumulate.op);
    for (unsigned result : sweep.memberResultsOfWalk(walk))
      wanted.push_back(sweep.yield.getValues()[result]);
  }
  while (!wanted.empty()) {
    Operation *op = wanted.pop_back_val().getDefiningOp();
    if (op && plan.levels.lookup(op->getResult(0)) == Level::Owner && early.insert(op))
      want(op);
  }
  // What an earlier walk has found is known too.
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk + 1 < plan.walks)
      early.insert(accumulate.op);
  for (Operation *op : early)
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return !early.contains(user) &&
                 (user->getNumResults() == 0 || plan.levels.lookup(user->getResult(0)) != Level::Member);
        }))
      handed.push_back(op->getResult(0));
}

SmallVector<Value> FlatOwners::emitWalks(Values &own, Value owner) {
  Range range = sweep.memberRange(owner);
  auto isEarly = [&](Operation *op) { return early.contains(op); };
  sweep.loadOwner(own, owner);
  sweep.levelOperations(Level::Owner, 0, own, owner, range, isEarly);
  for (unsigned walk = 0; walk + 1 < plan.walks; ++walk) {
    sweep.emitWalk(walk, owner, range, own);
    sweep.levelOperations(Level::Owner, walk + 1, own, owner, range, isEarly);
  }
  return FlatWalk(sweep, plan.walks - 1, owner, range, own).walkMembers();
}

void FlatOwners::emitTail(Values &own, Value owner, ValueRange left) {
  Range range = sweep.memberRange(owner);
  for (auto [value, found] : FlatWalk(sweep, plan.walks - 1, owner, range, own).finish(left))
    own[value] = found;
  auto isLate = [&](Operation *op) { return !early.contains(op); };
  for (unsigned phase = 0; phase <= plan.walks; ++phase)
    sweep.levelOperations(Level::Owner, phase, own, owner, range, isLate);
}

SmallVector<Value> FlatOwners::emitSplit(Value from, ValueRange init) {
  findHanded();
  auto groups = sweep.loop(from, kernel.end(), init, kTogether);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(groups.getBody());
  Value first = groups.getInductionVar();
  Value last = arith::MinSIOp::create(b, loc, kernel.add(first, kernel.i64(kTogether)), kernel.end());
  ValueRange carried = groups.getRegionIterArgs();
  SmallVector<Rows> leftRows, handedRows;

  auto walks = sweep.loop(first, last, carried.drop_front(numTotals));
  {
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(walks.getBody());
    Value owner = walks.getInductionVar();
    stage(walks.getRegionIterArgs());
    Values own = shared;
    for (Value value : emitWalks(own, owner))
      keep(value, leftRows.emplace_back(rowsFor(FlatOps::count(value))), owner, first);
    for (Value value : handed)
      keep(own.lookup(value), handedRows.emplace_back(rowsFor(sweep.width(value))), owner, first);
    yield({}, true);
  }
  auto tails = sweep.loop(first, last, carried.take_front(numTotals));
  {
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(tails.getBody());
    Value owner = tails.getInductionVar();
    Values own = shared;
    sweep.loadOwner(own, owner);
    for (auto [value, rows] : llvm::zip(handed, handedRows))
      own[value] = fetch(rows, owner, first);
    SmallVector<Value> left, totals(tails.getRegionIterArgs());
    for (const Rows &rows : leftRows)
      left.push_back(fetch(rows, owner, first));
    emitTail(own, owner, left);
    sweep.finishOwner(own, owner, totals);
    yield(totals, false);
  }
  stage(walks.getResults());
  yield(SmallVector<Value>(tails.getResults()), true);
  return SmallVector<Value>(groups.getResults().take_front(numTotals));
}

SmallVector<Value> FlatOwners::emitOne(Value from, ValueRange init) {
  auto owners = sweep.loop(from, kernel.end(), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(owners.getBody());
  Value owner = owners.getInductionVar();
  ValueRange carried = owners.getRegionIterArgs();
  stage(carried.drop_front(numTotals));
  Values own = shared;
  sweep.loadOwner(own, owner);
  Range range;
  if (sweep.sweep.getAlongAttr())
    range = sweep.memberRange(owner);
  else
    sweep.prefetchForOwners(owner);
  sweep.levelOperations(Level::Owner, 0, own, owner, range);
  for (unsigned walk = 0; walk < plan.walks; ++walk) {
    sweep.emitWalk(walk, owner, range, own);
    sweep.levelOperations(Level::Owner, walk + 1, own, owner, range);
  }
  SmallVector<Value> totals(carried.take_front(numTotals));
  sweep.finishOwner(own, owner, totals);
  yield(totals, true);
  return SmallVector<Value>(owners.getResults().take_front(numTotals));
}

void FlatSweep::loadOwner(Values &values, Value owner) {
  for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments()))
    if (sweep.getAccessOf(i).getKind() == AccessKind::Owner ||
        sweep.getAccessOf(i).getKind() == AccessKind::GatherOwner)
      values[argument] = loadOperand(i, owner, {});
}

void FlatSweep::finishOwner(const Values &values, Value owner, SmallVectorImpl<Value> &totals) {
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Owner) {
      Value output = sweep.getResults()[i];
      storeRow(values.lookup(value), kernel.address(kernel.buffer(output), rowStart(output, owner), element), value);
    }
  unsigned slot = 0;
  for (mpk::AccumulateOp op : plan.shared) {
    Value input = values.lookup(op.getInput()), &now = totals[slot++];
    if (namesWinner(op.getKind())) {
      std::tie(now, totals[slot]) = winner(op.getKind(), input, owner, now, totals[slot]);
      ++slot;
      continue;
    }
    now = op.getKind() == ReduceKind::Max   ? flat.max(input, now)
          : op.getKind() == ReduceKind::Min ? flat.min(input, now)
                                            : flat.add(now, input);
  }
}

SmallVector<Value> FlatSweep::emitOwners(const Values &values, Value from, ValueRange init) {
  return FlatOwners(*this, values).emit(from, init);
}
