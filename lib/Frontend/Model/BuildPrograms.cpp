//===- BuildPrograms.cpp - Programs and what training needs ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/ModelBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

MaybeId ModelBuilder::random(Id seed, Id step, Id residency, ArrayRef<Axis> axes, std::optional<int> site, Loc loc) {
  if (!checkValue(seed, loc) || !checkValue(step, loc) || (residency != kNone && !checkSpace(residency, loc)))
    return std::nullopt;
  const Value &seedValue = model.values[seed], &stepValue = model.values[step];
  if (seedValue.residency != kNone || seedValue.axes.size() != 1 || seedValue.axes[0].size != 2)
    return fail(loc, "a random seed is two shared numbers, found " + describe(seed));
  if (stepValue.residency != kNone || !stepValue.axes.empty())
    return fail(loc, "the step of random numbers is one shared number, found " + describe(step));
  if (site && (*site < 0 || *site == INT32_MAX))
    return fail(loc, "a site of random numbers is a number from 0, found " + Twine(*site));
  if (site && sites.count(*site))
    return fail(loc, "other random numbers have site " + Twine(*site) + " already");
  while (!site && sites.count(nextSite))
    ++nextSite;
  Value value;
  value.op = OpCode::Random;
  value.operands = {seed, step};
  value.site = site.value_or(nextSite);
  value.residency = residency;
  value.axes.assign(axes.begin(), axes.end());
  value.loc = loc;
  sites.insert(value.site);
  return addValue(std::move(value));
}

MaybeId ModelBuilder::identity(Id space, Loc loc) {
  if (!checkSpace(space, loc))
    return std::nullopt;
  const Space &target = model.spaces[space];
  if (target.kind != Space::Kind::Static)
    return fail(loc, "the identity matrix is on a static space, but '" + target.name + "' is not one");
  if (target.extent == -1)
    return fail(loc, unknownExtent(space));
  Value value;
  value.op = OpCode::Identity;
  value.residency = space;
  value.axes = {{target.name, target.extent}};
  value.loc = loc;
  return addValue(std::move(value));
}

MaybeId ModelBuilder::gradient(Id number, Id by, Loc loc) {
  if (!checkValue(number, loc) || !checkValue(by, loc))
    return std::nullopt;
  if (model.values[number].residency != kNone || !model.values[number].axes.empty())
    return fail(loc, "expected a shared number to differentiate, found " + describe(number));
  Value value = derived(OpCode::Gradient, {number, by}, loc);
  value.residency = model.values[by].residency;
  value.axes = model.values[by].axes;
  return addValue(std::move(value));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

MaybeId ModelBuilder::output(StringRef name, Id value, Loc loc) {
  if (name.empty())
    return fail(loc, "expected a name that is not empty");
  if (!checkValue(value, loc))
    return std::nullopt;
  for (const Output &earlier : model.outputs)
    if (earlier.name == name)
      return fail(loc, "there is already an output '" + name + "'");
  model.outputs.push_back({name.str(), value});
  return value;
}

bool ModelBuilder::program(Program program, Loc loc) {
  const std::string &name = program.name;
  auto fails = [&](const Twine &message) {
    fail(loc, message);
    return false;
  };
  if (name.empty())
    return fails("expected a name that is not empty");
  if (name == "forward" || llvm::any_of(model.programs, [&](const Program &each) { return each.name == name; }))
    return fails("there is already a program '" + name + "'");
  if (name == "gradient")
    return fails("'gradient' is the name of the program that differentiation makes");
  if (symbols.count(name))
    return fails("'" + name + "' is the name of a space or map and cannot name a program");
  if (program.outputs.empty() && program.updates.empty())
    return fails("program '" + name + "' has neither an output nor an update");
  for (auto [i, output] : llvm::enumerate(program.outputs)) {
    if (!checkValue(output.value, loc))
      return false;
    if (output.name.empty())
      return fails("expected a name that is not empty");
    for (const Output &earlier : ArrayRef(program.outputs).take_front(i))
      if (earlier.name == output.name)
        return fails("an output of program '" + name + "' is called '" + output.name + "' already");
  }
  for (auto [i, update] : llvm::enumerate(program.updates)) {
    if (!checkValue(update.target, loc) || !checkValue(update.value, loc))
      return false;
    const Value &target = model.values[update.target], &value = model.values[update.value];
    if (target.op != OpCode::Param && target.op != OpCode::State)
      return fails("only parameters and states can be updated, found " + describe(update.target));
    if (value.residency != target.residency || value.axes != target.axes)
      return fails("'" + target.name + "' is " + describe(update.target) + " and cannot become " +
                   describe(update.value));
    for (const Update &earlier : ArrayRef(program.updates).take_front(i))
      if (earlier.target == update.target)
        return fails("'" + target.name + "' is updated twice in program '" + name + "'");
  }
  model.programs.push_back(std::move(program));
  return true;
}
