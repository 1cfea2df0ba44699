//===- SaveValues.cpp - What the backward half keeps of the forward one ---===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adjoint code names the forward values it needs; which those are can be read off the uses that cross from the forward
// half to the backward one. By default fusion keeps what lies between kernels anyway and computes the rest again in the
// kernels that need it: a value of a member costs O(1) an element then, a statistic of an owner does not (Understanding
// GNN Computational Graph, section 6). The two other settings are its ends, to compare.
//
//===----------------------------------------------------------------------===//

#include "Gradients/Checkpoints.h"
#include "Remarks.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc {
#define GEN_PASS_DEF_SAVEVALUES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "save-values"

namespace {

/// Known without reading anything that was computed.
bool isFree(Operation *op) { return isa<ConstantOp, IotaOp, ElementOp, ExtentOp>(op); }

/// Every row is the one shared value.
bool isShared(Operation *op) {
  auto move = dyn_cast<BroadcastOp>(op);
  return move && move.getAlong() == kAllMap;
}

std::string describe(Value value) {
  FlatSymbolRefAttr space = getResidency(value.getType());
  return std::to_string(getFeatureElements(value.getType())) + " numbers" +
         (space ? " for each element of @" + space.getValue().str() : std::string());
}

struct SaveValues : public gnnc::impl::SaveValuesBase<SaveValues> {
  using SaveValuesBase::SaveValuesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (hasBackward(function)) {
        if (save == SaveMode::All)
          keep(function);
        if (save == SaveMode::None)
          repeat(function, Checkpoints());
        else if (checkpoints > 1)
          repeatBySegments(function);
        postpone(function);
      }
  }

  /// What only gradients need and could be computed before they are given is saved if it is: statistics that a forward
  /// sweep makes on its way are worth it. Shared values made of arguments alone (a transposed weight) are not, and with
  /// --save=none nothing is.
  void postpone(func::FuncOp function) {
    if (save != SaveMode::None && !countSeedless(function))
      return; // A step has nobody to wait for.
    OperationSet forward = findForward(function), late = findLate(function), cheap;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (forward.contains(&op) || late.contains(&op) || isFree(&op))
        continue;
      bool ofArguments = llvm::all_of(op.getOperands(), [&](Value operand) {
        Operation *maker = operand.getDefiningOp();
        return !maker || isFree(maker) || cheap.contains(maker);
      });
      if (save != SaveMode::None && (!ofArguments || getResidency(op.getResult(0).getType())))
        continue;
      cheap.insert(&op);
      op.setAttr(kAgainAttr, UnitAttr::get(&getContext()));
    }
  }

  /// Forward values that the backward half reads.
  static llvm::SetVector<Operation *> findRead(func::FuncOp function, const OperationSet &forward) {
    llvm::SetVector<Operation *> read;
    for (Operation &op : function.getBody().front().without_terminator())
      if (forward.contains(&op) &&
          llvm::any_of(op.getUsers(), [&](Operation *user) { return !forward.contains(user) && !isReturn(user); }))
        read.insert(&op);
    return read;
  }
  static bool isReturn(Operation *op) { return op->hasTrait<OpTrait::IsTerminator>(); }

  void keep(func::FuncOp function) {
    SmallVector<Operation *> pending(findRead(function, findForward(function)).takeVector());
    llvm::DenseSet<Operation *> done;
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val();
      if (!done.insert(op).second || isFree(op) || isa<DegreeOp>(op) || mpk::isFormed(op))
        continue;
      if (isView(op) || isShared(op)) { // Read where the value that it shows is.
        if (Operation *source = op->getOperand(0).getDefiningOp())
          pending.push_back(source);
        continue;
      }
      op->setAttr(kKeepAttr, UnitAttr::get(&getContext()));
      ++numKept;
      remarkPassed(op, DEBUG_TYPE, "keep",
                   [&] { return "value is kept for the backward half: " + describe(op->getResult(0)); });
    }
  }

  void repeatBySegments(func::FuncOp function) {
    OperationSet forward = findForward(function);
    llvm::SetVector<Operation *> read = findRead(function, forward);
    Checkpoints found =
        findCheckpoints(function, forward, OperationSet(read.begin(), read.end()), unsigned(checkpoints));
    for (Operation *op : found.crossing) {
      if (isFree(op) || isa<DegreeOp>(op) || mpk::isFormed(op))
        continue;
      op->setAttr(kKeepAttr, UnitAttr::get(&getContext()));
      ++numKept;
      remarkPassed(op, DEBUG_TYPE, "checkpoint",
                   [&] { return "value is kept between two segments: " + describe(op->getResult(0)); });
    }
    repeat(function, found);
  }

  /// Copies what the backward half reads of the forward one, from what is in memory: results of the function, which are
  /// in the caller's, and `kept`. A copy stands right before what first reads it, so that the last segment's are used
  /// up before those of the one before are made.
  void repeat(func::FuncOp function, const Checkpoints &kept) {
    OperationSet forward = findForward(function);
    auto isThere = [&](Operation *op) {
      return kept.crossing.contains(op) || kept.last.contains(op) ||
             llvm::any_of(op->getUsers(), [](Operation *user) { return isReturn(user); });
    };
    IRMapping again;
    OpBuilder b(function.getContext());
    auto copy = [&](auto &&self, Value value) -> void {
      Operation *op = value.getDefiningOp();
      if (!op || !forward.contains(op) || isFree(op) || isThere(op) || again.contains(value))
        return;
      for (Value operand : op->getOperands())
        self(self, operand);
      b.clone(*op, again)->setAttr(kAgainAttr, b.getUnitAttr());
      ++numAgain;
      remarkPassed(op, DEBUG_TYPE, "repeat",
                   [&] { return "value is computed once more for the backward half: " + describe(op->getResult(0)); });
    };
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
      if (forward.contains(&op) || op.hasAttr(kAgainAttr))
        continue;
      b.setInsertionPoint(&op);
      for (Value operand : op.getOperands())
        copy(copy, operand);
      for (OpOperand &operand : op.getOpOperands())
        operand.set(again.lookupOrDefault(operand.get()));
    }
  }
};

} // namespace
