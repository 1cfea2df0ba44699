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
//===----------------------------------------------------------------------===//

#include "NarrowValues.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "tile-products"

/// Numbers of a value that is kept, at most: rows that stay in float32 where others are stored in 16 bits
/// (NarrowStorage).
static constexpr int64_t kWidestKept = 8;

bool NarrowValues::isNarrow(Value value) const {
  return members.isOnMembers(value) && MemberProducts::isMadeHere(value) &&
         getFeatureElements(value.getType()) <= kWidestKept;
}

void NarrowValues::keep(Value value) {
  while (isa_and_nonnull<ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (!MemberProducts::isMadeHere(value))
    return;
  MemberProducts::keep(value);
  kept.push_back(value);
}

void NarrowValues::keepAroundSoftmaxes() {
  function.walk([&](Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!isa<NormOp>(op) && !(reduce && isStatistic(reduce.getKind())))
      return;
    Value score = op->getOperand(0);
    if (isNarrow(score) && llvm::any_of(members.computationOf(score), [&](Operation *made) {
          auto product = dyn_cast<ContractOp>(made);
          return product && members.isRowProduct(product) &&
                 getFeatureElements(product.getType()) > getFeatureElements(score.getType());
        }))
      keep(score);
  });
  function.walk([&](ContractOp op) {
    bool isRow = members.isRowProduct(op), isOuter = !isRow && members.findOuterSum(op);
    if (!isRow && !isOuter)
      return;
    llvm::SetVector<Operation *> made;
    for (Value operand : op->getOperands())
      made.insert_range(members.computationOf(operand));
    for (Operation *user : members.usersOf(op.getResult())) // What weighs the product.
      made.insert_range(members.computationOf(user->getResult(0)));
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
        keep(each->getResult(0));
  });
}

void NarrowValues::forget(function_ref<bool(Operation *)> isTile) {
  auto isTiledIn = [&](Value value) { return llvm::any_of(members.computationOf(value), isTile); };
  for (Value value : kept) {
    if (!isTiledIn(value) && llvm::none_of(members.usersOf(value), [&](Operation *user) {
          return isTile(user) || isTiledIn(user->getResult(0));
        }))
      value.getDefiningOp()->removeAttr(kKeepAttr);
    else
      remarkPassed(value.getDefiningOp(), DEBUG_TYPE, "keep", [&] {
        return "a row of " + std::to_string(getFeatureElements(value.getType())) +
               " is kept for each member, before or after a softmax over the members that no tile knows";
      });
  }
}
