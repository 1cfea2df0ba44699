//===- Types.h - Residencies, axes and sizes --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_TYPES_H
#define GNNC_LIB_FRONTEND_SEMA_TYPES_H

#include "Sema/Paths.h"

namespace gnnc::frontend {

class Expressions;

class Types : ElaborationPart {
public:
  Types(Context &context, Scopes &scopes, Paths &paths, Expressions &expressions)
      : ElaborationPart(context), scopes(scopes), paths(paths), expressions(expressions) {}

  /// The space a type names; kNone for a shared one.
  std::optional<Id> residencyOf(const std::optional<ast::Name> &name);
  /// The axes of a declared value. `dim = 16` makes `dim` a size from here on.
  std::optional<std::vector<Axis>> axesOf(const ast::Type &type);
  std::optional<int64_t> evalSize(const ast::Expr &expr);
  std::optional<Number> evalNumber(const ast::Expr &expr, llvm::StringRef what);
  std::optional<Number> convert(Number number, ast::Formal::Kind kind, const ast::Name &name, Loc loc);

private:
  Scopes &scopes;
  Paths &paths;
  Expressions &expressions;
};

/// What an axis without a name is called: by its place from the end, so that such axes align as NumPy's do.
std::string anonymousAxis(size_t position, size_t count);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_TYPES_H
