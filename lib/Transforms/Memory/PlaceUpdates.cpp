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
// by row. Where kernels may run side by side, so is a small one that other kernels read (the number of the step, say):
// in place, it and they would wait for all that read its argument.
//
//===----------------------------------------------------------------------===//

#include "Memory/InPlace.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
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

struct PlaceUpdates : public gnnc::impl::PlaceUpdatesBase<PlaceUpdates> {
  using PlaceUpdatesBase::PlaceUpdatesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      place(function);
  }

  static bool replaces(func::FuncOp function, OpOperand &returned) {
    return getUpdated(function, returned.getOperandNumber()).has_value();
  }

  void place(func::FuncOp function) const {
    Block &block = function.getBody().front();
    Operation *terminator = block.getTerminator();
    // Kernels that only replace go last, then the views of their results.
    SmallVector<Operation *> last;
    for (Operation &op : block)
      if (mpk::isKernel(&op) && !mpdfg::isChoice(&op) &&
          llvm::all_of(op.getResults(), [&](Value v) { return onlyReplaces(function, v); }))
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

  /// Whether other kernels read it, too, or a view of it.
  static bool isRead(Value value) {
    SmallVector<OpOperand *> readers;
    findReaders(value, readers);
    return !readers.empty();
  }

  bool isSafe(func::FuncOp function, OpOperand &returned) const {
    Value made = mpdfg::getViewed(returned.get());
    Operation *maker = made.getDefiningOp();
    SmallVector<OpOperand *> readers;
    findReaders(function.getArgument(*getUpdated(function, returned.getOperandNumber())), readers);
    if (early && !mpdfg::getResidency(made.getType()) && isRead(made) &&
        llvm::any_of(readers, [&](OpOperand *reader) { return reader->getOwner() != maker; }))
      return false;
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
