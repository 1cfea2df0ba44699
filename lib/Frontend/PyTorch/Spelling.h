//===- Spelling.h - Operators with several names ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_SPELLING_H
#define GNNC_LIB_FRONTEND_PYTORCH_SPELLING_H

#include "llvm/ADT/StringRef.h"

namespace gnnc::frontend::pytorch {

/// PyTorch has many operators twice, as `absolute` and `abs`: the name that the importer knows such an operator by. It
/// is `op` itself where there is no other.
llvm::StringRef spelled(llvm::StringRef op);

/// Why an operator has no meaning, and what to do instead; empty where there is nothing more to say.
llvm::StringRef reasonAgainst(llvm::StringRef op);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_SPELLING_H
