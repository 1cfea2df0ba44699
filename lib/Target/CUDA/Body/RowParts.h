//===- RowParts.h - Rows that are read and written in parts -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice of an operand is a place in memory, and so is each part of a row that is joined only to be written. Neither
// is an operation then: slices are operands of their own, and parts are stored one by one. (split-joined-rows brings
// bodies to that form.) Where a result is written over an operand, rows are whole: a part would be written before
// another lane has read it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_BODY_ROWPARTS_H
#define GNNC_LIB_TARGET_CUDA_BODY_ROWPARTS_H

#include "dialects/mpk/IR/MPK.h"

namespace gnnc::cuda {

/// Where a value lies in a row: the feature axes of the whole row, and the place of the value's first number in it.
struct RowPart {
  llvm::SmallVector<int64_t> dims;
  int64_t first = 0;
};

/// An argument of a sweep's body, or a slice of one that is read where it lies.
bool isOperand(mlir::Value value);
mlir::BlockArgument argumentOf(mlir::Value operand);
RowPart partOf(mlir::Value operand);
/// All of them, arguments first; without arguments of which only slices are read.
llvm::SmallVector<mlir::Value> operandsOf(mpk::SweepOp sweep);

/// A join that is only written, part by part.
bool isJoined(mlir::Value value);
/// What is written for a result, and where in its row.
llvm::SmallVector<std::pair<mlir::Value, RowPart>> writtenParts(mlir::Value yielded);

/// Whether so many numbers, side by side along the last axis of a part, are an aligned access in every row.
bool isAligned(const RowPart &part, int64_t numbers);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_BODY_ROWPARTS_H
