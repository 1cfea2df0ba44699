//===- EmitGraph.cpp - Spaces and maps in a text ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emitter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

void Emitter::findLive() {
  live.assign(program.operations.size(), false);
  for (const RecoveredProgram::Output &output : program.outputs)
    live[output.value] = true;
  for (size_t i = program.operations.size(); i-- > 0;) {
    if (!live[i])
      continue;
    const Operation &operation = program.operations[i];
    for (int operand : operation.operands)
      live[operand] = true;
    for (int map : {operation.map, operation.otherMap})
      if (map >= 0)
        liveMaps.insert(map);
    if (operation.space >= 0)
      liveSpaces.insert(operation.space);
    // Choices come before what follows them.
    for (int choice : {operation.map >= 0 ? choiceBehindMap(operation.map) : -1,
                       operation.space >= 0 ? choiceBehindSpace(operation.space) : -1})
      if (choice >= 0)
        live[size_t(choice)] = true;
  }
  std::set<int> roots = liveMaps, ofValues = liveSpaces;
  liveMaps.clear();
  liveSpaces.clear();
  for (int map : roots)
    reachMap(map);
  for (int space : ofValues)
    reachSpace(space);
}

/// The last one, where there are several; each of these waits for those before.
int Emitter::choiceBehindSpace(int space) const {
  const RecoveredSpace &each = program.spaces[size_t(space)];
  int found = each.choice;
  for (int part : each.form.parts)
    found = std::max(found, choiceBehindSpace(part));
  if (each.form.kind == SpaceForm::Kind::Filter)
    found = std::max({found, choiceBehindMap(each.form.left), choiceBehindMap(each.form.right)});
  return found;
}

int Emitter::choiceBehindMap(int map) const {
  const RecoveredMap &each = program.maps[size_t(map)];
  int found = std::max(choiceBehindSpace(each.from), choiceBehindSpace(each.to));
  for (const MapPart &part : each.form.parts)
    if (part.kind == MapPart::Kind::Map)
      found = std::max(found, choiceBehindMap(part.id));
  return found;
}

bool Emitter::hasChoices() const {
  for (size_t i = 0; i < program.operations.size(); ++i)
    if (live[i] && program.operations[i].op == Op::Choice)
      return true;
  return false;
}

/// What a declaration needs comes before it.
void Emitter::reachSpace(int space) {
  if (!liveSpaces.insert(space).second)
    return;
  const SpaceForm &form = program.spaces[space].form;
  if (form.kind == SpaceForm::Kind::Filter) {
    reachSpace(form.base);
    reachMap(form.left);
    reachMap(form.right);
  }
  if (form.kind == SpaceForm::Kind::Pairs && form.left >= 0) {
    reachMap(form.left);
    reachMap(form.right);
  }
  for (int part : form.parts)
    reachSpace(part);
  declarations.push_back({/*isMap=*/false, space});
}
void Emitter::reachMap(int map) {
  if (!liveMaps.insert(map).second)
    return;
  const RecoveredMap &each = program.maps[map];
  reachSpace(each.from);
  reachSpace(each.to);
  for (const MapPart &part : each.form.parts) {
    if (part.kind == MapPart::Kind::Map)
      reachMap(part.id);
    else if (part.kind == MapPart::Kind::Space)
      reachSpace(part.id);
  }
  if (each.form.kind == MapForm::Kind::Last)
    reachSpace(each.form.of);
  declarations.push_back({/*isMap=*/true, map});
}

/// `edge_index[1]` in what a map is computed from.
static std::optional<std::pair<std::string, int>> rowOf(StringRef source) {
  size_t at = source.find('[');
  while (at != StringRef::npos) {
    size_t begin = at;
    while (begin > 0 && (llvm::isAlnum(source[begin - 1]) || source[begin - 1] == '_'))
      --begin;
    int row = 0;
    if (begin < at && !source.substr(at + 1).take_until([](char c) { return c == ']'; }).getAsInteger(10, row))
      return std::pair(source.substr(begin, at - begin).str(), row);
    at = source.find('[', at + 1);
  }
  return std::nullopt;
}

/// `edge_index_dict___author____writes____paper__`, as dictionaries are exported, is author_writes_paper.
static std::string withoutIndex(StringRef name) {
  if (size_t at = name.find("___"); at != StringRef::npos) {
    std::string words;
    for (StringRef rest = name.drop_front(at); !rest.empty();) {
      rest = rest.ltrim('_');
      StringRef word = rest.take_front(rest.find("__"));
      rest = rest.drop_front(word.size());
      words += (words.empty() || word.empty() ? "" : "_") + word.str();
    }
    if (!words.empty())
      return identifier(words);
  }
  for (StringRef part : {"_index", "index_", "_idx"})
    if (size_t at = name.find(part); at != StringRef::npos && at > 0)
      return (name.take_front(at) + name.drop_front(at + part.size())).str();
  return name.str();
}

/// Inputs keep their names: they are what a run gives.
void Emitter::nameInputs() {
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &operation = program.operations[i];
    if (live[i] && operation.op == Op::Input && operation.source.empty()) {
      if (operation.text != identifier(operation.text))
        throw Refusal{"input '" + operation.text + "' has a name that cannot be written"};
      inputNames[int(i)] = operation.text;
    }
  }
}

/// A map that the declaration of its space brings with it.
static bool isEndOfPairs(MapForm::Kind kind) {
  return kind == MapForm::Kind::Owner || kind == MapForm::Kind::Chosen || kind == MapForm::Kind::Partner;
}

void Emitter::nameMaps() {
  for (int map : liveMaps) {
    RecoveredMap &each = program.maps[map];
    auto row = rowOf(each.source);
    bool isWhole = row && each.source == row->first + "[" + std::to_string(row->second) + "]";
    std::string end = row ? (row->second == 0   ? "src"
                             : row->second == 1 ? "dst"
                                                : "end" + std::to_string(row->second))
                          : "";
    if (isWhole && spaceNames[each.from] == "edge" && spaceNames[each.to] == "node" && row->second < 2 &&
        !prelude.count(end)) {
      prelude.insert(end);
      mapNames[map] = end;
      continue;
    }
    if (each.source == "batch" && spaceNames[each.from] == "node" && spaceNames[each.to] == "graph" &&
        prelude.insert("batch").second) {
      mapNames[map] = "batch";
      continue;
    }
    if (each.form.kind == MapForm::Kind::Paths)
      for (const MapPart &part : each.form.parts)
        if (part.kind != MapPart::Kind::Map && each.form.parts.size() > 1 && part.kind == MapPart::Kind::None)
          end = spaceNames[each.to];
    if (each.form.kind == MapForm::Kind::Paths && each.form.parts.size() == 1 &&
        each.form.parts[0].kind == MapPart::Kind::Space)
      end = spaceNames[each.to];
    if (each.form.kind == MapForm::Kind::Last)
      end = "last";
    if (isEndOfPairs(each.form.kind)) {
      mapNames[map] = spaceNames[each.from] + (each.form.kind == MapForm::Kind::Owner ? ".dst" : ".src");
      continue;
    }
    if (each.form.kind == MapForm::Kind::Through) {
      mapNames[map] = unique(spaceNames[each.from] + "_" + spaceNames[each.to]);
      continue;
    }
    std::string name = row ? spaceNames[each.from] + "_" + end : identifier(withoutIndex(each.source));
    if (!row && (name.size() > 24 || each.source.find('(') != std::string::npos))
      name = spaceNames[each.from] + "_" + spaceNames[each.to];
    mapNames[map] = unique(name);
  }
}

/// The edges of type 0, `eq(edge_type, 0)`, are `edge_type_0`.
static std::string partName(StringRef source) {
  StringRef rest = source.substr(source.find("eq(")); // all of it where there is none
  if (!rest.consume_front("eq("))
    return "part";
  auto [list, number] = rest.split(", ");
  number = number.take_while(llvm::isDigit);
  return number.empty() || list != identifier(list.str()) ? "part" : (list + "_" + number).str();
}

/// Names of spaces come from what is given on them.
void Emitter::nameSpaces() {
  auto give = [&](int space, const std::string &name, bool isPrelude = false) {
    if (spaceNames.count(space) || !liveSpaces.count(space))
      return;
    if (isPrelude && program.spaces[space].extent < 0 && prelude.insert(name).second)
      spaceNames[space] = name;
    else
      spaceNames[space] = unique(isPrelude ? name + "s" : name);
  };
  for (int map : liveMaps) {
    const RecoveredMap &each = program.maps[map];
    auto row = rowOf(each.source);
    if (row && each.source == row->first + "[" + std::to_string(row->second) + "]") {
      std::string name = withoutIndex(row->first);
      give(each.from, name, name == "edge");
    }
  }
  for (int map : liveMaps) {
    const RecoveredMap &each = program.maps[map];
    if (each.source == "batch" && program.spaces[each.to].extent < 0)
      give(each.to, "graph", true);
  }
  // What all edges lead to are nodes; where they lead to several spaces, these are called after their inputs.
  std::set<int> ends;
  for (int map : liveMaps)
    if (auto row = rowOf(program.maps[map].source);
        row && program.maps[map].source == row->first + "[" + std::to_string(row->second) + "]" &&
        program.spaces[program.maps[map].to].extent < 0)
      ends.insert(program.maps[map].to);
  if (ends.size() == 1)
    give(*ends.begin(), "node", true);
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &operation = program.operations[i];
    if (!live[i] || operation.op != Op::Input || operation.space < 0)
      continue;
    StringRef name = operation.text;
    if (name == "x" && ends.size() < 2)
      give(operation.space, "node", true);
    // `x_paper` is on papers, `user` on users; nobody knows what `x_0` is on.
    bool isNamed = name.consume_front("x_dict_") || name.consume_front("x_");
    if (!name.empty() && !llvm::isDigit(name[0]) && ends.count(operation.space))
      give(operation.space, isNamed ? name.str() : name.ends_with("s") ? (name + "_node").str() : (name + "s").str());
    else if (!ends.count(operation.space))
      give(operation.space, operation.text + "_row");
  }
  for (int map : liveMaps)
    if (int space = program.maps[map].to; ends.count(space))
      if (auto row = rowOf(program.maps[map].source); row && row->second < 2)
        give(space, row->second == 0 ? "source_node" : "target_node");
  for (int space : ends)
    give(space, "node", true);
  for (auto [isMap, space] : declarations) {
    if (isMap)
      continue;
    const RecoveredSpace &each = program.spaces[space];
    if (each.form.kind == SpaceForm::Kind::Filter)
      give(space, spaceNames[each.form.base] + (each.form.equal ? "_loops" : "_kept"));
    if (each.form.kind == SpaceForm::Kind::Union) {
      int first = each.form.parts[0];
      while (program.spaces[first].form.kind == SpaceForm::Kind::Filter)
        first = program.spaces[first].form.base;
      give(space, spaceNames[first] + "_all");
    }
    give(space, !each.name.empty() ? each.name : each.extent >= 0 ? "kind" : partName(each.source));
  }
}

std::string Emitter::partText(const MapPart &part) const {
  return part.kind == MapPart::Kind::None    ? "none"
         : part.kind == MapPart::Kind::Space ? spaceNames.at(part.id)
                                             : mapNames.at(part.id);
}

/// What is computed of the graph's lists is so before a run.
void gnnc::frontend::pytorch::checkKnown(StringRef source) {
  if (source.contains("side("))
    throw Refusal{"it computes lists of all pairs of elements; gnnc computes numbers for them, and nothing else"};
  if (source.contains("chosen(") || source.contains("owner("))
    throw Refusal{"it computes with the numbers of elements that are chosen by values; gnnc follows these elements as "
                  "they are, joined with others, or into other tensors, and computes nothing else with them"};
}

std::string Emitter::declareSpace(int space) {
  const RecoveredSpace &each = program.spaces[space];
  std::string text = "space " + spaceNames[space];
  if (each.extent >= 0)
    return text + " static\n";
  if (each.form.kind == SpaceForm::Kind::Filter)
    return text + " = filter(" + spaceNames[each.form.base] + ", " + mapNames[each.form.left] +
           (each.form.equal ? " == " : " != ") + mapNames[each.form.right] + ")\n";
  if (each.form.kind == SpaceForm::Kind::Union) {
    std::string parts;
    for (int part : each.form.parts)
      parts += (parts.empty() ? "" : ", ") + spaceNames[part];
    return text + " = union(" + parts + ")\n";
  }
  if (each.form.kind == SpaceForm::Kind::Pairs && each.form.left >= 0)
    return text + " = pairs(" + mapNames[each.form.left] +
           (each.form.right == each.form.left ? "" : ", " + mapNames[each.form.right]) + ")\n";
  if (each.form.kind == SpaceForm::Kind::Pairs) {
    std::string first = spaceNames[each.form.parts[0]], second = spaceNames[each.form.parts[1]];
    return text + " = pairs(" + first + (first == second ? "" : ", " + second) + ")\n";
  }
  if (each.source.empty())
    throw Refusal{"nothing says what the size " + each.key + " is computed from"};
  checkKnown(each.source);
  return text + " from " + each.source + "\n";
}

std::string Emitter::declareMap(int map) {
  const RecoveredMap &each = program.maps[map];
  std::string text = "map " + mapNames[map], type = ": " + spaceNames[each.from] + " -> " + spaceNames[each.to];
  if (each.form.kind == MapForm::Kind::Through)
    return text + type + " = " + partText(each.form.parts[0]) + "." + partText(each.form.parts[1]) + "\n";
  if (each.form.kind == MapForm::Kind::Last)
    return text + " = last(" + spaceNames[each.form.of] + ", " + partText(each.form.parts[0]) + ")\n";
  if (each.form.kind == MapForm::Kind::Paths) {
    std::string parts;
    for (const MapPart &part : each.form.parts)
      parts += (parts.empty() ? "" : " | ") + partText(part);
    return text + type + " = " + parts + "\n";
  }
  checkKnown(each.source);
  return text + type + (each.partial ? " partial" : "") + " from " + each.source + "\n";
}

/// A name for the whole text, which no input has either.
std::string Emitter::unique(const std::string &wanted) {
  auto isTaken = [&](const std::string &name) {
    return taken.count(name) || llvm::any_of(inputNames, [&](auto &input) { return input.second == name; });
  };
  std::string name = wanted;
  for (int number = 2; isTaken(name); ++number)
    name = wanted + (llvm::isDigit(wanted.back()) ? "_" : "") + std::to_string(number);
  taken.insert(name);
  return name;
}

std::string Emitter::declareGraph() {
  // What is given needs nothing that is derived.
  auto isGiven = [&](bool isMap, int id) {
    return isMap ? program.maps[id].form.kind == MapForm::Kind::Given
                 : program.spaces[id].form.kind == SpaceForm::Kind::Given;
  };
  std::string text;
  for (int space : liveSpaces)
    if (isGiven(false, space))
      text += declareSpace(space);
  std::vector<int> given;
  for (int map : liveMaps)
    if (isGiven(true, map))
      given.push_back(map);
  llvm::sort(given, [&](int a, int b) {
    const RecoveredMap &one = program.maps[a], &other = program.maps[b];
    return std::tie(one.from, one.source, a) < std::tie(other.from, other.source, b);
  });
  for (int map : given)
    text += declareMap(map);
  for (auto [isMap, id] : declarations) {
    MapForm::Kind kind = isMap ? program.maps[size_t(id)].form.kind : MapForm::Kind::Given;
    bool isOfChoice = isEndOfPairs(kind) || (!isMap && program.spaces[size_t(id)].choice >= 0);
    if (isGiven(isMap, id) || isOfChoice) // The statement of the choice, or of the pairs, declares these.
      continue;
    int choice = isMap ? choiceBehindMap(id) : choiceBehindSpace(id);
    std::string declared = isMap ? declareMap(id) : declareSpace(id);
    if (choice < 0)
      text += declared;
    else
      declaredAfter[choice] += "  " + declared;
  }
  return text.empty() ? text : text + "\n";
}
