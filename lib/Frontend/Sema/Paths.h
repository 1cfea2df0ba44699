//===- Paths.h - Finding and following maps ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_PATHS_H
#define GNNC_LIB_FRONTEND_SEMA_PATHS_H

#include "Sema/Scopes.h"

namespace gnnc::frontend {

/// Where a path leads; kNone for its map is the identity.
struct Route {
  Id map = kNone, from = kNone, to = kNone;
};

class Paths : ElaborationPart {
public:
  Paths(Context &context, Scopes &scopes) : ElaborationPart(context), scopes(scopes) {}

  /// The unique shortest chain of total maps; says so where there is none or several, unless `quiet`.
  MaybeId uniquePath(Id from, Id to, Loc loc, bool quiet = false);
  /// Follows a path from `start`, or from wherever its first name does where that is kUndefined.
  /// With an `end`, goes on by inclusions to there. A new composition is called `name`.
  std::optional<Route> resolve(const ast::Path &path, Id start, bool structural, Id end = kUndefined,
                               llvm::StringRef name = "");
  std::optional<Id> mapStep(const ast::Path &path, size_t &i, Id at);
  std::optional<ast::Path> pathOf(const ast::Expr &expr);

private:
  MaybeId structuralPath(Id from, Id to, Loc loc);

  Scopes &scopes;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_PATHS_H
