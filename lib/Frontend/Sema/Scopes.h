//===- Scopes.h - Looking up names of spaces and maps -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_SCOPES_H
#define GNNC_LIB_FRONTEND_SEMA_SCOPES_H

#include "Sema/Context.h"

namespace gnnc::frontend {

class Scopes : ElaborationPart {
public:
  explicit Scopes(Context &context) : ElaborationPart(context) {}

  std::optional<Id> findSpace(llvm::StringRef name);
  std::optional<Id> findMap(llvm::StringRef name);
  const RelationView *findRelation(llvm::StringRef name);
  std::optional<Id> spaceNamed(const ast::Name &name);

  /// What is in scope, with the names it goes by here.
  std::vector<std::pair<std::string, Id>> visibleMaps();
  std::vector<std::pair<std::string, Id>> visibleSpaces();
  std::string nameOfSpace(Id space);
  /// A chain of maps as it would be written.
  std::string nameOfMaps(const std::vector<Id> &maps);
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_SCOPES_H
