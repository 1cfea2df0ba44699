//===- FlatWalk.h - One walk over an owner's members ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for each few members: gather, compute, accumulate in registers
//   for each member that is left: the same, one by one
//   finish the accumulations
//
// Scores and the like are narrower than a register. Those of a few members are one vector: one exp, one comparison with
// the running maximum, one tree of additions for all of them. Wide values stay one vector for each member.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_FLATWALK_H
#define GNNC_LIB_TARGET_CPU_FLATWALK_H

#include "Row/RowGroup.h"

namespace gnnc::cpu {

/// How far ahead rows are asked for: so many bytes, which leaves the first-level cache to what is being used, and the
/// fewest and most members.
constexpr int64_t kBytesAhead = 8 << 10, kLeastAhead = 4, kMostAhead = 16;

class FlatWalk {
public:
  using Value = mlir::Value;
  /// What a walk finds: owner-level values in the order in which they are finished.
  using Results = llvm::SmallVector<std::pair<Value, Value>>;

  /// `values` has what is known before the walk.
  FlatWalk(FlatSweep &sweep, unsigned walk, Value owner, FlatSweep::Range range, const FlatSweep::Values &values);
  Results run() { return finish(walkMembers()); }
  /// The same in two parts: what members have left in registers, and what it is made into.
  llvm::SmallVector<Value> walkMembers();
  Results finish(mlir::ValueRange done);

private:
  friend class MemberStep;

  /// How the copies of a slot that members of one step have for themselves are combined at the end.
  enum class Merge { Add, Max, Min, Same, None };
  /// A loop-carried vector.
  struct Slot {
    double start;
    int64_t width;
    Merge merge;
    bool number = false; ///< the number of no element instead of `start`
  };

  unsigned chooseMembers();
  void makeSlots();
  /// Lanes of a slot in steps of `members`.
  int64_t lanesOf(const Slot &slot, unsigned members) const;
  Value startOf(const Slot &slot, unsigned members);
  /// The other way round: the first of `members` goes on from `value`, the others begin.
  Value spread(const Slot &slot, Value value, unsigned members);
  /// Visits the members in [from, to), `members` at a time and then one by one; `carried` has one vector a slot.
  void visit(Value from, Value to, unsigned members, llvm::SmallVector<Value> &carried);
  /// Visits the members whose rows are at hand, then makes the next rows, and so on.
  void visitStaged(unsigned members, llvm::SmallVector<Value> &carried);
  /// From a vector for each of `members` to one.
  Value collapse(const Slot &slot, Value value, unsigned members);
  bool isNarrow(int64_t width) const { return isNarrowRow(width, lanes); }
  /// Whether members use an operand of the sweep in this walk.
  bool reads(Value argument) const;

  FlatSweep &sweep;
  FlatOps &flat;
  const SweepPlan &plan;
  mlir::OpBuilder &b;
  mlir::Location loc;
  unsigned walk;
  Value owner;
  FlatSweep::Range range;
  int64_t lanes; ///< of a register
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::SmallVector<const AccumulatePlan *> sums;
  llvm::SmallVector<unsigned> maxima; ///< softmaxes whose statistics this walk finds
  llvm::SmallVector<Slot> slots;
  llvm::SmallVector<unsigned> sumSlots, softmaxSlots; ///< of each sum, of each maximum
  Value lastPosition;                                 ///< of the members of the block's owners
  FlatSweep::Values known; ///< what members use of their owner and of shared values, in the tile
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_FLATWALK_H
