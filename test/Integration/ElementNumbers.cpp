//===- ElementNumbers.cpp - What elements of a part are called ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementNumbers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include <numeric>

using namespace gnnc;
using namespace gnnc::test;
using mpdfg::SpaceKind;

static std::string relationName(llvm::StringRef space) { return (space + ".test.relation").str(); }

static llvm::StringRef nameOf(mlir::Attribute space) { return mlir::cast<mlir::FlatSymbolRefAttr>(space).getValue(); }

DerivedSpaces::DerivedSpaces(mlir::ModuleOp of, const RootGraph &graph) : module(of.clone()) {
  for (auto function : llvm::make_early_inc_range(module->getOps<mlir::func::FuncOp>()))
    function.erase();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module->getBody());
  for (auto space : llvm::to_vector(module->getOps<mpdfg::SpaceOp>())) {
    bool isFilter = space.getKind() == SpaceKind::Filter;
    if (!isFilter && space.getKind() != SpaceKind::Distinct)
      continue;
    auto self = mlir::FlatSymbolRefAttr::get(space), base = space.getBaseAttr();
    mpdfg::MapOp::create(b, space.getLoc(), b.getStringAttr(relationName(space.getSymName())),
                         b.getAttr<mpdfg::MapKindAttr>(isFilter ? mpdfg::MapKind::Inclusion : mpdfg::MapKind::Class),
                         isFilter ? self : base, isFilter ? base : self, mlir::UnitAttr(), mlir::IntegerAttr(),
                         mlir::ArrayAttr());
  }
  data = llvm::cantFail(materialise(*module, graph));
}

mpdfg::SpaceOp DerivedSpaces::find(llvm::StringRef space) const {
  return mlir::SymbolTable(module.get()).lookup<mpdfg::SpaceOp>(space);
}

const std::vector<int64_t> &DerivedSpaces::relation(llvm::StringRef space) const {
  return data.map(relationName(space)).target;
}

std::optional<std::vector<int64_t>> test::numbersOfElements(llvm::StringRef name, const DerivedSpaces &whole,
                                                            const DerivedSpaces &part,
                                                            const llvm::StringMap<std::vector<int64_t>> &own) {
  if (auto known = own.find(name); known != own.end())
    return known->second;
  mpdfg::SpaceOp space = part.find(name);
  if (!space || space.getKind() == SpaceKind::Root || space.getKind() == SpaceKind::Static)
    return std::nullopt;
  std::vector<int64_t> numbers;
  if (space.getKind() == SpaceKind::Union) {
    int64_t before = 0;
    for (mlir::Attribute branch : space.getPartsAttr()) {
      auto ofBranch = numbersOfElements(nameOf(branch), whole, part, own);
      if (!ofBranch)
        return std::nullopt;
      for (int64_t number : *ofBranch)
        numbers.push_back(before + number);
      mpdfg::SpaceOp of = part.find(nameOf(branch));
      before += whole.extent(of.getKind() == SpaceKind::Share ? *of.getBase() : of.getSymName());
    }
    return numbers;
  }
  if (space.getKind() == SpaceKind::Share) { // all or nothing
    numbers.resize(size_t(part.extent(name)));
    std::iota(numbers.begin(), numbers.end(), int64_t(0));
    return numbers;
  }
  auto base = numbersOfElements(*space.getBase(), whole, part, own);
  if (!base)
    return std::nullopt;
  const std::vector<int64_t> &there = whole.relation(name), &here = part.relation(name);
  numbers.resize(size_t(part.extent(name)));
  if (space.getKind() == SpaceKind::Filter) {
    std::map<int64_t, int64_t> ofBase;
    for (size_t i = 0; i < there.size(); ++i)
      ofBase[there[i]] = int64_t(i);
    for (size_t i = 0; i < here.size(); ++i)
      numbers[i] = ofBase.at((*base)[size_t(here[i])]);
  } else {
    for (size_t i = 0; i < here.size(); ++i)
      numbers[size_t(here[i])] = there[size_t((*base)[i])];
  }
  return numbers;
}
