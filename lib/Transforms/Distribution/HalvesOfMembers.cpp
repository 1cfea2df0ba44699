//===- HalvesOfMembers.cpp - Members that lead to own rows, and others ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution/HalvesOfMembers.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

FlatSymbolRefAttr HalvesOfMembers::declare(const Twine &wanted, MapKind kind, FlatSymbolRefAttr from,
                                           FlatSymbolRefAttr to, bool partial, std::optional<int64_t> part,
                                           ArrayAttr parts) {
  std::string name = wanted.str();
  while (symbols.lookup(name))
    name += "_";
  OpBuilder b(*module.getOps<func::FuncOp>().begin());
  auto made =
      MapOp::create(b, module.getLoc(), b.getStringAttr(name), b.getAttr<MapKindAttr>(kind), from, to,
                    partial ? b.getUnitAttr() : UnitAttr(), part ? b.getI64IntegerAttr(*part) : IntegerAttr(), parts);
  symbols.insert(made);
  return FlatSymbolRefAttr::get(made);
}

FlatSymbolRefAttr HalvesOfMembers::composed(FlatSymbolRefAttr first, FlatSymbolRefAttr second) {
  ArrayAttr parts = ArrayAttr::get(module.getContext(), {first, second});
  for (auto other : module.getOps<MapOp>())
    if (other.getKind() == MapKind::Compose && other.getPartsAttr() == parts)
      return FlatSymbolRefAttr::get(other);
  return declare(first.getValue() + "." + second.getValue(), MapKind::Compose, map(first).getFromAttr(),
                 map(second).getToAttr(), map(first).getPartial() || map(second).getPartial(), std::nullopt, parts);
}

FlatSymbolRefAttr HalvesOfMembers::partOf(FlatSymbolRefAttr whole, Half half) {
  for (auto other : module.getOps<MapOp>())
    if (other.getKind() == MapKind::Part && other.getFromAttr() == whole && size_t(*other.getPart()) == half)
      return FlatSymbolRefAttr::get(other);
  return declare(whole.getValue() + ".part" + Twine(size_t(half)), MapKind::Part, whole, halfOf(whole, half),
                 /*partial=*/true, int64_t(half), ArrayAttr());
}

FlatSymbolRefAttr HalvesOfMembers::injectionOf(FlatSymbolRefAttr whole, Half half) {
  for (auto other : module.getOps<MapOp>())
    if (other.getKind() == MapKind::Injection && other.getToAttr() == whole && size_t(*other.getPart()) == half)
      return FlatSymbolRefAttr::get(other);
  FlatSymbolRefAttr part = halfOf(whole, half);
  return declare(part.getValue() + ".into", MapKind::Injection, part, whole, /*partial=*/false, int64_t(half),
                 ArrayAttr());
}

/// To own elements, undefined everywhere.
FlatSymbolRefAttr HalvesOfMembers::nowhere(FlatSymbolRefAttr whole) {
  Attribute undefined = StringAttr::get(module.getContext(), "undefined");
  ArrayAttr parts = ArrayAttr::get(module.getContext(), {undefined, undefined});
  for (auto other : module.getOps<MapOp>())
    if (other.getKind() == MapKind::Parts && other.getFromAttr() == whole && other.getPartsAttr() == parts &&
        other.getToAttr() == halfOf(whole, Own))
      return FlatSymbolRefAttr::get(other);
  return declare(whole.getValue() + ".none", MapKind::Parts, whole, halfOf(whole, Own), /*partial=*/true, std::nullopt,
                 parts);
}

const std::array<HalfOfMembers, 2> &HalvesOfMembers::of(FlatSymbolRefAttr remote) {
  if (auto found = known.find(remote); found != known.end())
    return found->second;
  FlatSymbolRefAttr all = map(remote).getFromAttr(), whole = map(remote).getToAttr();
  FlatSymbolRefAttr toOwn = composed(remote, partOf(whole, Own)), toNone = composed(remote, nowhere(whole));
  std::array<HalfOfMembers, 2> made;
  for (Half half : {Own, Halo}) {
    std::string name = (remote.getValue() + (half == Own ? ".near" : ".far")).str();
    while (symbols.lookup(name))
      name += "_";
    OpBuilder b(*module.getOps<func::FuncOp>().begin());
    auto filter = SpaceOp::create(
        b, module.getLoc(), b.getStringAttr(name), b.getAttr<SpaceKindAttr>(SpaceKind::Filter), IntegerAttr(), all,
        b.getArrayAttr({toOwn, toNone}), half == Halo ? b.getUnitAttr() : UnitAttr(), ArrayAttr());
    symbols.insert(filter);
    FlatSymbolRefAttr members = FlatSymbolRefAttr::get(filter);
    FlatSymbolRefAttr in = declare(name + ".in", MapKind::Inclusion, members, all, /*partial=*/false, std::nullopt, {});
    made[half] = {members, in, composed(in, half == Own ? toOwn : composed(remote, partOf(whole, Halo)))};
  }
  return known[remote] = made;
}
