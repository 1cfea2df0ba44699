//===- SweepPrinter.h - A sweep as a CUDA kernel ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_SWEEPPRINTER_H
#define GNNC_LIB_TARGET_CUDA_SWEEPPRINTER_H

#include "Body/BodyPrinter.h"
#include "gnnc/Target/CUDA/DeviceStep.h"

namespace gnnc::cuda {

/// Prints a sweep's body and kernels (Kernels/Sweep.cuh says what they are made of) and returns how to launch them.
/// `isPart`: of a sweep without members and totals the body alone, which is a part of another kernel.
mlir::FailureOr<DeviceStep> printSweep(mpk::SweepOp sweep, llvm::StringRef name, bool isPart, CodeWriter &out);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_SWEEPPRINTER_H
