//===- KernelOrder.cpp - Which kernels must come before which -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/KernelOrder.h"
#include "Memory/InPlace.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"

using namespace mlir;
using namespace gnnc;

KernelOrder::KernelOrder(func::FuncOp function, ArrayRef<Operation *> kernels)
    : kernels(kernels), direct(kernels.size()), all(kernels.size()) {
  for (auto [i, op] : llvm::enumerate(kernels))
    numbers[op] = i;
  for (auto [i, op] : llvm::enumerate(kernels))
    for (Value operand : op->getOperands())
      addMaker(operand, i);
  mpdfg::Choices choices(function);
  for (auto [i, op] : llvm::enumerate(kernels))
    for (Operation *choice : choices.of(op))
      if (auto found = numbers.find(choice); found != numbers.end())
        direct[i].push_back(found->second);
  // What replaces an argument in place comes after all that read it.
  for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands()) {
    std::optional<unsigned> replaced = getUpdated(function, returned.getOperandNumber());
    auto maker = numbers.find(mpdfg::getViewed(returned.get()).getDefiningOp());
    if (!replaced || maker == numbers.end())
      continue;
    SmallVector<OpOperand *> readers;
    findReaders(function.getArgument(*replaced), readers);
    for (OpOperand *reader : readers)
      if (auto found = numbers.find(reader->getOwner()); found != numbers.end() && found->second < maker->second)
        direct[maker->second].push_back(found->second);
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    all[i].resize(kernels.size());
    for (unsigned k : direct[i]) {
      all[i] |= all[k];
      all[i].set(k);
    }
  }
}

void KernelOrder::addMaker(Value value, unsigned reader) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto found = numbers.find(op); found != numbers.end())
    direct[reader].push_back(found->second);
  else if (!mpk::isKernel(op))
    for (Value operand : op->getOperands())
      addMaker(operand, reader);
}

void gnnc::rearrange(Block &block, ArrayRef<Operation *> all, ArrayRef<Operation *> kernels) {
  DenseSet<Operation *> done;
  mpdfg::Choices choices(cast<func::FuncOp>(block.getParentOp()));
  auto place = [&](auto &&self, Operation *op) -> void {
    if (!op || !done.insert(op).second)
      return;
    for (Operation *choice : choices.of(op))
      self(self, choice);
    for (Value operand : op->getOperands())
      self(self, operand.getDefiningOp());
    op->moveBefore(block.getTerminator());
  };
  for (Operation *op : kernels)
    place(place, op);
  for (Operation *op : all)
    place(place, op);
}
