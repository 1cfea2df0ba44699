//===- DeviceTopology.cpp - Spaces, maps and indices on a GPU -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What RootData.cpp, Derive.cpp and Indices.cpp do, where the arrays are on a device.
//
//===----------------------------------------------------------------------===//

#include "../Indices.h"
#include "Prepare.h"

namespace gnnc::runtime {

using namespace table;
using cuda::Findings;

static void note(MapData &map, const Findings &found) {
  map.isExamined = true;
  map.inOrder = !found.notInOrder;
  map.undefined = static_cast<int64_t>(found.undefined);
}

gnnc_status Topology::readEachOnDevice(const gnnc_index &index, int64_t map) {
  const MapRec &record = model.map(map);
  if (numReading == cuda::kMostFindings)
    if (gnnc_status status = finishReading())
      return status;
  if (numReading++ == 0)
    builder->startFindings();
  maps[map].given = &index;
  maps[map].targets = builder->readEach(index, record.partial ? -1 : 0, extents[record.to], maps[map].findings);
  return builder->status;
}

bool Topology::hasRoomForFindings() const { return numReading < cuda::kMostFindings; }

gnnc_status Topology::examineLater(int64_t map) {
  if (numReading++ == 0)
    builder->startFindings();
  maps[map].findings = builder->examineLater(maps[map].targets, extents[model.map(map).from]);
  return builder->status;
}

gnnc_status Topology::startReading() {
  builder->launchReadings();
  return builder->status;
}

gnnc_status Topology::finishReading() {
  const Header &header = model.header();
  const int64_t *order = model.list(header.orderAt);
  if (numReading == 0 || builder->status)
    return builder->status;
  numReading = 0;
  builder->readAll();
  for (int64_t i = 0; !builder->status && i < header.numOrder; ++i) {
    int64_t map = order[i] / 2;
    if (order[i] % 2 == 0 || !maps[map].findings)
      continue;
    const Findings &found = builder->of(maps[map].findings);
    maps[map].findings = nullptr;
    if (cuda::isWrong(found)) {
      int64_t element = cuda::firstWrong(found), target = builder->element(*maps[map].given, element);
      return builder->status ? builder->status : wrongTarget(map, element, target);
    }
    note(maps[map], found);
  }
  return builder->status;
}

gnnc_status Topology::readRowsOnDevice(const gnnc_index &index, int64_t map) {
  if (gnnc_status status = finishReading())
    return status;
  const MapRec &record = model.map(map);
  int64_t count = extents[record.from], rows = index.length - 1;
  int64_t begin = builder->element(index, 0);
  if (!builder->status && begin != 0)
    return wrongFirstRow(map, begin);
  Findings found;
  maps[map].pointers = builder->readRows(index, count, maps[map].targets, found);
  if (!builder->status && cuda::isWrong(found)) {
    int64_t row = cuda::firstWrong(found);
    begin = builder->element(index, row);
    int64_t end = builder->element(index, row + 1);
    return builder->status ? builder->status : wrongRow(map, row, begin, end);
  }
  int64_t end = builder->element(index, rows);
  if (!builder->status && end != count)
    return wrongLastRow(map, end);
  return builder->status;
}

gnnc_status Topology::deriveFilterOnDevice(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *pair = model.list(record.mapsAt);
  if (record.equal == kOnFirstRank) { // all elements or none
    extents[space] = isEqualWanted(record) ? extents[record.base] : 0;
    int32_t *members = builder->array(extents[space]);
    builder->iota(members, extents[space]);
    spaces[space].members = members;
    return builder->status;
  }
  // Of edges and loops one is what the other is not, and need not be asked for.
  extents[space] = -1;
  for (int64_t other = 0; other < space; ++other) {
    const SpaceRec &found = model.space(other);
    const int64_t *otherPair = model.list(found.mapsAt);
    if (found.kind == SpaceKind::Filter && found.base == record.base && spaces[other].members &&
        otherPair[0] == pair[0] && otherPair[1] == pair[1] && (found.equal != 0) != (record.equal != 0))
      extents[space] = extents[record.base] - extents[other];
  }
  bool isAsked = extents[space] < 0;
  spaces[space].members = builder->filter(targets(pair[0]).data, targets(pair[1]).data, record.equal != 0,
                                          extents[record.base], extents[space]);
  // What was found out about root maps came with the number of elements.
  return builder->status || !isAsked ? builder->status : finishReading();
}

gnnc_status Topology::deriveDistinctOnDevice(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *list = model.list(record.mapsAt);
  const int32_t **components = memory.array<const int32_t *>(record.numMaps);
  int64_t *codomains = memory.array<int64_t>(record.numMaps);
  if (!components || !codomains)
    return outOfMemory("space", spaceName(space), extents[record.base]);
  for (int64_t k = 0; k < record.numMaps; ++k) {
    components[k] = targets(list[k]).data;
    codomains[k] = extents[list[k] == kIdentity ? record.base : model.map(list[k]).to];
  }
  builder->distinct(components, codomains, record.numMaps, extents[record.base], extents[space], spaces[space].classes,
                    spaces[space].first);
  return builder->status ? builder->status : finishReading();
}

gnnc_status Topology::deriveMapOnDevice(int64_t map) {
  const MapRec &record = model.map(map);
  const int64_t *parts = model.list(record.partsAt);
  int64_t count = extents[record.from];
  switch (record.kind) {
  case MapKind::Part:
  case MapKind::Parts: {
    int32_t *result = builder->array(count);
    const SpaceRec &whole = model.space(record.from);
    const int64_t *spacesOfParts = model.list(whole.partsAt);
    int64_t position = 0;
    for (int64_t part = 0; part < whole.numParts; ++part) {
      int64_t size = extents[spacesOfParts[part]];
      int64_t via = record.kind == MapKind::Parts ? parts[part] : part == record.part ? kIdentity : kUndefined;
      if (via == kUndefined)
        builder->fill(result + position, size, ~uint32_t(0));
      else if (const int32_t *values = targets(via).data)
        builder->copy(result + position, values, size);
      else
        builder->iota(result + position, size);
      position += size;
    }
    maps[map].targets = result;
    break;
  }
  case MapKind::Projection: {
    const SpaceRec &tuples = model.space(record.from);
    const int32_t *component = targets(model.list(tuples.mapsAt)[record.part]).data;
    maps[map].targets = builder->compose(spaces[record.from].first, component, count);
    break;
  }
  case MapKind::Last:
    maps[map].targets = builder->last(targets(parts[0]).data, extents[record.to], count);
    break;
  case MapKind::Injection: {
    const int64_t *spacesOfParts = model.list(model.space(record.to).partsAt);
    int64_t before = 0;
    for (int64_t part = 0; part < record.part; ++part)
      before += extents[spacesOfParts[part]];
    // Arrays are kept from where they begin.
    int32_t *numbers = builder->temporary(before + count), *result = builder->array(count);
    builder->iota(numbers, before + count);
    builder->copy(result, numbers + before, count);
    builder->release(numbers);
    maps[map].targets = result;
    break;
  }
  case MapKind::Only: {
    int32_t *zeros = builder->array(count);
    builder->fill(zeros, count, 0);
    maps[map].targets = zeros;
    maps[map].isExamined = maps[map].inOrder = true;
    break;
  }
  default: // MapKind::Compose
    maps[map].targets = builder->compose(targets(parts[0]).data, targets(parts[1]).data, count);
  }
  return builder->status;
}

/// Whether a map can be grouped while it is being read or examined: then all its elements have targets, if it is right.
bool Indices::isSortedUnasked(int64_t map) const { return topology.maps[map].findings && canBeSortedUnasked(map); }

bool Indices::canBeSortedUnasked(int64_t map) const {
  const MapRec &record = topology.model.map(map);
  if (record.partial)
    return false;
  if (cuda::GraphBuilder::sortsUnasked(topology.extents[record.from], topology.extents[record.to]))
    return true;
  // Of several parts, as edges and a loop for each node, hardly any order is left.
  const SpaceRec &whole = topology.model.space(record.from);
  const int64_t *parts = topology.model.list(whole.partsAt);
  int64_t filled = 0;
  for (int64_t part = 0; record.kind == MapKind::Parts && part < whole.numParts; ++part)
    filled += topology.extents[parts[part]] > 0;
  return filled > 1;
}

gnnc_status Indices::examineOnDevice(const bool *wanted) {
  int64_t count = topology.model.header().numMaps;
  auto isAsked = [&](int64_t i) {
    const MapData &map = topology.maps[i];
    return wanted[i] && !map.isExamined && !map.pointers && !map.missing && !isSortedUnasked(i);
  };
  for (bool any = true; any;) {
    for (int64_t i = 0; i < count; ++i)
      if (isAsked(i) && !topology.maps[i].findings && topology.hasRoomForFindings())
        if (gnnc_status status = topology.examineLater(i))
          return status;
    any = false;
    for (int64_t i = 0; i < count; ++i)
      any |= isAsked(i);
    if (gnnc_status status = any ? topology.finishReading() : GNNC_OK)
      return status;
  }
  return GNNC_OK;
}

gnnc_status Indices::plan(const bool *used) {
  const Header &header = topology.model.header();
  wanted = topology.memory.array<Wanted>(header.numMaps);
  if (!wanted)
    return fail(topology.error, GNNC_OUT_OF_MEMORY, "out of memory for the indices of %lld maps",
                static_cast<long long>(header.numMaps));
  for (int64_t i = 0; i < header.numMaps; ++i)
    wanted[i] = {false, kIdentity};
  for (int64_t i = 0; i < header.numIndices; ++i) {
    const IndexRec &record = topology.model.index(i);
    if (!used[i] || record.kind == IndexKind::Raw || record.kind == IndexKind::Pointers)
      continue;
    Wanted &own = wanted[record.map];
    bool isOfMembers = record.kind == IndexKind::Members || record.kind == IndexKind::MembersOrNone;
    if (isOfMembers || !topology.targets(record.other).data)
      own.members = true;
    else if (own.sortedMap == kIdentity)
      own.sortedMap = record.other;
    else if (own.sortedMap != record.other)
      own.members = true;
  }
  // Groupings of which only rows are wanted say by their members that elements are not in order.
  for (int64_t i = 0; i < header.numMaps; ++i)
    wanted[i].members |= wanted[i].sortedMap == kIdentity;
  return GNNC_OK;
}

gnnc_status Indices::makeGroupingOnDevice(int64_t map, Grouping &result) {
  const MapRec &record = topology.model.map(map);
  MapData &data = topology.maps[map];
  int64_t elements = topology.extents[record.from], owners = topology.extents[record.to];
  if (data.pointers) {
    result = {data.pointers, nullptr, owners, elements};
    return GNNC_OK;
  }
  cuda::GraphBuilder &builder = *topology.builder;
  if (!data.isExamined && !isSortedUnasked(map)) {
    if (gnnc_status status = topology.finishReading())
      return status;
    if (!data.isExamined)
      note(data, builder.examine(data.targets, elements));
  }
  Wanted asked = wanted ? wanted[map] : Wanted();
  builder.group(data.targets, elements, owners, data.inOrder, data.undefined, topology.targets(asked.sortedMap).data,
                asked.members, data.isExamined ? nullptr : data.findings, result);
  result.sortedMap = asked.sortedMap;
  return builder.status;
}

gnnc_status Indices::settle(const int32_t **arrays) {
  if (gnnc_status status = topology.finishReading())
    return status;
  for (int64_t i = 0; i < topology.model.header().numIndices; ++i)
    if (const IndexRec &record = topology.model.index(i);
        record.kind == IndexKind::MembersOrNone && topology.maps[record.map].inOrder)
      arrays[i] = nullptr;
  return GNNC_OK;
}

gnnc_status Indices::arrayOnDevice(const IndexRec &record, const int32_t *&data, int64_t &length) {
  cuda::GraphBuilder &builder = *topology.builder;
  const Grouping *group;
  if (gnnc_status status = grouping(record.map, group))
    return status;
  length = group->count;
  if (record.kind == IndexKind::MembersOrNone) {
    data = group->members;
    length = data ? length : 0;
    return GNNC_OK;
  }
  const int32_t *other = record.kind == IndexKind::Members ? nullptr : topology.targets(record.other).data;
  if (record.kind == IndexKind::Sorted && group->sorted && record.other == group->sortedMap)
    data = group->sorted;
  else if (record.kind == IndexKind::Members && !group->inOrder())
    data = group->members;
  else if (record.kind != IndexKind::Members && group->inOrder() && other)
    data = other;
  else if (record.kind != IndexKind::Members && other)
    data = builder.compose(group->members, other, length);
  else
    return group->inOrder() ? naturalNumbers(length, data) : (data = group->members, GNNC_OK);
  return builder.status;
}

} // namespace gnnc::runtime
