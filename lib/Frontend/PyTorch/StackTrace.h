//===- StackTrace.h - Where a node comes from -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notes that torch keeps beside a node, as texts that nobody promised a form of: what cannot be read is left out.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_STACKTRACE_H
#define GNNC_LIB_FRONTEND_PYTORCH_STACKTRACE_H

#include "PyTorch/ExportedProgram.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <vector>

namespace gnnc::frontend::pytorch {

/// The user's own line in a stack trace of Python: the innermost frame that is neither torch's, nor PyTorch
/// Geometric's, nor of another installed package; if there is none, the innermost that is at least not torch's.
std::optional<SourceFrame> readStackTrace(llvm::StringRef trace);

/// The instances of `key,path,class;key,path,class`, from the outermost. The model itself has an empty path.
std::vector<ModuleFrame> readModuleStack(llvm::StringRef stack);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_STACKTRACE_H
