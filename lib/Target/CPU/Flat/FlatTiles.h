//===- FlatTiles.h - How a sweep is cut to fit the registers ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two cuts, both along feature axes that no operation mixes. The outer one repeats the whole sweep for each tile, so
// the axis must be parallel everywhere. The inner one repeats one walk over an owner's members, so only what the
// members compute counts: heads that the owner lays side by side afterwards are cut here.
//
// What a tile does not divide is done again for each: scores and exponentials cost more than sums that wait in stack
// memory. So where that is much cheaper, in instructions for a member, the outer cut leaves tiles larger than the
// registers, and no inner cut is made. Tiles of axes that nothing brings together are nested, so that without this rule
// work would grow with their number's power.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_FLATTILES_H
#define GNNC_LIB_TARGET_CPU_FLATTILES_H

#include "KernelBuilder.h"
#include "gnnc/Analysis/SweepPlan.h"

namespace gnnc::cpu {

/// No value is a wider vector, in any tiles.
constexpr int64_t kWidestVector = 2048;

/// How many indices of each axis class one tile has.
struct Tiling {
  llvm::SmallVector<int64_t> tile;
  bool isNarrow = false; ///< whether every body value is a vector of sensible width in these tiles

  llvm::SmallVector<int64_t> shapeOf(mlir::Value value, const AxisClasses &axes) const;
};

/// The outer cut: whole sweeps on tiles of parallel axes.
Tiling chooseTiles(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target);

/// The inner cut: one class of the axes of a walk, in tiles of `size` indices; -1: the walk is not cut.
struct InnerCut {
  int cls = -1;
  int64_t extent = 0, size = 0;
};

using ShapeFn = llvm::function_ref<llvm::SmallVector<int64_t>(mlir::Value)>;

/// What members compute in one walk, with the axes that it is about.
struct WalkOperations {
  llvm::SmallVector<mlir::Operation *> operations;
  AxisClasses axes;
};
WalkOperations findWalk(mpk::SweepOp sweep, const SweepPlan &plan, unsigned walk);

/// Cuts a walk whose values do not fit the registers, if it has an axis for that.
InnerCut chooseInnerCut(const WalkOperations &walk, const SweepPlan &plan, const Processor &target, int64_t lanes,
                        ShapeFn shapeOf);

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_FLATTILES_H
