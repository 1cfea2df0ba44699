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
inline bool isChoice(mlir::Operation *op) {
  return llvm::isa_and_nonnull<NearestOp, WithinOp, TopOp, FarthestOp, KeepOp>(op);
}
/// The map to what a choice chooses.
mlir::FlatSymbolRefAttr getChosenMap(mlir::Operation *choice);
/// The map from there to whom it is chosen for; of what is kept, the same.
mlir::FlatSymbolRefAttr getOwnerMap(mlir::Operation *choice);
/// The selection whose elements a choice makes.
SpaceOp getSelection(mlir::Operation *choice);
/// Whether a space has as many elements as an operation of the program chooses; `at`: any operation of the module.
bool isOpen(mlir::Operation *at, mlir::FlatSymbolRefAttr space);

/// The maps of selections that a map leads through of which choices say where they lead; `at`: any operation of the
/// module.
llvm::SmallVector<mlir::FlatSymbolRefAttr> chosenBehind(mlir::Operation *at, mlir::FlatSymbolRefAttr map);
inline bool isKnownWithGraph(mlir::Operation *at, mlir::FlatSymbolRefAttr map) { return chosenBehind(at, map).empty(); }

/// What a choice chooses, and for whom; by element of its selection.
struct ChosenElements {
  std::vector<int64_t> owners, chosen;
  /// The result of the choice.
  RefTensor numbers() const;
};
/// How many of the available elements a selection has for one of its base, at most.
int64_t mostChosen(SpaceOp selection, int64_t available);
/// As the interpreter has it.
ChosenElements chooseElements(mlir::Operation *choice, llvm::ArrayRef<const RefTensor *> operands,
                              const GraphData &graph);

/// The choices of a function, by who needs them.
class Choices {
public:
  explicit Choices(mlir::func::FuncOp function);

  bool empty() const { return choices.empty(); }
  /// Those that say where the maps lead that an operation names, other than itself, or a degree among its operands; and
  /// how many elements there are on which its values reside.
  llvm::SmallVector<mlir::Operation *> of(mlir::Operation *op) const;
  llvm::SmallVector<mlir::Operation *> of(mlir::Operation *at, mlir::FlatSymbolRefAttr map) const;

private:
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> choices;
};

/// Erases choices of maps that nothing in the function names, and what is needed for nothing else.
void eraseUnusedChoices(mlir::func::FuncOp function);

} // namespace gnnc::mpdfg

#endif // GNNC_MPDFG_IR_CHOICES_H
