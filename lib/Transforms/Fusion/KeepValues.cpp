//===- KeepValues.cpp - Values that are dearer to make again than to keep -===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trial plan of fusion keeps only what has to be in memory, so it shows for each sweep everything it would make for
// itself and everything it would read for that. Among what several sweeps would make, this step chooses what to keep:
//
//   gain of keeping v = sum over the sweeps that would make v, but for the one that writes it, of
//                         (what only v is read and computed for there) - (v's row)
//                       - v's row, written once
//
// in bytes for each element, where operations count for bytes. A value that no sweep over its own space makes, such as
// one that is summed along two maps, is written by a sweep of its own, whose price is taken off the gain; it may join
// another one when the groups are made. What a sweep would read "only for v" depends on what
// else is kept, so values are taken in program order, and when all are chosen each is asked again, last first, whether
// it is still worth it. A residual stream x = x + f(x) is the case that matters: without this step the k-th block of a
// backward pass adds up k rows, and time, memory and code grow with the square of the depth. With it each block reads
// the sum so far.
//
// It is a local search with exact prices, not a minimum cut: a cut prices each value by itself, but a row that a sweep
// reads anyway costs nothing more there.
//
//===----------------------------------------------------------------------===//

#include "Fusion/KeepValues.h"
#include "Fusion/Grouping.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/Pairs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/Halves.h"

#include <deque>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "fuse-message-passing"

/// Operations on one number that take as long as to move a byte, and the same of products in tiles (TileProducts).
static constexpr double kOperationsPerByte = 4, kTiledOperationsPerByte = 48;
/// Rows that must be saved beside what a value that the forward half keeps for the backward one costs: it takes memory
/// for as long.
static constexpr double kRowsForSaved = 2;
/// Rows that keeping a value must save to begin with: prices are not as exact as to decide between equal ones.
static constexpr double kLeastGain = 0.25;
/// Bytes for each element that a further sweep must save to begin with: its launch.
static constexpr double kLeastGainOfSweep = 64;
/// Members of an owner, where what is read for each of both is compared (hoist-elementwise assumes the same).
static constexpr double kMembers = 8;

static int64_t getRowBytes(Value value) {
  return getFeatureElements(value.getType()) * getElementType(value.getType()).getElementTypeBitWidth() / 8;
}

namespace {

/// A value as it is seen in a body: by the owner, or by a member along a map.
using View = std::pair<Value, Attribute>;

/// What a body reads and computes, in bytes for each owner and for each member.
struct Price {
  double owner = 0, member = 0;

  double forEachOwner() const { return owner + kMembers * member; }
  double forEachMember() const { return owner / kMembers + member; }
};

class Keeper {
public:
  Keeper(func::FuncOp function, const Grouping &trial, const OperationSet &candidates, bool isFirst);
  SmallVector<Value> choose();

private:
  /// A sweep, of the trial plan or of a kept value's own, and what it computes: everything at first, less once values
  /// are kept.
  struct Body {
    const Group *group = nullptr; ///< null: of a value's own
    bool late = false;
    llvm::DenseSet<View> computed;
    Price price;
    bool isCurrent = false;
    bool isWhole = true; ///< nothing in it needs a walk of its own

    bool makesOfMembers(Value value) const { return group && group->along && computed.contains({value, group->along}); }
    bool makes(Value value) const { return computed.contains({value, Attribute()}) || makesOfMembers(value); }
  };

  bool isCandidate(Operation *op) const;
  void addMaker(unsigned body);
  void walk(unsigned body, Value without, llvm::DenseSet<View> &computed, Price &price) const;
  const Body &bodyOf(unsigned number);
  double gainOf(Value value);
  void keep(Value value);
  void forget(Value value);
  std::optional<unsigned> findMaker(Value value) const;
  std::optional<unsigned> getOwnSweep(Value value);

  func::FuncOp function;
  const Grouping &trial;
  const OperationSet &candidates;
  const bool isFirst;
  OperationSet late;
  std::deque<Body> bodies;                       ///< the groups' first
  DenseMap<Value, SmallVector<unsigned>> makers; ///< the bodies that make a value for themselves while nothing is kept
  DenseMap<Value, unsigned> ownSweeps;
  llvm::MapVector<Value, unsigned> kept; ///< with the body that writes it
};

} // namespace

Keeper::Keeper(func::FuncOp function, const Grouping &trial, const OperationSet &candidates, bool isFirst)
    : function(function), trial(trial), candidates(candidates), isFirst(isFirst), late(findLate(function)) {
  for (const Group &group : trial.getGroups()) {
    Body &body = bodies.emplace_back();
    body.group = &group;
    body.late = group.late;
    addMaker(bodies.size() - 1);
  }
}

/// Of all values that a body makes now.
void Keeper::addMaker(unsigned body) {
  llvm::SetVector<Value> made;
  for (View view : bodyOf(body).computed)
    if (isCandidate(view.first.getDefiningOp()))
      made.insert(view.first);
  for (Value value : made)
    makers[value].push_back(body);
}

bool Keeper::isCandidate(Operation *op) const {
  // What only views or moves another value is read where that is, and the weights of a softmax have a form of their
  // own. Pairs of elements are many, and nobody lists them where none of their values is kept.
  return candidates.contains(op) && !getPairs(op, op->getResult(0).getType()) && op->getNumResults() == 1 &&
         getResidency(op->getResult(0).getType()) && !trial.isAnchor(op) &&
         !isa<BroadcastOp, NormOp, ReshapeOp, DetachOp, SliceOp, TransposeOp, ConstantOp, IotaOp, ElementOp, ReduceOp,
              DegreeOp>(op) &&
         !mpk::isTiled(op);
}

/// What a sweep computes and reads where what is kept so far is read from memory, and `without` too.
void Keeper::walk(unsigned number, Value without, llvm::DenseSet<View> &computed, Price &price) const {
  const Group *group = bodies[number].group;
  llvm::DenseSet<std::pair<View, Operation *>> read;
  auto add = [&](FlatSymbolRefAttr member, double bytes) { (member ? price.member : price.owner) += bytes; };
  auto readRow = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    value = getViewed(value);
    Operation *source = value.getDefiningOp();
    bool isOwn = group && source && !member && !through && trial.getGroupOf(source) == std::optional<unsigned>(number);
    if (!getResidency(value.getType()) || isOwn || !read.insert({View(value, member), through}).second)
      return;
    add(member, getRowBytes(value));
  };
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    Operation *source = value.getDefiningOp();
    if (through && !member && trial.isAnchor(through)) {
      readRow(through.getResult(), {}, {});
      return false;
    }
    if (isa_and_nonnull<ConstantOp, IotaOp>(source))
      return false;
    if (auto norm = dyn_cast_or_null<NormOp>(source);
        norm && !through && trial.getRecomputed(norm) && !trial.isAnchor(norm) && norm.getAlongAttr() != member) {
      walk.run(trial.getRecomputed(norm), member);
      return false;
    }
    auto found = kept.find(value);
    bool isInMemory = value == without || (found != kept.end() && found->second != number);
    if (!source || through || isInMemory || trial.isAnchor(source) || mpk::isFormed(source) || isView(source)) {
      readRow(value, member, through);
      return false;
    }
    if (computed.insert({value, member}).second)
      if (auto row = dyn_cast<CostOpInterface>(source))
        add(member, double(row.flopsPerRow()) / (mpk::isTiled(source) ? kTiledOperationsPerByte : kOperationsPerByte));
    return true;
  };
  walk.visit = visit;
  if (group)
    for (Operation *anchor : group->anchors)
      if (!getMove(anchor->getResult(0)))
        walk.operands(anchor, group->memberResults.contains(anchor) ? group->along : FlatSymbolRefAttr());
  // What the sweep writes for others it makes, whatever else it does.
  for (auto [value, maker] : kept)
    if (maker == number && value != without)
      walk.run(value, {});
}

const Keeper::Body &Keeper::bodyOf(unsigned number) {
  Body &body = bodies[number];
  if (!body.isCurrent) {
    body.computed.clear();
    body.price = {};
    walk(number, {}, body.computed, body.price);
    body.isCurrent = true;
  }
  return body;
}

/// The first sweep over the value's own space that makes it: it can write it.
std::optional<unsigned> Keeper::findMaker(Value value) const {
  for (unsigned number : makers.lookup(value)) {
    const Group *sweep = bodies[number].group;
    if (sweep && !sweep->product && !(sweep->tiled && sweep->along) && sweep->over == getResidency(value.getType()) &&
        bodies[number].computed.contains({value, Attribute()}))
      return number;
  }
  return std::nullopt;
}

/// A sweep that would write the value and do nothing else; none if it takes more than one walk.
std::optional<unsigned> Keeper::getOwnSweep(Value value) {
  auto [it, isNew] = ownSweeps.try_emplace(value, bodies.size());
  unsigned number = it->second;
  if (isNew) {
    Body &body = bodies.emplace_back();
    body.late = late.contains(value.getDefiningOp());
    llvm::MapVector<Value, unsigned> others;
    std::swap(kept, others);
    kept[value] = number;
    addMaker(number);
    std::swap(kept, others);
    body.isWhole = llvm::none_of(body.computed, [](View view) { return isa<NormOp>(view.first.getDefiningOp()); });
    body.isCurrent = false;
  }
  return bodies[number].isWhole ? std::optional(number) : std::nullopt;
}

/// Bytes for each element that are saved if the value is kept; less than 0 if it cannot be.
double Keeper::gainOf(Value value) {
  SmallVector<unsigned> users = makers.find(value)->second;
  for (unsigned user : users)
    bodyOf(user);
  double gain = -double(getRowBytes(value));
  std::optional<unsigned> maker = findMaker(value);
  if (!maker) {
    if (llvm::count_if(users, [&](unsigned user) { return bodies[user].makes(value); }) < 2)
      return -1; // Nothing makes it any more, or nothing else.
    maker = getOwnSweep(value);
    if (!maker)
      return -1;
    llvm::DenseSet<View> computed;
    Price own;
    kept[value] = *maker;
    walk(*maker, {}, computed, own);
    kept.erase(value);
    gain -= kLeastGainOfSweep + own.forEachOwner();
  } else if (!isFirst && bodies[*maker].group->tiled) {
    return -1; // A row more takes a sweep with tiles apart, which no price says.
  }
  bool isLate = bodies[*maker].late, isSaved = false;
  double partial = 0; // of sweeps along maps that each lead from some of the elements: together, perhaps, from all
  unsigned numPartial = 0;
  if (late.contains(value.getDefiningOp()) != isLate)
    return -1; // The backward half makes again what the forward one has no sweep to write.
  for (unsigned user : users) {
    if (user == *maker || !bodies[user].makes(value))
      continue;
    isSaved |= bodies[user].late != isLate;
    llvm::DenseSet<View> computed;
    Price without;
    walk(user, value, computed, without);
    const Price &with = bodies[user].price;
    Price saved{with.owner - without.owner, with.member - without.member};
    bool byMember = bodies[user].makesOfMembers(value);
    double bytes = byMember ? saved.forEachMember() : saved.forEachOwner();
    if (byMember && SymbolTable::lookupNearestSymbolFrom<MapOp>(function, bodies[user].group->along).getPartial())
      partial += bytes, ++numPartial;
    else
      gain += bytes;
  }
  if (numPartial)
    gain += partial / numPartial;
  return isSaved ? gain - kRowsForSaved * double(getRowBytes(value)) : gain;
}

void Keeper::keep(Value value) {
  std::optional<unsigned> maker = findMaker(value);
  kept[value] = maker ? *maker : *getOwnSweep(value);
  for (unsigned user : makers.find(value)->second)
    bodies[user].isCurrent = false;
}

void Keeper::forget(Value value) {
  kept.erase(value);
  for (unsigned user : makers.find(value)->second)
    bodies[user].isCurrent = false;
}

SmallVector<Value> Keeper::choose() {
  for (Operation &op : function.getBody().front())
    if (op.getNumResults() == 1)
      if (auto found = makers.find(op.getResult(0)); found != makers.end() && found->second.size() > 1)
        if (gainOf(op.getResult(0)) > kLeastGain * double(getRowBytes(op.getResult(0))))
          keep(op.getResult(0));
  // A value that a later one has made superfluous.
  SmallVector<Value> chosen;
  for (auto [value, maker] : kept)
    chosen.push_back(value);
  for (Value value : llvm::reverse(chosen)) {
    forget(value);
    if (gainOf(value) >= 0)
      keep(value);
  }
  SmallVector<Value> result;
  for (Value value : chosen)
    if (kept.contains(value))
      result.push_back(value);
  return result;
}

SmallVector<Value> gnnc::chooseKept(func::FuncOp function, const Grouping &trial, const OperationSet &candidates,
                                    bool isFirst) {
  return Keeper(function, trial, candidates, isFirst).choose();
}
