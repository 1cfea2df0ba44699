//===- MPDFGLinear.cpp - What the row-by-row operations are linear in -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/MPDFG.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

bool UnaryOp::isLinearIn(ArrayRef<bool> operands) { return operands[0] && getKind() == UnaryKind::Neg; }
bool UnaryOp::isElementwise() { return true; }

bool BinaryOp::isLinearIn(ArrayRef<bool> operands) {
  switch (getKind()) {
  case BinaryKind::Add:
  case BinaryKind::Sub:
    return operands[0] && operands[1];
  case BinaryKind::Mul:
    return operands[0] != operands[1];
  case BinaryKind::Div:
    return operands[0] && !operands[1];
  default:
    return false;
  }
}
bool BinaryOp::isElementwise() { return true; }
bool BinaryOp::dividesBy(unsigned operand) { return operand == 1 && getKind() == BinaryKind::Div; }

bool SelectOp::isLinearIn(ArrayRef<bool> operands) { return !operands[0] && operands[1] && operands[2]; }
bool SelectOp::isElementwise() { return true; }

bool ContractOp::isLinearIn(ArrayRef<bool> operands) { return operands[0] != operands[1]; }
bool FoldOp::isLinearIn(ArrayRef<bool> operands) {
  return operands[0] && (getKind() == ReduceKind::Sum || getKind() == ReduceKind::Mean);
}
bool ReshapeOp::isLinearIn(ArrayRef<bool> operands) { return operands[0]; }
bool TransposeOp::isLinearIn(ArrayRef<bool> operands) { return operands[0]; }
bool ConcatOp::isLinearIn(ArrayRef<bool> operands) {
  return llvm::all_of(operands, [](bool in) { return in; });
}
bool SliceOp::isLinearIn(ArrayRef<bool> operands) { return operands[0]; }
bool DetachOp::isLinearIn(ArrayRef<bool> operands) { return operands[0]; }
