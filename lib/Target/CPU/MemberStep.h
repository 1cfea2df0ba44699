//===- MemberStep.h - A few members at once ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a walk for `count` members. A member-level value is found when it is first asked for, either for one
// member (`part`) or for all of them side by side, members outermost (`all`); wide values of one member are so computed
// right after each other, which keeps few of them alive.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_MEMBERSTEP_H
#define GNNC_LIB_TARGET_CPU_MEMBERSTEP_H

#include "FlatWalk.h"

namespace gnnc::cpu {

class MemberStep {
public:
  using Value = mlir::Value;

  /// `now` has the carried vectors before the step, and after `run` those after it.
  MemberStep(FlatWalk &walk, unsigned count, Value position, llvm::SmallVector<Value> &now);
  void run();

private:
  bool isMember(Value value) { return walk.plan.levels.lookup(value) == mpk::Level::Member; }
  llvm::SmallVector<int64_t> shape(Value value) { return walk.sweep.shape(value); }
  llvm::SmallVector<int64_t> shapeOfAll(Value value);
  bool isNarrow(Value value) { return walk.isNarrow(walk.sweep.width(value)); }
  /// Whether the members' values are computed side by side.
  bool isSideBySide(Value value);
  Value part(Value value, unsigned member);
  Value all(Value value);
  Value computeAll(mlir::Operation *op);
  /// A sum over the last axis: wide rows first to one register each, then the members' together.
  Value sumLast(mlir::Operation *op);
  /// The numbers that such an operation adds up, for one member; null for other operations.
  Value summands(mlir::Operation *op, unsigned member);
  Value repeatMembers(Value value);

  void softmax(mpk::SoftmaxOp op);
  void score(unsigned order, unsigned number);
  void accumulate(const AccumulatePlan &sum, unsigned slot);
  /// Where a score exceeds the running maximum: the new maximum, and what was summed so far times exp(old - new).
  void rescale(Value score, Value scoreShape, unsigned maximumSlot, llvm::ArrayRef<std::pair<unsigned, Value>> scaled);
  void writeResults();
  void prefetch();

  FlatWalk &walk;
  FlatOps &flat;
  mlir::OpBuilder &b;
  mlir::Location loc;
  unsigned count;
  llvm::SmallVector<Value> positions;
  llvm::SmallVector<Value> &now;
  llvm::DenseMap<Value, llvm::SmallVector<Value>> parts;
  llvm::DenseMap<Value, Value> joined;
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_MEMBERSTEP_H
