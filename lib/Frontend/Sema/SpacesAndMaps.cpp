//===- SpacesAndMaps.cpp - Declared spaces and maps -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/SpacesAndMaps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

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
const Scope &SpacesAndMaps::scopeOf(const Module &module) {
  if (auto found = known.find(&module); found != known.end())
    return found->second;
  Scope scope;
  for (const Module *import : module.imports)
    addOver(scope, Scope(scopeOf(*import)));
  Frame top;
  top.module = &module;
  top.global = &scope;
  Frame *outside = frame;
  frame = &top;
  for (auto &each : module.ast.spacesAndMaps)
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
  return known[&module] = std::move(scope);
}

bool SpacesAndMaps::checkNew(const ast::Name &name) {
  // A new pass through a `repeat` declares anew what the one before has declared.
  if (frame->repeats == 0 && (frame->local.spaces.count(name.text) || frame->local.maps.count(name.text))) {
    error(name.loc, "'" + name.text + "' is already declared");
    return false;
  }
  for (const char *word : {"all", "none", "shared", "int", "float", "bool"})
    if (name.text == word) {
      error(name.loc, "'" + name.text + "' has a special meaning and cannot name a space or map");
      return false;
    }
  return true;
}

void SpacesAndMaps::declare(const ast::SpaceDecl &decl) {
  using Kind = ast::SpaceDecl::Kind;
  if (!checkNew(decl.name))
    return;
  Loc loc = decl.name.loc;
  auto make = [&]() -> MaybeId {
    bool root = decl.kind == Kind::Root || decl.kind == Kind::Static;
    if (root && frame->relation.space != kNone)
      return error(loc, "a space that is given with the graph is declared outside of layers and models");
    switch (decl.kind) {
    case Kind::Root: {
      MaybeId id = builder.rootSpace(decl.name.text, loc);
      if (id && !decl.source.empty())
        builder.setSpaceSource(*id, decl.source);
      return id;
    }
    case Kind::Static:
      return builder.staticSpace(decl.name.text, -1, loc);
    case Kind::Filter: {
      if (decl.paths.empty())
        return error(loc, "a space that is made from values is declared in a model or layer, where these are");
      std::optional<Id> base = scopes.spaceNamed(decl.base);
      std::optional<Route> left = base ? paths.resolve(decl.paths[0], *base, true) : std::nullopt;
      std::optional<Route> right = left ? paths.resolve(decl.paths[1], *base, true) : std::nullopt;
      if (!right)
        return std::nullopt;
      if (left->map == kNone || right->map == kNone)
        return error(decl.paths[left->map == kNone ? 0 : 1].loc, "expected a map from '" + decl.base.text + "'");
      return builder.filterSpace(frame->prefix + decl.name.text, *base, left->map, right->map, decl.equal, loc);
    }
    case Kind::Union: {
      std::vector<Id> parts;
      for (const ast::Name &part : decl.parts)
        if (std::optional<Id> id = scopes.spaceNamed(part); id && *id != kNone)
          parts.push_back(*id);
        else
          return std::nullopt;
      return builder.unionSpace(frame->prefix + decl.name.text, parts, loc);
    }
    case Kind::Distinct: {
      std::vector<Id> maps;
      Id base = kUndefined;
      for (const ast::Path &path : decl.paths) {
        std::optional<Route> route = paths.resolve(path, base, true);
        if (!route)
          return std::nullopt;
        if (route->map == kNone)
          return error(path.loc, "expected a map");
        base = route->from;
        maps.push_back(route->map);
      }
      return builder.distinctSpace(frame->prefix + decl.name.text, base, maps, loc);
    }
    case Kind::Pairs:
      return declarePairs(decl);
    case Kind::Nearest:
    case Kind::Within:
    case Kind::Top:
    case Kind::Farthest:
      return error(loc, "a space that is made from values is declared in a model or layer, where these are");
    }
    return std::nullopt;
  };
  if (MaybeId id = make()) {
    frame->local.spaces[decl.name.text] = *id;
    record(loc, "space " + decl.name.text, loc);
  }
}

/// `pairs(m, n)`, of elements that m and n send to the same element; `pairs(m)` with one map for both sides, and
/// `pairs(A, B)` or `pairs(A)` of all elements of spaces. A relation of the same name leads to both sides.
MaybeId SpacesAndMaps::declarePairs(const ast::SpaceDecl &decl) {
  Loc loc = decl.name.loc;
  std::vector<Id> sides, maps;
  bool all = llvm::all_of(decl.paths, [&](const ast::Path &path) {
    return path.names.size() == 1 && !scopes.findMap(path.names[0].text) && scopes.findSpace(path.names[0].text);
  });
  for (const ast::Path &path : decl.paths) {
    if (all) {
      std::optional<Id> space = scopes.spaceNamed(path.names[0]);
      MaybeId map = space && *space != kNone ? builder.only(*space, kNone, loc) : std::nullopt;
      if (!map)
        return std::nullopt;
      sides.push_back(*space);
      maps.push_back(*map);
      continue;
    }
    std::optional<Route> route = paths.resolve(path, kUndefined, true);
    if (!route)
      return std::nullopt;
    if (route->map == kNone)
      return error(path.loc, "expected a map");
    sides.push_back(route->from);
    maps.push_back(route->map);
  }
  MaybeId space =
      builder.pairsSpace(frame->prefix + decl.name.text, sides.front(), sides.back(), {maps.front(), maps.back()}, loc);
  MaybeId owner = space ? builder.owner(*space, loc) : std::nullopt;
  MaybeId partner = owner ? builder.partner(*space, loc) : std::nullopt;
  if (!partner)
    return std::nullopt;
  frame->local.relations[decl.name.text] = {decl.name.text, *space, *partner, *owner, {}};
  return space;
}

void SpacesAndMaps::declare(const ast::MapDecl &decl) {
  using Kind = ast::MapDecl::Kind;
  std::optional<Id> from, to;
  if (decl.from) {
    from = scopes.spaceNamed(*decl.from);
    to = from ? scopes.spaceNamed(*decl.to) : std::nullopt;
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
        MaybeId id = builder.rootMap(name.text, *from, *to, decl.partial, name.loc);
        if (id && !decl.source.empty())
          builder.setMapSource(*id, decl.source);
        return id;
      }
      if (decl.kind == Kind::Last) {
        std::optional<Id> base = scopes.spaceNamed(decl.base);
        std::optional<Route> route = base ? paths.resolve(decl.paths[0], *base, true) : std::nullopt;
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
          paths.resolve(decl.paths[0], from.value_or(kUndefined), true, to.value_or(kUndefined), full);
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
MaybeId SpacesAndMaps::declareUnionMap(const ast::MapDecl &decl, Id from, Id to, StringRef name) {
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
    std::optional<Route> route = paths.resolve(path, part, true, to);
    if (!route)
      return std::nullopt;
    maps.push_back(route->map);
  }
  return builder.parts(name, from, to, maps, decl.names[0].loc);
}

void SpacesAndMaps::declareRootRelation(const ast::RelationDecl &decl) {
  if (!checkNew(decl.name))
    return;
  std::optional<Id> from = scopes.spaceNamed(decl.from), to = scopes.spaceNamed(decl.to);
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
