//===- Needs.cpp - What a function needs of a graph -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Needs.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc;

SmallVector<StringRef> gnnc::findNeeds(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  llvm::SetVector<StringRef> needs;
  DenseSet<Operation *> seen;
  auto visit = [&](auto &&self, FlatSymbolRefAttr ref) -> void {
    Operation *op = module.lookupSymbol(ref.getValue());
    if (!op || !seen.insert(op).second)
      return;
    auto space = dyn_cast<mpdfg::SpaceOp>(op);
    auto map = dyn_cast<mpdfg::MapOp>(op);
    if ((space && space.getKind() == mpdfg::SpaceKind::Root) || (map && map.getKind() == mpdfg::MapKind::Root))
      needs.insert(ref.getValue());
    if (space || map)
      op->getAttrDictionary().walk([&](FlatSymbolRefAttr part) { self(self, part); });
  };
  function.walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](FlatSymbolRefAttr ref) { visit(visit, ref); });
    auto visitType = [&](Type type) { type.walk([&](FlatSymbolRefAttr ref) { visit(visit, ref); }); };
    llvm::for_each(op->getOperandTypes(), visitType);
    llvm::for_each(op->getResultTypes(), visitType);
  });
  // An argument that nothing uses is still bound.
  for (Type type : function.getArgumentTypes())
    type.walk([&](FlatSymbolRefAttr ref) { visit(visit, ref); });
  return needs.takeVector();
}
