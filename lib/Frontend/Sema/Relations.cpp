//===- Relations.cpp - Relations that are put in force --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Relations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;
using llvm::StringRef;

/// A declared root relation, or a derived one applied to the relation in force.
std::optional<RelationView> Relations::relationNamed(const ast::Name &name, const RelationView &inForce) {
  if (isPlaceholder(name.text)) {
    context.observer->onRelation({context, scopes, paths});
    return std::nullopt;
  }
  if (const RelationView *root = scopes.findRelation(name.text)) {
    record(name.loc, "relation " + name.text, builder.space(root->space).loc);
    return *root;
  }
  if (Found<ast::RelationDecl> found = context.modules.findRelation(*frame->module, name.text)) {
    record(name.loc, "relation " + name.text, found.decl->name.loc);
    return applyRelation(*found.decl, *found.module, inForce, name.loc);
  }
  if (name.text == "edge" && inForce.space != kNone)
    return inForce;
  std::vector<std::string> known;
  visitModules(*frame->module, [&](const Module &module) {
    for (const ast::RelationDecl &relation : module.ast.relations)
      known.push_back(relation.name.text);
    return false;
  });
  for (auto &each : frame->global->relations)
    known.push_back(each.first);
  return error(name.loc, "unknown relation '" + name.text + "'" + suggestion(name.text, known));
}

std::optional<RelationView> Relations::applyRelation(const ast::RelationDecl &decl, const Module &module,
                                                     const RelationView &inForce, Loc loc) {
  if (inForce.space == kNone)
    return error(loc, "relation '" + decl.name.text + "' is derived from the relation in force, and there is none");
  auto key = std::tuple(&decl, inForce.space, inForce.src, inForce.dst);
  if (auto known = derived.find(key); known != derived.end())
    return known->second;
  Frame inside;
  inside.module = &module;
  inside.global = &spacesAndMaps.scopeOf(module);
  inside.relation = inside.outer = inForce;
  inside.prefix = (inForce.name == "edge" ? "" : inForce.name + ".") + decl.name.text + ".";
  Frame *outside = frame;
  unsigned errors = diagnostics.errorCount();
  frame = &inside;
  diagnostics.calls.push_back({loc, decl.name.text});
  llvm::scope_exit leave([&] {
    frame = outside;
    diagnostics.calls.pop_back();
  });
  for (const ast::Statement &statement : decl.body) {
    if (auto *each = std::get_if<ast::SpaceDecl>(&statement.node))
      spacesAndMaps.declare(*each);
    else if (auto *each = std::get_if<ast::MapDecl>(&statement.node))
      spacesAndMaps.declare(*each);
  }
  std::optional<Id> space = scopes.spaceNamed(decl.space);
  if (!space || diagnostics.errorCount() != errors)
    return std::nullopt;

  RelationView view;
  view.name = StringRef(inside.prefix).drop_back().str();
  view.space = *space;
  for (auto &[name, path] : decl.maps) {
    std::optional<Route> route = paths.resolve(path, *space, true);
    if (!route)
      return std::nullopt;
    if (route->map == kNone)
      return error(path.loc, "expected a map from '" + decl.space.text + "'");
    if (name.text == "src")
      view.src = route->map;
    else if (name.text == "dst")
      view.dst = route->map;
    else if (llvm::any_of(decl.extras, [&](const ast::Name &extra) { return extra.text == name.text; }))
      view.extras.emplace_back(name.text, route->map);
    else
      return error(name.loc,
                   "relation '" + decl.name.text + "' does not declare a map '" + name.text + "' in its header");
  }
  if (view.src == kNone || view.dst == kNone)
    return error(decl.space.loc, "a relation has maps 'src' and 'dst'; expected 'SPACE(src: ..., dst: ...)'");
  for (const ast::Name &extra : decl.extras)
    if (llvm::none_of(view.extras, [&](auto &each) { return each.first == extra.text; }))
      return error(extra.loc, "relation '" + decl.name.text + "' declares a map '" + extra.text +
                                  "', but does not say what it is");
  return derived[key] = view;
}
