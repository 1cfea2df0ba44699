//===- PaddedParts.cpp - Gradients of slices ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients/PaddedParts.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// An input of a concatenation that is not zero, and where it begins.
struct Part {
  Value value;
  int64_t begin, size;
};

bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().isZero();
}

void findParts(ConcatOp concat, SmallVectorImpl<Part> &parts) {
  int64_t begin = 0;
  for (Value input : concat.getInputs()) {
    int64_t size = getFeatureShape(input.getType())[concat.getAxis()];
    if (!isZero(input))
      parts.push_back({input, begin, size});
    begin += size;
  }
}

} // namespace

bool gnnc::isPadded(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  return concat && llvm::any_of(concat.getInputs(), isZero);
}

Value gnnc::joinPadded(OpBuilder &b, Value first, Value second) {
  auto left = first.getDefiningOp<ConcatOp>(), right = second.getDefiningOp<ConcatOp>();
  if (!left || !right || left.getAxis() != right.getAxis() || left.getType() != right.getType())
    return {};
  SmallVector<Part> parts;
  findParts(left, parts);
  findParts(right, parts);
  llvm::sort(parts, [](const Part &x, const Part &y) { return x.begin < y.begin; });
  auto type = cast<RankedTensorType>(left.getType());
  int64_t axis = left.getAxis(), end = 0;
  SmallVector<Value> inputs;
  auto addZeros = [&](int64_t until) {
    if (until <= end)
      return;
    SmallVector<int64_t> features(getFeatureShape(type));
    features[axis] = until - end;
    inputs.push_back(ConstantOp::create(b, left.getLoc(), RankedTensorType::get(features, type.getElementType()),
                                        b.getF64FloatAttr(0)));
  };
  for (const Part &part : parts) {
    if (part.begin < end)
      return {};
    addZeros(part.begin);
    inputs.push_back(part.value);
    end = part.begin + part.size;
  }
  addZeros(getFeatureShape(type)[axis]);
  return ConcatOp::create(b, left.getLoc(), type, inputs, axis);
}
