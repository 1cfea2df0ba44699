//===- RandomOperations.cpp - One random operation ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomGenerator.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;
using frontend::kNone;
using frontend::MaybeId;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Functions with a pole, an infinite slope or exponential growth get an operand that keeps away from it.
frontend::Id Generator::unary(Id x) {
  double s = scale(x);
  auto apply = [&](const char *function, Id operand, bool exact, double scale, double alpha = 0) {
    return made(builder.unary(function, operand, alpha, loc), exact, scale);
  };
  auto away = [&](double from) {
    return binary("add", apply(random.pick({"abs", "square"}), x, false, s * std::max(1.0, s)), number(from));
  };
  bool sameNumbers = exact(x);
  switch (random.below(20)) {
  case 0:
    return apply("neg", x, sameNumbers, s);
  case 1:
    return apply("exp", binary("minimum", x, number(2)), false, 7.5);
  case 2:
    return apply("log", away(0.5), false, 1 + std::log1p(s));
  case 3:
    return apply("sqrt", away(0.25), false, 1 + s);
  case 4:
    return apply("rsqrt", away(0.25), false, 2);
  case 5:
    return apply("recip", away(0.5), false, 2);
  case 6:
    return apply("abs", x, sameNumbers, s);
  case 7:
    if (!sameNumbers)
      return apply("tanh", x, false, 1);
    switch (x % 4) { // Nothing is drawn, so that the models of earlier seeds stay alike.
    case 0:
      return apply("floor", x, true, s + 1);
    case 1:
      return apply("ceil", x, true, s + 1);
    case 2:
      return apply("round", x, true, s + 1);
    default:
      return apply("sign", x, true, 1);
    }
  case 8:
    return apply("square", x, false, s * s);
  case 9:
    return apply("sin", x, false, 1);
  case 10:
    return apply("cos", x, false, 1);
  case 11:
    return apply("tanh", x, false, 1);
  case 12:
    return apply("erf", x, false, 1);
  case 13:
    return apply("relu", x, sameNumbers, s);
  case 14:
    return apply("leaky_relu", x, false, s, random.pick({0.2, 0.01, -0.5}));
  case 15:
    return apply("elu", x, false, std::max(1.0, s), random.pick({1.0, 0.5}));
  case 16:
    return apply("gelu", x, false, s);
  case 17:
    return apply("silu", x, false, s);
  case 18:
    return apply("sigmoid", x, false, 1);
  default:
    return apply("softplus", x, false, s + 1);
  }
}

/// Of operands that align and meet.
frontend::Id Generator::binary(llvm::StringRef function, Id x, Id y) {
  double a = scale(x), b = scale(y);
  bool chooses = function == "maximum" || function == "minimum";
  double scale = function == "mul" ? a * b : chooses ? std::max(a, b) : a + b;
  return made(builder.binary(function, x, y, loc), chooses && exact(x) && exact(y), scale);
}

frontend::Id Generator::binary(Id x, Id y) {
  y = bring(y, residency(x));
  if (!fits(x, y))
    y = narrow(y, 1);
  if (!fits(x, y))
    x = narrow(x, mostElements / 2);
  if (random.chance(30))
    std::swap(x, y);
  switch (random.below(8)) {
  case 0:
  case 1:
    return binary("add", x, y);
  case 2:
    return binary("sub", x, y);
  case 3:
  case 4:
    return binary("mul", x, y);
  case 5:
    return binary(random.pick({"maximum", "minimum"}), x, y);
  case 6: {
    Id below = binary("add", made(builder.unary("abs", y, 0, loc), false, scale(y)), number(1));
    return made(builder.binary("div", x, below, loc), false, scale(x));
  }
  default: {
    Id base = binary("add", made(builder.unary("abs", x, 0, loc), false, scale(x)), number(0.5));
    Id power = made(builder.unary("tanh", y, 0, loc), false, 1);
    return made(builder.binary("pow", base, power, loc), false, std::max(2.0, scale(x) + 1));
  }
  }
}

/// 0 or 1 for each element. Only numbers that are exact may be compared: rounding must not turn the answer.
frontend::Id Generator::compare(Id x) {
  std::vector<Id> others;
  llvm::copy_if(pool, std::back_inserter(others), [&](Id y) {
    return exact(y) && (residency(y) == residency(x) || residency(y) == kNone) && fits(x, y);
  });
  Id y = !others.empty() && random.chance(70) ? random.pick(others) : number(random.pick({0.0, 0.25, -0.5}));
  return made(builder.binary(random.pick({"lt", "le", "gt", "ge", "eq", "ne"}), x, y, loc), true, 1);
}

frontend::Id Generator::select(Id x, Id y) {
  y = bring(y, residency(x));
  if (!fits(x, y))
    y = narrow(y, 1);
  std::vector<Id> conditions;
  llvm::copy_if(pool, std::back_inserter(conditions), [&](Id c) {
    return exact(c) && (residency(c) == residency(x) || residency(c) == kNone) && elements(c) <= 4 && fits(x, c) &&
           fits(y, c);
  });
  Id where = conditions.empty() ? number(1) : random.pick(conditions);
  if (residency(where) != kNone && random.chance(60))
    where = compare(where);
  bool same = exact(x) && exact(y);
  return narrow(made(builder.select(where, x, y, loc), same, std::max(scale(x), scale(y))), mostElements);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

frontend::Id Generator::move(Id x, Id map) {
  return made(builder.move(x, map, random.pick({0.0, 0.0, 1.0, -0.75}), loc), exact(x), std::max(1.0, scale(x)));
}

frontend::Id Generator::reduce(llvm::StringRef function, Id x, Id map) {
  bool chooses = function == "max" || function == "min";
  Id id = made(builder.reduce(function, x, map, loc), chooses && exact(x), scale(x) * (function == "sum" ? 8 : 1));
  // Minus infinity where there are no members: it may be an output, but no operand.
  if (function != "logsumexp")
    return id;
  if (random.chance(20))
    builder.output("lse" + std::to_string(id), id, loc);
  return made(builder.binary("maximum", id, number(-3), loc), false, std::max(3.0, scale(x) + 3));
}

frontend::Id Generator::reduceAnyhow(Id x, Id map) {
  return tame(reduce(random.pick({"sum", "sum", "mean", "max", "min", "logsumexp"}), tame(x), map));
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

frontend::Id Generator::fold(llvm::StringRef function, Id x, llvm::ArrayRef<std::string> axes) {
  int64_t members = 1;
  for (const frontend::Axis &axis : value(x).axes)
    members *= llvm::is_contained(axes, axis.name) ? axis.size : 1;
  bool chooses = function == "max" || function == "min";
  double growth = function == "sum" ? 2 * std::sqrt(double(members)) : 1;
  return made(builder.fold(function, x, axes, loc), chooses && exact(x), scale(x) * growth);
}

frontend::Id Generator::fold(Id x) {
  Names axes = namesOf(value(x).axes);
  if (axes.empty())
    return unary(x);
  random.shuffle(axes);
  axes.resize(size_t(random.between(1, int64_t(axes.size()))));
  return fold(random.pick({"sum", "mean", "max", "min"}), x, axes);
}

frontend::Id Generator::contract(Id x, Id y, llvm::ArrayRef<std::string> axes) {
  int64_t members = 1;
  for (const frontend::Axis &axis : value(x).axes)
    members *= llvm::is_contained(axes, axis.name) ? axis.size : 1;
  double growth = members == 1 ? 1 : 2 * std::sqrt(double(members));
  return made(builder.contract(x, y, axes, loc), false, growth * scale(x) * scale(y));
}

frontend::Id Generator::concat(Id x) {
  if (value(x).axes.empty())
    return unary(x);
  std::vector<Id> parts{x};
  for (int64_t n = random.between(1, 2); n > 0; --n) {
    // Another value with the same other axes: a weight of another length, or something made of x.
    Axes axes = value(x).axes;
    frontend::Axis last = axes.back();
    axes.pop_back();
    Id other = x;
    if (random.chance(40)) {
      axes.push_back(anyAxis(value(x).axes));
      Id space = residency(x) != kNone && random.chance(30) ? kNone : residency(x);
      bool root = space == kNone || builder.space(space).kind <= frontend::Space::Kind::Static;
      other = elements(axes) <= mostElements ? param(root ? space : kNone, axes) : x;
    } else if (random.chance(70)) {
      other = unary(x);
    }
    if (random.chance(30)) { // the same axes in another order, the joined one still last
      Names order = namesOf(value(other).axes);
      std::string end = order.back();
      order.pop_back();
      random.shuffle(order);
      order.push_back(end);
      other = made(builder.permute(other, order, loc), exact(other), scale(other));
    }
    parts.push_back(other);
  }
  int64_t size = 0;
  double most = 0;
  bool same = true;
  for (Id part : parts) {
    size += value(part).axes.back().size;
    most = std::max(most, scale(part));
    same &= exact(part);
  }
  frontend::Axis joined = axisOfSize(size, value(x).axes);
  return made(builder.concat(parts, joined.name, loc), same, most);
}

frontend::Id Generator::slice(Id x) {
  if (value(x).axes.empty())
    return unary(x);
  size_t at = size_t(random.below(int64_t(value(x).axes.size())));
  frontend::Axis axis = value(x).axes[at];
  int64_t begin = random.below(axis.size), end = random.between(begin + 1, axis.size);
  Id cut = made(builder.slice(x, axis.name, begin, end, loc), exact(x), scale(x));
  // The name has another size elsewhere.
  Names order = namesOf(value(x).axes);
  order[at] = axisOfSize(end - begin, value(x).axes).name;
  return made(builder.rename(cut, order, loc), exact(x), scale(x));
}

frontend::Id Generator::reshape(Id x) {
  Axes axes = value(x).axes;
  if (axes.empty())
    return unary(x);
  auto same = [&](MaybeId id) { return made(id, exact(x), scale(x)); };
  switch (random.below(4)) {
  case 0: { // rename
    size_t at = size_t(random.below(int64_t(axes.size())));
    Names order = namesOf(axes);
    order[at] = axisOfSize(axes[at].size, axes).name;
    return same(builder.rename(x, order, loc));
  }
  case 1: { // permute
    Names order = namesOf(axes);
    random.shuffle(order);
    return same(builder.permute(x, order, loc));
  }
  case 2: { // merge
    size_t first = size_t(random.below(int64_t(axes.size())));
    size_t count = size_t(random.between(1, int64_t(axes.size() - first)));
    Axes run(axes.begin() + first, axes.begin() + first + count);
    return same(builder.merge(x, namesOf(run), axisOfSize(elements(run), axes).name, loc));
  }
  default: { // split
    size_t at = size_t(random.below(int64_t(axes.size())));
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= axes[at].size; ++d)
      if (axes[at].size % d == 0)
        divisors.push_back(d);
    int64_t outer = random.pick(divisors);
    frontend::Axis first = axisOfSize(outer, axes);
    Axes taken = axes;
    taken.push_back(first);
    frontend::Axis second = axisOfSize(axes[at].size / outer, taken);
    return same(builder.split(x, axes[at].name, {first, second}, loc));
  }
  }
}

//===----------------------------------------------------------------------===//
// Any of them
//===----------------------------------------------------------------------===//

/// Drawn once and used once or several times: wherever it is computed, it must be the same.
frontend::Id Generator::dropout(Id x) {
  if (!seed) {
    seed = made(builder.state("seed", kNone, {{"_1", 2}}, loc), true, 1);
    stepNumber = made(builder.state("step", kNone, {}, loc), true, 1);
  }
  Id drawn = made(builder.random(*seed, *stepNumber, residency(x), value(x).axes, std::nullopt, loc), true, 1);
  if (random.chance(30))
    pool.push_back(drawn);
  Id kept = made(builder.binary("lt", drawn, number(random.pick({0.5, 0.25})), loc), true, 1);
  return binary("mul", x, kept);
}

frontend::Id Generator::step() {
  Id x = anyValue();
  switch (random.below(21)) {
  case 0:
  case 1:
  case 2:
    return unary(x);
  case 3:
  case 4:
  case 5:
    return binary(x, anyValue());
  case 6:
    return exact(x) ? compare(x) : unary(x);
  case 7:
    return select(x, anyValue());
  case 8:
  case 9: {
    x = anyMember();
    return reduceAnyhow(x, anyMapFrom(residency(x)));
  }
  case 10:
  case 11: {
    std::vector<Id> choices = mapsFromSpaceTo(residency(x));
    return residency(x) == kNone || choices.empty() ? unary(x) : move(x, random.pick(choices));
  }
  case 12:
    return fold(x);
  case 13:
    return concat(x);
  case 14:
    return slice(x);
  case 15:
  case 16:
    return reshape(x);
  case 17: {
    Id along = random.pick(maps);
    return made(builder.degree(along, loc), true, 16);
  }
  case 18:
    return made(builder.detach(x, loc), exact(x), scale(x));
  case 19:
    return dropout(x);
  default:
    return input(random.chance(20) ? kNone : random.pick(spaces), anyAxes(2));
  }
}
