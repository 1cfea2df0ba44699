//===- RandomSpaces.cpp - Random spaces and maps --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomGenerator.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::test;
using frontend::kNone;
using frontend::kUndefined;
using frontend::MaybeId;

void Generator::keepMap(MaybeId map) {
  if (map && !llvm::is_contained(maps, *map))
    maps.push_back(*map);
}

std::vector<frontend::Id> Generator::mapsFrom(Id space) const {
  std::vector<Id> found;
  llvm::copy_if(maps, std::back_inserter(found), [&](Id map) { return builder.map(map).from == space; });
  return found;
}

std::vector<frontend::Id> Generator::mapsBetween(Id from, Id to) const {
  std::vector<Id> found = mapsFrom(from);
  llvm::erase_if(found, [&](Id map) { return builder.map(map).to != to; });
  return found;
}

std::vector<frontend::Id> Generator::mapsFromSpaceTo(Id space) const {
  std::vector<Id> found;
  llvm::copy_if(maps, std::back_inserter(found), [&](Id map) { return builder.map(map).to == space; });
  return found;
}

/// The spaces of every model, and a few others: a second kind of node, pairs of nodes, a map that is partial.
void Generator::rootSpaces() {
  auto space = [&](const char *name) {
    spaces.push_back(*builder.rootSpace(name, loc));
    return spaces.back();
  };
  auto map = [&](const char *name, Id from, Id to, bool partial = false) {
    keepMap(builder.rootMap(name, from, to, partial, loc));
  };
  Id node = space("node"), edge = space("edge");
  map("src", edge, node);
  map("dst", edge, node);
  if (random.chance(60)) {
    Id types = *builder.staticSpace("edge_type", random.between(1, 5), loc);
    spaces.push_back(types);
    map("etype", edge, types);
  }
  if (random.chance(50)) {
    Id types = *builder.staticSpace("node_type", random.between(1, 4), loc);
    spaces.push_back(types);
    map("ntype", node, types);
  }
  if (random.chance(50))
    map("batch", node, space("graph"));
  if (random.chance(25)) {
    Id pair = space("pair");
    map("left", pair, node);
    map("right", pair, random.chance(50) ? node : edge);
  }
  if (random.chance(25)) {
    Id item = space("item"), bought = space("bought");
    map("buyer", bought, node);
    map("article", bought, item);
  }
  if (random.chance(30))
    map("up", random.chance(50) ? node : edge, node, /*partial=*/true);
}

void Generator::deriveSpace() {
  switch (random.below(3)) {
  case 0: { // filter: two maps that lead to the same space and are defined everywhere
    std::vector<std::pair<Id, Id>> pairs;
    for (Id left : maps)
      for (Id right : maps)
        if (left != right && builder.map(left).from == builder.map(right).from &&
            builder.map(left).to == builder.map(right).to && !builder.map(left).partial && !builder.map(right).partial)
          pairs.push_back({left, right});
    if (pairs.empty())
      return;
    auto [left, right] = random.pick(pairs);
    Id base = builder.map(left).from;
    frontend::MaybeId made = builder.filterSpace("filter", base, left, right, random.chance(40), loc);
    spaces.push_back(*made);
    keepMap(builder.inclusion(*made, loc));
    for (Id map : mapsFrom(base))
      if (random.chance(70))
        keepMap(builder.compose(*builder.inclusion(*made, loc), map, loc));
    return;
  }
  case 1: { // union
    std::vector<Id> parts;
    for (int64_t n = random.between(1, 3); n > 0; --n)
      parts.push_back(random.pick(spaces));
    Id made = *builder.unionSpace("union", parts, loc);
    spaces.push_back(made);
    if (random.chance(40))
      keepMap(builder.part(made, int(random.below(int64_t(parts.size()))), loc));
    for (int n = 0; n < 2; ++n) {
      Id to = random.chance(70) ? spaces[0] : random.pick(spaces);
      std::vector<Id> ways;
      bool any = false;
      for (Id part : parts) {
        std::vector<Id> choices = mapsBetween(part, to);
        if (part == to)
          choices.push_back(kNone);
        if (choices.empty() || random.chance(10))
          choices = {kUndefined};
        ways.push_back(random.pick(choices));
        any |= ways.back() != kUndefined;
      }
      if (any)
        keepMap(builder.parts("way", made, to, ways, loc));
    }
    return;
  }
  default: { // distinct: maps that are defined everywhere, from one space
    Id base = random.pick(spaces);
    std::vector<Id> total = mapsFrom(base);
    llvm::erase_if(total, [&](Id map) { return builder.map(map).partial; });
    if (total.empty())
      return;
    random.shuffle(total);
    total.resize(std::min<size_t>(total.size(), size_t(random.between(1, 3))));
    Id made = *builder.distinctSpace("distinct", base, total, loc);
    spaces.push_back(made);
    keepMap(builder.classOf(made, loc));
    for (size_t i = 0; i < total.size(); ++i)
      keepMap(builder.projection(made, int(i), loc));
    return;
  }
  }
}

void Generator::deriveMap() {
  if (random.chance(30)) {
    keepMap(builder.last("last", random.pick(maps), loc));
    return;
  }
  Id first = random.pick(maps);
  std::vector<Id> next = mapsFrom(builder.map(first).to);
  if (!next.empty())
    keepMap(builder.compose(first, random.pick(next), loc));
}
