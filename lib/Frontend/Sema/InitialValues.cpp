//===- InitialValues.cpp - What parameters and states start as ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `param W[in, out] = glorot` and its like, and what is taken where nothing is said. The values are computed by the
// program `initialize` from the seed, by uniform random numbers.
//
//===----------------------------------------------------------------------===//

#include "Sema/InitialValues.h"
#include "Sema/Values.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace gnnc::frontend;
using llvm::StringRef;

/// Sites of initial values start here, so that a model's dropouts do not change what it starts from.
static constexpr int firstInitialSite = 1 << 16;

std::optional<InitialValue> InitialValues::initialOf(const ast::ValueDecl &decl, Id residency,
                                                     const std::vector<Axis> &axes) {
  using Kind = ast::Expr::Kind;
  const ast::Expr *expr = decl.defaultValue.get();
  if (!expr) {
    if (decl.kind == ast::ValueDecl::Kind::State || axes.empty())
      return InitialValue();
    if (axes.size() > 1) {
      ast::Expr plain;
      plain.kind = Kind::Name;
      return glorot(plain, residency, axes);
    }
    // One row for each of many elements is an embedding; one axis elsewhere is a bias.
    bool embedding = residency != kNone && builder.space(residency).kind != Space::Kind::Static;
    return embedding ? InitialValue{InitialValue::Kind::Normal, 1, 0} : InitialValue();
  }
  StringRef name = expr->name;
  if ((expr->kind == Kind::Name || expr->kind == Kind::Call) && name == "glorot")
    return glorot(*expr, residency, axes);
  if (expr->kind == Kind::Call && (name == "normal" || name == "uniform")) {
    if (expr->arguments.size() != 1 || expr->arguments[0].name)
      return error(expr->loc, "expected one number, as in '" + name + "(0.1)'");
    std::optional<Number> number = types.evalNumber(*expr->arguments[0].value, "this argument of " + name.str());
    if (!number)
      return std::nullopt;
    return InitialValue{name == "normal" ? InitialValue::Kind::Normal : InitialValue::Kind::Uniform, number->asDouble(),
                        0};
  }
  std::optional<Number> number =
      types.evalNumber(*expr, "an initial value (one of glorot, normal(s), uniform(b) or a number)");
  return number ? std::optional(InitialValue{InitialValue::Kind::Constant, number->asDouble(), 0}) : std::nullopt;
}

/// Without arguments the first axis and the product of the others are the fans.
std::optional<InitialValue> InitialValues::glorot(const ast::Expr &expr, Id residency, const std::vector<Axis> &axes) {
  InitialValue initial{InitialValue::Kind::Glorot, 0, 0};
  if (expr.kind == ast::Expr::Kind::Name) {
    if (axes.size() < 2)
      return error(expr.loc, "glorot needs two axes, or both fans, as in 'glorot(in, out)'");
    initial.number = 1;
    for (const Axis &axis : llvm::drop_begin(axes))
      initial.number *= double(axis.size);
    initial.number += double(axes[0].size);
    return initial;
  }
  if (expr.arguments.size() != 2 || expr.arguments[0].name || expr.arguments[1].name)
    return error(expr.loc, "expected both fans, as in 'glorot(in, out)'");
  for (const ast::Argument &argument : expr.arguments) {
    const ast::Expr &fan = *argument.value;
    // The parameter's own space stands for its number of elements, which only the graph may know.
    if (fan.kind == ast::Expr::Kind::Name && residency != kNone && !frame->values.count(fan.name) &&
        scopes.findSpace(fan.name) == residency && builder.space(residency).kind != Space::Kind::Static) {
      ++initial.extents;
      continue;
    }
    std::optional<Number> number = types.evalNumber(fan, "a fan of glorot");
    if (!number)
      return std::nullopt;
    if (number->asDouble() <= 0)
      return error(fan.loc, "a fan of glorot must be positive, found " + number->str());
    initial.number += number->asDouble();
  }
  return initial;
}

/// The bound of uniform numbers, shared.
MaybeId InitialValues::uniformBound(Id target, const InitialValue &initial) {
  Loc loc = builder.value(target).loc;
  if (initial.kind == InitialValue::Kind::Uniform)
    return builder.constant(initial.number, loc);
  if (initial.extents == 0)
    return builder.constant(std::sqrt(6 / initial.number), loc);
  // Its space's elements are counted.
  std::vector<std::string> axes;
  for (const Axis &axis : builder.value(target).axes)
    axes.push_back(axis.name);
  MaybeId row = axes.empty() ? MaybeId(target) : builder.fold("max", target, axes, loc);
  MaybeId one = builder.constant(1, loc);
  MaybeId ones = row && one ? builder.select(*one, *one, *row, loc) : std::nullopt;
  MaybeId count = ones ? builder.reduce("sum", *ones, kAll, loc) : std::nullopt;
  MaybeId times = builder.constant(initial.extents, loc), rest = builder.constant(initial.number, loc);
  MaybeId six = builder.constant(6, loc);
  if (!count || !times || !rest || !six)
    return std::nullopt;
  MaybeId scaled = builder.binary("mul", *count, *times, loc);
  MaybeId fans = scaled ? builder.binary("add", *scaled, *rest, loc) : std::nullopt;
  MaybeId ratio = fans ? builder.binary("div", *six, *fans, loc) : std::nullopt;
  return ratio ? builder.unary("sqrt", *ratio, 0, loc) : std::nullopt;
}

MaybeId InitialValues::initialValue(Id target) {
  auto found = known.find(target);
  const InitialValue initial = found == known.end() ? InitialValue() : found->second;
  const Value like = builder.value(target);
  Loc loc = like.loc;
  MaybeId zero = builder.constant(0, loc), one = builder.constant(1, loc), two = builder.constant(2, loc);
  if (!zero || !one || !two)
    return std::nullopt;
  if (initial.kind == InitialValue::Kind::Constant ||
      (initial.kind != InitialValue::Kind::Glorot && initial.number == 0)) {
    MaybeId number = builder.constant(initial.number, loc);
    return number ? values.shapedAs(*number, target, loc, "'" + like.name + "'") : std::nullopt;
  }
  builder.reserveSites(firstInitialSite);
  MaybeId seed = values.runState("seed", Axis{"_1", 2}, loc);
  auto random = [&]() -> MaybeId {
    return seed ? builder.random(*seed, *zero, like.residency, like.axes, std::nullopt, loc) : std::nullopt;
  };
  auto binary = [&](StringRef function, MaybeId a, MaybeId b) {
    return a && b ? builder.binary(function, *a, *b, loc) : std::nullopt;
  };
  auto unary = [&](StringRef function, MaybeId x) { return x ? builder.unary(function, *x, 0, loc) : std::nullopt; };
  if (initial.kind != InitialValue::Kind::Normal) {
    MaybeId centred = binary("sub", binary("mul", random(), two), one);
    return binary("mul", centred, uniformBound(target, initial));
  }
  // Box and Muller. The logarithm is of a number in (0, 1].
  MaybeId length = unary("sqrt", binary("mul", unary("log", binary("sub", one, random())), builder.constant(-2, loc)));
  MaybeId angle = unary("cos", binary("mul", random(), builder.constant(2 * llvm::numbers::pi, loc)));
  return binary("mul", binary("mul", length, angle), builder.constant(initial.number, loc));
}
