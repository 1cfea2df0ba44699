//===- EqualSizes.h - Symbols that are one size -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch gives sizes that it cannot compare symbols of their own. Where an operator has a meaning only if they are
// equal, or an operation was exported twice, they are one here; the object checks what it is given.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_EQUALSIZES_H
#define GNNC_LIB_FRONTEND_PYTORCH_EQUALSIZES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gnnc {
class SymbolicExpr;
}

namespace gnnc::frontend::pytorch {

struct NormalProgram;

class EqualSizes {
public:
  /// The symbol that stands for all that are equal to this one.
  const std::string &rootOf(const std::string &symbol) const;
  /// From now on `size` is `other`, if that says of two symbols that they are equal: n and m, or n + 1 and m + 1, or
  /// n and 2 m - n.
  void unite(const SymbolicExpr &size, const SymbolicExpr &other);
  /// The same where `other` may be a number: then a symbol of `size` is one from now on.
  void uniteOrFix(const SymbolicExpr &size, const SymbolicExpr &other);
  /// What the root of symbols has to be, if that is a number.
  std::optional<int64_t> numberOf(const std::string &root) const;

private:
  std::map<std::string, std::string> others; ///< no way from symbol to symbol comes back to one
  std::map<std::string, int64_t> numbers;
};

/// Sizes that are equal because an operation would be an error otherwise, although the file has other symbols for them:
/// lists of places along several axes, and the rows that are written there; a list of places and the rows that go
/// there; operands of one size, where the symbols are sizes of inputs.
void uniteSizesOfOperands(NormalProgram &program);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_EQUALSIZES_H
