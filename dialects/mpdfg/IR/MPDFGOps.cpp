//===- MPDFGOps.cpp - Verifiers and costs of the row-by-row operations -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define GET_OP_CLASSES
#include "dialects/mpdfg/IR/MPDFGOps.cpp.inc"

namespace {

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + (ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size));
  return text + "]";
}

/// (R1): one residency among the operands, which the result has.
LogicalResult verifyResidency(Operation *op) {
  FlatSymbolRefAttr space;
  for (Value operand : op->getOperands()) {
    FlatSymbolRefAttr other = getResidency(operand.getType());
    if (!other)
      continue;
    if (space && space != other)
      return op->emitOpError() << "operands reside on different spaces, " << space << " and " << other;
    space = other;
  }
  FlatSymbolRefAttr result = getResidency(op->getResult(0).getType());
  if (result != space) {
    InFlightDiagnostic diag = op->emitOpError() << "expected the result on ";
    space ? diag << space : diag << "no space (shared)";
    diag << ", found ";
    return result ? diag << result : diag << "shared";
  }
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (isStorageOnly(element))
    return op->emitOpError() << "computes in f32 or f64, found " << element
                             << ", which only operands and results of kernels are";
  for (Value operand : op->getOperands())
    if (cast<RankedTensorType>(operand.getType()).getElementType() != element)
      return op->emitOpError() << "expected " << element << " elements, found " << operand.getType();
  return success();
}

/// (R2): feature axes align; an axis of size 1 is repeated.
LogicalResult verifyElementwise(Operation *op) {
  if (failed(verifyResidency(op)))
    return failure();
  ArrayRef<int64_t> result = getFeatureShape(op->getResult(0).getType());
  SmallVector<int64_t> expected(result.size(), 1);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    ArrayRef<int64_t> shape = getFeatureShape(operand.getType());
    if (shape.size() != result.size())
      return op->emitOpError() << "operand " << i << " has " << shape.size() << " feature axes, the result "
                               << result.size();
    for (auto [axis, size] : llvm::enumerate(shape)) {
      if (size != 1 && expected[axis] != 1 && size != expected[axis])
        return op->emitOpError() << "feature axis " << axis << " is " << expected[axis] << " and " << size;
      if (size != 1)
        expected[axis] = size;
    }
  }
  if (ArrayRef<int64_t>(expected) != result)
    return op->emitOpError() << "expected feature axes " << shapeText(expected) << ", found " << shapeText(result);
  return success();
}

LogicalResult verifyFeatures(Operation *op, ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> found = getFeatureShape(op->getResult(0).getType());
  if (expected != found)
    return op->emitOpError() << "expected feature axes " << shapeText(expected) << ", found " << shapeText(found);
  return success();
}

int64_t resultWidth(Operation *op) { return getFeatureElements(op->getResult(0).getType()); }

constexpr int64_t kTranscendental = 16;

} // namespace

LogicalResult ConstantOp::verify() {
  if (FlatSymbolRefAttr space = getResidency(getType()))
    return emitOpError() << "expected a shared result, found one on " << space;
  return success();
}

LogicalResult UnaryOp::verify() { return verifyElementwise(*this); }
LogicalResult BinaryOp::verify() { return verifyElementwise(*this); }
LogicalResult SelectOp::verify() { return verifyElementwise(*this); }
LogicalResult DetachOp::verify() { return verifyElementwise(*this); }
LogicalResult VariableOp::verify() { return verifyElementwise(*this); }
LogicalResult IsElementOp::verify() { return verifyElementwise(*this); }
LogicalResult RandomOp::verify() { return verifyElementwise(*this); }

LogicalResult ElementOp::verify() {
  if (getFeatureElements(getType()) != 1)
    return emitOpError() << "expected feature axes of size 1, found " << shapeText(getFeatureShape(getType()));
  return success();
}

LogicalResult IotaOp::verify() {
  if (FlatSymbolRefAttr space = getResidency(getType()))
    return emitOpError() << "expected a shared result, found one on " << space;
  return success();
}

LogicalResult GradientOp::verify() {
  if (getResidency(getValue().getType()) || getFeatureElements(getValue().getType()) != 1)
    return emitOpError() << "expected a shared number to differentiate, found " << getValue().getType();
  if (Operation *op = getBy().getDefiningOp(); op && !isa<VariableOp>(op))
    return emitOpError() << "expected an argument or a variable to differentiate by, found the result of '"
                         << op->getName() << "'";
  return success();
}

LogicalResult ContractOp::verify() {
  if (failed(verifyResidency(*this)))
    return failure();
  llvm::SmallDenseMap<int64_t, int64_t> sizes;
  auto bind = [&](ArrayRef<int64_t> labels, Type type, StringRef what) -> LogicalResult {
    ArrayRef<int64_t> shape = getFeatureShape(type);
    if (labels.size() != shape.size())
      return emitOpError() << what << " has " << shape.size() << " feature axes but " << labels.size() << " labels";
    llvm::SmallDenseSet<int64_t> seen;
    for (auto [label, size] : llvm::zip(labels, shape)) {
      if (!seen.insert(label).second)
        return emitOpError() << "label " << label << " occurs twice in " << what;
      auto [it, fresh] = sizes.try_emplace(label, size);
      if (!fresh && it->second != size)
        return emitOpError() << "label " << label << " is " << it->second << " and " << size;
    }
    return success();
  };
  if (failed(bind(getLhsLabels(), getLhs().getType(), "lhs")) ||
      failed(bind(getRhsLabels(), getRhs().getType(), "rhs")))
    return failure();
  for (int64_t label : getOutLabels())
    if (!sizes.count(label))
      return emitOpError() << "label " << label << " of the result is in no operand";
  return bind(getOutLabels(), getResult().getType(), "result");
}

LogicalResult FoldOp::verify() {
  if (failed(verifyResidency(*this)))
    return failure();
  if (getKind() == ReduceKind::SoftmaxShift || getKind() == ReduceKind::SoftmaxScale)
    return emitOpError() << stringifyEnum(getKind()) << " is a statistic of members, not of feature axes";
  SmallVector<int64_t> expected(getFeatureShape(getInput().getType()));
  for (int64_t axis : getAxes()) {
    if (axis < 0 || axis >= int64_t(expected.size()))
      return emitOpError() << "axis " << axis << " is out of range for " << expected.size() << " feature axes";
    expected[axis] = 1;
  }
  return verifyFeatures(*this, expected);
}

LogicalResult ReshapeOp::verify() {
  if (failed(verifyResidency(*this)))
    return failure();
  int64_t from = getFeatureElements(getInput().getType()), to = resultWidth(*this);
  if (from != to)
    return emitOpError() << "expected " << from << " numbers a row, found " << to;
  return success();
}

LogicalResult TransposeOp::verify() {
  if (failed(verifyResidency(*this)))
    return failure();
  ArrayRef<int64_t> shape = getFeatureShape(getInput().getType()), permutation = getPermutation();
  SmallVector<int64_t> sorted(permutation), expected;
  llvm::sort(sorted);
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (axis != int64_t(i))
      return emitOpError() << "expected a permutation of the feature axes, found " << shapeText(permutation);
  if (permutation.size() != shape.size())
    return emitOpError() << "expected " << shape.size() << " axes in the permutation, found " << permutation.size();
  for (int64_t axis : permutation)
    expected.push_back(shape[axis]);
  return verifyFeatures(*this, expected);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "expected at least one operand";
  if (failed(verifyResidency(*this)))
    return failure();
  SmallVector<int64_t> expected(getFeatureShape(getInputs().front().getType()));
  int64_t axis = getAxis();
  if (axis < 0 || axis >= int64_t(expected.size()))
    return emitOpError() << "axis " << axis << " is out of range for " << expected.size() << " feature axes";
  for (Value input : getInputs().drop_front()) {
    SmallVector<int64_t> shape(getFeatureShape(input.getType()));
    if (shape.size() != expected.size())
      return emitOpError() << "operands have " << expected.size() << " and " << shape.size() << " feature axes";
    int64_t size = shape[axis];
    shape[axis] = expected[axis];
    if (shape != expected)
      return emitOpError() << "operands differ in an axis other than " << axis;
    expected[axis] += size;
  }
  return verifyFeatures(*this, expected);
}

LogicalResult SliceOp::verify() {
  if (failed(verifyResidency(*this)))
    return failure();
  SmallVector<int64_t> expected(getFeatureShape(getInput().getType()));
  ArrayRef<int64_t> found = getFeatureShape(getResult().getType());
  int64_t axis = getAxis(), begin = getBegin();
  if (axis < 0 || axis >= int64_t(expected.size()) || found.size() != expected.size())
    return emitOpError() << "axis " << axis << " is out of range for " << expected.size() << " feature axes";
  if (begin < 0 || begin + found[axis] > expected[axis])
    return emitOpError() << "expected a range within [0, " << expected[axis] << "), found [" << begin << ", "
                         << begin + found[axis] << ")";
  expected[axis] = found[axis];
  return verifyFeatures(*this, expected);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t UnaryOp::flopsPerRow() {
  switch (getKind()) {
  case UnaryKind::Neg:
  case UnaryKind::Abs:
  case UnaryKind::Sign:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::Round:
  case UnaryKind::Square:
  case UnaryKind::Relu:
  case UnaryKind::Sqrt:
  case UnaryKind::Rsqrt:
  case UnaryKind::Recip:
    return resultWidth(*this);
  case UnaryKind::Finite:
  case UnaryKind::LeakyRelu:
    return 2 * resultWidth(*this);
  default:
    return kTranscendental * resultWidth(*this);
  }
}
int64_t BinaryOp::flopsPerRow() {
  return (getKind() == BinaryKind::Pow ? 2 * kTranscendental : 1) * resultWidth(*this);
}
int64_t SelectOp::flopsPerRow() { return resultWidth(*this); }
int64_t ContractOp::flopsPerRow() {
  llvm::SmallDenseMap<int64_t, int64_t> sizes;
  for (auto [label, size] : llvm::zip(getLhsLabels(), getFeatureShape(getLhs().getType())))
    sizes[label] = size;
  for (auto [label, size] : llvm::zip(getRhsLabels(), getFeatureShape(getRhs().getType())))
    sizes[label] = size;
  int64_t products = 1;
  for (auto [label, size] : sizes)
    products *= size;
  return 2 * products;
}
int64_t FoldOp::flopsPerRow() { return getFeatureElements(getInput().getType()); }
int64_t ReshapeOp::flopsPerRow() { return 0; }
int64_t TransposeOp::flopsPerRow() { return 0; }
int64_t ConcatOp::flopsPerRow() { return 0; }
int64_t SliceOp::flopsPerRow() { return 0; }
/// Seven rounds of two wide products and four exclusive ors.
int64_t RandomOp::flopsPerRow() { return 7 * 8 * resultWidth(*this); }
int64_t DetachOp::flopsPerRow() { return 0; }
int64_t VariableOp::flopsPerRow() { return 0; }
int64_t IsElementOp::flopsPerRow() { return resultWidth(*this); }
