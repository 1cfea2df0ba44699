//===- DistributeWinners.cpp - Which rank's member is the largest ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a maximum goes to one of its members: of equal ones to the first of the whole graph, whichever rank
// has it. A rank's own elements are in the whole graph's order, but for tuples of others' elements, so the first of its
// own is known by itself. What ranks
// tell each other is that one's value and its place in the whole graph's order, and the least of these wins.
//
// Places are lists of numbers, of which the first that differ decide: the branches of unions, the places of a tuple's
// elements, and in the end two digits of a number in the whole graph (an input, S.order), which a float32 holds
// exactly.
//
// All of this is for the gradient alone. It is the second operand of derive_as, so a program without gradients has
// nothing of it.
//
//===----------------------------------------------------------------------===//

#include "Distribution/Distributor.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

Value Distributor::isSame(Rules &r, Value value, Value largest) {
  return r.select(r.binary(BinaryKind::Ne, value, value), r.number(1, value), r.binary(BinaryKind::Eq, value, largest));
}

SmallVector<Value> Distributor::placesOf(FlatSymbolRefAttr name, Type element) {
  if (auto known = places.find(name); known != places.end())
    return known->second;
  SpaceOp space = maps.space(name);
  Location loc = function.getLoc();
  // Places of what it is made of.
  SmallVector<SmallVector<Value>> parts;
  auto need = [&](FlatSymbolRefAttr of) { parts.push_back(placesOf(of, element)); };
  if (space.getKind() == SpaceKind::Filter || space.getKind() == SpaceKind::Share)
    need(space.getBaseAttr());
  if (space.getKind() == SpaceKind::Union)
    for (Attribute part : space.getPartsAttr())
      need(cast<FlatSymbolRefAttr>(part));
  if (space.getKind() == SpaceKind::Distinct)
    for (Attribute of : space.getMapsAttr()) {
      auto map = cast<FlatSymbolRefAttr>(of);
      FlatSymbolRefAttr to = maps.map(map).getToAttr();
      need(maps.isRemote(map) ? maps.ownOf(to) : to);
    }

  // All of them are at the beginning of the function, each after what it is made of.
  OpBuilder b(function.getContext());
  lastPlace ? b.setInsertionPointAfter(lastPlace) : b.setInsertionPointToStart(&function.getBody().front());
  Rules r(b, loc);
  int64_t extent = space.getExtent() ? int64_t(*space.getExtent()) : ShapedType::kDynamic;
  auto typeOf = [&](ArrayRef<int64_t> features) { return getTensorOn(name, extent, features, element); };
  SmallVector<Value> made;
  switch (space.getKind()) {
  case SpaceKind::Root:
  case SpaceKind::Static: {
    Value digits = insertNumbers(name, ".order", typeOf({2}), loc);
    for (int64_t i : {0, 1})
      made.push_back(r.reshape(SliceOp::create(b, loc, typeOf({1}), digits, 0, i), {}));
    break;
  }
  case SpaceKind::Filter:
  case SpaceKind::Share:
    for (Value number : parts.front())
      made.push_back(r.broadcast(number, maps.inclusionOf(space), typeOf({})));
    break;
  case SpaceKind::Union:
    for (auto [i, branch] : llvm::enumerate(parts)) {
      auto part = cast<FlatSymbolRefAttr>(space.getPartsAttr()[i]);
      Value is = ConstantOp::create(b, loc, RankedTensorType::get({}, element), b.getF64FloatAttr(double(i)));
      branch.insert(branch.begin(), r.broadcast(is, all, getTensorOn(part, ShapedType::kDynamic, {}, element)));
      made.resize(std::max(made.size(), branch.size()));
      for (auto [sum, number] : llvm::zip(made, branch)) {
        Value moved = r.broadcast(number, maps.partOf(space, int64_t(i)), typeOf({}));
        sum = sum ? r.add(sum, moved) : moved;
      }
    }
    break;
  case SpaceKind::Selection:
  case SpaceKind::Pairs:
    llvm_unreachable("cannot be distributed");
  case SpaceKind::Distinct: // As tuples are compared.
    for (auto [i, ofTarget] : llvm::enumerate(parts))
      for (Value number : ofTarget) {
        FlatSymbolRefAttr projection = maps.projectionOf(space, int64_t(i));
        Value there = maps.isRemote(projection) ? exchange(number, /*forGradient=*/true) : number;
        made.push_back(r.broadcast(there, projection, typeOf({})));
      }
    break;
  }
  lastPlace = &*std::prev(b.getInsertionPoint());
  return places[name] = made;
}

/// Of the members on this rank alone.
Distributor::Winner Distributor::winnerHere(OpBuilder &b, Location loc, ReduceKind kind, const Winner &members,
                                            Map along) {
  Rules r(b, loc);
  Value x = members.value;
  Type owners = along == all ? Type(getElementType(x.getType())) : typeWhere(function, along, x.getType());
  Value count;
  if (along == all)
    count = ExtentOp::create(b, loc, RankedTensorType::get({}, elementOf(x)), spaceOf(x));
  else
    count = DegreeOp::create(b, loc, typeWhere(function, along, RankedTensorType::get({}, elementOf(x))), along);
  count = r.reshape(count, onesFor(x));
  auto orNone = [&](Value value, double none) { return r.select(count, value, r.number(none, value)); };
  auto back = [&](Value value) { return r.broadcast(value, along, x.getType()); };

  Value largest = r.reduce(kind, x, along, owners);
  Winner winner{orNone(largest, noneOf(kind)), largest, {}};
  if (members.inOrder) { // Elements, of which the first has the least place.
    Value number = r.reduce(kind == ReduceKind::Max ? ReduceKind::ArgMax : ReduceKind::ArgMin, x, along, owners);
    Value own = ElementOp::create(b, loc, Rules::withFeatures(x.getType(), onesFor(x)), UnitAttr());
    Value mine = IsElementOp::create(b, loc, x.getType(), back(number), own);
    for (Value place : members.places) {
      Value chosen = r.select(mine, r.reshape(place, onesFor(x)), r.number(0, x));
      winner.places.push_back(orNone(r.reduce(ReduceKind::Sum, chosen, along, owners), kInfinity));
    }
    return winner;
  }
  Value mine = isSame(r, x, back(winner.value));
  for (Value place : members.places) {
    place = r.reshape(place, place.getType() == x.getType() ? getFeatureShape(x.getType()) : onesFor(x));
    Value least = r.reduce(ReduceKind::Min, r.select(mine, place, r.number(kInfinity, x)), along, owners);
    winner.places.push_back(orNone(least, kInfinity));
    mine = r.mul(mine, r.binary(BinaryKind::Eq, place, back(least)));
  }
  winner.gradient = r.reduce(ReduceKind::Sum, r.select(mine, members.gradient, r.number(0, x)), along, owners);
  return winner;
}

Distributor::Winner Distributor::winnerOf(OpBuilder &b, Location loc, ReduceKind kind, const Winner &members,
                                          Map along) {
  if (along != all && maps.isThroughHalo(along)) {
    MapOp map = maps.map(along);
    auto half = [&](size_t i) { return cast<FlatSymbolRefAttr>(map.getPartsAttr()[i]); };
    return winnerOf(b, loc, kind, winnerOf(b, loc, kind, members, half(0)), half(1));
  }
  if (along != all && maps.isAbsent(along))
    return winnerAbsent(b, loc, kind, members, along);
  Rules r(b, loc);
  Winner here = winnerHere(b, loc, kind, members, along), winner;
  BinaryKind larger = kind == ReduceKind::Max ? BinaryKind::Maximum : BinaryKind::Minimum;
  if (along != all && maps.isRemote(along)) {
    // What the owner's rank has of it, and what others send.
    const RemoteMaps::Halo &halo = maps.haloOf(maps.ownOf(spaceOf(here.value)));
    Type type = typeOn(maps.ownOf(spaceOf(here.value)), here.value.getType());
    auto own = [&](Value value) { return r.reduce(ReduceKind::Sum, value, halo.own, type); };
    Value count = DegreeOp::create(
        b, loc, typeWhere(function, halo.sent, RankedTensorType::get({}, elementOf(here.value))), halo.sent);
    auto ofSent = [&](ReduceKind how, Value value, double none) {
      Value found = r.reduce(how, value, halo.sent, type);
      return r.select(r.reshape(count, onesFor(found)), found, r.number(none, found));
    };
    auto toSent = [&](Value value) { return r.broadcast(value, halo.sent, typeOn(halo.send, value.getType())); };
    Value value = own(here.value), sent = sendBack(b, loc, here.value);
    winner.value = r.binary(larger, value, ofSent(kind, sent, noneOf(kind)));
    Value wins = isSame(r, value, winner.value), sentWins = isSame(r, sent, toSent(winner.value));
    for (Value place : here.places) {
      Value mine = own(place), theirs = sendBack(b, loc, place, /*forGradient=*/true);
      Value least =
          r.binary(BinaryKind::Minimum, r.select(wins, mine, r.number(kInfinity, mine)),
                   ofSent(ReduceKind::Min, r.select(sentWins, theirs, r.number(kInfinity, theirs)), kInfinity));
      wins = r.mul(wins, r.binary(BinaryKind::Eq, mine, least));
      sentWins = r.mul(sentWins, r.binary(BinaryKind::Eq, theirs, toSent(least)));
      winner.places.push_back(least);
    }
    Value gradient = own(here.gradient), theirs = sendBack(b, loc, here.gradient, /*forGradient=*/true);
    winner.gradient =
        r.add(r.select(wins, gradient, r.number(0, gradient)),
              r.reduce(ReduceKind::Sum, r.select(sentWins, theirs, r.number(0, theirs)), halo.sent, type));
    return winner;
  }
  if (!isDivided(members.value) || isDivided(here.value))
    return here;
  auto ofAll = [&](ReduceKind how, Value value) -> Value {
    return AllReduceOp::create(b, loc, value.getType(), how, value);
  };
  winner.value = combine(b, loc, kind, here.value);
  Value wins = isSame(r, here.value, winner.value);
  for (Value place : here.places) {
    winner.places.push_back(ofAll(ReduceKind::Min, r.select(wins, place, r.number(kInfinity, place))));
    wins = r.mul(wins, r.binary(BinaryKind::Eq, place, winner.places.back()));
  }
  winner.gradient = ofAll(ReduceKind::Sum, r.select(wins, here.gradient, r.number(0, here.gradient)));
  return winner;
}

Value Distributor::largestWithWinner(OpBuilder &b, Location loc, ReduceKind kind, Value x, Map along) {
  Rules r(b, loc);
  SmallVector<Value> where = placesOf(spaceOf(x), elementOf(x));
  Winner winner = winnerOf(b, loc, kind, {x, x, where, maps.isInOrder(spaceOf(x))}, along);
  Value best = DeriveAsOp::create(b, loc, winner.value.getType(), winner.value, winner.gradient);
  return r.select(countMembers(b, loc, x, along), best, r.number(0, best));
}
