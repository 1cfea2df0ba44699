//===- OuterSumTile.h - A block's part of an outer sum ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_OUTERSUMTILE_H
#define GNNC_LIB_TARGET_CUDA_OUTERSUMTILE_H

#include <cstdint>

namespace gnnc::cuda {

/// Rows and columns of a block's tile of a matrix of k by n numbers, and of a warp's part of it.
struct OuterSumTile {
  int64_t rows = 0, columns = 0, height = 0, width = 0;
};
/// For tensor cores (Kernels/TensorProduct.cuh), with a stage of `depth` rows of both operands.
OuterSumTile tileOuterSum(int64_t k, int64_t n, int64_t depth, int64_t stages);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_OUTERSUMTILE_H
