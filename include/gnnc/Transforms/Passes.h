//===- Passes.h - Passes on mpdfg and mpk -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_H
#define GNNC_TRANSFORMS_PASSES_H

#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Support/Half.h"
#include "mlir/Pass/Pass.h"

namespace gnnc {

/// Which forward values the backward half finds in memory; see the save-values pass.
enum class SaveMode { None, Auto, All };

/// Which of two spaces is taken for the smaller where only the graph can tell: where rows come from, or where they are
/// summed. A model is compiled for each assumption; see lib/Pipelines/Alternatives.h.
enum class Extents { Unknown, FewSources, FewOwners };

/// Statements that the body of a sweep may have, about, unless a compilation says otherwise. LLVM and NVRTC take a few
/// tenths of a second for so many, and more than twice that for twice as many; layers have a tenth of it.
inline constexpr int64_t kMostStatements = 4000;

/// What one byte less between ranks is worth: about as many operations of products as GPUs of one machine do while it
/// comes, where a gradient takes three times the operations and twice the bytes.
inline constexpr int64_t kOperationsPerExchangedByte = 256;

/// What one byte less between a rank and its memory is worth, on GPUs and CPUs alike.
inline constexpr int64_t kOperationsPerMemoryByte = 16;
/// How many owners a part has for each element of its halo, where nothing is known of a graph: communities.
inline constexpr int64_t kOwnersPerHaloElement = 8;

/// Parts that a row of a sweep's body may be joined of, joins of joins included: each is read and written by itself.
inline constexpr int64_t kMostParts = 64;

#define GEN_PASS_DECL
#include "gnnc/Transforms/Passes.h.inc"

} // namespace gnnc

#endif // GNNC_TRANSFORMS_PASSES_H
