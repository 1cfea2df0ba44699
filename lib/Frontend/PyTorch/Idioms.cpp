//===- Idioms.cpp - Sums that are means, deviations and softmaxes ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch programs spell these out, along a map: the language has one function for each, whose numbers are better (a
// deviation is not the difference of two large numbers) and which is one kernel. Each rule looks at the operations that
// a value is made of, never at names.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend::pytorch;

static bool isNumber(const RecoveredProgram &program, int value, double number) {
  const Operation &operation = program.operations[value];
  return operation.op == Op::Number && operation.number == number;
}

static const Operation *asBinary(const RecoveredProgram &program, int value, const std::string &function) {
  const Operation &operation = program.operations[value];
  return operation.op == Op::Binary && operation.text == function ? &operation : nullptr;
}

static const Operation *asReduction(const RecoveredProgram &program, int value, const std::string &function) {
  const Operation &operation = program.operations[value];
  return operation.op == Op::Reduce && operation.map >= 0 && operation.text == function ? &operation : nullptr;
}

/// max(members, 1) of the map that a sum goes along.
static bool isDivisor(const RecoveredProgram &program, int value, int map) {
  const Operation *bounded = asBinary(program, value, "maximum");
  if (!bounded || !isNumber(program, bounded->operands[1], 1))
    return false;
  const Operation *members = asReduction(program, bounded->operands[0], "sum");
  return members && members->map == map && isNumber(program, members->operands[0], 1);
}

/// sum(x) / max(members, 1) is the mean: both are 0 where there are no members.
std::optional<int> gnnc::frontend::pytorch::findMean(RecoveredProgram &program, int a, int b) {
  const Operation *sum = asReduction(program, a, "sum");
  if (!sum || !isDivisor(program, b, sum->map))
    return std::nullopt;
  return program.reduce("mean", sum->operands[0], sum->map);
}

/// The value that is squared, if one is.
static std::optional<int> squared(const RecoveredProgram &program, int value) {
  const Operation &operation = program.operations[value];
  if (operation.op == Op::Unary && operation.text == "square")
    return operation.operands[0];
  const Operation *product = asBinary(program, value, "*");
  if (product && product->operands[0] == product->operands[1])
    return product->operands[0];
  return std::nullopt;
}

/// mean(x²) - mean(x)² is the variance.
std::optional<int> gnnc::frontend::pytorch::findVariance(RecoveredProgram &program, int a, int b) {
  const Operation *ofSquares = asReduction(program, a, "mean");
  std::optional<int> mean = squared(program, b);
  const Operation *first = mean ? asReduction(program, *mean, "mean") : nullptr;
  std::optional<int> x = ofSquares ? squared(program, ofSquares->operands[0]) : std::nullopt;
  if (!first || !x || first->map != ofSquares->map || first->operands[0] != *x)
    return std::nullopt;
  return program.reduce("var", *x, first->map);
}

static int withoutDetach(const RecoveredProgram &program, int value) {
  while (program.operations[value].op == Op::Detach)
    value = program.operations[value].operands[0];
  return value;
}

/// exp(s - max(s)) / (sum of these + a little) is the softmax along a map: the shift cancels, and the sum is at
/// least 1.
std::optional<int> gnnc::frontend::pytorch::findSoftmax(RecoveredProgram &program, int a, int b) {
  const Operation &exponential = program.operations[a];
  if (exponential.op != Op::Unary || exponential.text != "exp" || program.operations[b].op != Op::Move)
    return std::nullopt;
  int map = program.operations[b].map;
  int sum = program.operations[b].operands[0];
  if (program.maps[map].partial)
    return std::nullopt;
  if (const Operation *plus = asBinary(program, sum, "+")) {
    const Operation &little = program.operations[plus->operands[1]];
    if (little.op != Op::Number || little.number < 0 || little.number > 1e-12)
      return std::nullopt;
    sum = plus->operands[0];
  }
  const Operation *total = asReduction(program, sum, "sum");
  const Operation *shifted = asBinary(program, exponential.operands[0], "-");
  if (!total || total->map != map || total->operands[0] != a || !shifted)
    return std::nullopt;
  const Operation &moved = program.operations[withoutDetach(program, shifted->operands[1])];
  if (moved.op != Op::Move || moved.map != map)
    return std::nullopt;
  const Operation *largest = asReduction(program, withoutDetach(program, moved.operands[0]), "max");
  if (!largest || largest->map != map ||
      withoutDetach(program, largest->operands[0]) != withoutDetach(program, shifted->operands[0]))
    return std::nullopt;
  return program.softmax("softmax", shifted->operands[0], map);
}
