//===- RandomModel.cpp - Random values from random values -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomGenerator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;
using frontend::kNone;
using frontend::MaybeId;

Generator::Generator(const RandomSeed &seed)
    : seedNumber(seed.number), random(seed.number), body(seed.body),
      builder([](frontend::Loc, const std::string &message) {
        // The generator asks for nothing that does not fit.
        ADD_FAILURE() << "the random model is wrong: " << message;
      }) {}

//===----------------------------------------------------------------------===//
// What is known of values
//===----------------------------------------------------------------------===//

int64_t Generator::elements(const Axes &axes) const {
  int64_t product = 1;
  for (const frontend::Axis &axis : axes)
    product *= axis.size;
  return product;
}

int64_t Generator::elements(Id id) const { return elements(value(id).axes); }

frontend::Id Generator::made(MaybeId id, bool exact, double scale) {
  if (!id)
    llvm::report_fatal_error("the random model is wrong");
  // Constants and moves along nothing are values that are known already.
  if (facts.size() <= size_t(*id)) {
    facts.resize(size_t(*id) + 1);
    facts[size_t(*id)] = {exact, scale};
  }
  return *id;
}

frontend::Id Generator::keep(Id id) {
  id = narrow(tame(id), mostElements);
  if (!llvm::is_contained(pool, id))
    pool.push_back(id);
  return id;
}

/// What nothing uses yet more often than what something does, so that little is made in vain.
frontend::Id Generator::anyValue() {
  std::vector<Id> fresh = unused();
  return !fresh.empty() && random.chance(60) ? random.pick(fresh) : random.pick(pool);
}

std::vector<frontend::Id> Generator::unused() const {
  std::vector<bool> used(builder.spec().values.size());
  for (const frontend::Value &user : builder.spec().values)
    for (Id operand : user.operands)
      used[size_t(operand)] = true;
  std::vector<Id> fresh;
  llvm::copy_if(pool, std::back_inserter(fresh), [&](Id id) { return !used[size_t(id)]; });
  return fresh;
}

frontend::Id Generator::anyValueOn(Id space) {
  std::vector<Id> there;
  llvm::copy_if(pool, std::back_inserter(there), [&](Id id) { return residency(id) == space; });
  return !there.empty() && random.chance(75) ? random.pick(there) : bring(anyValue(), space);
}

/// A value on a space that some map leaves.
frontend::Id Generator::anyMember() {
  std::vector<Id> there;
  llvm::copy_if(pool, std::back_inserter(there),
                [&](Id id) { return residency(id) != kNone && !mapsFrom(residency(id)).empty(); });
  if (random.chance(15))
    there.push_back(bring(anyValue(), builder.map(random.pick(maps)).from));
  llvm::erase_if(there, [&](Id id) { return residency(id) == kNone; });
  return random.pick(there); // the first inputs at least
}

/// Moves or reduces a value to `space` along one or two maps, or over everything where there are none.
frontend::Id Generator::bring(Id id, Id space) {
  Id from = residency(id);
  if (from == kNone || space == kNone || from == space)
    return id;
  std::vector<Id> moves = mapsBetween(space, from), reductions = mapsBetween(from, space);
  if (!moves.empty() && (reductions.empty() || random.chance(65)))
    return move(id, random.pick(moves));
  if (!reductions.empty())
    return reduceAnyhow(id, random.pick(reductions));
  // Two maps, by way of some space between: each is gone along or against.
  struct Way {
    Id first, second;
    bool firstMoves, secondMoves;
  };
  std::vector<Way> ways;
  for (Id first : maps)
    for (Id second : maps) {
      frontend::Map one = builder.map(first), two = builder.map(second);
      for (bool firstMoves : {false, true})
        for (bool secondMoves : {false, true})
          if ((firstMoves ? one.to : one.from) == from && (secondMoves ? two.from : two.to) == space &&
              (firstMoves ? one.from : one.to) == (secondMoves ? two.to : two.from))
            ways.push_back({first, second, firstMoves, secondMoves});
    }
  if (ways.empty())
    return reduceAnyhow(id, frontend::kAll);
  Way way = random.pick(ways);
  if (way.firstMoves && way.secondMoves && random.chance(50))
    return move(id, *builder.compose(way.second, way.first, loc));
  Id between = way.firstMoves ? move(id, way.first) : reduceAnyhow(id, way.first);
  return way.secondMoves ? move(between, way.second) : reduceAnyhow(between, way.second);
}

/// Keeps numbers from growing.
frontend::Id Generator::tame(Id id) {
  if (scale(id) <= 4)
    return id;
  switch (random.below(4)) {
  case 0:
    return made(builder.unary("tanh", id, 0, loc), false, 1);
  case 1:
    return made(builder.unary("sigmoid", id, 0, loc), false, 1);
  default:
    double factor = std::exp2(-std::ceil(std::log2(scale(id))));
    return made(builder.binary("mul", id, number(factor), loc), exact(id), 1);
  }
}

/// Folds axes until a row has at most so many elements.
frontend::Id Generator::narrow(Id id, int64_t most) {
  while (elements(id) > most) {
    const frontend::Axis axis = random.pick(value(id).axes);
    if (axis.size > 1)
      id = fold(random.pick({"sum", "mean", "max", "min"}), id, {axis.name});
  }
  return tame(id);
}

bool Generator::fits(Id a, Id b) const {
  Axes both = value(a).axes;
  for (const frontend::Axis &axis : value(b).axes)
    if (!llvm::is_contained(both, axis))
      both.push_back(axis);
  return elements(both) <= mostElements;
}

//===----------------------------------------------------------------------===//
// Axes, constants, inputs
//===----------------------------------------------------------------------===//

frontend::Id Generator::number(double constant) {
  return made(builder.constant(constant, loc), float(constant) == constant, std::abs(constant));
}

int64_t Generator::anySize() {
  if (wide && random.chance(25))
    return random.pick({257, 521, 600, 1000});
  if (random.chance(10))
    return random.pick({33, 64, 100});
  return random.pick({1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17});
}

/// A name has one size in all of a model, so that any two values align.
frontend::Axis Generator::axisOfSize(int64_t size, const Axes &unlike) {
  Axes choices;
  llvm::copy_if(table, std::back_inserter(choices),
                [&](const frontend::Axis &axis) { return axis.size == size && !llvm::is_contained(unlike, axis); });
  if (!choices.empty())
    return random.pick(choices);
  table.push_back({"x" + std::to_string(names++), size});
  return table.back();
}

frontend::Axis Generator::anyAxis(const Axes &unlike) {
  Axes choices;
  llvm::copy_if(table, std::back_inserter(choices),
                [&](const frontend::Axis &axis) { return !llvm::is_contained(unlike, axis); });
  return choices.empty() || random.chance(20) ? axisOfSize(anySize(), unlike) : random.pick(choices);
}

/// Up to `most` axes, after `first`.
Generator::Axes Generator::anyAxes(int most, Axes first) {
  int64_t limit = mostElements * elements(first);
  for (int64_t n = random.below(most + 1); n > 0; --n) {
    frontend::Axis axis = anyAxis(first);
    if (elements(first) * axis.size <= limit)
      first.push_back(axis);
  }
  return first;
}

Generator::Names Generator::namesOf(const Axes &axes) const {
  Names list;
  for (const frontend::Axis &axis : axes)
    list.push_back(axis.name);
  return list;
}

frontend::Id Generator::anyMapFrom(Id space) {
  std::vector<Id> choices = mapsFrom(space);
  return choices.empty() || random.chance(5) ? frontend::kAll : random.pick(choices);
}

frontend::Id Generator::input(Id space, const Axes &axes) {
  std::optional<double> absent;
  if (random.chance(15))
    absent = random.pick({0.0, 1.0, -0.5});
  std::string name = "in" + std::to_string(names++);
  MaybeId id =
      random.chance(10) ? builder.state(name, space, axes, loc) : builder.input(name, space, axes, absent, loc);
  return made(id, true, 1);
}

frontend::Id Generator::param(Id space, const Axes &axes) {
  return made(builder.param("w" + std::to_string(names++), space, axes, loc), true, 1);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Most of what nothing uses, and now and then what something does.
void Generator::outputs() {
  std::vector<Id> chosen = unused();
  random.shuffle(chosen);
  chosen.resize(std::min<size_t>(chosen.size(), size_t(random.between(2, 6))));
  if (random.chance(30))
    chosen.push_back(random.pick(pool));
  if (random.chance(5))
    chosen.push_back(chosen.front());
  for (size_t i = 0; i < chosen.size(); ++i)
    builder.output("out" + std::to_string(i), chosen[i], loc);
}

frontend::ModelSpec Generator::run() {
  wide = random.chance(12);
  mostElements = wide ? 1200 : random.pick({16, 64, 128, 256});
  rootSpaces();
  for (int64_t n = random.chance(50) ? random.between(1, 4) : 0; n > 0; --n)
    random.chance(65) ? deriveSpace() : deriveMap();

  for (int64_t n = random.between(2, 4); n > 0; --n)
    table.push_back({"x" + std::to_string(names++), anySize()});
  pool.push_back(input(spaces[0], anyAxes(2, {table[0]})));
  pool.push_back(input(spaces[1], anyAxes(1)));
  for (int64_t n = random.below(3); n > 0; --n)
    pool.push_back(input(random.chance(20) ? kNone : random.pick(spaces), anyAxes(2)));

  for (int64_t n = body == BodySize::Small ? random.between(2, 6) : random.between(4, 18); n > 0; --n)
    keep(random.chance(50) ? pattern() : step());
  outputs();
  if (seedNumber % 3 == 0)
    factors();
  std::optional<frontend::ModelSpec> model = builder.finish("random", /*doublePrecision=*/random.chance(20), {});
  if (!model)
    llvm::report_fatal_error("the random model is wrong");
  return std::move(*model);
}

frontend::ModelSpec test::randomModel(const RandomSeed &seed) { return Generator(seed).run(); }
