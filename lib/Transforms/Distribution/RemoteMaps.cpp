//===- RemoteMaps.cpp - Maps that lead to elements of other ranks ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution/RemoteMaps.h"
#include "gnnc/Support/RelationNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

bool RemoteMaps::isDivided(FlatSymbolRefAttr name) const {
  if (!name)
    return false;
  auto space = symbols.lookup<SpaceOp>(name.getAttr());
  switch (space.getKind()) {
  case SpaceKind::Root:
  case SpaceKind::Share:
    return true;
  case SpaceKind::Static:
    return false;
  case SpaceKind::Filter:
  case SpaceKind::Distinct:
  case SpaceKind::Selection:
  case SpaceKind::Pairs:
    return isDivided(space.getBaseAttr());
  case SpaceKind::Union:
    return llvm::any_of(space.getPartsAttr(), [&](Attribute part) { return isDivided(cast<FlatSymbolRefAttr>(part)); });
  }
  llvm_unreachable("unknown space kind");
}

//===----------------------------------------------------------------------===//
// Which maps are remote
//===----------------------------------------------------------------------===//

LogicalResult RemoteMaps::chooseAlong(ArrayRef<std::string> along) {
  SmallVector<MapOp> maps;
  llvm::DenseSet<Attribute> isTarget;
  for (auto map : module.getOps<MapOp>()) {
    if (map.getKind() != MapKind::Root || !isDivided(map.getToAttr()))
      continue;
    maps.push_back(map);
    if (map.getFromAttr() != map.getToAttr())
      isTarget.insert(map.getToAttr());
  }
  for (const std::string &name : along) {
    auto map = llvm::find_if(maps, [&](MapOp m) { return m.getSymName() == name; });
    if (map == maps.end())
      continue; // A map that the model does not use does not matter.
    StringAttr &chosen = home[(*map).getFromAttr().getAttr()];
    if (chosen && chosen != (*map).getSymNameAttr())
      return (*map).emitOpError() << "expected one map for space " << (*map).getFromAttr()
                                  << " to go along, found this and @" << chosen.getValue();
    chosen = (*map).getSymNameAttr();
  }
  llvm::DenseSet<Attribute> isGiven;
  for (auto [space, map] : home)
    isGiven.insert(space);
  llvm::DenseMap<Attribute, int64_t> summed = numbersSummed();
  // Of equal ones the one that is called dst, else the first.
  auto isBetter = [&](MapOp map, StringAttr chosen) {
    int64_t own = summed.lookup(map.getSymNameAttr()), other = summed.lookup(chosen);
    return own != other ? own > other : isTargetEnd(map.getSymName()) && !isTargetEnd(chosen.getValue());
  };
  for (MapOp map : maps) {
    StringAttr from = map.getFromAttr().getAttr();
    if (isTarget.contains(map.getFromAttr()) || map.getFromAttr() == map.getToAttr() || isGiven.contains(from))
      continue;
    StringAttr &chosen = home[from];
    if (!chosen || isBetter(map, chosen))
      chosen = map.getSymNameAttr();
  }
  return success();
}

/// For each root map how many numbers each element has that are reduced along it, or a map that is made of it.
llvm::DenseMap<Attribute, int64_t> RemoteMaps::numbersSummed() {
  llvm::DenseMap<Attribute, int64_t> result;
  auto add = [&](auto &&self, FlatSymbolRefAttr name, int64_t numbers) -> void {
    auto map = name ? symbols.lookup<MapOp>(name.getAttr()) : MapOp(); // null: along all
    if (!map)
      return;
    if (map.getKind() == MapKind::Root)
      result[map.getSymNameAttr()] += numbers;
    else if (map.getKind() == MapKind::Projection)
      self(self, cast<FlatSymbolRefAttr>(space(map.getFromAttr()).getMapsAttr()[size_t(*map.getPart())]), numbers);
    else if (map.getParts())
      for (Attribute part : map.getPartsAttr())
        self(self, dyn_cast<FlatSymbolRefAttr>(part), numbers);
  };
  module.walk([&](Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      add(add, reduce.getAlongAttr(), getFeatureElements(reduce.getType()));
    else if (auto norm = dyn_cast<NormOp>(op)) // A maximum and a sum.
      add(add, norm.getAlongAttr(), 2 * getFeatureElements(norm.getType()));
  });
  return result;
}

DictionaryAttr RemoteMaps::alongs() {
  SmallVector<NamedAttribute> entries;
  for (auto [space, map] : home)
    entries.emplace_back(space, map);
  return DictionaryAttr::get(module.getContext(), entries);
}

FailureOr<bool> RemoteMaps::visit(FlatSymbolRefAttr name) {
  if (auto it = known.find(name.getAttr()); it != known.end())
    return it->second;
  known[name.getAttr()] = false; // the verifier knows of no circles
  FailureOr<bool> found = classify(map(name));
  if (failed(found))
    return failure();
  known[name.getAttr()] = *found;
  if (*found)
    remote.insert(name.getAttr());
  return found;
}

/// Where a space's tuples lead decides whose they are.
LogicalResult RemoteMaps::visitTuples(FlatSymbolRefAttr name) {
  SpaceOp op = space(name);
  SmallVector<Attribute> madeOf;
  if (op.getParts())
    llvm::append_range(madeOf, op.getPartsAttr());
  if (op.getBase())
    madeOf.push_back(op.getBaseAttr());
  for (Attribute of : madeOf)
    if (failed(visitTuples(cast<FlatSymbolRefAttr>(of))))
      return failure();
  for (Attribute of : op.getMaps() ? op.getMapsAttr().getValue() : ArrayRef<Attribute>())
    if (failed(visit(cast<FlatSymbolRefAttr>(of))))
      return failure();
  return success();
}

FailureOr<bool> RemoteMaps::classify(MapOp map) {
  bool isFromDivided = isDivided(map.getFromAttr()), isToDivided = isDivided(map.getToAttr());
  if (map.getKind() == MapKind::Root && isToDivided && !isFromDivided)
    return map.emitOpError() << "cannot be distributed: it leads from a static space to one that is divided";
  auto part = [&](size_t i) { return dyn_cast<FlatSymbolRefAttr>(map.getPartsAttr()[i]); };
  switch (map.getKind()) {
  case MapKind::Root:
    return isToDivided && home.lookup(map.getFromAttr().getAttr()) != map.getSymNameAttr();
  case MapKind::Inclusion:
  case MapKind::Class:
  case MapKind::Part:
  case MapKind::Injection:
  case MapKind::Owner:
  case MapKind::Chosen:
  case MapKind::Partner:
  case MapKind::Only:
    return false;
  case MapKind::Parts: {
    bool any = false;
    for (size_t i = 0; i < map.getPartsAttr().size(); ++i)
      if (part(i)) {
        FailureOr<bool> found = visit(part(i));
        if (failed(found))
          return failure();
        any |= *found;
        if (isMoved(part(i)))
          absent.insert(map.getSymNameAttr());
      }
    return any && !isAbsent(FlatSymbolRefAttr::get(map));
  }
  case MapKind::Projection: {
    FailureOr<bool> found =
        visit(cast<FlatSymbolRefAttr>(space(map.getFromAttr()).getMapsAttr()[size_t(*map.getPart())]));
    return failed(found) ? found : FailureOr<bool>(*found && isToDivided);
  }
  case MapKind::Last: {
    FailureOr<bool> found = visit(part(0));
    if (failed(found) || failed(visitTuples(map.getFromAttr())) || failed(visitTuples(map.getToAttr())))
      return failure();
    if (isCopied(map.getFromAttr()) || isCopied(map.getToAttr()))
      return map.emitOpError() << "cannot be distributed: the last element that " << part(0)
                               << " sends somewhere may be one of another rank";
    bool isOfOneRank = !*found && !isMoved(part(0)) && isFromDivided == isToDivided && isInOrder(map.getToAttr());
    if (!isOfOneRank)
      absent.insert(map.getSymNameAttr());
    return false;
  }
  case MapKind::Compose: {
    FailureOr<bool> first = visit(part(0)), second = visit(part(1));
    if (failed(first) || failed(second))
      return failure();
    bool isInHalves = *first || isMoved(part(0)) || isMoved(part(1));
    if (isInHalves)
      throughHalo.insert(map.getSymNameAttr());
    return !isInHalves && *second;
  }
  }
  llvm_unreachable("unknown map kind");
}

/// Which derived spaces ranks can have.
LogicalResult RemoteMaps::checkSpace(SpaceOp op) {
  auto self = FlatSymbolRefAttr::get(op);
  if (op.getKind() == SpaceKind::Selection)
    return op.emitOpError() << "cannot be distributed: what is chosen by values may be on another rank";
  if (op.getKind() == SpaceKind::Pairs)
    return op.emitOpError() << "cannot be distributed: what elements are paired with may be on another rank";
  if (!isDivided(self))
    return success();
  SmallVector<Attribute> madeOf;
  if (op.getParts())
    llvm::append_range(madeOf, op.getPartsAttr());
  if (op.getBase())
    madeOf.push_back(op.getBaseAttr());
  for (Attribute of : madeOf)
    if (isCopied(cast<FlatSymbolRefAttr>(of)))
      return op.emitOpError() << "cannot be distributed: it is derived from " << of
                              << ", whose elements may be on several ranks";
  for (Attribute name : op.getMaps() ? op.getMapsAttr().getValue() : ArrayRef<Attribute>()) {
    auto map = cast<FlatSymbolRefAttr>(name);
    if (isMoved(map) && failed(giveHalo(map)))
      return failure();
    if (isMoved(map))
      return op.emitOpError() << "cannot be distributed: " << name << " leads through elements of other ranks";
  }
  return success();
}

bool RemoteMaps::isInOrder(FlatSymbolRefAttr name) const {
  auto space = symbols.lookup<SpaceOp>(name.getAttr());
  auto isSpaceInOrder = [&](Attribute of) { return isInOrder(cast<FlatSymbolRefAttr>(of)); };
  switch (space.getKind()) {
  case SpaceKind::Root:
  case SpaceKind::Static:
    return true;
  case SpaceKind::Filter:
  case SpaceKind::Share:
    return isInOrder(space.getBaseAttr());
  case SpaceKind::Union:
    return llvm::all_of(space.getPartsAttr(), isSpaceInOrder);
  case SpaceKind::Selection:
  case SpaceKind::Pairs:
    return false;
  case SpaceKind::Distinct: // Elements of other ranks come last.
    return llvm::all_of(space.getMapsAttr(), [&](Attribute of) {
      auto map = cast<FlatSymbolRefAttr>(of);
      return !isRemote(map) && !isMoved(map) && isInOrder(symbols.lookup<MapOp>(map.getAttr()).getToAttr());
    });
  }
  llvm_unreachable("unknown space kind");
}

bool RemoteMaps::isCopied(FlatSymbolRefAttr name) const {
  auto space = name ? symbols.lookup<SpaceOp>(name.getAttr()) : SpaceOp();
  if (!space || space.getKind() != SpaceKind::Distinct || !isDivided(name))
    return false;
  // A tuple with an element that is on one rank is there, too.
  return llvm::none_of(space.getMapsAttr(), [&](Attribute of) {
    auto map = cast<FlatSymbolRefAttr>(of);
    FlatSymbolRefAttr to = symbols.lookup<MapOp>(map.getAttr()).getToAttr();
    return !isRemote(map) && !isMoved(map) && isDivided(to) && !isCopied(to);
  });
}

//===----------------------------------------------------------------------===//
// What they lead to
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr RemoteMaps::declareMap(OpBuilder &b, StringRef name, MapKind kind, FlatSymbolRefAttr from,
                                         FlatSymbolRefAttr to, bool partial, std::optional<int64_t> part,
                                         ArrayAttr parts) {
  auto map =
      MapOp::create(b, module.getLoc(), b.getStringAttr(name), b.getAttr<MapKindAttr>(kind), from, to,
                    partial ? b.getUnitAttr() : UnitAttr(), part ? b.getI64IntegerAttr(*part) : IntegerAttr(), parts);
  symbols.insert(map);
  return FlatSymbolRefAttr::get(map);
}

FlatSymbolRefAttr RemoteMaps::findOrDeclare(SpaceOp from, MapKind kind, FlatSymbolRefAttr to,
                                            std::optional<int64_t> part) {
  for (auto map : module.getOps<MapOp>())
    if (map.getKind() == kind && map.getFromAttr().getAttr() == from.getSymNameAttr() &&
        (!part || int64_t(*map.getPart()) == *part))
      return FlatSymbolRefAttr::get(map);
  std::string name = from.getSymName().str() + (part ? ".part" + std::to_string(*part) : ".in");
  while (symbols.lookup(name))
    name += "_";
  OpBuilder b(module.getContext());
  b.setInsertionPointAfter(from);
  return declareMap(b, name, kind, FlatSymbolRefAttr::get(from), to, /*partial=*/kind == MapKind::Part, part, {});
}

FlatSymbolRefAttr RemoteMaps::inclusionOf(SpaceOp filter) {
  return findOrDeclare(filter, MapKind::Inclusion, filter.getBaseAttr(), std::nullopt);
}

FlatSymbolRefAttr RemoteMaps::projectionOf(SpaceOp tuples, int64_t place) {
  auto of = cast<FlatSymbolRefAttr>(tuples.getMapsAttr()[size_t(place)]);
  FlatSymbolRefAttr found = findOrDeclare(tuples, MapKind::Projection, map(of).getToAttr(), place);
  if (isRemote(of))
    remote.insert(found.getAttr());
  return found;
}

FlatSymbolRefAttr RemoteMaps::partOf(SpaceOp joined, int64_t branch) {
  return findOrDeclare(joined, MapKind::Part, cast<FlatSymbolRefAttr>(joined.getPartsAttr()[size_t(branch)]), branch);
}

LogicalResult RemoteMaps::declareHalo(SpaceOp of) {
  if (halos.count(of.getSymNameAttr()))
    return success();
  OpBuilder b(module.getContext());
  b.setInsertionPointAfter(of);
  std::string name = of.getSymName().str();
  for (StringRef suffix : {".halo", ".send", ".sent", ".all"})
    if (Operation *other = symbols.lookup(name + suffix.str()))
      return other->emitOpError() << "has a name that distribution needs for space @" << name;
  auto declareSpace = [&](StringRef suffix, SpaceKind kind, ArrayAttr parts) {
    auto space = SpaceOp::create(b, of.getLoc(), b.getStringAttr(name + suffix), b.getAttr<SpaceKindAttr>(kind),
                                 IntegerAttr(), FlatSymbolRefAttr(), ArrayAttr(), UnitAttr(), parts);
    symbols.insert(space);
    return FlatSymbolRefAttr::get(space);
  };
  Halo halo;
  auto self = FlatSymbolRefAttr::get(of);
  halo.halo = declareSpace(".halo", SpaceKind::Root, {});
  halo.send = declareSpace(".send", SpaceKind::Root, {});
  halo.all = declareSpace(".all", SpaceKind::Union, b.getArrayAttr({self, halo.halo}));
  halo.sent = declareMap(b, name + ".sent", MapKind::Root, halo.send, self, false, std::nullopt, {});
  halo.own = declareMap(b, name + ".all.own", MapKind::Part, halo.all, self, true, 0, {});
  halo.other = declareMap(b, name + ".all.halo", MapKind::Part, halo.all, halo.halo, true, 1, {});
  halo.in = declareMap(b, name + ".all.in", MapKind::Injection, self, halo.all, false, 0, {});
  owns[halo.all.getAttr()] = self;
  halos[of.getSymNameAttr()] = halo;
  return success();
}

/// A map to own elements, as one to the union of these and the halo.
FlatSymbolRefAttr RemoteMaps::lifted(MapOp map) {
  const Halo &halo = haloOf(map.getToAttr());
  std::string name = (map.getSymName() + ".in").str();
  if (symbols.lookup<MapOp>(name))
    return FlatSymbolRefAttr::get(module.getContext(), name);
  OpBuilder b(map);
  b.setInsertionPointAfter(symbols.lookup(halo.in.getAttr()));
  return declareMap(b, name, MapKind::Compose, map.getFromAttr(), halo.all, map.getPartial(), std::nullopt,
                    b.getArrayAttr({FlatSymbolRefAttr::get(map), halo.in}));
}

void RemoteMaps::leadToUnion(MapOp map) {
  FlatSymbolRefAttr to = map.getToAttr();
  const Halo &halo = haloOf(to);
  if (map.getKind() == MapKind::Parts) {
    SmallVector<Attribute> parts(map.getPartsAttr().getValue());
    for (Attribute &part : parts)
      if (isa<UnitAttr>(part))
        part = halo.in;
      else if (auto name = dyn_cast<FlatSymbolRefAttr>(part); name && !isRemote(name))
        part = lifted(this->map(name));
    map.setPartsAttr(ArrayAttr::get(module.getContext(), parts));
  }
  map.setToAttr(halo.all);
}

LogicalResult RemoteMaps::declare(ArrayRef<std::string> along) {
  if (failed(shareStaticParts()) || failed(chooseAlong(along)))
    return failure();
  SmallVector<MapOp> maps(module.getOps<MapOp>());
  SmallVector<SpaceOp> spaces(module.getOps<SpaceOp>());
  for (MapOp map : maps)
    if (failed(visit(FlatSymbolRefAttr::get(map))))
      return failure();
  for (SpaceOp space : spaces)
    if (failed(checkSpace(space)))
      return failure();
  for (MapOp map : maps)
    if (isRemote(FlatSymbolRefAttr::get(map)) && failed(declareHalo(space(map.getToAttr()))))
      return failure();
  // Filters that compare a remote map with another: both lead to the union.
  for (SpaceOp space : spaces) {
    if (space.getKind() != SpaceKind::Filter || !isDivided(space.getBaseAttr()))
      continue;
    SmallVector<Attribute> compared(space.getMapsAttr().getValue());
    if (llvm::none_of(compared, [&](Attribute name) { return isRemote(cast<FlatSymbolRefAttr>(name)); }))
      continue;
    for (Attribute &name : compared)
      if (!isRemote(cast<FlatSymbolRefAttr>(name)))
        name = lifted(map(cast<FlatSymbolRefAttr>(name)));
    space.setMapsAttr(ArrayAttr::get(module.getContext(), compared));
  }
  for (MapOp map : maps)
    if (isRemote(FlatSymbolRefAttr::get(map)))
      leadToUnion(map);
  return success();
}

LogicalResult RemoteMaps::finish() {
  SmallVector<MapOp> taken;
  for (auto map : module.getOps<MapOp>())
    if (isMoved(FlatSymbolRefAttr::get(map)))
      taken.push_back(map);
  for (MapOp map : taken) {
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(map.getOperation(), module.getOperation());
    for (SymbolTable::SymbolUse use : *uses)
      if (auto user = dyn_cast<MapOp>(use.getUser()); !user || !isMoved(FlatSymbolRefAttr::get(user)))
        return map.emitOpError() << "cannot be distributed: it leads through elements of other ranks, and something "
                                    "else than a movement uses it";
  }
  for (MapOp map : taken)
    symbols.erase(map);
  return success();
}
