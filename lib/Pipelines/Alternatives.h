//===- Alternatives.h - Functions that the runtime chooses among -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some choices depend on the graph: whether there are fewer senders or fewer receivers decides where a product is made.
// Passes that have such a choice take an assumption (Extents). The model is compiled for each assumption; where that
// leads to other kernels, and these are not dearer whatever the graph, both forms of the function go into the object
// with what they cost as formulas over extents. The runtime evaluates the formulas when a graph is prepared.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_PIPELINES_ALTERNATIVES_H
#define GNNC_LIB_PIPELINES_ALTERNATIVES_H

#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gnnc {

/// Adds to a module of kernels the functions that differ where the model is compiled under other assumptions. `build`
/// gives the module for an assumption, past the same phases; null: it failed, and nothing is added.
void addAlternatives(mlir::ModuleOp module,
                     llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(Extents extents)> build);

} // namespace gnnc

#endif // GNNC_LIB_PIPELINES_ALTERNATIVES_H
