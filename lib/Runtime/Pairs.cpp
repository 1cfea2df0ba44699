//===- Pairs.cpp - Elements that two maps send to the same one ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many pairs each element is in follows from how many elements are sent where. Which they are is listed only where
// a model has something for each pair in memory: sweeps walk the sides, by the index of the other side's map.
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include <string.h>

extern const char gnnc_pairs = 0;

namespace gnnc::runtime {

using namespace table;

bool Topology::isSideOfPairs(int64_t map, int64_t (&maps)[2]) const {
  const MapRec &record = model.map(map);
  const SpaceRec &pairs = model.space(record.from);
  if (pairs.kind != SpaceKind::Pairs || (record.kind != MapKind::Owner && record.kind != MapKind::Partner))
    return false;
  bool isPartner = record.kind == MapKind::Partner;
  maps[0] = model.list(pairs.mapsAt)[isPartner];
  maps[1] = model.list(pairs.mapsAt)[!isPartner];
  return true;
}

gnnc_status Topology::tooManyPairs(int64_t space) {
  return fail(error, GNNC_UNSUPPORTED, "space '%s': expected at most %lld pairs, found %lld", spaceName(space),
              static_cast<long long>(kMaxExtent), static_cast<long long>(extents[space]));
}

gnnc_status Topology::derivePairs(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *pair = model.list(record.mapsAt);
  Targets own = targets(pair[0]), other = targets(pair[1]);
  int64_t base = extents[record.base], of = extents[record.of], groups = extents[model.map(pair[0]).to];
  // ends[g + 1] counts what is paired in place g, then becomes its end.
  int32_t *ends = memory.array<int32_t>(groups + 1);
  if (!ends)
    return outOfMemory("space", spaceName(space), base);
  memset(ends, 0, (groups + 1) * sizeof(int32_t));
  for (int64_t j = 0; j < of; ++j)
    ++ends[other[j] + 1];
  int64_t total = 0;
  for (int64_t i = 0; i < base; ++i)
    total += ends[own[i] + 1];
  extents[space] = total;
  if (total > kMaxExtent)
    return tooManyPairs(space);
  if (!record.isListed) {
    memory.release(ends);
    return GNNC_OK;
  }
  int32_t *members = memory.array<int32_t>(of);
  int32_t *owners = memory.array<int32_t>(total), *partners = memory.array<int32_t>(total);
  if (!members || !owners || !partners)
    return outOfMemory("space", spaceName(space), total);
  for (int64_t g = 0; g < groups; ++g)
    ends[g + 1] += ends[g];
  // ends[g] walks from the place's start to its end, which is where the next starts.
  for (int64_t j = 0; j < of; ++j)
    members[ends[other[j]]++] = static_cast<int32_t>(j);
  int64_t next = 0;
  for (int64_t i = 0; i < base; ++i)
    for (int32_t k = own[i] ? ends[own[i] - 1] : 0; k < ends[own[i]]; ++k, ++next) {
      owners[next] = static_cast<int32_t>(i);
      partners[next] = members[k];
    }
  memory.release(ends);
  memory.release(members);
  spaces[space].members = owners;
  spaces[space].partners = partners;
  return GNNC_OK;
}

/// Of pairs that are not listed: how many each element of a side is in.
gnnc_status Indices::groupPairs(int64_t map, const int64_t (&maps)[2], Grouping &result) {
  const MapRec &record = topology.model.map(map);
  int64_t owners = topology.extents[record.to];
  const Grouping *other;
  if (gnnc_status status = grouping(maps[1], other))
    return status;
  result.owners = owners;
  result.count = topology.extents[record.from];
  if (topology.builder)
    return groupPairsOnDevice(topology.targets(maps[0]).data, *other, result);
  int32_t *pointers = topology.memory.array<int32_t>(owners + 1);
  if (!pointers)
    return outOfMemory(map);
  Targets own = topology.targets(maps[0]);
  pointers[0] = 0;
  for (int64_t i = 0; i < owners; ++i)
    pointers[i + 1] = pointers[i] + other->pointers[own[i] + 1] - other->pointers[own[i]];
  result.pointers = pointers;
  return GNNC_OK;
}

/// What leads from the position of an owner's pair to that of the member which it is paired with.
gnnc_status Indices::shiftOfPairs(int64_t map, const int32_t *&data, int64_t &length) {
  int64_t maps[2];
  topology.isSideOfPairs(map, maps);
  const Grouping *pairs, *other;
  if (gnnc_status status = grouping(map, pairs))
    return status;
  if (gnnc_status status = grouping(maps[1], other))
    return status;
  length = pairs->owners;
  const Targets own = topology.targets(maps[0]);
  if (topology.builder)
    return shiftOfPairsOnDevice(own.data, *pairs, *other, data);
  int32_t *shifts = topology.memory.array<int32_t>(length);
  if (!shifts)
    return outOfMemory(map);
  for (int64_t i = 0; i < length; ++i)
    shifts[i] = other->pointers[own[i]] - pairs->pointers[i];
  data = shifts;
  return GNNC_OK;
}

} // namespace gnnc::runtime
