//===- Rules.cpp - Words to write derivative rules in ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

RankedTensorType Rules::withFeatures(Type rows, ArrayRef<int64_t> features) {
  auto tensor = cast<RankedTensorType>(rows);
  FlatSymbolRefAttr space = getResidency(rows);
  return getTensorOn(space, space ? tensor.getDimSize(0) : 0, features, tensor.getElementType());
}

Value Rules::number(double value, Value like) {
  SmallVector<int64_t> ones(getFeatureShape(like.getType()).size(), 1);
  Type element = cast<RankedTensorType>(like.getType()).getElementType();
  return ConstantOp::create(b, loc, RankedTensorType::get(ones, element), b.getF64FloatAttr(value));
}

Value Rules::unary(UnaryKind kind, Value x, double alpha) {
  return UnaryOp::create(b, loc, x.getType(), b.getAttr<UnaryKindAttr>(kind), x, b.getF64FloatAttr(alpha));
}

namespace {
/// The axes of values that repeat each other's axes of size 1.
SmallVector<int64_t> common(ArrayRef<int64_t> a, ArrayRef<int64_t> c) {
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip(a, c))
    shape.push_back(x == 1 ? y : x);
  return shape;
}
} // namespace

Value Rules::binary(BinaryKind kind, Value x, Value y) {
  Type rows = getResidency(x.getType()) ? x.getType() : y.getType();
  Type type = withFeatures(rows, common(getFeatureShape(x.getType()), getFeatureShape(y.getType())));
  return BinaryOp::create(b, loc, type, kind, x, y);
}

Value Rules::select(Value condition, Value x, Value y) {
  Type rows = condition.getType();
  SmallVector<int64_t> shape(getFeatureShape(rows));
  for (Value value : {x, y}) {
    shape = common(shape, getFeatureShape(value.getType()));
    if (!getResidency(rows))
      rows = value.getType();
  }
  return SelectOp::create(b, loc, withFeatures(rows, shape), condition, x, y);
}

Value Rules::reduce(ReduceKind kind, Value x, FlatSymbolRefAttr along, Type result) {
  return ReduceOp::create(b, loc, result, b.getAttr<ReduceKindAttr>(kind), x, along);
}

Value Rules::broadcast(Value x, FlatSymbolRefAttr along, Type result, double fill) {
  return BroadcastOp::create(b, loc, result, x, along, b.getF64FloatAttr(fill));
}

Value Rules::repeat(Value x, ArrayRef<int64_t> features) {
  if (getFeatureShape(x.getType()) == features)
    return x;
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  Value ones = ConstantOp::create(b, loc, RankedTensorType::get(features, element), b.getF64FloatAttr(1));
  return mul(x, ones);
}

Value Rules::reshape(Value x, ArrayRef<int64_t> features) {
  if (getFeatureShape(x.getType()) == features)
    return x;
  return ReshapeOp::create(b, loc, withFeatures(x.getType(), features), x);
}

Value Rules::fold(ReduceKind kind, Value x, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> features(getFeatureShape(x.getType()));
  for (int64_t axis : axes)
    features[axis] = 1;
  return FoldOp::create(b, loc, withFeatures(x.getType(), features), b.getAttr<ReduceKindAttr>(kind), x,
                        b.getDenseI64ArrayAttr(axes));
}
