//===- Passes.h - Passes on mpdfg and mpk -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_H
#define GNNC_TRANSFORMS_PASSES_H

#include "dialects/mpk/IR/MPK.h"
#include "mlir/Pass/Pass.h"

namespace gnnc {

/// Which forward values the backward half finds in memory; see the save-values pass.
enum class SaveMode { None, Auto, All };

#define GEN_PASS_DECL
#include "gnnc/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "gnnc/Transforms/Passes.h.inc"

/// On the kernels of `@forward`: the arena slot of each result, -1 for outputs.
inline constexpr llvm::StringLiteral kSlotsAttr = "mpk.slots";

} // namespace gnnc

#endif // GNNC_TRANSFORMS_PASSES_H
