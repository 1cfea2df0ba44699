//===- MemberStep.h - A few members at once ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a walk for a few members: those that are narrow side by side.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_MEMBERSTEP_H
#define GNNC_LIB_TARGET_CPU_MEMBERSTEP_H

#include "Flat/FlatWalk.h"

namespace gnnc::cpu {

class MemberStep : public RowGroup {
public:
  /// `now` has the carried vectors before the step, and after `run` those after it.
  MemberStep(FlatWalk &walk, unsigned count, Value position, llvm::SmallVector<Value> &now);
  void run();

private:
  Value known(Value value) override;
  Value load(unsigned operand, unsigned row) override;
  Value loadAll(Value value) override;
  void compute(mlir::Operation *op, FlatSweep::Values &values, unsigned row) override;

  void score(unsigned order, unsigned number);
  void accumulate(const AccumulatePlan &sum, unsigned slot);
  /// Where a score exceeds the running maximum: the new maximum, and what was summed so far times exp(old - new).
  void rescale(Value score, Value scoreShape, unsigned maximumSlot, llvm::ArrayRef<std::pair<unsigned, Value>> scaled);
  void writeResults();
  void prefetch();

  FlatWalk &walk;
  llvm::SmallVector<Value> &now;
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_MEMBERSTEP_H
