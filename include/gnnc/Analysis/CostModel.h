//===- CostModel.h - What operations and kernels cost -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floating-point operations and bytes as formulas over the extents of spaces. In mpdfg, each operation counts as a
// kernel of its own that reads its operands and writes its result, as in a framework without fusion. In mpk, the cost
// is that of the kernels: members are walked as often as SweepPlan says, and each operand is read once for each element
// that sees it, ignoring caches.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_ANALYSIS_COSTMODEL_H
#define GNNC_ANALYSIS_COSTMODEL_H

#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Support/SymbolicExpr.h"

namespace gnnc {

struct Cost {
  SymbolicExpr flops;
  SymbolicExpr read;    ///< bytes, indices included
  SymbolicExpr written; ///< bytes

  Cost &operator+=(const Cost &other);
};

/// The cost of a single operation of mpdfg or kernel of mpk. Views, constants and declarations cost nothing.
Cost costOf(mlir::Operation *op);

/// The cost of all operations in a function's body.
Cost costOfFunction(mlir::Operation *function);

/// An estimate of the time that a function of kernels takes, in bytes moved: an operation counts as kBytesPerOperation,
/// the start of a kernel as kBytesPerKernel. Used to compare alternatives of a function.
SymbolicExpr timeOf(mlir::Operation *function);
inline constexpr int64_t kBytesPerOperation = 1, kBytesPerKernel = 32768;

/// The bytes of a value.
SymbolicExpr bytesOf(mlir::Value value);

/// The statements that an operation of a body takes in generated code, about: one for each operation on a number, for
/// each register that a row fills, as far as rows are not walked by loops. Constants and movements take none.
int64_t statementsOf(mlir::Operation *op);

/// Statements of a lane that has its part of every row in registers, where loops are unrolled. Products count all of
/// their terms.
int64_t unrolledOf(mlir::Operation *op);

} // namespace gnnc

#endif // GNNC_ANALYSIS_COSTMODEL_H
