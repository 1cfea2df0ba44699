//===- EmitExpressions.cpp - Operations as expressions --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emitter.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <cmath>

using namespace gnnc::frontend::pytorch;

std::string Emitter::numberText(double number) const {
  if (std::isnan(number))
    throw Refusal{"a constant that is not a number (NaN)"};
  if (std::isinf(number))
    return number < 0 ? "-" + infinity : infinity;
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  (void)error;
  return std::string(buffer, end);
}

std::string Emitter::use(const Scope &scope, int value, int precedence) const {
  const Operation &operation = program.operations[value];
  if (auto name = scope.values.find(value); name != scope.values.end())
    return name->second;
  if (operation.op == Op::Number)
    return operation.number < 0 || (operation.number == 0 && std::signbit(operation.number))
               ? "(" + numberText(operation.number) + ")"
               : numberText(operation.number);
  const Text &text = scope.inlined.at(value);
  return text.precedence >= precedence ? text.text : "(" + text.text + ")";
}

std::string Emitter::mapName(const Scope &scope, int map) const {
  auto found = scope.maps.find(map);
  return found == scope.maps.end() ? mapNames.at(map) : found->second;
}

std::string Emitter::axesText(const Scope &scope, const std::vector<int> &axes) const {
  std::string text;
  for (int axis : axes)
    text += (text.empty() ? "" : ", ") + axisName(scope, axis);
  return axes.size() == 1 ? text : "(" + text + ")";
}

/// Whether both operands have an axis that the other lacks, which has to be said.
bool Emitter::isOuter(const Operation &operation) const {
  auto lacks = [&](int a, int b) {
    return llvm::any_of(program.axesOf(a), [&](int axis) { return !program.hasAxis(b, axis); });
  };
  for (int a : operation.operands)
    for (int b : operation.operands)
      if (lacks(a, b) && lacks(b, a))
        return true;
  return false;
}

/// `space near = knn(x, k: 16, along: batch)`.
std::string Emitter::choiceText(const Scope &scope, int value) const {
  const Operation &choice = program.operations[value];
  std::string text = "space " + spaceNames.at(choice.space) + " = " + choice.text + "(";
  auto own = [&] { return use(scope, choice.operands[0], 0); };
  if (choice.text == "filter")
    return text + spaceNames.at(program.operations[size_t(choice.operands[0])].space) + ", " + own() + ")";
  if (isOfMembers(choice)) {
    text +=
        own() + (choice.number != 0 ? ", ratio: " + numberText(choice.number) : ", k: " + std::to_string(choice.end));
    text += choice.map >= 0 ? ", along: " + mapName(scope, choice.map) : "";
    return text + (choice.operands.size() > 1 ? ", start: " + use(scope, choice.operands[1], 0) : "") + ")";
  }
  bool isOfItself = choice.operands[0] == choice.operands[1];
  text += own() + (choice.text == "knn" ? ", k: " : ", r: " + numberText(choice.number) + ", max: ") +
          std::to_string(choice.end);
  if (!isOfItself)
    text += ", of: " + use(scope, choice.operands[1], 0);
  else if (!choice.begin)
    text += ", self: true";
  if (choice.map >= 0)
    text += ", along: " + mapName(scope, choice.map);
  if (choice.map >= 0 && choice.otherMap != choice.map)
    text += " | " + mapName(scope, choice.otherMap);
  return text + ")";
}

Text Emitter::expression(const Scope &scope, int value) const {
  const Operation &operation = program.operations[value];
  auto operand = [&](size_t i, int precedence = 0) { return use(scope, operation.operands[i], precedence); };
  switch (operation.op) {
  case Op::Input:
  case Op::Param:
  case Op::State:
  case Op::Number:
  case Op::Choice:
    break;
  case Op::Unary:
    if (operation.text == "leaky_relu")
      return {"leaky_relu(" + operand(0) + ", " + numberText(operation.number) + ")"};
    if (operation.text == "elu" && operation.number != 1)
      return {"elu(" + operand(0) + ", " + numberText(operation.number) + ")"};
    return {operation.text + "(" + operand(0) + ")"};
  case Op::Binary:
    return binary(scope, operation);
  case Op::Where:
    return {std::string(isOuter(operation) ? "outer(" : "") + "where(" + operand(0) + ", " + operand(1) + ", " +
            operand(2) + ")" + (isOuter(operation) ? ")" : "")};
  case Op::Dot: {
    std::vector<int> left = program.axesOf(operation.operands[0]);
    if (operation.used.size() == 1 && !left.empty() && left.back() == program.axis(operation.used[0]))
      return {operand(0, Matrix) + " @ " + operand(1, Sign), Matrix};
    return {"dot(" + operand(0) + ", " + operand(1) + ", over: " + axesText(scope, operation.used) + ")"};
  }
  case Op::Reduce:
    if (const Operation &one = program.operations[operation.operands[0]];
        operation.map >= 0 && operation.text == "sum" && one.op == Op::Number && one.number == 1)
      return {"degree(" + mapName(scope, operation.map) + ")"};
    [[fallthrough]];
  case Op::Softmax:
    return {operation.text + "(" + operand(0) +
            ", along: " + (operation.map < 0 ? "all" : mapName(scope, operation.map)) + ")"};
  case Op::Over:
    return {operation.text + "(" + operand(0) + ", over: " + axesText(scope, operation.used) + ")"};
  case Op::Move:
    if (operation.number == 0 && program.operations[operation.operands[0]].space >= 0)
      return {operand(0, Postfix) + "." + mapName(scope, operation.map)};
    return {"move(" + operand(0) + ", " + mapName(scope, operation.map) + ", fill: " + numberText(operation.number) +
            ")"};
  case Op::Concat: {
    std::string text = "concat(";
    for (size_t i = 0; i < operation.operands.size(); ++i)
      text += operand(i) + ", ";
    return {text + "axis: " + axisName(scope, operation.into[0]) + ")"};
  }
  case Op::Slice:
    return {operand(0, Postfix) + "[" + axisName(scope, operation.used[0]) + ": " + std::to_string(operation.begin) +
            ".." + std::to_string(operation.end) + "]"};
  case Op::Pick:
    return {operand(0, Postfix) + "[" + axisName(scope, operation.used[0]) + ": " + std::to_string(operation.begin) +
            "]"};
  case Op::Rename: {
    std::string pairs;
    for (size_t i = 0; i < operation.used.size(); ++i)
      if (axisName(scope, operation.used[i]) != axisName(scope, operation.into[i]))
        pairs += ", " + axisName(scope, operation.used[i]) + ": " + axisName(scope, operation.into[i]);
    if (!pairs.empty())
      return {"rename(" + operand(0) + pairs + ")"};
    auto found = scope.inlined.find(operation.operands[0]);
    return found == scope.inlined.end() ? Text{operand(0)} : found->second;
  }
  case Op::Merge:
    if (operation.used.empty())
      return {"flatten(" + operand(0) + ", " + axisName(scope, operation.into[0]) + ")"};
    return {"merge(" + operand(0) + ", " + axesText(scope, operation.used) +
            ", as: " + axisName(scope, operation.into[0]) + ")"};
  case Op::Split: {
    std::string text = "split(" + operand(0) + ", " + axisName(scope, operation.used[0]);
    for (int axis : operation.into)
      text += ", " + axisName(scope, axis) + ": " + sizeText(scope, axis);
    return {text + ")"};
  }
  case Op::Permute: {
    std::vector<int> axes = program.axesOf(value);
    return {"permute(" + operand(0) + ", " + axesText(scope, axes) + ")"};
  }
  case Op::Detach:
    return {"detach(" + operand(0) + ")"};
  case Op::OneHot:
    return {"rename(onehot(" + mapName(scope, operation.map) + "), " + spaceNames.at(program.maps[operation.map].to) +
            ": " + axisName(scope, operation.axes[0]) + ")"};
  case Op::Spread:
    return {"spread(" + operand(0) + ", on: " + spaceNames.at(operation.space) + ")"};
  }
  return {scope.values.at(value)};
}

Text Emitter::binary(const Scope &scope, const Operation &operation) const {
  const std::string &function = operation.text;
  auto operand = [&](size_t i, int precedence) { return use(scope, operation.operands[i], precedence); };
  Text result;
  if (function == "maximum" || function == "minimum")
    result = {function + "(" + operand(0, 0) + ", " + operand(1, 0) + ")"};
  else if (function == "^")
    result = {operand(0, Postfix) + " ^ " + operand(1, Postfix), Power};
  else if (function == "+" || function == "-") {
    const Operation &left = program.operations[operation.operands[0]];
    if (function == "-" && left.op == Op::Number && left.number == 0)
      result = {"-" + operand(1, Power), Sign};
    else
      result = {operand(0, Sum) + " " + function + " " + operand(1, Product), Sum};
  } else if (function == "*" || function == "/")
    result = {operand(0, Product) + " " + function + " " + operand(1, Matrix), Product};
  else
    result = {operand(0, Sum) + " " + function + " " + operand(1, Sum), Comparison};
  if (isOuter(operation))
    result = {"outer(" + result.text + ")"};
  return result;
}
