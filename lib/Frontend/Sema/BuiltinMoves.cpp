//===- BuiltinMoves.cpp - Built-in functions that move or fold ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sum, softmax and their like go along a map, or over feature axes. ModelSpec has the ones along a map; a softmax over
// axes, or along `all`, is written out with the maximum subtracted. The maximum is detached: the result does not depend
// on it, so neither does its gradient.
//
//===----------------------------------------------------------------------===//

#include "Sema/BuiltinArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Which map
//===----------------------------------------------------------------------===//

/// The map that `along:` names, or `dst` for a value on the edges of the relation in force; kAll for `along: all`.
std::optional<Id> Elaborator::alongMap(Arguments &arguments, const Operand &x) {
  Loc loc = arguments.call.loc;
  const std::string &name = arguments.call.name;
  Id residency = kNone;
  if (auto *sparse = std::get_if<Sparse>(&x))
    return sparseUnsupported(*sparse, "in " + name + " along a map", loc);
  if (auto *value = std::get_if<Dense>(&x))
    residency = builder.value(value->id).residency;
  const RelationView &relation = frame->relation;
  const ast::Expr *along = arguments.named("along");
  if (!along) {
    // A shared value stands for one on every edge: the default of an edge weight is one.
    if (relation.space != kNone && (residency == relation.space || residency == kNone))
      return relation.dst;
    return error(loc, name + " needs 'along: map' or 'over: axis': the value is on '" + nameOfSpace(residency) +
                          "', and only one on 'edge' goes along 'dst' by itself");
  }
  if (along->kind == ast::Expr::Kind::Name && along->name == "all")
    return kAll;
  std::optional<ast::Path> path = pathOf(*along);
  std::optional<Route> route =
      path ? resolve(*path, residency == kNone ? kUndefined : residency, /*structural=*/false) : std::nullopt;
  if (!route)
    return std::nullopt;
  if (route->map == kNone)
    return error(along->loc, "the value is on '" + nameOfSpace(route->to) + "' already; expected a map from there");
  return route->map;
}

//===----------------------------------------------------------------------===//
// sum, mean, max, min
//===----------------------------------------------------------------------===//

MaybeOperand Elaborator::reduction(Arguments &arguments) {
  const std::string &name = arguments.call.name;
  Loc loc = arguments.call.loc;
  MaybeOperand x = arguments.value(0);
  if (!x)
    return std::nullopt;
  if (const ast::Expr *over = arguments.named("over")) {
    std::optional<std::vector<std::string>> axes = arguments.axes(over);
    x = axes ? foldOver(name, *x, *axes, loc) : std::nullopt;
    if (!x || llvm::none_of(arguments.call.arguments, [](const ast::Argument &argument) {
          return argument.name && argument.name->text == "along";
        }))
      return x;
  }
  std::optional<Id> map = alongMap(arguments, *x);
  return map ? reduceAlong(name, *x, *map, loc) : std::nullopt;
}

MaybeOperand Elaborator::foldOver(StringRef function, const Operand &x, const std::vector<std::string> &axes, Loc loc) {
  if (auto *sparse = std::get_if<Sparse>(&x)) {
    if (axes != std::vector{sparse->axis})
      return error(loc, "no axis '" + axes.back() + "' in " + describe(x));
    return sparseFold(function, *sparse, loc);
  }
  MaybeId id = dense(x, loc, function);
  return id ? wrap(builder.fold(function, *id, axes, loc)) : std::nullopt;
}

/// A shared value counts once for each member.
MaybeOperand Elaborator::reduceAlong(StringRef function, const Operand &x, Id map, Loc loc) {
  MaybeId id = dense(x, loc, function);
  if (!id)
    return std::nullopt;
  if (builder.value(*id).residency != kNone || map == kAll)
    return wrap(builder.reduce(function, *id, map, loc));
  MaybeId members = builder.degree(map, loc);
  auto *number = std::get_if<Number>(&x);
  if (members && function == "sum")
    return number && number->asDouble() == 1 ? wrap(members) : wrap(builder.binary("mul", *members, *id, loc));
  if (members && function == "logsumexp") {
    MaybeId log = builder.unary("log", *members, 0, loc);
    return log ? wrap(builder.binary("add", *log, *id, loc)) : std::nullopt;
  }
  // The mean, maximum or minimum of equal values, but 0 of none.
  MaybeId zero = members ? builder.constant(0, loc) : std::nullopt;
  return zero ? wrap(builder.select(*members, *id, *zero, loc)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// softmax, logsumexp, log_softmax
//===----------------------------------------------------------------------===//

MaybeOperand Elaborator::normalization(Arguments &arguments) {
  const std::string &name = arguments.call.name;
  Loc loc = arguments.call.loc;
  MaybeOperand x = arguments.value(0);
  if (!x)
    return std::nullopt;
  if (const ast::Expr *over = arguments.named("over")) {
    std::optional<std::vector<std::string>> axes = arguments.axes(over);
    return axes ? normalizeOver(name, *x, *axes, loc) : std::nullopt;
  }
  std::optional<Id> map = alongMap(arguments, *x);
  return map ? normalizeAlong(name, *x, *map, loc) : std::nullopt;
}

/// With m the maximum over the axes: exp(x - m) / sum(exp(x - m)), and so on.
MaybeOperand Elaborator::normalizeOver(StringRef function, const Operand &x, const std::vector<std::string> &axes,
                                       Loc loc) {
  MaybeId id = dense(x, loc, function);
  MaybeId maximum = id ? builder.fold("max", *id, axes, loc) : std::nullopt;
  MaybeId fixed = maximum ? builder.detach(*maximum, loc) : std::nullopt;
  MaybeId shifted = fixed ? builder.binary("sub", *id, *fixed, loc) : std::nullopt;
  MaybeId power = shifted ? builder.unary("exp", *shifted, 0, loc) : std::nullopt;
  MaybeId sum = power ? builder.fold("sum", *power, axes, loc) : std::nullopt;
  if (!sum)
    return std::nullopt;
  if (function == "softmax")
    return wrap(builder.binary("div", *power, *sum, loc));
  MaybeId log = builder.unary("log", *sum, 0, loc);
  if (!log)
    return std::nullopt;
  return wrap(function == "logsumexp" ? builder.binary("add", *log, *fixed, loc)
                                      : builder.binary("sub", *shifted, *log, loc));
}

MaybeOperand Elaborator::normalizeAlong(StringRef function, const Operand &x, Id map, Loc loc) {
  if (function == "logsumexp")
    return reduceAlong(function, x, map, loc);
  MaybeId id = dense(x, loc, function);
  if (!id)
    return std::nullopt;
  bool softmax = function == "softmax";
  if (map != kAll && builder.map(map).partial)
    return error(loc,
                 function + " needs a map that is defined everywhere, but '" + builder.map(map).name + "' is partial");
  if (builder.value(*id).residency == kNone && map != kAll) {
    // Equal members share the one evenly.
    if (!builder.value(*id).axes.empty())
      return error(loc, function + " along a map needs a value on a space, found " + builder.describe(*id));
    MaybeId members = builder.degree(map, loc);
    MaybeId moved = members ? builder.move(*members, map, 1, loc) : std::nullopt;
    MaybeId share = moved ? builder.unary("recip", *moved, 0, loc) : std::nullopt;
    return share && !softmax ? wrap(builder.unary("log", *share, 0, loc)) : wrap(share);
  }
  if (softmax && map != kAll)
    return wrap(builder.norm("softmax", *id, map, loc));
  // log_softmax(x) = x - logsumexp(x), and softmax along `all` is its exponential.
  MaybeId sum = builder.reduce("logsumexp", *id, map, loc);
  MaybeId moved = sum ? (map == kAll ? sum : builder.move(*sum, map, 0, loc)) : std::nullopt;
  MaybeId result = moved ? builder.binary("sub", *id, *moved, loc) : std::nullopt;
  return result && softmax ? wrap(builder.unary("exp", *result, 0, loc)) : wrap(result);
}

//===----------------------------------------------------------------------===//
// degree, move, join
//===----------------------------------------------------------------------===//

/// The first argument of a function that takes a map; `expectation` begins the message about a space.
std::optional<Elaborator::Route> Elaborator::mapArgument(Arguments &arguments, llvm::StringRef expectation) {
  const ast::Expr *expr = arguments.positional(0);
  if (!expr) {
    arguments.missing();
    return std::nullopt;
  }
  std::optional<ast::Path> path = pathOf(*expr);
  std::optional<Route> route = path ? resolve(*path, kUndefined, /*structural=*/false) : std::nullopt;
  if (route && route->map == kNone) {
    error(expr->loc, expectation + ", but '" + path->names.back().text + "' is a space");
    return std::nullopt;
  }
  return route;
}

MaybeOperand Elaborator::degreeFunction(Arguments &arguments) {
  std::optional<Route> route = mapArgument(arguments, "degree counts the members of a map");
  if (!route)
    return std::nullopt;
  return wrap(builder.degree(route->map, arguments.call.loc));
}

/// onehot(map): a row of the identity matrix for each element; zeros where the map is undefined.
MaybeOperand Elaborator::onehotFunction(Arguments &arguments) {
  std::optional<Route> route = mapArgument(arguments, "onehot takes a map to a static space");
  if (!route)
    return std::nullopt;
  MaybeId rows = builder.identity(route->to, arguments.call.loc);
  return rows ? wrap(builder.move(*rows, route->map, 0, arguments.call.loc)) : std::nullopt;
}

/// move(x, map, fill: 0)
MaybeOperand Elaborator::moveFunction(Arguments &arguments) {
  MaybeOperand x = arguments.value(0);
  const ast::Expr *expr = arguments.positional(1);
  std::optional<Number> fill = arguments.number(2, "fill", 0);
  if (!x || !fill)
    return std::nullopt;
  if (!expr)
    return arguments.missing();
  std::optional<ast::Path> path = pathOf(*expr);
  return path ? moveAlong(*x, *path, fill->asDouble(), arguments.call.loc) : std::nullopt;
}

/// join(a, b, on: U): on each part of a union its own operand. Each goes along its partial map with 0 elsewhere, and
/// they are added.
MaybeOperand Elaborator::joinFunction(Arguments &arguments) {
  Loc loc = arguments.call.loc;
  Id space = frame->relation.space;
  if (const ast::Expr *on = arguments.named("on")) {
    if (on->kind != ast::Expr::Kind::Name)
      return error(on->loc, "expected the name of a union space");
    std::optional<Id> found = spaceNamed({on->name, on->loc});
    if (!found)
      return std::nullopt;
    space = *found;
  }
  size_t count = arguments.positionalCount();
  if (count == 0)
    return arguments.missing();
  if (space == kNone || builder.space(space).kind != Space::Kind::Union)
    return error(loc, "join makes a value on a union space, but " +
                          (space == kNone ? "no relation is in force" : "'" + nameOfSpace(space) + "' is none") +
                          "; name one with 'on: space'");
  const std::vector<Id> parts = builder.space(space).parts;
  if (parts.size() != count)
    return error(loc, "union '" + nameOfSpace(space) + "' has " + Twine(parts.size()) + " parts, but join has " +
                          Twine(count) + (count == 1 ? " operand" : " operands"));
  MaybeOperand sum;
  for (size_t i = 0; i < count; ++i) {
    MaybeOperand x = arguments.value(i);
    MaybeId map = x ? builder.part(space, i, loc) : std::nullopt;
    if (!map)
      return std::nullopt;
    if (auto *sparse = std::get_if<Sparse>(&*x))
      return sparseUnsupported(*sparse, "in join", loc);
    if (auto *value = std::get_if<Dense>(&*x)) {
      Id residency = builder.value(value->id).residency;
      if (residency != kNone && residency != parts[i]) {
        // An edge value joins a part that is a subset of the edges.
        MaybeId way = uniquePath(parts[i], residency, loc);
        MaybeId moved = way ? builder.move(value->id, *way, 0, loc) : std::nullopt;
        if (!moved)
          return std::nullopt;
        x = Dense{*moved};
      }
    }
    MaybeOperand moved = moveValue(*x, *map, 0, loc);
    sum = sum && moved ? binary("+", *sum, *moved, loc) : i == 0 ? moved : std::nullopt;
    if (!sum)
      return std::nullopt;
  }
  return sum;
}
