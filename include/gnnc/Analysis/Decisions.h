//===- Decisions.h - Kernels whose rounding decides something ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members with equal operands have equal values, and the first of them wins a maximum. A value is equal to itself, also
// where one side of a comparison was stored and the other one is computed again. Both hold only if the same operation
// on the same numbers gives the same bits wherever it is computed: in the loop over several members at a time and in
// the one over those that are left, in this kernel and in that one. Contraction and sums of rows in whatever order is
// best do not give that, so kernels that compute what is compared have to do without.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_ANALYSIS_DECISIONS_H
#define GNNC_ANALYSIS_DECISIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace gnnc {

/// The kernels of a function of kernels that compute something which the winner of a maximum or minimum, or a
/// comparison of two computed values, depends on: in the same body, or in those that read their results. Comparisons
/// with a constant are left out: nothing else has to come out equal to a constant.
llvm::DenseSet<mlir::Operation *> findDecidingKernels(mlir::func::FuncOp function);

} // namespace gnnc

#endif // GNNC_ANALYSIS_DECISIONS_H
