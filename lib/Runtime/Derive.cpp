//===- Derive.cpp - Spaces and maps made from others ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Filters, unions and distinct tuples, and the maps that come with them; pairs are in Pairs.cpp. Distinct tuples are
// found by sorting the base's elements with one stable counting sort for each component, the last component first;
// equal tuples are then neighbours and stand in lexicographic order.
//
//===----------------------------------------------------------------------===//

#include "Topology.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

gnnc_status Topology::outOfMemory(const char *what, const char *name, int64_t elements) {
  return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for %s '%s' with %lld elements", what, name,
              static_cast<long long>(elements));
}

int32_t *Topology::newTargets(int64_t map) {
  int32_t *targets = memory.array<int32_t>(extents[model.map(map).from]);
  maps[map].targets = targets;
  return targets;
}

gnnc_status Topology::deriveSpace(int64_t space) {
  switch (model.space(space).kind) {
  case SpaceKind::Filter:
    return builder ? deriveFilterOnDevice(space) : deriveFilter(space);
  case SpaceKind::Union:
    return deriveUnion(space);
  case SpaceKind::Selection:
    return builder ? deriveSelectionOnDevice(space) : deriveSelection(space);
  case SpaceKind::Pairs:
    return builder ? derivePairsOnDevice(space) : derivePairs(space);
  default:
    return builder ? deriveDistinctOnDevice(space) : deriveDistinct(space);
  }
}

gnnc_status Topology::deriveFilter(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *pair = model.list(record.mapsAt);
  Targets left = targets(pair[0]), right = targets(pair[1]);
  int64_t base = extents[record.base], count = 0;
  bool equal = isEqualWanted(record);
  for (int64_t i = 0; i < base; ++i)
    count += (left[i] == right[i]) == equal;
  int32_t *members = memory.array<int32_t>(count);
  if (!members)
    return outOfMemory("space", spaceName(space), count);
  int64_t next = 0;
  for (int64_t i = 0; i < base; ++i)
    if ((left[i] == right[i]) == equal)
      members[next++] = static_cast<int32_t>(i);
  extents[space] = count;
  spaces[space].members = members;
  return GNNC_OK;
}

gnnc_status Topology::deriveUnion(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *parts = model.list(record.partsAt);
  int64_t sum = 0;
  for (int64_t part = 0; part < record.numParts; ++part) {
    sum += extents[parts[part]];
    if (sum > kMaxExtent)
      return fail(error, GNNC_UNSUPPORTED, "space '%s': expected at most %lld elements, found at least %lld",
                  spaceName(space), static_cast<long long>(kMaxExtent), static_cast<long long>(sum));
  }
  extents[space] = sum;
  return GNNC_OK;
}

/// Moves the elements listed in `from` to `to` so that `targets` (-1 ... extent-1) rises; equal ones keep their order.
/// `starts` has extent + 2 words.
static void countingSort(const int32_t *from, int32_t *to, int64_t count, Targets targets, int64_t extent,
                         int32_t *starts) {
  memset(starts, 0, (extent + 2) * sizeof(int32_t));
  for (int64_t i = 0; i < count; ++i)
    ++starts[targets[i] + 2];
  for (int64_t i = 1; i < extent + 2; ++i)
    starts[i] += starts[i - 1];
  for (int64_t i = 0; i < count; ++i)
    to[starts[targets[from[i]] + 1]++] = from[i];
}

gnnc_status Topology::deriveDistinct(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *list = model.list(record.mapsAt);
  int64_t base = extents[record.base], largest = 0;
  // A component that is the identity goes to the base itself.
  auto codomain = [&](int64_t map) { return extents[map == kIdentity ? record.base : model.map(map).to]; };
  for (int64_t k = 0; k < record.numMaps; ++k)
    largest = largest > codomain(list[k]) ? largest : codomain(list[k]);
  int32_t *order = memory.array<int32_t>(base);
  int32_t *other = memory.array<int32_t>(base);
  int32_t *starts = memory.array<int32_t>(largest + 2);
  int32_t *classes = memory.array<int32_t>(base);
  if (!order || !other || !starts || !classes)
    return outOfMemory("space", spaceName(space), base);

  for (int64_t i = 0; i < base; ++i)
    order[i] = static_cast<int32_t>(i);
  for (int64_t k = record.numMaps - 1; k >= 0; --k) {
    countingSort(order, other, base, targets(list[k]), codomain(list[k]), starts);
    int32_t *swapped = order;
    order = other;
    other = swapped;
  }

  auto same = [&](int32_t i, int32_t j) {
    for (int64_t k = 0; k < record.numMaps; ++k)
      if (targets(list[k])[i] != targets(list[k])[j])
        return false;
    return true;
  };
  int64_t count = 0;
  for (int64_t i = 0; i < base; ++i) {
    if (i == 0 || !same(order[i - 1], order[i]))
      other[count++] = order[i];
    classes[order[i]] = static_cast<int32_t>(count - 1);
  }
  memory.release(order);
  memory.release(starts);

  int32_t *first = memory.array<int32_t>(count);
  if (!first)
    return outOfMemory("space", spaceName(space), count);
  memcpy(first, other, count * sizeof(int32_t));
  memory.release(other);
  extents[space] = count;
  spaces[space].classes = classes;
  spaces[space].first = first;
  return GNNC_OK;
}

gnnc_status Topology::deriveMap(int64_t map) {
  const MapRec &record = model.map(map);
  const int64_t *parts = model.list(record.partsAt);
  int64_t count = extents[record.from];
  // What is made of a map that the program chooses is not known either.
  bool isChosen = record.kind == MapKind::Chosen || (record.kind == MapKind::Owner && model.space(record.from).open);
  for (int64_t i = 0; i < record.numParts; ++i)
    isChosen |= parts[i] >= 0 && maps[parts[i]].isChosen;
  maps[map].isChosen = isChosen;
  if (isChosen)
    return GNNC_OK;
  if (isUnlisted(map)) {
    maps[map].isExamined = maps[map].inOrder = true;
    return GNNC_OK;
  }
  if (record.kind == MapKind::Partner) {
    maps[map].targets = spaces[record.from].partners;
    return GNNC_OK;
  }
  // These were made with their spaces.
  if (record.kind == MapKind::Inclusion || record.kind == MapKind::Owner || record.kind == MapKind::Class) {
    maps[map].targets = record.kind == MapKind::Class ? spaces[record.to].classes : spaces[record.from].members;
    if (record.kind == MapKind::Owner)
      maps[map].isExamined = maps[map].inOrder = true;
    return GNNC_OK;
  }
  if (builder)
    return deriveMapOnDevice(map);
  int32_t *result = newTargets(map);
  if (!result)
    return outOfMemory("map", mapName(map), count);

  switch (record.kind) {
  case MapKind::Part:
  case MapKind::Parts: {
    const SpaceRec &whole = model.space(record.from);
    const int64_t *spacesOfParts = model.list(whole.partsAt);
    int64_t position = 0;
    for (int64_t part = 0; part < whole.numParts; ++part) {
      int64_t size = extents[spacesOfParts[part]];
      int64_t via = record.kind == MapKind::Parts ? parts[part] : part == record.part ? kIdentity : kUndefined;
      if (via == kUndefined) {
        memset(result + position, -1, size * sizeof(int32_t));
      } else {
        Targets values = targets(via);
        for (int64_t i = 0; i < size; ++i)
          result[position + i] = values[i];
      }
      position += size;
    }
    break;
  }
  case MapKind::Projection: {
    const SpaceRec &tuples = model.space(record.from);
    Targets component = targets(model.list(tuples.mapsAt)[record.part]);
    for (int64_t i = 0; i < count; ++i)
      result[i] = component[spaces[record.from].first[i]];
    break;
  }
  case MapKind::Last: {
    Targets values = targets(parts[0]);
    memset(result, -1, count * sizeof(int32_t));
    for (int64_t i = 0, end = extents[record.to]; i < end; ++i)
      if (values[i] >= 0)
        result[values[i]] = static_cast<int32_t>(i);
    break;
  }
  case MapKind::Injection: {
    const int64_t *spacesOfParts = model.list(model.space(record.to).partsAt);
    int64_t before = 0;
    for (int64_t part = 0; part < record.part; ++part)
      before += extents[spacesOfParts[part]];
    for (int64_t i = 0; i < count; ++i)
      result[i] = static_cast<int32_t>(before + i);
    break;
  }
  case MapKind::Only:
    memset(result, 0, count * sizeof(int32_t));
    break;
  default: { // MapKind::Compose
    Targets inner = targets(parts[0]), outer = targets(parts[1]);
    for (int64_t i = 0; i < count; ++i)
      result[i] = inner[i] < 0 ? -1 : outer[inner[i]];
    break;
  }
  }
  return GNNC_OK;
}

} // namespace gnnc::runtime
