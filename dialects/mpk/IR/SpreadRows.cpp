//===- SpreadRows.cpp - Rows that threads share ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpk/IR/SpreadRows.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

bool mpk::foldsRows(Block &body) {
  return llvm::any_of(body.without_terminator(), [](Operation &op) { return isa<FoldOp>(op); });
}

StringRef mpk::whyNotSpread(ProductOp product, Block &body) {
  if (product.getRows() != 1)
    return "the product has several rows for an element, and its target spreads them";
  int64_t numbers = product.getBatch() * product.getN();
  if (!foldsRows(body))
    return whyNotElementwise(body, numbers);
  if (product.getBatch() != 1 || numbers > kLongestFoldedRow)
    return "it needs the whole row, which is longer than what a few threads have";
  for (Operation &op : body.without_terminator()) {
    if (auto fold = dyn_cast<FoldOp>(op)) {
      if (!llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min}, fold.getKind()))
        return "it folds a row in more than one pass, and its target spreads it";
      if (getFeatureElements(fold.getInput().getType()) != numbers || getFeatureElements(fold.getType()) != 1)
        return "it folds part of a row, and its target spreads the whole";
    } else if (!isa<UnaryOp, BinaryOp, SelectOp, ReshapeOp, DetachOp, ConstantOp>(op)) {
      return "it needs the whole row, which its target spreads";
    }
  }
  for (Value value : body.getTerminator()->getOperands())
    if (int64_t own = getFeatureElements(value.getType()); own != numbers && own != 1)
      return "its results are shorter than the row, which its target spreads";
  return "";
}
