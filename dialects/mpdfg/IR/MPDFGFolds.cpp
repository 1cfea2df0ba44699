//===- MPDFGFolds.cpp - Local identities ----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x + -0, x - 0, x * 1, x / 1 are x where that has the result's type; changes of shape that change nothing or undo each
// other are none. x * 0 is kept: x may be infinite. So is x + 0: x may be -0. A matrix that is the same for all
// elements is a weight.
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// A constant seen through changes of shape; distinguishes 0 and -0.
bool isNumber(Value value, double number) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().bitwiseIsEqual(llvm::APFloat(number));
}

} // namespace

OpFoldResult BinaryOp::fold(FoldAdaptor) {
  auto same = [&](Value value) { return value.getType() == getType(); };
  switch (getKind()) {
  case BinaryKind::Add:
    if (isNumber(getRhs(), -0.0) && same(getLhs()))
      return getLhs();
    if (isNumber(getLhs(), -0.0) && same(getRhs()))
      return getRhs();
    return {};
  case BinaryKind::Sub:
    return isNumber(getRhs(), 0) && same(getLhs()) ? OpFoldResult(getLhs()) : OpFoldResult();
  case BinaryKind::Mul:
    if (isNumber(getRhs(), 1) && same(getLhs()))
      return getLhs();
    if (isNumber(getLhs(), 1) && same(getRhs()))
      return getRhs();
    return {};
  case BinaryKind::Div:
    return isNumber(getRhs(), 1) && same(getLhs()) ? OpFoldResult(getLhs()) : OpFoldResult();
  default:
    return {};
  }
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  Value source = getInput();
  while (auto inner = source.getDefiningOp<ReshapeOp>())
    source = inner.getInput();
  if (source.getType() == getType())
    return source;
  if (source == getInput())
    return {};
  getInputMutable().assign(source);
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(getPermutation()))
    if (int64_t(i) != axis)
      return {};
  return getInput();
}

/// What is the same for all elements, such as the cotangent of a sum over all of them, is a weight.
LogicalResult ContractOp::canonicalize(ContractOp op, PatternRewriter &rewriter) {
  for (auto [operand, other] :
       {std::pair(&op.getLhsMutable(), op.getRhs()), std::pair(&op.getRhsMutable(), op.getLhs())}) {
    auto move = operand->get().getDefiningOp<BroadcastOp>();
    if (!move || move.getAlong() != kAllMap || getResidency(other.getType()) != getResidency(move.getType()))
      continue;
    rewriter.modifyOpInPlace(op, [&, operand = operand] { operand->set(move.getInput()); });
    return success();
  }
  return failure();
}
