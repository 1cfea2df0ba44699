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
    return error(expr.loc, "the model is too large: with its layers inlined it has more than " + Twine(maxSteps) +
                               " expressions");
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
    auto instance = frame->shared.find(expr.name);
    bool isInstance = instance != frame->shared.end();
    Found<ast::LayerDecl> layer;
    if (!isInstance)
      layer = context.modules.findLayer(*frame->module, expr.name);
    else if (instance->second)
      layer = instance->second->layer;
    if (context.observer) {
      context.observer->onCall(expr, layer.decl);
      if (isPlaceholder(expr.name))
        context.observer->onValue({context, scopes, paths});
    }
    if (isInstance && !layer)
      return std::nullopt;
    if (isInstance && expr.as)
      return error(expr.as->loc,
                   "'" + expr.name + "' is an instance, which has its name; 'as' belongs to calls of layers");
    if (isInstance)
      return layers.callLayer(expr, layer, &*instance->second);
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
    return error(expr.loc, "a list is not a value; it is allowed only where a function takes several axes");
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
  frame->values[expr.name]; // known from here on, but poisoned: one error is enough
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
    if (names[i].text == "T" && !scopes.findMap("T") && !scopes.findSpace("T") && !scopes.findRelation("T")) {
      x = transpose(*x, names[i].loc);
      ++i;
      continue;
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
  if ((expr.name == "==" || expr.name == "!=") && isMap(*expr.operands[0]) && isMap(*expr.operands[1]))
    return compareMaps(expr);
  MaybeOperand result = eval(*expr.operands[0]);
  bool failed = !result;
  for (auto [op, operand] : llvm::zip(expr.operators, llvm::drop_begin(expr.operands))) {
    // A number may decide alone, so that `heads > 0 and out / heads > 1` is safe.
    bool isOr = op.text == "or";
    if (auto *number = result ? std::get_if<Number>(&*result) : nullptr;
        number && (isOr || op.text == "and") && number->isTrue() == isOr) {
      result = Number::ofBool(isOr);
      continue;
    }
    MaybeOperand next = eval(*operand);
    failed |= !next;
    result = failed ? std::nullopt : operators.binary(op.text, *result, *next, op.loc);
    failed |= !result;
  }
  return result;
}

/// Whether names joined by dots spell a map, rather than a value or size of the frame.
bool Expressions::isMap(const ast::Expr &expr) {
  const ast::Expr *base = &expr;
  while (base->kind == ast::Expr::Kind::Member)
    base = base->operands[0].get();
  if (base->kind != ast::Expr::Kind::Name || frame->values.count(base->name) || frame->sizes.count(base->name))
    return false;
  std::optional<ast::Path> path = paths.pathOf(expr);
  size_t taken = 0;
  return path && paths.mapStep(*path, taken, kUndefined).has_value();
}

/// `src == dst`: 1 where two maps agree, else 0. An element belongs to the filter of those that do, or does not, so it
/// is counted once or not at all.
MaybeOperand Expressions::compareMaps(const ast::Expr &expr) {
  std::optional<ast::Path> left = paths.pathOf(*expr.operands[0]), right = paths.pathOf(*expr.operands[1]);
  std::optional<Route> a = paths.resolve(*left, kUndefined, /*structural=*/false);
  std::optional<Route> b = a ? paths.resolve(*right, a->from, /*structural=*/false) : std::nullopt;
  if (!b)
    return std::nullopt;
  bool equal = expr.name == "==";
  std::string name = frame->prefix + left->names.back().text + (equal ? "_is_" : "_is_not_") + right->names.back().text;
  MaybeId filter = builder.filterSpace(name, a->from, a->map, b->map, equal, expr.loc);
  MaybeId inclusion = filter ? builder.inclusion(*filter, expr.loc) : std::nullopt;
  return inclusion ? wrap(builder.degree(*inclusion, expr.loc)) : std::nullopt;
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
  if (expr.operands.size() == 2)
    return evalIndex(expr, x);
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

/// x[axis: i] is a slice of one, whose axis goes.
MaybeOperand Expressions::evalIndex(const ast::Expr &expr, const MaybeOperand &x) {
  std::optional<Number> index = types.evalNumber(*expr.operands[1], "an index");
  MaybeId id = x && index ? dense(*x, expr.loc, "an index") : std::nullopt;
  if (!id)
    return std::nullopt;
  const std::vector<Axis> axes = builder.value(*id).axes;
  auto axis = llvm::find_if(axes, [&](const Axis &each) { return each.name == expr.name; });
  if (axis == axes.end())
    return error(expr.loc, "no axis '" + expr.name + "' in " + builder.describe(*id));
  if (!index->isInt() || index->integer < 0 || index->integer >= axis->size)
    return error(expr.operands[1]->loc, "an index of axis '" + expr.name + "' is an integer from 0 to " +
                                            Twine(axis->size - 1) + ", found " + index->str());
  MaybeId row = builder.slice(*id, expr.name, index->integer, index->integer + 1, expr.loc);
  return row ? wrap(builder.split(*row, expr.name, {}, expr.loc)) : std::nullopt;
}

/// W.T: each of two axes has the other's name. What W contracts in its first axis, W.T contracts in its second.
MaybeOperand Expressions::transpose(const Operand &x, Loc loc) {
  MaybeId id = dense(x, loc, "'.T'");
  if (!id)
    return std::nullopt;
  const std::vector<Axis> axes = builder.value(*id).axes;
  if (axes.size() != 2)
    return error(loc, "'.T' exchanges two axes, found " + builder.describe(*id));
  MaybeId renamed = builder.rename(*id, {axes[1].name, axes[0].name}, loc);
  MaybeOperand result = renamed ? wrap(builder.permute(*renamed, {axes[0].name, axes[1].name}, loc)) : std::nullopt;
  if (result)
    record(loc, ".T: " + describe(*result));
  return result;
}
