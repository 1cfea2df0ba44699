//===- MergeEqual.h - Does equal operations once ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_MERGEEQUAL_H
#define GNNC_LIB_FRONTEND_PYTORCH_MERGEEQUAL_H

#include "PyTorch/Normalise.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gnnc::frontend::pytorch {

/// An argument with other names of values in it.
Argument renameValues(Argument argument, llvm::function_ref<std::string(const std::string &)> nameOf);

/// Keeps of equal nodes the first, but for those that draw random numbers. Sizes that only they tell apart become one.
void mergeEqual(NormalProgram &program);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_MERGEEQUAL_H
