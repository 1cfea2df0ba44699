//===- RandomGenerator.h - How a random model is drawn ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANDOMGENERATOR_H
#define GNNC_TEST_INTEGRATION_RANDOMGENERATOR_H

#include "RandomModel.h"

#include "gnnc/Frontend/ModelBuilder.h"

namespace gnnc::test {

/// Draws spaces, maps and values one after the other; operands are values drawn before, brought to one space if need
/// be.
class Generator {
public:
  explicit Generator(const RandomSeed &seed);
  frontend::ModelSpec run();

private:
  using Id = frontend::Id;
  using Axes = std::vector<frontend::Axis>;
  using Names = std::vector<std::string>;

  // Spaces and maps (RandomSpaces.cpp).
  void rootSpaces();
  void deriveSpace();
  void deriveMap();
  void keepMap(frontend::MaybeId map);
  std::vector<Id> mapsFrom(Id space) const;
  std::vector<Id> mapsBetween(Id from, Id to) const;
  std::vector<Id> mapsFromSpaceTo(Id space) const;

  // The pool of values and what is known of them (RandomModel.cpp).
  const frontend::Value &value(Id id) const { return builder.value(id); }
  Id residency(Id id) const { return value(id).residency; }
  int64_t elements(Id id) const;
  int64_t elements(const Axes &axes) const;
  /// Enters a new value: what it was made of says whether it is exact in float32, and how large it gets.
  Id made(frontend::MaybeId id, bool exact, double scale);
  Id keep(Id id);
  bool exact(Id id) const { return facts[size_t(id)].exact; }
  double scale(Id id) const { return facts[size_t(id)].scale; }
  Id anyValue();
  std::vector<Id> unused() const;
  Id anyValueOn(Id space);
  Id anyMember();
  Id bring(Id id, Id space);
  Id tame(Id id);
  Id narrow(Id id, int64_t most);
  Id number(double constant);
  int64_t anySize();
  frontend::Axis axisOfSize(int64_t size, const Axes &unlike);
  frontend::Axis anyAxis(const Axes &unlike);
  Axes anyAxes(int most, Axes first = {});
  Names namesOf(const Axes &axes) const;
  bool fits(Id a, Id b) const;
  Id anyMapFrom(Id space);
  Id input(Id space, const Axes &axes);
  Id param(Id space, const Axes &axes);

  // Single operations (RandomOperations.cpp).
  Id unary(Id x);
  Id binary(Id x, Id y);
  Id binary(llvm::StringRef function, Id x, Id y);
  Id compare(Id x);
  Id select(Id x, Id y);
  Id reduce(llvm::StringRef function, Id x, Id map);
  Id reduceAnyhow(Id x, Id map);
  Id move(Id x, Id map);
  Id fold(Id x);
  Id fold(llvm::StringRef function, Id x, llvm::ArrayRef<std::string> axes);
  Id contract(Id x, Id y, llvm::ArrayRef<std::string> axes);
  Id concat(Id x);
  Id slice(Id x);
  Id reshape(Id x);
  Id dropout(Id x);
  Id step();

  // Several at once (RandomPatterns.cpp).
  Id product(Id x);
  Id weightFor(const Axes &axes, Id space);
  Id commonAxes(Id x, Id y);
  Id attention();
  Id phases();
  Id normalised();
  Id pooled(Id x);
  Id sparseProduct();
  Id spread();
  Id pattern();

  // Several factors (RandomFactors.cpp).
  Id weighted(Id x, const frontend::Axis &of, const frontend::Axis &fresh);
  Id scoreOf(Id x);
  Id outerProduct(Id x);
  Id matrixOf(Id x);
  void factors();

  void outputs();

  struct Facts {
    bool exact = false;
    double scale = 1;
  };

  uint64_t seedNumber;
  Random random;
  BodySize body;
  frontend::ModelBuilder builder;
  frontend::Loc loc;
  bool wide = false; ///< a few rows of more than 512 mixed features
  int64_t mostElements = 128;
  std::vector<Id> spaces, maps;
  std::vector<Facts> facts;           ///< by value
  std::vector<Id> pool;               ///< what operands are drawn from
  std::vector<Id> weights;            ///< parameters that may be used again
  frontend::MaybeId seed, stepNumber; ///< of random numbers
  Axes table;                         ///< one size for each axis name
  int names = 0;
};

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANDOMGENERATOR_H
