//===- ElementNumbers.cpp - Which element something is --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementNumbers.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

FlatSymbolRefAttr ElementNumbers::mapOf(SpaceOp space, MapKind kind, FlatSymbolRefAttr to,
                                        std::optional<int64_t> part) {
  auto self = FlatSymbolRefAttr::get(space);
  for (auto map : module.getOps<MapOp>())
    if (map.getKind() == kind && map.getFromAttr() == self && map.getPart() == part)
      return FlatSymbolRefAttr::get(map);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(space);
  for (Operation *next = space->getNextNode(); isa_and_nonnull<SpaceOp, MapOp>(next); next = next->getNextNode())
    b.setInsertionPointAfter(next);
  std::string name = (space.getSymName() + (part ? ".part" + Twine(*part) : Twine(".base"))).str();
  while (symbols.lookup(name))
    name += "_";
  auto map = MapOp::create(b, space.getLoc(), b.getStringAttr(name), b.getAttr<MapKindAttr>(kind), self, to,
                           part ? b.getUnitAttr() : UnitAttr(), part ? b.getI64IntegerAttr(*part) : IntegerAttr(),
                           ArrayAttr());
  symbols.insert(map);
  return FlatSymbolRefAttr::get(map);
}

RankedTensorType ElementNumbers::typeOn(FlatSymbolRefAttr space) {
  auto extent = symbols.lookup<SpaceOp>(space.getAttr()).getExtent();
  return getTensorOn(space, extent ? int64_t(*extent) : ShapedType::kDynamic, ones, element);
}

/// No number is negative: as bits of floating-point numbers, all have that sign.
Value ElementNumbers::move(Value number, FlatSymbolRefAttr along, FlatSymbolRefAttr to) {
  return BroadcastOp::create(b, loc, typeOn(to), number, along, b.getF64FloatAttr(-1));
}

SmallVector<Value> ElementNumbers::branchesOf(FlatSymbolRefAttr name) {
  auto space = symbols.lookup<SpaceOp>(name.getAttr());
  SmallVector<Value> branches;
  if (space.getKind() == SpaceKind::Filter) {
    FlatSymbolRefAttr along = mapOf(space, MapKind::Inclusion, space.getBaseAttr(), std::nullopt);
    for (Value branch : branchesOf(space.getBaseAttr()))
      branches.push_back(move(branch, along, name));
    return branches;
  }
  if (space.getKind() != SpaceKind::Union)
    return {ElementOp::create(b, loc, typeOn(name), UnitAttr())};
  for (auto [i, attribute] : llvm::enumerate(space.getPartsAttr())) {
    auto part = cast<FlatSymbolRefAttr>(attribute);
    FlatSymbolRefAttr along = mapOf(space, MapKind::Part, part, int64_t(i));
    for (Value branch : branchesOf(part))
      branches.push_back(move(branch, along, name));
  }
  return branches;
}

/// Numbers from 0 to 2^24 - 1, others for each branch.
Value ElementNumbers::keyOf(Value key, size_t branch) {
  constexpr double kNumbers = 1 << 24;
  if (branch == 0)
    return key;
  // Every step is exact in float32. With very many branches the first keys come again.
  double more = double(branch % 16) * kNumbers / 16 + double(branch / 16);
  auto number = [&](double x) -> Value { return ConstantOp::create(b, loc, key.getType(), b.getF64FloatAttr(x)); };
  auto binary = [&](BinaryKind kind, Value lhs, Value rhs) -> Value {
    return BinaryOp::create(b, loc, key.getType(), kind, lhs, rhs);
  };
  Value room = number(kNumbers - more);
  return SelectOp::create(b, loc, key.getType(), binary(BinaryKind::Lt, key, room),
                          binary(BinaryKind::Add, key, number(more)), binary(BinaryKind::Sub, key, room));
}

std::pair<Value, Value> ElementNumbers::of(FlatSymbolRefAttr space, Value key) {
  SmallVector<Value> branches = branchesOf(space);
  Value number = branches.back(), keys = keyOf(key, branches.size() - 1);
  Type type = number.getType();
  Value zero = ConstantOp::create(b, loc, key.getType(), b.getF64FloatAttr(0));
  for (size_t i = branches.size() - 1; i-- > 0;) {
    Value isOther = BinaryOp::create(b, loc, type, BinaryKind::Lt, branches[i], zero);
    number = SelectOp::create(b, loc, type, isOther, number, branches[i]);
    keys = SelectOp::create(b, loc, type, isOther, keys, keyOf(key, i));
  }
  return {number, keys};
}
