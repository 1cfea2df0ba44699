//===- Materialise.cpp - Spaces and maps of a module on a graph -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each space and map is computed when it is first asked for, and asks in turn for those it is made of; so the order of
// declarations does not matter, and a declaration that needs itself is found. The code follows the definitions word by
// word, with containers of the standard library: it is what the runtime's index building is tested against.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/Reference/Interpreter.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using llvm::Error;

using reference::makeError;

namespace {

class Materialiser {
public:
  Materialiser(ModuleOp module, const RootGraph &root) : symbols(module), root(root) {
    graph.counts = root.counts;
    graph.collectives = root.collectives;
  }

  Error needSpace(StringRef name);
  Error needMap(StringRef name);
  GraphData take() { return std::move(graph); }

private:
  using Targets = std::vector<int64_t>;

  Error computeSpace(SpaceOp space);
  Error computeMap(MapOp map, Targets &target);
  Error computeRootMap(MapOp map, Targets &target);

  /// Needs the maps that `list` names; the other entries (identity, undefined) need nothing.
  Error needMaps(ArrayAttr list) {
    for (Attribute entry : list)
      if (auto name = dyn_cast<FlatSymbolRefAttr>(entry))
        if (Error error = needMap(name.getValue()))
          return error;
    return Error::success();
  }
  Error needSpaces(ArrayAttr list) {
    for (Attribute entry : list)
      if (Error error = needSpace(cast<FlatSymbolRefAttr>(entry).getValue()))
        return error;
    return Error::success();
  }
  Error countSelection(SpaceOp space);

  const Targets &targets(Attribute name) const { return graph.map(cast<FlatSymbolRefAttr>(name).getValue()).target; }
  int64_t extent(Attribute space) const { return graph.extent(cast<FlatSymbolRefAttr>(space).getValue()); }

  SymbolTable symbols;
  const RootGraph &root;
  GraphData graph;
  llvm::StringSet<> open;                    ///< symbols being computed: needing one of them again is a cycle
  llvm::StringMap<Targets> owners;           ///< of each selection, and of pairs
  llvm::StringMap<Targets> partners;         ///< of pairs
  llvm::StringMap<Targets> members;          ///< of each filter: the kept elements of its base
  llvm::StringMap<Targets> classes, samples; ///< of each distinct space: base -> tuple; tuple -> its first element
};

} // namespace

/// Whether the program says where a map leads, and not the graph.
static bool leadsThroughChoice(MapOp map) {
  auto isChosen = [&](Attribute part) {
    auto name = dyn_cast<FlatSymbolRefAttr>(part);
    return name && leadsThroughChoice(SymbolTable::lookupNearestSymbolFrom<MapOp>(map, name));
  };
  return map.getKind() == MapKind::Chosen || (map.getKind() == MapKind::Owner && isOpen(map, map.getFromAttr())) ||
         (map.getParts() && llvm::any_of(map.getPartsAttr(), isChosen));
}

Error Materialiser::needSpace(StringRef name) {
  if (graph.extents.contains(name))
    return Error::success();
  auto space = symbols.lookup<SpaceOp>(name);
  if (!space)
    return makeError("expected a declared space, found @{0}", name);
  if (!open.insert(name).second)
    return makeError("space @{0} is derived from itself", name);
  Error error = computeSpace(space);
  open.erase(name);
  return error;
}

Error Materialiser::needMap(StringRef name) {
  if (graph.maps.contains(name))
    return Error::success();
  auto map = symbols.lookup<MapOp>(name);
  if (!map)
    return makeError("expected a declared map, found @{0}", name);
  if (!open.insert(name).second)
    return makeError("map @{0} is derived from itself", name);
  RefMap result{map.getFrom().str(), map.getTo().str(), {}};
  Error error = needSpace(map.getFrom());
  if (!error)
    error = needSpace(map.getTo());
  if (!error)
    error = computeMap(map, result.target);
  open.erase(name);
  if (error)
    return error;

  int64_t from = graph.extent(result.from), to = graph.extent(result.to);
  if (int64_t(result.target.size()) != from)
    return makeError("map @{0}: expected {1} elements, as many as space @{2} has, found {3}", name, from, result.from,
                     result.target.size());
  for (auto [i, j] : llvm::enumerate(result.target)) {
    if (j == -1 && !map.getPartial() && !leadsThroughChoice(map))
      return makeError("map @{0} is not partial, but is undefined at element {1}", name, i);
    if (j < -1 || j >= to)
      return makeError("map @{0}: expected targets in [0, {1}), found {2} at element {3}", name, to, j, i);
  }
  graph.maps[name] = std::move(result);
  return Error::success();
}

Error Materialiser::computeSpace(SpaceOp space) {
  StringRef name = space.getSymName();
  auto given = root.extents.find(name);
  switch (space.getKind()) {
  case SpaceKind::Root:
    if (given == root.extents.end())
      return makeError("no extent is given for space @{0}", name);
    if (given->second < 0)
      return makeError("space @{0}: expected an extent of 0 or more, found {1}", name, given->second);
    graph.extents[name] = given->second;
    return Error::success();

  case SpaceKind::Static: {
    int64_t extent = *space.getExtent();
    if (given != root.extents.end() && given->second != extent)
      return makeError("space @{0}: expected the static extent {1}, found {2}", name, extent, given->second);
    graph.extents[name] = extent;
    return Error::success();
  }

  case SpaceKind::Filter: {
    if (Error error = needMaps(space.getMapsAttr()))
      return error;
    const Targets &left = targets(space.getMapsAttr()[0]), &right = targets(space.getMapsAttr()[1]);
    Targets kept;
    for (size_t i = 0; i < left.size(); ++i)
      if ((left[i] == right[i]) == space.getEqual())
        kept.push_back(i);
    graph.extents[name] = kept.size();
    members[name] = std::move(kept);
    return Error::success();
  }

  case SpaceKind::Share: {
    if (Error error = needSpace(*space.getBase()))
      return error;
    bool isFirst = !root.collectives || root.collectives->rank() == 0;
    members[name].resize(isFirst ? graph.extent(*space.getBase()) : 0);
    std::iota(members[name].begin(), members[name].end(), int64_t(0));
    graph.extents[name] = members[name].size();
    return Error::success();
  }

  case SpaceKind::Union: {
    if (Error error = needSpaces(space.getPartsAttr()))
      return error;
    int64_t sum = 0;
    for (Attribute part : space.getPartsAttr())
      sum += extent(part);
    graph.extents[name] = sum;
    return Error::success();
  }

  case SpaceKind::Distinct: {
    if (Error error = needSpace(*space.getBase()))
      return error;
    if (Error error = needMaps(space.getMapsAttr()))
      return error;
    // Every element's tuple, with the first element that has it; std::map keeps the tuples in lexicographic order.
    std::vector<std::vector<int64_t>> tuples(graph.extent(*space.getBase()));
    std::map<std::vector<int64_t>, int64_t> first, number;
    for (size_t i = 0; i < tuples.size(); ++i) {
      for (Attribute map : space.getMapsAttr())
        tuples[i].push_back(targets(map)[i]);
      first.try_emplace(tuples[i], i);
    }
    for (const auto &[tuple, element] : first) {
      number[tuple] = samples[name].size();
      samples[name].push_back(element);
    }
    for (const auto &tuple : tuples)
      classes[name].push_back(number[tuple]);
    graph.extents[name] = first.size();
    return Error::success();
  }

  case SpaceKind::Selection:
    return countSelection(space);

  case SpaceKind::Pairs:
    if (Error error = needSpace(*space.getBase()))
      return error;
    if (Error error = needSpace(*space.getOf()))
      return error;
    if (Error error = needMaps(space.getMapsAttr()))
      return error;
    for (auto [i, left] : llvm::enumerate(targets(space.getMapsAttr()[0])))
      for (auto [j, right] : llvm::enumerate(targets(space.getMapsAttr()[1])))
        if (left == right) {
          owners[name].push_back(i);
          partners[name].push_back(j);
        }
    graph.extents[name] = owners[name].size();
    return Error::success();
  }
  llvm_unreachable("unknown space kind");
}

/// For each element of the base as many as there are, at most `most`.
Error Materialiser::countSelection(SpaceOp space) {
  StringRef name = space.getSymName();
  if (Error error = needSpace(*space.getBase()))
    return error;
  if (Error error = needSpace(*space.getOf()))
    return error;
  if (space.getMaps())
    if (Error error = needMaps(space.getMapsAttr()))
      return error;
  Targets &list = owners[name];
  if (space.getOpen()) { // None before something has chosen.
    graph.extents[name] = 0;
    return Error::success();
  }
  for (int64_t i = 0; i < graph.extent(*space.getBase()); ++i) {
    int64_t count = 0;
    for (int64_t j = 0; j < graph.extent(*space.getOf()); ++j) {
      if (space.getOthers() && i == j)
        continue;
      auto belongs = [&](size_t which, int64_t element) {
        auto map = dyn_cast<FlatSymbolRefAttr>(space.getMapsAttr()[which]);
        return map ? targets(map)[element] : element;
      };
      count += !space.getMaps() || belongs(0, i) == belongs(1, j);
    }
    list.insert(list.end(), size_t(mostChosen(space, count)), i);
  }
  graph.extents[name] = list.size();
  return Error::success();
}

Error Materialiser::computeRootMap(MapOp map, Targets &target) {
  auto given = root.maps.find(map.getSymName());
  if (given == root.maps.end())
    return makeError("no targets are given for map @{0}", map.getSymName());
  target = given->second;
  return Error::success();
}

Error Materialiser::computeMap(MapOp map, Targets &target) {
  auto from = symbols.lookup<SpaceOp>(map.getFrom());
  int64_t part = map.getPart() ? int64_t(*map.getPart()) : 0;
  if (map.getParts())
    if (Error error = needMaps(map.getPartsAttr()))
      return error;

  switch (map.getKind()) {
  case MapKind::Root:
    return computeRootMap(map, target);

  case MapKind::Inclusion:
    target = members[map.getFrom()];
    return Error::success();

  case MapKind::Part:
  case MapKind::Parts:
    // The parts' elements follow each other in the union.
    for (auto [p, space] : llvm::enumerate(from.getPartsAttr())) {
      bool identity = map.getKind() == MapKind::Part ? int64_t(p) == part : isa<UnitAttr>(map.getPartsAttr()[p]);
      bool mapped = map.getKind() == MapKind::Parts && isa<FlatSymbolRefAttr>(map.getPartsAttr()[p]);
      for (int64_t i = 0; i < extent(space); ++i)
        target.push_back(identity ? i : mapped ? targets(map.getPartsAttr()[p])[i] : -1);
    }
    return Error::success();

  case MapKind::Projection:
    for (int64_t element : samples[map.getFrom()])
      target.push_back(targets(from.getMapsAttr()[part])[element]);
    return Error::success();

  case MapKind::Class:
    target = classes[map.getTo()];
    return Error::success();

  case MapKind::Last:
    target.assign(graph.extent(map.getFrom()), -1);
    for (auto [i, j] : llvm::enumerate(targets(map.getPartsAttr()[0])))
      if (j >= 0)
        target[j] = i;
    return Error::success();

  case MapKind::Injection: {
    int64_t before = 0;
    ArrayRef<Attribute> parts = symbols.lookup<SpaceOp>(map.getTo()).getPartsAttr().getValue();
    for (Attribute space : parts.take_front(size_t(part)))
      before += extent(space);
    for (int64_t i = 0; i < graph.extent(map.getFrom()); ++i)
      target.push_back(before + i);
    return Error::success();
  }

  case MapKind::Owner:
    target = owners[map.getFrom()];
    return Error::success();

  case MapKind::Partner:
    target = partners[map.getFrom()];
    return Error::success();

  case MapKind::Only:
    target.assign(size_t(graph.extent(map.getFrom())), 0);
    return Error::success();

  case MapKind::Chosen: // Not before something has chosen.
    target.assign(size_t(graph.extent(map.getFrom())), -1);
    return Error::success();

  case MapKind::Compose:
    for (int64_t middle : targets(map.getPartsAttr()[0]))
      target.push_back(middle < 0 ? -1 : targets(map.getPartsAttr()[1])[middle]);
    return Error::success();
  }
  llvm_unreachable("unknown map kind");
}

/// What is made of a map that has just been chosen.
static Error followChoice(GraphData &graph, MapOp map) {
  auto targets = [&](Attribute name) -> std::vector<int64_t> & {
    return graph.maps[cast<FlatSymbolRefAttr>(name).getValue()].target;
  };
  for (Attribute part : map.getPartsAttr())
    if (auto name = dyn_cast<FlatSymbolRefAttr>(part))
      if (auto made = SymbolTable::lookupNearestSymbolFrom<MapOp>(map, name); made.getParts())
        if (Error error = followChoice(graph, made))
          return error;
  std::vector<int64_t> &result = graph.maps[map.getSymName()].target;
  result.assign(size_t(graph.extent(map.getFrom())), -1);
  if (map.getKind() == MapKind::Last) {
    for (auto [i, j] : llvm::enumerate(targets(map.getPartsAttr()[0])))
      if (j >= 0)
        result[size_t(j)] = int64_t(i);
    return Error::success();
  }
  if (map.getKind() == MapKind::Compose) {
    const std::vector<int64_t> &first = targets(map.getPartsAttr()[0]), &second = targets(map.getPartsAttr()[1]);
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = first[i] < 0 ? -1 : second[size_t(first[i])];
    return Error::success();
  }
  if (map.getKind() != MapKind::Parts)
    return makeError("map @{0}: a map of this kind cannot be derived from a chosen map", map.getSymName());
  size_t begin = 0;
  auto from = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(map, map.getFromAttr());
  for (auto [space, part] : llvm::zip(from.getPartsAttr(), map.getPartsAttr())) {
    size_t size = size_t(graph.extent(cast<FlatSymbolRefAttr>(space).getValue()));
    if (isa<FlatSymbolRefAttr>(part))
      llvm::copy(targets(part), result.begin() + begin);
    else if (isa<UnitAttr>(part) && map.getPartsAttr().size())
      std::iota(result.begin() + begin, result.begin() + begin + size, int64_t(0));
    begin += size;
  }
  return Error::success();
}

llvm::Expected<GraphData> gnnc::materialise(ModuleOp module, const RootGraph &root) {
  Materialiser materialiser(module, root);
  for (auto space : module.getOps<SpaceOp>())
    if (Error error = materialiser.needSpace(space.getSymName()))
      return error;
  for (auto map : module.getOps<MapOp>())
    if (Error error = materialiser.needMap(map.getSymName()))
      return error;
  return materialiser.take();
}

Error gnnc::choose(GraphData &graph, Operation *choice, const ChosenElements &elements) {
  auto module = choice->getParentOfType<ModuleOp>();
  SpaceOp space = getSelection(choice);
  graph.maps[getChosenMap(choice).getValue()].target = elements.chosen;
  if (space.getOpen()) {
    graph.extents[space.getSymName()] = int64_t(elements.owners.size());
    graph.maps[getOwnerMap(choice).getValue()].target = elements.owners;
  }
  for (auto map : module.getOps<MapOp>())
    if (map.getParts() && leadsThroughChoice(map))
      if (Error error = followChoice(graph, map))
        return error;
  return Error::success();
}
