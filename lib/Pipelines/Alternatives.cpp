//===- Alternatives.cpp - Functions that the runtime chooses among --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternatives.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/CostModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace gnnc;

#define DEBUG_TYPE "alternatives"

namespace {

/// What a function does, whatever its name.
std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().useLocalScope());
  return text.substr(std::min(text.find('('), text.size()));
}

/// Whether there are extents for which the one formula gives less than the other.
bool mayBeLess(const SymbolicExpr &one, const SymbolicExpr &other) {
  SymbolicExpr difference = other + one * -1;
  return difference.getNumber() > 0 ||
         llvm::any_of(difference.getFactors(), [](const auto &term) { return term.second > 0; });
}

/// The spaces and maps that a function needs, and what these are derived from.
DenseSet<Operation *> symbolsOf(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  DenseSet<Operation *> found;
  auto visit = [&](auto &&self, FlatSymbolRefAttr name) -> void {
    Operation *op = module.lookupSymbol(name.getValue());
    if (isa_and_nonnull<mpdfg::SpaceOp, mpdfg::MapOp>(op) && found.insert(op).second)
      op->getAttrDictionary().walk([&](FlatSymbolRefAttr part) { self(self, part); });
  };
  function.walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](FlatSymbolRefAttr name) { visit(visit, name); });
    for (Type type : op->getResultTypes())
      type.walk([&](FlatSymbolRefAttr name) { visit(visit, name); });
  });
  return found;
}

/// Declares in `module` what the function needs. False if a name means something else there.
bool declareSymbols(ModuleOp module, func::FuncOp function) {
  DenseSet<Operation *> needed = symbolsOf(function);
  SmallVector<Operation *> missing;
  for (Operation &op : function->getParentOfType<ModuleOp>().getOps()) {
    if (!needed.contains(&op))
      continue;
    Operation *own = module.lookupSymbol(cast<SymbolOpInterface>(op).getNameAttr());
    if (!own)
      missing.push_back(&op);
    else if (own->getName() != op.getName() || own->getAttrDictionary() != op.getAttrDictionary() ||
             own->getPropertiesAsAttribute() != op.getPropertiesAsAttribute())
      return false;
  }
  OpBuilder b(module.getContext());
  b.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
  for (Operation *op : missing)
    b.clone(*op);
  return true;
}

void remarkAbout(func::FuncOp function, bool kept, const std::string &text) {
  auto options = remark::RemarkOpts::name("alternative").category(DEBUG_TYPE).function(function.getName());
  if (auto remark = kept ? remark::passed(function.getLoc(), options) : remark::missed(function.getLoc(), options))
    remark << text;
}

} // namespace

void gnnc::addAlternatives(ModuleOp module, function_ref<OwningOpRef<ModuleOp>(Extents extents)> build) {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  DenseMap<Operation *, SmallVector<std::string>> known;
  for (func::FuncOp function : functions)
    known[function].push_back(textOf(function));
  for (auto [extents, label] : {std::pair(Extents::FewSources, "few_sources"), {Extents::FewOwners, "few_owners"}}) {
    OwningOpRef<ModuleOp> other = build(extents);
    if (!other) {
      for (func::FuncOp function : functions)
        remarkAbout(function, false, std::string(label) + " is left out: the model is not compiled for it");
      continue;
    }
    for (func::FuncOp function : functions) {
      auto alternative = other->lookupSymbol<func::FuncOp>(function.getSymName());
      std::string text = alternative ? textOf(alternative) : std::string();
      if (text.empty() || llvm::is_contained(known[function], text))
        continue;
      known[function].push_back(std::move(text));
      SymbolicExpr cost = timeOf(function), otherCost = timeOf(alternative);
      if (!mayBeLess(otherCost, cost)) {
        remarkAbout(function, false,
                    std::string(label) + " is dearer on every graph: " + otherCost.str() + ", not " + cost.str());
        continue;
      }
      if (!declareSymbols(module, alternative)) {
        remarkAbout(function, false,
                    std::string(label) + " is left out: a space or map of its means something else in this form");
        continue;
      }
      Operation *copy = OpBuilder::atBlockEnd(module.getBody()).clone(*alternative);
      std::string name = (function.getSymName() + "." + label).str();
      cast<func::FuncOp>(copy).setSymName(name);
      copy->setAttr(mpk::kAlternativeAttr, FlatSymbolRefAttr::get(function.getSymNameAttr()));
      remarkAbout(function, true,
                  std::string(label) + " is left to the graph: it costs " + otherCost.str() + ", not " + cost.str());
    }
  }
}
