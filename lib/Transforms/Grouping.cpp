//===- Grouping.cpp - Which values are kept, and which sweep makes them ---===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step 1, anchors. A value is computed where it is needed, again for each need, unless it is an anchor: a reduction, an
// output, an operand of a product, or read through a map (a broadcast along another map than its user's sweep). A
// softmax is an anchor only where it is seen otherwise than by a member of a sweep along its own map. A degree is at
// hand with the graph, as the difference of two offsets of its map's index; what is made of it alone is made where it
// is used.
//
// Step 2, groups. Anchors are placed in program order. An anchor may join a sweep over the same owners, along the same
// map or where one of the two has none, if it shares work with it, reads none of its results through a map, and no
// cycle of kernels arises. A reduction that uses another one of its own sweep, moved back to the members, makes a
// further phase.
//
//===----------------------------------------------------------------------===//

#include "Grouping.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Transforms/Halves.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "fuse-message-passing"

namespace {

bool isAllReduction(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getAlong() == kAllMap;
}

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
  case Obstacle::TooLong:
    return "that sweep would have more statements than a kernel may have";
  case Obstacle::Tiled:
    return "a sweep that multiplies a few members at a time only sums";
  case Obstacle::NothingShared:
    return "they read nothing in common";
  }
  llvm_unreachable("every obstacle has a text");
}

/// A product of shared values that takes more than the launch of a kernel would: each lane would hold factors as a
/// whole.
constexpr int64_t kLongSharedProduct = 4096;
bool isLongProduct(Operation *op) {
  auto product = dyn_cast<ContractOp>(op);
  return product && !getResidency(product.getType()) && product.flopsPerRow() > kLongSharedProduct;
}

/// A part of a shared value, or several joined, that rows meet: in a sweep's body it would tie the rows' axis to its
/// own, so that no number of it could be worked on by itself. Kept in memory it is an operand like any other.
bool bindsAxes(Operation *op) {
  int64_t axis = -1;
  if (auto slice = dyn_cast<SliceOp>(op))
    axis = slice.getAxis();
  else if (auto join = dyn_cast<ConcatOp>(op))
    axis = join.getAxis();
  if (axis < 0 || getResidency(op->getResult(0).getType()) || getFeatureShape(op->getResult(0).getType())[axis] == 1)
    return false;
  SmallVector<Operation *> pending(op->getUsers());
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *user = pending.pop_back_val();
    if (!seen.insert(user).second || user->getNumResults() != 1)
      continue;
    if (getResidency(user->getResult(0).getType()))
      return true;
    llvm::append_range(pending, user->getUsers());
  }
  return false;
}

} // namespace

FlatSymbolRefAttr gnnc::getMemberMap(Operation *op) {
  if (isAllReduction(op))
    return {};
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAlongAttr();
  if (auto norm = dyn_cast<NormOp>(op))
    return norm.getAlongAttr();
  if (auto degree = dyn_cast<DegreeOp>(op))
    return degree.getAlongAttr();
  return {};
}

FlatSymbolRefAttr gnnc::getOwnerSpace(Operation *op) {
  if (isAllReduction(op))
    return getResidency(op->getOperand(0).getType());
  if (auto norm = dyn_cast<NormOp>(op)) {
    SymbolTableCollection symbols;
    return symbols.lookupNearestSymbolFrom<MapOp>(op, norm.getAlongAttr()).getToAttr();
  }
  return getResidency(op->getResult(0).getType());
}

void BodyWalk::run(Value root, FlatSymbolRefAttr member) {
  if (!seen.insert({root, member}).second)
    return;
  Operation *op = root.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op)) {
    if (move.getAlong() == kAllMap)
      return run(move.getInput(), {}); // A shared value meets every row.
    if (member && move.getAlongAttr() == member)
      return run(move.getInput(), {}); // Back to the owner: no movement at all.
    visit(move.getInput(), member, move);
    return;
  }
  if (!visit(root, member, {}) || !op)
    return;
  operands(op, member);
}

void BodyWalk::operands(Operation *op, FlatSymbolRefAttr member) {
  if (FlatSymbolRefAttr along = getMemberMap(op))
    member = along;
  else if (isAllReduction(op))
    member = {};
  for (Value operand : op->getOperands())
    run(operand, member);
}

Grouping::Grouping(func::FuncOp function, bool fuse, bool readDegrees, int64_t mostStatements)
    : readDegrees(fuse && readDegrees), mostStatements(mostStatements) {
  findAnchors(function, fuse);
  late = findLate(function);
  for (Operation *anchor : anchors)
    for (Operation *source : findNeeds(anchor).gathered)
      gatherers[source].push_back(anchor);
  for (Operation &op : function.getBody().front())
    if (mpk::isFormed(&op) || anchors.contains(&op))
      place(&op, fuse);
}

/// Makes the operation behind a value an anchor, if it needs to be one.
void Grouping::require(Value value) {
  Operation *op = value.getDefiningOp();
  if (isView(op))
    return require(op->getOperand(0));
  if (op && !mpk::isFormed(op) && anchors.insert(op))
    pending.push_back(op);
}

void Grouping::requireRows(Value value) {
  if (!isAtHand(value.getDefiningOp()))
    require(value);
}

/// Joins of joins are one row of many parts; what is joined of more than a body may have is kept part by part.
void Grouping::requireLongJoins(func::FuncOp function) {
  DenseMap<Value, int64_t> parts; // 1 if not there
  auto partsOf = [&](Value value) {
    auto it = parts.find(value);
    return it == parts.end() || anchors.contains(value.getDefiningOp()) ? int64_t(1) : it->second;
  };
  for (Operation &op : function.getBody().front()) {
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      int64_t all = 0;
      for (Value input : concat.getInputs())
        all += partsOf(input);
      if (all > kMostParts && all > int64_t(concat.getInputs().size())) {
        remarkPassed(concat, DEBUG_TYPE, "join", [&] {
          return "rows are kept before they are joined: " + std::to_string(all) + " parts are more than " +
                 std::to_string(kMostParts);
        });
        for (Value input : concat.getInputs())
          if (partsOf(input) > 1) {
            require(input);
            apart.insert(input.getDefiningOp());
          }
        all = concat.getInputs().size();
      }
      parts[concat.getResult()] = all;
    } else if (op.getNumResults() == 1 && !isa<ReduceOp, BroadcastOp, SliceOp>(op) && !mpk::isFormed(&op)) {
      int64_t most = 1;
      for (Value operand : op.getOperands())
        most = std::max(most, partsOf(operand));
      if (most > 1)
        parts[op.getResult(0)] = most;
    }
  }
}

void Grouping::findAnchors(func::FuncOp function, bool fuse) {
  if (fuse)
    requireLongJoins(function);
  for (Operation &op : function.getBody().front()) {
    if (isa<ReduceOp>(op) || (isa<DegreeOp>(op) && !readDegrees) || op.hasAttr(kKeepAttr))
      require(op.getResult(0));
    if (mpk::isFormed(&op))
      for (Value operand : op.getOperands())
        require(operand);
    if (auto tiled = dyn_cast<ContractOp>(op); tiled && mpk::isTiled(&op) && !getResidency(tiled.getRhs().getType()))
      require(tiled.getRhs()); // A weight is multiplied where it is in memory.
    if (isa<func::ReturnOp>(op))
      for (Value value : op.getOperands())
        require(value);
    if (op.getNumResults() != 1 || isa<BroadcastOp, ConstantOp, IotaOp>(op) || isView(&op) || mpk::isFormed(&op))
      continue;
    Type type = op.getResult(0).getType();
    bool large = !getResidency(type) && getFeatureElements(type) > kLargeShared;
    if (fuse && large && !anchors.contains(&op))
      remarkMissed(
          &op, DEBUG_TYPE, "recompute", [] { return "shared value is kept in memory"; },
          [&] {
            return std::to_string(getFeatureElements(type)) +
                   " numbers are too many to compute in each block of each kernel";
          });
    bool binds = bindsAxes(&op), isLong = isLongProduct(&op);
    if (fuse && isLong && !large && !anchors.contains(&op))
      remarkMissed(
          &op, DEBUG_TYPE, "recompute", [] { return "shared value is kept in memory"; },
          [&] {
            return std::to_string(cast<ContractOp>(op).flopsPerRow()) +
                   " operations are too many to compute in each block of each kernel";
          });
    if (fuse && binds && !large && !anchors.contains(&op))
      remarkMissed(
          &op, DEBUG_TYPE, "recompute", [] { return "shared value is kept in memory"; },
          [] { return "a sweep that cut or joined an axis could not work on each number of its rows by itself"; });
    if (!fuse || large || binds || isLong)
      require(op.getResult(0));
  }
  requireOperands();
  // What that leaves to compute in one place may be more than a kernel can have; cutting makes new anchors.
  for (unsigned i = 0; fuse && i < anchors.size(); ++i) {
    cutLongBody(anchors[i]);
    requireOperands();
  }
  for (auto degree : function.getOps<DegreeOp>())
    if (isAtHand(degree))
      remarkPassed(degree, DEBUG_TYPE, "degree", [&] {
        return "degree is read off the index of " + name(degree.getAlongAttr()) + " where it is used";
      });
    else if (readDegrees)
      remarkMissed(
          degree, DEBUG_TYPE, "degree", [] { return "degree is made by a sweep"; },
          [] { return "an output, a view or a product has it in memory"; });
}

/// Makes anchors of what the pending anchors need to have in memory.
void Grouping::requireOperands() {
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    Operation *op = value.getDefiningOp();
    if (through) {
      requireRows(value);
      return false;
    }
    if (auto norm = dyn_cast_or_null<NormOp>(op); norm && norm.getAlongAttr() != member && !anchors.contains(op)) {
      // Seen from elsewhere: keep two numbers for each owner, not one for each member (R8).
      auto [it, fresh] = recomputed.try_emplace(op);
      if (fresh) {
        OpBuilder b(op->getContext());
        b.setInsertionPointAfter(op);
        it->second.value = norm.recompute(b);
        for (Operation *made = op->getNextNode(), *end = it->second.value.getDefiningOp(); made != end;
             made = made->getNextNode())
          if (isa<ReduceOp>(made)) {
            it->second.statistics.push_back(made);
            require(made->getResult(0));
          }
        remarkPassed(op, DEBUG_TYPE, "recompute",
                     [] { return "statistics of each owner are kept, not numbers of members"; });
      }
      walk.run(Value(it->second.value), member);
      return false;
    }
    if (isView(op)) { // What it views is in memory.
      require(value);
      return false;
    }
    return op && !mpk::isFormed(op) && !anchors.contains(op);
  };
  walk.visit = visit;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (BroadcastOp move = getMove(op->getResult(0))) // A moved copy that is kept: its source is read through the map.
      requireRows(move.getInput());
    else
      walk.operands(op, {});
  }
}

/// Keeps values in memory where an anchor's body would be longer than a kernel may be. The body's values are taken in
/// an order in which each comes after those it needs. Such an order may be cut anywhere, and what is needed on both
/// sides is kept; it is cut in the second half of what one kernel may have, where that is least.
void Grouping::cutLongBody(Operation *anchor) {
  SmallVector<std::pair<Value, FlatSymbolRefAttr>> order;
  DenseMap<std::pair<Value, Attribute>, unsigned> places; // in the order
  int64_t statements = 0;
  bool isTiled = mpk::isTiled(anchor);
  // Depth first, without recursion: bodies may be long.
  struct Frame {
    Value value;
    FlatSymbolRefAttr member;
    SmallVector<std::pair<Value, FlatSymbolRefAttr>> needs;
  };
  auto isInner = [&](Operation *op) {
    return op && op->getNumResults() == 1 && !anchors.contains(op) && !mpk::isFormed(op) && !isView(op) &&
           !isa<ConstantOp, IotaOp, BroadcastOp>(op) && !isAtHand(op);
  };
  DenseSet<std::pair<Value, Attribute>> seen;
  auto needsOf = [&](Operation *op, FlatSymbolRefAttr member) {
    SmallVector<std::pair<Value, FlatSymbolRefAttr>> needs;
    if (FlatSymbolRefAttr along = getMemberMap(op))
      member = along;
    else if (isAllReduction(op))
      member = {};
    for (Value operand : op->getOperands()) {
      FlatSymbolRefAttr from = member;
      // Of movements, those that lead back to the owner or from a shared value are none in a body.
      while (auto move = operand.getDefiningOp<BroadcastOp>()) {
        if (move.getAlong() != kAllMap && move.getAlongAttr() != from)
          break;
        operand = move.getInput();
        from = {};
      }
      if (!getResidency(operand.getType()))
        from = {};
      if (isInner(operand.getDefiningOp()))
        needs.push_back({operand, from});
    }
    return needs;
  };
  SmallVector<Frame> stack;
  stack.push_back({Value(), {}, needsOf(anchor, {})});
  while (!stack.empty()) {
    Frame &frame = stack.back();
    if (frame.needs.empty()) {
      if (frame.value) {
        places[{frame.value, frame.member}] = order.size();
        order.push_back({frame.value, frame.member});
        statements += statementsOf(frame.value.getDefiningOp());
        isTiled |= mpk::isTiled(frame.value.getDefiningOp());
      }
      stack.pop_back();
      continue;
    }
    auto [value, member] = frame.needs.pop_back_val();
    if (seen.insert({value, member}).second)
      stack.push_back({value, member, needsOf(value.getDefiningOp(), member)});
  }
  // What is multiplied in tiles was found to fit as it is.
  if (statements <= mostStatements || isTiled)
    return;

  SmallVector<unsigned> lastUse(order.size(), 0);
  for (auto [i, key] : llvm::enumerate(order))
    for (auto need : needsOf(key.first.getDefiningOp(), key.second))
      lastUse[places.lookup(need)] = i;
  for (auto need : needsOf(anchor, {}))
    lastUse[places.lookup(need)] = order.size();
  llvm::SetVector<unsigned> alive; // places whose values are needed later
  int64_t since = 0;
  std::optional<std::pair<int64_t, SmallVector<unsigned>>> best; // numbers that would be kept, and where
  unsigned bestPlace = 0;
  for (unsigned i = 0; i < order.size(); ++i) {
    int64_t more = statementsOf(order[i].first.getDefiningOp());
    if (best && since + more > mostStatements) {
      for (unsigned place : best->second)
        require(order[place].first);
      // Go on behind the cut.
      for (unsigned place : best->second)
        alive.remove(place);
      since = 0;
      for (unsigned place = bestPlace + 1; place < i; ++place)
        since += statementsOf(order[place].first.getDefiningOp());
      best.reset();
    }
    since += more;
    alive.remove_if([&](unsigned place) { return lastUse[place] <= i; });
    if (lastUse[i] > i)
      alive.insert(i);
    if (2 * since < mostStatements)
      continue;
    int64_t numbers = 0;
    for (unsigned place : alive)
      numbers += getFeatureElements(order[place].first.getType());
    if (!best || numbers <= best->first) {
      best = {numbers, llvm::to_vector(alive)};
      bestPlace = i;
    }
  }
  remarkPassed(anchor, DEBUG_TYPE, "cut", [&] {
    return "what it is computed from is kept in parts: a kernel of " + std::to_string(statements) +
           " statements would be longer than " + std::to_string(mostStatements);
  });
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

Grouping::Needs Grouping::findNeeds(Operation *op) const {
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
  if (mpk::isFormed(op)) {
    for (Value operand : op->getOperands())
      read(operand, Obstacle::Gathered);
    needs.product = op;
    return needs;
  }

  needs.over = getOwnerSpace(op);
  needs.along = getMemberMap(op);
  needs.statements = statementsOf(op);
  needs.tiled = mpk::isTiled(op); // A product whose own rows are kept.
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    if (through && !member && anchors.contains(through)) { // A moved copy that is kept is read by its own row.
      read(through.getResult(), Obstacle::None);
      return false;
    }
    Operation *source = value.getDefiningOp();
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
    }
    return inner;
  };
  walk.visit = visit;
  if (BroadcastOp move = getMove(op->getResult(0)))
    read(move.getInput(), Obstacle::Gathered);
  else
    walk.operands(op, {});
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
  // Blocks of tiles merge sums and largest numbers, but not whose these are.
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
  return statements > mostStatements ? Obstacle::TooLong : Obstacle::None;
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
    Group &group = groups[candidate];
    if (group.product || group.over != needs.over)
      continue;
    if (Obstacle obstacle = findObstacle(op, needs, candidate); obstacle != Obstacle::None) {
      if (!declined || declined->second == Obstacle::NothingShared)
        declined = {candidate, obstacle};
      continue;
    }
    remarkPassed(op, DEBUG_TYPE, "fuse", [&] { return "joins " + describe(group); });
    // A reader of the group through a map must not become part of it by way of an anchor that is already there.
    if (!group.along)
      group.along = needs.along;
    group.anchors.insert(op);
    group.reads.insert_range(needs.reads);
    group.statements += statementsOf(op);
    for (auto [value, member] : needs.computed)
      if (group.computed.insert({value, member}).second)
        group.statements += statementsOf(value.getDefiningOp());
    group.tiled |= needs.tiled;
    for (unsigned used : needs.uses)
      if (used != candidate)
        group.uses.insert(used);
    groupOf[op] = candidate;
    useStatistics(needs, candidate);
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
