//===- SweepPlan.h - How a sweep's body is computed -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every target needs to know of a sweep's body: how often the members are walked, what each walk accumulates,
// which softmaxes are computed online, and which feature axes never mix, so that they may be cut into feature tiles.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_ANALYSIS_SWEEPPLAN_H
#define GNNC_ANALYSIS_SWEEPPLAN_H

#include "dialects/mpk/IR/MPK.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace gnnc {

/// Feature axes of a body's values that must have the same index: two axes are of one class if an operation pairs them.
/// An axis of size 1 has no class (-1).
class AxisClasses {
public:
  explicit AxisClasses(mpk::SweepOp sweep);
  /// The same, looking only at operations for which `counts` holds: what other operations do with an axis does not make
  /// it mixed.
  AxisClasses(mpk::SweepOp sweep, llvm::function_ref<bool(mlir::Operation *)> counts);

  /// Whether a value is an operand of the sweep, or an operand or result of an operation that counts.
  bool knows(mlir::Value value) const { return classes.contains(value); }
  /// The class of each feature axis of a body value.
  llvm::ArrayRef<int> of(mlir::Value value) const { return classes.find(value)->second; }
  unsigned size() const { return extents.size(); }
  int64_t extent(int cls) const { return extents[cls]; }
  /// Whether every operation treats each index of the class independently, so that the class may be cut into feature
  /// tiles.
  bool isParallel(int cls) const { return parallel[cls]; }

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> classes;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> parallel;
};

/// Online softmax (Milakov and Gimelshein, 2018; Rabe and Staats, 2021): a running maximum and sum, along with sums
/// that are rescaled when the maximum grows.
struct SoftmaxPlan {
  mpk::SoftmaxOp op;
  bool online =
      false; ///< else: its statistics in walk `walk`, the softmax itself from walk + 1 on, see ExpandSoftmaxes
  unsigned walk = 0;
  std::string declined; ///< the reason why it is not online
};

struct AccumulatePlan {
  mpk::AccumulateOp op;
  unsigned walk = 0;      ///< the walk that accumulates it (members); meaningless for shared accumulations
  int online = -1;        ///< index into softmaxes whose weight scales it; -1: none
  bool perMember = false; ///< the input depends on the member
  int statisticOf = -1;   ///< a statistic (isStatistic) that the softmax with this index finds anyway, in the same walk
  int sameAs = -1;        ///< another one follows from the maximum and sum that the accumulation with this index finds
  bool isFound() const { return statisticOf >= 0 || sameAs >= 0; } ///< by something else
};

/// How a sweep is computed. Values of phase p are known before walk p of the members begins. Member-level values are
/// computed again in each walk that needs them.
struct SweepPlan {
  explicit SweepPlan(mpk::SweepOp sweep);

  llvm::DenseMap<mlir::Value, mpk::Level> levels;
  llvm::DenseMap<mlir::Value, unsigned> phases;
  llvm::SmallVector<SoftmaxPlan> softmaxes;
  llvm::SmallVector<AccumulatePlan> accumulates; ///< over members
  llvm::SmallVector<mpk::AccumulateOp> shared;   ///< over everything
  unsigned walks = 0;
  AxisClasses axes;
};

} // namespace gnnc

#endif // GNNC_ANALYSIS_SWEEPPLAN_H
