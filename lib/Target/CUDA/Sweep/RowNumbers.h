//===- RowNumbers.h - Rows without members, number by number ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep over rows that only has elementwise operations, slices and joins can be computed number by number
// (Kernels/RowNumbers.cuh).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_SWEEP_ROWNUMBERS_H
#define GNNC_LIB_TARGET_CUDA_SWEEP_ROWNUMBERS_H

#include "Sweep/SweepPrinter.h"

#include <optional>

namespace gnnc::cuda {

/// Prints such a sweep; nothing if it is none, or if its text would be too long.
std::optional<DeviceStep> printRowNumbers(mpk::SweepOp sweep, llvm::StringRef name, CodeWriter &out);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_SWEEP_ROWNUMBERS_H
