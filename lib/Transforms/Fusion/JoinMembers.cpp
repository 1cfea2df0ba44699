//===- JoinMembers.cpp - Results of members that sweeps of owners make ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of Grouping. A result with a row for each member, as the gradient of an attention's edge features, is
// made of what the sweeps over owners read too: rows of both ends, weights of the softmax, sums of the owner. Such a
// sweep sees each member once in each walk, knows its number, and can write its row. So results that nothing else reads
// leave their own sweep for one along a map of their space that makes no further walk for them, where what both read is
// at least twice what is written and read besides.
//
//===----------------------------------------------------------------------===//

#include "Fusion/Grouping.h"
#include "Remarks.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "fuse-message-passing"

/// What both sweeps read is at least so many times what is written, or read besides.
static constexpr int64_t kReadForWritten = 2;
/// The first map of the program counts an eighth more: members are often in its order, and rows written one after the
/// other.
static constexpr int64_t kShareForOrder = 8;
/// Bytes that writing a row costs at least, as it may stand alone.
static constexpr int64_t kLeastWritten = 32;

static int64_t getRowBytes(Value value) {
  return getFeatureElements(value.getType()) * getElementType(value.getType()).getElementTypeBitWidth() / 8;
}

static MapOp getMap(const Group &group) {
  return SymbolTable::lookupNearestSymbolFrom<MapOp>(group.anchors.front(), group.along);
}

/// Whether a value is only returned.
static bool isOnlyReturned(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user) || (isView(user) && isOnlyReturned(user->getResult(0)));
  });
}

/// The earliest walk that can compute an anchor for its members: one after that of each reduction of the group that it
/// needs. `first`: the group's first anchor.
static int64_t walkOf(Operation *op, const DenseMap<Operation *, int64_t> &reductions, Operation *first) {
  int64_t walk = 0;
  SmallVector<Value> pending(op->getOperands());
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *source = pending.pop_back_val().getDefiningOp();
    if (!source || source->isBeforeInBlock(first) || !seen.insert(source).second)
      continue;
    if (auto known = reductions.find(source); known != reductions.end())
      walk = std::max(walk, known->second + 1);
    else
      llvm::append_range(pending, source->getOperands());
  }
  return walk;
}

/// What is saved where the results of one sweep are made by another along a map of their space, in bytes for a member;
/// 0 where they cannot be, or it does not pay.
int64_t Grouping::savesAsMembers(const Group &members, unsigned candidate, SmallVectorImpl<Needs> &needs) const {
  const Group &group = groups[candidate];
  if (group.product || !group.along || group.tiled || group.anchors.empty())
    return 0;
  MapOp map = getMap(group);
  if (!map || map.getPartial() || map.getFromAttr() != members.over || map.getToAttr() != group.over)
    return 0;
  DenseMap<Operation *, int64_t> reductions;
  int64_t last = 0;
  Operation *first = group.anchors.front();
  for (Operation *anchor : group.anchors)
    first = anchor->isBeforeInBlock(first) ? anchor : first;
  for (Operation *anchor : group.anchors)
    if (getMemberMap(anchor))
      last = std::max(last, reductions[anchor] = walkOf(anchor, reductions, first));
  int64_t shared = 0, own = 0, written = 0, statements = group.statements;
  SetVector<Value> reads;
  for (Operation *result : members.anchors) {
    Needs seen = findNeeds(result, group.along);
    seen.over = group.over;
    seen.along = group.along;
    if (seen.tiled || findObstacle(result, seen, candidate) != Obstacle::None ||
        walkOf(result, reductions, first) > last ||
        llvm::any_of(seen.softmaxes, [&](Operation *softmax) { return findMakers(softmax, candidate).empty(); }))
      return 0;
    reads.insert_range(seen.reads);
    statements += seen.statements;
    written += std::max(kLeastWritten, getRowBytes(result->getResult(0)));
    needs.push_back(std::move(seen));
  }
  if (members.anchors.size() > 1 && statements > mostStatements)
    return 0;
  for (Value read : reads)
    if (getResidency(read.getType()) && !group.anchors.contains(read.getDefiningOp()))
      (group.reads.contains(read) ? shared : own) += getRowBytes(read);
  return shared >= kReadForWritten * (own + written) ? shared - own : 0;
}

void Grouping::joinMembers() {
  for (Group &members : groups) {
    if (members.product || members.along || !members.over || members.tiled ||
        !llvm::all_of(members.anchors, [](Operation *anchor) {
          return !isAllReduction(anchor) && !getMove(anchor->getResult(0)) && isOnlyReturned(anchor->getResult(0));
        }))
      continue;
    SmallVector<Needs, 1> needs;
    unsigned best = 0;
    int64_t most = 0;
    FlatSymbolRefAttr first; // of the program, in whose order members often are
    for (unsigned candidate = 0; candidate < groups.size(); ++candidate) {
      SmallVector<Needs, 1> seen;
      FlatSymbolRefAttr along = groups[candidate].along;
      if (!first && along && !groups[candidate].anchors.empty() &&
          getMap(groups[candidate]).getFromAttr() == members.over)
        first = along;
      int64_t saved = savesAsMembers(members, candidate, seen);
      if (along == first)
        saved += saved / kShareForOrder;
      if (saved > most) {
        needs = std::move(seen);
        best = candidate;
        most = saved;
      }
    }
    if (most == 0)
      continue;
    for (auto [result, seen] : llvm::zip_equal(members.anchors, needs)) {
      remarkPassed(result, DEBUG_TYPE, "fuse", [&] {
        return "rows of members are made by the sweep along " + ("@" + groups[best].along.getValue()).str();
      });
      groups[best].memberResults.insert(result);
      join(result, seen, best);
    }
    members.anchors.clear();
  }
}
