//===- BodySlice.h - Part of a sweep's body in a body of its own -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What some values of a body are made of, down to values that are in memory, as the body of another sweep.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPK_IR_BODYSLICE_H
#define GNNC_MPK_IR_BODYSLICE_H

#include "dialects/mpk/IR/MPK.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc::mpk {

class BodySlice {
public:
  /// The operations that make `values`, all of one body. Its arguments are leaves, and so are those for which `isLeaf`.
  BodySlice(mlir::ValueRange values, llvm::function_ref<bool(mlir::Value)> isLeaf);

  /// What the slice reads, in the order of the arguments that clones have for it.
  llvm::ArrayRef<mlir::Value> getLeaves() const { return leaves.getArrayRef(); }

  /// Fills an empty region with copies of the operations in their order and a yield of the values. `visit` sees each
  /// copy.
  void cloneInto(mlir::Region &region, llvm::function_ref<void(mlir::Operation *)> visit = {}) const;

private:
  llvm::SmallVector<mlir::Value> values;
  llvm::SetVector<mlir::Value> leaves;
  llvm::DenseSet<mlir::Operation *> operations;
};

} // namespace gnnc::mpk

#endif // GNNC_MPK_IR_BODYSLICE_H
