//===- FlatSweep.h - A sweep on flat vectors --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for each tile of the parallel feature axes        (heads, slices of wide rows: what is live fits the registers)
//     load shared operands
//     for each owner of the block
//       owner's values known before the first walk
//       for each walk: FlatWalk; owner's values known after it
//       store the owner's results
//
// Cutting a parallel axis repeats the walk for each tile, which costs reading the indices again but no spills.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_FLATSWEEP_H
#define GNNC_LIB_TARGET_CPU_FLATSWEEP_H

#include "Flat/FlatTiles.h"
#include "SweepBase.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gnnc::cpu {

class FlatSweep : public SweepBase {
public:
  /// `staging`: where the rows of operands are made a few members at a time; then nothing is cut, for each tile would
  /// make them again. May be null.
  FlatSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel,
            const Staging *staging);
  void run();
  /// Whether the sweep or one of its walks is cut into tiles.
  bool isCut() const;

private:
  friend class FlatWalk;
  friend class FlatOwners;
  friend class MemberStep;
  friend class RowGroup;
  friend class OwnerGroup;
  using Values = llvm::DenseMap<Value, Value>;
  using Range = std::pair<Value, Value>;

  /// Whether a walk reads rows that are made a few members at a time.
  bool readsStaged(unsigned walk);
  void emitTiles(unsigned cls);
  void emitTile();
  void emitWalk(unsigned walk, Value owner, Range range, Values &values);
  void compute(mlir::Operation *op, Values &values, Value owner, Value position);
  /// An operation that works number by number, on operands that are as wide as its result; null for others.
  Value elementwise(mlir::Operation *op, llvm::function_ref<Value(Value)> get);
  bool isInFours(mpdfg::RandomOp op);
  Value loadOperand(unsigned operand, Value owner, Value position);
  /// Rows of an operand that are read where an index array says.
  struct RowsAhead {
    unsigned operand;
    IndexRef index;
  };
  /// Asks for those that will be read some way after `positions`, of which the last is `last`.
  void prefetch(llvm::ArrayRef<RowsAhead> rows, llvm::ArrayRef<Value> positions, Value last);
  /// The same in a sweep without members, for owners or positions.
  void prefetchForOwners(llvm::ArrayRef<Value> owners);
  Value loadRow(Value buffer, Value start, Value shapeSource);
  Value iota(Value shapeSource);
  void storeRow(Value value, Value pointer, Value shapeSource);
  /// Visits the contiguous runs of a tile of a row: (element offset, lanes before it, length).
  void forEachRun(Value shapeSource, llvm::function_ref<void(Value, int64_t, int64_t)> visit);
  /// The shape of a body value in the tile that is being emitted.
  llvm::SmallVector<int64_t> shape(Value value);
  int64_t width(Value value) { return RefTensor::product(shape(value)); }
  /// The axis of a value that the inner cut divides, -1 where it has none.
  int innerAxis(Value value);
  /// The tile's part of an owner's or a shared value that was made before the tiles.
  Value innerPart(Value value, Value whole);
  /// Repeats a value shaped like `from` along the axes that `to` has beyond it, matching axes by class.
  Value repeatByClass(Value value, Value from, Value to);
  Value memberCount(Range range, int64_t lanes);
  Value whereMembers(Range range, Value value);
  std::pair<Value, Value> winner(mpdfg::ReduceKind kind, Value input, Value element, Value best, Value number);
  void levelOperations(mpk::Level level, unsigned phase, Values &values, Value owner, Range range,
                       llvm::function_ref<bool(mlir::Operation *)> wanted = {});
  /// The loop over the block's owners; see FlatOwners.cpp. `values` has what is shared; `init` are the totals over all
  /// owners and, where rows are staged, the positions of those at hand. Returns the totals.
  llvm::SmallVector<Value> emitOwners(const Values &values, Value from, mlir::ValueRange init);
  /// An owner's operands.
  void loadOwner(Values &values, Value owner);
  /// Writes an owner's results; `totals` become what they are after it.
  void finishOwner(const Values &values, Value owner, llvm::SmallVectorImpl<Value> &totals);
  mlir::scf::ForOp loop(Value from, Value to, mlir::ValueRange init, int64_t step = 1) {
    return mlir::scf::ForOp::create(b, loc, from, to, kernel.i64(step), init);
  }

  const Staging *staging;
  Value stagedFrom, stagedTo; ///< positions of members whose rows are at hand
  Tiling full, tiling;
  llvm::SmallVector<Value> offsets; ///< for each class: index of the tile's first element; null: 0
  /// The cut of each walk, with the axes that it is about, and the tile of it that is being emitted: the loop over
  /// them, and the first index of the axis.
  struct WalkCut {
    AxisClasses axes;
    InnerCut cut;
  };
  llvm::SmallVector<WalkCut> cuts;
  Value lastMember;               ///< position of the last member of the block's owners
  const WalkCut *inner = nullptr; ///< null: not within a walk that is cut
  mlir::scf::ForOp innerTiles;
  Value innerBegin;
  Values innerRows; ///< owners' values that the tiles take their parts of, in stack memory
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_FLATSWEEP_H
