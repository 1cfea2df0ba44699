//===- Optimisers.cpp - Statements that train parameters ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `train OPTIMISER(...) for ...` calls a layer once for each parameter, with the parameter and its gradient as rows of
// one axis; what the layer returns is the parameter's new value. States that the layer declares are named after the
// parameter: `c1.W.adam.m`. Nothing here knows an optimiser by name.
//
//===----------------------------------------------------------------------===//

#include "Sema/Optimisers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

/// The argument of `train` that is the statement's own and not the optimiser's.
static constexpr StringRef clipArgument = "clip";

struct Optimisers::Open {
  const ast::TrainStmt &statement;
  Found<ast::LayerDecl> layer;
  std::vector<std::pair<std::string, Operand>> arguments; ///< by the formal's name
  std::vector<Loc> places;
  const ast::Formal *value = nullptr, *gradient = nullptr;
  MaybeId clip;
};

void Optimisers::run(const ast::TrainStmt &train) {
  if (!context.training)
    return;
  MaybeId loss = programs.trainingLoss();
  if (!loss) {
    if (!frame->loss)
      error(train.loc, "there is no loss yet; expected a statement 'loss = ...' before this one");
    return;
  }
  Open call{train, {}, {}, {}, nullptr, nullptr, {}};
  if (!open(call))
    return;
  std::vector<Id> params = paramsOf(train);
  std::vector<Id> gradients;
  for (Id param : params)
    if (MaybeId gradient = builder.gradient(*loss, param, train.loc))
      gradients.push_back(*gradient);
    else
      return;
  if (call.clip && !gradients.empty()) {
    MaybeId factor = clipFactor(gradients, *call.clip, train.loc);
    for (Id &gradient : gradients)
      if (MaybeId clipped = factor ? builder.binary("mul", gradient, *factor, train.loc) : std::nullopt)
        gradient = *clipped;
      else
        return;
  }
  // An editor is told of the statement once, not for each parameter.
  ElaborationObserver *observer = std::exchange(context.observer, nullptr);
  llvm::scope_exit restore([&] { context.observer = observer; });
  for (auto [param, gradient] : llvm::zip(params, gradients)) {
    MaybeId updated = optimise(call, param, gradient);
    if (!updated)
      return;
    programs.trainParam(param, *updated);
  }
}

/// Finds the optimiser, and evaluates what all its calls share.
bool Optimisers::open(Open &open) {
  const ast::Expr &call = *open.statement.optimiser;
  open.layer = context.modules.findLayer(*frame->module, call.name);
  auto fails = [&](Loc loc, const Twine &message) {
    error(loc, message);
    return false;
  };
  if (!open.layer) {
    layers.unknownCallee(call, "optimiser");
    return false;
  }
  record(call.loc, "layer " + call.name, open.layer.decl->name.loc);
  if (!call.on.empty())
    return fails(call.on[0].loc, "'on' has no meaning for an optimiser");
  for (const ast::Formal &formal : open.layer.decl->formals) {
    if (formal.kind != ast::Formal::Kind::Value)
      continue;
    if (!open.value)
      open.value = &formal;
    else if (!open.gradient)
      open.gradient = &formal;
  }
  if (!open.gradient)
    return fails(call.loc, "layer '" + call.name +
                               "' is not an optimiser: it must take two values, a parameter's "
                               "and its gradient");
  for (const ast::Argument &argument : call.arguments) {
    if (!argument.name)
      return fails(argument.value->loc, "arguments of an optimiser have names, as in 'lr: 0.01'");
    const std::string &name = argument.name->text;
    if (name == open.value->name.text || name == open.gradient->name.text)
      return fails(argument.name->loc, "training itself gives '" + name + "' to the optimiser");
    MaybeOperand operand = expressions.eval(*argument.value);
    if (!operand)
      return false;
    if (name != clipArgument) {
      open.arguments.emplace_back(name, *operand);
      open.places.push_back(argument.value->loc);
      continue;
    }
    open.clip = dense(*operand, argument.value->loc, "a bound of gradients");
    if (open.clip && (builder.value(*open.clip).residency != kNone || !builder.value(*open.clip).axes.empty()))
      return fails(argument.value->loc, "the bound of gradients is one shared number, found " + describe(*operand));
    if (!open.clip)
      return false;
  }
  for (const ast::Formal &formal : open.layer.decl->formals)
    if (formal.name.text == "step" && formal.kind == ast::Formal::Kind::Value &&
        llvm::none_of(open.arguments, [](auto &each) { return each.first == "step"; })) {
      MaybeId step = values.runState("step", {}, call.loc);
      if (!step)
        return false;
      open.arguments.emplace_back("step", Dense{*step});
      open.places.push_back(call.loc);
    }
  return true;
}

/// The parameters that the loss depends on, no earlier statement has taken and the patterns match.
std::vector<Id> Optimisers::paramsOf(const ast::TrainStmt &train) {
  auto matches = [](StringRef name, StringRef pattern) {
    return name.consume_front(pattern) && (name.empty() || name.front() == '.');
  };
  std::vector<std::string> patterns;
  for (const ast::Path &path : train.patterns) {
    std::string &pattern = patterns.emplace_back();
    for (const ast::Name &name : path.names)
      pattern += (pattern.empty() ? "" : ".") + name.text;
    std::vector<std::string> known;
    bool found = false;
    for (const Value &value : builder.spec().values)
      if (value.op == OpCode::Param) {
        found |= matches(value.name, pattern);
        known.push_back(StringRef(value.name).split('.').first.str());
        known.push_back(value.name);
      }
    if (!found) {
      error(path.loc,
            "no parameter is called '" + pattern + "', nor does one belong to it" + suggestion(pattern, known));
      return {};
    }
  }
  Id loss = *programs.trainingLoss();
  // Operands come earlier, so one backward walk finds all.
  std::vector<bool> reached(loss + 1);
  reached[loss] = true;
  for (Id id = loss; id >= 0; --id)
    if (reached[id] && builder.value(id).op != OpCode::Detach)
      for (Id operand : builder.value(id).operands)
        reached[operand] = true;
  std::vector<Id> params;
  for (Id id = 0; id <= loss; ++id) {
    const Value &value = builder.value(id);
    if (!reached[id] || value.op != OpCode::Param || programs.isTrained(id))
      continue;
    if (patterns.empty() || llvm::any_of(patterns, [&](const std::string &each) { return matches(value.name, each); }))
      params.push_back(id);
  }
  if (params.empty())
    error(train.loc, "this trains no parameter: the loss depends on none that is left");
  return params;
}

/// min(1, bound / norm), the norm being that of all gradients together.
MaybeId Optimisers::clipFactor(const std::vector<Id> &gradients, Id bound, Loc loc) {
  MaybeId total;
  for (Id gradient : gradients) {
    MaybeId part = builder.unary("square", gradient, 0, loc);
    std::vector<std::string> axes;
    for (const Axis &axis : builder.value(gradient).axes)
      axes.push_back(axis.name);
    if (part && !axes.empty())
      part = builder.fold("sum", *part, axes, loc);
    if (part && builder.value(gradient).residency != kNone)
      part = builder.reduce("sum", *part, kAll, loc);
    total = part && total ? builder.binary("add", *total, *part, loc) : part;
    if (!total)
      return std::nullopt;
  }
  // The small number keeps the quotient finite; it is what PyTorch adds.
  MaybeId norm = builder.unary("sqrt", *total, 0, loc), small = builder.constant(1e-6, loc);
  MaybeId safe = norm && small ? builder.binary("add", *norm, *small, loc) : std::nullopt;
  MaybeId ratio = safe ? builder.binary("div", bound, *safe, loc) : std::nullopt;
  MaybeId one = builder.constant(1, loc);
  return ratio && one ? builder.binary("minimum", *ratio, *one, loc) : std::nullopt;
}

/// A value with one axis.
MaybeId Optimisers::flat(Id value, Loc loc) {
  std::vector<std::string> axes;
  for (const Axis &axis : builder.value(value).axes)
    axes.push_back(axis.name);
  return axes.size() == 1 ? value : builder.merge(value, axes, "flat", loc);
}

/// Calls the optimiser for one parameter; the new value.
MaybeId Optimisers::optimise(const Open &open, Id param, Id gradient) {
  const ast::Expr &written = *open.statement.optimiser;
  Loc loc = written.loc;
  MaybeId value = flat(param, loc), slope = value ? flat(gradient, loc) : std::nullopt;
  if (!slope)
    return std::nullopt;

  // The call as if it were written `Adam(value: value, grad: grad, lr: lr)`, where these names are bound.
  Frame inside;
  inside.module = frame->module;
  inside.global = frame->global;
  inside.outer = inside.relation = frame->relation;
  inside.path = builder.value(param).name + ".";
  ast::Expr call;
  call.kind = ast::Expr::Kind::Call;
  call.loc = loc;
  call.name = written.name;
  call.as = written.as;
  auto pass = [&](const std::string &name, Operand operand, Loc place) {
    auto expr = std::make_unique<ast::Expr>();
    expr->kind = ast::Expr::Kind::Name;
    expr->name = name;
    expr->loc = place;
    inside.values[name] = {operand, place, /*input=*/false};
    call.arguments.push_back({ast::Name{name, place}, std::move(expr)});
  };
  pass(open.value->name.text, Dense{*value}, loc);
  pass(open.gradient->name.text, Dense{*slope}, loc);
  for (auto [argument, place] : llvm::zip(open.arguments, open.places))
    pass(argument.first, argument.second, place);

  Frame *outside = std::exchange(frame, &inside);
  MaybeOperand result = layers.callLayer(call, open.layer);
  frame = outside;
  MaybeId id = result ? dense(*result, loc, "a parameter") : std::nullopt;
  if (id)
    id = values.shapedAs(*id, *value, loc, "what optimiser '" + written.name + "' makes of a parameter");
  const std::vector<Axis> axes = builder.value(param).axes;
  return !id || axes.size() == 1 ? id : builder.split(*id, builder.value(*id).axes[0].name, axes, loc);
}
