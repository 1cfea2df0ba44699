//===- Dense.cpp - Derivatives of products and changes of shape -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The gradient of one operand of a product: the result's gradient times the other operand, with the operand's labels.
/// A label that only this operand has was summed over, so its gradient is the same along that axis.
Value contractAdjoint(Rules &r, Value g, ArrayRef<int64_t> outLabels, Value other, ArrayRef<int64_t> otherLabels,
                      Value own, ArrayRef<int64_t> ownLabels) {
  SmallVector<int64_t> labels, features, withOnes, full;
  for (auto [label, size] : llvm::zip(ownLabels, getFeatureShape(own.getType()))) {
    bool known = llvm::is_contained(outLabels, label) || llvm::is_contained(otherLabels, label);
    if (known) {
      labels.push_back(label);
      features.push_back(size);
    }
    withOnes.push_back(known ? size : 1);
    full.push_back(size);
  }
  Type rows = getResidency(g.getType()) ? g.getType() : other.getType();
  Value product =
      ContractOp::create(r.b, r.loc, Rules::withFeatures(rows, features), g, outLabels, other, otherLabels, labels);
  return r.repeat(r.reshape(product, withOnes), full);
}

} // namespace

SmallVector<Value> ContractOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool> wanted) {
  Rules r(b, getLoc());
  SmallVector<Value> gradients(2);
  if (wanted[0])
    gradients[0] = contractAdjoint(r, g, getOutLabels(), getRhs(), getRhsLabels(), getLhs(), getLhsLabels());
  if (wanted[1])
    gradients[1] = contractAdjoint(r, g, getOutLabels(), getLhs(), getLhsLabels(), getRhs(), getRhsLabels());
  return gradients;
}

SmallVector<Value> FoldOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  Value x = getInput();
  ArrayRef<int64_t> features = getFeatureShape(x.getType());
  switch (getKind()) {
  case ReduceKind::Sum:
    return {r.repeat(g, features)};
  case ReduceKind::Mean: {
    int64_t members = 1;
    for (int64_t axis : getAxes())
      members *= features[axis];
    return {r.repeat(r.scale(g, 1.0 / double(members)), features)};
  }
  case ReduceKind::Max:
  case ReduceKind::Min: {
    // Equal numbers share the gradient.
    Value same = r.binary(BinaryKind::Eq, x, getResult());
    return {r.mul(same, r.div(g, r.fold(ReduceKind::Sum, same, getAxes())))};
  }
  case ReduceKind::LogSumExp: {
    // The softmax over the axes, 0 where all numbers are minus infinity.
    Value shift = r.unary(UnaryKind::Finite, r.fold(ReduceKind::Max, x, getAxes()));
    Value power = r.exp(r.sub(x, shift));
    Value sum = r.fold(ReduceKind::Sum, power, getAxes());
    return {r.mul(r.div(g, r.select(sum, sum, r.number(1, sum))), power)};
  }
  case ReduceKind::SoftmaxShift:
  case ReduceKind::SoftmaxScale:
    llvm_unreachable("refused by the verifier");
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    return {Value()};
  }
  llvm_unreachable("unknown reduce kind");
}

SmallVector<Value> ReshapeOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  Rules r(b, getLoc());
  return {r.reshape(g, getFeatureShape(getInput().getType()))};
}

SmallVector<Value> TransposeOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  SmallVector<int64_t> inverse(getPermutation().size()), features;
  for (auto [i, axis] : llvm::enumerate(getPermutation()))
    inverse[axis] = i;
  for (int64_t axis : inverse)
    features.push_back(getFeatureShape(g.getType())[axis]);
  return {TransposeOp::create(b, getLoc(), Rules::withFeatures(g.getType(), features), g, inverse)};
}

SmallVector<Value> ConcatOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool> wanted) {
  SmallVector<Value> gradients;
  int64_t begin = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    ArrayRef<int64_t> features = getFeatureShape(input.getType());
    gradients.push_back(wanted[i] ? Value(SliceOp::create(b, getLoc(), Rules::withFeatures(g.getType(), features), g,
                                                          getAxisAttr(), b.getI64IntegerAttr(begin)))
                                  : Value());
    begin += features[getAxis()];
  }
  return gradients;
}

SmallVector<Value> SliceOp::emitAdjoint(OpBuilder &b, Value g, ArrayRef<bool>) {
  // Zeros before and after.
  ArrayRef<int64_t> whole = getFeatureShape(getInput().getType()), part = getFeatureShape(g.getType());
  Type element = cast<RankedTensorType>(g.getType()).getElementType();
  int64_t axis = getAxis(), begin = getBegin(), end = begin + part[axis];
  SmallVector<Value> parts;
  auto zeros = [&](int64_t size) {
    SmallVector<int64_t> features(part);
    features[axis] = size;
    if (size > 0)
      parts.push_back(ConstantOp::create(b, getLoc(), RankedTensorType::get(features, element), b.getF64FloatAttr(0)));
  };
  zeros(begin);
  parts.push_back(g);
  zeros(whole[axis] - end);
  return {ConcatOp::create(b, getLoc(), Rules::withFeatures(g.getType(), whole), parts, axis)};
}
