//===- Grouping.cpp - Which values are kept, and which sweep makes them ---===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step 1, anchors. A value is computed where it is needed, again for each need, unless it is an anchor: a reduction, an
// output, an operand of a product, or read through a map (a broadcast along another map than its user's sweep). A softmax
// is an anchor only where it is seen otherwise than by a member of a sweep along its own map.
//
// Step 2, groups. Anchors are placed in program order. An anchor may join a sweep over the same owners, along the same map or
// where one of the two has none, if it shares work with it, reads none of its results through a map, and no
// cycle of kernels arises. A reduction that uses another one of its own sweep, moved back to the members, makes a further phase.
//
//===----------------------------------------------------------------------===//

#include "Grouping.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// Shared values above this many numbers are computed once, not once in each block of each kernel.
constexpr int64_t kLargeShared = 1024;

bool isAllReduction(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getAlong() == kAllMap;
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

Grouping::Grouping(func::FuncOp function, bool fuse) {
  findAnchors(function, fuse);
  for (Operation &op : function.getBody().front())
    if (isa<mpk::ProductOp>(op) || anchors.contains(&op))
      place(&op, fuse);
}

/// Makes the operation behind a value an anchor, if it needs to be one.
void Grouping::require(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto view = dyn_cast_or_null<SpreadOp>(op))
    return require(view.getInput());
  if (op && !isa<mpk::ProductOp>(op) && anchors.insert(op))
    pending.push_back(op);
}

void Grouping::findAnchors(func::FuncOp function, bool fuse) {
  for (Operation &op : function.getBody().front()) {
    if (isa<ReduceOp, DegreeOp>(op))
      require(op.getResult(0));
    if (auto product = dyn_cast<mpk::ProductOp>(op)) {
      require(product.getLhs());
      require(product.getRhs());
    }
    if (isa<func::ReturnOp>(op))
      for (Value value : op.getOperands())
        require(value);
    if (op.getNumResults() != 1 || isa<mpk::ProductOp, BroadcastOp, ConstantOp, SpreadOp>(op))
      continue;
    Type type = op.getResult(0).getType();
    if (!fuse || (!getResidency(type) && getFeatureElements(type) > kLargeShared))
      require(op.getResult(0));
  }
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    Operation *op = value.getDefiningOp();
    if (through) {
      require(value);
      return false;
    }
    if (auto norm = dyn_cast_or_null<NormOp>(op); norm && norm.getAlongAttr() != member)
      require(value);
    return op && !isa<mpk::ProductOp, SpreadOp>(op) && !anchors.contains(op);
  };
  walk.visit = visit;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (auto move = dyn_cast<BroadcastOp>(op)) // A moved copy that is kept: its source is read through the map.
      require(move.getInput());
    else
      walk.operands(op, {});
  }
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

void Grouping::place(Operation *op, bool fuse) {
  // What the anchor reads, and which groups it must not join because it reads them through a map.
  Group needs;
  DenseSet<unsigned> barred;
  auto read = [&](Value value, bool bar) {
    if (auto view = value.getDefiningOp<SpreadOp>()) {
      value = view.getInput();
      bar = true;
    }
    needs.reads.insert(value);
    if (std::optional<unsigned> group = value.getDefiningOp() ? getGroupOf(value.getDefiningOp()) : std::nullopt) {
      needs.uses.insert(*group);
      // A sum over everything is known only when its sweep is over.
      if (bar || isAllReduction(value.getDefiningOp()))
        barred.insert(*group);
    }
  };
  if (auto product = dyn_cast<mpk::ProductOp>(op)) {
    read(product.getLhs(), true);
    read(product.getRhs(), true);
    needs.product = op;
    groupOf[op] = groups.size();
    groups.push_back(std::move(needs));
    return;
  }

  needs.over = getOwnerSpace(op);
  needs.along = getMemberMap(op);
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    Operation *source = value.getDefiningOp();
    if (source && isa<ConstantOp>(source))
      return false;
    bool inner = source && !through && !anchors.contains(source) && !isa<mpk::ProductOp, SpreadOp>(source);
    if (!inner) {
      // A member sees an anchor on its own space as memory, unless it is the sweep's own softmax.
      bool ownSoftmax = source && isa<NormOp>(source) && getMemberMap(source) == member;
      read(value, through || (member && !ownSoftmax));
    }
    return inner;
  };
  walk.visit = visit;
  if (auto move = dyn_cast<BroadcastOp>(op))
    read(move.getInput(), true);
  else
    walk.operands(op, {});

  // Join the latest sweep that allows it and shares something.
  for (unsigned candidate = groups.size(); fuse && candidate-- > 0;) {
    Group &group = groups[candidate];
    if (group.product || group.over != needs.over || (group.along && needs.along && group.along != needs.along))
      continue;
    if (barred.contains(candidate))
      continue;
    bool shares = needs.uses.contains(candidate) ||
                  llvm::any_of(needs.reads, [&](Value value) { return group.reads.contains(value); });
    if (!shares || llvm::any_of(needs.uses, [&](unsigned used) { return used != candidate && reaches(used, candidate); }))
      continue;
    // A reader of the group through a map must not become part of it by way of an anchor that is already there.
    if (!group.along)
      group.along = needs.along;
    group.anchors.insert(op);
    group.reads.insert_range(needs.reads);
    for (unsigned used : needs.uses)
      if (used != candidate)
        group.uses.insert(used);
    groupOf[op] = candidate;
    return;
  }
  needs.anchors.insert(op);
  groupOf[op] = groups.size();
  groups.push_back(std::move(needs));
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
  for (unsigned group = 0; group < groups.size(); ++group)
    visit(visit, group);
  return order;
}
