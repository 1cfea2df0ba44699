//===- SharedNumbers.h - Shared values, number by number --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed of shared values alone (slices of weights, weights transposed for gradients, joined gradients of
// slices, products of weights) has one row. Each number of a result has a thread, so that the whole device is at work
// and no lane holds a row.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_SWEEP_SHAREDNUMBERS_H
#define GNNC_LIB_TARGET_CUDA_SWEEP_SHAREDNUMBERS_H

#include "Sweep/SweepPrinter.h"

#include <optional>

namespace gnnc::cuda {

/// Prints such a sweep; nothing if it is none, if too much would be computed again for each number, or if its text
/// would be too long. `isPart`: as of printSweep.
std::optional<DeviceStep> printSharedNumbers(mpk::SweepOp sweep, llvm::StringRef name, bool isPart, CodeWriter &out);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_SWEEP_SHAREDNUMBERS_H
