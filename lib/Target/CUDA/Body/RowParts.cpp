//===- RowParts.cpp - Rows that are read and written in parts -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body/RowParts.h"
#include "StepMemory.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

/// Numbers between neighbours along an axis of a row.
static int64_t strideOf(ArrayRef<int64_t> dims, int64_t axis) { return RefTensor::product(dims.drop_front(axis + 1)); }

bool cuda::isOperand(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<mpk::SweepOp>(argument.getOwner()->getParentOp());
  auto slice = value.getDefiningOp<SliceOp>();
  auto argument = slice ? dyn_cast<BlockArgument>(slice.getInput()) : BlockArgument();
  auto sweep = argument ? dyn_cast<mpk::SweepOp>(argument.getOwner()->getParentOp()) : mpk::SweepOp();
  return sweep && !isReplacedBy(sweep, sweep.getInputs()[argument.getArgNumber()]);
}

BlockArgument cuda::argumentOf(Value operand) {
  if (auto slice = operand.getDefiningOp<SliceOp>())
    operand = slice.getInput();
  return cast<BlockArgument>(operand);
}

RowPart cuda::partOf(Value operand) {
  auto slice = operand.getDefiningOp<SliceOp>();
  ArrayRef<int64_t> dims = getFeatureShape((slice ? slice.getInput() : operand).getType());
  RowPart part{SmallVector<int64_t>(dims), 0};
  if (slice)
    part.first = slice.getBegin() * strideOf(dims, slice.getAxis());
  return part;
}

SmallVector<Value> cuda::operandsOf(mpk::SweepOp sweep) {
  SmallVector<Value> operands;
  auto isPart = [](Operation *user) { return isa<SliceOp>(user) && isOperand(user->getResult(0)); };
  for (BlockArgument argument : sweep.getBody().getArguments())
    if (argument.use_empty() || !llvm::all_of(argument.getUsers(), isPart))
      operands.push_back(argument);
  for (Operation &op : sweep.getBody().front())
    if (isPart(&op))
      operands.push_back(op.getResult(0));
  return operands;
}

bool cuda::isJoined(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  auto sweep = concat ? dyn_cast<mpk::SweepOp>(concat->getParentOp()) : mpk::SweepOp();
  if (!sweep)
    return false;
  for (OpOperand &use : value.getUses()) {
    if (!isa<mpk::YieldOp>(use.getOwner()))
      return false;
    unsigned result = use.getOperandNumber();
    if (sweep.getYieldOf(result).getKind() == mpk::AccessKind::Shared && sweep.getOverAttr())
      return false; // It is stored when all owners are done.
    for (Value input : sweep.getInputs())
      if (llvm::is_contained(findReplacing(sweep, input), result))
        return false;
  }
  return true;
}

SmallVector<std::pair<Value, RowPart>> cuda::writtenParts(Value yielded) {
  RowPart whole{SmallVector<int64_t>(getFeatureShape(yielded.getType())), 0};
  if (!isJoined(yielded))
    return {{yielded, whole}};
  auto concat = yielded.getDefiningOp<ConcatOp>();
  SmallVector<std::pair<Value, RowPart>> parts;
  for (Value part : concat.getInputs()) {
    parts.push_back({part, whole});
    whole.first += getFeatureShape(part.getType())[concat.getAxis()] * strideOf(whole.dims, concat.getAxis());
  }
  return parts;
}

bool cuda::isAligned(const RowPart &part, int64_t numbers) {
  return part.first % numbers == 0 && (part.dims.empty() || part.dims.back() % numbers == 0);
}
