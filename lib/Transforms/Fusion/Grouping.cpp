//===- Grouping.cpp - Which sweep makes the values that are kept ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second step of Grouping; the first is in Anchors.cpp. Anchors are placed in program order. An anchor may join a
// sweep over the same owners, along the same map or where one of the two has none, if it shares work with it, reads
// none of its results through a map, and no cycle of kernels arises. A reduction that uses another one of its own
// sweep, moved back to the members, makes a further phase.
//
//===----------------------------------------------------------------------===//

#include "Fusion/Grouping.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Analysis/Halves.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "fuse-message-passing"

namespace {

/// One in so many is a good part.
constexpr int64_t kGoodPart = 2;

std::string name(FlatSymbolRefAttr symbol) { return "@" + symbol.getValue().str(); }

/// A sweep in a remark.
std::string describe(const Group &group) {
  std::string text = group.over ? "the sweep over " + name(group.over) : std::string("the sweep over shared values");
  if (group.along)
    text += " along " + name(group.along);
  return text + " with " + std::to_string(group.anchors.size()) + (group.anchors.size() == 1 ? " result" : " results");
}

std::string explain(Obstacle obstacle, const Group &needs) {
  switch (obstacle) {
  case Obstacle::None:
    return "";
  case Obstacle::OtherMap:
    return "its members are those along " + name(needs.along);
  case Obstacle::Gathered:
    return "it reads a result of that sweep through a map";
  case Obstacle::ByMember:
    return "its members read a result of that sweep by their own row";
  case Obstacle::Everything:
    return "it needs a result over everything, known only when that sweep is over";
  case Obstacle::Cycle:
    return "it needs another kernel that needs that sweep";
  case Obstacle::Later:
    return "one of them belongs to the backward half, which may run long after that sweep";
  case Obstacle::SecondSweep:
    return "what needs it through a map could not join that sweep then";
  case Obstacle::OtherAxes:
    return "one of them is a large shared value with other axes";
  case Obstacle::LittleShared:
    return "both are long, and they have little in common";
  case Obstacle::TooLong:
    return "that sweep would have more statements than a kernel may have";
  case Obstacle::Tiled:
    return "a sweep that multiplies a few members at a time only sums";
  case Obstacle::NothingShared:
    return "they read nothing in common";
  }
  llvm_unreachable("every obstacle has a text");
}

} // namespace

Grouping::Grouping(func::FuncOp function, bool fuse, bool readDegrees, int64_t mostStatements)
    : readDegrees(fuse && readDegrees), mostStatements(mostStatements), choices(function) {
  findAnchors(function, fuse);
  late = findLate(function);
  for (Operation *anchor : anchors)
    for (Operation *source : findNeeds(anchor).gathered)
      gatherers[source].push_back(anchor);
  for (Operation &op : function.getBody().front())
    if (mpk::isFormed(&op) || anchors.contains(&op))
      place(&op, fuse);
  if (fuse)
    joinMembers();
}

bool Grouping::reaches(unsigned from, unsigned to) const {
  SmallVector<unsigned> stack{from};
  DenseSet<unsigned> seen;
  while (!stack.empty()) {
    unsigned group = stack.pop_back_val();
    if (group == to)
      return true;
    if (seen.insert(group).second)
      llvm::append_range(stack, groups[group].uses);
  }
  return false;
}

Grouping::Needs Grouping::findNeeds(Operation *op, FlatSymbolRefAttr member) const {
  Needs needs;
  needs.late = late.contains(op);
  auto read = [&](Value value, Obstacle obstacle) {
    while (isView(value.getDefiningOp())) {
      value = value.getDefiningOp()->getOperand(0);
      obstacle = Obstacle::Gathered;
    }
    needs.reads.insert(value);
    Operation *source = value.getDefiningOp();
    if (source && obstacle != Obstacle::None)
      needs.gathered.insert(source);
    std::optional<unsigned> group = source ? getGroupOf(source) : std::nullopt;
    if (!group)
      return;
    needs.uses.insert(*group);
    if (isAllReduction(source))
      obstacle = Obstacle::Everything;
    else if (apart.contains(source) && obstacle == Obstacle::None)
      obstacle = Obstacle::TooLong;
    if (obstacle != Obstacle::None)
      needs.barred.try_emplace(*group, obstacle);
  };
  // Where a map leads that the program chooses is known once its choice is made.
  auto followed = [&](Operation *mover) {
    for (Operation *choice : choices.of(mover))
      if (std::optional<unsigned> group = getGroupOf(choice))
        needs.uses.insert(*group);
  };
  followed(op);
  if (mpk::isFormed(op)) {
    for (Value operand : op->getOperands())
      read(operand, Obstacle::Gathered);
    needs.product = op;
    return needs;
  }

  needs.over = getOwnerSpace(op);
  needs.along = getMemberMap(op);
  needs.statements = statementsOf(op);
  needs.unrolled = unrolledOf(op);
  needs.tiled = mpk::isTiled(op); // A product whose own rows are kept.
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    if (through && !member && anchors.contains(through)) { // A moved copy that is kept is read by its own row.
      read(through.getResult(), Obstacle::None);
      return false;
    }
    Operation *source = value.getDefiningOp();
    if (through)
      followed(through);
    if (source && isa<DegreeOp>(source))
      followed(source);
    if (source && isa<ConstantOp, IotaOp>(source))
      return false;
    if (auto norm = dyn_cast_or_null<NormOp>(source);
        norm && !through && getRecomputed(norm) && !anchors.contains(norm)) {
      if (norm.getAlongAttr() != member) {
        walk.run(getRecomputed(norm), member);
        return false;
      }
      needs.softmaxes.insert(norm);
    }
    needs.tiled |= !through && mpk::isTiled(source);
    bool inner = source && !through && !anchors.contains(source) && !mpk::isFormed(source) && !isView(source);
    if (!inner) {
      // A member sees an anchor on its own space as memory, unless it is the sweep's own softmax.
      bool ownSoftmax = source && isa<NormOp>(source) && getMemberMap(source) == member;
      read(value, through ? Obstacle::Gathered : member && !ownSoftmax ? Obstacle::ByMember : Obstacle::None);
    } else if (needs.computed.insert({value, member}).second) {
      needs.statements += statementsOf(source);
      needs.unrolled += unrolledOf(source);
    }
    return inner;
  };
  walk.visit = visit;
  if (BroadcastOp move = getMove(op->getResult(0))) {
    followed(move);
    read(move.getInput(), Obstacle::Gathered);
  } else {
    walk.operands(op, member);
  }
  return needs;
}

/// Whether a value is computed from the result of one of the operations.
static bool dependsOn(Operation *op, function_ref<bool(Operation *)> isOne) {
  SmallVector<Value> pending(op->getOperands());
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *source = pending.pop_back_val().getDefiningOp();
    if (!source || !seen.insert(source).second)
      continue;
    if (isOne(source))
      return true;
    llvm::append_range(pending, source->getOperands());
  }
  return false;
}

/// A row value and a sum along a map are better apart where another sum along that map reads the row value through a
/// map: the sums can then be one sweep, after that of the row value. Together they would be two.
bool Grouping::needsSecondSweep(Operation *op, const Needs &needs, const Group &group) const {
  if (bool(group.along) == bool(needs.along))
    return false;
  FlatSymbolRefAttr map = group.along ? group.along : needs.along;
  auto isSum = [&](Operation *other) { return getMemberMap(other) == map; };
  // The row values that are to join the sums: `op` itself, or the group's.
  SmallVector<Operation *> rows;
  if (group.along)
    rows.push_back(op);
  else
    llvm::append_range(rows, group.anchors);
  auto isOneOfSums = [&](Operation *other) {
    return group.along ? group.anchors.contains(other) && isSum(other) : other == op;
  };
  return llvm::any_of(rows, [&](Operation *row) {
    return llvm::any_of(gatherers.lookup(row), [&](Operation *later) {
      return later != op && isSum(later) && getOwnerSpace(later) == needs.over && !groupOf.contains(later) &&
             !dependsOn(later, isOneOfSums);
    });
  });
}

Obstacle Grouping::findObstacle(Operation *op, const Needs &needs, unsigned candidate) const {
  const Group &group = groups[candidate];
  if (group.along && needs.along && group.along != needs.along)
    return Obstacle::OtherMap;
  if (group.late != needs.late)
    return Obstacle::Later;
  if (auto it = needs.barred.find(candidate); it != needs.barred.end())
    return it->second;
  // One owner: the axes of a large value are what its sweep loops over, for all that it computes.
  auto rowOf = [](Operation *op) { return getFeatureShape(op->getResult(0).getType()); };
  auto isLarge = [&](Operation *op) { return RefTensor::product(rowOf(op)) > kLargeShared; };
  if (!needs.over && llvm::any_of(group.anchors, [&](Operation *other) {
        return (isLarge(other) || isLarge(op)) && rowOf(other) != rowOf(op);
      }))
    return Obstacle::OtherAxes;
  // Its own sums are known when all members have been seen, and rows are no wider than what registers hold.
  bool rows = !group.along && !needs.along; // A tile's rows are an ordinary sweep at the end.
  // Blocks of tiles merge sums and maxima, but not argmax.
  auto namesSharedWinner = [](Operation *anchor) {
    auto reduce = dyn_cast<ReduceOp>(anchor);
    return reduce && llvm::is_contained({ReduceKind::ArgMax, ReduceKind::ArgMin}, reduce.getKind()) &&
           !getResidency(reduce.getType());
  };
  if ((group.tiled || needs.tiled) &&
      (needs.uses.contains(candidate) || bool(group.along) != bool(needs.along) ||
       (group.tiled != needs.tiled && !rows) || isa<NormOp>(op) || !needs.softmaxes.empty() || namesSharedWinner(op) ||
       llvm::any_of(group.anchors, namesSharedWinner)))
    return Obstacle::Tiled;
  // A degree reads nothing, so it costs nothing wherever members are walked anyway.
  bool free = needs.reads.empty() || group.reads.empty();
  if (!free && !needs.uses.contains(candidate) &&
      llvm::none_of(needs.reads, [&](Value value) { return group.reads.contains(value); }))
    return Obstacle::NothingShared;
  if (llvm::any_of(needs.uses, [&](unsigned used) { return used != candidate && reaches(used, candidate); }))
    return Obstacle::Cycle;
  if (needsSecondSweep(op, needs, group))
    return Obstacle::SecondSweep;
  int64_t statements = group.statements + needs.statements;
  if (statements > mostStatements)
    for (auto [value, member] : needs.computed)
      if (group.computed.contains({value, member}))
        statements -= statementsOf(value.getDefiningOp());
  if (statements > mostStatements)
    return Obstacle::TooLong;
  bool isLong = group.unrolled + needs.unrolled > kLongBody;
  return isLong && !sharesMuch(needs, group) ? Obstacle::LittleShared : Obstacle::None;
}

/// Whether an anchor has a good part of what it reads or computes in common with a sweep. If not, a long sweep that
/// makes it too holds more values in registers and saves hardly anything.
bool Grouping::sharesMuch(const Needs &needs, const Group &group) {
  int64_t read = 0, readToo = 0, madeToo = 0;
  for (Value value : needs.reads) {
    if (!getResidency(value.getType()))
      continue;
    Operation *source = value.getDefiningOp();
    bool isCommon = group.reads.contains(value) || (source && group.anchors.contains(source));
    read += getFeatureElements(value.getType());
    readToo += isCommon ? getFeatureElements(value.getType()) : 0;
  }
  for (auto [value, member] : needs.computed)
    if (group.computed.contains({value, member}))
      madeToo += unrolledOf(value.getDefiningOp());
  return kGoodPart * readToo >= read || kGoodPart * madeToo >= needs.unrolled;
}

/// Makes an anchor a result of another sweep.
void Grouping::join(Operation *op, const Needs &needs, unsigned candidate) {
  Group &group = groups[candidate];
  // A reader of the group through a map must not become part of it by way of an anchor that is already there.
  if (!group.along)
    group.along = needs.along;
  group.anchors.insert(op);
  group.reads.insert_range(needs.reads);
  group.statements += statementsOf(op);
  group.unrolled += unrolledOf(op);
  for (auto [value, member] : needs.computed)
    if (group.computed.insert({value, member}).second) {
      group.statements += statementsOf(value.getDefiningOp());
      group.unrolled += unrolledOf(value.getDefiningOp());
    }
  group.tiled |= needs.tiled;
  for (unsigned used : needs.uses)
    if (used != candidate)
      group.uses.insert(used);
  groupOf[op] = candidate;
  useStatistics(needs, candidate);
}

void Grouping::place(Operation *op, bool fuse) {
  Needs needs = findNeeds(op);
  groupOf[op] = groups.size();
  if (needs.product) {
    groups.push_back(std::move(needs));
    return;
  }
  // Join the latest sweep that allows it and shares something; else remember what was in the way of the latest one.
  std::optional<std::pair<unsigned, Obstacle>> declined;
  for (unsigned candidate = groups.size(); fuse && candidate-- > 0;) {
    const Group &group = groups[candidate];
    if (group.product || group.over != needs.over)
      continue;
    if (Obstacle obstacle = findObstacle(op, needs, candidate); obstacle != Obstacle::None) {
      if (!declined || declined->second == Obstacle::NothingShared)
        declined = {candidate, obstacle};
      continue;
    }
    remarkPassed(op, DEBUG_TYPE, "fuse", [&] { return "joins " + describe(group); });
    join(op, needs, candidate);
    return;
  }
  if (declined)
    remarkMissed(
        op, DEBUG_TYPE, "fuse", [&] { return "does not join " + describe(groups[declined->first]); },
        [&] { return explain(declined->second, needs); });
  needs.anchors.insert(op);
  groups.push_back(needs);
  useStatistics(needs, groups.size() - 1);
}

SmallVector<unsigned, 2> Grouping::findMakers(Operation *softmax, unsigned group) const {
  SmallVector<unsigned, 2> makers;
  for (Operation *statistic : recomputed.lookup(softmax).statistics) {
    std::optional<unsigned> maker = getGroupOf(statistic);
    if (!maker || *maker == group)
      return {};
    makers.push_back(*maker);
  }
  return makers;
}

/// Where the statistics of a softmax are kept by an earlier sweep, a later one along the same map reads them.
void Grouping::useStatistics(const Needs &needs, unsigned group) {
  for (Operation *softmax : needs.softmaxes) {
    SmallVector<unsigned, 2> makers = findMakers(softmax, group);
    if (makers.empty() || llvm::any_of(makers, [&](unsigned maker) { return reaches(maker, group); }))
      continue;
    groups[group].uses.insert_range(makers);
    for (Operation *statistic : recomputed.lookup(softmax).statistics)
      groups[group].reads.insert(statistic->getResult(0));
  }
}

bool Grouping::readsStatistics(Operation *softmax, unsigned group) const {
  SmallVector<unsigned, 2> makers = findMakers(softmax, group);
  return !makers.empty() && llvm::all_of(makers, [&](unsigned maker) { return groups[group].uses.contains(maker); });
}

SmallVector<unsigned> Grouping::getOrder() const {
  SmallVector<unsigned> order;
  SmallVector<bool> done(groups.size(), false);
  // Depth first; `uses` has no cycles by construction.
  auto visit = [&](auto &&self, unsigned group) -> void {
    if (done[group])
      return;
    done[group] = true;
    for (unsigned used : groups[group].uses)
      self(self, used);
    order.push_back(group);
  };
  // What is computed once more comes when it is needed.
  auto rank = [&](const Group &group) {
    auto isAgain = [](Operation *op) { return op->hasAttr(kAgainAttr); };
    bool again = group.product ? isAgain(group.product) : llvm::all_of(group.anchors, isAgain);
    return !group.late ? 0 : again ? 2 : 1;
  };
  for (int wanted : {0, 1, 2})
    for (unsigned group = 0; group < groups.size(); ++group)
      if (rank(groups[group]) == wanted)
        visit(visit, group);
  return order;
}
