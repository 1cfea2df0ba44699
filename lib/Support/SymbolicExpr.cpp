//===- SymbolicExpr.cpp - Linear expressions over extents of spaces -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/SymbolicExpr.h"

using namespace gnnc;

SymbolicExpr &SymbolicExpr::operator+=(const SymbolicExpr &other) {
  number += other.number;
  for (const auto &[space, factor] : other.factors)
    if ((factors[space] += factor) == 0)
      factors.erase(space);
  return *this;
}

namespace gnnc {
SymbolicExpr operator*(SymbolicExpr a, int64_t factor) {
  SymbolicExpr product(a.number * factor);
  for (const auto &[space, own] : a.factors)
    product += SymbolicExpr::of(space, own * factor);
  return product;
}
} // namespace gnnc

std::optional<double> SymbolicExpr::evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> extent) const {
  double value = double(number);
  for (const auto &[space, factor] : factors) {
    std::optional<int64_t> size = extent(space);
    if (!size)
      return std::nullopt;
    value += double(factor) * double(*size);
  }
  return value;
}

std::string SymbolicExpr::str() const {
  std::string text;
  for (const auto &[space, factor] : factors)
    text += (text.empty() ? "" : " + ") + (factor == 1 ? "" : std::to_string(factor) + " ") + space;
  if (number != 0 || text.empty())
    text += (text.empty() ? "" : " + ") + std::to_string(number);
  return text;
}
