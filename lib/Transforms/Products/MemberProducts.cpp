//===- MemberProducts.cpp - Products of members, what is made of them -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/MemberProducts.h"
#include "Products/ContractionRoles.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

bool gnnc::isOnDynamicSpace(Type type) {
  FlatSymbolRefAttr space = getResidency(type);
  return space && ShapedType::isDynamic(cast<RankedTensorType>(type).getDimSize(0));
}

MemberProducts::MemberProducts(func::FuncOp function) {
  DenseSet<Attribute> owners;
  function.walk([&](Operation *op) {
    if (isa<ReduceOp>(op) && isOnDynamicSpace(op->getResult(0).getType())) {
      spaces.insert(getResidency(op->getOperand(0).getType()));
      owners.insert(getResidency(op->getResult(0).getType()));
    }
  });
  for (Attribute space : owners)
    spaces.erase(space);
}

bool MemberProducts::isKept(Value value) { return value.getDefiningOp() && value.getDefiningOp()->hasAttr(kKeepAttr); }

void MemberProducts::keep(Value value) { value.getDefiningOp()->setAttr(kKeepAttr, UnitAttr::get(value.getContext())); }

bool MemberProducts::isMadeHere(Value value) {
  return value.getDefiningOp() && !getMove(value) && !isView(value.getDefiningOp()) && !isKept(value);
}

llvm::SetVector<Operation *> MemberProducts::computationOf(ArrayRef<Value> values) const {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> pending(values);
  DenseSet<Value> asked(values.begin(), values.end());
  while (!pending.empty()) {
    Value at = pending.pop_back_val();
    Operation *op = at.getDefiningOp();
    if (!op || isa<BroadcastOp>(op) || isView(op) || !isOnMembers(at) || (!asked.contains(at) && isKept(at)) ||
        !found.insert(op))
      continue;
    llvm::append_range(pending, op->getOperands());
  }
  return found;
}

llvm::SetVector<Operation *> MemberProducts::usersOf(Value value) const {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value at = pending.pop_back_val();
    if (at != value && isKept(at))
      continue;
    for (Operation *user : at.getUsers())
      if (user->getNumResults() == 1 && isOnMembers(user->getResult(0)) && !isa<mpdfg::MovementOpInterface>(user) &&
          found.insert(user))
        pending.push_back(user->getResult(0));
  }
  return found;
}

/// Constants and numbers that count are made in the bodies that need them, where a product in tiles cannot read them.
static bool isInMemory(Value weight) { return !isa_and_nonnull<ConstantOp, IotaOp>(getViewed(weight).getDefiningOp()); }

bool MemberProducts::isRowProduct(ContractOp op) const {
  if (!isOnMembers(op.getResult()) || op->hasAttr(mpk::kSweptAttr))
    return false;
  if (!getResidency(op.getLhs().getType()))
    exchangeOperands(op);
  // What is moved as it is should be multiplied before it moves.
  if (getResidency(op.getRhs().getType()) || getMove(op.getLhs()) || !isInMemory(op.getRhs()))
    return false;
  ContractionRoles roles(op);
  return !roles.n.empty() && !roles.k.empty() && !roles.onlyOneOperand && (roles.batch.empty() || roles.m.empty());
}

ReduceOp MemberProducts::findOuterSum(ContractOp op) const {
  if (!isOnMembers(op.getLhs()) || !isOnMembers(op.getRhs()) || !op->hasOneUse())
    return {};
  auto sum = dyn_cast<ReduceOp>(*op->user_begin());
  ContractionRoles roles(op);
  // Nothing is summed inside a row, and each operand has axes of its own.
  if (!sum || sum.getKind() != ReduceKind::Sum || sum.getAlong() != kAllMap || !roles.k.empty() || roles.m.empty() ||
      roles.n.empty() || roles.onlyOneOperand)
    return {};
  return isMadeHere(op.getLhs()) || isMadeHere(op.getRhs()) ? sum : ReduceOp();
}
