//===- SweepEmitter.h - Code for one sweep ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_SWEEPEMITTER_H
#define GNNC_LIB_TARGET_CPU_SWEEPEMITTER_H

#include "KernelBuilder.h"
#include "dialects/mpk/IR/MPK.h"

namespace gnnc::cpu {

/// Adds a function that computes blocks of `sweep` to `module`; body values are flat vectors, or rows in stack memory
/// where they are too wide for that. `fixedRounding`: see KernelBuilder::hasFixedRounding.
mlir::FailureOr<EmittedKernel> emitSweep(mpk::SweepOp sweep, llvm::StringRef name, const Processor &target,
                                         mlir::ModuleOp module, bool fixedRounding);

/// Code for the kernel's rows of a sweep without members, at the builder's insertion point.
void emitRowsOf(mpk::SweepOp sweep, const Processor &target, KernelBuilder &kernel);

/// Adds a function that computes blocks of `product` to `module`.
EmittedKernel emitProduct(mpk::ProductOp product, llvm::StringRef name, const Processor &target, mlir::ModuleOp module,
                          bool fixedRounding);

/// The same within a kernel, for the rows in [begin, end) of `kernel`.
void emitProductRows(mpk::ProductOp product, const Processor &target, KernelBuilder &kernel);
void emitOuterRows(mpk::OuterSumOp sum, const Processor &target, KernelBuilder &kernel);

/// Adds a function that computes blocks of `sum` to `module`.
EmittedKernel emitOuterSum(mpk::OuterSumOp sum, llvm::StringRef name, const Processor &target, mlir::ModuleOp module);

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_SWEEPEMITTER_H
