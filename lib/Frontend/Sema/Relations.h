//===- Relations.h - Relations that are put in force ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_RELATIONS_H
#define GNNC_LIB_FRONTEND_SEMA_RELATIONS_H

#include "Sema/SpacesAndMaps.h"

namespace gnnc::frontend {

class Relations : ElaborationPart {
public:
  Relations(Context &context, Scopes &scopes, Paths &paths, SpacesAndMaps &spacesAndMaps)
      : ElaborationPart(context), scopes(scopes), paths(paths), spacesAndMaps(spacesAndMaps) {}

  /// A declared root relation, or a derived one applied to the relation in force.
  std::optional<RelationView> relationNamed(const ast::Name &name, const RelationView &inForce);

private:
  std::optional<RelationView> applyRelation(const ast::RelationDecl &decl, const Module &module,
                                            const RelationView &inForce, Loc loc);

  Scopes &scopes;
  Paths &paths;
  SpacesAndMaps &spacesAndMaps;
  std::map<std::tuple<const ast::RelationDecl *, Id, Id, Id>, RelationView> derived;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_RELATIONS_H
