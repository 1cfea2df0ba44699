//===- SharedKernels.h - Kernels that are written once ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model's programs have kernels in common (evaluation repeats the forward pass, an optimiser does the same with each
// parameter of a shape). A kernel's code depends on its operation alone, and its buffers come with each call, so
// operations that are equal but for their operands share one function, where rounding is fixed in both or in neither.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CPU_SHAREDKERNELS_H
#define GNNC_TARGET_CPU_SHAREDKERNELS_H

#include "gnnc/Target/Kernel.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace gnnc::cpu {

class SharedKernels {
public:
  /// The function of an equal kernel, with this one's buffers; nothing where there is none.
  std::optional<EmittedKernel> find(mlir::Operation *op, bool fixedRounding) const;
  void add(mlir::Operation *op, bool fixedRounding, const EmittedKernel &kernel);

private:
  struct Entry {
    mlir::Operation *op;
    bool fixedRounding;
    EmittedKernel kernel;
  };
  llvm::DenseMap<size_t, llvm::SmallVector<Entry, 0>> kernels; ///< by hash
};

} // namespace gnnc::cpu

#endif // GNNC_TARGET_CPU_SHAREDKERNELS_H
