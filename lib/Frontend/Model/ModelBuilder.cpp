//===- ModelBuilder.cpp - Spaces and maps ---------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/ModelBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// The most maps one composition may have.
static constexpr size_t maxChain = 64;

std::nullopt_t ModelBuilder::fail(Loc loc, const Twine &message) {
  failed = true;
  report(loc, message.str());
  return std::nullopt;
}

std::string ModelBuilder::spaceName(Id residency) const {
  return residency == kNone ? "shared" : model.spaces[residency].name;
}

std::string ModelBuilder::unknownExtent(Id space) const {
  const std::string &name = model.spaces[space].name;
  return "the extent of static space '" + name + "' is not known; define it with '-D " + name +
         "=...' or give the model a parameter '" + name + ": int'";
}

std::optional<Id> ModelBuilder::findSpace(StringRef name) const {
  for (size_t id = 0; id < model.spaces.size(); ++id)
    if (model.spaces[id].name == name)
      return Id(id);
  return std::nullopt;
}

std::optional<Id> ModelBuilder::findMap(StringRef name) const {
  for (size_t id = 0; id < model.maps.size(); ++id)
    if (model.maps[id].name == name)
      return Id(id);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Spaces and maps share one set of names: `v.name` must mean one thing, and so must a symbol of the IR.
bool ModelBuilder::checkSymbol(StringRef name, Loc loc, bool hides) {
  if (name.empty()) {
    fail(loc, "expected a name that is not empty");
    return false;
  }
  if (name == "all" || name == "shared" || name == "none" || name == ".") {
    fail(loc, "'" + name + "' has a special meaning and cannot name a space or map");
    return false;
  }
  if (isProgramName(name)) {
    fail(loc, "'" + name + "' is the name of a program and cannot name a space or map");
    return false;
  }
  if (symbols.count(name) && !(hides && mayHide && mayHide(name))) {
    fail(loc, "'" + name + "' is already declared");
    return false;
  }
  return true;
}

/// Programs are symbols too.
bool ModelBuilder::isProgramName(StringRef name) const {
  return llvm::is_contained({"forward", "evaluate", "initialize", "train_step", "gradient"}, name) ||
         llvm::any_of(model.programs, [&](const Program &program) { return program.name == name; });
}

std::string ModelBuilder::freshSymbol(StringRef wanted) {
  if (!symbols.count(wanted) && !isProgramName(wanted))
    return wanted.str();
  int first = 0;
  auto known = symbols.find(wanted);
  int &number = known == symbols.end() ? first : known->second;
  std::string name;
  do
    name = (wanted + "_" + Twine(++number + 1)).str();
  while (symbols.count(name) || isProgramName(name));
  return name;
}

Id ModelBuilder::addSpace(Space space, StringRef wanted, bool exact) {
  space.name = exact ? wanted.str() : freshSymbol(wanted);
  symbols.try_emplace(space.name, 0);
  model.spaces.push_back(std::move(space));
  return model.spaces.size() - 1;
}

Id ModelBuilder::addMap(Map map, StringRef wanted, bool exact) {
  map.name = exact ? wanted.str() : freshSymbol(wanted);
  symbols.try_emplace(map.name, 0);
  model.maps.push_back(std::move(map));
  return model.maps.size() - 1;
}

bool ModelBuilder::checkSpace(Id space, Loc loc) {
  if (space >= 0 && size_t(space) < model.spaces.size())
    return true;
  fail(loc, "expected a space");
  return false;
}

bool ModelBuilder::checkMap(Id map, Loc loc) {
  if (map >= 0 && size_t(map) < model.maps.size())
    return true;
  fail(loc, "expected a map");
  return false;
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

MaybeId ModelBuilder::rootSpace(StringRef name, Loc loc) {
  for (auto [id, known] : llvm::enumerate(model.spaces))
    if (known.name == name && known.kind == Space::Kind::Root)
      return Id(id);
  if (!checkSymbol(name, loc, /*hides=*/true))
    return std::nullopt;
  Space space;
  space.kind = Space::Kind::Root;
  space.loc = loc;
  return addSpace(std::move(space), name, /*exact=*/true);
}

MaybeId ModelBuilder::staticSpace(StringRef name, int64_t extent, Loc loc) {
  for (auto [id, known] : llvm::enumerate(model.spaces))
    if (known.name == name && known.kind == Space::Kind::Static)
      return extent == -1 || known.extent == extent ? MaybeId(id) : setExtent(id, extent, loc);
  if (!checkSymbol(name, loc, /*hides=*/true))
    return std::nullopt;
  Space space;
  space.kind = Space::Kind::Static;
  space.loc = loc;
  Id id = addSpace(std::move(space), name, /*exact=*/true);
  return extent == -1 ? id : setExtent(id, extent, loc);
}

MaybeId ModelBuilder::setExtent(Id id, int64_t extent, Loc loc) {
  if (!checkSpace(id, loc))
    return std::nullopt;
  Space &space = model.spaces[id];
  if (extent < 1 || extent > INT32_MAX)
    return fail(loc, "the extent of static space '" + space.name + "' must be 1 to 2147483647, found " + Twine(extent));
  if (space.extent != -1 && space.extent != extent)
    return fail(loc, "static space '" + space.name + "' has extent " + Twine(space.extent) + " already, found " +
                         Twine(extent));
  space.extent = extent;
  return id;
}

MaybeId ModelBuilder::filterSpace(StringRef name, Id base, Id left, Id right, bool equal, Loc loc) {
  if (!checkSpace(base, loc) || !checkMap(left, loc) || !checkMap(right, loc))
    return std::nullopt;
  for (Id map : {left, right}) {
    if (model.maps[map].partial)
      return fail(loc,
                  "a filter compares maps that are defined everywhere, but '" + model.maps[map].name + "' is partial");
    if (model.maps[map].from != base)
      return fail(loc, "a filter of '" + spaceName(base) + "' compares maps from it, but '" + model.maps[map].name +
                           "' is from '" + spaceName(model.maps[map].from) + "'");
  }
  if (model.maps[left].to != model.maps[right].to)
    return fail(loc, "a filter compares maps to one space, but '" + model.maps[left].name + "' is to '" +
                         spaceName(model.maps[left].to) + "' and '" + model.maps[right].name + "' is to '" +
                         spaceName(model.maps[right].to) + "'");
  // Where none is chosen for itself no pair is a loop: all of them, or none.
  if (const Space &pairs = model.spaces[base]; pairs.kind == Space::Kind::Selection && pairs.others && left != right) {
    auto isEnd = [&](Id map) {
      return model.maps[map].kind == Map::Kind::Chosen || model.maps[map].kind == Map::Kind::Owner;
    };
    if (isEnd(left) && isEnd(right)) {
      if (!equal)
        return base;
      Id owners = model.maps[left].kind == Map::Kind::Owner ? left : right;
      return filterSpace(name, base, owners, owners, /*equal=*/false, loc);
    }
  }
  if (!hasKnownExtent(base, "what a filter compares maps of", loc) ||
      !isKnownWithGraph(left, "the elements of a filter", loc) ||
      !isKnownWithGraph(right, "the elements of a filter", loc))
    return std::nullopt;
  std::vector<int64_t> key = {int64_t(Space::Kind::Filter), base, left, right, equal};
  if (auto known = derivedSpaces.find(key); known != derivedSpaces.end())
    return known->second;
  Space space;
  space.kind = Space::Kind::Filter;
  space.base = base;
  space.maps = {left, right};
  space.equal = equal;
  space.loc = loc;
  return derivedSpaces[key] = addSpace(std::move(space), name, /*exact=*/false);
}

MaybeId ModelBuilder::unionSpace(StringRef name, ArrayRef<Id> parts, Loc loc) {
  if (parts.empty())
    return fail(loc, "a union needs at least one part");
  for (Id part : parts)
    if (!checkSpace(part, loc) || !hasKnownExtent(part, "the parts of a union", loc))
      return std::nullopt;
  std::vector<int64_t> key = {int64_t(Space::Kind::Union)};
  llvm::append_range(key, parts);
  if (auto known = derivedSpaces.find(key); known != derivedSpaces.end())
    return known->second;
  Space space;
  space.kind = Space::Kind::Union;
  space.parts.assign(parts.begin(), parts.end());
  space.loc = loc;
  return derivedSpaces[key] = addSpace(std::move(space), name, /*exact=*/false);
}

MaybeId ModelBuilder::distinctSpace(StringRef name, Id base, ArrayRef<Id> maps, Loc loc) {
  if (maps.empty())
    return fail(loc, "distinct needs at least one map");
  if (!checkSpace(base, loc) || !hasKnownExtent(base, "the base of distinct tuples", loc))
    return std::nullopt;
  for (Id map : maps) {
    if (!checkMap(map, loc))
      return std::nullopt;
    if (model.maps[map].from != base)
      return fail(loc, "distinct takes maps from one space, but '" + model.maps[map].name + "' is from '" +
                           spaceName(model.maps[map].from) + "' and not from '" + spaceName(base) + "'");
    if (model.maps[map].partial)
      return fail(loc,
                  "distinct takes maps that are defined everywhere, but '" + model.maps[map].name + "' is partial");
    if (!isKnownWithGraph(map, "distinct tuples", loc))
      return std::nullopt;
  }
  std::vector<int64_t> key = {int64_t(Space::Kind::Distinct), base};
  llvm::append_range(key, maps);
  if (auto known = derivedSpaces.find(key); known != derivedSpaces.end())
    return known->second;
  Space space;
  space.kind = Space::Kind::Distinct;
  space.base = base;
  space.maps.assign(maps.begin(), maps.end());
  space.loc = loc;
  return derivedSpaces[key] = addSpace(std::move(space), name, /*exact=*/false);
}

/// Whether two maps say which elements of two spaces belong together.
bool ModelBuilder::checkTogether(Id base, Id of, ArrayRef<Id> maps, Loc loc) {
  auto wrong = [&](const Twine &message) {
    fail(loc, message);
    return false;
  };
  for (auto [map, from] : {std::pair(maps[0], base), std::pair(maps[1], of)}) {
    if (map == kNone && from == base)
      continue;
    if (!checkMap(map, loc) || !isKnownWithGraph(map, "what belongs together", loc))
      return false;
    if (model.maps[map].partial)
      return wrong("all elements belong somewhere, but '" + model.maps[map].name + "' is partial");
    if (model.maps[map].from != from)
      return wrong("expected a map from '" + spaceName(from) + "', found '" + model.maps[map].name + "' from '" +
                   spaceName(model.maps[map].from) + "'");
  }
  if (maps[0] == kNone) {
    if (model.maps[maps[1]].to != base)
      return wrong("expected a map to '" + spaceName(base) + "', found '" + model.maps[maps[1]].name + "' to '" +
                   spaceName(model.maps[maps[1]].to) + "'");
    return true;
  }
  if (model.maps[maps[0]].to != model.maps[maps[1]].to)
    return wrong("what belongs together goes to one element, but '" + model.maps[maps[0]].name + "' is to '" +
                 spaceName(model.maps[maps[0]].to) + "' and '" + model.maps[maps[1]].name + "' is to '" +
                 spaceName(model.maps[maps[1]].to) + "'");
  return true;
}

MaybeId ModelBuilder::pairsSpace(StringRef name, Id base, Id of, ArrayRef<Id> maps, Loc loc) {
  if (!checkSpace(base, loc) || !checkSpace(of, loc) || !hasKnownExtent(base, "the sides of pairs", loc) ||
      !hasKnownExtent(of, "the sides of pairs", loc) || !checkTogether(base, of, maps, loc))
    return std::nullopt;
  std::vector<int64_t> key = {int64_t(Space::Kind::Pairs), base, of};
  llvm::append_range(key, maps);
  if (auto known = derivedSpaces.find(key); known != derivedSpaces.end())
    return known->second;
  Space space;
  space.kind = Space::Kind::Pairs;
  space.base = base;
  space.of = of;
  space.maps.assign(maps.begin(), maps.end());
  space.loc = loc;
  return derivedSpaces[key] = addSpace(std::move(space), name, /*exact=*/false);
}

MaybeId ModelBuilder::selectionSpace(StringRef name, Id base, Id of, ArrayRef<Id> maps, const Space &limits, Loc loc) {
  if (!checkSpace(base, loc) || !checkSpace(of, loc) || !hasKnownExtent(base, "elements to choose for", loc) ||
      !hasKnownExtent(of, "elements to choose from", loc))
    return std::nullopt;
  if (limits.most < 1 || limits.most > INT32_MAX)
    return fail(loc, "expected 1 to 2147483647 elements to choose for each, found " + Twine(limits.most));
  if (limits.ratio != 0 && !(limits.ratio > 0 && limits.ratio <= 1))
    return fail(loc, "expected a ratio above 0 and up to 1, found " + Twine(std::to_string(limits.ratio)));
  if (limits.others && base != of)
    return fail(loc, "elements of '" + spaceName(of) + "' are chosen for those of '" + spaceName(base) +
                         "', so none could be chosen for itself");
  if (!maps.empty() && !checkTogether(base, of, maps, loc))
    return std::nullopt;
  Space space;
  space.kind = Space::Kind::Selection;
  space.base = base;
  space.of = of;
  space.maps.assign(maps.begin(), maps.end());
  space.most = limits.most;
  space.others = limits.others;
  space.ratio = limits.ratio;
  space.open = limits.open;
  space.loc = loc;
  return addSpace(std::move(space), name, /*exact=*/false);
}

MaybeId ModelBuilder::keptSpace(StringRef name, Id base, Loc loc) {
  if (!checkSpace(base, loc))
    return std::nullopt;
  Space space;
  space.kind = Space::Kind::Kept;
  space.base = base;
  space.loc = loc;
  return addSpace(std::move(space), name, /*exact=*/false);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

std::vector<Id> ModelBuilder::chosenBehind(Id map) const {
  std::vector<Id> found, pending = {map};
  std::set<Id> seen;
  while (!pending.empty()) {
    Id id = pending.back();
    pending.pop_back();
    if (id < 0 || !seen.insert(id).second)
      continue;
    Map::Kind kind = model.maps[id].kind;
    if (kind == Map::Kind::Chosen ||
        ((kind == Map::Kind::Owner || kind == Map::Kind::Inclusion) && isOpen(model.maps[id].from)))
      found.push_back(id);
    llvm::append_range(pending, model.maps[id].parts);
  }
  return found;
}

bool ModelBuilder::isKnownWithGraph(Id map, StringRef what, Loc loc) {
  if (chosenBehind(map).empty())
    return true;
  fail(loc,
       what + " must be known with the graph, but '" + model.maps[map].name +
           "' leads to elements that are chosen by values; leave out what is made of them, such as self loops that "
           "a layer adds or removes");
  return false;
}

bool ModelBuilder::hasKnownExtent(Id space, StringRef what, Loc loc) {
  if (!isOpen(space))
    return true;
  fail(loc, what + " must be known with the graph, but values decide how many elements '" + spaceName(space) + "' has");
  return false;
}

MaybeId ModelBuilder::rootMap(StringRef name, Id from, Id to, bool partial, Loc loc) {
  if (!checkSpace(from, loc) || !checkSpace(to, loc))
    return std::nullopt;
  for (auto [id, known] : llvm::enumerate(model.maps))
    if (known.name == name && known.kind == Map::Kind::Root && known.from == from && known.to == to &&
        known.partial == partial)
      return Id(id);
  if (!checkSymbol(name, loc, /*hides=*/true))
    return std::nullopt;
  for (Id space : {from, to}) {
    Space::Kind kind = model.spaces[space].kind;
    if (kind != Space::Kind::Root && kind != Space::Kind::Static)
      return fail(loc, "map '" + name + "' is given with the graph, so it cannot be from or to the derived space '" +
                           spaceName(space) + "'");
  }
  Map map;
  map.kind = Map::Kind::Root;
  map.from = from;
  map.to = to;
  map.partial = partial;
  map.loc = loc;
  return addMap(std::move(map), name, /*exact=*/true);
}

MaybeId ModelBuilder::inclusion(Id filter, Loc loc) {
  if (!checkSpace(filter, loc))
    return std::nullopt;
  const Space &space = model.spaces[filter];
  if (!isSubset(filter))
    return fail(loc, "space '" + space.name + "' is not a filter, so nothing includes it");
  std::vector<int64_t> key = {int64_t(Map::Kind::Inclusion), filter};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Inclusion;
  map.from = filter;
  map.to = space.base;
  map.loc = loc;
  std::string name = space.name + ".in";
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::part(Id unionSpace, int number, Loc loc) {
  if (!checkSpace(unionSpace, loc))
    return std::nullopt;
  const Space &space = model.spaces[unionSpace];
  if (space.kind != Space::Kind::Union || number < 0 || size_t(number) >= space.parts.size())
    return fail(loc, "space '" + space.name + "' has no part number " + Twine(number));
  std::vector<int64_t> key = {int64_t(Map::Kind::Part), unionSpace, number};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Part;
  map.from = unionSpace;
  map.to = space.parts[number];
  map.part = number;
  map.partial = space.parts.size() > 1;
  map.loc = loc;
  std::string name = space.name + ".part" + std::to_string(number);
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::parts(StringRef name, Id unionSpace, Id to, ArrayRef<Id> maps, Loc loc) {
  if (!checkSpace(unionSpace, loc) || !checkSpace(to, loc))
    return std::nullopt;
  const Space &space = model.spaces[unionSpace];
  if (space.kind != Space::Kind::Union)
    return fail(loc, "map '" + name + "' is given by parts, but '" + space.name + "' is not a union");
  if (maps.size() != space.parts.size())
    return fail(loc, "union '" + space.name + "' has " + Twine(space.parts.size()) + " parts, but map '" + name +
                         "' says where " + Twine(maps.size()) + " go");
  bool partial = false;
  for (auto [number, map] : llvm::enumerate(maps)) {
    Id from = space.parts[number];
    if (map == kUndefined) {
      partial = true;
    } else if (map == kNone) {
      if (from != to)
        return fail(loc, "part '" + spaceName(from) + "' of '" + space.name + "' is not '" + spaceName(to) +
                             "', so map '" + name + "' cannot leave it as it is");
    } else {
      if (!checkMap(map, loc))
        return std::nullopt;
      const Map &used = model.maps[map];
      if (used.from != from || used.to != to)
        return fail(loc, "for part '" + spaceName(from) + "' map '" + name + "' needs a map from '" + spaceName(from) +
                             "' to '" + spaceName(to) + "', found '" + used.name + "' from '" + spaceName(used.from) +
                             "' to '" + spaceName(used.to) + "'");
      partial |= used.partial;
    }
  }
  std::vector<int64_t> key = {int64_t(Map::Kind::Parts), unionSpace, to};
  llvm::append_range(key, maps);
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Parts;
  map.from = unionSpace;
  map.to = to;
  map.parts.assign(maps.begin(), maps.end());
  map.partial = partial;
  map.loc = loc;
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::projection(Id distinct, int number, Loc loc) {
  if (!checkSpace(distinct, loc))
    return std::nullopt;
  const Space &space = model.spaces[distinct];
  if (space.kind != Space::Kind::Distinct || number < 0 || size_t(number) >= space.maps.size())
    return fail(loc, "space '" + space.name + "' has no projection number " + Twine(number));
  std::vector<int64_t> key = {int64_t(Map::Kind::Projection), distinct, number};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Projection;
  map.from = distinct;
  map.to = model.maps[space.maps[number]].to;
  map.part = number;
  map.loc = loc;
  std::string name = space.name + "." + model.maps[space.maps[number]].name;
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::classOf(Id distinct, Loc loc) {
  if (!checkSpace(distinct, loc))
    return std::nullopt;
  const Space &space = model.spaces[distinct];
  if (space.kind != Space::Kind::Distinct)
    return fail(loc, "space '" + space.name + "' is not a distinct space, so nothing is classed by it");
  std::vector<int64_t> key = {int64_t(Map::Kind::Class), distinct};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Class;
  map.from = space.base;
  map.to = distinct;
  map.loc = loc;
  std::string name = space.name + ".of";
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::last(StringRef name, Id of, Loc loc) {
  if (!checkMap(of, loc))
    return std::nullopt;
  std::vector<int64_t> key = {int64_t(Map::Kind::Last), of};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Last;
  map.from = model.maps[of].to;
  map.to = model.maps[of].from;
  map.parts = {of};
  map.partial = true;
  map.loc = loc;
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

/// The map of a selection, or of pairs, to its base or to what that is paired with.
MaybeId ModelBuilder::endOfPairs(Map::Kind kind, Id id, StringRef lacking, Loc loc) {
  if (!checkSpace(id, loc))
    return std::nullopt;
  const Space &space = model.spaces[id];
  bool isPairs = space.kind == Space::Kind::Pairs && kind != Map::Kind::Chosen;
  if (!isPairs && (space.kind != Space::Kind::Selection || kind == Map::Kind::Partner))
    return fail(loc, "space '" + space.name + "' " + lacking.str());
  std::vector<int64_t> key = {int64_t(kind), id};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  bool toOwner = kind == Map::Kind::Owner;
  Map map;
  map.kind = kind;
  map.from = id;
  map.to = toOwner ? space.base : space.of;
  map.loc = loc;
  std::string name = space.name + (toOwner ? ".dst" : ".src");
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::owner(Id space, Loc loc) {
  return endOfPairs(Map::Kind::Owner, space, "is not a selection and not of pairs, so its elements have no owner", loc);
}

MaybeId ModelBuilder::chosen(Id selection, Loc loc) {
  return endOfPairs(Map::Kind::Chosen, selection, "is not a selection, so nothing is chosen in it", loc);
}

MaybeId ModelBuilder::partner(Id pairs, Loc loc) {
  return endOfPairs(Map::Kind::Partner, pairs, "is not of pairs, so its elements have no partner", loc);
}

MaybeId ModelBuilder::only(Id from, Id to, Loc loc) {
  if (!checkSpace(from, loc) || (to != kNone && !checkSpace(to, loc)))
    return std::nullopt;
  if (to != kNone && (model.spaces[to].kind != Space::Kind::Static || model.spaces[to].extent != 1))
    return fail(loc, "expected a static space of extent 1, found '" + spaceName(to) + "'");
  if (to == kNone) {
    auto [whole, isNew] = derivedSpaces.try_emplace({int64_t(Space::Kind::Static), 1}, kNone);
    if (isNew) {
      Space space;
      space.kind = Space::Kind::Static;
      space.extent = 1;
      space.loc = loc;
      whole->second = addSpace(std::move(space), "whole", /*exact=*/false);
    }
    to = whole->second;
  }
  std::vector<int64_t> key = {int64_t(Map::Kind::Only), from, to};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Only;
  map.from = from;
  map.to = to;
  map.loc = loc;
  std::string name = spaceName(from) + "." + spaceName(to);
  return derivedMaps[key] = addMap(std::move(map), name, /*exact=*/false);
}

MaybeId ModelBuilder::compose(Id first, Id second, Loc loc, StringRef name) {
  if (first == kNone)
    return second;
  if (second == kNone)
    return first;
  if (!checkMap(first, loc) || !checkMap(second, loc))
    return std::nullopt;
  const Map one = model.maps[first], two = model.maps[second];
  if (one.to != two.from)
    return fail(loc, "map '" + one.name + "' leads to '" + spaceName(one.to) + "', but map '" + two.name +
                         "' starts at '" + spaceName(two.from) + "'");
  size_t length = 2;
  for (Id id : {first, second})
    for (; model.maps[id].kind == Map::Kind::Compose; id = model.maps[id].parts[0])
      if (++length > maxChain)
        return fail(loc, "more than " + Twine(maxChain) + " maps are composed here");
  if (two.kind == Map::Kind::Compose) {
    MaybeId inner = compose(first, two.parts[0], loc);
    return inner ? compose(*inner, two.parts[1], loc, name) : std::nullopt;
  }
  // What is chosen, or a partner, belongs where its owner does, which is known with the graph.
  if (one.kind == Map::Kind::Chosen || one.kind == Map::Kind::Partner) {
    const std::vector<Id> maps = model.spaces[one.from].maps;
    if (!maps.empty() && maps[1] == second) {
      MaybeId own = owner(one.from, loc);
      return own ? compose(*own, maps[0], loc, name) : std::nullopt;
    }
  }
  if (one.kind == Map::Kind::Class && two.kind == Map::Kind::Projection)
    return model.spaces[one.to].maps[two.part];
  if (one.kind == Map::Kind::Compose && two.kind == Map::Kind::Projection &&
      model.maps[one.parts[1]].kind == Map::Kind::Class)
    return compose(one.parts[0], model.spaces[one.to].maps[two.part], loc, name);
  std::vector<int64_t> key = {int64_t(Map::Kind::Compose), first, second};
  if (auto known = derivedMaps.find(key); known != derivedMaps.end())
    return known->second;
  Map map;
  map.kind = Map::Kind::Compose;
  map.from = one.from;
  map.to = two.to;
  map.parts = {first, second};
  map.partial = one.partial || two.partial;
  map.loc = loc;
  std::string both = one.name + "." + two.name;
  return derivedMaps[key] = addMap(std::move(map), name.empty() ? StringRef(both) : name, /*exact=*/false);
}
