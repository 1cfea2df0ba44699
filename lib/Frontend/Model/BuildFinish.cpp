//===- BuildFinish.cpp - The finished ModelSpec ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks from the outputs and updates of all programs to what they need, and copies that with new numbers. A sparse
// input is kept whole if anything of it is used.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/ModelBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace gnnc::frontend;

namespace {

/// What is used of a ModelSpec.
class Reach {
public:
  explicit Reach(const ModelSpec &model, std::vector<bool> values)
      : values(std::move(values)), spaces(model.spaces.size()), maps(model.maps.size()), model(model) {}

  void run() {
    for (size_t id = 0; id < values.size(); ++id)
      if (values[id]) {
        useMap(model.values[id].map);
        useSpace(model.values[id].residency);
        for (size_t map = 0; isChoice(model.values[id].op) && map < model.maps.size(); ++map)
          if (model.maps[map].kind == Map::Kind::Owner && model.maps[map].from == model.values[id].residency)
            useMap(map);
      }
    drain();
    for (const SparseInput &sparse : model.sparseInputs)
      if (spaces[sparse.entries]) {
        values[sparse.value] = true;
        useMap(sparse.row);
        useMap(sparse.column);
        drain();
      }
  }

  std::vector<bool> values, spaces, maps;

private:
  void useSpace(Id id) {
    if (id >= 0 && !spaces[id]) {
      spaces[id] = true;
      pending.push_back({true, id});
    }
  }
  void useMap(Id id) {
    if (id >= 0 && !maps[id]) {
      maps[id] = true;
      pending.push_back({false, id});
    }
  }
  void drain() {
    while (!pending.empty()) {
      auto [isSpace, id] = pending.back();
      pending.pop_back();
      if (isSpace) {
        const Space &space = model.spaces[id];
        useSpace(space.base);
        useSpace(space.of);
        llvm::for_each(space.parts, [&](Id part) { useSpace(part); });
        llvm::for_each(space.maps, [&](Id map) { useMap(map); });
      } else {
        const Map &map = model.maps[id];
        useSpace(map.from);
        useSpace(map.to);
        llvm::for_each(map.parts, [&](Id part) { useMap(part); });
      }
    }
  }

  const ModelSpec &model;
  std::vector<std::pair<bool, Id>> pending;
};

/// New numbers for those that are kept, in `order`.
class Renumbering {
public:
  void keep(Id old) { numbers.emplace(old, numbers.size()); }
  void apply(Id &id) const {
    if (id >= 0)
      id = numbers.at(id);
  }
  void apply(std::vector<Id> &ids) const {
    for (Id &id : ids)
      apply(id);
  }

private:
  std::map<Id, Id> numbers;
};

} // namespace

/// Inputs first, then parameters, states and all else.
static int rank(OpCode op) {
  switch (op) {
  case OpCode::Input:
    return 0;
  case OpCode::Param:
    return 1;
  case OpCode::State:
    return 2;
  default:
    return 3;
  }
}

std::vector<bool> ModelBuilder::needed(const Program &more) const {
  std::vector<bool> values(model.values.size());
  auto use = [&](llvm::ArrayRef<Output> outputs, llvm::ArrayRef<Update> updates) {
    for (const Output &output : outputs)
      values[output.value] = true;
    for (const Update &update : updates)
      values[update.target] = values[update.value] = true;
  };
  use(model.outputs, {});
  for (const Program &program : model.programs)
    use(program.outputs, program.updates);
  use(more.outputs, more.updates);
  // Operands come earlier, so one backward walk sees every use before the value itself.
  for (size_t id = values.size(); id-- > 0;)
    if (values[id]) {
      for (Id operand : model.values[id].operands)
        values[operand] = true;
      std::vector<Id> chosenMaps = chosenBehind(model.values[id].map);
      if (Id space = model.values[id].residency; space >= 0 && isOpen(space))
        for (size_t map = 0; map < model.maps.size(); ++map)
          if (model.maps[map].from == space && choices.count(map))
            chosenMaps.push_back(map);
      for (Id chosen : chosenMaps)
        if (auto choice = choices.find(chosen); choice != choices.end())
          values[choice->second] = true;
    }
  return values;
}

/// Of spaces and maps with one name only one may be used: it is what the graph is given by.
bool ModelBuilder::checkNames(const std::vector<bool> &usedSpaces, const std::vector<bool> &usedMaps) {
  llvm::StringSet<> names;
  auto check = [&](const auto &all, const std::vector<bool> &used) {
    for (auto [id, each] : llvm::enumerate(all))
      if (used[id] && !names.insert(each.name).second) {
        fail(each.loc, "'" + each.name + "' is declared in two ways, and the model uses both");
        return false;
      }
    return true;
  };
  return check(model.spaces, usedSpaces) && check(model.maps, usedMaps);
}

bool ModelBuilder::checkChosen(Id map, size_t end, Loc loc) {
  for (Id chosen : chosenBehind(map))
    if (auto choice = choices.find(chosen); choice == choices.end() || size_t(choice->second) >= end) {
      fail(loc, "map '" + model.maps[chosen].name + "' leads to what is chosen by a value, and no value before has");
      return false;
    }
  return true;
}

std::optional<ModelSpec> ModelBuilder::finish(llvm::StringRef name, bool doublePrecision,
                                              std::vector<std::string> files) {
  if (failed)
    return std::nullopt;
  if (model.outputs.empty())
    return fail(Loc(), "model '" + name + "' has no output");
  for (const Output &output : model.outputs)
    if (Id space = model.values[output.value].residency; space >= 0 && isOpen(space))
      return fail(model.values[output.value].loc, "output '" + output.name + "' has a row for each element of '" +
                                                      spaceName(space) +
                                                      "', and values decide how many there are; add it up, or move it "
                                                      "to a space of the graph");
  Reach reach(model, needed());
  reach.run();
  if (!checkNames(reach.spaces, reach.maps))
    return std::nullopt;
  for (auto [id, value] : llvm::enumerate(model.values))
    if (reach.values[id] && !isChoice(value.op) && !checkChosen(value.map, id, value.loc))
      return std::nullopt;

  Renumbering spaces, maps, values;
  ModelSpec result;
  result.name = name.str();
  result.doublePrecision = doublePrecision;
  result.exported = model.exported;
  result.files = std::move(files);
  for (auto [id, space] : llvm::enumerate(model.spaces)) {
    if (!reach.spaces[id])
      continue;
    if (space.kind == Space::Kind::Static && space.extent == -1)
      return fail(space.loc, unknownExtent(id));
    spaces.keep(id);
    result.spaces.push_back(space);
  }
  for (auto [id, map] : llvm::enumerate(model.maps))
    if (reach.maps[id]) {
      maps.keep(id);
      result.maps.push_back(map);
    }
  for (int wanted = 0; wanted <= 3; ++wanted)
    for (auto [id, value] : llvm::enumerate(model.values))
      if (reach.values[id] && rank(value.op) == wanted) {
        values.keep(id);
        result.values.push_back(value);
      }
  result.unusedParams = model.unusedParams;
  for (auto [id, value] : llvm::enumerate(model.values))
    if (value.op == OpCode::Param && !reach.values[id])
      result.unusedParams.push_back(value.name);

  for (Space &space : result.spaces) {
    spaces.apply(space.base);
    spaces.apply(space.of);
    spaces.apply(space.parts);
    maps.apply(space.maps);
  }
  for (Map &map : result.maps) {
    spaces.apply(map.from);
    spaces.apply(map.to);
    maps.apply(map.parts);
  }
  for (Value &value : result.values) {
    values.apply(value.operands);
    maps.apply(value.map);
    spaces.apply(value.residency);
  }
  for (const SparseInput &sparse : model.sparseInputs)
    if (reach.spaces[sparse.entries]) {
      SparseInput &kept = result.sparseInputs.emplace_back(sparse);
      spaces.apply(kept.entries);
      maps.apply(kept.row);
      maps.apply(kept.column);
      values.apply(kept.value);
    }
  for (const Output &output : model.outputs) {
    Output &kept = result.outputs.emplace_back(output);
    values.apply(kept.value);
  }
  for (const Program &program : model.programs) {
    Program &kept = result.programs.emplace_back(program);
    for (Output &output : kept.outputs)
      values.apply(output.value);
    for (Update &update : kept.updates) {
      values.apply(update.target);
      values.apply(update.value);
    }
  }
  return result;
}
