//===- DistributeAbsent.cpp - Movements along maps that no rank can have --===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `last` leads from an owner to its last member, which may be on another rank, where no number of this rank leads. But
// each member knows whether it is the last: no member of its owner has a greater place in the whole graph's order. So
// a value moves to owners as a sum over members of which one is not 0, and back as any other, but to the last alone.
//
// A map from a union, a part of which moves like that, is a movement for each part.
//
//===----------------------------------------------------------------------===//

#include "Distribution/Distributor.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

RankedTensorType Distributor::typeFrom(FlatSymbolRefAttr name, Type like) {
  SpaceOp space = maps.space(name);
  return getTensorOn(name, space.getExtent() ? int64_t(*space.getExtent()) : ShapedType::kDynamic,
                     getFeatureShape(like), cast<RankedTensorType>(like).getElementType());
}

//===----------------------------------------------------------------------===//
// The last member
//===----------------------------------------------------------------------===//

/// 1 for the last member of each owner, else 0.
Value Distributor::isLast(Map members, Type element) {
  Value &known = lasts[{members, element}];
  if (known)
    return known;
  Location loc = function.getLoc();
  FlatSymbolRefAttr space = maps.map(members).getFromAttr(), owners = maps.map(members).getToAttr();
  if (maps.isRemote(members))
    owners = maps.ownOf(owners);
  SmallVector<Value> order = placesOf(space, element); // of which lastPlace is the end
  OpBuilder b(function.getContext());
  lastPlace ? b.setInsertionPointAfter(lastPlace) : b.setInsertionPointToStart(&function.getBody().front());
  Rules r(b, loc);
  Type number = RankedTensorType::get({}, element);
  Value one = ConstantOp::create(b, loc, number, b.getF64FloatAttr(1));
  auto back = [&](Value value) { return move(b, loc, value, members, b.getF64FloatAttr(0)); };
  Value last = maps.map(members).getPartial() ? back(r.broadcast(one, all, typeFrom(owners, number)))
                                              : r.broadcast(one, all, typeFrom(space, number));
  for (Value place : order) {
    Value greatest =
        largestOrNone(b, loc, ReduceKind::Max, r.select(last, place, r.number(-kInfinity, place)), members);
    last = r.mul(last, r.binary(BinaryKind::Eq, place, back(greatest)));
  }
  lastPlace = &*std::prev(b.getInsertionPoint());
  return lasts[{members, element}] = last;
}

/// A value of members where they are the last, else `none`.
Value Distributor::ofLast(OpBuilder &b, Location loc, Value x, Map members, double none) {
  Rules r(b, loc);
  return r.select(r.reshape(isLast(members, elementOf(x)), onesFor(x)), x, r.number(none, x));
}

//===----------------------------------------------------------------------===//
// Maps from unions
//===----------------------------------------------------------------------===//

template <typename Fn> void Distributor::forEachPart(Map along, Fn visit) {
  MapOp map = maps.map(along);
  SpaceOp joined = maps.space(map.getFromAttr());
  for (auto [i, way] : llvm::enumerate(map.getPartsAttr()))
    visit(cast<FlatSymbolRefAttr>(joined.getPartsAttr()[i]), maps.partOf(joined, int64_t(i)), Attribute(way));
}

/// The rows of one part.
Value Distributor::rowsOfPart(OpBuilder &b, Location loc, Value x, FlatSymbolRefAttr part, Map toPart) {
  return Rules(b, loc).reduce(ReduceKind::Sum, x, toPart, typeFrom(part, x.getType()));
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

Value Distributor::moveAbsent(OpBuilder &b, Location loc, Value x, Map along, FloatAttr fill) {
  Rules r(b, loc);
  MapOp map = maps.map(along);
  double none = fill ? fill.getValueAsDouble() : 0;
  if (map.getKind() == MapKind::Last) {
    auto members = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]);
    Value moved = sum(b, loc, ofLast(b, loc, x, members, 0), members);
    if (none == 0)
      return moved;
    Value count = r.reshape(degree(b, loc, members, elementOf(x)), onesFor(x));
    return r.select(count, moved, r.number(none, moved));
  }
  Value whole;
  forEachPart(along, [&](FlatSymbolRefAttr part, Map toPart, Attribute way) {
    Value rows = x;
    if (auto name = dyn_cast<FlatSymbolRefAttr>(way))
      rows = move(b, loc, x, name, fill);
    else if (!isa<UnitAttr>(way))
      rows = none == 0 ? Value() : r.broadcast(r.number(none, x), all, typeFrom(part, x.getType()));
    if (!rows)
      return;
    rows = r.broadcast(rows, toPart, typeFrom(map.getFromAttr(), x.getType()));
    whole = whole ? r.add(whole, rows) : rows;
  });
  return whole;
}

Value Distributor::sumAbsent(OpBuilder &b, Location loc, Value x, Map along) {
  Rules r(b, loc);
  MapOp map = maps.map(along);
  if (map.getKind() == MapKind::Last) {
    auto members = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]);
    return ofLast(b, loc, move(b, loc, x, members, b.getF64FloatAttr(0)), members, 0);
  }
  Value total;
  forEachPart(along, [&](FlatSymbolRefAttr part, Map toPart, Attribute way) {
    auto name = dyn_cast<FlatSymbolRefAttr>(way);
    if (!name && !isa<UnitAttr>(way))
      return;
    Value rows = rowsOfPart(b, loc, x, part, toPart);
    rows = name ? sum(b, loc, rows, name) : rows;
    total = total ? r.add(total, rows) : rows;
  });
  return total;
}

Value Distributor::degreeAbsent(OpBuilder &b, Location loc, Map along, Type element) {
  Rules r(b, loc);
  MapOp map = maps.map(along);
  if (map.getKind() == MapKind::Last)
    return isLast(cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]), element);
  Type number = RankedTensorType::get({}, element);
  Value total;
  forEachPart(along, [&](FlatSymbolRefAttr part, Map, Attribute way) {
    Value count;
    if (auto name = dyn_cast<FlatSymbolRefAttr>(way))
      count = degree(b, loc, name, element);
    else if (isa<UnitAttr>(way))
      count = r.broadcast(ConstantOp::create(b, loc, number, b.getF64FloatAttr(1)), all, typeFrom(part, number));
    if (count)
      total = total ? r.add(total, count) : count;
  });
  return total;
}

Value Distributor::largestOrNoneAbsent(OpBuilder &b, Location loc, ReduceKind kind, Value x, Map along) {
  Rules r(b, loc);
  MapOp map = maps.map(along);
  if (map.getKind() == MapKind::Last) {
    auto members = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]);
    return ofLast(b, loc, move(b, loc, x, members, b.getF64FloatAttr(0)), members, noneOf(kind));
  }
  Value best;
  forEachPart(along, [&](FlatSymbolRefAttr part, Map toPart, Attribute way) {
    auto name = dyn_cast<FlatSymbolRefAttr>(way);
    if (!name && !isa<UnitAttr>(way))
      return;
    Value rows = rowsOfPart(b, loc, x, part, toPart);
    rows = name ? largestOrNone(b, loc, kind, rows, name) : rows;
    BinaryKind larger = kind == ReduceKind::Max ? BinaryKind::Maximum : BinaryKind::Minimum;
    best = best ? r.binary(larger, best, rows) : rows;
  });
  return best;
}

/// The better one of two winners of each owner.
Distributor::Winner Distributor::betterOf(OpBuilder &b, Location loc, ReduceKind kind, const Winner &one,
                                          const Winner &other) {
  Rules r(b, loc);
  BinaryKind larger = kind == ReduceKind::Max ? BinaryKind::Maximum : BinaryKind::Minimum;
  Winner better;
  better.value = r.binary(larger, one.value, other.value);
  Value wins = isSame(r, one.value, better.value), otherWins = isSame(r, other.value, better.value);
  for (auto [place, otherPlace] : llvm::zip_equal(one.places, other.places)) {
    Value infinity = r.number(kInfinity, better.value);
    Value least =
        r.binary(BinaryKind::Minimum, r.select(wins, place, infinity), r.select(otherWins, otherPlace, infinity));
    wins = r.mul(wins, r.binary(BinaryKind::Eq, place, least));
    otherWins = r.mul(otherWins, r.binary(BinaryKind::Eq, otherPlace, least));
    better.places.push_back(least);
  }
  Value zero = r.number(0, better.value);
  better.gradient = r.add(r.select(wins, one.gradient, zero), r.select(otherWins, other.gradient, zero));
  return better;
}

Distributor::Winner Distributor::winnerAbsent(OpBuilder &b, Location loc, ReduceKind kind, const Winner &members,
                                              Map along) {
  Rules r(b, loc);
  MapOp map = maps.map(along);
  // Places have axes as values have, once they are compared with those of other owners.
  auto withAxes = [&](Winner winner) {
    for (Value &place : winner.places)
      if (getFeatureShape(place.getType()).size() != getFeatureShape(winner.value.getType()).size())
        place = r.reshape(place, onesFor(winner.value));
    return winner;
  };
  if (map.getKind() == MapKind::Last) {
    auto owners = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]);
    auto ofOwner = [&](Value value, double none) {
      return ofLast(b, loc, move(b, loc, value, owners, b.getF64FloatAttr(0)), owners, none);
    };
    Winner winner{ofOwner(members.value, noneOf(kind)), ofOwner(members.gradient, 0), {}};
    for (Value place : members.places)
      winner.places.push_back(ofOwner(place, kInfinity));
    return withAxes(std::move(winner));
  }
  std::optional<Winner> best;
  forEachPart(along, [&](FlatSymbolRefAttr part, Map toPart, Attribute way) {
    auto name = dyn_cast<FlatSymbolRefAttr>(way);
    if (!name && !isa<UnitAttr>(way))
      return;
    auto ofPart = [&](Value value) { return rowsOfPart(b, loc, value, part, toPart); };
    Winner here{ofPart(members.value), ofPart(members.gradient), {}, members.inOrder};
    for (Value place : members.places)
      here.places.push_back(ofPart(place));
    here = withAxes(name ? winnerOf(b, loc, kind, here, name) : here);
    best = best ? betterOf(b, loc, kind, *best, here) : here;
  });
  best->inOrder = false;
  return *best;
}
