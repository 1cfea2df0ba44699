//===- BuiltinArguments.cpp - The arguments of a built-in call ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/BuiltinArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;

BuiltinArguments::BuiltinArguments(Builtins &builtins, const ast::Expr &call, StringRef usage,
                                   std::vector<MaybeOperand> evaluated)
    : call(call), usage(usage), builtins(builtins), evaluated(std::move(evaluated)),
      used(call.arguments.size(), false) {}

const ast::Expr *BuiltinArguments::positional(size_t number) {
  for (size_t i = 0, seen = 0; i < call.arguments.size(); ++i)
    if (!call.arguments[i].name && seen++ == number) {
      used[i] = true;
      return call.arguments[i].value.get();
    }
  return nullptr;
}

const ast::Expr *BuiltinArguments::named(StringRef name) {
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!used[i] && call.arguments[i].name && call.arguments[i].name->text == name) {
      used[i] = true;
      return call.arguments[i].value.get();
    }
  return nullptr;
}

size_t BuiltinArguments::positionalCount() const {
  return llvm::count_if(call.arguments, [](const ast::Argument &argument) { return !argument.name; });
}

std::vector<std::pair<ast::Name, const ast::Expr *>> BuiltinArguments::restNamed() {
  std::vector<std::pair<ast::Name, const ast::Expr *>> rest;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!used[i] && call.arguments[i].name) {
      used[i] = true;
      rest.emplace_back(*call.arguments[i].name, call.arguments[i].value.get());
    }
  return rest;
}

MaybeOperand BuiltinArguments::value(size_t number) {
  const ast::Expr *expr = positional(number);
  if (!expr)
    return missing();
  if (number < evaluated.size())
    return evaluated[number];
  return builtins.expressions.eval(*expr);
}

MaybeId BuiltinArguments::dense(size_t number) {
  MaybeOperand operand = value(number);
  return operand ? builtins.dense(*operand, call.loc, call.name) : std::nullopt;
}

std::optional<Number> BuiltinArguments::number(size_t position, StringRef name, std::optional<double> absent) {
  const ast::Expr *expr = name.empty() ? nullptr : named(name);
  if (!expr)
    expr = positional(position);
  if (expr)
    return builtins.types.evalNumber(*expr, "this argument of " + call.name);
  if (absent)
    return Number::ofFloat(*absent);
  return missing();
}

std::optional<std::vector<std::string>> BuiltinArguments::axes(const ast::Expr *expr) {
  if (!expr)
    return missing();
  std::vector<std::string> names;
  auto add = [&](const ast::Expr &each) {
    if (each.kind == ast::Expr::Kind::Name && builtins.isPlaceholder(each.name))
      showAxes();
    if (each.kind == ast::Expr::Kind::Name)
      names.push_back(each.name);
    else
      builtins.error(each.loc, "expected the name of an axis in " + usage);
    return each.kind == ast::Expr::Kind::Name;
  };
  if (expr->kind != ast::Expr::Kind::Tuple)
    return add(*expr) ? std::optional(names) : std::nullopt;
  for (const ast::ExprPtr &each : expr->operands)
    if (!add(*each))
      return std::nullopt;
  return names;
}

void BuiltinArguments::showAxes() {
  for (const ast::Argument &argument : call.arguments)
    if (!argument.name &&
        !(argument.value->kind == ast::Expr::Kind::Name && builtins.isPlaceholder(argument.value->name)))
      if (MaybeOperand x = builtins.expressions.eval(*argument.value))
        builtins.context.observer->onAxis({builtins.context, builtins.scopes, builtins.paths}, *x);
}

std::optional<std::string> BuiltinArguments::axis(const ast::Expr *expr) {
  std::optional<std::vector<std::string>> names = axes(expr);
  if (!names)
    return std::nullopt;
  if (names->size() != 1)
    return builtins.error(expr->loc, "expected one axis in " + usage);
  return names->front();
}

std::nullopt_t BuiltinArguments::missing() { return builtins.error(call.loc, "missing argument; expected " + usage); }

MaybeOperand BuiltinArguments::finish(MaybeOperand result) {
  if (!result)
    return std::nullopt;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i]) {
      const ast::Argument &argument = call.arguments[i];
      return builtins.error(argument.name ? argument.name->loc : argument.value->loc,
                            "extra argument" + (argument.name ? " '" + argument.name->text + "'" : "") + "; expected " +
                                usage);
    }
  return result;
}
