//===- Scopes.cpp - Looking up names of spaces and maps -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Scopes.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace gnnc::frontend;
using llvm::StringRef;

/// Space `edge` of the relation in force, `node` where its ends are one space, `source` and `target`.
static std::optional<Id> spaceOfRelation(StringRef name, const RelationView &relation, const ModelBuilder &builder) {
  if (relation.space == kNone)
    return std::nullopt;
  Id source = builder.map(relation.src).to, target = builder.map(relation.dst).to;
  if (name == "edge")
    return relation.space;
  if (name == "source")
    return source;
  if (name == "target")
    return target;
  if (name == "node" && source == target)
    return source;
  return std::nullopt;
}

std::optional<Id> Scopes::findSpace(StringRef name) {
  if (auto found = frame->local.spaces.find(name.str()); found != frame->local.spaces.end())
    return found->second;
  if (auto found = spaceOfRelation(name, frame->relation, builder))
    return found;
  if (auto found = frame->global->spaces.find(name.str()); found != frame->global->spaces.end())
    return found->second;
  return std::nullopt;
}

std::optional<Id> Scopes::findMap(StringRef name) {
  if (auto found = frame->local.maps.find(name.str()); found != frame->local.maps.end())
    return found->second;
  if (frame->relation.space != kNone) {
    if (name == "src")
      return frame->relation.src;
    if (name == "dst")
      return frame->relation.dst;
    for (auto &[extra, map] : frame->relation.extras)
      if (extra == name)
        return map;
  }
  if (auto found = frame->global->maps.find(name.str()); found != frame->global->maps.end())
    return found->second;
  return std::nullopt;
}

const RelationView *Scopes::findRelation(StringRef name) {
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    if (auto found = scope->relations.find(name.str()); found != scope->relations.end())
      return &found->second;
  return nullptr;
}

/// A space, or an error. Types see the relation in force where the layer is called, so callers set that up.
std::optional<Id> Scopes::spaceNamed(const ast::Name &name) {
  const RelationView &relation = frame->relation;
  if (name.text == "node" && relation.space != kNone && !frame->local.spaces.count("node") &&
      builder.map(relation.src).to != builder.map(relation.dst).to)
    return error(name.loc, "'node' needs a relation with one space at both ends, but '" + relation.name +
                               "' goes from '" + builder.spaceName(builder.map(relation.src).to) + "' to '" +
                               builder.spaceName(builder.map(relation.dst).to) + "'; use 'source' and 'target'");
  if (std::optional<Id> space = findSpace(name.text)) {
    if (*space != kNone)
      record(name.loc, "space " + builder.spaceName(*space), builder.space(*space).loc);
    return space;
  }
  std::vector<std::string> known = {"node", "edge", "source", "target", "shared"};
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    for (auto &each : scope->spaces)
      known.push_back(each.first);
  return error(name.loc, "unknown space '" + name.text + "'" + suggestion(name.text, known));
}

/// All maps in scope with the names they go by here, those of the relation in force first.
std::vector<std::pair<std::string, Id>> Scopes::visibleMaps() {
  std::vector<std::pair<std::string, Id>> maps;
  std::set<Id> seen;
  auto add = [&](const std::string &name, Id map) {
    if (seen.insert(map).second)
      maps.emplace_back(name, map);
  };
  const RelationView &relation = frame->relation;
  if (relation.space != kNone) {
    add("src", relation.src);
    add("dst", relation.dst);
    for (auto &[name, map] : relation.extras)
      add(name, map);
  }
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global}) {
    for (auto &[name, map] : scope->maps)
      add(name, map);
    for (auto &[name, each] : scope->relations) {
      add(name + ".src", each.src);
      add(name + ".dst", each.dst);
    }
  }
  return maps;
}

std::vector<std::pair<std::string, Id>> Scopes::visibleSpaces() {
  std::vector<std::pair<std::string, Id>> spaces;
  std::set<std::string> seen;
  auto add = [&](const std::string &name, Id space) {
    if (space != kNone && seen.insert(name).second)
      spaces.emplace_back(name, space);
  };
  for (const char *name : {"edge", "node", "source", "target"})
    if (std::optional<Id> space = findSpace(name))
      add(name, *space);
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    for (auto &[name, space] : scope->spaces)
      add(name, space);
  return spaces;
}

std::string Scopes::nameOfSpace(Id space) {
  for (const char *name : {"edge", "node", "source", "target"})
    if (findSpace(name) == space)
      return name;
  for (const Scope *scope : {static_cast<const Scope *>(&frame->local), frame->global})
    for (auto &[name, id] : scope->spaces)
      if (id == space)
        return name;
  return builder.spaceName(space);
}

/// A chain of maps as it would be written.
std::string Scopes::nameOfMaps(const std::vector<Id> &maps) {
  std::string text;
  auto visible = visibleMaps();
  for (Id map : maps) {
    auto named = llvm::find_if(visible, [&](auto &each) { return each.second == map; });
    text += (text.empty() ? "" : ".") + (named != visible.end() ? named->first : builder.map(map).name);
  }
  return text;
}
