//===- LaneLayout.h - Which lane holds which feature ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_LANELAYOUT_H
#define GNNC_LIB_TARGET_CUDA_LANELAYOUT_H

#include "Body/BodyAxes.h"

namespace gnnc::cuda {

/// How the groups of a sweep's kernel are made.
struct LaneLayout {
  int64_t lanes = 1;  ///< of a group
  int64_t tiles = 1;  ///< blocks that share an owner's features
  int64_t flight = 1; ///< members loaded before the first is used
  int64_t threads = 128;
  int64_t walkNumbers = 0; ///< numbers that a lane holds throughout a walk, addresses aside
  bool fewer = false;      ///< a row has fewer lanes than accesses, so that fewer are idle
  int vectorAtom = -1;     ///< the atom whose neighbours in memory are one access; -1: none
};

/// The axes of a sweep's body, each atom of which is cut, and how many lanes and registers that takes.
struct BodyLayout {
  BodyAxes axes;
  LaneLayout lanes;
};
BodyLayout layOut(mpk::SweepOp sweep, const SweepPlan &plan);

/// Numbers of a value in one lane.
int64_t heldBy(const AxisList &value, const BodyAxes &axes);
/// A shared operand of which a lane would hold so many numbers that it is read from memory where it is used.
bool isReadWhereUsed(mpk::SweepOp sweep, mlir::Value value, const BodyAxes &axes);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_LANELAYOUT_H
