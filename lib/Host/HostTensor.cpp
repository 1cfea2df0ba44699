//===- HostTensor.cpp - Tensors that the host owns ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/HostTensor.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace gnnc;

llvm::Expected<HostTensor> HostTensor::create(llvm::StringRef name, ElementType type, llvm::ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = countElements(shape);
  std::optional<int64_t> bytes = count ? llvm::checkedMul(*count, elementBytes(type)) : std::nullopt;
  // aligned_alloc wants a multiple of the alignment, and an empty tensor still gets a pointer that is not null.
  bool fits = bytes && *bytes <= INT64_MAX - 64;
  size_t capacity = fits ? llvm::alignTo(std::max<uint64_t>(uint64_t(*bytes), 1), 64) : 0;
  HostTensor tensor;
  if (fits)
    tensor.memory.reset(std::aligned_alloc(64, capacity));
  if (!tensor.memory)
    return llvm::createStringError("tensor '" + name + "' of shape " + formatShape(shape) + " does not fit in memory");
  std::memset(tensor.memory.get(), 0, capacity);
  tensor.tensorName = name.str();
  tensor.elementType = type;
  tensor.sizes = shape.vec();
  tensor.count = *count;
  return std::move(tensor);
}

template <typename From, typename To> static void convertElements(const FileTensor &from, const HostTensor &to) {
  std::copy_n(static_cast<const From *>(from.data), from.elements, static_cast<To *>(to.data()));
}

template <typename To> static void convertTo(const FileTensor &from, const HostTensor &to) {
  switch (*from.type) {
  case ElementType::F32:
    return convertElements<float, To>(from, to);
  case ElementType::F64:
    return convertElements<double, To>(from, to);
  case ElementType::I32:
    return convertElements<int32_t, To>(from, to);
  case ElementType::I64:
    return convertElements<int64_t, To>(from, to);
  }
}

llvm::Expected<HostTensor> HostTensor::convert(const FileTensor &tensor, ElementType type) {
  assert(tensor.type && isFloat(type) && "converts known types to floating-point ones");
  llvm::Expected<HostTensor> result = create(tensor.name, type, tensor.shape);
  if (!result)
    return result.takeError();
  if (type == ElementType::F32)
    convertTo<float>(tensor, *result);
  else
    convertTo<double>(tensor, *result);
  return result;
}

void HostTensor::setShape(llvm::ArrayRef<int64_t> shape) {
  assert(countElements(shape) == count && "another shape has as many elements");
  sizes = shape.vec();
}

double HostTensor::at(int64_t i) const {
  assert(isFloat(elementType) && i >= 0 && i < count);
  return elementType == ElementType::F32 ? double(as<float>()[i]) : as<double>()[i];
}

void HostTensor::set(int64_t i, double value) const {
  assert(isFloat(elementType) && i >= 0 && i < count);
  if (elementType == ElementType::F32)
    as<float>()[i] = float(value);
  else
    as<double>()[i] = value;
}

static gnnc_tensor makeView(void *data, ElementType type, llvm::ArrayRef<int64_t> shape) {
  gnnc_tensor view = {};
  view.data = data;
  view.device_type = 1;
  view.ndim = int32_t(shape.size());
  view.dtype_code = isFloat(type) ? 2 : 0;
  view.dtype_bits = uint8_t(8 * elementBytes(type));
  view.dtype_lanes = 1;
  view.shape = shape.data();
  return view;
}

gnnc_binding HostTensor::binding() const { return {tensorName.c_str(), makeView(memory.get(), elementType, sizes)}; }

// Inputs are only read; the C struct serves outputs too and so has no const.
gnnc_tensor gnnc::viewOf(const FileTensor &tensor) {
  return makeView(const_cast<void *>(tensor.data), *tensor.type, tensor.shape);
}
