//===- RandomFactors.cpp - Products with further factors at random --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the association of products looks for (R9): a product that is multiplied by something else and summed, outer
// products, and matrices made of elements. They come after a model's other values and draw numbers of their own, so
// that the rest of a seed's model does not depend on them.
//
//===----------------------------------------------------------------------===//

#include "RandomGenerator.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::test;
using frontend::kNone;

/// x @ W with a weight whose rows have `fresh` in place of `of`.
frontend::Id Generator::weighted(Id x, const frontend::Axis &of, const frontend::Axis &fresh) {
  return contract(x, param(kNone, {of, fresh}), {of.name});
}

/// sum(a * (x @ W), over: some axes) where `a` is shared, of the same element, of an owner, or moved from elsewhere;
/// written as a product and a fold, or as a contraction.
frontend::Id Generator::scoreOf(Id x) {
  frontend::Axis of = random.pick(value(x).axes), fresh = anyAxis(value(x).axes);
  if (elements(x) / of.size * fresh.size > mostElements)
    return unary(x);
  Id product = weighted(x, of, fresh);
  if (random.chance(40)) { // q * (k + x W)
    Id key = anyValueOn(residency(x));
    if (fits(product, key))
      product = binary(random.pick({"add", "sub"}), product, key);
  }
  Axes others;
  llvm::copy_if(value(product).axes, std::back_inserter(others),
                [&](const frontend::Axis &axis) { return axis == fresh || random.chance(40); });
  Id factor = random.chance(40) ? param(kNone, others) : tame(anyValueOn(residency(product)));
  if (!fits(product, factor))
    factor = narrow(factor, 1);
  Names common;
  for (const frontend::Axis &axis : value(factor).axes)
    if (llvm::is_contained(value(product).axes, axis) && random.chance(75))
      common.push_back(axis.name);
  if (common.empty() || random.chance(50))
    return contract(tame(product), factor, common);
  return fold("sum", tame(random.chance(50) ? binary("mul", product, factor) : binary("mul", factor, product)), common);
}

/// The outer product of two rows, which may be summed up and multiplied by a weight over both axes or one.
frontend::Id Generator::outerProduct(Id x) {
  Id y = anyValueOn(residency(x));
  if (value(y).axes.empty())
    return commonAxes(x, y);
  Names order;
  Axes taken = value(x).axes;
  for (const frontend::Axis &axis : value(y).axes) {
    taken.push_back(axisOfSize(axis.size, taken));
    order.push_back(taken.back().name);
  }
  y = made(builder.rename(y, order, loc), exact(y), scale(y));
  if (!fits(x, y))
    y = narrow(y, 2);
  if (!fits(x, y))
    return unary(y);
  Id outer = random.chance(50) ? binary("mul", x, y) : contract(x, y, {});
  if (random.chance(50) && residency(outer) != kNone)
    outer = reduceAnyhow(outer, anyMapFrom(residency(outer)));
  return value(outer).axes.empty() || random.chance(30) ? outer : product(outer);
}

/// A matrix for each element, made of its features, which multiplies what comes from elsewhere.
frontend::Id Generator::matrixOf(Id x) {
  Id y = anyValueOn(residency(x));
  if (value(y).axes.empty())
    return outerProduct(x);
  frontend::Axis in = random.pick(value(y).axes), of = random.pick(value(x).axes);
  Axes taken = value(y).axes;
  llvm::append_range(taken, value(x).axes);
  frontend::Axis out = anyAxis(taken);
  if (in == of || elements(x) / of.size * in.size * out.size > mostElements)
    return scoreOf(x);
  Id matrix = contract(x, param(kNone, {of, in, out}), {of.name});
  if (random.chance(40))
    matrix = tame(unary(matrix));
  Id message = contract(tame(y), matrix, {in.name});
  return residency(message) == kNone ? message : reduceAnyhow(message, anyMapFrom(residency(message)));
}

/// One to three of them as outputs of their own.
void Generator::factors() {
  random = Random(seedNumber ^ 0x9E3779B97F4A7C15);
  for (int64_t n = random.between(1, body == BodySize::Small ? 2 : 3), made = 0; made < n; ++made) {
    Id x = random.chance(70) ? bring(anyValue(), builder.map(random.pick(maps)).from) : anyValue();
    if (value(x).axes.empty())
      x = contract(x, param(kNone, {anyAxis({})}), {});
    Id result = keep(random.chance(60) ? scoreOf(x) : random.chance(50) ? outerProduct(x) : matrixOf(x));
    if (residency(result) != kNone && random.chance(50))
      result = keep(reduceAnyhow(result, anyMapFrom(residency(result))));
    builder.output("factors" + std::to_string(made), result, loc);
  }
}
