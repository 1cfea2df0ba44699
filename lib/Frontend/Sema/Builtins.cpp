//===- Builtins.cpp - The table of built-in functions, and elementwise ones ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/BuiltinArguments.h"
#include "Sema/Layers.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace gnnc::frontend {

struct BuiltinTable {
  using Function = MaybeOperand (Builtins::*)(BuiltinArguments &);
  struct Entry {
    Function function;
    const char *usage;
  };

  static const std::map<std::string, Entry> &get() {
    using B = Builtins;
    static const std::map<std::string, Entry> table = {
        {"relu", {&B::unaryFunction, "relu(x)"}},
        {"leaky_relu", {&B::unaryFunction, "leaky_relu(x, slope: 0.01)"}},
        {"elu", {&B::unaryFunction, "elu(x, alpha: 1)"}},
        {"gelu", {&B::unaryFunction, "gelu(x)"}},
        {"silu", {&B::unaryFunction, "silu(x)"}},
        {"sigmoid", {&B::unaryFunction, "sigmoid(x)"}},
        {"tanh", {&B::unaryFunction, "tanh(x)"}},
        {"softplus", {&B::unaryFunction, "softplus(x)"}},
        {"exp", {&B::unaryFunction, "exp(x)"}},
        {"log", {&B::unaryFunction, "log(x)"}},
        {"sqrt", {&B::unaryFunction, "sqrt(x)"}},
        {"rsqrt", {&B::unaryFunction, "rsqrt(x)"}},
        {"abs", {&B::unaryFunction, "abs(x)"}},
        {"sign", {&B::unaryFunction, "sign(x)"}},
        {"square", {&B::unaryFunction, "square(x)"}},
        {"sin", {&B::unaryFunction, "sin(x)"}},
        {"cos", {&B::unaryFunction, "cos(x)"}},
        {"erf", {&B::unaryFunction, "erf(x)"}},
        {"recip", {&B::unaryFunction, "recip(x)"}},
        {"floor", {&B::unaryFunction, "floor(x)"}},
        {"ceil", {&B::unaryFunction, "ceil(x)"}},
        {"round", {&B::unaryFunction, "round(x)"}},
        {"maximum", {&B::binaryFunction, "maximum(a, b)"}},
        {"minimum", {&B::binaryFunction, "minimum(a, b)"}},
        {"pow", {&B::binaryFunction, "pow(a, b)"}},
        {"clamp", {&B::clampFunction, "clamp(x, low, high)"}},
        {"outer", {&B::outerFunction, "outer(a, b) or outer(a + b)"}},
        {"where", {&B::whereFunction, "where(c, a, b)"}},
        {"sum", {&B::reduction, "sum(x, along: map, over: axes)"}},
        {"mean", {&B::reduction, "mean(x, along: map, over: axes)"}},
        {"max", {&B::reduction, "max(x, along: map, over: axes)"}},
        {"min", {&B::reduction, "min(x, along: map, over: axes)"}},
        {"var", {&B::variance, "var(x, along: map, over: axes)"}},
        {"std", {&B::variance, "std(x, along: map, over: axes)"}},
        {"softmax", {&B::normalization, "softmax(x, along: map) or softmax(x, over: axes)"}},
        {"logsumexp", {&B::normalization, "logsumexp(x, along: map) or logsumexp(x, over: axes)"}},
        {"log_softmax", {&B::normalization, "log_softmax(x, along: map) or log_softmax(x, over: axes)"}},
        {"degree", {&B::degreeFunction, "degree(map)"}},
        {"move", {&B::moveFunction, "move(x, map, fill: 0)"}},
        {"join", {&B::joinFunction, "join(a, b, on: space)"}},
        {"concat", {&B::concatFunction, "concat(a, b, axis: name)"}},
        {"rename", {&B::renameFunction, "rename(x, old: new)"}},
        {"flatten", {&B::flattenFunction, "flatten(x, name)"}},
        {"merge", {&B::mergeFunction, "merge(x, (a, b), as: name)"}},
        {"split", {&B::splitFunction, "split(x, axis, first: 4, second: 16)"}},
        {"permute", {&B::permuteFunction, "permute(x, (b, a))"}},
        {"dot", {&B::dotFunction, "dot(a, b, over: axes)"}},
        {"dropout", {&B::dropoutFunction, "dropout(x, probability)"}},
        {"detach", {&B::detachFunction, "detach(x)"}},
        {"gradient", {&B::gradientFunction, "gradient(number, x)"}},
        {"spread", {&B::spreadFunction, "spread(x, on: space)"}},
        {"onehot", {&B::onehotFunction, "onehot(map)"}},
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

MaybeOperand Builtins::callBuiltin(const ast::Expr &call) {
  auto &table = BuiltinTable::get();
  auto found = table.find(call.name);
  if (found == table.end())
    return layers.unknownCallee(call, "layer or function");
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
      operands.push_back(expressions.eval(*argument.value));
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
    BuiltinArguments arguments(*this, call, found->second.usage, std::move(operands));
    return arguments.finish((this->*found->second.function)(arguments));
  }
  BuiltinArguments arguments(*this, call, found->second.usage, {});
  return arguments.finish((this->*found->second.function)(arguments));
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

MaybeOperand Builtins::unaryFunction(BuiltinArguments &arguments) {
  const std::string &name = arguments.call.name;
  MaybeOperand x = arguments.value(0);
  std::optional<Number> number = Number::ofInt(0);
  if (name == "leaky_relu")
    number = arguments.number(1, "slope", 0.01);
  else if (name == "elu")
    number = arguments.number(1, "alpha", 1);
  if (!x || !number)
    return std::nullopt;
  if (auto *sparse = std::get_if<Sparse>(&*x))
    return sparseInputs.unary(name, *sparse, number->asDouble(), arguments.call.loc);
  MaybeId id = dense(*x, arguments.call.loc, name);
  return id ? wrap(builder.unary(name, *id, number->asDouble(), arguments.call.loc)) : std::nullopt;
}

MaybeOperand Builtins::binaryFunction(BuiltinArguments &arguments) {
  MaybeOperand a = arguments.value(0), b = arguments.value(1);
  if (!a || !b)
    return std::nullopt;
  const std::string &name = arguments.call.name;
  return name == "pow" ? operators.power(*a, *b, arguments.call.loc)
                       : operators.binary(name, *a, *b, arguments.call.loc);
}

MaybeOperand Builtins::whereFunction(BuiltinArguments &arguments) {
  MaybeId condition = arguments.dense(0), a = arguments.dense(1), b = arguments.dense(2);
  if (!condition || !a || !b)
    return std::nullopt;
  MaybeId result = builder.select(*condition, *a, *b, arguments.call.loc);
  operators.checkPairs("where", {*condition, *a, *b}, result, arguments.call.loc);
  return wrap(result);
}

/// clamp(x, low, high)
MaybeOperand Builtins::clampFunction(BuiltinArguments &arguments) {
  MaybeOperand x = arguments.value(0), low = arguments.value(1), high = arguments.value(2);
  if (!x || !low || !high)
    return std::nullopt;
  MaybeOperand raised = operators.binary("maximum", *x, *low, arguments.call.loc);
  return raised ? operators.binary("minimum", *raised, *high, arguments.call.loc) : std::nullopt;
}

/// outer(a, b) is a * b, outer(a + b) is a + b: all pairs are meant.
MaybeOperand Builtins::outerFunction(BuiltinArguments &arguments) {
  bool outside = std::exchange(frame->pairsMeant, true);
  MaybeOperand a = arguments.value(0);
  MaybeOperand b = arguments.positionalCount() > 1 ? arguments.value(1) : std::nullopt;
  MaybeOperand result = a;
  if (arguments.positionalCount() > 1)
    result = a && b ? operators.binary("*", *a, *b, arguments.call.loc) : std::nullopt;
  frame->pairsMeant = outside;
  return result;
}

/// In training x * where(random < 1 - p, 1 / (1 - p), 0), else x.
MaybeOperand Builtins::dropoutFunction(BuiltinArguments &arguments) {
  MaybeOperand x = arguments.value(0);
  std::optional<Number> probability = arguments.number(1, "p", std::nullopt);
  if (!x || !probability)
    return std::nullopt;
  Loc loc = arguments.call.loc;
  double p = probability->asDouble();
  if (!(p >= 0 && p < 1))
    return error(loc, "a dropout probability is at least 0 and less than 1, found " + probability->str());
  if (!context.training || p == 0)
    return x;
  auto *sparse = std::get_if<Sparse>(&*x);
  MaybeId id = sparse ? MaybeId(sparse->value) : dense(*x, loc, "dropout");
  MaybeId random = id ? values.randomLike(*id, loc) : std::nullopt;
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

MaybeOperand Builtins::detachFunction(BuiltinArguments &arguments) {
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

MaybeOperand Builtins::gradientFunction(BuiltinArguments &arguments) {
  MaybeId number = arguments.dense(0), by = number ? arguments.dense(1) : std::nullopt;
  return by ? wrap(builder.gradient(*number, *by, arguments.call.loc)) : std::nullopt;
}
