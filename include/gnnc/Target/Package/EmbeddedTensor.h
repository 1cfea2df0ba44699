//===- EmbeddedTensor.h - Values inside an object ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_PACKAGE_EMBEDDEDTENSOR_H
#define GNNC_TARGET_PACKAGE_EMBEDDEDTENSOR_H

#include <cstdint>
#include <string>
#include <vector>

namespace gnnc {

/// What an object is to hold of a parameter or state; or integers that a graph's data are computed from.
struct EmbeddedTensor {
  std::string name;
  std::vector<int64_t> shape; ///< with the extent of its space, if it has one
  int bits = 32;              ///< 16, 32 or 64
  bool isBFloat = false;      ///< of 16 bits: bfloat instead of float
  std::string bytes;          ///< dense, row-major, little-endian
  bool isInteger = false;     ///< of 64 bits; by the name that sources have for it
};

} // namespace gnnc

#endif // GNNC_TARGET_PACKAGE_EMBEDDEDTENSOR_H
