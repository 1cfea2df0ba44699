//===- Expressions.cpp - The values of expressions ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Expressions.h"
#include "Sema/Builtins.h"
#include "Sema/Layers.h"
#include "Sema/Values.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

/// How deep evaluation may recurse, over all inlined layers.
static constexpr unsigned maxDepth = 1000;
/// How many expressions and statements a model may come to when its layers are inlined.
static constexpr uint64_t maxSteps = uint64_t(1) << 20;

MaybeOperand Expressions::eval(const ast::Expr &expr) {
  if (context.budget.exhausted)
    return std::nullopt;
  ++context.budget.depth;
  llvm::scope_exit leave([&] { --context.budget.depth; });
  if (context.budget.depth > maxDepth)
    return error(expr.loc, "layers and expressions are nested too deep here");
  if (++context.budget.steps > maxSteps) {
    context.budget.exhausted = true;
    return error(expr.loc, "the model is too large: its layers come to more than " + Twine(maxSteps) +
                               " expressions when they are inlined");
  }
  return evalKind(expr);
}

MaybeOperand Expressions::evalKind(const ast::Expr &expr) {
  switch (expr.kind) {
  case ast::Expr::Kind::Integer:
    return Number::ofInt(expr.integer);
  case ast::Expr::Kind::Float:
    return Number::ofFloat(expr.number);
  case ast::Expr::Kind::Bool:
    return Number::ofBool(expr.integer);
  case ast::Expr::Kind::Name:
    return evalName(expr);
  case ast::Expr::Kind::Member:
    return evalMember(expr);
  case ast::Expr::Kind::Call: {
    Found<ast::LayerDecl> layer = context.modules.findLayer(*frame->module, expr.name);
    if (context.observer) {
      context.observer->onCall(expr, layer.decl);
      if (isPlaceholder(expr.name))
        context.observer->onValue({context, scopes, paths});
    }
    return layer ? layers.callLayer(expr, layer) : builtins.callBuiltin(expr);
  }
  case ast::Expr::Kind::Unary: {
    MaybeOperand x = eval(*expr.operands[0]);
    return x ? operators.unary(expr.name, *x, expr.loc) : std::nullopt;
  }
  case ast::Expr::Kind::Binary:
    return evalBinary(expr);
  case ast::Expr::Kind::Choice:
    return evalChoice(expr);
  case ast::Expr::Kind::Slice:
    return evalSlice(expr);
  case ast::Expr::Kind::Tuple:
    return error(expr.loc, "a list has no value; it stands only where a function takes several axes");
  }
  return std::nullopt;
}

MaybeOperand Expressions::evalName(const ast::Expr &expr) {
  if (isPlaceholder(expr.name)) {
    context.observer->onValue({context, scopes, paths});
    return std::nullopt;
  }
  if (auto found = frame->values.find(expr.name); found != frame->values.end()) {
    Binding &binding = found->second;
    if (binding.input)
      usedInputs.insert(expr.name);
    if (binding.operand)
      record(expr.loc, expr.name + ": " + describe(*binding.operand), binding.loc);
    return binding.operand;
  }
  if (auto size = frame->sizes.find(expr.name); size != frame->sizes.end()) {
    record(expr.loc, "axis " + expr.name + " = " + std::to_string(size->second));
    return Number::ofInt(size->second);
  }
  if (expr.name == "training") {
    record(expr.loc, "training: bool = " + Number::ofBool(context.training).str());
    return Number::ofBool(context.training);
  }
  if (expr.name == "step") {
    record(expr.loc, "step: shared[], the number of training steps so far");
    return wrap(values.runState("step", {}, expr.loc));
  }
  if (scopes.findMap(expr.name))
    return error(expr.loc,
                 "'" + expr.name + "' is a map, not a value; a value moves along it as in 'x." + expr.name + "'");
  if (std::optional<Id> space = scopes.findSpace(expr.name);
      space && *space != kNone && builder.space(*space).kind == Space::Kind::Static) {
    int64_t extent = builder.space(*space).extent;
    if (extent == -1)
      return error(expr.loc, builder.unknownExtent(*space));
    record(expr.loc, "space " + expr.name + ", " + std::to_string(extent) + " elements");
    return Number::ofInt(extent);
  }
  if (scopes.findSpace(expr.name) || scopes.findRelation(expr.name))
    return error(expr.loc, "'" + expr.name + "' is a space, not a value");
  std::vector<std::string> known;
  for (auto &each : frame->values)
    known.push_back(each.first().str());
  for (auto &each : frame->sizes)
    known.push_back(each.first().str());
  return error(expr.loc, "unknown name '" + expr.name + "'" + suggestion(expr.name, known));
}

/// x.a.b: names are taken together where they mean one map (a relation's, or a projection), else one by one.
MaybeOperand Expressions::evalMember(const ast::Expr &expr) {
  std::vector<ast::Name> names;
  const ast::Expr *base = &expr;
  for (; base->kind == ast::Expr::Kind::Member; base = base->operands[0].get())
    names.push_back({base->name, base->loc});
  std::reverse(names.begin(), names.end());
  MaybeOperand x = eval(*base);
  for (size_t i = 0; x && i < names.size();) {
    ast::Path path;
    path.names.assign(names.begin() + i, names.end());
    path.loc = names[i].loc;
    if (isPlaceholder(names[i].text)) {
      context.observer->onMove({context, scopes, paths}, *x);
      return std::nullopt;
    }
    // mapStep advances over the names that make one map; a space is one name.
    size_t taken = 0;
    paths.mapStep(path, taken, kUndefined);
    path.names.resize(std::max<size_t>(taken, 1));
    i += path.names.size();
    x = moves.moveAlong(*x, path, std::nullopt, path.names.back().loc);
    if (x)
      record(path.names.back().loc, "." + path.names.back().text + ": " + describe(*x));
  }
  return x;
}

MaybeOperand Expressions::evalBinary(const ast::Expr &expr) {
  MaybeOperand a = eval(*expr.operands[0]);
  // A number may decide alone, so that `heads > 0 and out / heads > 1` is safe.
  bool isOr = expr.name == "or";
  if (a && (isOr || expr.name == "and"))
    if (auto *number = std::get_if<Number>(&*a); number && number->isTrue() == isOr)
      return Number::ofBool(isOr);
  MaybeOperand b = eval(*expr.operands[1]);
  if (!a || !b)
    return std::nullopt;
  return operators.binary(expr.name, *a, *b, expr.loc);
}

/// c ? a : b with a number c elaborates one branch only.
MaybeOperand Expressions::evalChoice(const ast::Expr &expr) {
  MaybeOperand condition = eval(*expr.operands[0]);
  if (!condition)
    return std::nullopt;
  auto *number = std::get_if<Number>(&*condition);
  if (!number)
    return error(expr.loc, "the condition of '?' must be known at compile time, found " + describe(*condition) +
                               "; values are chosen element by element with where(c, a, b)");
  return eval(*expr.operands[number->isTrue() ? 1 : 2]);
}

MaybeOperand Expressions::evalSlice(const ast::Expr &expr) {
  MaybeOperand x = eval(*expr.operands[0]);
  if (x && isPlaceholder(expr.name))
    context.observer->onAxis({context, scopes, paths}, *x);
  std::optional<Number> begin = types.evalNumber(*expr.operands[1], "the begin of a slice");
  std::optional<Number> end = types.evalNumber(*expr.operands[2], "the end of a slice");
  if (!x || !begin || !end)
    return std::nullopt;
  if (!begin->isInt() || !end->isInt())
    return error(expr.loc, "the bounds of a slice must be integers, found " + begin->str() + ".." + end->str());
  MaybeId id = dense(*x, expr.loc, "a slice");
  if (!id)
    return std::nullopt;
  return wrap(builder.slice(*id, expr.name, begin->integer, end->integer, expr.loc));
}
