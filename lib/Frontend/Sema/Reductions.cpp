//===- Reductions.cpp - Sums and softmaxes along maps and over axes -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The maximum that a softmax over axes subtracts is detached: the result does not depend on it, so neither does its
// gradient.
//
//===----------------------------------------------------------------------===//

#include "Sema/Reductions.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

MaybeOperand Reductions::foldOver(StringRef function, const Operand &x, const std::vector<std::string> &axes, Loc loc) {
  if (auto *sparse = std::get_if<Sparse>(&x)) {
    if (axes != std::vector{sparse->axis})
      return error(loc, "no axis '" + axes.back() + "' in " + describe(x));
    return sparseInputs.fold(function, *sparse, loc);
  }
  MaybeId id = dense(x, loc, function);
  return id ? wrap(builder.fold(function, *id, axes, loc)) : std::nullopt;
}

/// A shared value counts once for each member.
MaybeOperand Reductions::reduceAlong(StringRef function, const Operand &x, Id map, Loc loc) {
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

/// With m the maximum over the axes: exp(x - m) / sum(exp(x - m)), and so on.
MaybeOperand Reductions::normalizeOver(StringRef function, const Operand &x, const std::vector<std::string> &axes,
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

MaybeOperand Reductions::normalizeAlong(StringRef function, const Operand &x, Id map, Loc loc) {
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
