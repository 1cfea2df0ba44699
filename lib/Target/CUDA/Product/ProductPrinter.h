//===- ProductPrinter.h - Matrix products as CUDA kernels -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_PRODUCTPRINTER_H
#define GNNC_LIB_TARGET_CUDA_PRODUCTPRINTER_H

#include "Body/BodyPrinter.h"
#include "gnnc/Target/CUDA/CUDABackend.h"

namespace gnnc::cuda {

DeviceStep printProduct(mpk::ProductOp product, llvm::StringRef name, const PrintOptions &options, CodeWriter &out);
DeviceStep printOuterSum(mpk::OuterSumOp sum, llvm::StringRef name, const PrintOptions &options, CodeWriter &out);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_PRODUCTPRINTER_H
