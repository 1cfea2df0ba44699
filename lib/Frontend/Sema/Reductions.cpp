//===- Reductions.cpp - Sums and softmaxes along maps and over axes -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The maximum that a softmax over axes or everything subtracts is detached: the result does not depend on it, so
// neither does its gradient.
//
//===----------------------------------------------------------------------===//

#include "Sema/Reductions.h"

using namespace gnnc::frontend;
using llvm::StringRef;

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
    MaybeId sum = log ? builder.binary("add", *log, *id, loc) : std::nullopt;
    return sum ? wrap(builder.select(*members, *sum, *log, loc)) : std::nullopt; // Of none, whatever the value is.
  }
  // The mean, maximum or minimum of equal values, but 0 of none.
  MaybeId zero = members ? builder.constant(0, loc) : std::nullopt;
  return zero ? wrap(builder.select(*members, *id, *zero, loc)) : std::nullopt;
}

MaybeOperand Reductions::normalizeOver(StringRef function, const Operand &x, const std::vector<std::string> &axes,
                                       Loc loc) {
  MaybeId id = dense(x, loc, function);
  return id ? normalize(
                  function, *id, [&](StringRef fold, Id y) { return builder.fold(fold, y, axes, loc); }, loc)
            : std::nullopt;
}

/// With m the maximum of what `reduce` takes together: exp(x - m) / sum(exp(x - m)), and so on. Where that is infinite,
/// m is the finite number next to it, so that no infinity is subtracted from itself. Where all numbers are minus
/// infinity the sum is 0: softmax is 0 there, and derivatives are no infinity times 0.
MaybeOperand Reductions::normalize(StringRef function, Id x, llvm::function_ref<MaybeId(StringRef, Id)> reduce,
                                   Loc loc) {
  MaybeId maximum = reduce("max", x);
  MaybeId detached = maximum ? builder.detach(*maximum, loc) : std::nullopt;
  MaybeId fixed = detached ? builder.unary("finite", *detached, 0, loc) : std::nullopt;
  if (fixed && function == "softmax") // An infinite number makes all of them NaN.
    fixed = builder.binary("maximum", *detached, *fixed, loc);
  MaybeId shifted = fixed ? builder.binary("sub", x, *fixed, loc) : std::nullopt;
  MaybeId power = shifted ? builder.unary("exp", *shifted, 0, loc) : std::nullopt;
  MaybeId sum = power ? reduce("sum", *power) : std::nullopt;
  MaybeId instead = sum ? builder.constant(function == "softmax" ? 1 : 0, loc) : std::nullopt;
  MaybeId safe = instead ? builder.select(*sum, *sum, *instead, loc) : std::nullopt;
  if (!safe)
    return std::nullopt;
  if (function == "softmax")
    return wrap(builder.binary("div", *power, *safe, loc));
  MaybeId log = builder.unary("log", *safe, 0, loc);
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
  if (map == kAll)
    return normalize(function, *id, [&](StringRef kind, Id y) { return builder.reduce(kind, y, kAll, loc); }, loc);
  if (softmax)
    return wrap(builder.norm("softmax", *id, map, loc));
  // log_softmax(x) = y - logsumexp(y) for y = x - m, whose digits are not lost to those of a large maximum m.
  MaybeId maximum = builder.reduce("max", *id, map, loc);
  MaybeId detached = maximum ? builder.detach(*maximum, loc) : std::nullopt;
  MaybeId fixed = detached ? builder.unary("finite", *detached, 0, loc) : std::nullopt;
  MaybeId shift = fixed ? builder.move(*fixed, map, 0, loc) : std::nullopt;
  MaybeId shifted = shift ? builder.binary("sub", *id, *shift, loc) : std::nullopt;
  MaybeId sum = shifted ? builder.reduce("logsumexp", *shifted, map, loc) : std::nullopt;
  MaybeId moved = sum ? builder.move(*sum, map, 0, loc) : std::nullopt;
  return moved ? wrap(builder.binary("sub", *shifted, *moved, loc)) : std::nullopt;
}
