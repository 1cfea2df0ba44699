//===- HostTensor.cpp - Tensors that the host owns ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/HostTensor.h"
#include "gnnc/Support/Half.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
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

namespace {

/// Numbers of 16 bits in memory, which convert as arithmetic types do.
struct BF16 {
  uint16_t bits;
  explicit BF16(double x) : bits(encodeBF16(float(x))) {}
  explicit operator double() const { return decodeBF16(bits); }
};
struct F16 {
  uint16_t bits;
  explicit F16(double x) : bits(encodeF16(float(x))) {}
  explicit operator double() const { return decodeF16(bits); }
};

} // namespace

/// Calls `body` with a null pointer to the C++ type of a floating-point type.
template <typename Body> static auto withFloat(ElementType type, Body body) {
  switch (type) {
  case ElementType::F64:
    return body(static_cast<double *>(nullptr));
  case ElementType::BF16:
    return body(static_cast<BF16 *>(nullptr));
  case ElementType::F16:
    return body(static_cast<F16 *>(nullptr));
  default:
    assert(type == ElementType::F32 && "expected a floating-point type");
    return body(static_cast<float *>(nullptr));
  }
}

/// A finite number that became infinite; nothing if none did.
template <typename From, typename To>
static std::optional<double> convertElements(const FileTensor &from, const HostTensor &to) {
  const auto *source = static_cast<const From *>(from.data);
  auto *target = static_cast<To *>(to.data());
  std::optional<double> lost;
  for (int64_t i = 0; i < from.elements; ++i) {
    double value = double(source[i]);
    target[i] = To(value);
    if (!std::isfinite(double(target[i])) && std::isfinite(value))
      lost = value;
  }
  return lost;
}

template <typename To> static std::optional<double> convertTo(const FileTensor &from, const HostTensor &to) {
  switch (*from.type) {
  case ElementType::I32:
    return convertElements<int32_t, To>(from, to);
  case ElementType::I64:
    return convertElements<int64_t, To>(from, to);
  default:
    return withFloat(*from.type, [&](auto *source) {
      return convertElements<std::remove_pointer_t<decltype(source)>, To>(from, to);
    });
  }
}

llvm::Expected<HostTensor> HostTensor::convert(const FileTensor &tensor, ElementType type) {
  assert(tensor.type && isFloat(type) && "converts known types to floating-point ones");
  llvm::Expected<HostTensor> result = create(tensor.name, type, tensor.shape);
  if (!result)
    return result.takeError();
  std::optional<double> lost = withFloat(
      type, [&](auto *target) { return convertTo<std::remove_pointer_t<decltype(target)>>(tensor, *result); });
  if (lost)
    return llvm::createStringError(
        llvm::formatv("tensor '{0}': {1} does not fit in {2}", tensor.name, *lost, elementTypeName(type)).str());
  return result;
}

void HostTensor::setShape(llvm::ArrayRef<int64_t> shape) {
  assert(countElements(shape) == count && "another shape has as many elements");
  sizes = shape.vec();
}

double HostTensor::at(int64_t i) const {
  assert(isFloat(elementType) && i >= 0 && i < count);
  return withFloat(elementType, [&](auto *type) { return double(static_cast<decltype(type)>(memory.get())[i]); });
}

void HostTensor::set(int64_t i, double value) const {
  assert(isFloat(elementType) && i >= 0 && i < count);
  withFloat(elementType, [&](auto *type) {
    static_cast<decltype(type)>(memory.get())[i] = std::remove_pointer_t<decltype(type)>(value);
  });
}

static gnnc_tensor makeView(void *data, ElementType type, llvm::ArrayRef<int64_t> shape) {
  gnnc_tensor view = {};
  view.data = data;
  view.device_type = 1;
  view.ndim = int32_t(shape.size());
  view.dtype_code = type == ElementType::BF16 ? 4 : isFloat(type) ? 2 : 0;
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
