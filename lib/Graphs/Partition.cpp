//===- Partition.cpp - A graph's elements, divided among ranks ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spaces that go along no map are divided together: each of their elements is a vertex, whose weight is one and one
// more for each element that goes along to it, and an element with several maps connects the vertices that these lead
// to. The rest follows.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/Partition.h"
#include "Neighbours.h"
#include "gnnc/Support/RelationNames.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/xxhash.h"

#include <metis.h>

#include <algorithm>
#include <limits>

using namespace gnnc;

std::optional<PartitionKind> gnnc::parsePartitionKind(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<PartitionKind>>(name)
      .Case("metis", PartitionKind::Metis)
      .Case("contiguous", PartitionKind::Contiguous)
      .Case("random", PartitionKind::Random)
      .Default(std::nullopt);
}

void GraphStructure::chooseAlong() {
  std::vector<bool> isTarget(spaces.size());
  for (const Map &map : maps)
    isTarget[map.to] = isTarget[map.to] || map.to != map.from;
  for (auto [number, space] : llvm::enumerate(spaces)) {
    if (isTarget[number] || space.along)
      continue;
    for (auto [m, map] : llvm::enumerate(maps)) {
      bool isDst = isTargetEnd(map.name);
      if (map.from == number && map.to != number && (!space.along || isDst))
        space.along = m;
      if (map.from == number && map.to != number && isDst)
        break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Owners
//===----------------------------------------------------------------------===//

/// Vertices a part from which on METIS is asked.
constexpr int64_t kLeastVertices = 4;
/// The end of messages about its limits.
constexpr const char *kOtherWays = "; --by contiguous and --by random have no such limit";

/// METIS on a graph of weighted vertices.
static llvm::Expected<std::vector<int32_t>> divideByMetis(Neighbours &graph, std::vector<int32_t> &weights, int parts) {
  idx_t vertices = idx_t(weights.size()), constraints = 1, count = parts, cut = 0;
  std::vector<int32_t> owner(weights.size(), 0);
  if (parts == 1 || weights.empty())
    return owner;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 0;
  // Recursive bisection cuts less where parts are few, as METIS' manual has it.
  auto *partGraph = parts <= 8 ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  int status = partGraph(&vertices, &constraints, graph.pointers.data(), graph.nodes.data(), weights.data(), nullptr,
                         nullptr, &count, nullptr, nullptr, options, &cut, owner.data());
  if (status != METIS_OK)
    return llvm::createStringError(status == METIS_ERROR_MEMORY ? "METIS ran out of memory for this graph"
                                                                : "METIS does not partition this graph");
  return owner;
}

/// A number that looks random and depends on nothing else (the finaliser of splitmix64).
static uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

llvm::Expected<std::vector<size_t>> GraphPartition::findOrder() const {
  std::vector<size_t> order;
  std::vector<bool> done(spaces.size());
  for (size_t space = 0; space < spaces.size(); ++space) {
    std::vector<size_t> way;
    for (size_t at = space; !done[at];) {
      if (llvm::is_contained(way, at))
        return llvm::createStringError("space '" + structure->spaces[at].name + "' depends on itself through its maps");
      way.push_back(at);
      if (!structure->spaces[at].along)
        break;
      at = structure->maps[*structure->spaces[at].along].to;
    }
    for (size_t at : llvm::reverse(way)) {
      done[at] = true;
      order.push_back(at);
    }
  }
  return order;
}

llvm::Error GraphPartition::checkOwners(llvm::ArrayRef<std::vector<int32_t>> owners) const {
  if (owners.size() != spaces.size())
    return llvm::createStringError("expected owners for " + llvm::Twine(spaces.size()) + " spaces, found " +
                                   llvm::Twine(owners.size()));
  for (auto [space, of] : llvm::zip_equal(structure->spaces, owners)) {
    if (space.along)
      continue;
    if (int64_t(of.size()) != space.extent)
      return llvm::createStringError("space '" + space.name + "': expected owners of " + llvm::Twine(space.extent) +
                                     " elements, found " + llvm::Twine(of.size()));
    for (auto [element, owner] : llvm::enumerate(of))
      if (owner < 0 || owner >= count)
        return llvm::createStringError("space '" + space.name + "': expected an owner below " + llvm::Twine(count) +
                                       ", found " + llvm::Twine(owner) + " for element " + llvm::Twine(element));
  }
  return llvm::Error::success();
}

llvm::Error GraphPartition::divide(llvm::ArrayRef<size_t> order, PartitionKind kind, Owners owners) {
  // The vertex of each element: its own, or that of the element that it goes along to. -1: none. Not of leaves.
  std::vector<std::vector<int32_t>> vertex(spaces.size());
  auto vertexOf = [&](size_t space, size_t element) {
    if (!spaces[space].isLeaf)
      return vertex[space][element];
    const GraphStructure::Map &map = structure->maps[*structure->spaces[space].along];
    int32_t target = map.targets[element];
    return target < 0 ? -1 : vertex[map.to][size_t(target)];
  };
  std::vector<int64_t> weights;
  std::vector<std::pair<size_t, size_t>> ranges; // of the vertices of each space that goes along none
  int64_t vertices = 0, total = 0;
  for (const GraphStructure::Space &space : structure->spaces) {
    vertices += space.along ? 0 : space.extent;
    total += space.extent;
  }
  for (const GraphStructure::Map &map : structure->maps)
    total += int64_t(map.targets.size());
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (vertices > most)
    return llvm::createStringError("expected fewer than 2^31 elements of spaces that go along no map, found " +
                                   llvm::Twine(vertices));
  // With so few vertices METIS leaves parts empty, and says so on standard output.
  if (kind == PartitionKind::Metis && vertices < kLeastVertices * count)
    kind = PartitionKind::Contiguous;
  if (kind == PartitionKind::Metis && total > most)
    return llvm::createStringError("METIS: expected fewer than 2^31 elements and targets of maps, found " +
                                   llvm::Twine(total) + kOtherWays);
  usedKind = kind;
  for (size_t number : order) {
    const GraphStructure::Space &space = structure->spaces[number];
    std::vector<int32_t> &own = vertex[number];
    if (!spaces[number].isLeaf)
      own.assign(size_t(space.extent), -1);
    if (!space.along) {
      size_t begin = weights.size();
      for (int32_t &v : own) {
        v = int32_t(weights.size());
        weights.push_back(1);
      }
      ranges.emplace_back(begin, weights.size());
      continue;
    }
    const GraphStructure::Map &map = structure->maps[*space.along];
    for (auto [element, target] : llvm::enumerate(map.targets)) {
      int32_t v = target < 0 ? -1 : vertex[map.to][size_t(target)];
      if (!spaces[number].isLeaf)
        own[element] = v;
      if (v >= 0)
        ++weights[size_t(v)];
    }
  }

  std::vector<int32_t> owner(weights.size(), 0);
  if (owners) {
    owner.clear();
    for (size_t number : order)
      if (!structure->spaces[number].along)
        llvm::append_range(owner, (*owners)[number]);
  } else if (kind == PartitionKind::Metis) {
    std::vector<int32_t> a, b;
    for (const GraphStructure::Map &map : structure->maps)
      for (auto [element, target] : llvm::enumerate(map.targets)) {
        int32_t from = vertexOf(map.from, element), to = target < 0 ? -1 : vertex[map.to][size_t(target)];
        if (from >= 0 && to >= 0 && from != to) {
          a.push_back(from);
          b.push_back(to);
        }
      }
    llvm::Expected<Neighbours> graph = Neighbours::create({int64_t(weights.size()), a, b});
    if (!graph)
      return llvm::createStringError("METIS: " + llvm::toString(graph.takeError()) + kOtherWays);
    // No weight is more than the number of elements, which is below 2^31.
    std::vector<int32_t> narrow(weights.begin(), weights.end());
    llvm::Expected<std::vector<int32_t>> found = divideByMetis(*graph, narrow, count);
    if (!found)
      return found.takeError();
    owner = std::move(*found);
  } else if (kind == PartitionKind::Contiguous) {
    // A vertex belongs where the middle of its weight is.
    for (auto [begin, end] : ranges) {
      double all = 0, before = 0;
      for (size_t v = begin; v < end; ++v)
        all += double(weights[v]);
      for (size_t v = begin; v < end; ++v) {
        owner[v] = std::min(count - 1, int32_t((before + double(weights[v]) / 2.0) / all * count));
        before += double(weights[v]);
      }
    }
  } else {
    for (auto [v, part] : llvm::enumerate(owner))
      part = int32_t(scramble(v) % uint64_t(count));
  }

  for (size_t number : order) {
    if (spaces[number].isLeaf)
      continue;
    std::vector<int32_t> own(vertex[number].size());
    for (auto [i, v] : llvm::enumerate(vertex[number]))
      own[i] = v >= 0 ? owner[size_t(v)] : ownerOf(number, int32_t(i));
    spaces[number].owner = std::move(own);
  }
  return llvm::Error::success();
}

int32_t GraphPartition::ownerOf(size_t space, int32_t element) const {
  const Space &of = spaces[space];
  if (!of.owner.empty())
    return of.owner[size_t(element)];
  const GraphStructure::Space &known = structure->spaces[space];
  const GraphStructure::Map &map = structure->maps[*known.along];
  int32_t target = map.targets[size_t(element)];
  // Elements that go along to nothing are spread evenly.
  return target >= 0 ? ownerOf(map.to, target) : int32_t(int64_t(element) * count / known.extent);
}

GraphPartition::GraphPartition(const GraphStructure &structure, int parts, int64_t listed)
    : structure(&structure), count(parts), listed(listed), spaces(structure.spaces.size()) {
  for (auto [number, space] : llvm::enumerate(structure.spaces))
    spaces[number].isLeaf =
        space.along && llvm::none_of(structure.maps, [number = number](const auto &map) { return map.to == number; });
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

void GraphPartition::collect(size_t space) {
  Space &of = spaces[space];
  of.parts.resize(size_t(count));
  of.counts.assign(size_t(count), 0);
  of.place.resize(of.owner.size());
  for (int64_t element = 0; element < structure->spaces[space].extent; ++element) {
    int64_t &before = of.counts[size_t(ownerOf(space, int32_t(element)))];
    if (!of.isLeaf)
      of.place[size_t(element)] = int32_t(before);
    ++before;
  }
  list(space, 0);
}

/// Lists the own elements of a part and, as far as there is room, of those after it; of a space that is no leaf of all.
void GraphPartition::list(size_t space, int first) const {
  const Space &of = spaces[space];
  of.lists.clear();
  of.firstList = first;
  int64_t room = listed;
  for (int rank = first; rank < count; ++rank) {
    int64_t size = of.counts[size_t(rank)];
    if (of.isLeaf && rank > first && size > room)
      break;
    of.lists.emplace_back().reserve(size_t(size));
    room -= size;
  }
  for (int64_t element = 0; element < structure->spaces[space].extent; ++element)
    if (int rank = ownerOf(space, int32_t(element)) - first; rank >= 0 && size_t(rank) < of.lists.size())
      of.lists[size_t(rank)].push_back(int32_t(element));
}

llvm::ArrayRef<int32_t> GraphPartition::own(size_t space, int rank) const {
  const Space &of = spaces[space];
  if (rank < of.firstList || size_t(rank - of.firstList) >= of.lists.size())
    list(space, rank);
  return of.lists[size_t(rank - of.firstList)];
}

void GraphPartition::collectHalo(size_t space) {
  Space &of = spaces[space];
  auto isRemote = [&](size_t m) {
    const GraphStructure::Map &map = structure->maps[m];
    return map.to == space && structure->spaces[map.from].along != m;
  };
  for (size_t m = 0; m < structure->maps.size(); ++m)
    of.hasHalo |= isRemote(m);
  for (PartOfSpace &part : of.parts) {
    part.sentCounts.assign(size_t(count), 0);
    part.haloCounts.assign(size_t(count), 0);
  }
  if (!of.hasHalo)
    return;
  llvm::BitVector isRead;
  for (auto [rank, part] : llvm::enumerate(of.parts)) {
    isRead.clear();
    isRead.resize(unsigned(of.owner.size()));
    for (auto [m, map] : llvm::enumerate(structure->maps))
      if (isRemote(m))
        for (int32_t element : own(map.from, int(rank)))
          if (int32_t target = map.targets[size_t(element)]; target >= 0 && of.owner[size_t(target)] != int(rank))
            isRead.set(unsigned(target));
    // By owner, then by number; and by rising receiver, as the lists of senders are.
    for (unsigned element : isRead.set_bits())
      ++part.haloCounts[size_t(of.owner[element])];
    std::vector<size_t> next(size_t(count), 0);
    for (size_t owner = 1; owner < next.size(); ++owner)
      next[owner] = next[owner - 1] + size_t(part.haloCounts[owner - 1]);
    part.halo.resize(next.back() + size_t(part.haloCounts.back()));
    for (unsigned element : isRead.set_bits()) {
      size_t owner = size_t(of.owner[element]);
      part.halo[next[owner]++] = int32_t(element);
      ++of.parts[owner].sentCounts[rank];
      of.parts[owner].sent.push_back(of.place[element]);
    }
  }
}

llvm::Expected<GraphPartition> GraphPartition::create(const GraphStructure &structure, int parts, PartitionKind kind,
                                                      int64_t listed) {
  return create(structure, parts, kind, std::nullopt, listed);
}

llvm::Expected<GraphPartition> GraphPartition::create(const GraphStructure &structure, int parts,
                                                      llvm::ArrayRef<std::vector<int32_t>> owners) {
  return create(structure, parts, PartitionKind::Contiguous, owners, kMostListed);
}

llvm::Expected<GraphPartition> GraphPartition::create(const GraphStructure &structure, int parts, PartitionKind kind,
                                                      Owners owners, int64_t listed) {
  if (parts < 1 || parts > kMostRanks)
    return llvm::createStringError("expected 1 to " + llvm::Twine(kMostRanks) + " parts, found " + llvm::Twine(parts));
  GraphPartition partition(structure, parts, listed);
  llvm::Expected<std::vector<size_t>> order = partition.findOrder();
  if (!order)
    return order.takeError();
  if (llvm::Error error = owners ? partition.checkOwners(*owners) : llvm::Error::success())
    return std::move(error);
  if (llvm::Error error = partition.divide(*order, kind, owners))
    return std::move(error);
  for (size_t space = 0; space < partition.spaces.size(); ++space)
    partition.collect(space);
  for (size_t space = 0; space < partition.spaces.size(); ++space)
    partition.collectHalo(space);
  return std::move(partition);
}

int32_t GraphPartition::localNumber(size_t space, int rank, int32_t element) const {
  const Space &of = spaces[space];
  if (of.owner[size_t(element)] == rank)
    return of.place[size_t(element)];
  const PartOfSpace &part = of.parts[size_t(rank)];
  auto key = [&](int32_t e) { return std::pair(of.owner[size_t(e)], e); };
  auto it = llvm::lower_bound(part.halo, element, [&](int32_t a, int32_t b) { return key(a) < key(b); });
  return int32_t(of.counts[size_t(rank)]) + int32_t(it - part.halo.begin());
}

std::vector<int32_t> GraphPartition::localTargets(size_t map, int rank) const {
  const GraphStructure::Map &of = structure->maps[map];
  std::vector<int32_t> targets;
  llvm::ArrayRef<int32_t> elements = own(of.from, rank);
  targets.reserve(elements.size());
  for (int32_t element : elements) {
    int32_t target = of.targets[size_t(element)];
    targets.push_back(target < 0 ? -1 : localNumber(of.to, rank, target));
  }
  return targets;
}

uint64_t GraphPartition::digest() const {
  uint64_t hash = uint64_t(count);
  auto add = [&](uint64_t number) { hash = scramble(hash ^ number); };
  auto addText = [&](llvm::StringRef text) { add(llvm::xxh3_64bits(text)); };
  auto addNumbers = [&](const Targets &numbers) {
    add(numbers.size());
    add(llvm::xxh3_64bits(numbers.bytes()));
  };
  for (auto [of, space] : llvm::zip_equal(structure->spaces, spaces)) {
    addText(of.name);
    add(of.along ? *of.along + 1 : 0);
    addNumbers(Targets::at(llvm::ArrayRef(space.owner))); // those of leaves follow from the maps
  }
  for (const GraphStructure::Map &map : structure->maps) {
    addText(map.name);
    add(map.from);
    add(map.to);
    addNumbers(map.targets);
  }
  return hash;
}
