//===- SweepBase.h - What both forms of sweep code share --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep is emitted either on flat vectors (FlatSweep) or on rows in stack memory (RowSweep). Both read rows through
// the same accesses and visit owners and members in the same loops.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_SWEEPBASE_H
#define GNNC_LIB_TARGET_CPU_SWEEPBASE_H

#include "Flat/FlatOps.h"
#include "KernelBuilder.h"
#include "gnnc/Analysis/SweepPlan.h"

#include <functional>
#include <limits>

namespace gnnc::cpu {

/// Whether a reduction carries the best number and the number of the element that has it.
inline bool namesWinner(mpdfg::ReduceKind kind) {
  return kind == mpdfg::ReduceKind::ArgMax || kind == mpdfg::ReduceKind::ArgMin;
}

/// Member-level operations needed in walk `walk`, in order.
llvm::SmallVector<mlir::Operation *> operationsOfWalk(mpk::SweepOp sweep, const SweepPlan &plan, unsigned walk);
/// Results that are written for each member in walk `walk`.
llvm::SmallVector<unsigned> memberResultsOfWalk(mpk::SweepOp sweep, const SweepPlan &plan, unsigned walk);

class SweepBase {
public:
  SweepBase(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel);

protected:
  using Value = mlir::Value;
  /// Whether members' own numbers are needed, and not only what maps lead to.
  bool namesMembers();
  /// Row `row` (i64) of a value: the number of its first element.
  Value rowStart(Value value, Value row);
  /// The row an operand is read at; `partial` is set where it may be -1.
  Value operandRow(unsigned operand, Value owner, Value position, bool &partial);
  /// The degree that an operand is, which is no buffer but read off its map's index; null for others.
  mpdfg::DegreeOp degreeOf(unsigned operand) { return sweep.getInputs()[operand].getDefiningOp<mpdfg::DegreeOp>(); }
  /// Such a degree's number for element `row`, as a scalar.
  Value loadDegree(mpdfg::DegreeOp degree, Value row);
  bool mapIsPartial(mlir::FlatSymbolRefAttr map);
  unsigned spaceNumber(mlir::FlatSymbolRefAttr space);
  /// Number of members of `owner` as [first, last) positions.
  std::pair<Value, Value> memberRange(Value owner);
  Value memberAt(Value position);
  /// Where the row of a `gather_owner` operand is found for an owner.
  IndexRef gatherIndex(unsigned operand);
  /// The number of the element itself, for mpdfg.element.
  Value elementAt(mpdfg::ElementOp op, Value owner, Value position);
  /// Number of an owner's first member, -1 where it has none.
  Value firstMember(std::pair<Value, Value> range);
  llvm::SmallVector<mlir::Operation *> operationsOfWalk(unsigned walk) {
    return cpu::operationsOfWalk(sweep, plan, walk);
  }
  llvm::SmallVector<unsigned> memberResultsOfWalk(unsigned walk) { return cpu::memberResultsOfWalk(sweep, plan, walk); }
  llvm::ArrayRef<int64_t> shapeOf(Value value) { return mpdfg::getFeatureShape(value.getType()); }
  int64_t elementBits() { return element.getIntOrFloatBitWidth(); }
  /// 1 / number of elements that a shared mean is over, as a scalar.
  Value sharedMeanFactor(mpk::AccumulateOp op);

  mpk::SweepOp sweep;
  const SweepPlan &plan;
  const Processor &target;
  KernelBuilder &kernel;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type element;
  FlatOps flat;
  mpk::YieldOp yield;
};

/// How a sweep gets rows that are made for a few members at a time.
struct Staging {
  int64_t rows; ///< the most members at a time
                /// Makes the rows of the members at positions [from, to), to - from <= rows.
  std::function<void(mlir::Value from, mlir::Value to)> make;
  /// Lets the operands stand for the rows of members from `from` on.
  std::function<void(mlir::Value from)> see;
};

/// Whether every body value fits flat vectors once parallel axes are cut into tiles.
bool fitsFlat(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target);
void emitFlatSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel,
                   const Staging *staging = nullptr);
/// Whether neither the sweep nor any of its walks has to be cut into tiles, on the target with the largest registers.
bool fitsUncut(mpk::SweepOp sweep, const SweepPlan &plan, KernelBuilder &kernel);
/// A sweep with contractions that are marked `mpk.tile`.
bool isTiled(mpk::SweepOp sweep);
/// Narrow values of members that are worth computing for the members of many owners at once; see NarrowStage.cpp. The
/// same for all targets, because index arrays follow from it.
llvm::SmallVector<mlir::Value> chooseStaged(mpk::SweepOp sweep, const SweepPlan &plan, KernelBuilder &kernel);
/// The processor that choices go by which must be the same for all levels.
inline constexpr Processor kWidestTarget{Architecture::X86_64, 4};
/// A sweep whose values `staged` are made so.
void emitStagedSweep(mpk::SweepOp sweep, const SweepPlan &plan, llvm::ArrayRef<mlir::Value> staged,
                     const Processor &target, KernelBuilder &kernel);
mlir::LogicalResult emitTileSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target,
                                  KernelBuilder &kernel);
void emitRowSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel);

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_SWEEPBASE_H
