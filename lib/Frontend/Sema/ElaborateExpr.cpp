//===- ElaborateExpr.cpp - Expressions ------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Builtins.h"
#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

/// How deep evaluation may recurse, over all inlined layers.
static constexpr unsigned maxDepth = 1000;
/// How many expressions and statements a model may come to when its layers are inlined.
static constexpr uint64_t maxSteps = uint64_t(1) << 20;

MaybeOperand Elaborator::eval(const ast::Expr &expr) {
  if (exhausted)
    return std::nullopt;
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  if (depth > maxDepth)
    return error(expr.loc, "layers and expressions are nested too deep here");
  if (++steps > maxSteps) {
    exhausted = true;
    return error(expr.loc, "the model is too large: its layers come to more than " + Twine(maxSteps) +
                               " expressions when they are inlined");
  }
  return evalKind(expr);
}

MaybeOperand Elaborator::evalKind(const ast::Expr &expr) {
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
    Found<ast::LayerDecl> layer = modules.findLayer(*frame->module, expr.name);
    completeArguments(expr, layer.decl);
    if (isCursor(expr.name))
      completeName();
    return layer ? callLayer(expr, layer) : callBuiltin(expr);
  }
  case ast::Expr::Kind::Unary:
    return evalUnary(expr);
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

MaybeOperand Elaborator::evalName(const ast::Expr &expr) {
  if (isCursor(expr.name)) {
    completeName();
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
    record(expr.loc, "training: bool = " + Number::ofBool(training).str());
    return Number::ofBool(training);
  }
  if (expr.name == "step") {
    record(expr.loc, "step: shared[], the number of training steps so far");
    return wrap(runState("step", {}, expr.loc));
  }
  if (findMap(expr.name))
    return error(expr.loc,
                 "'" + expr.name + "' is a map, not a value; a value moves along it as in 'x." + expr.name + "'");
  if (std::optional<Id> space = findSpace(expr.name);
      space && *space != kNone && builder.space(*space).kind == Space::Kind::Static) {
    int64_t extent = builder.space(*space).extent;
    if (extent == -1)
      return error(expr.loc, builder.unknownExtent(*space));
    record(expr.loc, "space " + expr.name + ", " + std::to_string(extent) + " elements");
    return Number::ofInt(extent);
  }
  if (findSpace(expr.name) || findRelation(expr.name))
    return error(expr.loc, "'" + expr.name + "' is a space, not a value");
  std::vector<std::string> known;
  for (auto &each : frame->values)
    known.push_back(each.first().str());
  for (auto &each : frame->sizes)
    known.push_back(each.first().str());
  return error(expr.loc, "unknown name '" + expr.name + "'" + suggestion(expr.name, known));
}

/// x.a.b: names are taken together where they mean one map (a relation's, or a projection), else one by one.
MaybeOperand Elaborator::evalMember(const ast::Expr &expr) {
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
    if (isCursor(names[i].text)) {
      completeMove(*x);
      return std::nullopt;
    }
    // mapStep advances over the names that make one map; a space is one name.
    size_t taken = 0;
    mapStep(path, taken, kUndefined);
    path.names.resize(std::max<size_t>(taken, 1));
    i += path.names.size();
    x = moveAlong(*x, path, std::nullopt, path.names.back().loc);
    if (x)
      record(path.names.back().loc, "." + path.names.back().text + ": " + describe(*x));
  }
  return x;
}

/// A value of ModelSpec; a number becomes a constant.
MaybeId Elaborator::dense(const Operand &operand, Loc loc, StringRef doing) {
  if (auto *number = std::get_if<Number>(&operand))
    return builder.constant(number->asDouble(), loc);
  if (auto *sparse = std::get_if<Sparse>(&operand))
    return sparseUnsupported(*sparse, ("in " + doing).str(), loc);
  return std::get<Dense>(operand).id;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

MaybeOperand Elaborator::evalUnary(const ast::Expr &expr) {
  MaybeOperand x = eval(*expr.operands[0]);
  if (!x)
    return std::nullopt;
  if (auto *number = std::get_if<Number>(&*x)) {
    llvm::Expected<Number> result = foldUnary(expr.name, *number);
    if (!result)
      return error(expr.loc, llvm::toString(result.takeError()));
    return *result;
  }
  if (expr.name == "not")
    return binary("==", *x, Number::ofInt(0), expr.loc);
  if (auto *sparse = std::get_if<Sparse>(&*x))
    return sparseUnary("neg", *sparse, 0, expr.loc);
  return wrap(builder.unary("neg", std::get<Dense>(*x).id, 0, expr.loc));
}

MaybeOperand Elaborator::evalBinary(const ast::Expr &expr) {
  MaybeOperand a = eval(*expr.operands[0]);
  // A number may decide alone, so that `heads > 0 and out / heads > 1` is safe.
  bool isOr = expr.name == "or";
  if (a && (isOr || expr.name == "and"))
    if (auto *number = std::get_if<Number>(&*a); number && number->isTrue() == isOr)
      return Number::ofBool(isOr);
  MaybeOperand b = eval(*expr.operands[1]);
  if (!a || !b)
    return std::nullopt;
  return binary(expr.name, *a, *b, expr.loc);
}

MaybeOperand Elaborator::binary(StringRef op, const Operand &a, const Operand &b, Loc loc) {
  auto *x = std::get_if<Number>(&a), *y = std::get_if<Number>(&b);
  if (op == "@")
    return matmul(a, b, loc);
  if (x && y) {
    llvm::Expected<Number> result = foldBinary(op, *x, *y);
    if (!result)
      return error(loc, llvm::toString(result.takeError()));
    return *result;
  }
  if (op == "^")
    return power(a, b, loc);
  if (op == "%")
    return error(loc, "'%' works on numbers known at compile time only");
  if (op == "and" || op == "or") {
    // Both sides as 0 or 1, then their product or maximum.
    MaybeOperand left = binary("!=", a, Number::ofInt(0), loc), right = binary("!=", b, Number::ofInt(0), loc);
    if (!left || !right)
      return std::nullopt;
    MaybeId leftId = dense(*left, loc, "'" + op.str() + "'"), rightId = dense(*right, loc, "'" + op.str() + "'");
    if (!leftId || !rightId)
      return std::nullopt;
    return wrap(builder.binary(op == "and" ? "mul" : "maximum", *leftId, *rightId, loc));
  }
  auto *left = std::get_if<Sparse>(&a), *right = std::get_if<Sparse>(&b);
  if (op == "*" && left && !right)
    return sparseScale("mul", *left, b, loc);
  if (op == "*" && right && !left)
    return sparseScale("mul", *right, a, loc);
  if (op == "/" && left && !right)
    return sparseScale("div", *left, b, loc);
  std::string doing = "'" + op.str() + "'";
  MaybeId leftId = dense(a, loc, doing), rightId = leftId ? dense(b, loc, doing) : std::nullopt;
  if (!leftId || !rightId)
    return std::nullopt;
  StringRef function = llvm::StringSwitch<StringRef>(op)
                           .Case("+", "add")
                           .Case("-", "sub")
                           .Case("*", "mul")
                           .Case("/", "div")
                           .Case("<", "lt")
                           .Case("<=", "le")
                           .Case(">", "gt")
                           .Case(">=", "ge")
                           .Case("==", "eq")
                           .Case("!=", "ne")
                           .Default(op); // maximum and minimum by name
  return wrap(builder.binary(function, *leftId, *rightId, loc));
}

MaybeOperand Elaborator::power(const Operand &a, const Operand &b, Loc loc) {
  if (auto *exponent = std::get_if<Number>(&b)) {
    if (exponent->asDouble() == 1)
      return a;
    if (exponent->asDouble() == 2) {
      if (auto *sparse = std::get_if<Sparse>(&a))
        return sparseUnary("square", *sparse, 0, loc);
      return wrap(builder.unary("square", std::get<Dense>(a).id, 0, loc));
    }
  }
  MaybeId base = dense(a, loc, "'^'"), exponent = base ? dense(b, loc, "'^'") : std::nullopt;
  if (!base || !exponent)
    return std::nullopt;
  return wrap(builder.binary("pow", *base, *exponent, loc));
}

/// a @ b: over the left operand's last axis.
MaybeOperand Elaborator::matmul(const Operand &a, const Operand &b, Loc loc) {
  if (auto *sparse = std::get_if<Sparse>(&a))
    return sparseMatmul(*sparse, b, loc);
  if (std::holds_alternative<Number>(a) || std::holds_alternative<Number>(b))
    return error(loc, "'@' takes two values with axes, found " + describe(std::holds_alternative<Number>(a) ? a : b) +
                          "; numbers multiply with '*'");
  if (auto *sparse = std::get_if<Sparse>(&b))
    return sparseUnsupported(*sparse, "on the right of '@'", loc);
  Id left = std::get<Dense>(a).id, right = std::get<Dense>(b).id;
  const std::vector<Axis> &axes = builder.value(left).axes;
  if (axes.empty())
    return error(loc, "'@' contracts the last axis of its left operand, but " + builder.describe(left) + " has none");
  std::string last = axes.back().name;
  if (!llvm::any_of(builder.value(right).axes, [&](const Axis &axis) { return axis.name == last; }))
    return error(loc, "'@' contracts axis '" + last + "', the last of " + builder.describe(left) +
                          ", which the right operand " + builder.describe(right) + " does not have");
  return wrap(builder.contract(left, right, last, loc));
}

/// c ? a : b with a number c elaborates one branch only.
MaybeOperand Elaborator::evalChoice(const ast::Expr &expr) {
  MaybeOperand condition = eval(*expr.operands[0]);
  if (!condition)
    return std::nullopt;
  auto *number = std::get_if<Number>(&*condition);
  if (!number)
    return error(expr.loc, "the condition of '?' must be known at compile time, found " + describe(*condition) +
                               "; values are chosen element by element with where(c, a, b)");
  return eval(*expr.operands[number->isTrue() ? 1 : 2]);
}

MaybeOperand Elaborator::evalSlice(const ast::Expr &expr) {
  MaybeOperand x = eval(*expr.operands[0]);
  if (x && isCursor(expr.name))
    completeAxes(*x);
  std::optional<Number> begin = evalNumber(*expr.operands[1], "the begin of a slice");
  std::optional<Number> end = evalNumber(*expr.operands[2], "the end of a slice");
  if (!x || !begin || !end)
    return std::nullopt;
  if (!begin->isInt() || !end->isInt())
    return error(expr.loc, "the bounds of a slice must be integers, found " + begin->str() + ".." + end->str());
  MaybeId id = dense(*x, expr.loc, "a slice");
  if (!id)
    return std::nullopt;
  return wrap(builder.slice(*id, expr.name, begin->integer, end->integer, expr.loc));
}
