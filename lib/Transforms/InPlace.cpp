//===- InPlace.cpp - When a sweep may write over what it reads ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

void gnnc::findReaders(Value value, SmallVectorImpl<OpOperand *> &readers) {
  for (OpOperand &use : value.getUses()) {
    if (mpk::isKernel(use.getOwner()))
      readers.push_back(&use);
    else if (mpdfg::isView(use.getOwner()))
      findReaders(use.getOwner()->getResult(0), readers);
  }
}

/// Whether all values in a sweep's body have the features of `value`, or one number. A target may compute a sweep tile
/// by tile of its axes: then what lacks an axis is computed and written once for each tile.
static bool fillsEveryTile(mpk::SweepOp sweep, Value value) {
  ArrayRef<int64_t> features = mpdfg::getFeatureShape(value.getType());
  auto fits = [&](Value other) {
    return mpdfg::getFeatureElements(other.getType()) == 1 || mpdfg::getFeatureShape(other.getType()) == features;
  };
  Block &body = sweep.getBody().front();
  return llvm::all_of(body.getArguments(), fits) &&
         llvm::all_of(body, [&](Operation &op) { return llvm::all_of(op.getResults(), fits); });
}

bool gnnc::readsOwnRowOnly(mpk::SweepOp sweep, unsigned operand, unsigned result) {
  AccessKind read = sweep.getAccessOf(operand).getKind(), write = sweep.getYieldOf(result).getKind();
  bool alone = !sweep.getOver(); // One owner: what is shared is its own.
  bool same = (read == AccessKind::Owner && write == AccessKind::Owner) ||
              (alone && read != AccessKind::Member && read != AccessKind::GatherMember && write != AccessKind::Member);
  Value argument = sweep.getBody().getArgument(operand);
  Operation *yield = sweep.getBody().front().getTerminator();
  return same && fillsEveryTile(sweep, yield->getOperand(result)) &&
         llvm::none_of(yield->getOperands(), [&](Value value) {
           while (auto reshape = value.getDefiningOp<mpdfg::ReshapeOp>())
             value = reshape.getInput();
           return value == argument;
         });
}
