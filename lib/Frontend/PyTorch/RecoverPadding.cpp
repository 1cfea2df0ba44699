//===- RecoverPadding.cpp - Sums that see padding -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of equal length (RecoverRows.cpp) are filled up with one number, and what is computed from them element by
// element has the same value at all places that are filled up: that of the computation on that number. So a sum over
// a row is
//
//   sum of the row's elements + (length of the row - number of its elements) * value at a filled place
//
// and other folds likewise. The value at a filled place is written only where a fold asks for it: the operations are
// gone through from the fold to what was put into rows, and done again on the number that is there. It resides on the
// rows, or nowhere, so it costs next to nothing; its gradient reaches biases as PyTorch's does.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>
#include <limits>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// A number to the last bit: what differs in it is another value.
std::string Recover::exactly(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%a", number);
  return text;
}

/// What is put into rows that are filled up with `fill`, as a value of its own: other values of the same elements have
/// nothing at filled places.
Tensor Recover::filledUp(Tensor x, int layout, double fill) {
  Operation zero;
  zero.op = Op::Number;
  zero.text = "filled up in rows " + std::to_string(layout) + " with " + exactly(fill);
  x.value = program.binary("+", x.value, program.add(zero));
  fillings[x.value] = {layout, fill};
  return x;
}

/// A number for each feature that a value has.
int Recover::numbersLike(double number, const std::vector<int> &axes) {
  if (axes.empty())
    return program.number(number);
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (int axis : axes) {
    sizes.push_back(program.sizeOf(axis));
    count *= sizes.back();
  }
  Tensor numbers = storedConstant(std::vector<double>(size_t(count), number), sizes);
  std::vector<std::pair<int, int>> others;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (numbers.dims[i].kind != Kind::Axis)
      numbers = withAxis(std::move(numbers), i);
    if (!program.unify(axis, numbers.dims[i].id))
      others.push_back({numbers.dims[i].id, axis});
  }
  renameAxes(numbers, others);
  if (number == 0)
    zeros.insert(numbers.value);
  return numbers.value;
}

/// The operation, or what it is for constants: masks are such at filled places.
int Recover::simplified(const Operation &operation) {
  const std::vector<int> &operands = operation.operands;
  if (operation.op == Op::Where && program.operations[size_t(operands[0])].op == Op::Number) {
    int chosen = operands[isZeroEverywhere(operands[0]) ? 2 : 1];
    if (program.axesOf(chosen).size() == operation.axes.size())
      return chosen;
    if (const Operation &own = program.operations[size_t(chosen)]; own.op == Op::Number && own.number == 0)
      return numbersLike(0, operation.axes);
  }
  bool isProduct = (operation.op == Op::Binary && operation.text == "*") || operation.op == Op::Dot;
  if (isProduct && (isZeroEverywhere(operands[0]) || isZeroEverywhere(operands[1])))
    return numbersLike(0, operation.axes);
  return program.add(operation);
}

bool Recover::isZeroEverywhere(int value) const {
  const Operation &own = program.operations[size_t(value)];
  return zeros.count(value) != 0 || (own.op == Op::Number && own.number == 0);
}

/// What a value has at places of rows that are filled up. It resides on the rows, or is shared.
int Recover::atFilledPlaces(int value, int layout) {
  auto [known, isNew] = atFilled.try_emplace({value, layout}, value);
  if (!isNew)
    return known->second;
  const RowLayout &rows = rowLayouts[size_t(layout)];
  Operation operation = program.operations[size_t(value)];
  int result = value;
  if (auto filling = fillings.find(value); filling != fillings.end()) {
    if (filling->second.layout != layout)
      throw Refusal{"elements in rows of equal length meet those in rows of another batch"};
    result = numbersLike(filling->second.fill, program.axesOf(value));
  } else if (auto numbers = rowNumbers.find(value); numbers != rowNumbers.end()) {
    result = program.number(numbers->second.absent);
  } else if (maskedScores.count(value)) {
    result = program.binary("+", numbersLike(0, program.axesOf(value)),
                            program.number(-std::numeric_limits<double>::infinity()));
  } else if (auto side = maskedWeights.find(value); side != maskedWeights.end() && side->second < 0) {
    result = numbersLike(0, program.axesOf(value));
  } else if (operation.space == rows.rows) {
    result = value;
  } else if (operation.op == Op::Move && operation.map == rows.along) {
    result = operation.operands[0];
  } else {
    static const std::set<Op> byElement = {Op::Unary,   Op::Binary, Op::Where, Op::Dot,    Op::Over,
                                           Op::Concat,  Op::Slice,  Op::Pick,  Op::Rename, Op::Merge,
                                           Op::Permute, Op::Split,  Op::Detach};
    bool isSame = true;
    int space = -1;
    for (int &operand : operation.operands) {
      int own = byElement.count(operation.op) ? atFilledPlaces(operand, layout) : operand;
      isSame &= own == operand;
      operand = own;
      if (program.operations[size_t(own)].space >= 0)
        space = program.operations[size_t(own)].space;
    }
    if (operation.space == rows.elements && (isSame || space == rows.elements))
      throw Refusal{
          "it adds up rows of equal length with what is behind their elements, which is not known; add up the "
          "elements themselves, by their numbers"};
    operation.space = space;
    if (!isSame)
      result = simplified(operation);
  }
  return atFilled[{value, layout}] = result;
}

/// A fold over the places of each row.
int Recover::foldFilledUp(const std::string &function, const Tensor &x, int layout) {
  const RowLayout rows = rowLayouts[size_t(layout)];
  int filled = atFilledPlaces(x.value, layout), length = sizeAsNumber(rows.length);
  if (filled == x.value) { // the same all along
    if (function == "sum")
      return program.binary("*", x.value, length);
    return x.value;
  }
  if (function == "logsumexp" && maskedScores.count(x.value)) // whose exponentials are 0 there
    return program.reduce(function, x.value, rows.along);
  if (function != "sum" && function != "mean" && function != "max" && function != "min")
    throw Refusal{"'" + function +
                  "' of rows of equal length would see what is behind their elements; fold the elements "
                  "themselves, by their numbers"};
  int value = x.value;
  if (program.operations[size_t(value)].space == rows.rows)
    value = program.move(value, rows.along);
  int count = program.reduce("sum", program.number(1), rows.along);
  int missing = program.binary("-", length, count);
  if (function == "sum" || function == "mean") {
    int sum = program.reduce("sum", value, rows.along);
    if (!isZeroEverywhere(filled))
      sum = program.binary("+", sum, program.binary("*", missing, filled));
    return function == "sum" ? sum : program.binary("/", sum, length);
  }
  int best = program.reduce(function, value, rows.along);
  int either = program.binary(function + "imum", best, filled);
  either = program.where(program.binary(">", count, program.number(0)), either, filled);
  return program.where(program.binary(">", missing, program.number(0)), either, best);
}

/// What tells values apart only while the program is recovered: marks, and masks that are true for all elements.
void Recover::dropMarks() {
  std::vector<int> kept;
  for (int value = 0; value < int(program.operations.size()); ++value) {
    Operation &operation = program.operations[size_t(value)];
    for (int &operand : operation.operands)
      operand = kept[size_t(operand)];
    kept.push_back(value);
    auto isMark = [&](size_t i, double number) {
      const Operation &own = program.operations[size_t(operation.operands[i])];
      return own.op == Op::Number && !own.text.empty() && own.number == number;
    };
    int rest = -1;
    if (operation.op == Op::Binary && operation.text == "+" && isMark(1, 0))
      rest = operation.operands[0];
    else if (operation.op == Op::Binary && operation.text == "*" && (isMark(0, 1) || isMark(1, 1)))
      rest = operation.operands[isMark(1, 1) ? 0 : 1];
    else if (operation.op == Op::Where && (isMark(0, 0) || isMark(0, 1)))
      rest = operation.operands[isMark(0, 0) ? 2 : 1];
    if (rest >= 0 && program.operations[size_t(rest)].space == operation.space &&
        program.axesOf(rest) == program.axesOf(value))
      kept.back() = rest;
  }
  for (RecoveredProgram::Output &output : program.outputs)
    output.value = kept[size_t(output.value)];
}
