//===- MemberProducts.h - Products of members, and what is made of them *- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_PRODUCTS_MEMBERPRODUCTS_H
#define GNNC_LIB_TRANSFORMS_PRODUCTS_MEMBERPRODUCTS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc {

/// Whether the value has a row for each element of a space whose number is known with the graph.
bool isOnDynamicSpace(mlir::Type type);

/// Members are elements that are summed for others, on spaces that nothing is summed for: values on those are stored
/// anyway.
class MemberProducts {
public:
  explicit MemberProducts(mlir::func::FuncOp function);

  bool isOnMembers(mlir::Value value) const { return spaces.contains(mpdfg::getResidency(value.getType())); }
  /// Whether it will be in memory (`mpdfg.keep`).
  static bool isKept(mlir::Value value);
  static void keep(mlir::Value value);
  /// Whether a value is computed on members rather than read from memory.
  static bool isMadeHere(mlir::Value value);
  /// What is computed on the value's own space to have it.
  llvm::SetVector<mlir::Operation *> computationOf(mlir::Value value) const {
    return computationOf(llvm::ArrayRef(value));
  }
  llvm::SetVector<mlir::Operation *> computationOf(llvm::ArrayRef<mlir::Value> values) const;
  /// What is made of a value on its own space, and of that.
  llvm::SetVector<mlir::Operation *> usersOf(mlir::Value value) const;

  /// A row of members times a weight that all share. Operands are exchanged so that the weight is the second.
  bool isRowProduct(mpdfg::ContractOp op) const;
  /// The sum that an outer product of rows goes into.
  mpdfg::ReduceOp findOuterSum(mpdfg::ContractOp op) const;

private:
  llvm::DenseSet<mlir::Attribute> spaces;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_PRODUCTS_MEMBERPRODUCTS_H
