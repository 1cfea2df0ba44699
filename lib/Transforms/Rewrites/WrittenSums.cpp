//===- WrittenSums.cpp - Sums of products, written number by number -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rewrites/WrittenSums.h"
#include "Rewrites/ProductFactors.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

void WrittenSums::restore() {
  for (ContractOp contract : made) {
    OpBuilder b(contract);
    Location loc = contract.getLoc();
    Value left = contract.getLhs(), right = contract.getRhs();
    Type type = getResidency(left.getType()) ? left.getType() : right.getType(); // One of them may be shared.
    Value mul = BinaryOp::create(b, loc, type, BinaryKind::Mul, left, right);
    Labels axes;
    for (int64_t axis : llvm::seq<int64_t>(0, shape.size()))
      if (!llvm::is_contained(contract.getOutLabels(), axis))
        axes.push_back(axis);
    auto reshape = cast<ReshapeOp>(*contract->user_begin());
    Value fold = FoldOp::create(b, reshape.getLoc(), reshape.getType(), ReduceKind::Sum, mul, axes);
    reshape.replaceAllUsesWith(fold);
    reshape.erase();
    contract.erase();
  }
}

void WrittenSums::visit(Value term) {
  // A product of the term with a sum that it is part of is found, and erased, on the way.
  for (Operation *op : SmallVector<Operation *>(term.getUsers())) {
    if (!seen.insert(op).second)
      continue;
    auto binary = dyn_cast<BinaryOp>(op);
    if (!binary || binary.getLhs() == binary.getRhs() || getFeatureShape(binary.getLhs().getType()) != shape ||
        getFeatureShape(binary.getRhs().getType()) != shape)
      continue;
    if (binary.getKind() == BinaryKind::Add)
      visit(binary.getResult());
    else if (binary.getKind() == BinaryKind::Mul && binary->hasOneUse())
      convert(binary);
  }
}

void WrittenSums::convert(BinaryOp mul) {
  auto fold = dyn_cast<FoldOp>(*mul->user_begin());
  if (!fold || fold.getKind() != ReduceKind::Sum)
    return;
  Labels all(llvm::to_vector(llvm::seq<int64_t>(0, shape.size()))), out;
  for (int64_t axis : all)
    if (!llvm::is_contained(fold.getAxes(), axis))
      out.push_back(axis);
  OpBuilder b(fold);
  Factor left{mul.getLhs(), all}, right{mul.getRhs(), all};
  Value contract = multiply(b, mul.getLoc(), left, right, out).value;
  auto reshape = ReshapeOp::create(b, fold.getLoc(), fold.getType(), contract);
  fold.replaceAllUsesWith(reshape.getResult());
  fold.erase();
  mul.erase();
  made.push_back(contract.getDefiningOp<ContractOp>());
}
