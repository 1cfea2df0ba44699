//===- Capabilities.h - What targets can do ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that phases before code generation know of the targets they work for.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CAPABILITIES_H
#define GNNC_TARGET_CAPABILITIES_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace gnnc {

/// What all targets of a compilation can do. The default is a CPU's.
struct TargetCapabilities {
  /// A few threads share a row of a product, so its epilogue has to be what they can make of it (mpk::whyNotSpread).
  bool spreadEpilogues = false;
  /// A tile's rows are kept in a block's shared memory, which bounds what products in tiles can be.
  bool tilesInBlocks = false;
  /// Starting a kernel takes longer than a small one works, so small ones share launches.
  bool joinLaunches = false;
  /// Memory is fetched in pieces that are longer than narrow rows, and a row's slices are read where they lie.
  bool packRows = false;
  /// Whether there are kernels for all sweeps with products in tiles of a module past fusion: what fits a block is only
  /// known of whole sweeps. Empty: there always are.
  std::function<bool(mlir::ModuleOp)> hasTileKernels;
  /// How long the longest kernel of a module past fusion is as it is generated, beside the estimate of its statements
  /// (statementsOf) that fusion goes by. Empty: it is not counted.
  std::function<int64_t(mlir::ModuleOp)> lengthOfLongestKernel;
};

} // namespace gnnc

#endif // GNNC_TARGET_CAPABILITIES_H
