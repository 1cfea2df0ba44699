//===- StepMemory.h - What all printers ask of operands ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_STEPMEMORY_H
#define GNNC_LIB_TARGET_CUDA_STEPMEMORY_H

#include "dialects/mpk/IR/MPK.h"

namespace gnnc::cuda {

/// Whether a map is undefined somewhere; a composition is if one of its parts is.
bool isPartialMap(mlir::Operation *from, mlir::FlatSymbolRefAttr map);
/// Whether the sweep writes a result where this operand lies (place-updates, plan-memory).
bool isReplacedBy(mpk::SweepOp sweep, mlir::Value input);
/// Which results those are.
llvm::SmallVector<unsigned, 1> findReplacing(mpk::SweepOp sweep, mlir::Value input);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_STEPMEMORY_H
