//===- SameModel.cpp - Whether two models compute the same ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value gets a number for what it is made of, the same number for the same operation on values of the same
// numbers. Axes count by their places: an operation's text has a number for each name in the order in which it is met.
//
//===----------------------------------------------------------------------===//

#include "SameModel.h"

#include <cstdio>
#include <map>

using namespace gnnc::frontend;

namespace {

using Numbers = std::map<std::string, int>;

class Numbering {
public:
  Numbering(Numbers &numbers, const ModelSpec &model) : numbers(numbers), model(model) {}

  std::vector<int> outputs() {
    for (const Value &value : model.values)
      values.push_back(value.op == OpCode::Rename ? values[size_t(value.operands[0])] : numberOf(textOf(value)));
    std::vector<int> result;
    for (const Output &output : model.outputs)
      result.push_back(values[size_t(output.value)]);
    return result;
  }

private:
  int numberOf(const std::string &text) { return numbers.try_emplace(text, int(numbers.size())).first->second; }

  int space(Id id) {
    if (id < 0)
      return id;
    const Space &each = model.spaces[size_t(id)];
    std::string text = "space " + std::to_string(int(each.kind)) + " " + std::to_string(each.extent) + " " +
                       (each.kind == Space::Kind::Root && each.source.empty() ? each.name : each.source) + " " +
                       std::to_string(each.kind == Space::Kind::Filter ? space(each.base) : 0) +
                       (each.equal ? "==" : "!=");
    for (Id own : each.maps)
      text += " " + std::to_string(map(own));
    for (Id part : each.parts)
      text += " |" + std::to_string(space(part));
    return numberOf(text);
  }

  int map(Id id) {
    if (id < 0)
      return id;
    const Map &each = model.maps[size_t(id)];
    std::string text = "map " + std::to_string(int(each.kind)) + " " +
                       (each.kind == Map::Kind::Root && each.source.empty() ? each.name : each.source) + " " +
                       std::to_string(space(each.from)) + ">" + std::to_string(space(each.to)) + " " +
                       std::to_string(each.part) + (each.partial ? "?" : "");
    for (Id part : each.parts)
      text += " " + std::to_string(map(part));
    return numberOf(text);
  }

  std::string textOf(const Value &value) {
    std::map<std::string, int> axes;
    auto axis = [&](const std::string &name) {
      return std::to_string(axes.try_emplace(name, int(axes.size())).first->second);
    };
    char number[32];
    std::snprintf(number, sizeof number, "%a", value.number);
    std::string text = std::to_string(int(value.op)) + " '" + value.name + "' " + number + " " + value.source + " " +
                       std::to_string(map(value.map)) + " " + std::to_string(value.begin) + " " +
                       std::to_string(value.end) + " " + std::to_string(space(value.residency));
    bool byPlace = value.op == OpCode::Concat;
    for (Id operand : value.operands) {
      text += " " + std::to_string(values[size_t(operand)]);
      for (const Axis &each : model.values[size_t(operand)].axes)
        text += byPlace ? "," : "," + axis(each.name);
    }
    for (const std::string &used : value.axesUsed)
      text += byPlace ? "" : " over " + axis(used);
    // What an operation makes of axes has a place, and a size, but may have any name.
    bool makes = byPlace || value.op == OpCode::Merge || value.op == OpCode::Split;
    for (const Axis &each : value.axes)
      text += " " + (makes ? "" : axis(each.name)) + "=" + std::to_string(each.size);
    return text;
  }

  Numbers &numbers;
  const ModelSpec &model;
  std::vector<int> values;
};

} // namespace

bool gnnc::frontend::pytorch::test::isSameModel(const ModelSpec &a, const ModelSpec &b) {
  Numbers numbers;
  return Numbering(numbers, a).outputs() == Numbering(numbers, b).outputs();
}
