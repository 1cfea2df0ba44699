//===- Package.h - Kernels, runtime and tables become model.so --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_PACKAGE_PACKAGE_H
#define GNNC_TARGET_PACKAGE_PACKAGE_H

#include "gnnc/Target/CPU/CPUBackend.h"
#include "gnnc/Target/CUDA/DeviceStep.h"
#include "gnnc/Target/CUDA/NVRTC.h"
#include "gnnc/Target/Kernel.h"
#include "gnnc/Target/Package/EmbeddedTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc {

/// An alternative is taken where it costs less than so many hundredths of what the function costs that it stands in
/// for: formulas are not that exact.
inline constexpr int64_t kAlternativePercent = 90;

/// The table the runtime reads (include/gnnc/ModelFormat/ModelTable.h): words, and the names they point to.
struct ModelTable {
  std::vector<int64_t> words;
  std::string names;
  std::string values; ///< gnnc_model_values
};

/// What a model holds for GPUs: nothing, or a step for each kernel and the code of all.
struct DeviceCode {
  std::vector<cuda::DeviceStep> steps;
  std::vector<cuda::Image> images;      ///< of each kind as many as there are parts, in order
  std::vector<cuda::Image> preparation; ///< of cuda::preparationSource()
};

/// An error if one of `tensors` is no parameter or state of the module, is there twice, has another type or shape, or
/// if its shape depends on a graph; or if all take more than 1 GiB, so that code reaches what lies behind them.
llvm::Error checkEmbedded(mlir::ModuleOp module, llvm::ArrayRef<EmbeddedTensor> tensors);

/// Writes the table of a module past plan-memory, whose kernels are `kernels` in order. `embedded` has been checked.
ModelTable buildTable(mlir::ModuleOp module, llvm::ArrayRef<EmittedKernel> kernels, size_t numVariants,
                      const DeviceCode &device, llvm::ArrayRef<EmbeddedTensor> embedded = {});

/// The kernels of a module by name and place, without code: for a model that has none for CPUs.
llvm::SmallVector<EmittedKernel> nameKernels(mlir::ModuleOp module);

/// The model's description of itself, as the ABI's `describe` returns it. `device`: where there are steps for GPUs,
/// kernels are said to have so many launches there.
std::string describeModel(mlir::ModuleOp module, llvm::ArrayRef<EmittedKernel> kernels, const DeviceCode &device = {},
                          llvm::ArrayRef<EmbeddedTensor> embedded = {});

/// An object with the table, the description, embedded values, and pointers to the kernels of each level.
llvm::Expected<std::string> buildDataObject(mlir::ModuleOp module, llvm::ArrayRef<EmittedKernel> kernels,
                                            cpu::Architecture architecture, llvm::ArrayRef<int> levels,
                                            const DeviceCode &device, llvm::ArrayRef<EmbeddedTensor> embedded = {});

/// Links objects, in process: with `shared` and the runtime into a shared object that exports gnnc_model alone, else
/// into one relocatable object. The shared object needs glibc 2.17 or later, and nothing else. An error if this
/// compiler was built without the runtime of another architecture than its own.
llvm::Expected<std::string> linkObjects(llvm::ArrayRef<std::string> objects, bool shared,
                                        cpu::Architecture architecture = cpu::hostArchitecture());

} // namespace gnnc

#endif // GNNC_TARGET_PACKAGE_PACKAGE_H
