//===- InPlace.cpp - When a sweep may write over what it reads ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/InPlace.h"
#include "gnnc/Analysis/SweepPlan.h"

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

/// Whether all values in a body have the features of `value`, or one number. A target may compute a sweep tile
/// by tile of its axes: then what lacks an axis is computed and written once for each tile.
static bool fillsEveryTile(Block &body, Value value) {
  ArrayRef<int64_t> features = mpdfg::getFeatureShape(value.getType());
  auto fits = [&](Value other) {
    return mpdfg::getFeatureElements(other.getType()) == 1 || mpdfg::getFeatureShape(other.getType()) == features;
  };
  return llvm::all_of(body.getArguments(), fits) &&
         llvm::all_of(body, [&](Operation &op) { return llvm::all_of(op.getResults(), fits); });
}

/// Whether numbers of a row are written as they were read, also as parts of another row, or a sum over everything is
/// made of them: maybe when they have been written over.
static bool isReadLate(mpk::SweepOp sweep, Value argument) {
  auto isArgument = [&](auto &&self, Value value) -> bool {
    if (isa_and_nonnull<mpdfg::ReshapeOp, mpdfg::DetachOp, mpdfg::SliceOp, mpdfg::ConcatOp>(value.getDefiningOp()))
      return llvm::any_of(value.getDefiningOp()->getOperands(), [&](Value part) { return self(self, part); });
    return value == argument;
  };
  Block &body = sweep.getBody().front();
  return llvm::any_of(body.getTerminator()->getOperands(),
                      [&](Value value) { return isArgument(isArgument, value); }) ||
         llvm::any_of(body.getOps<mpk::AccumulateOp>(),
                      [&](mpk::AccumulateOp op) { return op.getShared() && isArgument(isArgument, op.getInput()); });
}

/// Whether the axes of an operand are those of a result, which lacks none of those that may be cut into tiles.
static bool tilesReadWhatTheyWrite(mpk::SweepOp sweep, unsigned operand, unsigned result) {
  Block &body = sweep.getBody().front();
  AxisClasses axes(sweep);
  ArrayRef<int> read = axes.of(body.getArgument(operand)), written = axes.of(body.getTerminator()->getOperand(result));
  // The number in another's place may be another lane's to write, and lanes do not wait for each other. A transposed
  // row may have one class for both axes.
  if (!llvm::equal(read, written) || llvm::any_of(body, llvm::IsaPred<mpdfg::TransposeOp>))
    return false;
  return llvm::all_of(llvm::seq<int>(axes.size()),
                      [&](int cls) { return !axes.isParallel(cls) || llvm::is_contained(written, cls); });
}

bool gnnc::readsOwnRowOnly(mpk::SweepOp sweep, unsigned operand, unsigned result) {
  AccessKind read = sweep.getAccessOf(operand).getKind(), write = sweep.getYieldOf(result).getKind();
  bool alone = !sweep.getOver(); // One owner: what is shared is its own.
  bool same = (read == AccessKind::Owner && write == AccessKind::Owner) ||
              (alone && read != AccessKind::Member && read != AccessKind::GatherMember && write != AccessKind::Member);
  Block &body = sweep.getBody().front();
  // Products in tiles take many rows at a time, and go over them for each result and each sum by itself.
  return same && llvm::none_of(body, [](Operation &op) { return mpk::isTiled(&op); }) &&
         fillsEveryTile(body, body.getTerminator()->getOperand(result)) &&
         tilesReadWhatTheyWrite(sweep, operand, result) && !isReadLate(sweep, body.getArgument(operand));
}

bool gnnc::readsOwnersRowOnly(mpk::SweepOp sweep, unsigned operand, unsigned result) {
  Block &body = sweep.getBody().front();
  Value argument = body.getArgument(operand);
  // Products in tiles take members of several owners at a time.
  if (sweep.getAccessOf(operand).getKind() != AccessKind::Owner ||
      sweep.getYieldOf(result).getKind() != AccessKind::Owner || isReadLate(sweep, argument) ||
      llvm::any_of(body, [](Operation &op) { return mpk::isTiled(&op); }))
    return false;
  return tilesReadWhatTheyWrite(sweep, operand, result);
}

/// Whether a body reads `argument` for nothing but its result, each number for the one in the same place.
static bool feedsItsPlaceOnly(BlockArgument argument) {
  int64_t numbers = mpdfg::getFeatureElements(argument.getType());
  SmallVector<Value> pending{argument};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isa<mpk::YieldOp>(user))
        continue;
      auto linear = dyn_cast<mpdfg::LinearOpInterface>(user);
      bool keepsPlaces = isa<mpdfg::ReshapeOp>(user) || (linear && linear.isElementwise());
      if (!keepsPlaces || mpdfg::getFeatureElements(user->getResult(0).getType()) != numbers)
        return false;
      pending.push_back(user->getResult(0));
    }
  return true;
}

bool gnnc::readsOwnNumbersOnly(mpk::ProductOp product, unsigned extra) {
  if (!product.hasEpilogue() || product.getGroupAttr() || product.getNumResults() != 1 ||
      product.getAccessOf(extra).getKind() != AccessKind::Owner)
    return false;
  Block &body = product.getEpilogue().front();
  return fillsEveryTile(body, body.getTerminator()->getOperand(0)) && feedsItsPlaceOnly(body.getArgument(extra + 1));
}
