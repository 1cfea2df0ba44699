//===- BuildValues.cpp - What a ModelBuilder knows of values --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules that operations share (where residencies meet, how axes align), and the values that are given at each run.
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

std::string ModelBuilder::describe(Id id) const { return describe(model.values[id].residency, model.values[id].axes); }

std::string ModelBuilder::describe(Id residency, ArrayRef<Axis> axes) const {
  std::string text = spaceName(residency) + "[";
  for (const Axis &axis : axes)
    text += (text.back() == '[' ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Shared rules
//===----------------------------------------------------------------------===//

bool ModelBuilder::checkValue(Id value, Loc loc) {
  if (value >= 0 && size_t(value) < model.values.size())
    return true;
  fail(loc, "expected a value");
  return false;
}

bool ModelBuilder::checkAxes(ArrayRef<Axis> axes, Loc loc) {
  int64_t elements = 1;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis.name.empty())
      return fail(loc, "expected a name for axis number " + Twine(i)), false;
    if (axis.size < 1)
      return fail(loc, "axis '" + axis.name + "' needs a size of at least 1, found " + Twine(axis.size)), false;
    for (const Axis &earlier : axes.take_front(i))
      if (earlier.name == axis.name)
        return fail(loc, "two axes of one value are called '" + axis.name + "'"), false;
    if (axis.size > maxRowElements / elements) {
      std::string sizes;
      for (const Axis &each : axes)
        sizes += (sizes.empty() ? "" : " x ") + std::to_string(each.size);
      return fail(loc, "a value of " + sizes + " numbers per row is too large; the limit is 2^40"), false;
    }
    elements *= axis.size;
  }
  return true;
}

std::optional<int> ModelBuilder::findAxis(Id x, StringRef axis, Loc loc) {
  for (auto [i, each] : llvm::enumerate(model.values[x].axes))
    if (each.name == axis)
      return int(i);
  return fail(loc, "no axis '" + axis + "' in " + describe(x));
}

MaybeId ModelBuilder::addValue(Value value) {
  if (!checkAxes(value.axes, value.loc))
    return std::nullopt;
  if (model.values.size() >= maxValues)
    return fail(value.loc, "the model has more than " + Twine(maxValues) + " operations");
  model.values.push_back(std::move(value));
  return Id(model.values.size() - 1);
}

Value ModelBuilder::derived(OpCode op, ArrayRef<Id> operands, Loc loc) {
  Value value;
  value.op = op;
  value.operands.assign(operands.begin(), operands.end());
  value.loc = loc;
  if (!operands.empty()) {
    value.residency = model.values[operands[0]].residency;
    value.axes = model.values[operands[0]].axes;
  }
  return value;
}

/// The residency that all operands meet on; kNone where all are shared.
std::optional<Id> ModelBuilder::meet(ArrayRef<Id> operands, Loc loc) {
  Id residency = kNone;
  for (Id operand : operands) {
    if (!checkValue(operand, loc))
      return std::nullopt;
    Id other = model.values[operand].residency;
    if (other == kNone || other == residency)
      continue;
    if (residency == kNone) {
      residency = other;
      continue;
    }
    std::string message = "operands reside on different spaces: " + spaceName(residency) + " and " + spaceName(other);
    // Say how to move either, where one map does it.
    for (auto [from, to] : {std::pair(other, residency), std::pair(residency, other)}) {
      std::string hint;
      if (moveHint) {
        hint = moveHint(from, to);
      } else {
        for (const Map &map : model.maps)
          if (map.kind == Map::Kind::Root && map.from == to && map.to == from)
            hint += (hint.empty() ? "." : " or .") + map.name;
      }
      if (!hint.empty()) {
        message += " (move the " + spaceName(from) + " value with " + hint + ")";
        break;
      }
    }
    return fail(loc, message);
  }
  return residency;
}

/// Aligns axes by name: those of the operand with the most, then what the others have besides, in order.
std::optional<std::vector<Axis>> ModelBuilder::align(ArrayRef<Id> operands, Loc loc) {
  Id longest = operands[0];
  for (Id operand : operands)
    if (model.values[operand].axes.size() > model.values[longest].axes.size())
      longest = operand;
  std::vector<Axis> axes = model.values[longest].axes;
  for (Id operand : operands)
    for (const Axis &axis : model.values[operand].axes) {
      auto found = llvm::find_if(axes, [&](const Axis &each) { return each.name == axis.name; });
      if (found == axes.end())
        axes.push_back(axis);
      else if (found->size != axis.size) {
        // The two that differ, in the order they are written.
        std::string text;
        for (Id each : operands)
          for (const Axis &other : model.values[each].axes)
            if (other.name == axis.name)
              text += (text.empty() ? "" : " and ") + describe(each);
        return fail(loc, "axis '" + axis.name + "' has different sizes: " + text);
      }
    }
  return axes;
}

bool ModelBuilder::checkResidesOnDomain(Id x, Id map, StringRef doing, Loc loc) {
  if (!checkValue(x, loc) || !checkMap(map, loc))
    return false;
  Id residency = model.values[x].residency;
  const Map &along = model.maps[map];
  if (residency == along.from)
    return true;
  fail(loc, "cannot " + doing + " along '" + along.name + "', which is from '" + spaceName(along.from) +
                "': the value is on '" + spaceName(residency) + "'");
  return false;
}

//===----------------------------------------------------------------------===//
// Given values
//===----------------------------------------------------------------------===//

MaybeId ModelBuilder::addGiven(OpCode op, StringRef name, Id residency, ArrayRef<Axis> axes, Loc loc) {
  if (name.empty())
    return fail(loc, "expected a name that is not empty");
  if (residency != kNone && !checkSpace(residency, loc))
    return std::nullopt;
  if (givenNames.count(name))
    return fail(loc, "there is already an input, parameter or state '" + name + "'");
  Value value;
  value.op = op;
  value.name = name.str();
  value.residency = residency;
  value.axes.assign(axes.begin(), axes.end());
  value.loc = loc;
  MaybeId id = addValue(std::move(value));
  if (id)
    givenNames[name] = *id;
  return id;
}

MaybeId ModelBuilder::input(StringRef name, Id residency, ArrayRef<Axis> axes, std::optional<double> absent, Loc loc) {
  if (absent && !std::isfinite(*absent))
    return fail(loc, "the default of input '" + name + "' must be finite");
  MaybeId id = addGiven(OpCode::Input, name, residency, axes, loc);
  if (id && absent) {
    model.values[*id].optional = true;
    model.values[*id].number = *absent;
  }
  return id;
}

MaybeId ModelBuilder::param(StringRef name, Id residency, ArrayRef<Axis> axes, Loc loc) {
  return addGiven(OpCode::Param, name, residency, axes, loc);
}

MaybeId ModelBuilder::state(StringRef name, Id residency, ArrayRef<Axis> axes, Loc loc) {
  return addGiven(OpCode::State, name, residency, axes, loc);
}

std::optional<size_t> ModelBuilder::sparseInput(StringRef name, Id rows, const Axis &axis, Loc loc) {
  SparseInput sparse;
  sparse.name = name.str();
  if (!checkSpace(rows, loc) || !checkAxes(axis, loc))
    return std::nullopt;
  // All three names must be new: they are part of the artifact's interface.
  for (const char *suffix : {".entry", ".columns", ".row", ".column"})
    if (!checkSymbol(sparse.name + suffix, loc))
      return std::nullopt;
  MaybeId entries = rootSpace(sparse.name + ".entry", loc);
  MaybeId columns = staticSpace(sparse.name + ".columns", axis.size, loc);
  if (!entries || !columns)
    return std::nullopt;
  MaybeId row = rootMap(sparse.name + ".row", *entries, rows, /*partial=*/false, loc);
  MaybeId column = rootMap(sparse.name + ".column", *entries, *columns, /*partial=*/false, loc);
  MaybeId value = input(name, *entries, {}, 1.0, loc);
  if (!row || !column || !value)
    return std::nullopt;
  sparse.entries = *entries;
  sparse.row = *row;
  sparse.column = *column;
  sparse.value = *value;
  if (!declareSparse(sparse, loc))
    return std::nullopt;
  return model.sparseInputs.size() - 1;
}

bool ModelBuilder::declareSparse(const SparseInput &sparse, Loc loc) {
  if (!checkSpace(sparse.entries, loc) || !checkMap(sparse.row, loc) || !checkMap(sparse.column, loc) ||
      !checkValue(sparse.value, loc))
    return false;
  const Map &row = model.maps[sparse.row], &column = model.maps[sparse.column];
  const Value &value = model.values[sparse.value];
  if (model.spaces[sparse.entries].kind != Space::Kind::Root)
    return fail(loc, "the entries of sparse input '" + sparse.name + "' must be a root space"), false;
  if (row.kind != Map::Kind::Root || column.kind != Map::Kind::Root || row.from != sparse.entries ||
      column.from != sparse.entries)
    return fail(loc, "row and column of sparse input '" + sparse.name + "' must be root maps from '" +
                         spaceName(sparse.entries) + "'"),
           false;
  if (model.spaces[column.to].kind != Space::Kind::Static)
    return fail(loc, "the columns of sparse input '" + sparse.name + "' must be a static space"), false;
  if (value.op != OpCode::Input || value.residency != sparse.entries || !value.axes.empty())
    return fail(loc, "the value of sparse input '" + sparse.name + "' must be an input on '" +
                         spaceName(sparse.entries) + "' without axes"),
           false;
  for (const SparseInput &earlier : model.sparseInputs)
    if (earlier.entries == sparse.entries || earlier.name == sparse.name)
      return fail(loc, "sparse input '" + sparse.name + "' is already declared"), false;
  model.sparseInputs.push_back(sparse);
  return true;
}

MaybeId ModelBuilder::constant(double number, Loc loc) {
  if (!std::isfinite(number))
    return fail(loc, "expected a finite number, found " + Twine(std::to_string(number)));
  if (auto known = constants.find(number); known != constants.end() && std::signbit(number) == 0)
    return known->second;
  Value value;
  value.op = OpCode::Constant;
  value.number = number;
  value.loc = loc;
  MaybeId id = addValue(std::move(value));
  if (id && std::signbit(number) == 0)
    constants[number] = *id;
  return id;
}
