//===- Choices.cpp - Maps that the program itself makes -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/Choices.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

FlatSymbolRefAttr mpdfg::getChosenMap(Operation *choice) { return choice->getAttrOfType<FlatSymbolRefAttr>("along"); }

FlatSymbolRefAttr mpdfg::getOwnerMap(Operation *choice) {
  auto owner = choice->getAttrOfType<FlatSymbolRefAttr>("owner");
  return owner ? owner : getChosenMap(choice);
}

SpaceOp mpdfg::getSelection(Operation *choice) {
  return SymbolTable::lookupNearestSymbolFrom<SpaceOp>(choice, getResidency(choice->getResult(0).getType()));
}

bool mpdfg::isOpen(Operation *at, FlatSymbolRefAttr space) {
  auto op = space ? SymbolTable::lookupNearestSymbolFrom<SpaceOp>(at, space) : SpaceOp();
  return op && op.getOpen();
}

SmallVector<FlatSymbolRefAttr> mpdfg::chosenBehind(Operation *at, FlatSymbolRefAttr map) {
  SmallVector<FlatSymbolRefAttr> found, pending{map};
  DenseSet<Attribute> seen;
  while (!pending.empty()) {
    FlatSymbolRefAttr name = pending.pop_back_val();
    auto op = name && seen.insert(name).second ? SymbolTable::lookupNearestSymbolFrom<MapOp>(at, name) : MapOp();
    if (!op)
      continue;
    if (op.getKind() == MapKind::Chosen || (op.getKind() == MapKind::Owner && isOpen(at, op.getFromAttr())))
      found.push_back(name);
    if (op.getParts())
      for (Attribute part : op.getPartsAttr())
        pending.push_back(dyn_cast<FlatSymbolRefAttr>(part));
  }
  return found;
}

Choices::Choices(func::FuncOp function) {
  for (Operation &op : function.getBody().front())
    if (isChoice(&op))
      for (Attribute name : {Attribute(getChosenMap(&op)), Attribute(getOwnerMap(&op)),
                             Attribute(getResidency(op.getResult(0).getType()))})
        choices[name] = &op;
}

SmallVector<Operation *> Choices::of(Operation *at, FlatSymbolRefAttr map) const {
  SmallVector<Operation *> found;
  if (!choices.empty())
    for (FlatSymbolRefAttr chosen : chosenBehind(at, map))
      if (Operation *choice = choices.lookup(chosen); choice && choice != at)
        found.push_back(choice);
  return found;
}

SmallVector<Operation *> Choices::of(Operation *op) const {
  SmallVector<Operation *> found;
  if (choices.empty())
    return found;
  auto add = [&](Operation *choice) {
    if (choice && choice != op && !llvm::is_contained(found, choice))
      found.push_back(choice);
  };
  auto addOpen = [&](FlatSymbolRefAttr space) {
    if (Operation *choice = space ? choices.lookup(space) : nullptr; choice && isOpen(op, space))
      add(choice);
  };
  op->walk([&](Operation *inner) {
    inner->getAttrDictionary().walk([&](FlatSymbolRefAttr name) {
      llvm::for_each(of(op, name), add);
      addOpen(name);
    });
    for (Type type : inner->getOperandTypes())
      addOpen(getResidency(type));
    for (Type type : inner->getResultTypes())
      addOpen(getResidency(type));
  });
  // A degree may be no kernel's: it is read off the index of its map.
  for (Value operand : op->getOperands())
    if (auto degree = operand.getDefiningOp<DegreeOp>())
      llvm::for_each(of(op, degree.getAlongAttr()), add);
  return found;
}

void mpdfg::eraseUnusedChoices(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (bool changed = true; changed;) {
    changed = false;
    Choices choices(function);
    if (choices.empty())
      return;
    llvm::DenseSet<Operation *> used;
    for (Operation &op : block)
      used.insert_range(choices.of(&op));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op) || (isChoice(&op) && !used.contains(&op) && op.use_empty())) {
        op.erase();
        changed = true;
      }
  }
}
