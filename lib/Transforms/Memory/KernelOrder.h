//===- KernelOrder.h - Which kernels must come before which -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For passes that put kernels in another order: what an order must keep to, and how operations are brought into it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_MEMORY_KERNELORDER_H
#define GNNC_LIB_TRANSFORMS_MEMORY_KERNELORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

namespace gnnc {

/// Kernels of a function, by their place in the list that it is made of, and which must come before which: those that
/// make what others read, and what reads an argument before what replaces it.
class KernelOrder {
public:
  KernelOrder(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> kernels);

  size_t size() const { return kernels.size(); }
  mlir::Operation *at(unsigned i) const { return kernels[i]; }
  /// The kernels that must be done right before one; all others follow from these.
  llvm::ArrayRef<unsigned> before(unsigned i) const { return direct[i]; }
  /// All that must be done before one.
  const llvm::BitVector &ancestors(unsigned i) const { return all[i]; }
  bool isReady(unsigned i, const llvm::BitVector &done) const {
    return llvm::all_of(direct[i], [&](unsigned k) { return done[k]; });
  }

private:
  /// Kernels that `value` is made by, through views and the like.
  void addMaker(mlir::Value value, unsigned reader);

  llvm::ArrayRef<mlir::Operation *> kernels;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  llvm::SmallVector<llvm::SmallVector<unsigned>> direct;
  llvm::SmallVector<llvm::BitVector> all;
};

/// Puts kernels of a block in the given order, each behind what it is made of; the rest of `all`, such as views that
/// are returned, behind them.
void rearrange(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> all, llvm::ArrayRef<mlir::Operation *> kernels);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_MEMORY_KERNELORDER_H
