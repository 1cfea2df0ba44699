//===- SpacesAndMaps.cpp - Declared spaces, maps and relations ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

/// Names of one scope hide those of another, whatever they are there.
static void addOver(Scope &scope, const Scope &names) {
  auto hide = [&](const std::string &name) {
    scope.spaces.erase(name);
    scope.maps.erase(name);
    scope.relations.erase(name);
  };
  for (auto &each : names.spaces)
    hide(each.first);
  for (auto &each : names.maps)
    hide(each.first);
  for (auto &each : names.spaces)
    scope.spaces[each.first] = each.second;
  for (auto &each : names.maps)
    scope.maps[each.first] = each.second;
  for (auto &each : names.relations)
    scope.relations[each.first] = each.second;
}

/// What a module sees: its imports' names, then its own, which hide them.
const Scope &Elaborator::scopeOf(const Module &module) {
  if (auto known = scopes.find(&module); known != scopes.end())
    return known->second;
  Scope scope;
  for (const Module *import : module.imports)
    addOver(scope, Scope(scopeOf(*import)));
  Frame top;
  top.module = &module;
  top.global = &scope;
  Frame *outside = frame;
  frame = &top;
  for (auto &each : module.ast.structure)
    std::visit(
        [&](const auto &decl) {
          if constexpr (std::is_same_v<std::decay_t<decltype(decl)>, ast::RelationDecl>)
            declareRootRelation(decl);
          else
            declare(decl);
        },
        each);
  frame = outside;
  addOver(scope, top.local);
  return scopes[&module] = std::move(scope);
}

/// Space `edge` of the relation in force, `node` where its ends are one space, `source` and `target`.
static std::optional<Id> spaceOfRelation(StringRef name, const RelationView &relation, const ModelBuilder &builder) {
  if (relation.space == kNone)
    return std::nullopt;
  Id source = builder.map(relation.src).to, target = builder.map(relation.dst).to;
  if (name == "edge")
    return relation.space;
  if (name == "source")
    return source;
  if (name == "target")
    return target;
  if (name == "node" && source == target)
    return source;
  return std::nullopt;
}

std::optional<Id> Elaborator::findSpace(StringRef name) {
  if (auto found = frame->local.spaces.find(name.str()); found != frame->local.spaces.end())
    return found->second;
  if (auto found = spaceOfRelation(name, frame->relation, builder))
    return found;
  if (auto found = frame->global->spaces.find(name.str()); found != frame->global->spaces.end())
    return found->second;
  return std::nullopt;
}

std::optional<Id> Elaborator::findMap(StringRef name) {
  if (auto found = frame->local.maps.find(name.str()); found != frame->local.maps.end())
    return found->second;
  if (frame->relation.space != kNone) {
    if (name == "src")
      return frame->relation.src;
    if (name == "dst")
      return frame->relation.dst;
    for (auto &[extra, map] : frame->relation.extras)
      if (extra == name)
        return map;
  }
  if (auto found = frame->global->maps.find(name.str()); found != frame->global->maps.end())
    return found->second;
  return std::nullopt;
}

const RelationView *Elaborator::findRelation(StringRef name) {
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    if (auto found = scope->relations.find(name.str()); found != scope->relations.end())
      return &found->second;
  return nullptr;
}

/// A space, or an error. Types see the relation in force where the layer is called, so callers set that up.
std::optional<Id> Elaborator::spaceNamed(const ast::Name &name) {
  const RelationView &relation = frame->relation;
  if (name.text == "node" && relation.space != kNone && !frame->local.spaces.count("node") &&
      builder.map(relation.src).to != builder.map(relation.dst).to)
    return error(name.loc, "'node' needs both ends of a relation to be one space, but '" + relation.name +
                               "' goes from '" + builder.spaceName(builder.map(relation.src).to) + "' to '" +
                               builder.spaceName(builder.map(relation.dst).to) + "'; use 'source' and 'target'");
  if (std::optional<Id> space = findSpace(name.text)) {
    if (*space != kNone)
      record(name.loc, "space " + builder.spaceName(*space), builder.space(*space).loc);
    return space;
  }
  std::vector<std::string> known = {"node", "edge", "source", "target", "shared"};
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    for (auto &each : scope->spaces)
      known.push_back(each.first);
  return error(name.loc, "unknown space '" + name.text + "'" + suggestion(name.text, known));
}

/// A name that this scope does not declare yet; outer ones may be hidden.
bool Elaborator::checkNew(const ast::Name &name) {
  // A new pass through a `repeat` declares anew what the one before has declared.
  if (frame->repeats == 0 && (frame->local.spaces.count(name.text) || frame->local.maps.count(name.text))) {
    error(name.loc, "'" + name.text + "' is declared already");
    return false;
  }
  for (const char *word : {"all", "none", "shared", "int", "float", "bool"})
    if (name.text == word) {
      error(name.loc, "'" + name.text + "' has a meaning of its own and cannot name a space or map");
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Elaborator::declare(const ast::SpaceDecl &decl) {
  using Kind = ast::SpaceDecl::Kind;
  if (!checkNew(decl.name))
    return;
  Loc loc = decl.name.loc;
  auto make = [&]() -> MaybeId {
    bool root = decl.kind == Kind::Root || decl.kind == Kind::Static;
    if (root && frame->relation.space != kNone)
      return error(loc, "a space that is given with the graph is declared outside of layers and models");
    switch (decl.kind) {
    case Kind::Root:
      return builder.rootSpace(decl.name.text, loc);
    case Kind::Static:
      return builder.staticSpace(decl.name.text, -1, loc);
    case Kind::Filter: {
      std::optional<Id> base = spaceNamed(decl.base);
      std::optional<Route> left = base ? resolve(decl.paths[0], *base, true) : std::nullopt;
      std::optional<Route> right = left ? resolve(decl.paths[1], *base, true) : std::nullopt;
      if (!right)
        return std::nullopt;
      if (left->map == kNone || right->map == kNone)
        return error(decl.paths[left->map == kNone ? 0 : 1].loc, "expected a map from '" + decl.base.text + "'");
      return builder.filterSpace(frame->prefix + decl.name.text, *base, left->map, right->map, decl.equal, loc);
    }
    case Kind::Union: {
      std::vector<Id> parts;
      for (const ast::Name &part : decl.parts)
        if (std::optional<Id> id = spaceNamed(part); id && *id != kNone)
          parts.push_back(*id);
        else
          return std::nullopt;
      return builder.unionSpace(frame->prefix + decl.name.text, parts, loc);
    }
    case Kind::Distinct: {
      std::vector<Id> maps;
      Id base = kUndefined;
      for (const ast::Path &path : decl.paths) {
        std::optional<Route> route = resolve(path, base, true);
        if (!route)
          return std::nullopt;
        if (route->map == kNone)
          return error(path.loc, "expected a map");
        base = route->from;
        maps.push_back(route->map);
      }
      return builder.distinctSpace(frame->prefix + decl.name.text, base, maps, loc);
    }
    }
    return std::nullopt;
  };
  if (MaybeId id = make()) {
    frame->local.spaces[decl.name.text] = *id;
    record(loc, "space " + decl.name.text, loc);
  }
}

void Elaborator::declare(const ast::MapDecl &decl) {
  using Kind = ast::MapDecl::Kind;
  std::optional<Id> from, to;
  if (decl.from) {
    from = spaceNamed(*decl.from);
    to = from ? spaceNamed(*decl.to) : std::nullopt;
    if (!to)
      return;
  }
  for (const ast::Name &name : decl.names) {
    if (!checkNew(name))
      continue;
    std::string full = frame->prefix + name.text;
    auto make = [&]() -> MaybeId {
      if (decl.kind == Kind::Root) {
        if (frame->relation.space != kNone)
          return error(name.loc, "a map that is given with the graph is declared outside of layers and models");
        return builder.rootMap(name.text, *from, *to, decl.partial, name.loc);
      }
      if (decl.kind == Kind::Last) {
        std::optional<Id> base = spaceNamed(decl.base);
        std::optional<Route> route = base ? resolve(decl.paths[0], *base, true) : std::nullopt;
        if (!route)
          return std::nullopt;
        if (route->map == kNone)
          return error(decl.paths[0].loc, "expected a map from '" + decl.base.text + "'");
        return builder.last(full, route->map, name.loc);
      }
      if (from && *from != kNone && builder.space(*from).kind == Space::Kind::Union &&
          (decl.paths.size() > 1 || builder.space(*from).parts.size() == 1 || decl.paths[0].none))
        return declareUnionMap(decl, *from, *to, full);
      if (decl.paths.size() > 1 || decl.paths[0].none)
        return error(name.loc, "only a map from a union has one path for each of several parts");
      std::optional<Route> route =
          resolve(decl.paths[0], from.value_or(kUndefined), true, to.value_or(kUndefined), full);
      if (route && route->map == kNone)
        return error(decl.paths[0].loc, "this is the identity; expected a map");
      return route ? MaybeId(route->map) : std::nullopt;
    };
    MaybeId id = make();
    if (!id)
      continue;
    const Map &map = builder.map(*id);
    if (from && (map.from != *from || map.to != *to)) {
      error(name.loc, "map '" + name.text + "' is declared from '" + builder.spaceName(*from) + "' to '" +
                          builder.spaceName(*to) + "', but goes from '" + builder.spaceName(map.from) + "' to '" +
                          builder.spaceName(map.to) + "'");
      continue;
    }
    frame->local.maps[name.text] = *id;
    record(name.loc, "map " + name.text + ": " + builder.spaceName(map.from) + " -> " + builder.spaceName(map.to),
           name.loc);
  }
}

/// map m: U -> B = p | q: a path from each part.
MaybeId Elaborator::declareUnionMap(const ast::MapDecl &decl, Id from, Id to, StringRef name) {
  const std::vector<Id> parts = builder.space(from).parts;
  if (parts.size() != decl.paths.size())
    return error(decl.names[0].loc, "union '" + builder.spaceName(from) + "' has " + Twine(parts.size()) +
                                        " parts, but " + Twine(decl.paths.size()) + " paths are given");
  std::vector<Id> maps;
  for (auto [part, path] : llvm::zip(parts, decl.paths)) {
    if (path.none) {
      maps.push_back(kUndefined);
      continue;
    }
    std::optional<Route> route = resolve(path, part, true, to);
    if (!route)
      return std::nullopt;
    maps.push_back(route->map);
  }
  return builder.parts(name, from, to, maps, decl.names[0].loc);
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

void Elaborator::declareRootRelation(const ast::RelationDecl &decl) {
  if (!checkNew(decl.name))
    return;
  std::optional<Id> from = spaceNamed(decl.from), to = spaceNamed(decl.to);
  if (!from || !to)
    return;
  const std::string &name = decl.name.text;
  MaybeId space = builder.rootSpace(name, decl.name.loc);
  MaybeId src = space ? builder.rootMap(name + ".src", *space, *from, false, decl.name.loc) : std::nullopt;
  MaybeId dst = src ? builder.rootMap(name + ".dst", *space, *to, false, decl.name.loc) : std::nullopt;
  if (!dst)
    return;
  frame->local.spaces[name] = *space;
  frame->local.relations[name] = {name, *space, *src, *dst, {}};
  record(decl.name.loc, "relation " + name + ": " + builder.spaceName(*from) + " -> " + builder.spaceName(*to),
         decl.name.loc);
}

/// A declared root relation, or a derived one applied to the relation in force.
std::optional<RelationView> Elaborator::relationNamed(const ast::Name &name, const RelationView &inForce) {
  if (isCursor(name.text)) {
    completeRelation();
    return std::nullopt;
  }
  if (const RelationView *root = findRelation(name.text)) {
    record(name.loc, "relation " + name.text, builder.space(root->space).loc);
    return *root;
  }
  if (auto derived = modules.findRelation(*frame->module, name.text)) {
    record(name.loc, "relation " + name.text, derived.decl->name.loc);
    return applyRelation(*derived.decl, *derived.module, inForce, name.loc);
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

std::optional<RelationView> Elaborator::applyRelation(const ast::RelationDecl &decl, const Module &module,
                                                      const RelationView &inForce, Loc loc) {
  if (inForce.space == kNone)
    return error(loc, "relation '" + decl.name.text + "' is derived from the relation in force, and there is none");
  auto key = std::tuple(&decl, inForce.space, inForce.src, inForce.dst);
  if (auto known = derivedRelations.find(key); known != derivedRelations.end())
    return known->second;
  Frame inside;
  inside.module = &module;
  inside.global = &scopeOf(module);
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
  runBlock(decl.body);
  std::optional<Id> space = spaceNamed(decl.space);
  if (!space || diagnostics.errorCount() != errors)
    return std::nullopt;

  RelationView view;
  view.name = StringRef(inside.prefix).drop_back().str();
  view.space = *space;
  for (auto &[name, path] : decl.maps) {
    std::optional<Route> route = resolve(path, *space, true);
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
                   "relation '" + decl.name.text + "' does not announce a map '" + name.text + "' in its header");
  }
  if (view.src == kNone || view.dst == kNone)
    return error(decl.space.loc, "a relation has maps 'src' and 'dst'; expected 'SPACE(src: ..., dst: ...)'");
  for (const ast::Name &extra : decl.extras)
    if (llvm::none_of(view.extras, [&](auto &each) { return each.first == extra.text; }))
      return error(extra.loc, "relation '" + decl.name.text + "' announces a map '" + extra.text +
                                  "', but does not say what it is");
  return derivedRelations[key] = view;
}
