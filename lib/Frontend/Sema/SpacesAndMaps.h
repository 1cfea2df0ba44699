//===- SpacesAndMaps.h - Declared spaces and maps ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_SPACESANDMAPS_H
#define GNNC_LIB_FRONTEND_SEMA_SPACESANDMAPS_H

#include "Sema/Paths.h"

namespace gnnc::frontend {

class SpacesAndMaps : ElaborationPart {
public:
  SpacesAndMaps(Context &context, Scopes &scopes, Paths &paths)
      : ElaborationPart(context), scopes(scopes), paths(paths) {}

  /// What a module sees: its imports' names, then its own, which hide them.
  const Scope &scopeOf(const Module &module);
  void declare(const ast::SpaceDecl &decl);
  void declare(const ast::MapDecl &decl);

  /// A name that this scope does not declare yet; outer ones may be hidden.
  bool checkNew(const ast::Name &name);

private:
  void declareRootRelation(const ast::RelationDecl &decl);
  MaybeId declarePairs(const ast::SpaceDecl &decl);
  MaybeId declareUnionMap(const ast::MapDecl &decl, Id from, Id to, llvm::StringRef name);

  Scopes &scopes;
  Paths &paths;
  std::map<const Module *, Scope> known;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_SPACESANDMAPS_H
