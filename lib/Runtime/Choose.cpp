//===- Choose.cpp - Steps that say where a map leads ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of owners are searched for by threads. What is made of the result afterwards are the arrays that a graph's
// preparation makes of other maps (Derive.cpp, Indices.cpp), in memory that is there already.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include <string.h>

extern const char gnnc_choices = 0;

namespace gnnc::runtime {

using namespace table;

namespace {

/// Makes the arrays of one choosing step.
class ChosenArrays {
public:
  ChosenArrays(const Call &call, const StepRec &step, const int32_t *const *indices)
      : call(call), model(call.graph.model), extents(call.graph.extents), step(step), indices(indices) {}

  void make(const ChosenRec &record) {
    const IndexRec &index = model.index(record.index);
    const MapRec &map = model.map(index.map);
    auto *result = static_cast<int32_t *>(call.pointer(record.buffer));
    switch (index.kind) {
    case IndexKind::Raw:
      return follow(map, result);
    case IndexKind::Pointers:
      return count(index.map, extents[map.from], extents[map.to], result);
    case IndexKind::Sorted: {
      const int32_t *members = array(IndexKind::Members, index.map), *other = array(IndexKind::Raw, index.other);
      for (int64_t i = 0, end = extents[map.from]; i < end; ++i)
        result[i] = other[members[i]];
      return;
    }
    default:
      return sort(index.map, extents[map.from], extents[map.to], result);
    }
  }

private:
  const int32_t *array(IndexKind kind, int64_t map) const {
    for (int64_t k = 0; k < step.numIndices; ++k) {
      const IndexRec &index = model.index(model.list(step.indicesAt)[k]);
      if (index.kind == kind && index.map == map)
        return indices[k];
    }
    return nullptr;
  }

  /// A map that is made of others.
  void follow(const MapRec &map, int32_t *result) const {
    const int64_t *parts = model.list(map.partsAt);
    if (map.kind == MapKind::Compose) {
      const int32_t *inner = array(IndexKind::Raw, parts[0]), *outer = array(IndexKind::Raw, parts[1]);
      for (int64_t i = 0, end = extents[map.from]; i < end; ++i)
        result[i] = inner[i] < 0 ? -1 : outer[inner[i]];
      return;
    }
    const int64_t *spaces = model.list(model.space(map.from).partsAt);
    for (int64_t part = 0; part < map.numParts; ++part) {
      int64_t size = extents[spaces[part]];
      const int32_t *targets = parts[part] >= 0 ? array(IndexKind::Raw, parts[part]) : nullptr;
      for (int64_t i = 0; i < size; ++i)
        result[i] = targets ? targets[i] : parts[part] == kIdentity ? static_cast<int32_t>(i) : -1;
      result += size;
    }
  }

  void count(int64_t map, int64_t elements, int64_t owners, int32_t *pointers) const {
    const int32_t *targets = array(IndexKind::Raw, map);
    memset(pointers, 0, (owners + 1) * sizeof(int32_t));
    for (int64_t i = 0; i < elements; ++i)
      if (targets[i] >= 0)
        ++pointers[targets[i] + 1];
    for (int64_t j = 0; j < owners; ++j)
      pointers[j + 1] += pointers[j];
  }

  void sort(int64_t map, int64_t elements, int64_t owners, int32_t *members) const {
    const int32_t *targets = array(IndexKind::Raw, map);
    // Each walks from its owner's start to its end, which is where the next one starts; then they are moved back.
    auto *next = const_cast<int32_t *>(array(IndexKind::Pointers, map));
    for (int64_t i = 0; i < elements; ++i)
      if (targets[i] >= 0)
        members[next[targets[i]]++] = static_cast<int32_t>(i);
    memmove(next + 1, next, owners * sizeof(int32_t));
    next[0] = 0;
  }

  const Call &call;
  const Model &model;
  const int64_t *extents;
  const StepRec &step;
  const int32_t *const *indices;
};

struct SearchCall {
  const NearestSearch &search;
  int64_t rows, blockRows;
};

} // namespace

static void runColumns(const void *argument, int64_t block) {
  const auto &call = *static_cast<const SearchCall *>(argument);
  int64_t begin = block * call.blockRows, end = begin + call.blockRows;
  fillColumns(call.search, begin, end < call.rows ? end : call.rows);
}

static void runSearch(const void *argument, int64_t block) {
  const auto &call = *static_cast<const SearchCall *>(argument);
  int64_t begin = block * call.blockRows, end = begin + call.blockRows;
  findNearest(call.search, begin, end < call.rows ? end : call.rows);
}

void choose(gnnc_context &context, const Call &call, const StepRec &record, const PreparedStep &step,
            void *const *buffers) {
  const Model &model = call.graph.model;
  const SpaceRec &selection = model.space(record.space);
  const int64_t *list = model.list(record.buffersAt);
  const int32_t *const *indices = followChoices(
      call, record, step, reinterpret_cast<const int32_t **>(call.workspace + call.function().stepIndicesAt));
  NearestSearch search;
  search.chosen = static_cast<int32_t *>(buffers[0]);
  search.points = buffers[1];
  search.queries = buffers[2];
  search.distances = buffers[3];
  search.columns = buffers[4];
  search.width = model.buffer(list[1]).rowElements;
  search.isDouble = model.buffer(list[1]).dtypeBits == 64;
  search.others = selection.others != 0;
  search.owners = indices[0];
  search.groups = selection.numMaps ? indices[1] : nullptr;
  search.pointers = selection.numMaps ? indices[2] : nullptr;
  search.members = selection.numMaps ? indices[3] : nullptr;
  int64_t points = call.graph.extents[selection.of];
  search.count = points;
  search.level = context.variant->level;

  constexpr int64_t kPointsPerBlock = 4096;
  SearchCall columns{search, search.count, kPointsPerBlock};
  context.pool.run((search.count + kPointsPerBlock - 1) / kPointsPerBlock, runColumns, &columns);
  SearchCall owners{search, step.partition.rows, step.partition.blockRows};
  context.pool.run(step.partition.blocks, runSearch, &owners);

  ChosenArrays arrays(call, record, indices);
  const auto *made = reinterpret_cast<const ChosenRec *>(model.list(record.chosenAt));
  for (int64_t k = 0; k < record.numChosen; ++k)
    arrays.make(made[k]);
}

} // namespace gnnc::runtime
