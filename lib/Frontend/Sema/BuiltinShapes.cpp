//===- BuiltinShapes.cpp - Built-in functions that change axes ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/BuiltinArguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;

static std::vector<std::string> namesOf(const std::vector<Axis> &axes) {
  std::vector<std::string> names;
  for (const Axis &axis : axes)
    names.push_back(axis.name);
  return names;
}

MaybeOperand Builtins::concatFunction(BuiltinArguments &arguments) {
  std::vector<Id> operands;
  for (size_t i = 0, count = arguments.positionalCount(); i < count; ++i)
    if (MaybeId operand = arguments.dense(i))
      operands.push_back(*operand);
    else
      return std::nullopt;
  const ast::Expr *named = arguments.named("axis");
  if (operands.empty() || !named)
    return arguments.missing();
  std::optional<std::string> axis = arguments.axis(named);
  return axis ? wrap(builder.concat(operands, *axis, arguments.call.loc)) : std::nullopt;
}

/// rename(x, old: new, ...)
MaybeOperand Builtins::renameFunction(BuiltinArguments &arguments) {
  MaybeOperand x = arguments.value(0);
  std::vector<std::pair<std::string, std::string>> pairs;
  for (auto &[name, expr] : arguments.restNamed()) {
    std::optional<std::string> to = arguments.axis(expr);
    if (!to)
      return std::nullopt;
    pairs.emplace_back(name.text, *to);
  }
  if (!x)
    return std::nullopt;
  if (pairs.empty())
    return arguments.missing();
  return renameAxes(*x, pairs, arguments.call.loc);
}

MaybeOperand Builtins::renameAxes(const Operand &x, const std::vector<std::pair<std::string, std::string>> &pairs,
                                  Loc loc) {
  if (auto *sparse = std::get_if<Sparse>(&x)) {
    Sparse renamed = *sparse;
    for (auto &[from, to] : pairs) {
      if (from != sparse->axis)
        return error(loc, "no axis '" + from + "' in " + describe(x));
      renamed.axis = to;
    }
    return renamed;
  }
  MaybeId id = dense(x, loc, "rename");
  if (!id)
    return std::nullopt;
  std::vector<std::string> before = namesOf(builder.value(*id).axes), names = before;
  for (auto &[from, to] : pairs) {
    auto at = llvm::find(before, from);
    if (at == before.end())
      return error(loc, "no axis '" + from + "' in " + builder.describe(*id));
    names[at - before.begin()] = to;
  }
  return wrap(builder.rename(*id, names, loc));
}

/// flatten(x, name): all axes become one; where there is none, one of size 1.
MaybeOperand Builtins::flattenFunction(BuiltinArguments &arguments) {
  MaybeId x = arguments.dense(0);
  std::optional<std::string> name = arguments.axis(arguments.positional(1));
  if (!x || !name)
    return std::nullopt;
  std::vector<std::string> axes = namesOf(builder.value(*x).axes);
  if (axes.size() == 1)
    return wrap(builder.rename(*x, *name, arguments.call.loc));
  return wrap(builder.merge(*x, axes, *name, arguments.call.loc));
}

/// merge(x, (a, b), as: name): brings the axes together where the first is, then makes them one.
MaybeOperand Builtins::mergeFunction(BuiltinArguments &arguments) {
  MaybeId x = arguments.dense(0);
  std::optional<std::vector<std::string>> axes = arguments.axes(arguments.positional(1));
  std::optional<std::string> name = arguments.axis(arguments.named("as"));
  if (!x || !axes || !name)
    return std::nullopt;
  std::vector<std::string> order;
  for (const std::string &each : namesOf(builder.value(*x).axes)) {
    if (each == axes->front())
      llvm::append_range(order, *axes);
    else if (!llvm::is_contained(*axes, each))
      order.push_back(each);
  }
  for (const std::string &axis : *axes)
    if (!llvm::is_contained(namesOf(builder.value(*x).axes), axis))
      return error(arguments.call.loc, "no axis '" + axis + "' in " + builder.describe(*x));
  MaybeId ordered = builder.permute(*x, order, arguments.call.loc);
  return ordered ? wrap(builder.merge(*ordered, *axes, *name, arguments.call.loc)) : std::nullopt;
}

/// split(x, axis, first: 4, second: 16)
MaybeOperand Builtins::splitFunction(BuiltinArguments &arguments) {
  MaybeId x = arguments.dense(0);
  std::optional<std::string> axis = arguments.axis(arguments.positional(1));
  if (!x || !axis)
    return std::nullopt;
  std::vector<Axis> into;
  for (auto &[name, expr] : arguments.restNamed()) {
    std::optional<int64_t> size = types.evalSize(*expr);
    if (!size)
      return std::nullopt;
    into.push_back({name.text, *size});
  }
  if (into.empty())
    return arguments.missing();
  return wrap(builder.split(*x, *axis, into, arguments.call.loc));
}

MaybeOperand Builtins::permuteFunction(BuiltinArguments &arguments) {
  MaybeId x = arguments.dense(0);
  std::optional<std::vector<std::string>> order = arguments.axes(arguments.positional(1));
  return x && order ? wrap(builder.permute(*x, *order, arguments.call.loc)) : std::nullopt;
}

MaybeOperand Builtins::dotFunction(BuiltinArguments &arguments) {
  MaybeOperand a = arguments.value(0), b = arguments.value(1);
  std::optional<std::vector<std::string>> axes = arguments.axes(arguments.named("over"));
  if (!a || !b || !axes)
    return std::nullopt;
  Loc loc = arguments.call.loc;
  if (auto *sparse = std::get_if<Sparse>(&*a); sparse && *axes == std::vector{sparse->axis})
    return sparseInputs.matmul(*sparse, *b, loc);
  MaybeId left = dense(*a, loc, "dot"), right = left ? dense(*b, loc, "dot") : std::nullopt;
  MaybeId product = right ? builder.contract(*left, *right, *axes, loc) : std::nullopt;
  if (!product)
    return std::nullopt;
  // In the order that sum(a * b, over: axes) has: first the axes of the operand with more of them.
  bool swapped = builder.value(*right).axes.size() > builder.value(*left).axes.size();
  std::vector<std::string> order;
  for (Id operand : {swapped ? *right : *left, swapped ? *left : *right})
    for (const Axis &axis : builder.value(operand).axes)
      if (!llvm::is_contained(*axes, axis.name) && !llvm::is_contained(order, axis.name))
        order.push_back(axis.name);
  return wrap(builder.permute(*product, order, loc));
}
