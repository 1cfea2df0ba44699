//===- RegisterTiles.h - How a matrix is cut into registers -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_REGISTERTILES_H
#define GNNC_LIB_TARGET_CPU_REGISTERTILES_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace gnnc::cpu {

/// Cuts `count` into as few parts of at most `most` as there can be, which differ by one at most, larger ones first.
/// Calls `visit(first, parts, size)` for each run of equal parts.
void forEachEvenPart(int64_t count, int64_t most, llvm::function_ref<void(int64_t, int64_t, int64_t)> visit);

/// Tiles of R rows by C registers that accumulate a matrix of `columns` columns: every step loads C registers of one
/// operand and R numbers of the other, and makes R C fused products. They fill the registers.
class RegisterTiles {
public:
  /// `lanes` numbers a register, of which the processor has `registers`.
  RegisterTiles(int64_t columns, int64_t lanes, int64_t registers);

  /// Of each tile; fewer where fewer are left.
  int64_t rows() const { return numRows; }
  /// Calls `visit(first, tiles, columns)` for each run of `tiles` tiles that have as many columns, from column `first`
  /// on: whole ones, and what is left, whose last register may not be full.
  void forEach(llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) const;

private:
  int64_t columns, width, numRows;
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_REGISTERTILES_H
