//===- SpreadShared.cpp - Large shared values become rows of a space ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep over shared values has one owner, so one thread computes it, and a row of a hundred thousand numbers fits no
// register. What an optimiser does to a weight is elementwise, and its memory may as well be seen as many rows of a
// static space: then blocks of rows go to threads and each row is a few vectors. Views are free.
//
//===----------------------------------------------------------------------===//

#include "Products/StaticRows.h"
#include "Remarks.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_SPREADSHARED
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "spread-shared"

namespace {

/// The widest row, up to 256 numbers, that divides `elements`: preferably whole vectors. Rows of fewer than 8 numbers
/// are not worth it: 0.
int64_t chooseWidth(int64_t elements) {
  for (int64_t unit : {16, 1})
    for (int64_t width = 256; width >= 8; --width)
      if (width % unit == 0 && elements % width == 0)
        return width;
  return 0;
}

struct SpreadShared : public gnnc::impl::SpreadSharedBase<SpreadShared> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
        if (isCandidate(&op))
          spread(&op);
  }

  static bool isCandidate(Operation *op) {
    auto linear = dyn_cast<LinearOpInterface>(op);
    if (!linear || !linear.isElementwise() || op->getNumResults() != 1)
      return false;
    Type type = op->getResult(0).getType();
    if (getResidency(type) || getFeatureElements(type) <= kLargeShared)
      return false;
    return llvm::all_of(op->getOperandTypes(), [&](Type operand) {
      return getFeatureElements(operand) == 1 || getFeatureShape(operand) == getFeatureShape(type);
    });
  }

  void spread(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t elements = getFeatureElements(type), width = chooseWidth(elements);
    if (width == 0) {
      remarkMissed(
          op, DEBUG_TYPE, "spread", [] { return "a large shared value stays one row"; },
          [&] { return "no number from 8 to 256 divides " + std::to_string(elements); });
      return;
    }
    int64_t rows = elements / width;
    FlatSymbolRefAttr space = getStaticRows(getOperation(), rows);
    OpBuilder b(op);
    Location loc = op->getLoc();
    auto flat = RankedTensorType::get({rows, width}, type.getElementType());
    RankedTensorType onRows = getTensorOn(space, rows, {width}, type.getElementType());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (getFeatureElements(operand.getType()) == 1) {
        auto number = RankedTensorType::get({1}, type.getElementType());
        operands.push_back(operand.getType() == number ? operand : Value(ReshapeOp::create(b, loc, number, operand)));
        continue;
      }
      // What this pass gave back is taken as it is.
      Value source = operand;
      while (auto reshape = source.getDefiningOp<ReshapeOp>())
        source = reshape.getInput();
      if (auto collect = source.getDefiningOp<CollectOp>(); collect && collect.getInput().getType() == onRows) {
        operands.push_back(collect.getInput());
        continue;
      }
      Value reshaped = source.getType() == flat ? source : Value(ReshapeOp::create(b, loc, flat, source));
      operands.push_back(SpreadOp::create(b, loc, onRows, reshaped));
    }
    OperationState state(loc, op->getName(), operands, onRows, op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Value result = CollectOp::create(b, loc, flat, b.create(state)->getResult(0));
    if (type != flat)
      result = ReshapeOp::create(b, loc, type, result);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    ++numSpread;
  }
};

} // namespace
