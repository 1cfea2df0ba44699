//===- Kernels.h - What each kernel reads, fuses and writes -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_REPORT_KERNELS_H
#define GNNC_LIB_REPORT_KERNELS_H

#include "Drawing.h"
#include "gnnc/Host/ModelInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gnnc {

/// A card for each kernel of a function past plan-memory; `kernels` describes them, in order.
std::string listKernels(mlir::func::FuncOp function, llvm::ArrayRef<KernelInfo> kernels, ColourOf colour);

} // namespace gnnc

#endif // GNNC_LIB_REPORT_KERNELS_H
