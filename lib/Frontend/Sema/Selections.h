//===- Selections.h - Spaces that are made from values ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_SELECTIONS_H
#define GNNC_LIB_FRONTEND_SEMA_SELECTIONS_H

#include "Sema/Expressions.h"
#include "Sema/SpacesAndMaps.h"

namespace gnnc::frontend {

class Selections : ElaborationPart {
public:
  Selections(Context &context, Scopes &scopes, Paths &paths, SpacesAndMaps &spacesAndMaps, Types &types,
             Expressions &expressions)
      : ElaborationPart(context), scopes(scopes), paths(paths), spacesAndMaps(spacesAndMaps), types(types),
        expressions(expressions) {}

  /// Whether values say which elements the space has that is declared.
  bool isOfValues(const ast::SpaceDecl &decl);
  /// `space near = knn(...)`: a space, and a relation of its name; `space kept = filter(edge, x > 0)`: a space.
  void declare(const ast::SpaceDecl &decl);

private:
  void declareCompared(const ast::SpaceDecl &decl);
  void declareMembers(const ast::SpaceDecl &decl);
  void declareKept(const ast::SpaceDecl &decl);
  MaybeId declareSpace(const ast::SpaceDecl &decl, Id base, Id of, llvm::ArrayRef<Id> maps, const Space &limits);
  std::optional<int64_t> evalCount(const ast::Expr &expr, llvm::StringRef what);
  MaybeId evalRows(const ast::Expr &expr);
  std::optional<std::vector<Id>> mapsOf(const ast::SpaceDecl &decl, Id queries, Id points);

  Scopes &scopes;
  Paths &paths;
  SpacesAndMaps &spacesAndMaps;
  Types &types;
  Expressions &expressions;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_SELECTIONS_H
