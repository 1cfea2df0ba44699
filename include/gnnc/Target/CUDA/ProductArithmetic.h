//===- ProductArithmetic.h - What GPUs multiply with ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CUDA_PRODUCTARITHMETIC_H
#define GNNC_TARGET_CUDA_PRODUCTARITHMETIC_H

namespace gnnc::cuda {

/// What float32 products are computed with. Double precision is always computed with its own.
enum class ProductArithmetic {
  FMA,    ///< fused multiply-adds of ordinary units
  TF32x3, ///< three TF32 products on tensor cores: float32 to the last bit or two, about twice as fast
  TF32,   ///< one TF32 product: factors have 11 bits
};

} // namespace gnnc::cuda

#endif // GNNC_TARGET_CUDA_PRODUCTARITHMETIC_H
