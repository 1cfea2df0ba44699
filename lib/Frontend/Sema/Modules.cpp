//===- Modules.cpp - Files and what they import ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Modules.h"
#include "EmbeddedText.h"
#include "Sema/Builtins.h"
#include "Syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace gnnc::frontend;
using llvm::StringRef;

/// How deep files may import files.
static constexpr size_t maxImports = 64;

Modules::Modules(Sources &sources, DiagnosticEngine &diagnostics, const CompileInputs &inputs)
    : sources(sources), diagnostics(diagnostics), inputs(inputs) {}

Modules::~Modules() = default;

std::optional<std::string> gnnc::frontend::embeddedText(const std::string &name) {
  for (const EmbeddedText &text : embeddedTexts())
    if (StringRef(text.name) == name)
      return std::string(text.text, text.size);
  return std::nullopt;
}

static std::optional<std::string> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return std::nullopt;
  return (*buffer)->getBuffer().str();
}

/// Why a file cannot be read, as far as the file system says.
static std::string reasonAgainst(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? "" : ": " + buffer.getError().message();
}

static std::string normalize(StringRef path) {
  llvm::SmallString<128> result(path);
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/true);
  return std::string(result);
}

const Module *Modules::loadText(const std::string &path, const std::string &text) {
  std::string key = normalize(path);
  loading.push_back(key);
  Module *module = add(key, path, text, /*embedded=*/false);
  loading.pop_back();
  return module;
}

Module *Modules::add(const std::string &key, const std::string &path, const std::string &text, bool embedded) {
  auto owned = std::make_unique<Module>();
  Module *module = owned.get();
  modules[key] = std::move(owned);
  module->embedded = embedded;
  module->file = sources.add(path, text);
  module->ast = Parser(sources, module->file, diagnostics).parseFile();
  if (key != "<prelude>")
    if (const Module *prelude = enter("<prelude>", "<std>/prelude.gnn", *embeddedText("prelude"), true, Loc()))
      module->imports.push_back(prelude);
  for (const ast::Import &import : module->ast.imports)
    if (const Module *imported = resolve(import, *module))
      module->imports.push_back(imported);
  checkNames(*module);
  return module;
}

const Module *Modules::resolve(const ast::Import &import, const Module &from) {
  const std::string &name = import.name.text;
  if (!import.isPath) {
    std::optional<std::string> text = embeddedText(name);
    if (!text) {
      diagnostics.error(import.name.loc, "no library '" + name + "'; a file is imported by its path in quotes");
      return nullptr;
    }
    return enter("<" + name + ">", "<std>/" + name + ".gnn", *text, true, import.name.loc);
  }
  if (from.embedded) {
    diagnostics.error(import.name.loc, "a library cannot import a file");
    return nullptr;
  }
  llvm::SmallString<128> path;
  if (!llvm::sys::path::is_absolute(name))
    path = llvm::sys::path::parent_path(sources[from.file].path);
  llvm::sys::path::append(path, name);
  std::string key = normalize(path);
  std::optional<std::string> text;
  if (!modules.count(key)) {
    text = inputs.readFile ? inputs.readFile(key) : readFile(key);
    if (!text) {
      std::string shown = key.empty() ? "." : key;
      diagnostics.error(import.name.loc, "cannot read '" + shown + "'" + reasonAgainst(shown));
      return nullptr;
    }
  }
  return enter(key, key, text.value_or(""), false, import.name.loc);
}

/// Loads a module unless it is there, and reports a cycle of imports.
const Module *Modules::enter(const std::string &key, const std::string &path, const std::string &text, bool embedded,
                             Loc loc) {
  if (auto start = llvm::find(loading, key); start != loading.end()) {
    std::string cycle;
    for (auto each = start; each != loading.end(); ++each)
      cycle += *each + " -> ";
    diagnostics.error(loc, "import cycle: " + cycle + key);
    return nullptr;
  }
  if (auto known = modules.find(key); known != modules.end())
    return known->second.get();
  if (loading.size() >= maxImports) {
    diagnostics.error(loc, "files import each other more than " + llvm::Twine(maxImports) + " levels deep");
    return nullptr;
  }
  loading.push_back(key);
  Module *module = add(key, path, text, embedded);
  loading.pop_back();
  return module;
}

/// No two layers, relations or models of one file may share a name, and no layer that of a built-in function.
void Modules::checkNames(const Module &module) {
  llvm::StringMap<Loc> seen;
  auto check = [&](const ast::Name &name, StringRef what) {
    if (auto [earlier, isNew] = seen.try_emplace(name.text, name.loc); !isNew) {
      diagnostics.error(name.loc, what + " '" + name.text + "' is already declared");
      diagnostics.note(earlier->second, "here");
    }
  };
  for (const ast::RelationDecl &relation : module.ast.relations)
    check(relation.name, "relation");
  for (const ast::LayerDecl &layer : module.ast.layers) {
    check(layer.name, "layer");
    if (isBuiltin(layer.name.text))
      diagnostics.error(layer.name.loc, "layer '" + layer.name.text + "' has the name of a built-in function");
  }
  for (const ast::ModelDecl &model : module.ast.models)
    check(model.name, "model");
}

static bool visit(const Module &module, llvm::SmallPtrSetImpl<const Module *> &seen,
                  const std::function<bool(const Module &)> &visitor) {
  if (!seen.insert(&module).second)
    return false;
  if (visitor(module))
    return true;
  for (const Module *import : llvm::reverse(module.imports))
    if (visit(*import, seen, visitor))
      return true;
  return false;
}

bool gnnc::frontend::visitModules(const Module &from, const std::function<bool(const Module &)> &visitor) {
  llvm::SmallPtrSet<const Module *, 8> seen;
  return visit(from, seen, visitor);
}

template <typename Decl>
static Found<Decl> findIn(const Module &from, StringRef name, std::vector<Decl> ast::File::*decls) {
  Found<Decl> found;
  visitModules(from, [&](const Module &module) {
    for (const Decl &decl : module.ast.*decls)
      if (decl.name.text == name) {
        found = {&decl, &module};
        return true;
      }
    return false;
  });
  return found;
}

Found<ast::LayerDecl> Modules::findLayer(const Module &from, StringRef name) const {
  return findIn(from, name, &ast::File::layers);
}

Found<ast::RelationDecl> Modules::findRelation(const Module &from, StringRef name) const {
  return findIn(from, name, &ast::File::relations);
}

std::vector<std::string> Modules::layerNames(const Module &from) const {
  std::vector<std::string> names;
  visitModules(from, [&](const Module &module) {
    for (const ast::LayerDecl &layer : module.ast.layers)
      names.push_back(layer.name.text);
    return false;
  });
  return names;
}

bool Modules::isInStandardLibrary(StringRef layer) {
  const Module *library = enter("<std>", "<std>/std.gnn", *embeddedText("std"), true, Loc());
  return library && findLayer(*library, layer);
}
