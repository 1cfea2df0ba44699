//===- Kernels.h - The meaning of mpk -----------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_REFERENCE_KERNELS_H
#define GNNC_REFERENCE_KERNELS_H

#include "dialects/mpk/IR/MPK.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace gnnc::reference {

/// Values of a sweep's results, in order. `operands` are whole tensors.
llvm::Expected<std::vector<RefTensor>> evaluateSweep(mpk::SweepOp sweep, llvm::ArrayRef<const RefTensor *> operands,
                                                     const GraphData &graph);

llvm::Expected<std::vector<RefTensor>>
evaluateProduct(mpk::ProductOp product, llvm::ArrayRef<const RefTensor *> operands, const GraphData &graph);

RefTensor evaluateOuterSum(mpk::OuterSumOp sum, const RefTensor &lhs, const RefTensor &rhs, const GraphData &graph);

/// Evaluates an operation through its interface; an operation without one is an error.
llvm::Expected<RefTensor> evaluateOperation(mlir::Operation *op, llvm::ArrayRef<const RefTensor *> operands,
                                            const GraphData &graph);

/// An error with a message as this library writes them.
template <typename... Ts> llvm::Error makeError(const char *format, const Ts &...values) {
  return llvm::createStringError(llvm::formatv(format, values...).str());
}

} // namespace gnnc::reference

#endif // GNNC_REFERENCE_KERNELS_H
