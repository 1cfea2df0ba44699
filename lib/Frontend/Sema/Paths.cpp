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

#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// What is in scope
//===----------------------------------------------------------------------===//

/// All maps in scope with the names they go by here, those of the relation in force first.
std::vector<std::pair<std::string, Id>> Elaborator::visibleMaps() {
  std::vector<std::pair<std::string, Id>> maps;
  std::set<Id> seen;
  auto add = [&](const std::string &name, Id map) {
    if (seen.insert(map).second)
      maps.emplace_back(name, map);
  };
  const RelationView &relation = frame->relation;
  if (relation.space != kNone) {
    add("src", relation.src);
    add("dst", relation.dst);
    for (auto &[name, map] : relation.extras)
      add(name, map);
  }
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global}) {
    for (auto &[name, map] : scope->maps)
      add(name, map);
    for (auto &[name, each] : scope->relations) {
      add(name + ".src", each.src);
      add(name + ".dst", each.dst);
    }
  }
  return maps;
}

std::string Elaborator::nameOfSpace(Id space) {
  for (const char *name : {"edge", "node", "source", "target"})
    if (findSpace(name) == space)
      return name;
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    for (auto &[name, id] : scope->spaces)
      if (id == space)
        return name;
  return builder.spaceName(space);
}

/// A chain of maps as it would be written.
std::string Elaborator::nameOfMaps(const std::vector<Id> &maps) {
  std::string text;
  auto visible = visibleMaps();
  for (Id map : maps) {
    auto named = llvm::find_if(visible, [&](auto &each) { return each.second == map; });
    text += (text.empty() ? "" : ".") + (named != visible.end() ? named->first : builder.map(map).name);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

MaybeId Elaborator::uniquePath(Id from, Id to, Loc loc, bool quiet) {
  if (from == to)
    return kNone;
  std::vector<Id> total;
  for (auto &[name, map] : visibleMaps())
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
      if (builder.space(space).kind == Space::Kind::Filter)
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
      error(loc, "no map leads from '" + nameOfSpace(from) + "' to '" + nameOfSpace(to) + "'");
    return std::nullopt;
  }
  const std::vector<Chain> &chains = frontier[to];
  if (chains.size() > 1) {
    if (!quiet)
      error(loc, "ambiguous: from '" + nameOfSpace(from) + "' to '" + nameOfSpace(to) + "' lead both '" +
                     nameOfMaps(chains[0]) + "' and '" + nameOfMaps(chains[1]) + "'");
    return std::nullopt;
  }
  MaybeId whole = kNone;
  for (Id map : chains[0])
    if (whole)
      whole = builder.compose(*whole, map, loc);
  return whole;
}

/// By inclusions only.
MaybeId Elaborator::structuralPath(Id from, Id to, Loc loc) {
  MaybeId map = kNone;
  for (Id at = from; map; at = builder.space(at).base) {
    if (at == to)
      return map;
    if (builder.space(at).kind != Space::Kind::Filter)
      return error(loc, "expected a path to '" + nameOfSpace(to) + "', found one to '" + nameOfSpace(from) + "'");
    MaybeId step = builder.inclusion(at, loc);
    map = step ? builder.compose(*map, *step, loc) : std::nullopt;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Following
//===----------------------------------------------------------------------===//

/// The map that the names from `i` on mean, if they mean one: a map's name; a relation's name and one of its maps; a
/// distinct space's name (or standing on it, nothing) and one of the maps it is made of.
std::optional<Id> Elaborator::mapStep(const ast::Path &path, size_t &i, Id at) {
  const std::string &name = path.names[i].text;
  auto projected = [&](Id space, StringRef of) -> std::optional<Id> {
    std::optional<Id> map = findMap(of);
    if (space < 0 || builder.space(space).kind != Space::Kind::Distinct || !map)
      return std::nullopt;
    const std::vector<Id> &maps = builder.space(space).maps;
    auto found = llvm::find(maps, *map);
    if (found == maps.end())
      return std::nullopt;
    return builder.projection(space, found - maps.begin(), path.loc);
  };
  if (std::optional<Id> map = findMap(name)) {
    if (std::optional<Id> projection = projected(at, name))
      map = projection;
    ++i;
    return map;
  }
  if (i + 1 >= path.names.size())
    return std::nullopt;
  const std::string &second = path.names[i + 1].text;
  if (const RelationView *relation = findRelation(name); relation && (second == "src" || second == "dst")) {
    i += 2;
    return second == "src" ? relation->src : relation->dst;
  }
  if (std::optional<Id> space = findSpace(name))
    if (std::optional<Id> projection = projected(*space, second)) {
      i += 2;
      return projection;
    }
  return std::nullopt;
}

/// Whether inclusions lead from one space to the other.
static bool includes(const ModelBuilder &builder, Id from, Id to) {
  while (from != to && builder.space(from).kind == Space::Kind::Filter)
    from = builder.space(from).base;
  return from == to;
}

std::optional<Elaborator::Route> Elaborator::resolve(const ast::Path &path, Id start, bool structural, Id end,
                                                     StringRef mapName) {
  if (path.none)
    return error(path.loc, "'none' stands only for a part of a union");
  Route route{kNone, start, start};
  std::vector<Id> chain;
  auto append = [&](MaybeId map) {
    if (map && *map != kNone)
      chain.push_back(*map);
    return map.has_value();
  };
  for (size_t i = 0; i < path.names.size();) {
    const ast::Name &name = path.names[i];
    if (isCursor(name.text)) {
      completePath(route.to);
      return std::nullopt;
    }
    if (findRelation(name.text) && i + 1 < path.names.size() && isCursor(path.names[i + 1].text)) {
      for (const char *end : {"src", "dst"})
        offer(Completion::Kind::Map, end, "map of relation " + name.text);
      return std::nullopt;
    }
    if (std::optional<Id> map = mapStep(path, i, route.to)) {
      const Map step = builder.map(*map);
      if (route.from == kUndefined)
        route.from = route.to = step.from;
      MaybeId reach = kNone;
      if (route.to != step.from) {
        if (structural && !includes(builder, route.to, step.from))
          return error(name.loc, "map '" + name.text + "' starts at '" + nameOfSpace(step.from) +
                                     "', which is not where the path is: '" + nameOfSpace(route.to) + "'");
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
    std::optional<Id> space = findSpace(name.text);
    if (!space || *space == kNone) {
      std::vector<std::string> known;
      for (auto &each : visibleMaps())
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
std::optional<ast::Path> Elaborator::pathOf(const ast::Expr &expr) {
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

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

/// Moves a value along a path that ends, maybe by the unique way, at the value's space.
MaybeOperand Elaborator::moveAlong(const Operand &x, const ast::Path &path, std::optional<double> fill, Loc loc) {
  auto *sparse = std::get_if<Sparse>(&x);
  Id residency = kNone;
  if (auto *value = std::get_if<Dense>(&x))
    residency = builder.value(value->id).residency;
  if (sparse)
    residency = builder.map(inputOf(*sparse).row).to;

  std::optional<Route> route = resolve(path, kUndefined, /*structural=*/false);
  if (!route)
    return std::nullopt;
  Id map = route->map;
  if (residency != kNone && route->to != residency) {
    if (route->map != kNone && route->from == residency)
      return error(loc, "the value is on '" + nameOfSpace(residency) + "' already; '" + path.names.back().text +
                            "' moves values from '" + nameOfSpace(route->to) + "' to '" + nameOfSpace(route->from) +
                            "'");
    MaybeId rest = uniquePath(route->to, residency, loc);
    MaybeId whole = rest ? builder.compose(map, *rest, loc) : std::nullopt;
    if (!whole)
      return std::nullopt;
    map = *whole;
  }
  if (map == kNone)
    return x;
  if (sparse)
    return sparseUnsupported(*sparse, "when it moves along '" + path.names.back().text + "'", loc);
  return moveValue(x, map, fill.value_or(0), loc);
}

/// A shared value is everywhere already. Where a partial map is undefined it still gives way to the fill.
MaybeOperand Elaborator::moveValue(const Operand &x, Id map, double fill, Loc loc) {
  auto *number = std::get_if<Number>(&x);
  bool shared = number || builder.value(std::get<Dense>(x).id).residency == kNone;
  if (!shared)
    return wrap(builder.move(std::get<Dense>(x).id, map, fill, loc));
  if (!builder.map(map).partial || (number && number->asDouble() == fill))
    return x;
  // An element is mapped somewhere exactly if it finds a degree that counts it.
  MaybeId count = builder.degree(map, loc);
  MaybeId defined = count ? builder.move(*count, map, 0, loc) : std::nullopt;
  MaybeId value = dense(x, loc, "a move"), other = builder.constant(fill, loc);
  if (!defined || !value || !other)
    return std::nullopt;
  return wrap(builder.select(*defined, *value, *other, loc));
}
