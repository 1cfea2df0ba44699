//===- NarrowValues.cpp - Which narrow values of members are kept ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax over an owner's members is known when all have been seen, so no tile of members knows it. In an attention
// what it takes and gives is narrow, a number for each head, and costs little memory.
//
// A deviation walks over the members twice, and each walk makes them again. Where much is multiplied for few numbers
// these are read more quickly than made.
//
//===----------------------------------------------------------------------===//

#include "Products/NarrowValues.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "tile-products"

/// Numbers of a value that is kept, at most: rows that stay in float32 where others are stored in 16 bits
/// (NarrowStorage).
static constexpr int64_t kWidestKept = 8;
/// Numbers of a value that is kept for several walks, at most; it is made of a product with more than so many times its
/// numbers.
static constexpr int64_t kWidestForWalks = 32, kTimesWider = 3;
/// Operations for a member that are saved for each byte of such a value and of what it is made of, at least: one more
/// walk reads that and writes the value.
static constexpr int64_t kOperationsForByte = 16;

static constexpr const char *kAroundSoftmax = "before or after a softmax over the members that no tile knows";

static int64_t getRowBytes(Value value) {
  return getFeatureElements(value.getType()) * getElementType(value.getType()).getElementTypeBitWidth() / 8;
}

bool NarrowValues::isNarrow(Value value) const {
  return members.isOnMembers(value) && MemberProducts::isMadeHere(value) &&
         getFeatureElements(value.getType()) <= kWidestKept;
}

void NarrowValues::keep(Value value, std::string reason) {
  while (isa_and_nonnull<ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (!MemberProducts::isMadeHere(value))
    return;
  MemberProducts::keep(value);
  kept.push_back({value, std::move(reason)});
}

void NarrowValues::keepAroundSoftmaxes() {
  bool isAny = false;
  function.walk([&](Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!isa<NormOp>(op) && !(reduce && isStatistic(reduce.getKind())))
      return;
    isAny = true;
    Value score = op->getOperand(0);
    if (isNarrow(score) && isMadeOfWider(score, 1))
      keep(score, kAroundSoftmax);
  });
  if (!isAny)
    return;
  function.walk([&](ContractOp op) {
    bool isRow = members.isRowProduct(op), isOuter = !isRow && members.findOuterSum(op);
    if (!isRow && !isOuter)
      return;
    SmallVector<Value> roots(op->getOperands());
    for (Operation *user : members.usersOf(op.getResult())) // What weighs the product.
      roots.push_back(user->getResult(0));
    llvm::SetVector<Operation *> made = members.computationOf(roots);
    DenseSet<Operation *> weighed; // made of softmaxes
    SmallVector<Operation *> inOrder(made.begin(), made.end());
    llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *each : inOrder)
      if (isa<NormOp>(each) || llvm::any_of(each->getOperands(), [&](Value operand) {
            return operand.getDefiningOp() && weighed.contains(operand.getDefiningOp());
          }))
        weighed.insert(each);
    for (Operation *each : inOrder)
      if (weighed.contains(each) && isNarrow(each->getResult(0)) &&
          llvm::any_of(each->getUsers(), [&](Operation *user) {
            return user == op || (made.contains(user) && getFeatureElements(user->getResult(0).getType()) >
                                                             getFeatureElements(each->getResult(0).getType()));
          }))
        keep(each->getResult(0), kAroundSoftmax);
  });
}

/// Whether a product is made for the value that has more than so many times its numbers.
bool NarrowValues::isMadeOfWider(Value value, int64_t times) const {
  return llvm::any_of(members.computationOf(value), [&](Operation *made) {
    auto product = dyn_cast<ContractOp>(made);
    return product && members.isRowProduct(product) &&
           getFeatureElements(product.getType()) > times * getFeatureElements(value.getType());
  });
}

/// How often members are walked over, one walk after the other, for what is reduced of a value: once more for each
/// reduction that needs the result of another. What a softmax weighs is summed in the softmax's own walk.
int64_t NarrowValues::walksFor(Value value) const {
  SmallVector<Operation *> reductions;
  auto add = [&](Value of) {
    for (Operation *user : of.getUsers()) {
      auto reduce = dyn_cast<ReduceOp>(user);
      if ((reduce && reduce.getAlong() != kAllMap) || isa<NormOp>(user))
        reductions.push_back(user);
    }
  };
  add(value);
  for (Operation *user : members.usersOf(value))
    if (!MemberProducts::isKept(user->getResult(0)))
      add(user->getResult(0));
  if (reductions.size() < 2)
    return reductions.size();
  // What is known of others when one is taken, of owners too.
  DenseSet<Operation *> reduced(reductions.begin(), reductions.end());
  Operation *first = *llvm::min_element(reductions, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  DenseMap<Operation *, int64_t> levels; // of the walk that comes after what an operation needs
  int64_t most = 0;
  for (Operation &op : llvm::make_range(first->getIterator(), first->getBlock()->end())) {
    int64_t level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand.getDefiningOp()));
    if (reduced.contains(&op)) {
      level = std::max<int64_t>(level, 1);
      most = std::max(most, level);
      level += isa<NormOp>(op) ? 0 : 1;
    }
    levels[&op] = level;
  }
  return most;
}

void NarrowValues::keepForWalks(function_ref<int64_t(Operation *)> operationsOf) {
  // The last value first: the others need not be kept then.
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    if (op.getNumResults() != 1 || isa<mpdfg::MovementOpInterface, ReshapeOp>(op))
      continue;
    Value value = op.getResult(0);
    if (!members.isOnMembers(value) || !MemberProducts::isMadeHere(value) ||
        getFeatureElements(value.getType()) > kWidestForWalks || !isMadeOfWider(value, kTimesWider))
      continue;
    int64_t walks = walksFor(value);
    if (walks < 2)
      continue;
    llvm::SetVector<Operation *> made = members.computationOf(value);
    // Else one walk is left that makes it as before, and the products have to be for both.
    if (llvm::any_of(made, [&](Operation *each) {
          return each != &op && llvm::any_of(each->getUsers(), [](Operation *user) {
                   auto reduce = dyn_cast<ReduceOp>(user);
                   return (reduce && reduce.getAlong() != kAllMap) || isa<NormOp>(user);
                 });
        }))
      continue;
    SmallVector<Operation *> order(made.begin(), made.end());
    llvm::sort(order, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
    DenseSet<Operation *> own;
    DenseSet<Value> read;
    int64_t operations = 0, bytes = getRowBytes(value);
    for (Operation *each : order) {
      operations += operationsOf(each);
      if (each == &op || llvm::all_of(each->getUsers(), [&](Operation *user) { return own.contains(user); }))
        own.insert(each);
      for (Value operand : each->getOperands())
        if (members.isOnMembers(operand) && !made.contains(operand.getDefiningOp()) && read.insert(operand).second)
          bytes += getRowBytes(operand);
    }
    // What is needed for other values too is made in one of the walks in any case.
    int64_t saved = operations * (walks - (own.size() < made.size() ? 2 : 1));
    if (saved > kOperationsForByte * bytes)
      keep(value, "for " + std::to_string(walks) + " walks over the members, which saves " + std::to_string(saved) +
                      " operations for " + std::to_string(bytes) + " bytes");
  }
}

void NarrowValues::forget(function_ref<bool(Operation *)> isTile) {
  DenseMap<Operation *, bool> known;
  auto isTiledIn = [&](Value value) {
    auto [it, fresh] = known.try_emplace(value.getDefiningOp(), false);
    if (fresh)
      it->second = llvm::any_of(members.computationOf(value), isTile);
    return it->second;
  };
  for (auto &[value, reason] : kept) {
    if (!isTiledIn(value) && llvm::none_of(members.usersOf(value), [&](Operation *user) {
          return isTile(user) || isTiledIn(user->getResult(0));
        })) {
      value.getDefiningOp()->removeAttr(kKeepAttr);
      known.clear(); // what was made of it is made with it again
    } else {
      remarkPassed(value.getDefiningOp(), DEBUG_TYPE, "keep", [&] {
        return "a row of " + std::to_string(getFeatureElements(value.getType())) + " is kept for each member, " +
               reason;
      });
    }
  }
}
