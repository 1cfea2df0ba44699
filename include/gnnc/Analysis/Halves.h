//===- Halves.h - The forward and the backward half of a program -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which part of a function is what its plain results need, and which is there for gradients alone. Works on operations
// of mpdfg and on kernels, and asks nothing but uses: adjoint code is reordered and simplified like any other, so marks
// of its origin would not last.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_ANALYSIS_HALVES_H
#define GNNC_ANALYSIS_HALVES_H

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace gnnc {

using OperationSet = llvm::DenseSet<mlir::Operation *>;

/// What can only run once the gradients of outputs are given (or is made for that time): whatever depends on an
/// argument that is such a gradient, or on a value that is computed once more.
OperationSet findLate(mlir::func::FuncOp function);

/// What the plain results need: those that are not late and replace no argument.
OperationSet findForward(mlir::func::FuncOp function);

/// Whether the function computes gradients: it is given gradients of its outputs, or it replaces arguments
/// beside giving plain results (a loss).
bool hasBackward(mlir::func::FuncOp function);

/// The kernels of the backward half; none where there is none. Where gradients of outputs are given, it is what must
/// wait for them; in a training step, everything that the loss does not need.
OperationSet findBackwardKernels(mlir::func::FuncOp function);

/// How many kernels, all before the others, can run without gradients of outputs; nothing where a function is given
/// none.
std::optional<int64_t> countSeedless(mlir::func::FuncOp function);

} // namespace gnnc

#endif // GNNC_ANALYSIS_HALVES_H
