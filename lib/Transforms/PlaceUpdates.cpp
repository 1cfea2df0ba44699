//===- PlaceUpdates.cpp - Parameters and states are replaced in place -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that replaces an argument is written where the argument is, so nothing may read the argument afterwards.
// Kernels that only make such results go to the end. What is still unsafe there is made elsewhere first and copied by a
// kernel at the very end: an update whose argument is read by a later kernel, or by its own kernel otherwise than row
// by row.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Conversion/SpecToMPDFG.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_PLACEUPDATES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

namespace {

/// The kernels that read a value, also through views.
void findReaders(Value value, SmallVectorImpl<OpOperand *> &readers) {
  for (OpOperand &use : value.getUses()) {
    if (mpk::isKernel(use.getOwner()))
      readers.push_back(&use);
    else if (mpdfg::isView(use.getOwner()))
      findReaders(use.getOwner()->getResult(0), readers);
  }
}

/// Whether all values in a sweep's body have the features of `value`, or one number. A target may compute a sweep tile
/// by tile of its axes: then what lacks an axis is computed and written once for each tile.
bool fillsEveryTile(mpk::SweepOp sweep, Value value) {
  ArrayRef<int64_t> features = mpdfg::getFeatureShape(value.getType());
  auto fits = [&](Value other) {
    return mpdfg::getFeatureElements(other.getType()) == 1 || mpdfg::getFeatureShape(other.getType()) == features;
  };
  Block &body = sweep.getBody().front();
  return llvm::all_of(body.getArguments(), fits) &&
         llvm::all_of(body, [&](Operation &op) { return llvm::all_of(op.getResults(), fits); });
}

/// Whether a sweep has read all it needs of an operand's row before it writes the row of `result`, once: each by its
/// own owner, and the row is not also written somewhere as it was.
bool readsOwnRowOnly(mpk::SweepOp sweep, unsigned operand, unsigned result) {
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

struct PlaceUpdates : public gnnc::impl::PlaceUpdatesBase<PlaceUpdates> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      place(function);
  }

  static bool replaces(func::FuncOp function, OpOperand &returned) {
    return bool(function.getResultAttr(returned.getOperandNumber(), kUpdatesAttr));
  }

  static void place(func::FuncOp function) {
    Block &block = function.getBody().front();
    Operation *terminator = block.getTerminator();
    // Kernels that only replace go last, then the views of their results.
    SmallVector<Operation *> last;
    for (Operation &op : block)
      if (mpk::isKernel(&op) && llvm::all_of(op.getResults(), [&](Value v) { return onlyReplaces(function, v); }))
        last.push_back(&op);
    size_t numKernels = last.size();
    for (Operation &op : block)
      if (mpdfg::isView(&op))
        if (Operation *maker = mpdfg::getViewed(op.getResult(0)).getDefiningOp();
            maker && llvm::is_contained(ArrayRef(last).take_front(numKernels), maker))
          last.push_back(&op);
    for (Operation *op : last)
      op->moveBefore(terminator);

    OpBuilder b(terminator);
    SmallVector<OpOperand *> unsafe;
    for (OpOperand &returned : terminator->getOpOperands())
      if (replaces(function, returned) && !isSafe(function, returned))
        unsafe.push_back(&returned);
    // All are made before the first is copied: one may be made of another's old value.
    for (OpOperand *returned : unsafe)
      returned->set(copy(b, returned->get()));
  }

  static bool onlyReplaces(func::FuncOp function, Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      if (isa<func::ReturnOp>(use.getOwner()))
        return replaces(function, use);
      return mpdfg::isView(use.getOwner()) && onlyReplaces(function, use.getOwner()->getResult(0));
    });
  }

  static bool isSafe(func::FuncOp function, OpOperand &returned) {
    auto number = function.getResultAttrOfType<IntegerAttr>(returned.getOperandNumber(), kUpdatesAttr);
    Value made = mpdfg::getViewed(returned.get());
    Operation *maker = made.getDefiningOp();
    SmallVector<OpOperand *> readers;
    findReaders(function.getArgument(number.getInt()), readers);
    for (OpOperand *reader : readers) {
      if (reader->getOwner() == maker) {
        auto sweep = dyn_cast<mpk::SweepOp>(maker);
        if (!sweep || !readsOwnRowOnly(sweep, reader->getOperandNumber(), cast<OpResult>(made).getResultNumber()))
          return false;
      } else if (!reader->getOwner()->isBeforeInBlock(maker)) {
        return false;
      }
    }
    return true;
  }

  /// A sweep that yields what it reads.
  static Value copy(OpBuilder &b, Value value) {
    FlatSymbolRefAttr space = mpdfg::getResidency(value.getType());
    AccessKind kind = space ? AccessKind::Owner : AccessKind::Shared;
    ArrayAttr access = b.getArrayAttr(mpk::AccessAttr::get(b.getContext(), kind));
    auto sweep =
        mpk::SweepOp::create(b, value.getLoc(), value.getType(), space, FlatSymbolRefAttr(), value, access, access);
    Block *body = new Block;
    sweep.getBody().push_back(body);
    Value row = body->addArgument(mpdfg::getElementType(value.getType()), value.getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(body);
    mpk::YieldOp::create(inner, value.getLoc(), row);
    return sweep.getResult(0);
  }
};

} // namespace
