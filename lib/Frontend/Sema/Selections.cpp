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

void Selections::declare(const ast::SpaceDecl &decl) {
  if (!spacesAndMaps.checkNew(decl.name))
    return;
  Loc loc = decl.name.loc;
  MaybeId points = evalRows(*decl.points);
  MaybeId queries = decl.queries ? evalRows(*decl.queries) : points;
  std::optional<Number> most = types.evalNumber(*decl.count, "the number of neighbours");
  std::optional<Number> self;
  if (decl.self)
    self = types.evalNumber(*decl.self, "'self'");
  if (!points || !queries || !most || (decl.self && !self))
    return;
  if (!most->isInt()) {
    error(decl.count->loc, "the number of neighbours must be an integer, found " + most->str());
    return;
  }
  if (most->integer < 1) {
    error(decl.count->loc, "expected one neighbour or more, found " + most->str());
    return;
  }
  if (self && self->kind != Number::Kind::Bool) {
    error(decl.self->loc, "'self' must be true or false, found " + self->str());
    return;
  }
  Id of = builder.value(*points).residency, base = builder.value(*queries).residency;
  if (self && decl.queries) {
    error(decl.self->loc, "with 'of', nobody is kept from being chosen, so there is no 'self'");
    return;
  }
  std::optional<std::vector<Id>> maps = mapsOf(decl, base, of);
  if (!maps)
    return;
  bool others = !decl.queries && !(self && self->isTrue());
  MaybeId space = builder.selectionSpace(frame->prefix + decl.name.text, base, of, *maps, most->integer, others, loc);
  MaybeId chosen = space ? builder.chosen(*space, loc) : std::nullopt;
  MaybeId owner = chosen ? builder.owner(*space, loc) : std::nullopt;
  if (!owner || !builder.nearest(*points, *queries, *chosen, loc))
    return;
  frame->local.spaces[decl.name.text] = *space;
  frame->local.relations[decl.name.text] = {decl.name.text, *space, *chosen, *owner, {}};
  record(loc, "space " + decl.name.text + ": " + builder.spaceName(of) + " -> " + builder.spaceName(base), loc);
}
