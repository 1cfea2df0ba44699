//===- JSONWriter.cpp - A ModelSpec as JSON -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/JSON.h"
#include "JSON/JSONNames.h"

#include <nlohmann/json.hpp>

using namespace gnnc::frontend;
using json = nlohmann::ordered_json;

namespace {

class Writer {
public:
  Writer(const ModelSpec &model, bool locations) : model(model), locations(locations) {}

  json write() const {
    json root;
    root["version"] = 1;
    root["name"] = model.name;
    if (model.doublePrecision)
      root["double"] = true;
    if (locations && !model.files.empty())
      root["files"] = model.files;
    root["spaces"] = list(model.spaces, [&](const Space &each) { return space(each); });
    root["maps"] = list(model.maps, [&](const Map &each) { return map(each); });
    json inputs = json::array(), params = json::array(), states = json::array(), ops = json::array();
    for (size_t id = 0; id < model.values.size(); ++id) {
      const Value &value = model.values[id];
      json &target = value.op == OpCode::Input   ? inputs
                     : value.op == OpCode::Param ? params
                     : value.op == OpCode::State ? states
                                                 : ops;
      target.push_back(&target == &ops ? op(id) : given(value));
    }
    root["inputs"] = std::move(inputs);
    if (!model.sparseInputs.empty())
      root["sparse"] = list(model.sparseInputs, [&](const SparseInput &each) {
        return json{{"name", each.name},
                    {"entries", model.spaces[each.entries].name},
                    {"row", model.maps[each.row].name},
                    {"column", model.maps[each.column].name},
                    {"value", valueName(each.value)}};
      });
    root["params"] = std::move(params);
    if (!model.unusedParams.empty())
      root["unused_params"] = model.unusedParams;
    root["states"] = std::move(states);
    root["ops"] = std::move(ops);
    root["outputs"] = outputs(model.outputs);
    if (!model.programs.empty())
      root["programs"] = list(model.programs, [&](const Program &each) { return program(each); });
    return root;
  }

private:
  template <typename T, typename F> static json list(const std::vector<T> &elements, F write) {
    json result = json::array();
    for (const T &each : elements)
      result.push_back(write(each));
    return result;
  }

  /// Given values have names; the others are called by their number.
  std::string valueName(Id id) const {
    const Value &value = model.values[id];
    bool named = value.op == OpCode::Input || value.op == OpCode::Param || value.op == OpCode::State;
    return named ? value.name : "%" + std::to_string(id);
  }

  void place(json &object, Loc loc) const {
    if (locations && loc.line != 0)
      object["loc"] = {loc.file, loc.line, loc.column, loc.length};
  }

  json mapNames(const std::vector<Id> &maps) const {
    return list(maps, [&](Id id) -> json {
      if (id == kUndefined)
        return nullptr;
      return id == kNone ? identityPart : model.maps[id].name;
    });
  }

  json space(const Space &space) const {
    json object{{"name", space.name}, {"kind", wordFor(spaceKinds, space.kind)}};
    switch (space.kind) {
    case Space::Kind::Root:
      break;
    case Space::Kind::Static:
      object["extent"] = space.extent;
      break;
    case Space::Kind::Filter:
      object["base"] = model.spaces[space.base].name;
      object["maps"] = mapNames(space.maps);
      object["equal"] = space.equal;
      break;
    case Space::Kind::Union:
      object["parts"] = list(space.parts, [&](Id id) { return json(model.spaces[id].name); });
      break;
    case Space::Kind::Distinct:
      object["base"] = model.spaces[space.base].name;
      object["maps"] = mapNames(space.maps);
      break;
    case Space::Kind::Selection:
      object["base"] = model.spaces[space.base].name;
      object["of"] = model.spaces[space.of].name;
      if (!space.maps.empty())
        object["maps"] = mapNames(space.maps);
      object["most"] = space.most;
      if (space.others)
        object["others"] = true;
      if (space.ratio != 0)
        object["ratio"] = space.ratio;
      if (space.open)
        object["open"] = true;
      break;
    case Space::Kind::Kept:
      object["base"] = model.spaces[space.base].name;
      break;
    case Space::Kind::Pairs:
      object["base"] = model.spaces[space.base].name;
      object["of"] = model.spaces[space.of].name;
      object["maps"] = mapNames(space.maps);
      break;
    }
    place(object, space.loc);
    return object;
  }

  json map(const Map &map) const {
    json object{{"name", map.name}, {"kind", wordFor(mapKinds, map.kind)}};
    switch (map.kind) {
    case Map::Kind::Root:
      object["from"] = model.spaces[map.from].name;
      object["to"] = model.spaces[map.to].name;
      if (map.partial)
        object["partial"] = true;
      break;
    case Map::Kind::Inclusion:
    case Map::Kind::Owner:
    case Map::Kind::Chosen:
    case Map::Kind::Partner:
      object["of"] = model.spaces[map.from].name;
      break;
    case Map::Kind::Only:
      object["from"] = model.spaces[map.from].name;
      object["to"] = model.spaces[map.to].name;
      break;
    case Map::Kind::Class:
      object["of"] = model.spaces[map.to].name;
      break;
    case Map::Kind::Part:
    case Map::Kind::Projection:
      object["of"] = model.spaces[map.from].name;
      object["part"] = map.part;
      break;
    case Map::Kind::Parts:
      object["of"] = model.spaces[map.from].name;
      object["to"] = model.spaces[map.to].name;
      object["maps"] = mapNames(map.parts);
      break;
    case Map::Kind::Last:
    case Map::Kind::Compose:
      object["maps"] = mapNames(map.parts);
      break;
    }
    place(object, map.loc);
    return object;
  }

  static json axes(const std::vector<Axis> &axes) {
    return list(axes, [](const Axis &axis) { return json{{"name", axis.name}, {"size", axis.size}}; });
  }

  json given(const Value &value) const {
    json object{{"name", value.name}};
    if (value.residency != kNone)
      object["on"] = model.spaces[value.residency].name;
    object["axes"] = axes(value.axes);
    if (value.optional)
      object["default"] = value.number;
    place(object, value.loc);
    return object;
  }

  json outputs(const std::vector<Output> &outputs) const {
    return list(outputs,
                [&](const Output &each) { return json{{"name", each.name}, {"value", valueName(each.value)}}; });
  }

  json program(const Program &program) const {
    json object{{"name", program.name}};
    if (!program.outputs.empty())
      object["outputs"] = outputs(program.outputs);
    if (!program.updates.empty())
      object["updates"] = list(program.updates, [&](const Update &each) {
        return json{{"target", valueName(each.target)}, {"value", valueName(each.value)}};
      });
    return object;
  }

  json op(Id id) const {
    const Value &value = model.values[id];
    json object{{"name", valueName(id)}, {"op", wordFor(opCodes, value.op)}};
    if (!value.operands.empty())
      object["args"] = list(value.operands, [&](Id operand) { return json(valueName(operand)); });
    switch (value.op) {
    case OpCode::Constant:
      object["number"] = value.number;
      break;
    case OpCode::Unary:
      object["function"] = value.name;
      if (value.number != 0)
        object["number"] = value.number;
      break;
    case OpCode::Binary:
      object["function"] = value.name;
      break;
    case OpCode::Contract:
      object["axes"] = value.axesUsed;
      break;
    case OpCode::Fold:
      object["function"] = value.name;
      object["axes"] = value.axesUsed;
      break;
    case OpCode::Reduce:
    case OpCode::Norm:
      object["function"] = value.name;
      object["along"] = value.map == kAll ? alongAll : model.maps[value.map].name;
      break;
    case OpCode::Move:
      object["along"] = model.maps[value.map].name;
      if (value.number != 0)
        object["fill"] = value.number;
      break;
    case OpCode::Concat:
      object["axis"] = value.axesUsed[0];
      break;
    case OpCode::Slice:
      object["axis"] = value.axesUsed[0];
      object["begin"] = value.begin;
      object["end"] = value.end;
      break;
    case OpCode::Rename:
    case OpCode::Permute:
      object["to"] = list(value.axes, [](const Axis &axis) { return json(axis.name); });
      break;
    case OpCode::Merge:
      object["axes"] = value.axesUsed;
      object["to"] = mergedName(value);
      break;
    case OpCode::Split: {
      object["axis"] = value.axesUsed[0];
      // The result has these where the operand has the one.
      const std::vector<Axis> &before = model.values[value.operands[0]].axes;
      size_t at = 0;
      while (before[at].name != value.axesUsed[0])
        ++at;
      size_t count = value.axes.size() + 1 - before.size();
      object["into"] = axes({value.axes.begin() + at, value.axes.begin() + at + count});
      break;
    }
    case OpCode::Within:
      object["radius"] = value.number;
      object["along"] = model.maps[value.map].name;
      break;
    case OpCode::Degree:
    case OpCode::Nearest:
    case OpCode::Top:
    case OpCode::Farthest:
    case OpCode::Keep:
      object["along"] = model.maps[value.map].name;
      break;
    case OpCode::Random:
      if (value.residency != kNone)
        object["on"] = model.spaces[value.residency].name;
      object["axes"] = axes(value.axes);
      object["site"] = value.site;
      break;
    case OpCode::Identity:
    case OpCode::Spread:
      object["on"] = model.spaces[value.residency].name;
      break;
    case OpCode::Input:
    case OpCode::Param:
    case OpCode::State:
    case OpCode::Select:
    case OpCode::Gradient:
    case OpCode::Detach:
      break;
    }
    place(object, value.loc);
    return object;
  }

  std::string mergedName(const Value &value) const {
    if (value.axesUsed.empty())
      return value.axes.back().name;
    const std::vector<Axis> &before = model.values[value.operands[0]].axes;
    size_t at = 0;
    while (before[at].name != value.axesUsed[0])
      ++at;
    return value.axes[at].name;
  }

  const ModelSpec &model;
  bool locations;
};

} // namespace

/// The lists' elements stand one on a line: long enough to read, short enough to compare.
std::string gnnc::frontend::writeJSON(const ModelSpec &model, bool locations) {
  json root = Writer(model, locations).write();
  auto dump = [](const json &value) {
    // A path may hold bytes that are no UTF-8.
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  std::string text = "{\n";
  for (auto each = root.begin(); each != root.end(); ++each) {
    text += "  " + dump(each.key()) + ": ";
    bool lines = each->is_array() && !each->empty() && each->front().is_object();
    if (!lines) {
      text += dump(*each);
    } else {
      text += "[\n";
      for (size_t i = 0; i < each->size(); ++i)
        text += "    " + dump((*each)[i]) + (i + 1 < each->size() ? ",\n" : "\n");
      text += "  ]";
    }
    text += std::next(each) == root.end() ? "\n" : ",\n";
  }
  return text + "}\n";
}
