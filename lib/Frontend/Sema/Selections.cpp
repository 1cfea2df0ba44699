//===- Selections.cpp - Spaces that are made from values ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Selections.h"

using namespace gnnc::frontend;

/// What has a row for each element of a space.
MaybeId Selections::evalRows(const ast::Expr &expr) {
  MaybeOperand operand = expressions.eval(expr);
  MaybeId value = operand ? dense(*operand, expr.loc, "be compared by distance") : std::nullopt;
  if (value && builder.value(*value).residency == kNone)
    return error(expr.loc, "neighbours are those of elements, but this is shared: " + builder.describe(*value));
  return value;
}

/// Where what is chosen for, and what is chosen, belong; none if everything belongs together.
std::optional<std::vector<Id>> Selections::mapsOf(const ast::SpaceDecl &decl, Id queries, Id points) {
  std::vector<Id> maps;
  if (decl.paths.empty())
    return maps;
  for (auto [path, from] : {std::pair(&decl.paths.back(), queries), std::pair(&decl.paths.front(), points)}) {
    std::optional<Route> route = paths.resolve(*path, from, true);
    if (!route)
      return std::nullopt;
    if (route->map == kNone)
      return error(path->loc, "expected a map from '" + builder.spaceName(from) + "'");
    maps.push_back(route->map);
  }
  return maps;
}

/// The integer that says how many are chosen for each.
std::optional<int64_t> Selections::evalCount(const ast::Expr &expr, llvm::StringRef what) {
  std::optional<Number> most = types.evalNumber(expr, "the number of " + what.str() + "s");
  if (!most)
    return std::nullopt;
  if (!most->isInt()) {
    error(expr.loc, "the number of " + what + "s must be an integer, found " + most->str());
    return std::nullopt;
  }
  if (most->integer < 1) {
    error(expr.loc, "expected one " + what + " or more, found " + most->str());
    return std::nullopt;
  }
  return most->integer;
}

bool Selections::isOfValues(const ast::SpaceDecl &decl) {
  using Kind = ast::SpaceDecl::Kind;
  if (decl.kind != Kind::Filter)
    return decl.kind == Kind::Nearest || decl.kind == Kind::Within || decl.kind == Kind::Top ||
           decl.kind == Kind::Farthest;
  // a == b compares maps where a is the name of one, or begins a path; a value of that name is another thing.
  if (decl.paths.empty())
    return true;
  const std::string &name = decl.paths.front().names.front().text;
  bool isPath = scopes.findMap(name) || scopes.findRelation(name) || scopes.findSpace(name);
  return !isPath && frame->values.count(name);
}

void Selections::declare(const ast::SpaceDecl &decl) {
  if (!spacesAndMaps.checkNew(decl.name))
    return;
  using Kind = ast::SpaceDecl::Kind;
  if (decl.kind == Kind::Filter)
    declareKept(decl);
  else if (decl.kind == Kind::Top || decl.kind == Kind::Farthest)
    declareMembers(decl);
  else
    declareCompared(decl);
}

/// The space and its maps, and a relation of its name.
MaybeId Selections::declareSpace(const ast::SpaceDecl &decl, Id base, Id of, llvm::ArrayRef<Id> maps,
                                 const Space &limits) {
  Loc loc = decl.name.loc;
  MaybeId space = builder.selectionSpace(frame->prefix + decl.name.text, base, of, maps, limits, loc);
  MaybeId chosen = space ? builder.chosen(*space, loc) : std::nullopt;
  MaybeId owner = chosen ? builder.owner(*space, loc) : std::nullopt;
  if (!owner)
    return std::nullopt;
  frame->local.spaces[decl.name.text] = *space;
  frame->local.relations[decl.name.text] = {decl.name.text, *space, *chosen, *owner, {}};
  record(loc, "space " + decl.name.text + ": " + builder.spaceName(of) + " -> " + builder.spaceName(base), loc);
  return chosen;
}

/// knn and radius: by the distance of rows.
void Selections::declareCompared(const ast::SpaceDecl &decl) {
  Loc loc = decl.name.loc;
  MaybeId points = evalRows(*decl.points);
  MaybeId queries = decl.queries ? evalRows(*decl.queries) : points;
  std::optional<int64_t> most = evalCount(*decl.count, "neighbour");
  std::optional<Number> self, radius;
  if (decl.self)
    self = types.evalNumber(*decl.self, "'self'");
  if (decl.radius)
    radius = types.evalNumber(*decl.radius, "the radius");
  if (!points || !queries || !most || (decl.self && !self) || (decl.radius && !radius))
    return;
  if (self && self->kind != Number::Kind::Bool) {
    error(decl.self->loc, "'self' must be true or false, found " + self->str());
    return;
  }
  if (radius && (radius->kind == Number::Kind::Bool || !(radius->asDouble() > 0))) {
    error(decl.radius->loc, "expected a radius above 0, found " + radius->str());
    return;
  }
  Id of = builder.value(*points).residency, base = builder.value(*queries).residency;
  if (self && decl.queries) {
    error(decl.self->loc, "'self' has no effect with 'of'");
    return;
  }
  std::optional<std::vector<Id>> maps = mapsOf(decl, base, of);
  if (!maps)
    return;
  Space limits;
  limits.most = *most;
  limits.others = !decl.queries && !(self && self->isTrue());
  limits.open = radius.has_value();
  MaybeId chosen = declareSpace(decl, base, of, *maps, limits);
  if (chosen && radius)
    builder.within(*points, *queries, radius->asDouble(), *chosen, loc);
  else if (chosen)
    builder.nearest(*points, *queries, *chosen, loc);
}

/// topk and fps: for each element that a map leads to, or for the one of a space that has no other.
void Selections::declareMembers(const ast::SpaceDecl &decl) {
  Loc loc = decl.name.loc;
  MaybeId deciding = evalRows(*decl.points);
  std::optional<int64_t> most = INT32_MAX;
  if (decl.count)
    most = evalCount(*decl.count, "element");
  std::optional<Number> ratio;
  if (decl.ratio)
    ratio = types.evalNumber(*decl.ratio, "the ratio");
  MaybeId start = decl.start ? evalRows(*decl.start) : std::nullopt;
  if (!deciding || !most || (decl.ratio && !ratio) || (decl.start && !start))
    return;
  if (ratio && (ratio->kind == Number::Kind::Bool || !(ratio->asDouble() > 0 && ratio->asDouble() <= 1))) {
    error(decl.ratio->loc, "expected a ratio above 0 and up to 1, found " + ratio->str());
    return;
  }
  Id of = builder.value(*deciding).residency;
  MaybeId map;
  if (decl.paths.empty()) {
    map = builder.only(of, kNone, loc);
  } else {
    std::optional<Route> route = paths.resolve(decl.paths.front(), of, true);
    if (route && route->map == kNone)
      error(decl.paths.front().loc, "expected a map from '" + builder.spaceName(of) + "'");
    else if (route)
      map = route->map;
  }
  if (!map)
    return;
  Space limits;
  limits.most = *most;
  limits.ratio = ratio ? ratio->asDouble() : 0;
  MaybeId chosen = declareSpace(decl, builder.map(*map).to, of, {kNone, *map}, limits);
  if (chosen && decl.kind == ast::SpaceDecl::Kind::Farthest)
    builder.farthest(*deciding, start, *chosen, loc);
  else if (chosen)
    builder.top(*deciding, *chosen, loc);
}

/// filter of a value: those elements on which it is not zero.
void Selections::declareKept(const ast::SpaceDecl &decl) {
  Loc loc = decl.name.loc;
  std::optional<Id> base = scopes.spaceNamed(decl.base);
  MaybeOperand operand = base ? expressions.eval(*decl.points) : std::nullopt;
  MaybeId condition = operand ? dense(*operand, decl.points->loc, "say what is kept") : std::nullopt;
  if (!condition)
    return;
  if (Id on = builder.value(*condition).residency; on != *base || *base == kNone) {
    error(decl.points->loc, "expected a condition on '" + decl.base.text + "', or two maps from there, found " +
                                builder.describe(*condition));
    return;
  }
  MaybeId space = builder.keptSpace(frame->prefix + decl.name.text, *base, loc);
  MaybeId inclusion = space ? builder.inclusion(*space, loc) : std::nullopt;
  if (!inclusion || !builder.keep(*condition, *inclusion, loc))
    return;
  frame->local.spaces[decl.name.text] = *space;
  record(loc, "space " + decl.name.text, loc);
}
