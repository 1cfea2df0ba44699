//===- ContractionRoles.h - The parts of a contraction ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels of a contraction x[...] w[...] -> y[...] fall into
//
//   batch  in x, w and y       n  in w and y only
//   m      in x and y only     k  in x and w, summed
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_PRODUCTS_CONTRACTIONROLES_H
#define GNNC_LIB_TRANSFORMS_PRODUCTS_CONTRACTIONROLES_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"

namespace gnnc {

/// The labels of a contraction by their part in the product.
struct ContractionRoles {
  using Labels = llvm::SmallVector<int64_t>;
  Labels batch, m, n, k;
  bool onlyOneOperand = false; ///< a label that is summed but stands in one operand alone

  explicit ContractionRoles(mpdfg::ContractOp op);
  /// The numbers that the labels run over together.
  int64_t sizeOf(llvm::ArrayRef<int64_t> labels) const;

private:
  llvm::SmallDenseMap<int64_t, int64_t> sizes;
};

/// Makes the left operand the right one and the right one the left.
void exchangeOperands(mpdfg::ContractOp op);

/// `value` with its features in the order of `wanted`, which permutes `labels`.
mlir::Value inLabelOrder(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> labels,
                         llvm::ArrayRef<int64_t> wanted);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_PRODUCTS_CONTRACTIONROLES_H
