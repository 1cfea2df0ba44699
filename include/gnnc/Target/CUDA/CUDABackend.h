//===- CUDABackend.h - Kernels to CUDA C++ and machine code -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CUDA_CUDABACKEND_H
#define GNNC_TARGET_CUDA_CUDABACKEND_H

#include "gnnc/Target/CUDA/DeviceStep.h"
#include "gnnc/Target/CUDA/ProductArithmetic.h"
#include "gnnc/Target/Capabilities.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc::cuda {

/// The kernels of a module, and how to launch them: one step for each kernel of the program, in order.
struct CUDASource {
  std::string text; ///< one translation unit, which includes the templates of lib/Target/CUDA/Kernels by name
  /// The same as several translation units, to compile at the same time. They depend on the module alone.
  std::vector<std::string> parts;
  std::vector<DeviceStep> steps;
};

struct PrintOptions {
  ProductArithmetic products = ProductArithmetic::TF32x3;
  int leastArchitecture = 80; ///< of those the text is compiled for; before 80 there is no TF32
  /// Whether there is machine code for sm_90, whose kernels may be others.
  bool hasWarpgroups = false;
  /// Bytes of shared memory that a block can have on all GPUs it is for. What can do with less takes no more.
  int64_t sharedBytes = 99 << 10;

  /// For GPUs of these architectures (90 is sm_90), and those that run their machine code.
  static PrintOptions forArchitectures(ProductArithmetic products, llvm::ArrayRef<int> architectures);
};

/// Prints all kernels of a module past plan-memory. What is wrong with it goes to its context's diagnostics.
llvm::Expected<CUDASource> printModule(mlir::ModuleOp module, const PrintOptions &options);

/// Whether all sweeps with products in tiles (mpk.tile) have kernels that make tiles; where one has not, a module
/// without tiles is better.
bool hasTileKernels(mlir::ModuleOp module, const PrintOptions &options);

/// How long the longest kernel of a module past fusion is: TargetCapabilities::lengthOfLongestKernel.
int64_t lengthOfLongestKernel(mlir::ModuleOp module, const PrintOptions &options);

/// What phases before code generation may count on.
TargetCapabilities capabilities(const PrintOptions &options);

/// The kernels that prepare graphs: the same for all models.
llvm::StringRef preparationSource();

/// A file the printed text includes.
struct KernelHeader {
  const char *name;
  llvm::StringRef text;
};
llvm::ArrayRef<KernelHeader> kernelHeaders();

} // namespace gnnc::cuda

#endif // GNNC_TARGET_CUDA_CUDABACKEND_H
