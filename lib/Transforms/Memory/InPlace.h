//===- InPlace.h - When a sweep may write over what it reads ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_MEMORY_INPLACE_H
#define GNNC_LIB_TRANSFORMS_MEMORY_INPLACE_H

#include "dialects/mpk/IR/MPK.h"

namespace gnnc {

/// The kernels that read a value, also through views.
void findReaders(mlir::Value value, llvm::SmallVectorImpl<mlir::OpOperand *> &readers);

/// Whether a sweep has read all it needs of an operand's row before it writes the row of `result`, once: each by its
/// own owner, and the row is not also written somewhere as it was. All values of the sweep then have the same features
/// (or one number), because a target may compute a sweep in tiles of its axes.
bool readsOwnRowOnly(mpk::SweepOp sweep, unsigned operand, unsigned result);

/// The same for a sweep along a map, of whose owners several hands may have parts: all parts have been walked before
/// whoever has the whole writes the row, so it may be read for the walks, too. Where axes are cut into tiles, a tile
/// reads what it writes: axes that may be cut are the same ones of the operand and of `result`, and there are no
/// others.
bool readsOwnersRowOnly(mpk::SweepOp sweep, unsigned operand, unsigned result);

/// The same for further rows of a product's epilogue, whose rows are spread over threads: each number is read for the
/// number of the one result in the same place alone.
bool readsOwnNumbersOnly(mpk::ProductOp product, unsigned extra);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_MEMORY_INPLACE_H
