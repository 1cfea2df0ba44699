//===- Moves.cpp - Values along maps --------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Moves.h"

using namespace gnnc::frontend;

/// Moves a value along a path that ends, maybe by the unique way, at the value's space.
MaybeOperand Moves::moveAlong(const Operand &x, const ast::Path &path, std::optional<double> fill, Loc loc) {
  auto *sparse = std::get_if<Sparse>(&x);
  Id residency = kNone;
  if (auto *value = std::get_if<Dense>(&x))
    residency = builder.value(value->id).residency;
  if (sparse)
    residency = builder.map(inputOf(*sparse).row).to;

  std::optional<Route> route = paths.resolve(path, kUndefined, /*structural=*/false);
  if (!route)
    return std::nullopt;
  Id map = route->map;
  if (residency != kNone && route->to != residency) {
    if (route->map != kNone && route->from == residency)
      return error(loc, "the value is already on '" + scopes.nameOfSpace(residency) + "'; '" + path.names.back().text +
                            "' moves values from '" + scopes.nameOfSpace(route->to) + "' to '" +
                            scopes.nameOfSpace(route->from) + "'");
    MaybeId rest = paths.uniquePath(route->to, residency, loc);
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
MaybeOperand Moves::moveValue(const Operand &x, Id map, double fill, Loc loc) {
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
