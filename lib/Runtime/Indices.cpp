//===- Indices.cpp - Groupings and index arrays ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include "CUDA/Prepare.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

gnnc_status Indices::outOfMemory(int64_t map) {
  return fail(topology.error, GNNC_OUT_OF_MEMORY, "out of memory for the index of map '%s'", topology.mapName(map));
}

gnnc_status Indices::start() {
  int64_t count = topology.model.header().numMaps;
  groupings = topology.memory.array<Grouping>(count);
  if (!groupings)
    return fail(topology.error, GNNC_OUT_OF_MEMORY, "out of memory for the indices of %lld maps",
                static_cast<long long>(count));
  for (int64_t i = 0; i < count; ++i)
    groupings[i] = Grouping();
  return GNNC_OK;
}

gnnc_status Indices::grouping(int64_t map, const Grouping *&result) {
  result = &groupings[map];
  return groupings[map].pointers ? GNNC_OK : makeGrouping(map, groupings[map]);
}

gnnc_status Indices::makeGrouping(int64_t map, Grouping &result) {
  int64_t maps[2];
  if (topology.isUnlisted(map) && topology.isSideOfPairs(map, maps))
    return groupPairs(map, maps, result);
  if (topology.builder)
    return makeGroupingOnDevice(map, result);
  const MapRec &record = topology.model.map(map);
  int64_t elements = topology.extents[record.from], owners = topology.extents[record.to];
  result.owners = owners;
  if (const int32_t *rows = topology.maps[map].pointers) {
    result.pointers = rows;
    result.count = elements;
    return GNNC_OK;
  }

  Targets targets = topology.targets(map);
  int32_t *pointers = topology.memory.array<int32_t>(owners + 1);
  if (!pointers)
    return outOfMemory(map);
  // pointers[j + 1] counts the members of j, then becomes its end.
  memset(pointers, 0, (owners + 1) * sizeof(int32_t));
  int64_t count = 0;
  int32_t previous = 0;
  bool inOrder = true;
  for (int64_t i = 0; i < elements; ++i) {
    int32_t target = targets[i];
    inOrder &= target >= previous;
    previous = target;
    if (target < 0)
      continue;
    ++pointers[target + 1];
    ++count;
  }
  for (int64_t j = 0; j < owners; ++j)
    pointers[j + 1] += pointers[j];
  result.count = count;
  if (inOrder) {
    result.pointers = pointers;
    return GNNC_OK;
  }

  int32_t *members = topology.memory.array<int32_t>(count);
  if (!members)
    return outOfMemory(map);
  // pointers[j] walks from j's start to its end, which is where j + 1 starts: shift the array back by one afterwards.
  for (int64_t i = 0; i < elements; ++i)
    if (targets[i] >= 0)
      members[pointers[targets[i]]++] = static_cast<int32_t>(i);
  memmove(pointers + 1, pointers, owners * sizeof(int32_t));
  pointers[0] = 0;
  result.pointers = pointers;
  result.members = members;
  return GNNC_OK;
}

/// 0, 1, 2, ...: one array serves all who ask for no more than it has.
gnnc_status Indices::naturalNumbers(int64_t count, const int32_t *&data) {
  if (count > numNaturals) {
    int32_t *numbers =
        topology.builder ? topology.builder->iota(nullptr, count) : topology.memory.array<int32_t>(count);
    if (topology.builder && topology.builder->status)
      return topology.builder->status;
    if (!numbers)
      return fail(topology.error, GNNC_OUT_OF_MEMORY, "out of memory for an index of %lld elements",
                  static_cast<long long>(count));
    for (int64_t i = 0; !topology.builder && i < count; ++i)
      numbers[i] = static_cast<int32_t>(i);
    naturals = numbers;
    numNaturals = count;
  }
  data = naturals;
  return GNNC_OK;
}

gnnc_status Indices::array(const IndexRec &record, const int32_t *&data, int64_t &length) {
  if (record.kind == IndexKind::Raw) {
    length = topology.extents[topology.model.map(record.map).from];
    data = topology.maps[record.map].targets;
    return GNNC_OK;
  }
  if (record.kind == IndexKind::Shift)
    return shiftOfPairs(record.map, data, length);
  const Grouping *group;
  if (gnnc_status status = grouping(record.map, group))
    return status;
  if (record.kind == IndexKind::Pointers) {
    length = group->owners + 1;
    data = group->pointers;
    return GNNC_OK;
  }
  if (topology.builder)
    return arrayOnDevice(record, data, length);
  length = group->count;
  if (record.kind == IndexKind::MembersOrNone) {
    data = group->members;
    length = data ? length : 0;
    return GNNC_OK;
  }
  if (record.kind == IndexKind::Members) {
    data = group->members;
    return group->inOrder() ? naturalNumbers(length, data) : GNNC_OK;
  }
  Targets other = topology.targets(record.other);
  if (group->inOrder() && other.data) {
    data = other.data;
    return GNNC_OK;
  }
  int32_t *sorted = topology.memory.array<int32_t>(length);
  if (!sorted)
    return outOfMemory(record.map);
  Targets members{group->members};
  for (int64_t k = 0; k < length; ++k)
    sorted[k] = other[members[k]];
  data = sorted;
  return GNNC_OK;
}

void Indices::share(const int32_t **arrays, const int64_t *lengths, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    for (int64_t j = 0; j < i; ++j)
      // Arrays that nothing uses are null.
      if (lengths[i] > 0 && lengths[i] == lengths[j] &&
          memcmp(arrays[i], arrays[j], lengths[i] * sizeof(int32_t)) == 0) {
        arrays[i] = arrays[j];
        break;
      }
}

} // namespace gnnc::runtime
