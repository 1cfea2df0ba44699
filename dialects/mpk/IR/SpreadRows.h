//===- SpreadRows.h - Rows that threads share -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some targets spread the rows of a product over threads, a few numbers in each. What can be made of them there: each
// number by itself, and folds over all of a row that lies within few threads.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPK_IR_SPREADROWS_H
#define GNNC_MPK_IR_SPREADROWS_H

#include "dialects/mpk/IR/MPK.h"

namespace gnnc::mpk {

/// Numbers of a row that may be folded where it is spread.
constexpr int64_t kLongestFoldedRow = 64;

/// Why what a body makes of rows of the product, whose epilogue it is or might be, cannot be made where they are
/// spread; empty: it can.
llvm::StringRef whyNotSpread(ProductOp product, mlir::Block &body);

/// Whether a body folds rows.
bool foldsRows(mlir::Block &body);

} // namespace gnnc::mpk

#endif // GNNC_MPK_IR_SPREADROWS_H
