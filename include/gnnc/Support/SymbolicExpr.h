//===- SymbolicExpr.h - Linear expressions over extents of spaces -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs before the graph is known: a number of operations or bytes for each element of each space, plus a constant.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_SYMBOLICEXPR_H
#define GNNC_SUPPORT_SYMBOLICEXPR_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gnnc {

/// c + sum of c_s |s| over spaces s. Value type; coefficients are exact integers.
class SymbolicExpr {
public:
  SymbolicExpr() = default;
  /// implicit: a number
  SymbolicExpr(int64_t number) : number(number) {}
  /// `factor` for each element of `space`.
  static SymbolicExpr of(llvm::StringRef space, int64_t factor = 1) {
    SymbolicExpr expression;
    if (factor != 0)
      expression.factors[space.str()] = factor;
    return expression;
  }

  SymbolicExpr &operator+=(const SymbolicExpr &other);
  friend SymbolicExpr operator+(SymbolicExpr a, const SymbolicExpr &b) { return a += b; }
  friend SymbolicExpr operator*(SymbolicExpr a, int64_t factor);
  friend bool operator==(const SymbolicExpr &a, const SymbolicExpr &b) {
    return a.number == b.number && a.factors == b.factors;
  }

  /// The constant, and the factor of each space whose factor is not 0.
  int64_t getNumber() const { return number; }
  const std::map<std::string, int64_t> &getFactors() const { return factors; }

  /// The value for the extents that `extent` returns; nothing if one of them is not known.
  std::optional<double> evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> extent) const;
  /// Such as `64 edge + 8 node + 16`; `0` for nothing.
  std::string str() const;

private:
  int64_t number = 0;
  std::map<std::string, int64_t> factors;
};

} // namespace gnnc

#endif // GNNC_SUPPORT_SYMBOLICEXPR_H
