//===- MPDFGDialect.cpp - Registration, attributes and types of mpdfg -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#include "dialects/mpdfg/IR/MPDFGDialect.cpp.inc"
#include "dialects/mpdfg/IR/MPDFGEnums.cpp.inc"
#include "dialects/mpdfg/Interfaces/MPDFGInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mpdfg/IR/MPDFGAttrs.cpp.inc"

void MPDFGDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/mpdfg/IR/MPDFGAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/mpdfg/IR/MPDFGOps.cpp.inc"
      >();
}

LogicalResult OnAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                     function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.empty())
    return emitError() << "a tensor on " << getSpace() << " needs a first dimension for its rows";
  for (auto [i, size] : llvm::enumerate(shape.drop_front()))
    if (ShapedType::isDynamic(size))
      return emitError() << "feature axis " << i << " must be static";
  if (!elementType.isF32() && !elementType.isF64() && !isStorageOnly(elementType))
    return emitError() << "expected f32, f64, bf16 or f16 elements, found " << elementType;
  return success();
}

bool mpdfg::isValueType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = getComputedType(tensor.getElementType());
  if (!element.isF32() && !element.isF64())
    return false;
  // The residency has checked its own tensor.
  return tensor.getEncoding() ? isa<OnAttr>(tensor.getEncoding()) : tensor.hasStaticShape();
}

FlatSymbolRefAttr mpdfg::getResidency(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto on = tensor ? dyn_cast_or_null<OnAttr>(tensor.getEncoding()) : OnAttr();
  return on ? on.getSpace() : FlatSymbolRefAttr();
}

ArrayRef<int64_t> mpdfg::getFeatureShape(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return getResidency(type) ? shape.drop_front() : shape;
}

int64_t mpdfg::getFeatureElements(Type type) { return RefTensor::product(getFeatureShape(type)); }

RankedTensorType mpdfg::getTensorOn(FlatSymbolRefAttr space, int64_t extent, ArrayRef<int64_t> features, Type element) {
  if (!space)
    return RankedTensorType::get(features, element);
  SmallVector<int64_t> shape{extent};
  llvm::append_range(shape, features);
  return RankedTensorType::get(shape, element, OnAttr::get(space.getContext(), space));
}

Value mpdfg::skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

BroadcastOp mpdfg::getMove(Value value) {
  auto move = value.getDefiningOp<BroadcastOp>();
  return move && move.getAlong() != kAllMap ? move : BroadcastOp();
}

bool mpdfg::isView(Operation *op) {
  if (isa_and_nonnull<ReshapeOp>(op))
    return isa_and_nonnull<FunctionOpInterface>(op->getParentOp()) && !getResidency(op->getResult(0).getType()) &&
           getFeatureElements(op->getResult(0).getType()) > kLargeShared;
  return isa_and_nonnull<SpreadOp, CollectOp, AwaitOp>(op);
}

Value mpdfg::getViewed(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool mpdfg::isStorageOnly(Type element) { return element.isBF16() || element.isF16(); }

Type mpdfg::getComputedType(Type element) {
  return isStorageOnly(element) ? Type(Float32Type::get(element.getContext())) : element;
}

RankedTensorType mpdfg::getElementType(Type type) {
  return RankedTensorType::get(getFeatureShape(type), getComputedType(cast<RankedTensorType>(type).getElementType()));
}
