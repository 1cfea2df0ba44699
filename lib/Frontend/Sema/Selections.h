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
  Selections(Context &context, Paths &paths, SpacesAndMaps &spacesAndMaps, Types &types, Expressions &expressions)
      : ElaborationPart(context), paths(paths), spacesAndMaps(spacesAndMaps), types(types), expressions(expressions) {}

  /// `space near = knn(...)`: a space, and a relation of its name.
  void declare(const ast::SpaceDecl &decl);

private:
  MaybeId evalRows(const ast::Expr &expr);
  std::optional<std::vector<Id>> mapsOf(const ast::SpaceDecl &decl, Id queries, Id points);

  Paths &paths;
  SpacesAndMaps &spacesAndMaps;
  Types &types;
  Expressions &expressions;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_SELECTIONS_H
