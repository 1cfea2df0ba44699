//===- Pairs.cpp - Maps of spaces of pairs --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/Pairs.h"

using namespace mlir;
using namespace gnnc::mpdfg;

PairMaps gnnc::mpdfg::getMapsOfPairs(MapOp side) {
  auto pairs = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(side, side.getFromAttr());
  if (!pairs || pairs.getKind() != SpaceKind::Pairs || !pairs.getMaps() || pairs.getMaps()->size() != 2)
    return {};
  auto first = dyn_cast<FlatSymbolRefAttr>(pairs.getMapsAttr()[0]);
  auto second = dyn_cast<FlatSymbolRefAttr>(pairs.getMapsAttr()[1]);
  if (side.getKind() == MapKind::Owner)
    return {first, second};
  return side.getKind() == MapKind::Partner ? PairMaps{second, first} : PairMaps{};
}

SpaceOp gnnc::mpdfg::getPairs(Operation *at, Type type) {
  FlatSymbolRefAttr name = getResidency(type);
  auto space = name ? SymbolTable::lookupNearestSymbolFrom<SpaceOp>(at, name) : SpaceOp();
  return space && space.getKind() == SpaceKind::Pairs ? space : SpaceOp();
}
