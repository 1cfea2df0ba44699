//===- Types.cpp - Residencies, axes and sizes ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Types.h"
#include "Sema/Expressions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;

std::optional<Id> Types::residencyOf(const std::optional<ast::Name> &name) {
  if (!name)
    return kNone;
  if (isPlaceholder(name->text)) {
    context.observer->onSpace({context, scopes, paths});
    return std::nullopt;
  }
  return scopes.spaceNamed(*name);
}

std::optional<std::vector<Axis>> Types::axesOf(const ast::Type &type) {
  std::vector<Axis> axes;
  for (auto [i, axis] : llvm::enumerate(type.axes)) {
    std::optional<int64_t> size;
    if (axis.name && isPlaceholder(axis.name->text))
      context.observer->onSize({context, scopes, paths});
    if (axis.size) {
      size = evalSize(*axis.size);
    } else if (auto known = frame->sizes.find(axis.name->text); known != frame->sizes.end()) {
      size = known->second;
    } else {
      std::vector<std::string> names;
      for (auto &each : frame->sizes)
        names.push_back(each.first().str());
      error(axis.loc, "unknown axis '" + axis.name->text + "': no size of that name; give it one as in '" +
                          axis.name->text + " = 16'" + suggestion(axis.name->text, names));
    }
    if (!size)
      return std::nullopt;
    if (axis.name && axis.size)
      frame->sizes.try_emplace(axis.name->text, *size);
    if (axis.name)
      record(axis.loc, "axis " + axis.name->text + " = " + std::to_string(*size));
    axes.push_back({axis.name ? axis.name->text : anonymousAxis(i, type.axes.size()), *size});
  }
  return axes;
}

std::optional<int64_t> Types::evalSize(const ast::Expr &expr) {
  std::optional<Number> number = evalNumber(expr, "a size");
  if (!number)
    return std::nullopt;
  if (!number->isInt() || number->integer < 1)
    return error(expr.loc, "a size must be an integer of at least 1, found " + number->str());
  return number->integer;
}

std::optional<Number> Types::evalNumber(const ast::Expr &expr, StringRef what) {
  MaybeOperand operand = expressions.eval(expr);
  if (!operand)
    return std::nullopt;
  if (auto *number = std::get_if<Number>(&*operand))
    return *number;
  return error(expr.loc, what + " must be a number known at compile time, found " + describe(*operand));
}

std::optional<Number> Types::convert(Number number, ast::Formal::Kind kind, const ast::Name &name, Loc loc) {
  switch (kind) {
  case ast::Formal::Kind::Int:
    if (number.kind == Number::Kind::Int)
      return number;
    return error(loc, "parameter '" + name.text + "' is an int, found " + number.str());
  case ast::Formal::Kind::Float:
    if (number.kind != Number::Kind::Bool)
      return Number::ofFloat(number.asDouble());
    return error(loc, "parameter '" + name.text + "' is a float, found " + number.str());
  case ast::Formal::Kind::Bool:
    if (number.kind == Number::Kind::Bool)
      return number;
    return error(loc, "parameter '" + name.text + "' is a bool, found " + number.str());
  case ast::Formal::Kind::Value:
    break;
  }
  return number;
}

std::string gnnc::frontend::anonymousAxis(size_t position, size_t count) {
  return "_" + std::to_string(count - position);
}
