//===- CPUBackend.h - Kernels to machine code -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CPU_CPUBACKEND_H
#define GNNC_TARGET_CPU_CPUBACKEND_H

#include "gnnc/Support/Timings.h"
#include "gnnc/Target/CPU/Processor.h"
#include "gnnc/Target/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc::cpu {

/// The code of all kernels of a module for one level of an architecture.
struct CPUCode {
  int level = 0;
  llvm::SmallVector<EmittedKernel> kernels; ///< in order; the same for every level
  std::vector<std::string> objects;         ///< relocatable ELF objects that together define each kernel's function
  std::string text;                         ///< LLVM IR after optimisation, if asked for
};

struct CodeOptions {
  bool wantText = false; ///< fill in CPUCode::text
  bool optimise = true;  ///< false: without LLVM's optimiser, and with simpler code generation
  /// Receives a step for each function and level. May be null.
  Timings *timings = nullptr;
};

/// Generates code for all kernels, several at once; objects are cached by content (ContentCache). Errors are reported
/// as diagnostics of the module's context. Functions are named <kernel>_v<level>. `module` must be past plan-memory.
llvm::Expected<std::vector<CPUCode>> generateCode(mlir::ModuleOp module, Architecture architecture,
                                                  llvm::ArrayRef<int> levels, const CodeOptions &options = {});

/// How long the longest kernel of a module past fusion is: TargetCapabilities::lengthOfLongestKernel.
int64_t lengthOfLongestKernel(mlir::ModuleOp module, Architecture architecture, llvm::ArrayRef<int> levels);

/// Symbol of a kernel's function.
std::string functionName(llvm::StringRef kernel, int level);

} // namespace gnnc::cpu

#endif // GNNC_TARGET_CPU_CPUBACKEND_H
