//===- ModelToMPDFG.h - From a checked program to mpdfg ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_CONVERSION_MODELTOMPDFG_H
#define GNNC_CONVERSION_MODELTOMPDFG_H

#include "gnnc/Frontend/ModelSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gnnc {

/// Writes `model` as a module: its spaces and maps, the function `@forward` from inputs, parameters and states to
/// outputs, and one more for each further program. A function's arguments are what it needs. Named axes become
/// positions: operands are transposed and get axes of size 1 as the names require. The result verifies; `model` has
/// been checked already, so there is no failure.
///
/// `forRanks`: random numbers of an element of a filter or a union are those of an element of a root space, which is
/// the same however a graph is cut, and takes some time to find; else those of its own number.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const frontend::ModelSpec &model, mlir::MLIRContext *context,
                                              bool forRanks = false);

} // namespace gnnc

#endif // GNNC_CONVERSION_MODELTOMPDFG_H
