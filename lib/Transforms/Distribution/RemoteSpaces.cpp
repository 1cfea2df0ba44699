//===- RemoteSpaces.cpp - What static spaces have to do with parts --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks have the elements of static spaces. Where a union joins these with what is divided, one rank has them in
// it, so that each counts once. Where a filter or a tuple needs where an element of another rank is sent to in a static
// space, such as the type of an edge's source, that is given.
//
//===----------------------------------------------------------------------===//

#include "Distribution/RemoteMaps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

//===----------------------------------------------------------------------===//
// Unions
//===----------------------------------------------------------------------===//

/// The share of a space; returns the map from there.
FailureOr<FlatSymbolRefAttr> RemoteMaps::declareShare(SpaceOp of) {
  std::string name = (of.getSymName() + ".own").str(), mapName = name + ".in";
  if (auto known = symbols.lookup<SpaceOp>(name); known && known.getKind() == SpaceKind::Share)
    return FlatSymbolRefAttr::get(module.getContext(), mapName);
  for (StringRef taken : {StringRef(name), StringRef(mapName)})
    if (Operation *other = symbols.lookup(taken))
      return other->emitOpError() << "has a name that distribution needs for space @" << of.getSymName();
  OpBuilder b(module.getContext());
  b.setInsertionPointAfter(of);
  auto share = SpaceOp::create(b, of.getLoc(), b.getStringAttr(name), b.getAttr<SpaceKindAttr>(SpaceKind::Share),
                               IntegerAttr(), FlatSymbolRefAttr::get(of), ArrayAttr(), UnitAttr(), ArrayAttr());
  symbols.insert(share);
  return declareMap(b, mapName, MapKind::Inclusion, FlatSymbolRefAttr::get(share), FlatSymbolRefAttr::get(of),
                    /*partial=*/false, std::nullopt, {});
}

FlatSymbolRefAttr RemoteMaps::composed(FlatSymbolRefAttr first, FlatSymbolRefAttr second) {
  MapOp from = map(first), to = map(second);
  std::string name = (first.getValue() + "." + second.getValue()).str();
  for (auto known = symbols.lookup(name); known; known = symbols.lookup(name)) {
    auto other = dyn_cast<MapOp>(known);
    if (other && other.getKind() == MapKind::Compose && other.getPartsAttr()[0] == first &&
        other.getPartsAttr()[1] == second)
      return FlatSymbolRefAttr::get(other);
    name += "_";
  }
  OpBuilder b(module.getContext());
  b.setInsertionPointAfter(to);
  return declareMap(b, name, MapKind::Compose, from.getFromAttr(), to.getToAttr(), from.getPartial() || to.getPartial(),
                    std::nullopt, b.getArrayAttr({first, second}));
}

/// Puts the share of a static part in its place in each union that is divided. Maps from the union go on to lead where
/// they did.
LogicalResult RemoteMaps::shareStaticParts() {
  MLIRContext *context = module.getContext();
  SmallVector<MapOp> maps(module.getOps<MapOp>());
  for (auto joined : SmallVector<SpaceOp>(module.getOps<SpaceOp>())) {
    auto self = FlatSymbolRefAttr::get(joined);
    if (joined.getKind() != SpaceKind::Union || !isDivided(self))
      continue;
    SmallVector<Attribute> parts(joined.getPartsAttr().getValue());
    for (auto [i, part] : llvm::enumerate(parts)) {
      auto whole = cast<FlatSymbolRefAttr>(part);
      if (isDivided(whole))
        continue;
      FailureOr<FlatSymbolRefAttr> in = declareShare(space(whole));
      if (failed(in))
        return failure();
      part = map(*in).getFromAttr();
      for (MapOp from : maps) {
        if (from.getFromAttr() != self)
          continue;
        if (from.getKind() == MapKind::Part && int64_t(*from.getPart()) == int64_t(i)) {
          std::string name = (from.getSymName() + ".own").str();
          while (symbols.lookup(name))
            name += "_";
          OpBuilder b(from);
          FlatSymbolRefAttr toShare = declareMap(b, name, MapKind::Part, self, cast<FlatSymbolRefAttr>(part),
                                                 /*partial=*/true, int64_t(i), {});
          from.setKind(MapKind::Compose);
          from.removePartAttr();
          from.setPartsAttr(b.getArrayAttr({toShare, *in}));
        } else if (from.getKind() == MapKind::Parts) {
          SmallVector<Attribute> ways(from.getPartsAttr().getValue());
          if (isa<UnitAttr>(ways[i]))
            ways[i] = *in;
          else if (auto way = dyn_cast<FlatSymbolRefAttr>(ways[i]))
            ways[i] = composed(*in, way);
          from.setPartsAttr(ArrayAttr::get(context, ways));
        }
      }
    }
    joined.setPartsAttr(ArrayAttr::get(context, parts));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Maps of the halo to static spaces
//===----------------------------------------------------------------------===//

/// A map of own elements, as one of these and the halo; null where that cannot be given.
FailureOr<FlatSymbolRefAttr> RemoteMaps::withHalo(FlatSymbolRefAttr name) {
  MapOp of = map(name);
  if (isMoved(name) || isDivided(of.getToAttr()))
    return FlatSymbolRefAttr();
  if (of.getKind() == MapKind::Compose) {
    FailureOr<FlatSymbolRefAttr> first = withHalo(cast<FlatSymbolRefAttr>(of.getPartsAttr()[0]));
    if (failed(first) || !*first)
      return first;
    return composed(*first, cast<FlatSymbolRefAttr>(of.getPartsAttr()[1]));
  }
  if (of.getKind() != MapKind::Root)
    return FlatSymbolRefAttr();
  std::string haloName = (name.getValue() + ".halo").str(), allName = (name.getValue() + ".all").str();
  if (symbols.lookup<MapOp>(haloName) && symbols.lookup<MapOp>(allName))
    return FlatSymbolRefAttr::get(module.getContext(), allName);
  for (StringRef taken : {StringRef(haloName), StringRef(allName)})
    if (Operation *other = symbols.lookup(taken))
      return other->emitOpError() << "has a name that distribution needs for map @" << name.getValue();
  if (failed(declareHalo(space(of.getFromAttr()))))
    return failure();
  const Halo &halo = haloOf(of.getFromAttr());
  OpBuilder b(module.getContext());
  b.setInsertionPointAfter(of);
  FlatSymbolRefAttr given =
      declareMap(b, haloName, MapKind::Root, halo.halo, of.getToAttr(), of.getPartial(), std::nullopt, {});
  return declareMap(b, allName, MapKind::Parts, halo.all, of.getToAttr(), of.getPartial(), std::nullopt,
                    b.getArrayAttr({name, given}));
}

/// Makes a map through elements of other ranks one that ranks have, if it leads to a static space and what it takes can
/// be given.
LogicalResult RemoteMaps::giveHalo(FlatSymbolRefAttr name) {
  MapOp whole = map(name);
  if (!isThroughHalo(name) || isDivided(whole.getToAttr()))
    return success();
  auto first = cast<FlatSymbolRefAttr>(whole.getPartsAttr()[0]),
       second = cast<FlatSymbolRefAttr>(whole.getPartsAttr()[1]);
  for (FlatSymbolRefAttr part : {first, second}) {
    if (failed(giveHalo(part)))
      return failure();
    if (isMoved(part))
      return success();
  }
  if (isRemote(first)) {
    FailureOr<FlatSymbolRefAttr> found = withHalo(second);
    if (failed(found) || !*found)
      return failure(failed(found));
    whole.setPartsAttr(ArrayAttr::get(module.getContext(), {first, *found}));
  }
  throughHalo.erase(name.getAttr());
  return success();
}
