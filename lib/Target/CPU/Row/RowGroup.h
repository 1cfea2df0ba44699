//===- RowGroup.h - Several rows side by side -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores, masks and the like are narrower than a register. Those of several rows (members of a walk, owners of a sweep
// without members) are one vector, rows outermost: one exp, one comparison for all of them. A value of the rows is
// found when it is first asked for, either for one row (`part`) or for all of them (`all`); wide values of one row are
// so computed right after each other, which keeps few of them alive.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_ROWGROUP_H
#define GNNC_LIB_TARGET_CPU_ROWGROUP_H

#include "Flat/FlatSweep.h"

namespace gnnc::cpu {

/// Whether rows of `width` numbers lie side by side in registers of `lanes`. Others would have to be moved to odd
/// places.
inline bool isNarrowRow(int64_t width, int64_t lanes) { return width < lanes && llvm::isPowerOf2_64(width); }

class RowGroup {
public:
  using Value = mlir::Value;

  /// Rows of `level`, from the one with the number (owners) or the position (members) `first` on.
  RowGroup(FlatSweep &sweep, mpk::Level level, unsigned count, Value first);
  virtual ~RowGroup() = default;

  Value part(Value value, unsigned row);
  Value all(Value value);

protected:
  bool isOfRows(Value value) { return sweep.plan.levels.lookup(value) == level; }
  bool isNarrow(Value value) { return isNarrowRow(sweep.width(value), lanes); }
  llvm::SmallVector<int64_t> shape(Value value) { return sweep.shape(value); }
  llvm::SmallVector<int64_t> shapeOfAll(Value value);
  Value repeatRows(Value value);

  /// A value that is not of the rows' level.
  virtual Value known(Value value) = 0;
  /// An operand of the sweep, for one row.
  virtual Value load(unsigned operand, unsigned row) = 0;
  /// A leaf (an operand, the rows' own numbers) for all rows, where that takes less than joining them; else null.
  virtual Value loadAll(Value value) { return {}; }
  virtual void compute(mlir::Operation *op, FlatSweep::Values &values, unsigned row) = 0;

  FlatSweep &sweep;
  FlatOps &flat;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mpk::Level level;
  unsigned count;
  int64_t lanes;                      ///< of a register
  llvm::SmallVector<Value> positions; ///< of the rows
  llvm::DenseMap<Value, Value> joined;

private:
  /// Whether the rows' values are computed side by side.
  bool isSideBySide(Value value);
  /// Whether it is a sum over the last axis that is taken as `sumLast` does: not in the order of a row by itself.
  bool sumsInRegisters(mlir::Operation *op);
  Value computeAll(mlir::Operation *op);
  /// A sum over the last axis: wide rows first to one register each, then the rows' together.
  Value sumLast(mlir::Operation *op);
  /// The numbers that such an operation adds up, for one row.
  Value summands(mlir::Operation *op, unsigned row);

  llvm::DenseMap<Value, llvm::SmallVector<Value>> parts;
};

/// Owners of a sweep without members.
class OwnerGroup : public RowGroup {
public:
  /// `values` has what is shared.
  OwnerGroup(FlatSweep &sweep, const FlatSweep::Values &values, unsigned count, Value first)
      : RowGroup(sweep, mpk::Level::Owner, count, first), values(values) {}
  /// How many owners are worth taking at a time; 1 where some value is wide.
  static unsigned chooseCount(FlatSweep &sweep);
  /// Asks for rows that later owners gather.
  void prefetch() { sweep.prefetchForOwners(positions); }
  /// What the sums over everything are after these rows.
  llvm::SmallVector<Value> accumulate(mlir::ValueRange totals);
  /// Writes the rows of results; comes last, for operands may be overwritten.
  void writeResults();

private:
  Value known(Value value) override { return values.lookup(value); }
  Value load(unsigned operand, unsigned row) override;
  Value loadAll(Value value) override;
  void compute(mlir::Operation *op, FlatSweep::Values &of, unsigned row) override;
  /// The rows' entries of an index array, as a vector of i32.
  Value indices(IndexRef ref);

  const FlatSweep::Values &values;
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_ROWGROUP_H
