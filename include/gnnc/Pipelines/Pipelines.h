//===- Pipelines.h - The phases of compilation ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_PIPELINES_PIPELINES_H
#define GNNC_PIPELINES_PIPELINES_H

#include "gnnc/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace gnnc {

/// What the phases depend on; an optimisation level alone will do.
struct PhaseOptions {
  PhaseOptions(unsigned optLevel = 2, bool gradient = false) : optLevel(optLevel), gradient(gradient) {}
  unsigned optLevel;
  bool gradient; ///< compute gradients too
  SaveMode save = SaveMode::Auto;
  /// Optimisations to leave out, by the names of their passes; see optionalPasses().
  std::vector<std::string> without;
  /// What to assume where only the graph can tell.
  Extents extents = Extents::Unknown;
  /// What rows of spaces are kept as in memory.
  Storage storage = Storage::AsComputed;
  /// Only what threads can make of a row that they share joins the product before it (mpk::whyNotSpread).
  bool spreadEpilogues = false;
  /// Products in tiles only as far as targets can do it that keep a tile's rows in a block's shared memory.
  bool tilesInBlocks = false;
  /// Small kernels share launches: for targets where starting one takes longer than it works.
  bool joinLaunches = false;
};

/// The passes without which programs mean the same, by name: those that PhaseOptions::without may list.
llvm::ArrayRef<llvm::StringRef> optionalPasses();

/// A phase that is a pipeline of passes on the module.
struct PassPhase {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  void (*populate)(mlir::OpPassManager &pm, const PhaseOptions &options);
};

/// The phases between import and code generation, in order. Help texts, --compile-to and the driver read this list.
llvm::ArrayRef<PassPhase> passPhases();

/// Registers gnnc's passes and dialect pipelines with the command-line parser of gnnc-opt.
void registerPasses();

} // namespace gnnc

#endif // GNNC_PIPELINES_PIPELINES_H
