//===- BuiltinMoves.cpp - Built-in functions of maps ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/BuiltinArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::Twine;

/// The map that `along:` names, or `dst` for a value on the edges of the relation in force; kAll for `along: all`.
std::optional<Id> Builtins::alongMap(BuiltinArguments &arguments, const Operand &x) {
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
    return error(loc, name + " needs 'along: map' or 'over: axis': the value is on '" + scopes.nameOfSpace(residency) +
                          "', and only values on 'edge' are reduced along 'dst' by default");
  }
  if (along->kind == ast::Expr::Kind::Name && along->name == "all")
    return kAll;
  std::optional<ast::Path> path = paths.pathOf(*along);
  std::optional<Route> route =
      path ? paths.resolve(*path, residency == kNone ? kUndefined : residency, /*structural=*/false) : std::nullopt;
  if (!route)
    return std::nullopt;
  if (route->map == kNone)
    return error(along->loc, "the value is on '" + scopes.nameOfSpace(route->to) + "'; expected a map from there");
  return route->map;
}

MaybeOperand Builtins::reduction(BuiltinArguments &arguments) {
  const std::string &name = arguments.call.name;
  Loc loc = arguments.call.loc;
  if ((name == "max" || name == "min") && arguments.positionalCount() == 2)
    return error(loc, "'" + name + "' reduces one value, along a map or over axes; the " +
                          (name == "max" ? "larger of two is 'maximum(a, b)'" : "smaller of two is 'minimum(a, b)'"));
  MaybeOperand x = arguments.value(0);
  if (!x)
    return std::nullopt;
  if (const ast::Expr *over = arguments.named("over")) {
    std::optional<std::vector<std::string>> axes = arguments.axes(over);
    x = axes ? reductions.foldOver(name, *x, *axes, loc) : std::nullopt;
    if (!x || llvm::none_of(arguments.call.arguments, [](const ast::Argument &argument) {
          return argument.name && argument.name->text == "along";
        }))
      return x;
  }
  std::optional<Id> map = alongMap(arguments, *x);
  return map ? reductions.reduceAlong(name, *x, *map, loc) : std::nullopt;
}

/// var and std, of all members and not of a sample: the mean of squared differences from the mean.
MaybeOperand Builtins::variance(BuiltinArguments &arguments) {
  Loc loc = arguments.call.loc;
  MaybeOperand x = arguments.value(0);
  if (!x)
    return std::nullopt;
  std::optional<std::vector<std::string>> axes;
  const ast::Expr *over = arguments.named("over");
  if (over && !(axes = arguments.axes(over)))
    return std::nullopt;
  std::optional<Id> map;
  bool isAlong = !over || llvm::any_of(arguments.call.arguments, [](const ast::Argument &argument) {
    return argument.name && argument.name->text == "along";
  });
  if (isAlong && !(map = alongMap(arguments, *x)))
    return std::nullopt;
  auto meanOf = [&](MaybeOperand of) {
    if (of && axes)
      of = reductions.foldOver("mean", *of, *axes, loc);
    return of && map ? reductions.reduceAlong("mean", *of, *map, loc) : of;
  };
  MaybeOperand mean = meanOf(x);
  if (mean && map && *map != kAll)
    mean = moves.moveValue(*mean, *map, 0, loc);
  MaybeOperand difference = mean ? operators.binary("-", *x, *mean, loc) : std::nullopt;
  MaybeOperand result = meanOf(difference ? operators.power(*difference, Number::ofInt(2), loc) : std::nullopt);
  if (!result || arguments.call.name == "var")
    return result;
  // At 0 the root has no derivative; there it is taken to be constant.
  MaybeId variance = dense(*result, loc, "std"), zero = builder.constant(0, loc), one = builder.constant(1, loc);
  MaybeId isZero = variance && zero && one ? builder.binary("eq", *variance, *zero, loc) : std::nullopt;
  MaybeId safe = isZero ? builder.select(*isZero, *one, *variance, loc) : std::nullopt;
  MaybeId root = safe ? builder.unary("sqrt", *safe, 0, loc) : std::nullopt;
  return root ? wrap(builder.select(*isZero, *zero, *root, loc)) : std::nullopt;
}

MaybeOperand Builtins::normalization(BuiltinArguments &arguments) {
  const std::string &name = arguments.call.name;
  Loc loc = arguments.call.loc;
  MaybeOperand x = arguments.value(0);
  if (!x)
    return std::nullopt;
  if (const ast::Expr *over = arguments.named("over")) {
    std::optional<std::vector<std::string>> axes = arguments.axes(over);
    return axes ? reductions.normalizeOver(name, *x, *axes, loc) : std::nullopt;
  }
  std::optional<Id> map = alongMap(arguments, *x);
  return map ? reductions.normalizeAlong(name, *x, *map, loc) : std::nullopt;
}

/// The first argument of a function that takes a map; `expectation` begins the message about a space.
std::optional<Route> Builtins::mapArgument(BuiltinArguments &arguments, llvm::StringRef expectation) {
  const ast::Expr *expr = arguments.positional(0);
  if (!expr) {
    arguments.missing();
    return std::nullopt;
  }
  std::optional<ast::Path> path = paths.pathOf(*expr);
  std::optional<Route> route = path ? paths.resolve(*path, kUndefined, /*structural=*/false) : std::nullopt;
  if (route && route->map == kNone) {
    error(expr->loc, expectation + ", but '" + path->names.back().text + "' is a space");
    return std::nullopt;
  }
  return route;
}

MaybeOperand Builtins::degreeFunction(BuiltinArguments &arguments) {
  std::optional<Route> route = mapArgument(arguments, "degree counts the members of a map");
  if (!route)
    return std::nullopt;
  return wrap(builder.degree(route->map, arguments.call.loc));
}

/// onehot(map): a row of the identity matrix for each element; zeros where the map is undefined.
MaybeOperand Builtins::onehotFunction(BuiltinArguments &arguments) {
  std::optional<Route> route = mapArgument(arguments, "onehot takes a map to a static space");
  if (!route)
    return std::nullopt;
  MaybeId rows = builder.identity(route->to, arguments.call.loc);
  return rows ? wrap(builder.move(*rows, route->map, 0, arguments.call.loc)) : std::nullopt;
}

/// spread(x, on: S): the first axis of a shared value becomes the elements of a static space.
MaybeOperand Builtins::spreadFunction(BuiltinArguments &arguments) {
  MaybeId x = arguments.dense(0);
  const ast::Expr *on = arguments.named("on");
  if (!x || !on)
    return x ? arguments.missing() : std::nullopt;
  if (on->kind != ast::Expr::Kind::Name)
    return error(on->loc, "expected the name of a static space");
  std::optional<Id> space = scopes.spaceNamed({on->name, on->loc});
  return space ? wrap(builder.spread(*x, *space, arguments.call.loc)) : std::nullopt;
}

/// move(x, map, fill: 0)
MaybeOperand Builtins::moveFunction(BuiltinArguments &arguments) {
  MaybeOperand x = arguments.value(0);
  const ast::Expr *expr = arguments.positional(1);
  std::optional<Number> fill = arguments.number(2, "fill", 0);
  if (!x || !fill)
    return std::nullopt;
  if (!expr)
    return arguments.missing();
  std::optional<ast::Path> path = paths.pathOf(*expr);
  return path ? moves.moveAlong(*x, *path, fill->asDouble(), arguments.call.loc) : std::nullopt;
}

/// join(a, b, on: U): on each part of a union its own operand. Each goes along its partial map with 0 elsewhere, and
/// they are added.
MaybeOperand Builtins::joinFunction(BuiltinArguments &arguments) {
  Loc loc = arguments.call.loc;
  Id space = frame->relation.space;
  if (const ast::Expr *on = arguments.named("on")) {
    if (on->kind != ast::Expr::Kind::Name)
      return error(on->loc, "expected the name of a union space");
    std::optional<Id> found = scopes.spaceNamed({on->name, on->loc});
    if (!found)
      return std::nullopt;
    space = *found;
  }
  size_t count = arguments.positionalCount();
  if (count == 0)
    return arguments.missing();
  if (space == kNone || builder.space(space).kind != Space::Kind::Union)
    return error(loc,
                 "join makes a value on a union space, but " +
                     (space == kNone ? "no relation is in force" : "'" + scopes.nameOfSpace(space) + "' is not one") +
                     "; name one with 'on: space'");
  const std::vector<Id> parts = builder.space(space).parts;
  if (parts.size() != count)
    return error(loc, "union '" + scopes.nameOfSpace(space) + "' has " + Twine(parts.size()) + " parts, but join has " +
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
        MaybeId way = paths.uniquePath(parts[i], residency, loc);
        MaybeId moved = way ? builder.move(value->id, *way, 0, loc) : std::nullopt;
        if (!moved)
          return std::nullopt;
        x = Dense{*moved};
      }
    }
    MaybeOperand moved = moves.moveValue(*x, *map, 0, loc);
    sum = sum && moved ? operators.binary("+", *sum, *moved, loc) : i == 0 ? moved : std::nullopt;
    if (!sum)
      return std::nullopt;
  }
  return sum;
}
