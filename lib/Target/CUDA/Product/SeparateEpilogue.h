//===- SeparateEpilogue.h - A product, then a sweep over rows ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_SEPARATEEPILOGUE_H
#define GNNC_LIB_TARGET_CUDA_SEPARATEEPILOGUE_H

#include "Body/BodyPrinter.h"
#include "gnnc/Target/CUDA/CUDABackend.h"

namespace gnnc::cuda {

/// Whether a product has no epilogue, or one that Kernels/Product.cuh can do: mpk::whyNotSpread.
bool spreadsEpilogue(mpk::ProductOp product);
/// Prints a product whose epilogue needs its whole row: the product, and a sweep over its rows, as launches of one
/// step. Rows that are no result of the product lie in scratch memory between them.
mlir::FailureOr<DeviceStep> printWithRows(mpk::ProductOp product, llvm::StringRef name, const PrintOptions &options,
                                          CodeWriter &out);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_SEPARATEEPILOGUE_H
