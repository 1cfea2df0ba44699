//===- Modules.h - Files and what they import -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module is one parsed file. It sees its own declarations first, then those of what it imports (a later import before
// an earlier one, with all that it imports in turn), then the prelude.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_MODULES_H
#define GNNC_LIB_FRONTEND_SEMA_MODULES_H

#include "Sources.h"
#include "Syntax/AST.h"
#include "gnnc/Frontend/Frontend.h"

#include <map>
#include <memory>

namespace gnnc::frontend {

struct Module {
  unsigned file = 0;
  bool embedded = false;
  ast::File ast;
  std::vector<const Module *> imports; ///< the prelude first
};

/// A declaration and the module whose names it uses.
template <typename Decl> struct Found {
  const Decl *decl = nullptr;
  const Module *module = nullptr;
  explicit operator bool() const { return decl; }
};

class Modules {
public:
  Modules(Sources &sources, DiagnosticEngine &diagnostics, const CompileInputs &inputs);
  ~Modules(); // of all declarations and statements: compiled once

  /// Parses a text and all it imports.
  const Module *loadText(const std::string &path, const std::string &text);

  Found<ast::LayerDecl> findLayer(const Module &from, llvm::StringRef name) const;
  Found<ast::RelationDecl> findRelation(const Module &from, llvm::StringRef name) const;
  /// Whether `import std` brings a layer of that name.
  bool isInStandardLibrary(llvm::StringRef layer);
  /// The names of all layers a module sees, for suggestions.
  std::vector<std::string> layerNames(const Module &from) const;

private:
  Module *add(const std::string &key, const std::string &path, const std::string &text, bool embedded);
  void checkNames(const Module &module);
  const Module *resolve(const ast::Import &import, const Module &from);
  const Module *enter(const std::string &key, const std::string &path, const std::string &text, bool embedded, Loc loc);

  Sources &sources;
  DiagnosticEngine &diagnostics;
  const CompileInputs &inputs;
  std::map<std::string, std::unique_ptr<Module>> modules;
  std::vector<std::string> loading; ///< from the main file to the one being parsed
};

/// Visits the modules that `from` sees, in order of preference, until `visit` returns true.
bool visitModules(const Module &from, const std::function<bool(const Module &)> &visit);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_MODULES_H
