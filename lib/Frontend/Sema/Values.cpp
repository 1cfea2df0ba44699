//===- Values.cpp - Names of values, and what a model is given ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Values.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// Names a value in this frame. Integers are sizes too.
void Values::bind(const ast::Name &name, MaybeOperand operand, StringRef what) {
  if (operand) {
    record(name.loc, (what + " " + name.text + ": " + describe(*operand)).str(), name.loc);
    if (auto *number = std::get_if<Number>(&*operand); number && number->isInt())
      frame->sizes[name.text] = number->integer;
  }
  Binding &binding = frame->values[name.text];
  binding.operand = std::move(operand);
  binding.loc = name.loc;
  binding.input = what == "input";
}

/// A name that is not taken. An automatic one, and one inside `repeat`, gets a number from the second use on.
std::string Values::fresh(llvm::StringMap<Loc> &taken, const ast::Name &name, StringRef what, bool automatic) {
  std::string text = name.text;
  if (automatic || frame->repeats > 0) {
    unsigned &count = frame->counts[what.str() + ":" + name.text];
    do
      text = ++count == 1 ? name.text : name.text + std::to_string(count);
    while (taken.count(text));
  }
  if (auto [earlier, isNew] = taken.try_emplace(text, name.loc); !isNew) {
    error(name.loc, what + " '" + text + "' already exists");
    diagnostics.note(earlier->second, "here");
    return "";
  }
  return text;
}

void Values::declare(const ast::ValueDecl &decl) {
  using Kind = ast::ValueDecl::Kind;
  StringRef what = decl.kind == Kind::Param ? "param" : decl.kind == Kind::State ? "state" : "input";
  bind(decl.name, declareValue(decl, what), what);
}

MaybeOperand Values::declareValue(const ast::ValueDecl &decl, StringRef what) {
  using Kind = ast::ValueDecl::Kind;
  std::optional<Id> residency = types.residencyOf(decl.type->residency);
  std::optional<std::vector<Axis>> axes = types.axesOf(*decl.type);
  std::string name = fresh(frame->declared, decl.name, what, /*automatic=*/false);
  if (!residency || !axes || name.empty())
    return std::nullopt;
  std::string whole = frame->path + (decl.alias ? decl.alias->text : name);
  if (auto known = given.find(whole); known != given.end() && (context.training || frame->isShared))
    return again(known->second, whole, decl, *residency, *axes);
  MaybeOperand operand;
  if (decl.kind == Kind::Input) {
    operand = declareInput(decl, *residency, *axes);
  } else {
    if (decl.alias && frame->repeats > 0 && given.count(whole))
      return error(decl.alias->loc, "'" + whole +
                                        "' would be declared in each turn of 'repeat': a name after 'as' is " +
                                        "given to one parameter or state");
    std::optional<InitialValue> initial = initialValues.initialOf(decl, *residency, *axes);
    if (!initial)
      return std::nullopt;
    operand = wrap(decl.kind == Kind::Param ? builder.param(whole, *residency, *axes, decl.name.loc)
                                            : builder.state(whole, *residency, *axes, decl.name.loc));
    if (operand)
      initialValues.set(std::get<Dense>(*operand).id, *initial);
  }
  if (operand)
    given.try_emplace(whole, Given{*operand, frame->unnamed, decl.name.loc});
  return operand;
}

/// What the first elaboration has declared. It must be the same, and belong to the same call: where only training calls
/// a layer, the automatic names of later ones would shift.
MaybeOperand Values::again(const Given &known, const std::string &name, const ast::ValueDecl &decl, Id residency,
                           const std::vector<Axis> &axes) {
  auto same = [](Loc a, Loc b) { return a.file == b.file && a.line == b.line && a.column == b.column; };
  auto *value = std::get_if<Dense>(&known.operand);
  bool isInput = decl.kind == ast::ValueDecl::Kind::Input;
  if (value && !isInput &&
      (known.unnamed.size() != frame->unnamed.size() ||
       !std::equal(known.unnamed.begin(), known.unnamed.end(), frame->unnamed.begin(), same)))
    return error(frame->unnamed.empty() ? decl.name.loc : frame->unnamed.back(),
                 "'" + name + "' belongs to another call when the model is not trained; name this one with 'as'");
  if (value && !decl.sparse) {
    const Value &earlier = builder.value(value->id);
    OpCode op = isInput ? OpCode::Input : decl.kind == ast::ValueDecl::Kind::Param ? OpCode::Param : OpCode::State;
    if (earlier.op != op || earlier.residency != residency || earlier.axes != axes) {
      if (frame->isShared)
        return error(decl.name.loc, "all calls of an instance share '" + name + "', which is " +
                                        builder.describe(value->id) + " in an earlier one and " +
                                        builder.describe(residency, axes) + " in this one");
      error(decl.name.loc,
            "'" + name + "' is something else when the model is not trained: " + builder.describe(value->id));
      diagnostics.note(known.loc, "here");
      return std::nullopt;
    }
  }
  return known.operand;
}

MaybeOperand Values::declareInput(const ast::ValueDecl &decl, Id residency, const std::vector<Axis> &axes) {
  const ast::Name &name = decl.name;
  inputNames.push_back(name);
  std::optional<double> absent;
  if (decl.defaultValue) {
    std::optional<Number> number = types.evalNumber(*decl.defaultValue, "the default of input '" + name.text + "'");
    if (!number)
      return std::nullopt;
    absent = number->asDouble();
  }
  if (!decl.sparse) {
    MaybeId id = builder.input(name.text, residency, axes, absent, name.loc);
    if (id && !decl.source.empty())
      builder.setInputSource(*id, decl.source);
    return wrap(id);
  }
  if (residency == kNone || axes.size() != 1)
    return error(name.loc,
                 "a sparse input is on a space and has one axis, as in 'input " + name.text + ": node[in] sparse'");
  if (absent)
    return error(decl.defaultValue->loc, "a sparse input has no default; its values are optional anyway");
  std::optional<size_t> input = builder.sparseInput(name.text, residency, axes[0], name.loc);
  if (!input)
    return std::nullopt;
  return Sparse{builder.spec().sparseInputs[*input].value, *input, axes[0].name};
}

//===----------------------------------------------------------------------===//
// States that training keeps, and values of given shapes
//===----------------------------------------------------------------------===//

/// `step` or `seed`, which exist from their first use on.
MaybeId Values::runState(StringRef name, ArrayRef<Axis> axes, Loc loc) {
  if (auto known = given.find(name); known != given.end()) {
    auto *value = std::get_if<Dense>(&known->second.operand);
    if (value && builder.value(value->id).op == OpCode::State && builder.value(value->id).residency == kNone &&
        ArrayRef(builder.value(value->id).axes) == axes)
      return value->id;
    error(loc, "'" + name + "' is a state that training keeps; something else has its name");
    diagnostics.note(known->second.loc, "here");
    return std::nullopt;
  }
  MaybeId id = builder.state(name, kNone, axes, loc);
  if (id)
    given.try_emplace(name, Given{Dense{*id}, {}, loc});
  return id;
}

MaybeId Values::findRunState(StringRef name) const {
  auto found = given.find(name);
  return found == given.end() ? std::nullopt : MaybeId(std::get<Dense>(found->second.operand).id);
}

/// Random numbers with a value's residency and axes.
MaybeId Values::randomLike(Id x, Loc loc) {
  MaybeId seed = runState("seed", Axis{"_1", 2}, loc), step = seed ? runState("step", {}, loc) : std::nullopt;
  if (!step)
    return std::nullopt;
  const Value like = builder.value(x);
  return builder.random(*seed, *step, like.residency, like.axes, std::nullopt, loc);
}

/// A value with the residency and axes of another; one with fewer is repeated.
MaybeId Values::shapedAs(Id value, Id target, Loc loc, const Twine &what) {
  std::vector<std::string> order;
  for (const Axis &axis : builder.value(target).axes)
    order.push_back(axis.name);
  const Value &given = builder.value(value), &wanted = builder.value(target);
  bool fits = given.residency == kNone || given.residency == wanted.residency;
  for (const Axis &axis : given.axes)
    fits &= llvm::is_contained(wanted.axes, axis);
  if (!fits)
    return error(loc, what + " is " + builder.describe(target) + " and cannot become " + builder.describe(value));
  MaybeId result = value;
  if (given.residency != wanted.residency || given.axes.size() != wanted.axes.size()) {
    // Where 1 is not 0, which is everywhere, it is the value.
    MaybeId one = builder.constant(1, loc);
    result = one ? builder.select(*one, value, target, loc) : std::nullopt;
  }
  return result ? builder.permute(*result, order, loc) : std::nullopt;
}
