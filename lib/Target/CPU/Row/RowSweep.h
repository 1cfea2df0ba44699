//===- RowSweep.h - A sweep on rows in stack memory -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For rows that are too wide to be vectors and whose axes are mixed, so that they cannot be cut (a norm over 1433
// features, a product with a weight for each edge). Every body value is a row in stack memory; an operation is a loop
// over the result's elements that reads its operands with a stride for each axis: 0 repeats, a permutation transposes.
// Operands in memory are read where they are.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_ROWSWEEP_H
#define GNNC_LIB_TARGET_CPU_ROWSWEEP_H

#include "SweepBase.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace gnnc::cpu {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A row, and how far apart its elements are along each axis of whoever reads it.
struct Strided {
  mlir::Value pointer;
  llvm::SmallVector<int64_t> strides;
};

/// Strides of a dense row.
llvm::SmallVector<int64_t> rowMajor(llvm::ArrayRef<int64_t> shape);

class RowSweep : public SweepBase {
public:
  using SweepBase::SweepBase;
  void run();

private:
  using Rows = llvm::DenseMap<Value, Value>; ///< body value -> pointer to its row

  mlir::scf::ForOp loop(Value from, Value to, int64_t step = 1, mlir::ValueRange init = {});
  /// Runs `body(i)` for i in [0, count) in steps.
  void repeat(int64_t from, int64_t to, int64_t step, llvm::function_ref<void(Value)> body);
  Value memory(Value value) { return memory(value, mpdfg::getFeatureElements(value.getType())); }
  Value memory(Value value, int64_t count);
  Value row(Value value, Rows &rows) { return rows.lookup(value); }

  /// out[index] = compute(in0[index], ...) for each index of `shape`.
  void apply(llvm::ArrayRef<int64_t> shape, Strided out, llvm::ArrayRef<Strided> in,
             llvm::function_ref<Value(llvm::ArrayRef<Value>)> compute);
  void fill(Value pointer, int64_t count, double number);
  void apply(llvm::ArrayRef<int64_t> shape, Strided out, llvm::ArrayRef<Strided> in,
             llvm::function_ref<Value(llvm::ArrayRef<Value>)> compute, double constant);
  void copy(int64_t count, Value to, Value from);
  /// Strides of an operand that is aligned with a result of the same rank: axes of size 1 repeat.
  Strided aligned(Value value, Rows &rows);
  /// Strides of `from` as seen by a reader with the axes of `to`, matched by class.
  llvm::SmallVector<int64_t> stridesByClass(Value from, Value to);

  void compute(mlir::Operation *op, Rows &rows, Value owner, Value position);
  void contract(mpdfg::ContractOp op, Rows &rows);
  /// Numbers of a row of `count` that are worked on at once: a register, or what is in a short row; 1 in one of less
  /// than four.
  int64_t lanesAlong(int64_t count);
  mlir::Value dot(mlir::Value left, mlir::Value right, int64_t count);
  void fold(mpdfg::FoldOp op, Rows &rows);
  /// Whether sums over axes of `sizes` are added by halves, as in a kernel that holds them in registers.
  bool addsByHalves(llvm::ArrayRef<int64_t> sizes) const;
  /// Adds the halves of a dense row along each of `axes`, the innermost first: the sums are at index 0 of them.
  void addHalves(Value pointer, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes);
  /// Calls `body(offset)` for each index over `sizes`, where offset is the sum of index * stride.
  void nest(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<llvm::SmallVector<int64_t>> strides,
            llvm::function_ref<void(llvm::ArrayRef<Value>)> body);
  Value operandPointer(unsigned operand, Value owner, Value position);
  void levelOperations(mpk::Level level, unsigned phase, Rows &rows, Value owner, std::pair<Value, Value> range);
  void emitWalk(unsigned walk, Value owner, std::pair<Value, Value> range, Rows &rows);
  void raise(Value score, Rows &rows, Value maximum, llvm::ArrayRef<std::pair<Value, Value>> scaled, Value like);
  void beginWinner(mpk::AccumulateOp op);
  /// One row more in a sum, maximum or minimum, or one candidate more for a winner.
  void accumulate(mpk::AccumulateOp op, Value input, llvm::function_ref<Value()> candidate);
  void raiseWinner(mpk::AccumulateOp op, Value input, Value candidate);
  Value countOf(std::pair<Value, Value> range);

  llvm::DenseMap<Value, Value> scratch; ///< body value -> its row in stack memory
  llvm::DenseMap<mlir::Operation *, std::pair<Value, Value>>
      statistics; ///< softmax or statistic -> running maximum and sum
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_ROWSWEEP_H
