//===- HostTensor.h - Tensors that the host owns ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors that the host library owns: converted inputs, parameters, outputs. They are passed to a model as the plain
// structs of the C interface, which point into them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_HOSTTENSOR_H
#define GNNC_HOST_HOSTTENSOR_H

#include "gnnc-c/gnnc.h"
#include "gnnc/Support/Safetensors.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace gnnc {

/// A dense row-major tensor in its own 64-byte aligned memory. Moving the object does not move its data and shape.
class HostTensor {
public:
  /// A tensor of zeros; an error if `shape` does not fit in memory.
  static llvm::Expected<HostTensor> create(llvm::StringRef name, ElementType type, llvm::ArrayRef<int64_t> shape);
  /// A copy of a file's tensor as `type`, which must be a floating-point type; an error if a finite number does not fit
  /// in it.
  static llvm::Expected<HostTensor> convert(const FileTensor &tensor, ElementType type);

  const std::string &name() const { return tensorName; }
  void setName(llvm::StringRef name) { tensorName = name.str(); }
  ElementType type() const { return elementType; }
  llvm::ArrayRef<int64_t> shape() const { return sizes; }
  /// Changes the shape; the number of elements must be the same.
  void setShape(llvm::ArrayRef<int64_t> shape);
  int64_t elements() const { return count; }
  size_t bytes() const { return size_t(count * elementBytes(elementType)); }
  void *data() const { return memory.get(); }
  template <typename T> llvm::MutableArrayRef<T> as() const {
    return llvm::MutableArrayRef<T>(static_cast<T *>(memory.get()), static_cast<size_t>(count));
  }
  /// Element `i`, in row-major order, of a floating-point tensor.
  double at(int64_t i) const;
  void set(int64_t i, double value) const;

  /// This tensor and its name for the C interface. Points into the tensor: valid while it lives and keeps its shape.
  gnnc_binding binding() const;

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  std::string tensorName;
  ElementType elementType = ElementType::F32;
  std::vector<int64_t> sizes;
  int64_t count = 0;
  std::unique_ptr<void, Free> memory;
};

/// A file's tensor, in place, for the C interface.
gnnc_tensor viewOf(const FileTensor &tensor);

} // namespace gnnc

#endif // GNNC_HOST_HOSTTENSOR_H
