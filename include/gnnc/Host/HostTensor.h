//===- HostTensor.h - Tensors that the host owns ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host library computes for a model (converted inputs, parameters, outputs) lives in these. They turn into the
// plain structs of the C interface, which point into them.
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

/// A dense row-major tensor in 64-byte aligned memory of its own. Moving it leaves its data and shape where they are.
class HostTensor {
public:
  /// A tensor of zeros; an error where `shape` does not fit in memory.
  static llvm::Expected<HostTensor> create(llvm::StringRef name, ElementType type, llvm::ArrayRef<int64_t> shape);
  /// A copy of a file's tensor as `type`, which must be a floating-point type; an error where a finite number does not
  /// fit in it.
  static llvm::Expected<HostTensor> convert(const FileTensor &tensor, ElementType type);

  const std::string &name() const { return tensorName; }
  void setName(llvm::StringRef name) { tensorName = name.str(); }
  ElementType type() const { return elementType; }
  llvm::ArrayRef<int64_t> shape() const { return sizes; }
  /// Gives the same elements another shape with as many.
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

  /// This tensor under its name. Points into it: valid while it lives and keeps its shape.
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

/// A file's tensor in place, as the C interface wants it.
gnnc_tensor viewOf(const FileTensor &tensor);

} // namespace gnnc

#endif // GNNC_HOST_HOSTTENSOR_H
