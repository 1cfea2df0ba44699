//===- Decisions.cpp - Kernels whose rounding decides something -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/Decisions.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Analysis/NumberFacts.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

/// Whether an operation compares two numbers that are both computed.
static bool compares(BinaryOp op) {
  switch (op.getKind()) {
  case BinaryKind::Lt:
  case BinaryKind::Le:
  case BinaryKind::Gt:
  case BinaryKind::Ge:
  case BinaryKind::Eq:
  case BinaryKind::Ne:
    return !constantOf(op.getLhs()) && !constantOf(op.getRhs());
  default:
    return false;
  }
}

DenseSet<Operation *> gnnc::findDecidingKernels(func::FuncOp function) {
  SmallVector<Value> pending;
  function.walk([&](Operation *op) {
    if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
        accumulate && llvm::is_contained({ReduceKind::ArgMax, ReduceKind::ArgMin}, accumulate.getKind()))
      pending.push_back(accumulate.getInput());
    if (auto binary = dyn_cast<BinaryOp>(op); binary && compares(binary))
      llvm::append_range(pending, binary->getOperands());
    if (isChoice(op))
      llvm::append_range(pending, op->getOperands());
  });

  DenseSet<Operation *> kernels;
  DenseSet<Value> seen;
  auto follow = [&](ValueRange values) { llvm::append_range(pending, values); };
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *kernel = argument.getOwner()->getParentOp();
      unsigned number = argument.getArgNumber();
      if (auto sweep = dyn_cast<mpk::SweepOp>(kernel))
        pending.push_back(sweep.getInputs()[number]);
      else if (auto product = dyn_cast<mpk::ProductOp>(kernel))
        // The first one is the product's own row.
        follow(number > 0 ? ValueRange(product.getExtras()[number - 1])
                          : ValueRange({product.getLhs(), product.getRhs()}));
      continue;
    }
    Operation *op = value.getDefiningOp();
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (auto sweep = dyn_cast<mpk::SweepOp>(op)) {
      pending.push_back(sweep.getBody().front().getTerminator()->getOperand(result));
    } else if (auto product = dyn_cast<mpk::ProductOp>(op); product && product.hasEpilogue()) {
      pending.push_back(product.getEpilogue().front().getTerminator()->getOperand(result));
    } else {
      if (mpk::isKernel(op->getParentOp()))
        kernels.insert(op->getParentOp());
      follow(op->getOperands());
    }
  }
  return kernels;
}
