//===- Moves.h - Values along maps ------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_MOVES_H
#define GNNC_LIB_FRONTEND_SEMA_MOVES_H

#include "Sema/Paths.h"

namespace gnnc::frontend {

class Moves : ElaborationPart {
public:
  Moves(Context &context, Scopes &scopes, Paths &paths) : ElaborationPart(context), scopes(scopes), paths(paths) {}

  /// Moves a value along a path that ends, maybe by the unique way, at the value's space.
  MaybeOperand moveAlong(const Operand &x, const ast::Path &path, std::optional<double> fill, Loc loc);
  /// A shared value is everywhere already. Where a partial map is undefined it still gives way to the fill.
  MaybeOperand moveValue(const Operand &x, Id map, double fill, Loc loc);

private:
  Scopes &scopes;
  Paths &paths;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_MOVES_H
