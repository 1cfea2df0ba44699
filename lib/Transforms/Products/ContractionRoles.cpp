//===- ContractionRoles.cpp - The parts of a contraction ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/ContractionRoles.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

ContractionRoles::ContractionRoles(ContractOp op) {
  ArrayRef<int64_t> lhs = op.getLhsLabels(), rhs = op.getRhsLabels(), out = op.getOutLabels();
  for (auto [label, size] : llvm::zip(lhs, getFeatureShape(op.getLhs().getType()))) {
    bool inRhs = llvm::is_contained(rhs, label), inOut = llvm::is_contained(out, label);
    (inRhs ? (inOut ? batch : k) : m).push_back(label);
    onlyOneOperand |= !inRhs && !inOut;
    sizes[label] = size;
  }
  for (auto [label, size] : llvm::zip(rhs, getFeatureShape(op.getRhs().getType()))) {
    sizes[label] = size;
    if (llvm::is_contained(lhs, label))
      continue;
    n.push_back(label);
    onlyOneOperand |= !llvm::is_contained(out, label);
  }
}

int64_t ContractionRoles::sizeOf(ArrayRef<int64_t> labels) const {
  int64_t count = 1;
  for (int64_t label : labels)
    count *= sizes.lookup(label);
  return count;
}

void gnnc::exchangeOperands(ContractOp op) {
  Value lhs = op.getLhs();
  SmallVector<int64_t> labels(op.getLhsLabels());
  op.getLhsMutable().assign(op.getRhs());
  op.setLhsLabels(op.getRhsLabels());
  op.getRhsMutable().assign(lhs);
  op.setRhsLabels(labels);
}

Value gnnc::inLabelOrder(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> labels, ArrayRef<int64_t> wanted) {
  if (labels == wanted)
    return value;
  SmallVector<int64_t> permutation, features;
  for (int64_t label : wanted) {
    permutation.push_back(llvm::find(labels, label) - labels.begin());
    features.push_back(getFeatureShape(value.getType())[permutation.back()]);
  }
  auto type = cast<RankedTensorType>(value.getType());
  FlatSymbolRefAttr space = getResidency(type);
  return TransposeOp::create(
      b, loc, getTensorOn(space, space ? type.getDimSize(0) : 0, features, type.getElementType()), value, permutation);
}
