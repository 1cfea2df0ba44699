//===- Choices.h - Maps that the program itself makes -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation such as mpdfg.nearest says where a map to what is chosen leads. Those that name the map need it, without
// an operand that says so; whoever puts operations in another order asks here.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_IR_CHOICES_H
#define GNNC_MPDFG_IR_CHOICES_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gnnc::mpdfg {

/// Whether the operation says where a map leads.
inline bool isChoice(mlir::Operation *op) { return llvm::isa_and_nonnull<NearestOp>(op); }
/// The map of which a choice says where it leads.
mlir::FlatSymbolRefAttr getChosenMap(mlir::Operation *choice);

/// The maps to what is chosen that a map leads through; `at`: any operation of the module.
llvm::SmallVector<mlir::FlatSymbolRefAttr> chosenBehind(mlir::Operation *at, mlir::FlatSymbolRefAttr map);
inline bool isKnownWithGraph(mlir::Operation *at, mlir::FlatSymbolRefAttr map) { return chosenBehind(at, map).empty(); }

/// The choices of a function, by who needs them.
class Choices {
public:
  explicit Choices(mlir::func::FuncOp function);

  bool empty() const { return choices.empty(); }
  /// Those that say where the maps lead that an operation names, other than itself, or a degree among its operands.
  llvm::SmallVector<mlir::Operation *> of(mlir::Operation *op) const;
  llvm::SmallVector<mlir::Operation *> of(mlir::Operation *at, mlir::FlatSymbolRefAttr map) const;

private:
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> choices;
};

/// Erases choices of maps that nothing in the function names, and what is needed for nothing else.
void eraseUnusedChoices(mlir::func::FuncOp function);

} // namespace gnnc::mpdfg

#endif // GNNC_MPDFG_IR_CHOICES_H
