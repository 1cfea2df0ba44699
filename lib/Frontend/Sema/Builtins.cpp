//===- Builtins.cpp - Elementwise built-in functions ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Builtins.h"
#include "Sema/BuiltinArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace gnnc::frontend {

struct BuiltinTable {
  using Function = MaybeOperand (Elaborator::*)(Elaborator::Arguments &);
  struct Entry {
    Function function;
    const char *usage;
  };

  static const std::map<std::string, Entry> &get() {
    using E = Elaborator;
    static const std::map<std::string, Entry> table = {
        {"relu", {&E::unaryFunction, "relu(x)"}},
        {"leaky_relu", {&E::unaryFunction, "leaky_relu(x, slope: 0.01)"}},
        {"elu", {&E::unaryFunction, "elu(x, alpha: 1)"}},
        {"gelu", {&E::unaryFunction, "gelu(x)"}},
        {"silu", {&E::unaryFunction, "silu(x)"}},
        {"sigmoid", {&E::unaryFunction, "sigmoid(x)"}},
        {"tanh", {&E::unaryFunction, "tanh(x)"}},
        {"softplus", {&E::unaryFunction, "softplus(x)"}},
        {"exp", {&E::unaryFunction, "exp(x)"}},
        {"log", {&E::unaryFunction, "log(x)"}},
        {"sqrt", {&E::unaryFunction, "sqrt(x)"}},
        {"rsqrt", {&E::unaryFunction, "rsqrt(x)"}},
        {"abs", {&E::unaryFunction, "abs(x)"}},
        {"sign", {&E::unaryFunction, "sign(x)"}},
        {"square", {&E::unaryFunction, "square(x)"}},
        {"sin", {&E::unaryFunction, "sin(x)"}},
        {"cos", {&E::unaryFunction, "cos(x)"}},
        {"erf", {&E::unaryFunction, "erf(x)"}},
        {"recip", {&E::unaryFunction, "recip(x)"}},
        {"floor", {&E::unaryFunction, "floor(number)"}},
        {"maximum", {&E::binaryFunction, "maximum(a, b)"}},
        {"minimum", {&E::binaryFunction, "minimum(a, b)"}},
        {"pow", {&E::binaryFunction, "pow(a, b)"}},
        {"where", {&E::whereFunction, "where(c, a, b)"}},
        {"sum", {&E::reduction, "sum(x, along: map, over: axes)"}},
        {"mean", {&E::reduction, "mean(x, along: map, over: axes)"}},
        {"max", {&E::reduction, "max(x, along: map, over: axes)"}},
        {"min", {&E::reduction, "min(x, along: map, over: axes)"}},
        {"softmax", {&E::normalization, "softmax(x, along: map) or softmax(x, over: axes)"}},
        {"logsumexp", {&E::normalization, "logsumexp(x, along: map) or logsumexp(x, over: axes)"}},
        {"log_softmax", {&E::normalization, "log_softmax(x, along: map) or log_softmax(x, over: axes)"}},
        {"degree", {&E::degreeFunction, "degree(map)"}},
        {"move", {&E::moveFunction, "move(x, map, fill: 0)"}},
        {"join", {&E::joinFunction, "join(a, b, on: space)"}},
        {"concat", {&E::concatFunction, "concat(a, b, axis: name)"}},
        {"rename", {&E::renameFunction, "rename(x, old: new)"}},
        {"flatten", {&E::flattenFunction, "flatten(x, name)"}},
        {"merge", {&E::mergeFunction, "merge(x, (a, b), as: name)"}},
        {"split", {&E::splitFunction, "split(x, axis, first: 4, second: 16)"}},
        {"permute", {&E::permuteFunction, "permute(x, (b, a))"}},
        {"dot", {&E::dotFunction, "dot(a, b, over: axes)"}},
        {"dropout", {&E::dropoutFunction, "dropout(x, probability)"}},
        {"detach", {&E::detachFunction, "detach(x)"}},
        {"gradient", {&E::gradientFunction, "gradient(number, x)"}},
        {"onehot", {&E::onehotFunction, "onehot(map)"}},
    };
    return table;
  }
};

} // namespace gnnc::frontend

bool gnnc::frontend::isBuiltin(StringRef name) { return BuiltinTable::get().count(name.str()); }

std::string gnnc::frontend::builtinUsage(StringRef name) {
  auto found = BuiltinTable::get().find(name.str());
  return found == BuiltinTable::get().end() ? "" : found->second.usage;
}

std::vector<std::string> gnnc::frontend::builtinNames() {
  std::vector<std::string> names;
  for (auto &each : BuiltinTable::get())
    names.push_back(each.first);
  return names;
}

MaybeOperand Elaborator::callBuiltin(const ast::Expr &call) {
  auto &table = BuiltinTable::get();
  auto found = table.find(call.name);
  if (found == table.end()) {
    std::vector<std::string> known = builtinNames();
    llvm::append_range(known, modules.layerNames(*frame->module));
    return error(call.loc, "unknown layer or function '" + call.name + "'" + suggestion(call.name, known));
  }
  if (!call.on.empty() || call.as)
    return error(call.on.empty() ? call.as->loc : call.on[0].loc,
                 "'" + call.name + "' is a built-in function; 'on' and 'as' belong to layers");
  record(call.loc, found->second.usage);
  // Numbers stay numbers, where the function is known for them.
  if (isNumberFunction(call.name, call.arguments.size()) &&
      llvm::none_of(call.arguments, [](const ast::Argument &argument) { return argument.name.has_value(); })) {
    std::vector<MaybeOperand> operands;
    std::vector<Number> numbers;
    for (const ast::Argument &argument : call.arguments) {
      operands.push_back(eval(*argument.value));
      if (!operands.back())
        return std::nullopt;
      if (auto *number = std::get_if<Number>(&*operands.back()))
        numbers.push_back(*number);
    }
    if (numbers.size() == operands.size()) {
      llvm::Expected<Number> result = foldFunction(call.name, numbers);
      if (!result)
        return error(call.loc, llvm::toString(result.takeError()));
      return *result;
    }
    Arguments arguments(*this, call, found->second.usage, std::move(operands));
    return arguments.finish((this->*found->second.function)(arguments));
  }
  Arguments arguments(*this, call, found->second.usage, {});
  return arguments.finish((this->*found->second.function)(arguments));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Elaborator::Arguments::Arguments(Elaborator &elaborator, const ast::Expr &call, StringRef usage,
                                 std::vector<MaybeOperand> evaluated)
    : call(call), usage(usage), elaborator(elaborator), evaluated(std::move(evaluated)),
      used(call.arguments.size(), false) {}

const ast::Expr *Elaborator::Arguments::positional(size_t number) {
  for (size_t i = 0, seen = 0; i < call.arguments.size(); ++i)
    if (!call.arguments[i].name && seen++ == number) {
      used[i] = true;
      return call.arguments[i].value.get();
    }
  return nullptr;
}

const ast::Expr *Elaborator::Arguments::named(StringRef name) {
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!used[i] && call.arguments[i].name && call.arguments[i].name->text == name) {
      used[i] = true;
      return call.arguments[i].value.get();
    }
  return nullptr;
}

size_t Elaborator::Arguments::positionalCount() const {
  return llvm::count_if(call.arguments, [](const ast::Argument &argument) { return !argument.name; });
}

std::vector<std::pair<ast::Name, const ast::Expr *>> Elaborator::Arguments::restNamed() {
  std::vector<std::pair<ast::Name, const ast::Expr *>> rest;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!used[i] && call.arguments[i].name) {
      used[i] = true;
      rest.emplace_back(*call.arguments[i].name, call.arguments[i].value.get());
    }
  return rest;
}

MaybeOperand Elaborator::Arguments::value(size_t number) {
  const ast::Expr *expr = positional(number);
  if (!expr)
    return missing();
  if (number < evaluated.size())
    return evaluated[number];
  return elaborator.eval(*expr);
}

MaybeId Elaborator::Arguments::dense(size_t number) {
  MaybeOperand operand = value(number);
  return operand ? elaborator.dense(*operand, call.loc, call.name) : std::nullopt;
}

std::optional<Number> Elaborator::Arguments::number(size_t position, StringRef name, std::optional<double> absent) {
  const ast::Expr *expr = name.empty() ? nullptr : named(name);
  if (!expr)
    expr = positional(position);
  if (expr)
    return elaborator.evalNumber(*expr, "this argument of " + call.name);
  if (absent)
    return Number::ofFloat(*absent);
  return missing();
}

std::optional<std::vector<std::string>> Elaborator::Arguments::axes(const ast::Expr *expr) {
  if (!expr)
    return missing();
  std::vector<std::string> names;
  auto add = [&](const ast::Expr &each) {
    if (each.kind == ast::Expr::Kind::Name && elaborator.isCursor(each.name))
      elaborator.completeAxes(call);
    if (each.kind == ast::Expr::Kind::Name)
      names.push_back(each.name);
    else
      elaborator.error(each.loc, "expected the name of an axis in " + usage);
    return each.kind == ast::Expr::Kind::Name;
  };
  if (expr->kind != ast::Expr::Kind::Tuple)
    return add(*expr) ? std::optional(names) : std::nullopt;
  for (const ast::ExprPtr &each : expr->operands)
    if (!add(*each))
      return std::nullopt;
  return names;
}

std::optional<std::string> Elaborator::Arguments::axis(const ast::Expr *expr) {
  std::optional<std::vector<std::string>> names = axes(expr);
  if (!names)
    return std::nullopt;
  if (names->size() != 1)
    return elaborator.error(expr->loc, "expected one axis in " + usage);
  return names->front();
}

std::nullopt_t Elaborator::Arguments::missing() {
  return elaborator.error(call.loc, "missing argument; expected " + usage);
}

MaybeOperand Elaborator::Arguments::finish(MaybeOperand result) {
  if (!result)
    return std::nullopt;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i]) {
      const ast::Argument &argument = call.arguments[i];
      return elaborator.error(argument.name ? argument.name->loc : argument.value->loc,
                              "extra argument" + (argument.name ? " '" + argument.name->text + "'" : "") +
                                  "; expected " + usage);
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

MaybeOperand Elaborator::unaryFunction(Arguments &arguments) {
  const std::string &name = arguments.call.name;
  MaybeOperand x = arguments.value(0);
  std::optional<Number> number = Number::ofInt(0);
  if (name == "leaky_relu")
    number = arguments.number(1, "slope", 0.01);
  else if (name == "elu")
    number = arguments.number(1, "alpha", 1);
  if (!x || !number)
    return std::nullopt;
  if (name == "floor")
    return error(arguments.call.loc, "floor works on numbers known at compile time only, found " + describe(*x));
  if (auto *sparse = std::get_if<Sparse>(&*x))
    return sparseUnary(name, *sparse, number->asDouble(), arguments.call.loc);
  MaybeId id = dense(*x, arguments.call.loc, name);
  return id ? wrap(builder.unary(name, *id, number->asDouble(), arguments.call.loc)) : std::nullopt;
}

MaybeOperand Elaborator::binaryFunction(Arguments &arguments) {
  MaybeOperand a = arguments.value(0), b = arguments.value(1);
  if (!a || !b)
    return std::nullopt;
  const std::string &name = arguments.call.name;
  return name == "pow" ? power(*a, *b, arguments.call.loc) : binary(name, *a, *b, arguments.call.loc);
}

MaybeOperand Elaborator::whereFunction(Arguments &arguments) {
  MaybeId condition = arguments.dense(0), a = arguments.dense(1), b = arguments.dense(2);
  if (!condition || !a || !b)
    return std::nullopt;
  return wrap(builder.select(*condition, *a, *b, arguments.call.loc));
}

/// In training x * where(random < 1 - p, 1 / (1 - p), 0), else x.
MaybeOperand Elaborator::dropoutFunction(Arguments &arguments) {
  MaybeOperand x = arguments.value(0);
  std::optional<Number> probability = arguments.number(1, "p", std::nullopt);
  if (!x || !probability)
    return std::nullopt;
  Loc loc = arguments.call.loc;
  double p = probability->asDouble();
  if (!(p >= 0 && p < 1))
    return error(loc, "a dropout probability is at least 0 and less than 1, found " + probability->str());
  if (!training || p == 0)
    return x;
  auto *sparse = std::get_if<Sparse>(&*x);
  MaybeId id = sparse ? MaybeId(sparse->value) : dense(*x, loc, "dropout");
  MaybeId random = id ? randomLike(*id, loc) : std::nullopt;
  MaybeId keep = builder.constant(1 - p, loc), scale = builder.constant(1 / (1 - p), loc);
  MaybeId zero = builder.constant(0, loc);
  if (!random || !keep || !scale || !zero)
    return std::nullopt;
  MaybeId kept = builder.binary("lt", *random, *keep, loc);
  MaybeId mask = kept ? builder.select(*kept, *scale, *zero, loc) : std::nullopt;
  MaybeId result = mask ? builder.binary("mul", *id, *mask, loc) : std::nullopt;
  if (!result)
    return std::nullopt;
  return sparse ? Operand(Sparse{*result, sparse->input, sparse->axis}) : Operand(Dense{*result});
}

MaybeOperand Elaborator::detachFunction(Arguments &arguments) {
  MaybeOperand x = arguments.value(0);
  if (!x)
    return std::nullopt;
  Loc loc = arguments.call.loc;
  auto *sparse = std::get_if<Sparse>(&*x);
  MaybeId id = sparse ? MaybeId(sparse->value) : dense(*x, loc, "detach");
  if (id)
    id = builder.detach(*id, loc);
  if (!id)
    return std::nullopt;
  return sparse ? Operand(Sparse{*id, sparse->input, sparse->axis}) : Operand(Dense{*id});
}

MaybeOperand Elaborator::gradientFunction(Arguments &arguments) {
  MaybeId number = arguments.dense(0), by = number ? arguments.dense(1) : std::nullopt;
  return by ? wrap(builder.gradient(*number, *by, arguments.call.loc)) : std::nullopt;
}
