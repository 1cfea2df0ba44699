//===- Halves.cpp - The forward and the backward half of a program --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/Halves.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/MPK.h"

using namespace mlir;
using namespace gnnc;

static bool hasSeeds(func::FuncOp function) {
  return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
    return bool(function.getArgAttr(argument.getArgNumber(), kSeedAttr));
  });
}

OperationSet gnnc::findLate(func::FuncOp function) {
  OperationSet late;
  SmallVector<Value> pending;
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kSeedAttr))
      pending.push_back(argument);
  auto add = [&](Operation *op) {
    if (late.insert(op).second)
      pending.append(op->result_begin(), op->result_end());
  };
  for (Operation &op : function.getBody().front())
    if (op.hasAttr(kAgainAttr))
      add(&op);
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers())
      if (user->getBlock() == &function.getBody().front())
        add(user);
  return late;
}

OperationSet gnnc::findForward(func::FuncOp function) {
  OperationSet late = findLate(function), forward;
  SmallVector<Operation *> pending;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && forward.insert(op).second)
      pending.push_back(op);
  };
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
    if (Operation *op = result.get().getDefiningOp();
        op && !late.contains(op) && !getUpdated(function, result.getOperandNumber()))
      add(result.get());
  mpdfg::Choices choices(function);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    for (Value operand : op->getOperands())
      add(operand);
    // Where a map leads that the program chooses is needed as well.
    for (Operation *choice : choices.of(op))
      add(choice->getResult(0));
  }
  return forward;
}

bool gnnc::hasBackward(func::FuncOp function) {
  unsigned updates = 0;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    updates += getUpdated(function, i).has_value();
  return hasSeeds(function) || (updates > 0 && updates < function.getNumResults());
}

OperationSet gnnc::findBackwardKernels(func::FuncOp function) {
  OperationSet backward;
  if (!hasBackward(function))
    return backward;
  bool given = hasSeeds(function);
  OperationSet set = given ? findLate(function) : findForward(function);
  for (Operation &op : function.getBody().front())
    if (mpk::isKernel(&op) && set.contains(&op) == given)
      backward.insert(&op);
  return backward;
}

std::optional<int64_t> gnnc::countSeedless(func::FuncOp function) {
  if (!hasSeeds(function))
    return std::nullopt;
  OperationSet backward = findBackwardKernels(function);
  return llvm::count_if(function.getBody().front(),
                        [&](Operation &op) { return mpk::isKernel(&op) && !backward.contains(&op); });
}
