//===- MPK.h - The mpk dialect ----------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPK_IR_MPK_H
#define GNNC_MPK_IR_MPK_H

#include "dialects/mpdfg/IR/MPDFG.h"

#include "dialects/mpk/IR/MPKDialect.h.inc"
#include "dialects/mpk/IR/MPKEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mpk/IR/MPKAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/mpk/IR/MPKOps.h.inc"

namespace gnnc::mpk {

/// How many elements a body value depends on.
enum class Level { Shared, Owner, Member };

/// The level of each value in a sweep's body, arguments included. A whole-sweep property, so it is computed at once.
llvm::DenseMap<mlir::Value, Level> computeLevels(SweepOp sweep);

/// Whether the operation is a contraction that is made for a few members at a time; see kTileAttr.
bool isTiled(mlir::Operation *op);

/// Why what a body of rows yields is not made number by number of a row of `numbers` numbers; empty: it is. For targets
/// that spread the row of a product over threads.
llvm::StringRef whyNotElementwise(mlir::Block &body, int64_t numbers);

/// What ranks do together: a transfer, the end of one, or a reduction over all of them. It is a kernel of its own
/// between sweeps, which the runtime has the code of.
bool isCollective(mlir::Operation *op);
/// What the runtime has the code of: a collective, or a choice (mpdfg::isChoice).
bool isOfRuntime(mlir::Operation *op);
/// A kernel that is one before sweeps are: a matrix product, or one of the runtime's.
bool isFormed(mlir::Operation *op);
/// Any kernel.
bool isKernel(mlir::Operation *op);

} // namespace gnnc::mpk

#endif // GNNC_MPK_IR_MPK_H
