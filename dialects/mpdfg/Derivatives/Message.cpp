//===- Message.cpp - Derivatives of movements -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A broadcast along m and a sum along m are each other's transpose. The others are sums with weights that follow from
// statistics of the owner: the log-sum-exp of a softmax, the number of the winner of a maximum.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The log-sum-exp of those whose map is undefined: exp(x - kNever) = 0.
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Where a map leads, as the type of a value there with the features of `like` (which is on the map's domain).
Type targetType(Operation *op, FlatSymbolRefAttr along, Type like) {
  if (along.getValue() == kAllMap)
    return getElementType(like);
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(op, along);
  auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(op, map.getToAttr());
  int64_t extent = space.getExtent() ? int64_t(*space.getExtent()) : ShapedType::kDynamic;
  return getTensorOn(map.getToAttr(), extent, getFeatureShape(like), cast<RankedTensorType>(like).getElementType());
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
    return {r.mul(back(g), r.exp(r.sub(x, r.broadcast(getResult(), along, x.getType(), kNever))))};
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    return {Value()};
  }
  llvm_unreachable("unknown reduce kind");
}

/// exp(x - logsumexp of x): a sweep along another map then needs that statistic of the owners, not a number for each
/// member.
Value NormOp::recompute(OpBuilder &b) {
  Rules r(b, getLoc());
  Value x = getInput();
  FlatSymbolRefAttr along = getAlongAttr();
  Value logSum = r.reduce(ReduceKind::LogSumExp, x, along, targetType(*this, along, x.getType()));
  return r.exp(r.sub(x, r.broadcast(logSum, along, x.getType(), kNever)));
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

SmallVector<Value> SpreadOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  return {CollectOp::create(b, getLoc(), getInput().getType(), g)};
}

SmallVector<Value> CollectOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  return {SpreadOp::create(b, getLoc(), getInput().getType(), g)};
}
