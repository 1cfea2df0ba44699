//===- Message.cpp - Derivatives of movements -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A broadcast along m and a sum along m are each other's transpose. The others are sums with weights that follow from
// statistics of the owner: shift and scale of a softmax, the number of the winner of a maximum.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// Where a map leads, as the type of a value there with the features of `like` (which is on the map's domain).
Type targetType(Operation *op, FlatSymbolRefAttr along, Type like) {
  if (along.getValue() == kAllMap)
    return getElementType(like);
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(op, along);
  auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(op, map.getToAttr());
  int64_t extent = space.getExtent() ? int64_t(*space.getExtent()) : ShapedType::kDynamic;
  return getTensorOn(map.getToAttr(), extent, getFeatureShape(like), cast<RankedTensorType>(like).getElementType());
}

bool isPartial(Operation *op, FlatSymbolRefAttr along) {
  return along.getValue() != kAllMap && SymbolTable::lookupNearestSymbolFrom<MapOp>(op, along).getPartial();
}

/// The softmax of x from its statistics: exp(x - shift) * scale. `op` is where the map is looked up from.
Value fromStatistics(Rules &r, Operation *op, Value x, FlatSymbolRefAttr along) {
  Type owners = targetType(op, along, x.getType());
  Value shift = r.broadcast(r.reduce(ReduceKind::SoftmaxShift, x, along, owners), along, x.getType());
  Value scale = r.broadcast(r.reduce(ReduceKind::SoftmaxScale, x, along, owners), along, x.getType());
  Value above = r.sub(x, shift);
  // Those whose map is undefined get 0, as their scale is. What they hold has no limit: exp of it, and its derivative,
  // could be infinite, and 0 times that is no number.
  if (isPartial(op, along))
    above = r.select(scale, above, r.number(0, x));
  return r.mul(r.exp(above), scale);
}

/// The softmax of x in its first form where it has one.
Value softmaxOf(Rules &r, Operation *op, Value x, FlatSymbolRefAttr along) {
  if (along.getValue() == kAllMap || isPartial(op, along))
    return fromStatistics(r, op, x, along);
  return NormOp::create(r.b, r.loc, x.getType(), x, along);
}

} // namespace

SmallVector<Value> BroadcastOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  return {r.reduce(ReduceKind::Sum, g, getAlongAttr(), getInput().getType())};
}

SmallVector<Value> ReduceOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  Value x = getInput();
  FlatSymbolRefAttr along = getAlongAttr();
  auto back = [&](Value value) { return r.broadcast(value, along, x.getType()); };
  switch (getKind()) {
  case ReduceKind::Sum:
    return {back(g)};
  case ReduceKind::Mean: {
    Value count;
    if (along.getValue() == kAllMap) {
      Type number = RankedTensorType::get({}, cast<RankedTensorType>(g.getType()).getElementType());
      count = ExtentOp::create(b, getLoc(), number, getResidency(x.getType()));
    } else {
      count = DegreeOp::create(b, getLoc(), Rules::withFeatures(g.getType(), {}), along);
    }
    count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(g.getType()).size(), 1));
    // Elements without members have no one to give a gradient to.
    return {back(r.div(g, r.binary(BinaryKind::Maximum, count, r.number(1, count))))};
  }
  case ReduceKind::Max:
  case ReduceKind::Min: {
    ReduceKind winner = getKind() == ReduceKind::Max ? ReduceKind::ArgMax : ReduceKind::ArgMin;
    Value number = back(r.reduce(winner, x, along, getResult().getType()));
    Value own = ElementOp::create(
        b, getLoc(), Rules::withFeatures(x.getType(), SmallVector<int64_t>(getFeatureShape(x.getType()).size(), 1)),
        UnitAttr());
    Value mine = IsElementOp::create(b, getLoc(), x.getType(), number, own);
    return {r.select(mine, back(g), r.number(0, x))};
  }
  case ReduceKind::LogSumExp:
    return {r.mul(back(g), softmaxOf(r, *this, x, along))};
  case ReduceKind::SoftmaxScale: // 1 / sum of exp(x - shift), where the shift is a constant.
    return {r.neg(r.mul(back(r.mul(g, getResult())), softmaxOf(r, *this, x, along)))};
  case ReduceKind::SoftmaxShift:
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    return {Value()};
  }
  llvm_unreachable("unknown reduce kind");
}

/// exp(x - shift) * scale: a sweep along another map then needs two statistics of the owners, not a number for each
/// member. Not exp(x - logsumexp): at scores of 1e4 that would lose three digits of a weight, and all of them at -1e9.
Value NormOp::recompute(OpBuilder &b) {
  Rules r(b, getLoc());
  return fromStatistics(r, *this, getInput(), getAlongAttr());
}

/// y = softmax(x): dx = y (g - sum of y g over the members).
SmallVector<Value> NormOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  Value x = getInput();
  FlatSymbolRefAttr along = getAlongAttr();
  Type owners = targetType(*this, along, x.getType());
  Value y = getResult();
  Value inner = r.reduce(ReduceKind::Sum, r.mul(y, g), along, owners);
  return {r.mul(y, r.sub(g, r.broadcast(inner, along, x.getType())))};
}

SmallVector<Value> TransferOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  return {TransferOp::create(b, getLoc(), getInput().getType(), g)};
}

/// The result's gradient is the same on all ranks; what each makes of it is its own.
SmallVector<Value> AllReduceOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  if (getKind() != ReduceKind::Sum) {
    Value wins = r.binary(BinaryKind::Eq, getInput(), getResult());
    g = r.div(g, AllReduceOp::create(b, getLoc(), getType(), ReduceKind::Sum, wins));
  }
  Value own = VaryOp::create(b, getLoc(), getType(), g);
  return {getKind() == ReduceKind::Sum
              ? own
              : r.select(r.binary(BinaryKind::Eq, getInput(), getResult()), own, r.number(0, own))};
}

SmallVector<Value> VaryOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  return {AllReduceOp::create(b, getLoc(), getType(), ReduceKind::Sum, g)};
}

SmallVector<Value> DeriveAsOp::emitAdjoint(OpBuilder &, Value g, ArrayRef<bool>) { return {Value(), g}; }

SmallVector<Value> SpreadOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  return {CollectOp::create(b, getLoc(), getInput().getType(), g)};
}

SmallVector<Value> CollectOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  return {SpreadOp::create(b, getLoc(), getInput().getType(), g)};
}
