//===- EmitRelations.cpp - Layers on the relation with self loops ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The prelude has the relation in which every node has exactly one self loop. A layer whose messages go along the ends
// of that relation alone is `on with_self_loops`, and says `src` and `dst`.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emitter.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend::pytorch;

/// union(filter(edge, src != dst), node)
bool Emitter::isRing(int space) const {
  if (space < 0 || program.spaces[space].form.kind != SpaceForm::Kind::Union)
    return false;
  const std::vector<int> &parts = program.spaces[space].form.parts;
  if (parts.size() != 2)
    return false;
  const SpaceForm &kept = program.spaces[parts[0]].form;
  auto is = [&](int map, const char *name) {
    auto found = mapNames.find(map);
    return found != mapNames.end() && found->second == name && program.maps[map].to == parts[1];
  };
  auto base = spaceNames.find(kept.base);
  return kept.kind == SpaceForm::Kind::Filter && !kept.equal && base != spaceNames.end() && base->second == "edge" &&
         ((is(kept.left, "src") && is(kept.right, "dst")) || (is(kept.left, "dst") && is(kept.right, "src")));
}

/// Whether a map is `end | node`, where `end` is src or dst of the edges that are kept.
bool Emitter::isEndOfRing(int map, int ring, int end) const {
  const RecoveredMap &each = program.maps[map];
  const SpaceForm &form = program.spaces[ring].form;
  auto isPaths = [](const MapForm &form, size_t parts) {
    return form.kind == MapForm::Kind::Paths && form.parts.size() == parts;
  };
  if (each.from != ring || !isPaths(each.form, 2) || each.form.parts[1].kind != MapPart::Kind::Space ||
      each.form.parts[1].id != form.parts[1] || each.form.parts[0].kind != MapPart::Kind::Map)
    return false;
  const RecoveredMap &kept = program.maps[each.form.parts[0].id];
  return kept.from == form.parts[0] && isPaths(kept.form, 1) && kept.form.parts[0].kind == MapPart::Kind::Map &&
         kept.form.parts[0].id == end;
}

/// Whether a block, or what it calls, mentions edges or moves along maps: in a layer these may have another meaning.
bool Emitter::usesGraph(int number) const {
  const Block &block = outline.blocks[number];
  if (block.anySpace)
    return false;
  auto isEdge = [&](int value) {
    int space = program.operations[value].space;
    return space >= 0 && spaceNames.at(space) != "node";
  };
  if (llvm::any_of(block.formals, isEdge))
    return true;
  return llvm::any_of(block.items, [&](const Item &item) {
    return item.call >= 0 ? usesGraph(item.call) : isEdge(item.value) || program.operations[item.value].map >= 0;
  });
}

void Emitter::findRelation(int layer) {
  const Block &block = outline.blocks[outline.layers[layer][0]];
  int ring = -1;
  for (const Item &item : block.items)
    if (isRing(program.operations[item.value].space))
      ring = program.operations[item.value].space;
  if (ring < 0)
    return;
  const SpaceForm &kept = program.spaces[program.spaces[ring].form.parts[0]].form;
  std::map<int, std::string> maps;
  auto isKnown = [&](int value) {
    int space = program.operations[value].space;
    return space < 0 || spaceNames.at(space) == "node";
  };
  if (!llvm::all_of(block.formals, isKnown) || !isKnown(block.result))
    return;
  for (const Item &item : block.items) {
    const Operation &operation = program.operations[item.value];
    if (item.call >= 0) {
      if (usesGraph(item.call))
        return;
      continue;
    }
    if (!isKnown(item.value) && operation.space != ring)
      return;
    if (operation.map < 0)
      continue;
    for (int end : {kept.left, kept.right})
      if (isEndOfRing(operation.map, ring, end))
        maps[operation.map] = mapNames.at(end);
    if (!maps.count(operation.map))
      return;
  }
  layers[layer].maps = maps;
}

/// Spaces and maps that are declared: those that layers on the relation have are its.
void Emitter::findDeclared() {
  std::set<int> spaces, maps;
  auto add = [&](int value) {
    const Operation &operation = program.operations[value];
    if (operation.space >= 0)
      spaces.insert(operation.space);
    for (int map : {operation.map, operation.otherMap})
      if (map >= 0)
        maps.insert(map);
  };
  for (const Block &block : outline.blocks) {
    const LayerText *layer = block.layer < 0 ? nullptr : &layers[block.layer];
    for (const Item &item : block.items) {
      const Operation &operation = program.operations[item.value];
      if (item.call >= 0)
        continue;
      if (!layer || layer->maps.empty()) {
        add(item.value);
        continue;
      }
      if (!isRing(operation.space)) {
        if (operation.space >= 0)
          spaces.insert(operation.space);
        continue;
      }
      const SpaceForm &kept = program.spaces[program.spaces[operation.space].form.parts[0]].form;
      spaces.insert(kept.base);
      maps.insert(kept.left);
      maps.insert(kept.right);
    }
  }
  liveSpaces.clear();
  liveMaps.clear();
  declarations.clear();
  for (int map : maps)
    reachMap(map);
  for (int space : spaces)
    reachSpace(space);
}
