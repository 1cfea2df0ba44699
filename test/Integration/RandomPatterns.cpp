//===- RandomPatterns.cpp - Products, softmaxes, chains at random ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What single operations drawn at random would hardly ever make, and what passes look for: products with every kind of
// weight, softmaxes that are used linearly and otherwise, values that are reduced, moved back and reduced again.
//
//===----------------------------------------------------------------------===//

#include "RandomGenerator.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::test;
using frontend::kAll;
using frontend::kNone;

/// A parameter with these axes in some order, for values on `space`: shared, one for each type, or one for each
/// element.
frontend::Id Generator::weightFor(const Axes &axes, Id space) {
  std::vector<Id> known;
  llvm::copy_if(weights, std::back_inserter(known), [&](Id weight) {
    return residency(weight) == kNone && value(weight).axes.size() == axes.size() &&
           llvm::all_of(value(weight).axes, [&](const frontend::Axis &axis) { return llvm::is_contained(axes, axis); });
  });
  if (!known.empty() && random.chance(50))
    return random.pick(known);
  Axes order = axes;
  random.shuffle(order);
  std::vector<Id> typed, perElement;
  if (space != kNone)
    for (Id map : mapsFrom(space)) {
      frontend::Space::Kind kind = builder.space(builder.map(map).to).kind;
      if (kind == frontend::Space::Kind::Static)
        typed.push_back(map);
      else if (kind == frontend::Space::Kind::Root)
        perElement.push_back(map);
    }
  if (!typed.empty() && random.chance(40)) {
    Id map = random.pick(typed);
    return move(param(builder.map(map).to, order), map);
  }
  if (!perElement.empty() && random.chance(15)) {
    Id map = random.pick(perElement);
    return move(param(builder.map(map).to, order), map);
  }
  weights.push_back(param(kNone, order));
  return weights.back();
}

frontend::Id Generator::product(Id x) {
  Axes axes = value(x).axes;
  if (axes.empty())
    return commonAxes(x, anyValue());
  random.shuffle(axes);
  size_t summed = axes.size() > 1 && random.chance(25) ? 2 : 1;
  Axes of(axes.begin(), axes.begin() + summed), inner = of;
  int64_t left = elements(x) / elements(of);
  for (size_t i = summed; i < axes.size(); ++i)
    if (random.chance(35)) // a weight for each of these
      of.push_back(axes[i]);
  for (int64_t n = random.chance(20) ? 2 : random.chance(8) ? 0 : 1; n > 0; --n) {
    Axes taken = axes;
    taken.insert(taken.end(), of.begin(), of.end());
    frontend::Axis fresh = anyAxis(taken);
    if (left * fresh.size <= mostElements && elements(of) * fresh.size <= 8192) {
      of.push_back(fresh);
      left *= fresh.size;
    }
  }
  Id weight = weightFor(of, residency(x));
  return random.chance(75) ? contract(x, weight, namesOf(inner)) : contract(weight, x, namesOf(inner));
}

/// Two values row by row: some of what they have in common is summed.
frontend::Id Generator::commonAxes(Id x, Id y) {
  y = bring(y, residency(x));
  if (!fits(x, y))
    y = narrow(y, 1);
  if (!fits(x, y))
    return unary(y);
  Names common;
  for (const frontend::Axis &axis : value(x).axes)
    if (llvm::is_contained(value(y).axes, axis) && random.chance(70))
      common.push_back(axis.name);
  return contract(x, y, common);
}

/// A softmax over the members of some map, used in one way or another.
frontend::Id Generator::attention() {
  Id score = narrow(anyMember(), 16);
  Id map = anyMapFrom(residency(score));
  if (map == kAll || builder.map(map).partial) // No softmax goes along these.
    return reduceAnyhow(score, map);
  Id space = residency(score);
  auto softmax = [&](Id of) { return made(builder.norm("softmax", of, map, loc), false, 1); };
  auto shifted = [&](Id of) { // by its own maximum, as if by hand
    Id most = move(reduce("max", of, map), map);
    return binary("sub", of, most);
  };
  if (random.chance(20))
    score = shifted(score);
  Id alpha = softmax(score);
  Id what = anyValueOn(space);
  if (!fits(alpha, what))
    what = narrow(what, std::max<int64_t>(1, mostElements / elements(alpha)));
  if (!fits(alpha, what))
    what = narrow(what, 1);
  Id weighted = binary("mul", alpha, what);
  switch (random.below(12)) {
  case 0:
  case 1:
  case 2:
    return reduce("sum", weighted, map);
  case 3:
    return reduce(random.pick({"max", "min", "mean"}), weighted, map);
  case 4:
    pool.push_back(alpha);
    return reduce("sum", weighted, map);
  case 5: { // two of them, multiplied
    Id of = anyValueOn(space);
    Id other = softmax(residency(of) == space ? narrow(of, 1) : score);
    return reduce("sum", binary("mul", weighted, other), map);
  }
  case 6: { // two sums of one softmax, one divided by the other
    Id total = reduce("sum", made(builder.unary("abs", alpha, 0, loc), false, 1), map);
    Id sum = reduce("sum", weighted, map);
    return made(builder.binary("div", sum, binary("add", total, number(1)), loc), false, scale(sum));
  }
  case 7: // over another map than its own
    return reduceAnyhow(weighted, anyMapFrom(space));
  case 8: { // linear through folds, products and shapes
    Id turned = random.chance(50) ? product(weighted) : fold(weighted);
    turned = random.chance(50) ? reshape(turned) : slice(turned);
    return reduce(random.pick({"sum", "mean"}), turned, map);
  }
  case 9: { // the sum, moved back to the members and reduced again
    Id back = move(tame(reduce("sum", weighted, map)), map);
    return reduceAnyhow(binary(back, what), map);
  }
  case 10: { // the difference of two terms that are linear in it
    Id other = commonAxes(alpha, anyValueOn(space));
    if (!fits(weighted, other))
      return other;
    return reduce("sum", binary(random.pick({"add", "sub"}), weighted, other), map);
  }
  default: // a softmax of a softmax
    return reduce("sum", binary("mul", softmax(alpha), what), map);
  }
}

/// Reduce, move back, combine, reduce again along the same map (or now and then another).
frontend::Id Generator::phases() {
  Id member = anyMember();
  Id map = anyMapFrom(residency(member));
  if (map == kAll)
    return reduceAnyhow(member, map);
  Id result = member;
  for (int64_t n = random.between(1, 3); n > 0; --n) {
    Id owner = reduceAnyhow(tame(member), map);
    if (random.chance(25))
      owner = narrow(random.chance(50) ? product(owner) : unary(owner), mostElements);
    if (random.chance(30))
      owner = tame(binary(owner, anyValueOn(residency(owner))));
    result = owner;
    if (n == 1 && random.chance(50))
      break;
    std::vector<Id> back = mapsBetween(residency(member), residency(owner));
    Id returned = move(owner, random.chance(80) || back.empty() ? map : random.pick(back));
    member = result = narrow(tame(binary(member, returned)), mostElements);
  }
  return result;
}

/// Members times a power of their owner's degree: infinite for owners without members, whom no member sees.
frontend::Id Generator::normalised() {
  Id member = anyMember();
  Id map = anyMapFrom(residency(member));
  if (map == kAll)
    return reduceAnyhow(member, map);
  Id degree = made(builder.degree(map, loc), true, 16);
  if (random.chance(25))
    degree = binary("maximum", degree, number(1));
  Id factor = made(builder.unary(random.pick({"rsqrt", "recip"}), degree, 0, loc), false, 1);
  Id scaled = binary("mul", member, move(factor, map));
  return random.chance(70) ? reduce("sum", scaled, map) : reduceAnyhow(scaled, anyMapFrom(residency(scaled)));
}

/// Over everything, and from there back to each element.
frontend::Id Generator::pooled(Id x) {
  if (residency(x) == kNone)
    return random.chance(50) ? product(x) : unary(x);
  Id total = reduceAnyhow(x, kAll);
  if (random.chance(40))
    total = tame(random.chance(50) ? product(total) : unary(total));
  return random.chance(60) ? binary(x, total) : total;
}

/// x @ W where x is sparse: a sum over the stored entries of x of rows of W.
frontend::Id Generator::sparseProduct() {
  std::vector<Id> rows;
  llvm::copy_if(spaces, std::back_inserter(rows),
                [&](Id space) { return builder.space(space).kind == frontend::Space::Kind::Root; });
  std::string name = "sparse" + std::to_string(names++);
  frontend::Axis columns = axisOfSize(random.pick({1, 5, 17, 40}), {});
  std::optional<size_t> number = builder.sparseInput(name, random.pick(rows), columns, loc);
  frontend::SparseInput sparse = builder.spec().sparseInputs[*number];
  made(sparse.value, true, 1);
  Id weight = param(kNone, anyAxes(2, {columns}));
  Id table = made(builder.spread(weight, builder.map(sparse.column).to, loc), true, 1);
  Id entries = move(table, sparse.column);
  Id product = random.chance(80) ? binary("mul", sparse.value, entries) : contract(entries, sparse.value, {});
  return reduce(random.chance(80) ? "sum" : "max", narrow(product, mostElements), sparse.row);
}

/// Rows of a shared value as the elements of a static space.
frontend::Id Generator::spread() {
  std::vector<Id> fixed;
  llvm::copy_if(spaces, std::back_inserter(fixed),
                [&](Id space) { return builder.space(space).kind == frontend::Space::Kind::Static; });
  if (fixed.empty())
    return sparseProduct();
  Id space = random.pick(fixed);
  Id shared = param(kNone, anyAxes(2, {axisOfSize(builder.space(space).extent, {})}));
  if (random.chance(40))
    shared = tame(unary(shared));
  Id rows = narrow(made(builder.spread(shared, space, loc), exact(shared), scale(shared)), mostElements);
  std::vector<Id> along = mapsFromSpaceTo(space);
  return along.empty() || random.chance(30) ? rows : move(rows, random.pick(along));
}

frontend::Id Generator::pattern() {
  switch (random.below(18)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return product(anyValue());
  case 4: // written for each member, to be hoisted
  case 5:
    return product(bring(anyValue(), builder.map(random.pick(maps)).from));
  case 6: {
    Id x = product(bring(anyValue(), builder.map(random.pick(maps)).from));
    return residency(x) == kNone ? x : reduceAnyhow(x, anyMapFrom(residency(x)));
  }
  case 7:
    return commonAxes(anyValue(), anyValue());
  case 8:
  case 9:
  case 10:
    return attention();
  case 11:
  case 12:
    return phases();
  case 13:
    return pooled(anyValue());
  case 14:
    return random.chance(50) ? sparseProduct() : spread();
  case 15:
  case 16:
    return normalised();
  default: {
    Id x = commonAxes(anyValue(), anyValue());
    return residency(x) == kNone ? x : reduceAnyhow(x, anyMapFrom(residency(x)));
  }
  }
}
