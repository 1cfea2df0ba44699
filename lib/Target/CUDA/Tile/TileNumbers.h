//===- TileNumbers.h - Values of a tile's rows, number by number *- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In Kernels/TileSweep.cuh threads share a tile's rows number by number. So a body value is an expression of its row
// (`row`) and of a place in it. Where several places side by side are made at once (`v`), operands with the same axes
// are read side by side too.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_TILENUMBERS_H
#define GNNC_LIB_TARGET_CUDA_TILENUMBERS_H

#include "Body/NumberPrinter.h"
#include "StepMemory.h"
#include "Tile/TilePlan.h"
#include "gnnc/Target/Kernel.h"

namespace gnnc::cuda {

class TileNumbers : public NumberPrinter {
public:
  TileNumbers(mpk::SweepOp sweep, const TilePlan &plan, CodeWriter &out)
      : NumberPrinter(out), sweep(sweep), plan(plan) {}

  /// Prints what makes `vector` numbers of `value` in `to` from `first` on at a step, in a loop over v.
  /// `lanes`: threads that make them together.
  void row(unsigned step, mlir::Value value, int64_t vector, int64_t lanes = 1);
  /// Prints what makes the number at `f` at a step, and returns it.
  std::string one(unsigned step, mlir::Value value);

  /// The row a block argument is read at: an array of find's. Of an element too (`member`) and its owner.
  std::string rowNumber(mpk::AccessKind kind, mlir::FlatSymbolRefAttr map);
  std::string buffer(mlir::Value value);
  std::string index(IndexRef ref);
  std::string extent(mlir::FlatSymbolRefAttr space) override;
  /// How find computes the number that array k has for a position.
  llvm::ArrayRef<std::string> arrays() const { return finds; }

  llvm::SmallVector<mlir::Value> buffers;
  llvm::SmallVector<IndexRef> indices;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> extents;

private:
  std::optional<std::string> readBefore(mlir::Value value, const std::string &at) override;
  std::optional<std::string> stored(mlir::Value value, const std::string &at) override;
  std::string argument(mlir::BlockArgument value, const std::string &at) override;
  std::string elementNumber(mpdfg::ElementOp op) override;
  void findVectors(mlir::Value value, int64_t width, llvm::SetVector<mlir::Value> &found,
                   llvm::DenseSet<mlir::Value> &seen);

  mpk::SweepOp sweep;
  const TilePlan &plan;
  llvm::SmallVector<std::string> finds;
  int step = 0; ///< whose function is printed: rows that later ones make are not there
  llvm::DenseMap<mlir::Value, std::string> vectors; ///< read before, side by side
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_TILENUMBERS_H
