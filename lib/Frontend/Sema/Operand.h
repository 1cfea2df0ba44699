//===- Operand.h - What an expression is worth ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_OPERAND_H
#define GNNC_LIB_FRONTEND_SEMA_OPERAND_H

#include "Sema/Numbers.h"
#include "gnnc/Frontend/ModelBuilder.h"

#include <optional>
#include <string>
#include <variant>

namespace gnnc::frontend {

/// A sparse value: one number for each entry of a sparse input.
struct Sparse {
  Id value = kNone;
  size_t input = 0; ///< in ModelSpec::sparseInputs
  std::string axis; ///< what its axis is called here
};

/// A value of ModelSpec.
struct Dense {
  Id id = kNone;
};

using Operand = std::variant<Number, Dense, Sparse>;
using MaybeOperand = std::optional<Operand>;

inline MaybeOperand wrap(MaybeId id) { return id ? MaybeOperand(Dense{*id}) : std::nullopt; }

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_OPERAND_H
