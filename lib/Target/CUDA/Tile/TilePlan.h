//===- TilePlan.h - What is done with a tile of members ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a sweep with products in tiles as steps of Kernels/TileSweep.cuh, and where in shared memory the rows
// between them lie. Rows are made for what a product multiplies and for what a fold or a contraction reads many times;
// all else is computed number by number where it is needed.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_TILEPLAN_H
#define GNNC_LIB_TARGET_CUDA_TILEPLAN_H

#include "dialects/mpk/IR/MPK.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

namespace gnnc::cuda {

struct TileStep {
  enum Kind { Make, Product, Sum, Outer, Total, Store } kind;
  mlir::Value value;               ///< the rows that are made, multiplied to, accumulated or stored
  mpdfg::ContractOp contract = {}; ///< Product, Outer
  unsigned result = 0;             ///< Store, Outer, Total: which of the sweep's
  /// Sum: the accumulations of `value`, a number's and its winner's.
  mpk::AccumulateOp number = {}, winner = {};
};

/// Rows in shared memory: row r begins at place + r * stride.
struct TileRows {
  int64_t width = 0, stride = 0, place = 0;
  int first = 0, last = 0; ///< steps
};

class TilePlan {
public:
  /// `onTensorCores`: of products.
  TilePlan(mpk::SweepOp sweep, bool onTensorCores, int64_t sharedBytes);

  /// Whether the kernels can do it.
  bool isPossible() const { return possible; }

  /// The value whose numbers a value has in the same order.
  static mlir::Value root(mlir::Value value);
  /// Rows in shared memory; null: there are none. Those that are there before a step.
  const TileRows *rowsOf(mlir::Value value) const;
  const TileRows *rowsBefore(int step, mlir::Value value) const {
    const TileRows *found = rowsOf(value);
    return found && found->first < step ? found : nullptr;
  }

  /// Threads that make a number of a value's rows together: a sum over a row's numbers.
  int64_t lanesOf(mlir::Value value) const;

  /// The steps before which all threads meet: they read or write over rows of others.
  llvm::BitVector stepsAfterBarriers() const;
  /// How numbers of rows are added up: `lanes` threads share a row, of which each access takes `vector` numbers, and
  /// add up `rows` of them one after the other.
  struct Strips {
    int64_t vector, lanes, rows;
  };
  Strips stripsOf(int64_t width) const;
  /// The numbers of one access to rows of so many: 16 bytes, a divisor of `width`.
  int64_t vectorOf(int64_t width) const;

  /// Whether a step is a sum that is taken together with the step before, a sum of the same width.
  bool joinsSum(int step) const;

  std::vector<TileStep> steps;
  int64_t tileRows = 0, threads = 256;
  bool byThreads = false; ///< each row is made and multiplied by a thread of its own
  int64_t places = 0;     ///< numbers of shared memory
  int64_t blocks = 1;     ///< that fit a processor
  int64_t slotWords = 0;  ///< of a slot; without members: of a block's partial sums
  /// Of the weight of each product, in both parts; -1: it is read from memory.
  llvm::SmallVector<int64_t> parts; ///< by step
  struct SumPlaces {
    int64_t parts = -1, names = -1, carry = -1, namesCarry = -1, word = 0, namesWord = 0;
  };
  llvm::SmallVector<SumPlaces> sums; ///< by step; `word` of totals too

  struct Factors {
    int64_t slices = 1, k = 1, n = 1;
    bool batched = false;
  };
  /// The sizes of a product or an outer product in tiles.
  static Factors factorsOf(mpdfg::ContractOp contract);

private:
  bool isOfTile(mlir::Value value) const { return levels.lookup(value) == tileLevel; }
  void findSteps();
  void delaySums();
  llvm::SmallVector<mlir::Value> rowsReadBy(int step) const;
  bool followsInThread(int step) const; ///< needs nothing of other threads than the step before
  bool isRepeated(mlir::Value value) const;
  int64_t timesRepeated(mlir::Value value);
  bool foldsOnce(mlir::Operation *op) const;
  void makeRows(mlir::Value value);
  bool isNarrow() const;
  TileRows *findReplaced(mlir::Value value, const TileRows &made);
  void allocate(int64_t rows);
  int64_t strideOf(const TileRows &rows, bool isFactor) const;
  int64_t bytesWith(int64_t rows) const;

  mpk::SweepOp sweep;
  bool onTensorCores;
  llvm::DenseMap<mlir::Value, mpk::Level> levels;
  mpk::Level tileLevel;
  llvm::MapVector<mlir::Value, TileRows> rows;
  llvm::DenseMap<mlir::Value, int64_t> repeated; ///< timesRepeated
  bool possible = true, joinsSums = true, haveOneSize = false;
  int64_t mostResident = 0; ///< bytes of weights that stay in shared memory
  int64_t numArrays = 0, elementBytes = 4;
  int64_t held = 0; ///< numbers of outer sums that a thread keeps
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_TILEPLAN_H
