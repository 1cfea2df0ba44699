//===- WrittenSums.h - Sums of products, written number by number -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_REWRITES_WRITTENSUMS_H
#define GNNC_LIB_TRANSFORMS_REWRITES_WRITTENSUMS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "llvm/ADT/DenseSet.h"

namespace gnnc {

/// Products written number by number and then summed over axes, of all that a product becomes through additions: made
/// contractions for as long as it takes to find out whether they become others.
class WrittenSums {
public:
  WrittenSums(mpdfg::ContractOp product) : shape(mpdfg::getFeatureShape(product.getType())) {
    visit(product.getResult());
  }

  /// Makes them what they were.
  void restore();

private:
  void visit(mlir::Value term);
  void convert(mpdfg::BinaryOp mul);

  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<mpdfg::ContractOp> made;
  llvm::DenseSet<mlir::Operation *> seen;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_REWRITES_WRITTENSUMS_H
