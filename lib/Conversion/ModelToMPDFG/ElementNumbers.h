//===- ElementNumbers.h - Which element something is ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random numbers are those of elements. Where graphs are cut into parts, what element a derived one is has to be said
// by what the parts know: an element of a filter is the one of its base, and an element of a union is one of a branch.
// So a number says which element of a root space, or which tuple of a distinct one, it is, and a key says which branch.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_CONVERSION_MODELTOMPDFG_ELEMENTNUMBERS_H
#define GNNC_LIB_CONVERSION_MODELTOMPDFG_ELEMENTNUMBERS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace gnnc {

class ElementNumbers {
public:
  /// Numbers with as many axes of size 1.
  ElementNumbers(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module, size_t axes, mlir::Type element)
      : b(builder), loc(loc), module(module), symbols(module), ones(axes, 1), element(element) {}

  /// The numbers of a space's elements, and the key of each one's branch: `key` itself if there is one branch alone.
  std::pair<mlir::Value, mlir::Value> of(mlir::FlatSymbolRefAttr space, mlir::Value key);

private:
  /// For each branch its elements' numbers; less than 0 where an element is of another one.
  llvm::SmallVector<mlir::Value> branchesOf(mlir::FlatSymbolRefAttr space);
  mlir::Value keyOf(mlir::Value key, size_t branch);
  mlir::Value move(mlir::Value number, mlir::FlatSymbolRefAttr along, mlir::FlatSymbolRefAttr to);
  mlir::RankedTensorType typeOn(mlir::FlatSymbolRefAttr space);
  /// The map from a derived space to its base or part, declared if the model has none.
  mlir::FlatSymbolRefAttr mapOf(mpdfg::SpaceOp space, mpdfg::MapKind kind, mlir::FlatSymbolRefAttr to,
                                std::optional<int64_t> part);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::SmallVector<int64_t> ones;
  mlir::Type element;
};

} // namespace gnnc

#endif // GNNC_LIB_CONVERSION_MODELTOMPDFG_ELEMENTNUMBERS_H
