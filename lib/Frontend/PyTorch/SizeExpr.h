//===- SizeExpr.h - Sizes as sympy writes them ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that depend on symbols are written as sympy's `srepr`: `Add(Symbol('s77', positive=True, integer=True),
// Integer(1))`. Sums, and products with a number, are linear. Other functions of integers (`Mod`, `FloorDiv`, `Max`, …)
// and products of sizes are symbols in sums of their own; of what is left only the text is kept.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_SIZEEXPR_H
#define GNNC_LIB_FRONTEND_PYTORCH_SIZEEXPR_H

#include "PyTorch/ExportedProgram.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace gnnc::frontend::pytorch {

/// The size that `text` describes. The error says what was expected and found at which byte, but not where the text is
/// from. Texts of more than 64 KiB or 64 levels, numbers of more than 64 bits, and names of more than 128 bytes are
/// refused.
llvm::Expected<Size> readSizeExpr(llvm::StringRef text);

/// A number as a size.
Size literalSize(int64_t number);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_SIZEEXPR_H
