//===- JoinedPrinter.h - Small sweeps as one CUDA kernel --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_JOINEDPRINTER_H
#define GNNC_LIB_TARGET_CUDA_JOINEDPRINTER_H

#include "KernelTexts.h"
#include "gnnc/Target/CUDA/DeviceStep.h"

#include <vector>

namespace gnnc::cuda {

/// Prints sweeps that may run at the same time (mpk.launch) as parts of as few kernels as arguments and threads allow.
/// One step for each sweep, of which those that are part of another's kernel launch nothing.
mlir::FailureOr<std::vector<DeviceStep>> printJoined(llvm::ArrayRef<mlir::Operation *> sweeps,
                                                     llvm::ArrayRef<std::string> names, KernelTexts &texts);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_JOINEDPRINTER_H
