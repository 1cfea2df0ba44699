//===- Paths.cpp - Finding and following maps -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A path names maps one after the other. Between two of them, and where only a space is named, the way is found: the
// unique shortest chain of total maps that are in scope. Two different shortest ones are ambiguous.
//
//===----------------------------------------------------------------------===//

#include "Sema/Paths.h"

#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace gnnc::frontend;
using llvm::StringRef;

/// Whether inclusions lead from one space to the other.
static bool includes(const ModelBuilder &builder, Id from, Id to) {
  while (from != to && builder.isSubset(from))
    from = builder.space(from).base;
  return from == to;
}

MaybeId Paths::uniquePath(Id from, Id to, Loc loc, bool quiet) {
  if (from == to)
    return kNone;
  std::vector<Id> total;
  for (auto &[name, map] : scopes.visibleMaps())
    if (!builder.map(map).partial)
      total.push_back(map);
  std::vector<Id> distinct;
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    for (auto &[name, space] : scope->spaces)
      if (space != kNone && builder.space(space).kind == Space::Kind::Distinct)
        distinct.push_back(space);

  // Breadth first, one length of chain a round. Two chains a space are enough to see that it is ambiguous.
  using Chain = std::vector<Id>;
  std::map<Id, std::vector<Chain>> frontier = {{from, {Chain()}}};
  std::set<Id> reached = {from};
  while (!frontier.empty() && !frontier.count(to)) {
    std::map<Id, std::vector<Chain>> next;
    for (auto &[space, chains] : frontier) {
      auto follow = [&](Id map) {
        Id end = builder.map(map).to;
        if (reached.count(end))
          return;
        for (Chain chain : chains) {
          chain.push_back(map);
          std::vector<Chain> &known = next[end];
          if (known.size() < 2 && !llvm::is_contained(known, chain))
            known.push_back(std::move(chain));
        }
      };
      for (Id map : total)
        if (builder.map(map).from == space)
          follow(map);
      if (builder.isSubset(space))
        if (MaybeId map = builder.inclusion(space, loc))
          follow(*map);
      if (builder.space(space).kind == Space::Kind::Distinct)
        for (size_t i = 0; i < builder.space(space).maps.size(); ++i)
          if (MaybeId map = builder.projection(space, i, loc))
            follow(*map);
      for (Id each : distinct)
        if (builder.space(each).base == space)
          if (MaybeId map = builder.classOf(each, loc))
            follow(*map);
    }
    for (auto &[space, chains] : next)
      reached.insert(space);
    frontier = std::move(next);
  }
  if (frontier.empty()) {
    if (!quiet)
      error(loc, "no map leads from '" + scopes.nameOfSpace(from) + "' to '" + scopes.nameOfSpace(to) + "'");
    return std::nullopt;
  }
  const std::vector<Chain> &chains = frontier[to];
  if (chains.size() > 1) {
    if (!quiet)
      error(loc, "ambiguous: both '" + scopes.nameOfMaps(chains[0]) + "' and '" + scopes.nameOfMaps(chains[1]) +
                     "' lead from '" + scopes.nameOfSpace(from) + "' to '" + scopes.nameOfSpace(to) + "'");
    return std::nullopt;
  }
  MaybeId whole = kNone;
  for (Id map : chains[0])
    if (whole)
      whole = builder.compose(*whole, map, loc);
  return whole;
}

/// By inclusions only.
MaybeId Paths::structuralPath(Id from, Id to, Loc loc) {
  MaybeId map = kNone;
  for (Id at = from; map; at = builder.space(at).base) {
    if (at == to)
      return map;
    if (!builder.isSubset(at))
      return error(loc, "expected a path to '" + scopes.nameOfSpace(to) + "', found one to '" +
                            scopes.nameOfSpace(from) + "'");
    MaybeId step = builder.inclusion(at, loc);
    map = step ? builder.compose(*map, *step, loc) : std::nullopt;
  }
  return std::nullopt;
}

/// The map that the names from `i` on mean, if they mean one: a map's name; a relation's name and one of its maps; a
/// distinct space's name (or standing on it, nothing) and one of the maps it is made of.
std::optional<Id> Paths::mapStep(const ast::Path &path, size_t &i, Id at) {
  const std::string &name = path.names[i].text;
  auto projected = [&](Id space, StringRef of) -> std::optional<Id> {
    std::optional<Id> map = scopes.findMap(of);
    if (space < 0 || builder.space(space).kind != Space::Kind::Distinct || !map)
      return std::nullopt;
    const std::vector<Id> &maps = builder.space(space).maps;
    auto found = llvm::find(maps, *map);
    if (found == maps.end())
      return std::nullopt;
    return builder.projection(space, found - maps.begin(), path.loc);
  };
  if (std::optional<Id> map = scopes.findMap(name)) {
    if (std::optional<Id> projection = projected(at, name))
      map = projection;
    ++i;
    return map;
  }
  if (i + 1 >= path.names.size())
    return std::nullopt;
  const std::string &second = path.names[i + 1].text;
  if (const RelationView *relation = scopes.findRelation(name); relation && (second == "src" || second == "dst")) {
    i += 2;
    return second == "src" ? relation->src : relation->dst;
  }
  if (std::optional<Id> space = scopes.findSpace(name))
    if (std::optional<Id> projection = projected(*space, second)) {
      i += 2;
      return projection;
    }
  return std::nullopt;
}

std::optional<Route> Paths::resolve(const ast::Path &path, Id start, bool structural, Id end, StringRef mapName) {
  if (path.none)
    return error(path.loc, "'none' is allowed only for a part of a union");
  Route route{kNone, start, start};
  std::vector<Id> chain;
  auto append = [&](MaybeId map) {
    if (map && *map != kNone)
      chain.push_back(*map);
    return map.has_value();
  };
  for (size_t i = 0; i < path.names.size();) {
    const ast::Name &name = path.names[i];
    if (isPlaceholder(name.text)) {
      context.observer->onPath({context, scopes, *this}, route.to);
      return std::nullopt;
    }
    if (scopes.findRelation(name.text) && i + 1 < path.names.size() && isPlaceholder(path.names[i + 1].text)) {
      context.observer->onRelationMap({context, scopes, *this}, name.text);
      return std::nullopt;
    }
    if (std::optional<Id> map = mapStep(path, i, route.to)) {
      const Map step = builder.map(*map);
      if (route.from == kUndefined)
        route.from = route.to = step.from;
      MaybeId reach = kNone;
      if (route.to != step.from) {
        if (structural && !includes(builder, route.to, step.from))
          return error(name.loc, "map '" + name.text + "' starts at '" + scopes.nameOfSpace(step.from) +
                                     "', but the path is at '" + scopes.nameOfSpace(route.to) + "'");
        reach = structural ? structuralPath(route.to, step.from, name.loc) : uniquePath(route.to, step.from, name.loc);
      }
      if (!append(reach) || !append(*map))
        return std::nullopt;
      route.to = step.to;
      record(path.names[i - 1].loc,
             "map " + path.names[i - 1].text + ": " + builder.spaceName(step.from) + " -> " +
                 builder.spaceName(step.to),
             step.loc);
      continue;
    }
    ++i;
    std::optional<Id> space = scopes.findSpace(name.text);
    if (!space || *space == kNone) {
      std::vector<std::string> known;
      for (auto &each : scopes.visibleMaps())
        known.push_back(each.first);
      return error(name.loc, "no map or space '" + name.text + "' is in scope" + suggestion(name.text, known));
    }
    if (route.from == kUndefined)
      route.from = route.to = *space;
    if (!append(uniquePath(route.to, *space, name.loc)))
      return std::nullopt;
    route.to = *space;
  }
  if (end != kUndefined) {
    if (!append(structuralPath(route.to, end, path.loc)))
      return std::nullopt;
    route.to = end;
  }
  // Only the whole chain has the name.
  for (auto [i, map] : llvm::enumerate(chain)) {
    MaybeId whole = builder.compose(route.map, map, path.loc, i + 1 == chain.size() ? mapName : "");
    if (!whole)
      return std::nullopt;
    route.map = *whole;
  }
  return route;
}

/// The path that an expression of names and dots spells.
std::optional<ast::Path> Paths::pathOf(const ast::Expr &expr) {
  ast::Path path;
  path.loc = expr.loc;
  const ast::Expr *at = &expr;
  for (; at->kind == ast::Expr::Kind::Member; at = at->operands[0].get())
    path.names.push_back({at->name, at->loc});
  if (at->kind != ast::Expr::Kind::Name)
    return error(at->loc, "expected the name of a map, such as 'dst' or 'follows.dst'");
  path.names.push_back({at->name, at->loc});
  std::reverse(path.names.begin(), path.names.end());
  path.loc = path.names[0].loc;
  return path;
}
