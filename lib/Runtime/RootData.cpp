//===- RootData.cpp - The caller's extents and index arrays ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything the caller gives is checked in its own width before it is narrowed to int32. Extents and maps that the
// model does not have are skipped unseen.
//
//===----------------------------------------------------------------------===//

#include "Topology.h"
#include <stdint.h>
#include <string.h>

namespace gnnc::runtime {

using namespace table;

static long long print(int64_t value) { return value; }

gnnc_status Topology::checkDesc(const gnnc_graph_desc &desc) {
  if (desc.struct_size != sizeof(gnnc_graph_desc))
    return fail(error, GNNC_VERSION_MISMATCH, "graph description: expected struct_size %zu, found %u",
                sizeof(gnnc_graph_desc), desc.struct_size);
  if (desc.num_extents < 0 || (desc.num_extents > 0 && !desc.extents))
    return fail(error, GNNC_INVALID_ARGUMENT, "graph description: num_extents is %d%s", desc.num_extents,
                desc.extents ? "" : ", but extents is null");
  if (desc.num_indices < 0 || (desc.num_indices > 0 && !desc.indices))
    return fail(error, GNNC_INVALID_ARGUMENT, "graph description: num_indices is %d%s", desc.num_indices,
                desc.indices ? "" : ", but indices is null");
  for (int32_t i = 0; i < desc.num_extents; ++i)
    if (!desc.extents[i].space)
      return fail(error, GNNC_INVALID_ARGUMENT, "graph description: extent %d has no name", i);
  for (int32_t i = 0; i < desc.num_indices; ++i)
    if (!desc.indices[i].map)
      return fail(error, GNNC_INVALID_ARGUMENT, "graph description: index %d has no name", i);
  return GNNC_OK;
}

gnnc_status Topology::rootExtent(const gnnc_graph_desc &desc, int64_t space) {
  const SpaceRec &record = model.space(space);
  const char *name = spaceName(space);
  const gnnc_extent *given = nullptr;
  for (int32_t i = 0; i < desc.num_extents; ++i) {
    if (strcmp(desc.extents[i].space, name) != 0)
      continue;
    if (given)
      return fail(error, GNNC_INVALID_ARGUMENT, "space '%s': its extent is given twice", name);
    given = &desc.extents[i];
  }
  if (record.kind == SpaceKind::Root && !given) {
    spaces[space].missing = true;
    return GNNC_OK;
  }
  int64_t extent = given ? given->extent : record.extent;
  if (record.kind == SpaceKind::Static && extent != record.extent)
    return fail(error, GNNC_INVALID_GRAPH, "space '%s': expected %lld elements, as compiled, found %lld", name,
                print(record.extent), print(extent));
  if (extent < 0)
    return fail(error, GNNC_INVALID_GRAPH, "space '%s': expected an extent of 0 or more, found %lld", name,
                print(extent));
  if (extent > kMaxExtent)
    return fail(error, GNNC_UNSUPPORTED, "space '%s': expected an extent of at most %lld, found %lld", name,
                print(kMaxExtent), print(extent));
  extents[space] = extent;
  return GNNC_OK;
}

/// Element `i` of an index array, which need not be aligned.
template <typename T> static int64_t load(const void *data, int64_t i) {
  T value;
  memcpy(&value, static_cast<const char *>(data) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Copies `count` targets and returns the first that is not in [least, extent), or `count`.
template <typename T>
static int64_t copyTargets(const void *data, int64_t count, int64_t least, int64_t extent, int32_t *targets) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t target = load<T>(data, i);
    if (target < least || target >= extent)
      return i;
    targets[i] = static_cast<int32_t>(target);
  }
  return count;
}

gnnc_status Topology::readEach(const gnnc_index &index, int64_t map) {
  const MapRec &record = model.map(map);
  int64_t count = extents[record.from], extent = extents[record.to];
  if (index.length != count)
    return fail(error, GNNC_INVALID_GRAPH, "map '%s': expected %lld elements, one for each of space '%s', found %lld",
                mapName(map), print(count), spaceName(record.from), print(index.length));
  if (builder)
    return readEachOnDevice(index, map);
  int32_t *targets = newTargets(map);
  if (!targets)
    return outOfMemory("map", mapName(map), count);
  auto *copy = index.bits == 32 ? copyTargets<int32_t> : copyTargets<int64_t>;
  int64_t wrong = copy(index.data, count, record.partial ? -1 : 0, extent, targets);
  if (wrong == count)
    return GNNC_OK;
  return wrongTarget(map, wrong,
                     index.bits == 32 ? load<int32_t>(index.data, wrong) : load<int64_t>(index.data, wrong));
}

gnnc_status Topology::wrongTarget(int64_t map, int64_t element, int64_t target) {
  int64_t to = model.map(map).to;
  return fail(error, GNNC_INVALID_GRAPH, "map '%s': element %lld points to %lld, but space '%s' has %lld elements",
              mapName(map), print(element), print(target), spaceName(to), print(extents[to]));
}

gnnc_status Topology::wrongFirstRow(int64_t map, int64_t begin) {
  return fail(error, GNNC_INVALID_GRAPH, "map '%s': expected the first row pointer to be 0, found %lld", mapName(map),
              print(begin));
}

gnnc_status Topology::wrongRow(int64_t map, int64_t row, int64_t begin, int64_t end) {
  if (end < begin)
    return fail(error, GNNC_INVALID_GRAPH, "map '%s': row pointers must not fall, but number %lld is %lld after %lld",
                mapName(map), print(row + 1), print(end), print(begin));
  int64_t from = model.map(map).from;
  return fail(error, GNNC_INVALID_GRAPH, "map '%s': row pointer %lld is %lld, but space '%s' has %lld elements",
              mapName(map), print(row + 1), print(end), spaceName(from), print(extents[from]));
}

gnnc_status Topology::wrongLastRow(int64_t map, int64_t end) {
  int64_t from = model.map(map).from;
  return fail(error, GNNC_INVALID_GRAPH, "map '%s': row pointers end at %lld, but space '%s' has %lld elements",
              mapName(map), print(end), spaceName(from), print(extents[from]));
}

gnnc_status Topology::readRows(const gnnc_index &index, int64_t map) {
  const MapRec &record = model.map(map);
  int64_t count = extents[record.from], rows = extents[record.to];
  if (index.length != rows + 1)
    return fail(error, GNNC_INVALID_GRAPH,
                "map '%s': expected %lld row pointers, one more than space '%s' has elements, found %lld", mapName(map),
                print(rows + 1), spaceName(record.to), print(index.length));
  if (builder)
    return readRowsOnDevice(index, map);
  int32_t *targets = newTargets(map);
  int32_t *pointers = memory.array<int32_t>(rows + 1);
  if (!targets || !pointers)
    return outOfMemory("map", mapName(map), count);
  auto *read = index.bits == 32 ? load<int32_t> : load<int64_t>;
  int64_t begin = read(index.data, 0);
  if (begin != 0)
    return wrongFirstRow(map, begin);
  pointers[0] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t end = read(index.data, row + 1);
    if (end < begin || end > count)
      return wrongRow(map, row, begin, end);
    for (int64_t i = begin; i < end; ++i)
      targets[i] = static_cast<int32_t>(row);
    begin = end;
    pointers[row + 1] = static_cast<int32_t>(end);
  }
  if (begin != count)
    return wrongLastRow(map, begin);
  maps[map].pointers = pointers;
  return GNNC_OK;
}

gnnc_status Topology::rootMap(const gnnc_graph_desc &desc, int64_t map) {
  const char *name = mapName(map);
  const gnnc_index *given = nullptr;
  for (int32_t i = 0; i < desc.num_indices; ++i) {
    if (strcmp(desc.indices[i].map, name) != 0)
      continue;
    if (given)
      return fail(error, GNNC_INVALID_ARGUMENT, "map '%s' is given twice", name);
    given = &desc.indices[i];
  }
  if (!given) {
    maps[map].missing = true;
    return GNNC_OK;
  }
  if (given->bits != 32 && given->bits != 64)
    return fail(error, GNNC_INVALID_ARGUMENT, "map '%s': expected 32 or 64 bits, found %d", name, given->bits);
  int32_t format = given->format & ~GNNC_INDEX_ON_DEVICE;
  if (format != GNNC_INDEX_EACH && format != GNNC_INDEX_ROWS)
    return fail(error, GNNC_INVALID_ARGUMENT, "map '%s': expected format %d (each) or %d (rows), found %d", name,
                GNNC_INDEX_EACH, GNNC_INDEX_ROWS, given->format);
  if (format != given->format && !builder)
    return fail(error, GNNC_INVALID_ARGUMENT, "map '%s': expected data on the host, found it on a device", name);
  if (given->length > 0 && !given->data)
    return fail(error, GNNC_INVALID_ARGUMENT, "map '%s': expected %lld elements, found a null pointer", name,
                print(given->length));
  if (format != given->format &&
      reinterpret_cast<uintptr_t>(given->data) % static_cast<uintptr_t>(given->bits / 8) != 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "map '%s': expected an address that %d divides, found %p", name,
                given->bits / 8, given->data);
  return format == GNNC_INDEX_EACH ? readEach(*given, map) : readRows(*given, map);
}

/// The first missing one of what a space or map is made of; -1: none.
int64_t Topology::missingPart(int64_t number) const {
  auto first = [&](int64_t at, int64_t count, bool isMap) -> int64_t {
    for (int64_t i = 0; i < count; ++i)
      if (int64_t part = model.list(at)[i]; part >= 0 && isMissing(2 * part + isMap))
        return 2 * part + isMap;
    return -1;
  };
  auto ofSpace = [&](int64_t space) { return space >= 0 && spaces[space].missing ? 2 * space : -1; };
  if (number % 2 == 0) {
    const SpaceRec &space = model.space(number / 2);
    int64_t part = ofSpace(space.base);
    part = part < 0 ? first(space.mapsAt, space.numMaps, true) : part;
    return part < 0 ? first(space.partsAt, space.numParts, false) : part;
  }
  const MapRec &map = model.map(number / 2);
  int64_t part = ofSpace(map.from);
  part = part < 0 ? ofSpace(map.to) : part;
  return part < 0 ? first(map.partsAt, map.numParts, true) : part;
}

int64_t Topology::causeOf(int64_t number) const {
  for (int64_t part = number; part >= 0; part = missingPart(number))
    number = part;
  return number;
}

gnnc_status Topology::reportMissing(int64_t number) const {
  if (number % 2 == 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "space '%s': its extent is missing", spaceName(number / 2));
  const MapRec &record = model.map(number / 2);
  return fail(error, GNNC_INVALID_ARGUMENT, "map '%s' from space '%s' to space '%s' is missing", mapName(number / 2),
              spaceName(record.from), spaceName(record.to));
}

gnnc_status Topology::build(const gnnc_graph_desc &desc, int64_t *newExtents) {
  if (gnnc_status status = checkDesc(desc))
    return status;
  const Header &header = model.header();
  extents = newExtents;
  spaces = memory.array<SpaceData>(header.numSpaces);
  maps = memory.array<MapData>(header.numMaps);
  if (!spaces || !maps)
    return outOfMemory("model", "its spaces", header.numSpaces);
  for (int64_t i = 0; i < header.numSpaces; ++i) {
    extents[i] = 0;
    spaces[i] = SpaceData();
  }
  for (int64_t i = 0; i < header.numMaps; ++i)
    maps[i] = MapData();
  const int64_t *order = model.list(header.orderAt);
  for (int64_t i = 0; i < header.numOrder; ++i) {
    int64_t id = order[i] / 2;
    if (missingPart(order[i]) >= 0) {
      (order[i] % 2 ? maps[id].missing : spaces[id].missing) = true;
      continue;
    }
    bool isRoot = order[i] % 2 == 0 ? model.space(id).kind <= SpaceKind::Static : model.map(id).kind == MapKind::Root;
    // Elements with wrong targets have none on a device: what is made of them is of no use, but does no harm.
    gnnc_status status = isRoot || !builder ? GNNC_OK : startReading();
    if (!status && order[i] % 2 == 0)
      status = isRoot ? rootExtent(desc, id) : deriveSpace(id);
    else if (!status)
      status = isRoot ? rootMap(desc, id) : deriveMap(id);
    if (status) {
      // What is wrong with an earlier map comes first.
      gnnc_status earlier = builder ? finishReading() : GNNC_OK;
      return earlier ? earlier : status;
    }
  }
  return builder ? startReading() : GNNC_OK;
}

} // namespace gnnc::runtime
