//===- Layers.cpp - Calls of layers ---------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call is inlined. Its arguments are evaluated where it stands and bound in four steps: numbers that are given;
// values, whose axes are renamed to the formal ones and bind the sizes of those names; defaults; axes of a computed
// size, which are checked last. Axes of the result that came in with an argument get their name there back, so that a
// layer such as a batch norm returns the axes it was given.
//
//===----------------------------------------------------------------------===//

#include "Sema/Layers.h"
#include "Sema/Builtins.h"
#include "Sema/Expressions.h"
#include "Sema/Statements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

struct Layers::Call {
  const ast::Expr &expr;
  const ast::LayerDecl &layer;
  Frame inside;
  /// One for each formal; without an operand where none is given.
  struct Given {
    MaybeOperand operand;
    Loc loc;
  };
  std::vector<Given> given;
  std::map<std::string, std::string> outerAxes; ///< formal axis -> what it is called where the call stands
  /// Axes `name = size`, whose sizes may need numbers that are bound later.
  struct Computed {
    const ast::AxisType *axis;
    int64_t size;
    std::string formal;
    Loc loc;
  };
  std::vector<Computed> computed;
};

static bool isWildcard(StringRef name) { return name.consume_front("any") && llvm::all_of(name, llvm::isDigit); }

MaybeOperand Layers::callLayer(const ast::Expr &expr, Found<ast::LayerDecl> found, const Instance *instance) {
  const ast::LayerDecl &layer = *found.decl;
  record(expr.loc, "layer " + layer.name.text, layer.name.loc);
  if (auto start = llvm::find(active, &layer); start != active.end()) {
    std::string cycle;
    for (auto each = start; each != active.end(); ++each)
      cycle += (*each)->name.text + " -> ";
    return error(expr.loc, "layer '" + layer.name.text + "' calls itself: " + cycle + layer.name.text);
  }
  calledLayers.insert(&layer);
  Call call{expr, layer, {}, {}, {}, {}};
  call.given.resize(layer.formals.size());
  if (instance)
    for (auto [given, argument] : llvm::zip(call.given, instance->arguments))
      given = {argument.first, argument.second};
  if (!bindArguments(call))
    return std::nullopt;
  RelationView relation = frame->relation;
  std::vector<ast::Name> on = instance ? *instance->on : std::vector<ast::Name>();
  llvm::append_range(on, expr.on);
  for (const ast::Name &name : on) {
    std::optional<RelationView> applied = relations.relationNamed(name, relation);
    if (!applied)
      return std::nullopt;
    relation = *applied;
  }
  std::string name;
  if (instance) {
    name = instance->name;
  } else {
    ast::Name wanted = expr.as.value_or(ast::Name{StringRef(expr.name).lower(), expr.loc});
    name = values.fresh(frame->instances, wanted, "layer", /*automatic=*/!expr.as);
  }
  if (name.empty())
    return std::nullopt;

  Frame &inside = call.inside;
  inside.module = found.module;
  inside.global = &spacesAndMaps.scopeOf(*found.module);
  inside.outer = inside.relation = relation;
  inside.path = frame->path + name + ".";
  inside.unnamed = frame->unnamed;
  inside.isShared = frame->isShared || instance;
  if (!expr.as && !instance)
    inside.unnamed.push_back(expr.loc);
  inside.prefix = layer.name.text + ".";
  Frame *outside = frame;
  frame = &inside;
  active.push_back(&layer);
  diagnostics.calls.push_back({expr.loc, layer.name.text});
  llvm::scope_exit leave([&] {
    frame = outside;
    active.pop_back();
    diagnostics.calls.pop_back();
  });

  // What is wrong with an argument is said at the argument.
  DiagnosticEngine::Call self = diagnostics.calls.back();
  diagnostics.calls.pop_back();
  bool bound = bindDefaults(call);
  diagnostics.calls.push_back(self);
  if (!bound)
    return std::nullopt;

  for (const ast::Name &derived : layer.on) {
    std::optional<RelationView> applied = relations.relationNamed(derived, inside.relation);
    if (!applied)
      return std::nullopt;
    inside.relation = *applied;
  }
  if (!bindResultAxes(layer))
    return std::nullopt;
  MaybeOperand result = statements.runBody(layer.body, layer.name.loc);
  inside.relation = inside.outer;
  result = checkResult(call, result);
  return result ? renameBack(call, *result) : std::nullopt;
}

void Layers::declareInstance(const ast::InstanceStmt &statement) {
  const ast::Name &name = statement.name;
  std::optional<Instance> &instance = frame->shared[name.text];
  instance.reset();
  if (!statement.call)
    return;
  if (isBuiltin(name.text)) {
    error(name.loc, "instance '" + name.text + "' has the name of a built-in function");
    return;
  }
  const ast::Expr &written = *statement.call;
  Found<ast::LayerDecl> layer = context.modules.findLayer(*frame->module, written.name);
  if (!layer) {
    unknownCallee(written, "layer");
    return;
  }
  record(written.loc, "layer " + written.name, layer.decl->name.loc);
  for (const ast::Argument &argument : written.arguments)
    if (!argument.name) {
      error(argument.value->loc, "the declaration of an instance gives arguments by name");
      return;
    }
  Call call{written, *layer.decl, {}, {}, {}, {}};
  call.given.resize(layer.decl->formals.size());
  if (!bindArguments(call))
    return;
  std::string fresh = values.fresh(frame->instances, written.as.value_or(name), "layer", /*automatic=*/false);
  if (fresh.empty())
    return;
  record(name.loc, "instance " + name.text + " of layer " + written.name, name.loc);
  instance.emplace(Instance{layer, fresh, &written.on, {}});
  for (const Call::Given &given : call.given)
    instance->arguments.emplace_back(given.operand, given.loc);
}

std::nullopt_t Layers::unknownCallee(const ast::Expr &call, StringRef what) {
  if (!unknown.insert(call.name).second)
    return std::nullopt; // one error is enough
  if (context.modules.isInStandardLibrary(call.name))
    return error(call.loc, "unknown " + what + " '" + call.name +
                               "'; the standard library has it: add 'import std' at the top of the file");
  std::vector<std::string> known = context.modules.layerNames(*frame->module);
  for (auto &each : frame->shared)
    known.push_back(each.first().str());
  if (what != "layer" && what != "optimiser")
    llvm::append_range(known, builtinNames());
  return error(call.loc, "unknown " + what + " '" + call.name + "'" + suggestion(call.name, known));
}

/// Evaluates the arguments in the frame of the call, and finds the formals they are for.
bool Layers::bindArguments(Call &call) {
  const ast::LayerDecl &layer = call.layer;
  bool ok = true;
  size_t next = 0; // the formal of the next positional argument
  for (const ast::Argument &argument : call.expr.arguments) {
    MaybeOperand operand = expressions.eval(*argument.value);
    ok &= operand.has_value();
    size_t at = 0;
    if (argument.name) {
      while (at < layer.formals.size() && layer.formals[at].name.text != argument.name->text)
        ++at;
      if (at == layer.formals.size()) {
        std::vector<std::string> known;
        for (const ast::Formal &formal : layer.formals)
          known.push_back(formal.name.text);
        error(argument.name->loc, "layer '" + layer.name.text + "' has no parameter '" + argument.name->text + "'" +
                                      suggestion(argument.name->text, known));
        ok = false;
        continue;
      }
    } else {
      while (next < layer.formals.size() && layer.formals[next].kind != ast::Formal::Kind::Value)
        ++next;
      if (next == layer.formals.size()) {
        size_t values = llvm::count_if(
            layer.formals, [](const ast::Formal &formal) { return formal.kind == ast::Formal::Kind::Value; });
        error(argument.value->loc, "extra argument: layer '" + layer.name.text + "' takes " + Twine(values) +
                                       (values == 1 ? " value" : " values") +
                                       " by position; numbers are given by name, as in 'out: 16'");
        ok = false;
        continue;
      }
      at = next++;
    }
    if (call.given[at].loc.line != 0) {
      error(argument.value->loc,
            "argument '" + layer.formals[at].name.text + "' of layer '" + layer.name.text + "' is given twice");
      ok = false;
      continue;
    }
    call.given[at] = {operand, argument.value->loc};
  }
  return ok;
}

/// What to say where a number that was given by position went to a value, and a number is missing.
std::string Layers::takenForValue(const Call &call, const ast::Formal &missing) {
  if (missing.kind == ast::Formal::Kind::Value)
    return "";
  for (const ast::Argument &argument : call.expr.arguments)
    for (auto [formal, given] : llvm::zip(call.layer.formals, call.given)) {
      auto *number = given.operand ? std::get_if<Number>(&*given.operand) : nullptr;
      if (number && !argument.name && formal.kind == ast::Formal::Kind::Value &&
          given.loc.column == argument.value->loc.column && given.loc.line == argument.value->loc.line)
        return "; " + number->str() + " was taken for '" + formal.name.text + "': numbers are given by name, as in '" +
               missing.name.text + ": " + number->str() + "'";
    }
  return "";
}

/// Binds what is given and what is not in the frame of the layer.
bool Layers::bindDefaults(Call &call) {
  bool ok = true;
  const std::vector<ast::Formal> &formals = call.layer.formals;
  for (auto [formal, given] : llvm::zip(formals, call.given)) {
    if (!given.operand || formal.kind == ast::Formal::Kind::Value)
      continue;
    auto *number = std::get_if<Number>(&*given.operand);
    if (!number) {
      error(given.loc, "parameter '" + formal.name.text + "' of layer '" + call.layer.name.text +
                           "' is a number known at compile time, found " + describe(*given.operand));
      ok = false;
      continue;
    }
    std::optional<Number> converted = types.convert(*number, formal.kind, formal.name, given.loc);
    ok &= converted.has_value();
    if (converted)
      values.bind(formal.name, *converted, "number");
  }
  for (auto [formal, given] : llvm::zip(formals, call.given))
    if (given.operand && formal.kind == ast::Formal::Kind::Value)
      ok &= bindValue(call, formal, *given.operand, given.loc);
  if (!ok)
    return false;

  for (auto [formal, given] : llvm::zip(formals, call.given)) {
    if (given.operand)
      continue;
    std::string what = "the default of '" + formal.name.text + "'";
    if (auto size = frame->sizes.find(formal.name.text);
        formal.kind != ast::Formal::Kind::Value && size != frame->sizes.end()) {
      values.bind(formal.name, Operand(Number::ofInt(size->second)), "number");
    } else if (formal.defaultValue) {
      std::optional<Number> number = types.evalNumber(*formal.defaultValue, what);
      if (number)
        number = types.convert(*number, formal.kind, formal.name, formal.defaultValue->loc);
      if (!number)
        return false;
      values.bind(formal.name, Operand(*number), "parameter");
    } else {
      error(call.expr.loc, "missing argument '" + formal.name.text + "' of layer '" + call.layer.name.text + "'" +
                               takenForValue(call, formal));
      diagnostics.note(formal.name.loc, "declared here");
      return false;
    }
  }
  // A wildcard that only met shared values is shared.
  for (const ast::Formal &formal : formals)
    if (formal.type.residency && isWildcard(formal.type.residency->text))
      frame->local.spaces.try_emplace(formal.type.residency->text, kNone);
  return finishAxes(call);
}

bool Layers::bindValue(Call &call, const ast::Formal &formal, const Operand &argument, Loc loc) {
  std::string what = "argument '" + formal.name.text + "' of layer '" + call.layer.name.text + "'";
  std::vector<Axis> axes;
  Id residency = kNone;
  if (auto *value = std::get_if<Dense>(&argument)) {
    axes = builder.value(value->id).axes;
    residency = builder.value(value->id).residency;
  } else if (auto *sparse = std::get_if<Sparse>(&argument)) {
    const SparseInput &input = inputOf(*sparse);
    axes = {{sparse->axis, builder.space(builder.map(input.column).to).extent}};
    residency = builder.map(input.row).to;
  }

  if (!formal.type.residency) {
    if (residency != kNone) {
      error(loc, what + " is shared, found a value on '" + builder.spaceName(residency) + "'");
      return false;
    }
  } else if (isWildcard(formal.type.residency->text)) {
    if (residency != kNone) {
      auto [known, isNew] = frame->local.spaces.try_emplace(formal.type.residency->text, residency);
      if (!isNew && known->second != residency) {
        error(loc, "arguments reside on different spaces: " + builder.spaceName(known->second) + " and " +
                       builder.spaceName(residency) + ", both for '" + formal.type.residency->text + "' of layer '" +
                       call.layer.name.text + "'");
        return false;
      }
    }
  } else {
    std::optional<Id> expected = scopes.spaceNamed(*formal.type.residency);
    if (!expected)
      return false;
    if (residency != kNone && residency != *expected) {
      error(loc, what + " is on '" + builder.spaceName(*expected) + "', found a value on '" +
                     builder.spaceName(residency) + "'");
      return false;
    }
  }

  std::vector<std::string> names;
  if (!bindAxes(call, formal, axes, names, loc))
    return false;
  MaybeOperand bound = argument;
  if (auto *value = std::get_if<Dense>(&argument))
    bound = wrap(builder.rename(value->id, names, loc));
  else if (auto *sparse = std::get_if<Sparse>(&*bound))
    sparse->axis = names[0];
  if (!bound)
    return false;
  values.bind(formal.name, bound, "parameter");
  return true;
}

bool Layers::bindAxes(Call &call, const ast::Formal &formal, const std::vector<Axis> &axes,
                      std::vector<std::string> &names, Loc loc) {
  const std::vector<ast::AxisType> &types = formal.type.axes;
  std::string what = "argument '" + formal.name.text + "' of layer '" + call.layer.name.text + "'";
  if (axes.size() != types.size()) {
    std::string found;
    for (const Axis &axis : axes)
      found += (found.empty() ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
    error(loc,
          what + " has " + Twine(types.size()) + (types.size() == 1 ? " axis" : " axes") + ", found [" + found + "]");
    return false;
  }
  for (auto [i, axis] : llvm::enumerate(types)) {
    std::string name = axis.name ? axis.name->text : anonymousAxis(i, types.size());
    names.push_back(name);
    call.outerAxes.try_emplace(name, axes[i].name);
    if (axis.size) {
      call.computed.push_back({&axis, axes[i].size, name, loc});
      continue;
    }
    auto [known, isNew] = frame->sizes.try_emplace(name, axes[i].size);
    if (known->second != axes[i].size) {
      error(loc,
            "axis '" + name + "' of " + what + " has size " + Twine(known->second) + ", found " + Twine(axes[i].size));
      return false;
    }
  }
  return true;
}

/// Checks the axes whose size is an expression, now that all numbers are there.
bool Layers::finishAxes(Call &call) {
  for (const Call::Computed &each : call.computed) {
    std::optional<int64_t> size = types.evalSize(*each.axis->size);
    if (!size)
      return false;
    if (*size != each.size) {
      error(each.loc, "axis '" + each.formal + "' of layer '" + call.layer.name.text + "' has size " + Twine(*size) +
                          ", found " + Twine(each.size));
      return false;
    }
    if (each.axis->name)
      frame->sizes.try_emplace(each.formal, *size);
  }
  return true;
}

/// The body knows the sizes that the result's type defines.
bool Layers::bindResultAxes(const ast::LayerDecl &layer) {
  if (!layer.result)
    return true;
  for (const ast::AxisType &axis : layer.result->axes) {
    if (!axis.name || !axis.size || frame->sizes.count(axis.name->text))
      continue;
    std::optional<int64_t> size = types.evalSize(*axis.size);
    if (!size)
      return false;
    frame->sizes[axis.name->text] = *size;
  }
  return true;
}

/// Checks a result against the declared type, and gives its axes the declared order.
MaybeOperand Layers::checkResult(Call &call, MaybeOperand result) {
  const ast::LayerDecl &layer = call.layer;
  if (!result || !layer.result)
    return result;
  const ast::Type &type = *layer.result;
  Loc loc = std::get<ast::ExprPtr>(layer.body.back().node)->loc;
  std::optional<Id> expected = types.residencyOf(type.residency);
  if (!expected)
    return std::nullopt;
  std::string what = "the result of layer '" + layer.name.text + "'";
  std::vector<std::string> order;
  for (auto [i, axis] : llvm::enumerate(type.axes))
    order.push_back(axis.name ? axis.name->text : anonymousAxis(i, type.axes.size()));

  if (auto *sparse = std::get_if<Sparse>(&*result)) {
    if (builder.map(inputOf(*sparse).row).to != *expected || order != std::vector<std::string>{sparse->axis})
      return error(loc, what + " does not have its declared type, found " + describe(*result));
    return result;
  }
  auto *value = std::get_if<Dense>(&*result);
  if (!value) {
    if (!order.empty())
      return error(loc, what + " has " + Twine(order.size()) + " axes, found " + describe(*result));
    return result;
  }
  Id residency = builder.value(value->id).residency;
  if (residency != kNone && residency != *expected)
    return error(loc, what + " is declared " +
                          (*expected == kNone ? "shared" : "on '" + builder.spaceName(*expected) + "'") +
                          ", found a value on '" + builder.spaceName(residency) + "'");
  std::vector<std::string> found;
  for (const Axis &axis : builder.value(value->id).axes)
    found.push_back(axis.name);
  if (!std::is_permutation(found.begin(), found.end(), order.begin(), order.end()))
    return error(loc, what + " is declared to have axes [" + llvm::join(order, ", ") + "], found [" +
                          llvm::join(found, ", ") + "]");
  MaybeId ordered = builder.permute(value->id, order, loc);
  if (!ordered)
    return std::nullopt;
  for (auto [i, axis] : llvm::enumerate(type.axes)) {
    std::optional<int64_t> size;
    if (axis.size) {
      if (!(size = types.evalSize(*axis.size)))
        return std::nullopt;
    } else if (auto known = frame->sizes.find(order[i]); known != frame->sizes.end()) {
      size = known->second;
    }
    if (int64_t actual = builder.value(*ordered).axes[i].size; size && *size != actual)
      return error(loc, "axis '" + order[i] + "' of " + what + " is declared to have size " + Twine(*size) +
                            ", found " + Twine(actual));
  }
  return Dense{*ordered};
}

/// Gives axes that came in with an argument the names they have outside, unless two would be called the same.
MaybeOperand Layers::renameBack(Call &call, const Operand &result) {
  auto outer = [&](const std::string &name) {
    auto found = call.outerAxes.find(name);
    return found == call.outerAxes.end() ? name : found->second;
  };
  if (auto *sparse = std::get_if<Sparse>(&result)) {
    Sparse renamed = *sparse;
    renamed.axis = outer(renamed.axis);
    return renamed;
  }
  auto *value = std::get_if<Dense>(&result);
  if (!value)
    return result;
  std::vector<std::string> formal, names;
  for (const Axis &axis : builder.value(value->id).axes) {
    formal.push_back(axis.name);
    names.push_back(outer(axis.name));
  }
  // Where two would have one name both keep theirs. Every round takes back at least one, and the formal ones differ.
  for (bool again = true; again;) {
    again = false;
    std::vector<std::string> wanted = names;
    for (size_t i = 0; i < names.size(); ++i)
      if (llvm::count(wanted, wanted[i]) > 1 && wanted[i] != formal[i]) {
        names[i] = formal[i];
        again = true;
      }
  }
  return wrap(builder.rename(value->id, names, call.expr.loc));
}
