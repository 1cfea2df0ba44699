//===- BuildOps.cpp - Operations on values --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/ModelBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace gnnc::frontend;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static bool isOneOf(StringRef name, ArrayRef<StringRef> names) { return llvm::is_contained(names, name); }

MaybeId ModelBuilder::unary(StringRef function, Id x, double number, Loc loc) {
  if (!isOneOf(function, {"neg",      "relu", "leaky_relu", "elu",   "gelu",   "silu",  "sigmoid", "tanh",
                          "softplus", "exp",  "log",        "sqrt",  "rsqrt",  "abs",   "sign",    "square",
                          "sin",      "cos",  "erf",        "recip", "finite", "floor", "ceil",    "round"}))
    return fail(loc, "no elementwise function '" + function + "'");
  if (!checkValue(x, loc))
    return std::nullopt;
  if (!std::isfinite(number))
    return fail(loc, "the number of " + function + " must be finite");
  Value value = derived(OpCode::Unary, x, loc);
  value.name = function.str();
  value.number = number;
  return addValue(std::move(value));
}

MaybeId ModelBuilder::binary(StringRef function, Id a, Id b, Loc loc) {
  if (!isOneOf(function, {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne"}))
    return fail(loc, "no elementwise function '" + function + "' of two operands");
  std::optional<Id> residency = meet({a, b}, loc);
  if (!residency)
    return std::nullopt;
  std::optional<std::vector<Axis>> axes = align({a, b}, loc);
  if (!axes)
    return std::nullopt;
  Value value = derived(OpCode::Binary, {a, b}, loc);
  value.name = function.str();
  value.residency = *residency;
  value.axes = std::move(*axes);
  return addValue(std::move(value));
}

MaybeId ModelBuilder::select(Id condition, Id a, Id b, Loc loc) {
  std::optional<Id> residency = meet({condition, a, b}, loc);
  if (!residency)
    return std::nullopt;
  std::optional<std::vector<Axis>> axes = align({condition, a, b}, loc);
  if (!axes)
    return std::nullopt;
  Value value = derived(OpCode::Select, {condition, a, b}, loc);
  value.residency = *residency;
  value.axes = std::move(*axes);
  return addValue(std::move(value));
}

MaybeId ModelBuilder::detach(Id x, Loc loc) {
  return checkValue(x, loc) ? addValue(derived(OpCode::Detach, x, loc)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

MaybeId ModelBuilder::reduce(StringRef function, Id x, Id map, Loc loc) {
  if (!isOneOf(function, {"sum", "mean", "max", "min", "logsumexp"}))
    return fail(loc, "no reduction '" + function + "'; expected sum, mean, max, min or logsumexp");
  if (!checkValue(x, loc))
    return std::nullopt;
  Value value = derived(OpCode::Reduce, x, loc);
  if (map == kAll) {
    if (value.residency == kNone)
      return fail(loc, "cannot reduce along 'all': the value is shared already");
    value.residency = kNone;
  } else {
    if (!checkResidesOnDomain(x, map, "reduce", loc))
      return std::nullopt;
    value.residency = model.maps[map].to;
  }
  value.name = function.str();
  value.map = map;
  return addValue(std::move(value));
}

MaybeId ModelBuilder::norm(StringRef function, Id x, Id map, Loc loc) {
  if (function != "softmax")
    return fail(loc, "no normalisation '" + function + "'");
  if (!checkResidesOnDomain(x, map, "normalise", loc))
    return std::nullopt;
  if (model.maps[map].partial)
    return fail(loc, "cannot normalise along '" + model.maps[map].name + "', which is partial");
  Value value = derived(OpCode::Norm, x, loc);
  value.name = function.str();
  value.map = map;
  return addValue(std::move(value));
}

MaybeId ModelBuilder::move(Id x, Id map, double fill, Loc loc) {
  if (!checkValue(x, loc))
    return std::nullopt;
  if (model.values[x].residency == kNone || map == kNone)
    return x;
  if (!checkMap(map, loc))
    return std::nullopt;
  if (!std::isfinite(fill))
    return fail(loc, "the fill must be finite");
  const Map &along = model.maps[map];
  Value value = derived(OpCode::Move, x, loc);
  if (value.residency != along.to)
    return fail(loc, "map '" + along.name + "' moves values on '" + spaceName(along.to) + "' to '" +
                         spaceName(along.from) + "', but the value is on '" + spaceName(value.residency) + "'");
  value.residency = along.from;
  value.map = map;
  value.number = along.partial ? fill : 0;
  return addValue(std::move(value));
}

MaybeId ModelBuilder::degree(Id map, Loc loc) {
  if (!checkMap(map, loc))
    return std::nullopt;
  Value value = derived(OpCode::Degree, {}, loc);
  value.map = map;
  value.residency = model.maps[map].to;
  return addValue(std::move(value));
}

/// Says where a map to what is chosen leads, by values on what is chosen from and on what it is chosen for.
MaybeId ModelBuilder::choice(OpCode op, ArrayRef<Id> operands, Id chosen, double number, Loc loc) {
  if (!checkMap(chosen, loc) || !llvm::all_of(operands, [&](Id id) { return checkValue(id, loc); }))
    return std::nullopt;
  const Map map = model.maps[chosen];
  bool isKept = op == OpCode::Keep;
  if (isKept ? map.kind != Map::Kind::Inclusion || !isOpen(map.from) : map.kind != Map::Kind::Chosen)
    return fail(loc, "map '" + map.name + "' does not lead from " +
                         (isKept ? "a kept space to its base" : "a selection to what is chosen"));
  if (choices.count(chosen))
    return fail(loc, "where map '" + map.name + "' leads has been chosen already");
  const Space space = model.spaces[map.from];
  if (!isKept && space.open != (op == OpCode::Within))
    return fail(loc, space.open ? "space '" + space.name + "' is open, but this chooses a known number of elements"
                                : "how many elements are chosen here is not known with the graph, but space '" +
                                      space.name + "' is not open");
  for (auto [i, value] : llvm::enumerate(operands))
    if (Id on = i == 0 || op == OpCode::Farthest ? map.to : space.base; model.values[value].residency != on)
      return fail(loc, "expected a value on '" + spaceName(on) + "' to compare, found " + describe(value));
  MaybeId owners = isKept ? chosen : owner(map.from, loc);
  if (!owners)
    return std::nullopt;
  Value value;
  value.op = op;
  value.operands.assign(operands.begin(), operands.end());
  value.map = chosen;
  value.number = number;
  value.residency = map.from;
  value.loc = loc;
  MaybeId id = addValue(std::move(value));
  if (id)
    choices[chosen] = choices[*owners] = *id;
  return id;
}

MaybeId ModelBuilder::compared(OpCode op, Id points, Id queries, double radius, Id chosen, Loc loc) {
  if (!checkValue(points, loc) || !checkValue(queries, loc))
    return std::nullopt;
  const std::vector<Axis> &own = model.values[points].axes, &other = model.values[queries].axes;
  if (own.size() != other.size() ||
      !std::equal(own.begin(), own.end(), other.begin(), [](const Axis &a, const Axis &b) { return a.size == b.size; }))
    return fail(loc, "only rows of one shape have a distance, found " + describe(points) + " and " + describe(queries));
  return choice(op, {points, queries}, chosen, radius, loc);
}

MaybeId ModelBuilder::nearest(Id points, Id queries, Id chosen, Loc loc) {
  return compared(OpCode::Nearest, points, queries, 0, chosen, loc);
}

MaybeId ModelBuilder::within(Id points, Id queries, double radius, Id chosen, Loc loc) {
  if (!(radius > 0))
    return fail(loc, "expected a radius above 0, found " + llvm::Twine(std::to_string(radius)));
  return compared(OpCode::Within, points, queries, radius, chosen, loc);
}

MaybeId ModelBuilder::top(Id scores, Id chosen, Loc loc) {
  if (checkValue(scores, loc) && !model.values[scores].axes.empty())
    return fail(loc, "expected one score for each element, found " + describe(scores));
  return choice(OpCode::Top, scores, chosen, 0, loc);
}

MaybeId ModelBuilder::farthest(Id points, MaybeId start, Id chosen, Loc loc) {
  if (!start)
    return choice(OpCode::Farthest, points, chosen, 0, loc);
  if (checkValue(*start, loc) && !model.values[*start].axes.empty())
    return fail(loc, "expected one number for each element to start with, found " + describe(*start));
  return choice(OpCode::Farthest, {points, *start}, chosen, 0, loc);
}

MaybeId ModelBuilder::keep(Id condition, Id inclusion, Loc loc) {
  if (checkValue(condition, loc) && !model.values[condition].axes.empty())
    return fail(loc, "expected one number for each element to keep it by, found " + describe(condition));
  return choice(OpCode::Keep, condition, inclusion, 0, loc);
}

MaybeId ModelBuilder::spread(Id x, Id space, Loc loc) {
  if (!checkValue(x, loc) || !checkSpace(space, loc))
    return std::nullopt;
  Value value = derived(OpCode::Spread, x, loc);
  const Space &target = model.spaces[space];
  if (target.kind != Space::Kind::Static)
    return fail(loc, "a value is spread over a static space, but '" + target.name + "' is not one");
  if (value.residency != kNone)
    return fail(loc,
                "only a shared value can be spread over a space; this one is on '" + spaceName(value.residency) + "'");
  if (value.axes.empty() || value.axes[0].size != target.extent)
    return fail(loc, "the first axis must have the extent " + Twine(target.extent) + " of '" + target.name +
                         "' to be spread over it, found " + describe(x));
  value.axes.erase(value.axes.begin());
  value.residency = space;
  return addValue(std::move(value));
}

//===----------------------------------------------------------------------===//
// Products and folds
//===----------------------------------------------------------------------===//

/// Whether no name occurs twice; says so if one does.
static std::string repeated(ArrayRef<std::string> names) {
  for (auto [i, name] : llvm::enumerate(names))
    if (llvm::is_contained(names.take_front(i), name))
      return name;
  return "";
}

MaybeId ModelBuilder::contract(Id a, Id b, ArrayRef<std::string> axes, Loc loc) {
  std::optional<Id> residency = meet({a, b}, loc);
  if (!residency)
    return std::nullopt;
  if (std::string name = repeated(axes); !name.empty())
    return fail(loc, "axis '" + name + "' is contracted twice");
  for (const std::string &axis : axes)
    if (!findAxis(a, axis, loc) || !findAxis(b, axis, loc))
      return std::nullopt;
  if (!align({a, b}, loc))
    return std::nullopt;
  Value value = derived(OpCode::Contract, {a, b}, loc);
  value.residency = *residency;
  value.axes.clear();
  for (Id operand : {a, b})
    for (const Axis &axis : model.values[operand].axes)
      if (!llvm::is_contained(axes, axis.name) && !llvm::is_contained(value.axes, axis))
        value.axes.push_back(axis);
  value.axesUsed.assign(axes.begin(), axes.end());
  return addValue(std::move(value));
}

MaybeId ModelBuilder::fold(StringRef function, Id x, ArrayRef<std::string> axes, Loc loc) {
  if (!isOneOf(function, {"sum", "mean", "max", "min"}))
    return fail(loc, "no fold '" + function + "'; expected sum, mean, max or min");
  if (!checkValue(x, loc))
    return std::nullopt;
  if (axes.empty())
    return fail(loc, "expected at least one axis to fold over");
  if (std::string name = repeated(axes); !name.empty())
    return fail(loc, "axis '" + name + "' is folded over twice");
  for (const std::string &axis : axes)
    if (!findAxis(x, axis, loc))
      return std::nullopt;
  Value value = derived(OpCode::Fold, x, loc);
  llvm::erase_if(value.axes, [&](const Axis &axis) { return llvm::is_contained(axes, axis.name); });
  value.name = function.str();
  value.axesUsed.assign(axes.begin(), axes.end());
  return addValue(std::move(value));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::optional<std::vector<Axis>> ModelBuilder::namesToAxes(Id x, ArrayRef<std::string> names, Loc loc) {
  if (std::string name = repeated(names); !name.empty())
    return fail(loc, "axis '" + name + "' is named twice");
  std::vector<Axis> axes;
  for (const std::string &name : names) {
    std::optional<int> found = findAxis(x, name, loc);
    if (!found)
      return std::nullopt;
    axes.push_back(model.values[x].axes[*found]);
  }
  return axes;
}

MaybeId ModelBuilder::permute(Id x, ArrayRef<std::string> order, Loc loc) {
  if (!checkValue(x, loc))
    return std::nullopt;
  std::optional<std::vector<Axis>> axes = namesToAxes(x, order, loc);
  if (!axes)
    return std::nullopt;
  Value value = derived(OpCode::Permute, x, loc);
  if (axes->size() != value.axes.size())
    return fail(loc, "a permutation names all " + Twine(value.axes.size()) + " axes of " + describe(x) + ", found " +
                         Twine(axes->size()));
  if (*axes == value.axes)
    return x;
  value.axes = std::move(*axes);
  return addValue(std::move(value));
}

MaybeId ModelBuilder::rename(Id x, ArrayRef<std::string> names, Loc loc) {
  if (!checkValue(x, loc))
    return std::nullopt;
  Value value = derived(OpCode::Rename, x, loc);
  if (names.size() != value.axes.size())
    return fail(loc, "expected " + Twine(value.axes.size()) + " names for the axes of " + describe(x) + ", found " +
                         Twine(names.size()));
  bool changed = false;
  for (auto [axis, name] : llvm::zip(value.axes, names)) {
    changed |= axis.name != name;
    axis.name = name;
  }
  return changed ? addValue(std::move(value)) : MaybeId(x);
}

MaybeId ModelBuilder::slice(Id x, StringRef axis, int64_t begin, int64_t end, Loc loc) {
  if (!checkValue(x, loc))
    return std::nullopt;
  std::optional<int> at = findAxis(x, axis, loc);
  if (!at)
    return std::nullopt;
  Value value = derived(OpCode::Slice, x, loc);
  int64_t size = value.axes[*at].size;
  if (begin < 0 || begin >= end || end > size)
    return fail(loc, "a slice of axis '" + axis + "' must lie in 0.." + Twine(size) + " and not be empty, found " +
                         Twine(begin) + ".." + Twine(end));
  value.axes[*at].size = end - begin;
  value.axesUsed = {axis.str()};
  value.begin = begin;
  value.end = end;
  return addValue(std::move(value));
}

MaybeId ModelBuilder::merge(Id x, ArrayRef<std::string> axes, StringRef name, Loc loc) {
  if (!checkValue(x, loc))
    return std::nullopt;
  Value value = derived(OpCode::Merge, x, loc);
  if (axes.empty()) { // the empty product
    value.axes.push_back({name.str(), 1});
    return addValue(std::move(value));
  }
  std::optional<int> first = findAxis(x, axes[0], loc);
  if (!first)
    return std::nullopt;
  int64_t size = 1;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (*first + i >= value.axes.size() || value.axes[*first + i].name != axis) {
      if (!findAxis(x, axis, loc))
        return std::nullopt;
      return fail(loc, "axes that merge must be adjacent and in order; found " + describe(x));
    }
    size *= value.axes[*first + i].size;
  }
  value.axes[*first] = {name.str(), size};
  value.axes.erase(value.axes.begin() + *first + 1, value.axes.begin() + *first + axes.size());
  value.axesUsed.assign(axes.begin(), axes.end());
  return addValue(std::move(value));
}

MaybeId ModelBuilder::split(Id x, StringRef axis, ArrayRef<Axis> into, Loc loc) {
  if (!checkValue(x, loc))
    return std::nullopt;
  std::optional<int> at = findAxis(x, axis, loc);
  if (!at || !checkAxes(into, loc))
    return std::nullopt;
  Value value = derived(OpCode::Split, x, loc);
  int64_t size = 1;
  for (const Axis &each : into)
    size *= each.size;
  if (size != value.axes[*at].size)
    return fail(loc, "axis '" + axis + "' of size " + Twine(value.axes[*at].size) + " cannot be split into " +
                         Twine(size) + " numbers");
  value.axes.erase(value.axes.begin() + *at);
  value.axes.insert(value.axes.begin() + *at, into.begin(), into.end());
  value.axesUsed = {axis.str()};
  return addValue(std::move(value));
}

MaybeId ModelBuilder::concat(ArrayRef<Id> operands, StringRef axis, Loc loc) {
  if (operands.empty())
    return fail(loc, "expected at least one operand to join");
  std::optional<Id> residency = meet(operands, loc);
  if (!residency)
    return std::nullopt;
  std::vector<Id> ordered;
  std::vector<Axis> others;
  int64_t size = 0;
  for (Id operand : operands) {
    std::vector<Axis> axes = model.values[operand].axes;
    if (axes.empty())
      return fail(loc, "cannot join " + describe(operand) + ", which has no axis");
    size += axes.back().size;
    if (size > maxRowElements)
      return fail(loc, "the joined axis '" + axis + "' is too large");
    std::vector<std::string> order;
    if (operand == operands.front()) {
      others.assign(axes.begin(), axes.end() - 1);
    } else {
      std::vector<Axis> rest(axes.begin(), axes.end() - 1);
      if (rest.size() != others.size() ||
          !llvm::all_of(others, [&](const Axis &o) { return llvm::is_contained(rest, o); }))
        return fail(loc, "operands that join along their last axes must have the same other axes: " +
                             describe(operands.front()) + " and " + describe(operand));
    }
    for (const Axis &other : others)
      order.push_back(other.name);
    order.push_back(axes.back().name);
    MaybeId permuted = permute(operand, order, loc);
    if (!permuted)
      return std::nullopt;
    ordered.push_back(*permuted);
  }
  Value value = derived(OpCode::Concat, ordered, loc);
  value.residency = *residency;
  value.axes.back() = {axis.str(), size};
  value.axesUsed = {axis.str()};
  return addValue(std::move(value));
}
