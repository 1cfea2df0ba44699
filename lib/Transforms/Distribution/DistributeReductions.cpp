//===- DistributeReductions.cpp - Reductions of members of several ranks --===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank reduces its own members; what it has for elements of other ranks goes back to these, and what is shared or
// on a static space is combined over all ranks. A softmax is split into the largest number and the sum of powers of
// each owner. Everything is made of operations that have derivatives. Of equal largest numbers, those of the rank that
// has the element come first, then those of the others in the order in which they come back.
//
//===----------------------------------------------------------------------===//

#include "Distribution/Distributor.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"

#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

static std::pair<FlatSymbolRefAttr, FlatSymbolRefAttr> halvesOf(MapOp composed) {
  return {cast<FlatSymbolRefAttr>(composed.getPartsAttr()[0]), cast<FlatSymbolRefAttr>(composed.getPartsAttr()[1])};
}

Value Distributor::sum(OpBuilder &b, Location loc, Value x, Map along) {
  Rules r(b, loc);
  if (along == all) {
    Value local = r.reduce(ReduceKind::Sum, x, along, getElementType(x.getType()));
    return isDivided(x) ? combine(b, loc, ReduceKind::Sum, local) : local;
  }
  if (maps.isThroughHalo(along)) {
    auto [first, second] = halvesOf(maps.map(along));
    return sum(b, loc, sum(b, loc, x, first), second);
  }
  if (maps.isAbsent(along))
    return sumAbsent(b, loc, x, along);
  Value local = r.reduce(ReduceKind::Sum, x, along, typeWhere(function, along, x.getType()));
  if (maps.isRemote(along))
    return bringBack(b, loc, local);
  return isDivided(x) && !isDivided(local) ? combine(b, loc, ReduceKind::Sum, local) : local;
}

Value Distributor::degree(OpBuilder &b, Location loc, Map along, Type element) {
  MapOp map = maps.map(along);
  if (maps.isThroughHalo(along)) {
    auto [first, second] = halvesOf(map);
    return sum(b, loc, degree(b, loc, first, element), second);
  }
  if (maps.isAbsent(along))
    return degreeAbsent(b, loc, along, element);
  Value local = DegreeOp::create(b, loc, typeWhere(function, along, RankedTensorType::get({}, element)), along);
  if (maps.isRemote(along))
    return bringBack(b, loc, local);
  return maps.isDivided(map.getFromAttr()) && !isDivided(local) ? combine(b, loc, ReduceKind::Sum, local) : local;
}

Value Distributor::countMembers(OpBuilder &b, Location loc, Value x, Map along) {
  Value count;
  if (along == all) {
    count = ExtentOp::create(b, loc, RankedTensorType::get({}, elementOf(x)), spaceOf(x));
    if (isDivided(x))
      count = combine(b, loc, ReduceKind::Sum, count);
  } else {
    count = degree(b, loc, along, elementOf(x));
  }
  return Rules(b, loc).reshape(count, onesFor(x));
}

Value Distributor::largestOrNone(OpBuilder &b, Location loc, ReduceKind kind, Value x, Map along) {
  Rules r(b, loc);
  auto orNone = [&](Value count, Value value) {
    double infinity = std::numeric_limits<double>::infinity();
    Value none = r.number(kind == ReduceKind::Max ? -infinity : infinity, value);
    return r.select(r.reshape(count, onesFor(value)), value, none);
  };
  auto countOf = [&](Map map) {
    return Value(DegreeOp::create(b, loc, typeWhere(function, map, RankedTensorType::get({}, elementOf(x))), map));
  };
  if (along == all) {
    Value count = ExtentOp::create(b, loc, RankedTensorType::get({}, elementOf(x)), spaceOf(x));
    Value local = orNone(count, r.reduce(kind, x, along, getElementType(x.getType())));
    return isDivided(x) ? combine(b, loc, kind, local) : local;
  }
  if (maps.isThroughHalo(along)) {
    auto [first, second] = halvesOf(maps.map(along));
    return largestOrNone(b, loc, kind, largestOrNone(b, loc, kind, x, first), second);
  }
  if (maps.isAbsent(along))
    return largestOrNoneAbsent(b, loc, kind, x, along);
  Value local = orNone(countOf(along), r.reduce(kind, x, along, typeWhere(function, along, x.getType())));
  if (!maps.isRemote(along))
    return isDivided(x) && !isDivided(local) ? combine(b, loc, kind, local) : local;
  FlatSymbolRefAttr space = maps.ownOf(spaceOf(local));
  const RemoteMaps::Halo &halo = maps.haloOf(space);
  Type type = typeOn(space, local.getType());
  Value own = r.reduce(ReduceKind::Sum, local, halo.own, type);
  Value returned = r.reduce(kind, sendBack(b, loc, local), halo.sent, type);
  Value others = orNone(countOf(halo.sent), returned);
  return r.binary(kind == ReduceKind::Max ? BinaryKind::Maximum : BinaryKind::Minimum, own, others);
}

Value Distributor::largest(OpBuilder &b, Location loc, ReduceKind kind, Value x, Map along) {
  Rules r(b, loc);
  Value best = largestOrNone(b, loc, kind, x, along);
  return r.select(countMembers(b, loc, x, along), best, r.number(0, best));
}

Value Distributor::shiftOf(OpBuilder &b, Location loc, Value x, Map along) {
  Value most = largest(b, loc, ReduceKind::Max, x, along);
  return DetachOp::create(b, loc, most.getType(), most);
}

Value Distributor::finiteShift(OpBuilder &b, Location loc, Value x, Map along) {
  Rules r(b, loc);
  Value most = shiftOf(b, loc, x, along);
  return r.binary(BinaryKind::Maximum, most, r.unary(UnaryKind::Finite, most));
}

Value Distributor::backTo(OpBuilder &b, Location loc, Value owners, Map along, Type members) {
  if (along == all)
    return maps.isDivided(getResidency(members)) ? vary(owners) : owners;
  return move(b, loc, owners, along, b.getF64FloatAttr(0));
}

Value Distributor::powers(OpBuilder &b, Location loc, Value x, Value shift, Map along) {
  Rules r(b, loc);
  Value above = r.sub(x, backTo(b, loc, shift, along, x.getType()));
  // Members without an owner may hold what has an infinite power, and 0 times that is no number.
  if (along != all && maps.map(along).getPartial()) {
    Value one = r.broadcast(r.number(1, shift), all, Rules::withFeatures(shift.getType(), onesFor(shift)));
    above = r.select(backTo(b, loc, one, along, x.getType()), above, r.number(0, above));
  }
  return r.exp(above);
}

Value Distributor::logSumExp(OpBuilder &b, Location loc, Value x, Map along) {
  Rules r(b, loc);
  Value most = r.unary(UnaryKind::Finite, shiftOf(b, loc, x, along));
  Value total = sum(b, loc, powers(b, loc, x, most, along), along);
  // No infinite derivative where the sum is 0.
  return r.add(most, r.unary(UnaryKind::Log, r.select(total, total, r.number(0, total))));
}

Value Distributor::softmaxScale(OpBuilder &b, Location loc, Value x, Map along) {
  Rules r(b, loc);
  Value total = sum(b, loc, powers(b, loc, x, finiteShift(b, loc, x, along), along), along);
  Value one = r.number(1, total);
  return r.select(total, r.div(one, r.select(total, total, one)), r.number(0, total));
}

Value Distributor::softmax(OpBuilder &b, Location loc, Value x, Map along) {
  Rules r(b, loc);
  ++numSplit;
  Value own = powers(b, loc, x, finiteShift(b, loc, x, along), along);
  Value total = sum(b, loc, own, along);
  total = r.select(total, total, r.number(1, total));
  return r.div(own, backTo(b, loc, total, along, x.getType()));
}
