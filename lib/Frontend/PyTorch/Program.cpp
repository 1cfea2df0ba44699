//===- Program.cpp - A recovered model, before it becomes text ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every method infers the residency and the axes of its result by the language's rules.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Program.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>

using namespace gnnc::frontend::pytorch;

int RecoveredProgram::newAxis(int64_t size, const std::string &hint) {
  axes.push_back({int(axes.size()), size, hint});
  return int(axes.size()) - 1;
}

int RecoveredProgram::axis(int variable) const {
  while (axes[variable].parent != variable)
    variable = axes[variable].parent;
  return variable;
}

std::vector<int> RecoveredProgram::axesOf(int value) const {
  std::vector<int> result;
  for (int variable : operations[value].axes)
    result.push_back(axis(variable));
  return result;
}

bool RecoveredProgram::hasAxis(int value, int variable) const {
  return llvm::is_contained(axesOf(value), axis(variable));
}

bool RecoveredProgram::unify(int a, int b) {
  a = axis(a);
  b = axis(b);
  if (a == b)
    return true;
  if (axes[a].size != axes[b].size)
    return false;
  for (int value = 0; value < int(operations.size()); ++value) {
    std::vector<int> own = axesOf(value);
    llvm::append_range(own, llvm::map_range(operations[value].into, [&](int each) { return axis(each); }));
    if (llvm::is_contained(own, a) && llvm::is_contained(own, b))
      return false;
  }
  // The name that comes from the model's inputs and parameters stays.
  if (axes[a].hint.empty() && !axes[b].hint.empty())
    std::swap(a, b);
  axes[b].parent = a;
  return true;
}

std::vector<int> RecoveredProgram::alignedAxes(const std::vector<int> &values) const {
  std::vector<int> result;
  for (int value : values)
    if (axesOf(value).size() > result.size())
      result = axesOf(value);
  for (int value : values)
    for (int own : axesOf(value))
      if (!llvm::is_contained(result, own))
        result.push_back(own);
  return result;
}

int RecoveredProgram::spaceOf(const std::vector<int> &values) const {
  int space = -1;
  for (int value : values) {
    int own = operations[value].space;
    if (own >= 0 && space >= 0 && own != space)
      throw Refusal{"its operands have elements of two kinds, " + spaces[space].size.str() + " and " +
                    spaces[own].size.str() + " of them"};
    space = own >= 0 ? own : space;
  }
  return space;
}

int RecoveredProgram::add(Operation operation) {
  if (operations.size() > 200000)
    throw Refusal{"the program has more than 200000 operations"};
  operation.node = node;
  bool isPure =
      operation.op != Op::Input && operation.op != Op::Param && operation.op != Op::State && operation.into.empty();
  if (!isPure) {
    operations.push_back(std::move(operation));
    return int(operations.size()) - 1;
  }
  // What has been computed already.
  char number[32];
  std::snprintf(number, sizeof number, "%a", operation.number);
  std::string key = std::to_string(int(operation.op)) + operation.text + "|" + number + "|" +
                    std::to_string(operation.map) + "|" + std::to_string(operation.begin) + "|" +
                    std::to_string(operation.space) + "|";
  for (int operand : operation.operands)
    key += std::to_string(operand) + ",";
  key += "|";
  for (int each : operation.used)
    key += std::to_string(axis(each)) + ",";
  key += "|";
  for (int each : operation.axes)
    key += std::to_string(axis(each)) + ",";
  auto [found, isNew] = known.try_emplace(key, int(operations.size()));
  if (isNew)
    operations.push_back(std::move(operation));
  return found->second;
}

static Operation make(Op op, std::vector<int> operands, std::string text = "") {
  Operation operation;
  operation.op = op;
  operation.operands = std::move(operands);
  operation.text = std::move(text);
  return operation;
}

int RecoveredProgram::number(double value) {
  Operation operation = make(Op::Number, {});
  operation.number = value;
  return add(std::move(operation));
}

int RecoveredProgram::unary(const std::string &function, int x, double number) {
  Operation operation = make(Op::Unary, {x}, function);
  operation.number = number;
  operation.space = operations[x].space;
  operation.axes = axesOf(x);
  return add(std::move(operation));
}

int RecoveredProgram::binary(const std::string &function, int a, int b) {
  Operation operation = make(Op::Binary, {a, b}, function);
  operation.space = spaceOf({a, b});
  operation.axes = alignedAxes({a, b});
  return add(std::move(operation));
}

int RecoveredProgram::where(int condition, int a, int b) {
  Operation operation = make(Op::Where, {condition, a, b});
  operation.space = spaceOf({condition, a, b});
  operation.axes = alignedAxes({condition, a, b});
  return add(std::move(operation));
}

int RecoveredProgram::dot(int a, int b, const std::vector<int> &over) {
  Operation operation = make(Op::Dot, {a, b});
  operation.space = spaceOf({a, b});
  operation.used = over;
  auto isOver = [&](int own) { return llvm::any_of(over, [&](int each) { return axis(each) == own; }); };
  for (int value : {a, b})
    for (int own : axesOf(value))
      if (!isOver(own) && !llvm::is_contained(operation.axes, own))
        operation.axes.push_back(own);
  return add(std::move(operation));
}

int RecoveredProgram::reduce(const std::string &function, int x, int map) {
  Operation operation = make(Op::Reduce, {x}, function);
  operation.map = map;
  operation.space = map < 0 ? -1 : maps[map].to;
  operation.axes = axesOf(x);
  return add(std::move(operation));
}

int RecoveredProgram::softmax(const std::string &function, int x, int map) {
  Operation operation = make(Op::Softmax, {x}, function);
  operation.map = map;
  operation.space = operations[x].space;
  operation.axes = axesOf(x);
  return add(std::move(operation));
}

int RecoveredProgram::over(const std::string &function, int x, const std::vector<int> &used) {
  Operation operation = make(Op::Over, {x}, function);
  operation.used = used;
  operation.space = operations[x].space;
  bool stays = function == "softmax" || function == "log_softmax";
  for (int own : axesOf(x))
    if (stays || llvm::none_of(used, [&](int each) { return axis(each) == own; }))
      operation.axes.push_back(own);
  return add(std::move(operation));
}

int RecoveredProgram::move(int x, int map, double fill) {
  if (operations[x].space < 0 && !maps[map].partial)
    return x;
  Operation operation = make(Op::Move, {x});
  operation.map = map;
  operation.number = fill;
  operation.space = maps[map].from;
  operation.axes = axesOf(x);
  return add(std::move(operation));
}

int RecoveredProgram::rename(int x, std::vector<std::pair<int, int>> pairs) {
  llvm::erase_if(pairs, [&](auto &pair) { return axis(pair.first) == axis(pair.second); });
  if (pairs.empty())
    return x;
  Operation operation = make(Op::Rename, {x});
  std::vector<int> own = axesOf(x);
  auto leaves = [&](int each) { return llvm::any_of(pairs, [&](auto &pair) { return axis(pair.first) == each; }); };
  for (int each : own) {
    bool inTheWay = llvm::any_of(pairs, [&](auto &pair) { return axis(pair.second) == each; });
    if (inTheWay && !leaves(each))
      pairs.push_back({each, newAxis(sizeOf(each), hintOf(each))});
  }
  operation.space = operations[x].space;
  for (int each : own) {
    auto pair = llvm::find_if(pairs, [&](auto &pair) { return axis(pair.first) == each; });
    operation.axes.push_back(pair == pairs.end() ? each : pair->second);
  }
  for (auto &[from, to] : pairs) {
    operation.used.push_back(from);
    operation.into.push_back(to);
  }
  return add(std::move(operation));
}

int RecoveredProgram::merge(int x, const std::vector<int> &used, int into) {
  Operation operation = make(Op::Merge, {x});
  operation.used = used;
  operation.into = {into};
  operation.space = operations[x].space;
  for (int own : axesOf(x)) {
    if (!used.empty() && own == axis(used[0]))
      operation.axes.push_back(into);
    else if (llvm::none_of(used, [&](int each) { return axis(each) == own; }))
      operation.axes.push_back(own);
  }
  if (used.empty())
    operation.axes.push_back(into);
  return add(std::move(operation));
}

int RecoveredProgram::split(int x, int variable, const std::vector<int> &into) {
  Operation operation = make(Op::Split, {x});
  operation.used = {variable};
  operation.into = into;
  operation.space = operations[x].space;
  for (int own : axesOf(x)) {
    if (own == axis(variable))
      llvm::append_range(operation.axes, into);
    else
      operation.axes.push_back(own);
  }
  return add(std::move(operation));
}

int RecoveredProgram::pick(int x, int variable, int64_t element) {
  Operation operation = make(Op::Pick, {x});
  operation.used = {variable};
  operation.begin = element;
  operation.space = operations[x].space;
  for (int own : axesOf(x))
    if (own != axis(variable))
      operation.axes.push_back(own);
  return add(std::move(operation));
}

int RecoveredProgram::slice(int x, int variable, int64_t begin, int64_t end, int into) {
  Operation operation = make(Op::Slice, {x});
  operation.used = {variable};
  operation.into = {into};
  operation.begin = begin;
  operation.end = end;
  operation.space = operations[x].space;
  for (int own : axesOf(x))
    operation.axes.push_back(own == axis(variable) ? into : own);
  return add(std::move(operation));
}

int RecoveredProgram::permute(int x, const std::vector<int> &order) {
  std::vector<int> wanted;
  for (int each : order)
    wanted.push_back(axis(each));
  if (wanted == axesOf(x))
    return x;
  Operation operation = make(Op::Permute, {x});
  operation.space = operations[x].space;
  operation.axes = wanted;
  return add(std::move(operation));
}

int RecoveredProgram::concat(const std::vector<int> &operands, const std::vector<int> &joined, int into) {
  std::vector<int> ordered;
  for (auto [x, variable] : llvm::zip(operands, joined)) {
    std::vector<int> order = axesOf(x);
    llvm::erase(order, axis(variable));
    order.push_back(variable);
    ordered.push_back(permute(x, order));
  }
  Operation operation = make(Op::Concat, ordered);
  operation.space = spaceOf(ordered);
  // All but the joined axis, of the operand that has most.
  for (auto [x, variable] : llvm::zip(ordered, joined))
    for (int own : axesOf(x))
      if (own != axis(variable) && !llvm::is_contained(operation.axes, own))
        operation.axes.push_back(own);
  operation.axes.push_back(into);
  operation.into = {into};
  return add(std::move(operation));
}

int RecoveredProgram::detach(int x) {
  Operation operation = make(Op::Detach, {x});
  operation.space = operations[x].space;
  operation.axes = axesOf(x);
  return add(std::move(operation));
}

int RecoveredProgram::oneHot(int map, int variable) {
  Operation operation = make(Op::OneHot, {});
  operation.map = map;
  operation.space = maps[map].from;
  operation.axes = {variable};
  return add(std::move(operation));
}

int RecoveredProgram::spread(int x, int variable, int space) {
  std::vector<int> order = axesOf(x);
  llvm::erase(order, axis(variable));
  order.insert(order.begin(), axis(variable));
  x = permute(x, order);
  Operation operation = make(Op::Spread, {x});
  operation.used = {variable};
  operation.space = space;
  operation.axes.assign(order.begin() + 1, order.end());
  return add(std::move(operation));
}

/// What leaves an axis alone can come after the spread as well as before it.
int RecoveredProgram::spreadEarly(int x, int variable, int space) {
  std::map<int, int> done;
  std::function<int(int)> spreadAll = [&](int value) -> int {
    if (!hasAxis(value, variable))
      return value;
    if (auto known = done.find(value); known != done.end())
      return known->second;
    const Operation old = operations[size_t(value)];
    auto names = [&](const std::vector<int> &variables) {
      return llvm::any_of(variables, [&](int each) { return axis(each) == axis(variable); });
    };
    bool isLeft = old.space < 0 && !names(old.used) && !names(old.into);
    const Node *before = std::exchange(node, old.node);
    std::vector<int> operands;
    switch (isLeft ? old.op : Op::Number) {
    case Op::Unary:
    case Op::Binary:
    case Op::Where:
    case Op::Dot:
    case Op::Over:
    case Op::Detach:
      for (int operand : old.operands)
        operands.push_back(spreadAll(operand));
      break;
    default:
      break;
    }
    int result = -1;
    if (operands.empty())
      result = spread(value, variable, space);
    else if (old.op == Op::Unary)
      result = unary(old.text, operands[0], old.number);
    else if (old.op == Op::Binary)
      result = binary(old.text, operands[0], operands[1]);
    else if (old.op == Op::Where)
      result = where(operands[0], operands[1], operands[2]);
    else if (old.op == Op::Dot)
      result = dot(operands[0], operands[1], old.used);
    else if (old.op == Op::Over)
      result = over(old.text, operands[0], old.used);
    else
      result = detach(operands[0]);
    node = before;
    return done[value] = result;
  };
  return spreadAll(x);
}
