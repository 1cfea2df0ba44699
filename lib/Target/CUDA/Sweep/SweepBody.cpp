//===- SweepBody.cpp - What happens where in a sweep's kernel -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sweep/SweepBody.h"
#include "Body/RowParts.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

SweepBody::SweepBody(mpk::SweepOp sweep, const SweepPlan &plan)
    : yield(cast<mpk::YieldOp>(sweep.getBody().front().getTerminator())), sweep(sweep), plan(plan) {
  for (unsigned walk = 0; walk < plan.walks; ++walk)
    makeWalk(walk);
  findPlaces();
}

void SweepBody::makeWalk(unsigned number) {
  WalkBody walk;
  for (auto [i, softmax] : llvm::enumerate(plan.softmaxes))
    if (softmax.walk == number) {
      mpk::SoftmaxOp op = softmax.op;
      Statistic statistic{op.getInput(), int(i), {}, {}};
      for (auto [j, sum] : llvm::enumerate(plan.accumulates)) {
        if (sum.online == int(i))
          statistic.scaled.push_back(j);
        if (sum.statisticOf == int(i))
          statistic.accumulates.push_back(j);
      }
      walk.statistics.push_back(statistic);
    }
  for (auto [i, accumulate] : llvm::enumerate(plan.accumulates)) {
    if (!accumulate.perMember || accumulate.walk != number || accumulate.isFound())
      continue;
    mpk::AccumulateOp op = accumulate.op;
    if (isStatistic(op.getKind())) {
      Statistic statistic{op.getInput(), -1, {int(i)}, {}};
      for (auto [j, other] : llvm::enumerate(plan.accumulates))
        if (other.sameAs == int(i))
          statistic.accumulates.push_back(j);
      walk.statistics.push_back(statistic);
    } else {
      walk.accumulates.push_back(i);
    }
    walk.needsElement |= op.getKind() == ReduceKind::ArgMax || op.getKind() == ReduceKind::ArgMin;
  }
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member && plan.phases.lookup(value) == number)
      walk.results.push_back(i);
  walk.needsElement |= !walk.results.empty();

  // Backwards from what is wanted, to member-level operations and arguments.
  auto closure = [&](ArrayRef<Value> wanted) {
    llvm::SetVector<Value> found;
    SmallVector<Value> todo(wanted);
    while (!todo.empty()) {
      Value value = todo.pop_back_val();
      if (!isMember(value) || !found.insert(value))
        continue;
      if (Operation *op = value.getDefiningOp(); op && !isOperand(value))
        llvm::append_range(todo, op->getOperands());
    }
    return found;
  };
  SmallVector<Value> scores, all;
  for (const Statistic &statistic : walk.statistics)
    scores.push_back(statistic.score);
  llvm::append_range(all, scores);
  for (int i : walk.accumulates)
    all.push_back(plan.accumulates[i].op->getOperand(0));
  for (unsigned i : walk.results)
    for (auto &[part, place] : writtenParts(yield.getValues()[i]))
      all.push_back(part);
  llvm::SetVector<Value> early = closure(scores), needed = closure(all);
  for (Value operand : operandsOf(sweep))
    if (needed.contains(operand)) {
      walk.loaded.push_back(operand);
      walk.kept.insert(operand);
    }
  for (Operation &op : sweep.getBody().front()) {
    if (op.getNumResults() == 0 || !needed.contains(op.getResult(0)) || isOperand(op.getResult(0)))
      continue;
    Value result = op.getResult(0);
    (early.contains(result) ? walk.scoring : walk.adding).push_back(&op);
    if (auto own = dyn_cast<ElementOp>(op))
      walk.needsElement |= own.getMember();
  }
  // What crosses from `score` to later functions.
  for (Value score : scores)
    if (isMember(score))
      walk.kept.insert(score);
  auto use = [&](Value value) {
    if (early.contains(value))
      walk.kept.insert(value);
  };
  for (Operation *op : walk.adding)
    llvm::for_each(op->getOperands(), use);
  llvm::for_each(all, use);
  walks.push_back(std::move(walk));
}

void SweepBody::findPlaces() {
  int last = plan.walks;
  DenseMap<Value, int> latest;
  auto neededBy = [&](Value value, int place) {
    auto [it, isNew] = latest.try_emplace(value, place);
    if (!isNew)
      it->second = std::min(it->second, place);
  };
  for (auto [k, walk] : llvm::enumerate(walks)) {
    auto use = [&, k = int(k)](Value value) {
      if (!isMember(value))
        neededBy(value, k);
    };
    for (ArrayRef<Operation *> ops : {ArrayRef<Operation *>(walk.scoring), ArrayRef<Operation *>(walk.adding)})
      for (Operation *op : ops)
        llvm::for_each(op->getOperands(), use);
    for (const Statistic &statistic : walk.statistics)
      use(statistic.score);
    for (int i : walk.accumulates)
      use(plan.accumulates[i].op->getOperand(0));
    for (unsigned i : walk.results)
      for (auto &[part, place] : writtenParts(yield.getValues()[i]))
        use(part);
  }
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    for (auto &[part, place] : writtenParts(value))
      if (!isMember(part)) // A shared value that is a result is written when there may be no owner.
        neededBy(part, sweep.getYieldOf(i).getKind() == AccessKind::Shared && sweep.getOverAttr() ? -1 : last);
  for (mpk::AccumulateOp op : plan.shared)
    neededBy(op.getInput(), last);
  auto settle = [&](Value value) {
    int place = latest.contains(value) ? latest.lookup(value) : last;
    Level level = plan.levels.lookup(value);
    // Not before it is known; what all owners share is computed once if it is needed early.
    int known = level == Level::Shared ? -1 : int(plan.phases.lookup(value));
    if (level == Level::Shared && place <= 0)
      place = -1;
    return places[value] = std::max(known, std::max(place, -1));
  };
  for (Operation &op : llvm::reverse(sweep.getBody().front())) {
    if (op.getNumResults() == 0 || isMember(op.getResult(0)) || isJoined(op.getResult(0)))
      continue;
    auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
    if (accumulate && accumulate.getShared())
      continue;
    int place = settle(op.getResult(0));
    const auto *planned = llvm::find_if(plan.accumulates, [&](auto &p) { return p.op == &op; });
    if (planned != plan.accumulates.end() && planned->perMember) {
      places[op.getResult(0)] = plan.phases.lookup(op.getResult(0)); // Its walk's end makes it.
      continue;
    }
    if (isOperand(op.getResult(0)))
      continue;
    for (Value operand : op.getOperands())
      if (!isMember(operand))
        neededBy(operand, place);
  }
  for (Value operand : operandsOf(sweep))
    if (!isMember(operand) && isa<BlockArgument>(operand))
      settle(operand);
}

SmallVector<Value> SweepBody::valuesAt(int place) const {
  SmallVector<Value> values;
  auto consider = [&](Value value) {
    if (auto it = places.find(value); it != places.end() && it->second == place)
      values.push_back(value);
  };
  for (BlockArgument argument : sweep.getBody().getArguments())
    if (!argument.use_empty())
      consider(argument);
  for (Operation &op : sweep.getBody().front())
    for (Value result : op.getResults())
      consider(result);
  return values;
}
