//===- SweepBody.h - What happens where in a sweep's kernel -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels/Sweep.cuh calls a body's functions in a fixed order: constructor, begin, for each walk (load, score, raise,
// add, after), store. This decides which operation goes into which function: a value of the owner as late as its users
// allow, so that it does not occupy registers during a walk that does not need it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_SWEEPBODY_H
#define GNNC_LIB_TARGET_CUDA_SWEEPBODY_H

#include "gnnc/Analysis/SweepPlan.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

namespace gnnc::cuda {

/// A running maximum and sum of exponentials: of a softmax, or of statistics that no softmax finds.
struct Statistic {
  mlir::Value score;
  int softmax = -1;                   ///< index into SweepPlan::softmaxes, or -1
  llvm::SmallVector<int> accumulates; ///< what follows from it, into SweepPlan::accumulates
  llvm::SmallVector<int> scaled;      ///< sums that an online softmax weighs
};

struct WalkBody {
  llvm::SmallVector<Statistic> statistics;
  llvm::SmallVector<int> accumulates;  ///< the others, into SweepPlan::accumulates
  llvm::SmallVector<unsigned> results; ///< written for each member
  llvm::SmallVector<mlir::Value> loaded;
  llvm::SmallVector<mlir::Operation *> scoring, adding; ///< operations of `score` and `add`, in order
  llvm::SetVector<mlir::Value> kept;                    ///< computed by `score` and used by `raise` or `add`
  bool needsElement = false;                            ///< the member's number
};

class SweepBody {
public:
  SweepBody(mpk::SweepOp sweep, const SweepPlan &plan);

  /// Where a value of the owner or a shared one is computed: -1 constructor, 0 begin, k + 1 after walk k.
  int placeOf(mlir::Value value) const { return places.lookup(value); }
  /// Owner-level and shared operations, and arguments, of a place in order.
  llvm::SmallVector<mlir::Value> valuesAt(int place) const;

  std::vector<WalkBody> walks;
  mpk::YieldOp yield;

private:
  void makeWalk(unsigned number);
  void findPlaces();
  bool isMember(mlir::Value value) const { return plan.levels.lookup(value) == mpk::Level::Member; }

  mutable mpk::SweepOp sweep;
  const SweepPlan &plan;
  llvm::DenseMap<mlir::Value, int> places;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_SWEEPBODY_H
