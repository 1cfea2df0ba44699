//===- Derive.cpp - Spaces and maps that the language derives -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A filter by two maps, a union, and the maps from and to them have forms in the language, which mean more to a reader
// and to the compiler than lists that somebody computes. A space takes such a form if all maps from and to it can; else
// it stays a space that the graph gives.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

static bool isConstant(const Index &index, const char *text) { return !index->isList && index->text == text; }

/// 0, 1, 2, ...: every element is sent to itself.
static bool isIdentity(const Index &index) {
  return index->function == "arange" && isConstant(index->arguments[0], "0") && isConstant(index->arguments[2], "1");
}

static bool isUndefined(const Index &index) {
  return index->function == "full" && isConstant(index->arguments[1], "-1");
}

/// A map by a list, and the same one if it exists.
int Recover::wholeMap(const Index &index, int from, int to) { return mapOf(index, from, to); }

/// Where a list of `from` leads to, by some map that is made of it.
std::optional<int> Recover::targetOf(const std::string &list, int from) const {
  auto takesIt = [&](const Index &index) { return index->function == "take" && index->arguments[0]->text == list; };
  for (const RecoveredMap &map : program.maps) {
    if (map.from == from && map.source == list)
      return map.to;
    if (takesIt(map.index) || (map.index->function == "cat" && llvm::any_of(map.index->arguments, takesIt)))
      return map.to;
    if (map.index->function == "put" && takesIt(map.index->arguments[1]))
      return map.from;
  }
  return std::nullopt;
}

/// What a space's size says it could be.
SpaceForm Recover::formOf(int space) {
  SpaceForm form;
  const RecoveredSpace each = program.spaces[space];
  if (each.choice >= 0) {
    form.kind = SpaceForm::Kind::Selection;
    return form;
  }
  if (!each.sides.empty() && pairLists.count(space) == 0) {
    form.kind = SpaceForm::Kind::Pairs;
    form.parts = each.sides;
    form.left = each.along;
    form.right = each.otherAlong;
    return form;
  }
  if (each.extent >= 0)
    return form;
  if (auto places = filters.find(each.key); places != filters.end()) {
    Index mask = places->second->arguments[0];
    bool inverted = false;
    for (; mask->function == "not"; mask = mask->arguments[0])
      inverted = !inverted;
    if ((mask->function != "eq" && mask->function != "ne") || !mask->arguments[0]->isList ||
        !mask->arguments[1]->isList)
      return form;
    // Both sides must be maps to one space; what they are compared as integers.
    form.base = spaceOf(mask->arguments[0]->length);
    std::optional<int> target = targetOf(mask->arguments[0]->text, form.base);
    if (!target)
      return form;
    form.kind = SpaceForm::Kind::Filter;
    form.left = wholeMap(mask->arguments[0], form.base, *target);
    form.right = wholeMap(mask->arguments[1], form.base, *target);
    form.equal = (mask->function == "eq") != inverted;
    return form;
  }
  for (const RecoveredMap &map : program.maps)
    if (map.from == space && map.index->function == "cat") {
      std::vector<SymbolicExpr> lengths;
      SymbolicExpr sum;
      for (const Index &piece : map.index->arguments) {
        lengths.push_back(piece->length);
        sum += piece->length;
      }
      if (!(sum == each.size))
        continue;
      form.kind = SpaceForm::Kind::Union;
      for (const SymbolicExpr &length : lengths)
        form.parts.push_back(spaceOf(length));
      return form;
    }
  return form;
}

/// Gives a map its form, if it has one where the spaces of `derived` are derived; new maps may come of it.
bool Recover::deriveMap(int map, const std::set<int> &derived) {
  const RecoveredMap each = program.maps[map];
  const Index &index = each.index;
  auto partOf = [&](const Index &piece, int from) -> MapPart {
    if (isUndefined(piece))
      return {MapPart::Kind::None, -1};
    if (isIdentity(piece) && from == each.to)
      return {MapPart::Kind::Space, each.to};
    return {MapPart::Kind::Map, wholeMap(piece, from, each.to)};
  };
  MapForm form;
  const SpaceForm from = program.spaces[each.from].form, to = program.spaces[each.to].form;
  if (index->function == "side") {
    const int pairs = int(*literalOf(index->arguments[0])), side = int(*literalOf(index->arguments[1]));
    const int end = program.spaces[size_t(pairs)].sides[size_t(side)];
    if (each.to != end) { // rows of another tensor, by the same numbers
      const SymbolicExpr size = program.spaces[size_t(end)].size;
      Index same = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
      form.kind = MapForm::Kind::Through;
      form.parts = {{MapPart::Kind::Map, sideOf(pairs, side)}, {MapPart::Kind::Map, wholeMap(same, end, each.to)}};
      program.maps[map].form = form;
      return true;
    }
    program.maps[map].form.kind = *literalOf(index->arguments[1]) == 0 ? MapForm::Kind::Owner : MapForm::Kind::Partner;
    return true;
  }
  if (index->function == "chosen" || index->function == "owner") {
    const Operation &choice = program.operations[size_t(choiceIn(index))];
    bool isChosen = index->function == "chosen";
    int end = !isChosen && isOfMembers(choice) ? program.maps[size_t(choice.map)].to
                                               : program.operations[size_t(choice.operands[isChosen ? 0 : 1])].space;
    if (each.from != choice.space)
      return false;
    if (each.to == end && choice.text == "filter") {
      program.maps[map].form.kind = MapForm::Kind::Paths;
      program.maps[map].form.parts = {{MapPart::Kind::Space, end}};
      return true;
    }
    if (each.to == end) {
      program.maps[map].form.kind = isChosen ? MapForm::Kind::Chosen : MapForm::Kind::Owner;
      return true;
    }
    // Rows of another tensor, by the same numbers.
    Index same =
        call("arange", {constant(0), sizeIndex(program.spaces[end].size), constant(1)}, program.spaces[end].size);
    form.kind = MapForm::Kind::Through;
    form.parts = {{MapPart::Kind::Map, mapOf(index, each.from, end)},
                  {MapPart::Kind::Map, wholeMap(same, end, each.to)}};
    program.maps[map].form = form;
    return true;
  }
  // What belongs to the ends of chosen pairs: over these.
  if (from.kind == SpaceForm::Kind::Selection && index->function == "take" &&
      (index->arguments[1]->function == "chosen" || index->arguments[1]->function == "owner")) {
    const Operation &choice = program.operations[size_t(choiceIn(index->arguments[1]))];
    bool isOwner = index->arguments[1]->function == "owner";
    int middle = isOwner && isOfMembers(choice) ? program.maps[size_t(choice.map)].to
                                                : program.operations[size_t(choice.operands[isOwner ? 1 : 0])].space;
    // Where the best are the best of, which is known before they are chosen.
    if (isOfMembers(choice) && choice.map >= 0 && program.maps[choice.map].to == each.to &&
        program.maps[choice.map].index && program.maps[choice.map].index->text == index->arguments[0]->text) {
      program.maps[map].form.kind = MapForm::Kind::Owner;
      return true;
    }
    form.kind = MapForm::Kind::Through;
    form.parts = {{MapPart::Kind::Map, mapOf(index->arguments[1], each.from, middle)},
                  {MapPart::Kind::Map, wholeMap(index->arguments[0], middle, each.to)}};
    program.maps[map].form = form;
    return true;
  }
  bool isOfPairs = from.kind == SpaceForm::Kind::Pairs || from.kind == SpaceForm::Kind::Selection;
  if (isOfPairs && index->function == "take" && isOfChosen(index->arguments[1])) {
    const int middle = spaceOf(index->arguments[0]->length);
    form.kind = MapForm::Kind::Through;
    form.parts = {{MapPart::Kind::Map, mapOf(index->arguments[1], each.from, middle)},
                  {MapPart::Kind::Map, wholeMap(index->arguments[0], middle, each.to)}};
    program.maps[map].form = form;
    return true;
  }
  bool fromDerived = derived.count(each.from) != 0, toDerived = derived.count(each.to) != 0;
  if (fromDerived && from.kind == SpaceForm::Kind::Filter) {
    const Index &places = filters.at(program.spaces[each.from].key);
    if (index->text == places->text && each.to == from.base)
      form.parts = {{MapPart::Kind::Space, from.base}};
    else if (index->function == "take" && index->arguments[1]->text == places->text)
      form.parts = {{MapPart::Kind::Map, wholeMap(index->arguments[0], from.base, each.to)}};
    else
      return false;
    form.kind = MapForm::Kind::Paths;
  } else if (fromDerived && from.kind == SpaceForm::Kind::Union) {
    if (index->function != "cat" || index->arguments.size() != from.parts.size())
      return false;
    for (auto [piece, part] : llvm::zip(index->arguments, from.parts)) {
      if (!(piece->length == program.spaces[part].size))
        return false;
      form.parts.push_back(partOf(piece, part));
    }
    form.kind = MapForm::Kind::Paths;
  } else if (toDerived && (to.kind == SpaceForm::Kind::Filter || to.kind == SpaceForm::Kind::Selection) &&
             index->function == "put" && isUndefined(index->arguments[0]) && isIdentity(index->arguments[2])) {
    form.kind = MapForm::Kind::Last;
    form.of = each.to;
    form.parts = {{MapPart::Kind::Map, wholeMap(index->arguments[1], each.to, each.from)}};
  } else if (toDerived && to.kind == SpaceForm::Kind::Selection && index->function == "take" &&
             index->arguments[0]->function == "put") {
    // Their places among what is chosen, of elements that lead to what it is chosen from.
    const Operation &choice = program.operations[size_t(program.spaces[each.to].choice)];
    int middle = program.operations[size_t(choice.operands[0])].space;
    form.kind = MapForm::Kind::Through;
    form.parts = {{MapPart::Kind::Map, wholeMap(index->arguments[1], each.from, middle)},
                  {MapPart::Kind::Map, wholeMap(index->arguments[0], middle, each.to)}};
  } else if (fromDerived || toDerived) {
    return false;
  }
  program.maps[map].form = form;
  return true;
}

void Recover::deriveSpaces() {
  // What the outputs need.
  std::vector<bool> live(program.operations.size(), false);
  std::set<int> wanted;
  std::set<int> bound; // spaces of inputs, whose rows somebody gives
  for (const RecoveredProgram::Output &output : program.outputs)
    live[size_t(output.value)] = true;
  // What is made of chosen pairs, such as all edges and a loop for each node, is not on their space; so all choices are
  // taken for needed.
  for (const RecoveredSpace &space : program.spaces)
    if (space.choice >= 0)
      live[size_t(space.choice)] = true;
  for (size_t i = live.size(); i-- > 0;) {
    if (!live[i])
      continue;
    const Operation &operation = program.operations[i];
    for (int operand : operation.operands)
      live[size_t(operand)] = true;
    for (int map : {operation.map, operation.otherMap})
      if (map >= 0)
        wanted.insert(map);
    if (operation.op == Op::Input && operation.space >= 0)
      bound.insert(operation.space);
  }
  std::set<int> given = bound; // spaces that cannot be derived
  for (;;) {
    for (RecoveredMap &map : program.maps)
      map.form = {};
    for (RecoveredSpace &space : program.spaces)
      space.form = {};
    std::set<int> derived, reached = wanted;
    std::vector<int> queue(wanted.begin(), wanted.end());
    int failed = -1;
    std::set<int> seen;
    auto need = [&](int map) {
      if (reached.insert(map).second)
        queue.push_back(map);
    };
    // A space's form is settled where it is first met.
    auto settle = [&](auto &&self, int space) -> void {
      if (!seen.insert(space).second || given.count(space))
        return;
      SpaceForm form = formOf(space);
      program.spaces[size_t(space)].form = form;
      if (form.kind == SpaceForm::Kind::Given)
        return;
      derived.insert(space);
      if (form.kind == SpaceForm::Kind::Filter) {
        self(self, form.base);
        need(form.left);
        need(form.right);
      }
      if (form.kind == SpaceForm::Kind::Pairs && form.left >= 0) {
        need(form.left);
        need(form.right);
      }
      for (int part : form.parts)
        self(self, part);
    };
    for (size_t next = 0; next < queue.size() && failed < 0; ++next) {
      int map = queue[next];
      settle(settle, program.maps[size_t(map)].from);
      settle(settle, program.maps[size_t(map)].to);
      if (!deriveMap(map, derived)) {
        failed = map;
        break;
      }
      for (const MapPart &part : program.maps[size_t(map)].form.parts) {
        if (part.kind == MapPart::Kind::Map)
          need(part.id);
        else if (part.kind == MapPart::Kind::Space)
          settle(settle, part.id);
      }
    }
    if (failed < 0)
      return;
    // One of its ends is not what it seemed; without it the others may be.
    const RecoveredMap &map = program.maps[size_t(failed)];
    size_t before = given.size();
    if (derived.count(map.from))
      given.insert(map.from);
    else
      given.insert(map.to);
    if (given.size() == before)
      break;
  }
  for (RecoveredMap &map : program.maps)
    map.form = {};
  for (RecoveredSpace &space : program.spaces)
    space.form = {};
}
