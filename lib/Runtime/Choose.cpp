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
#include "gnnc/ModelFormat/PointTree.h"
#include <string.h>

extern const char gnnc_choices = 0;

namespace gnnc::runtime {

using namespace table;

/// Elements behind those that are there lead nowhere.
static void leadNowhere(int32_t *targets, int64_t begin, int64_t end) {
  if (begin < end)
    memset(targets + begin, -1, (end - begin) * sizeof(int32_t));
}

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
    if (map.kind == MapKind::Owner && index.kind == IndexKind::Members) { // in order
      for (int64_t i = 0, end = extents[map.from]; i < end; ++i)
        result[i] = static_cast<int32_t>(i);
      return;
    }
    switch (index.kind) {
    case IndexKind::Raw:
      return follow(index.map, result);
    case IndexKind::Pointers:
      return count(index.map, extents[map.from], extents[map.to], result);
    case IndexKind::Sorted: {
      const int32_t *members = array(IndexKind::Members, index.map), *other = array(IndexKind::Raw, index.other);
      for (int64_t i = 0, end = extents[map.from]; i < end; ++i)
        result[i] = members[i] < 0 ? -1 : other[members[i]];
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
  void follow(int64_t number, int32_t *result) const {
    const MapRec &map = model.map(number);
    const int64_t *parts = model.list(map.partsAt);
    if (map.kind == MapKind::Owner) { // of an open selection, which pointers say
      const int32_t *pointers = array(IndexKind::Pointers, number);
      for (int64_t owner = 0; owner < extents[map.to]; ++owner)
        for (int32_t i = pointers[owner]; i < pointers[owner + 1]; ++i)
          result[i] = static_cast<int32_t>(owner);
      return leadNowhere(result, pointers[extents[map.to]], extents[map.from]);
    }
    if (map.kind == MapKind::Last) {
      const int32_t *targets = array(IndexKind::Raw, parts[0]);
      leadNowhere(result, 0, extents[map.from]);
      for (int64_t i = 0, end = extents[map.to]; i < end; ++i)
        if (targets[i] >= 0)
          result[targets[i]] = static_cast<int32_t>(i);
      return;
    }
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
    leadNowhere(members, next[owners], elements);
  }

  const Call &call;
  const Model &model;
  const int64_t *extents;
  const StepRec &step;
  const int32_t *const *indices;
};

/// A part of a search that blocks of rows are shared out for.
template <typename Search> struct SearchCall {
  const Search &search;
  int64_t rows, blockRows;
  void (*run)(const Search &search, int64_t begin, int64_t end);
};

} // namespace

template <typename Search> static void runSearch(const void *argument, int64_t block) {
  const auto &call = *static_cast<const SearchCall<Search> *>(argument);
  int64_t begin = block * call.blockRows, end = begin + call.blockRows;
  call.run(call.search, begin, end < call.rows ? end : call.rows);
}

template <typename Search>
static void runInBlocks(gnnc_context &context, const Search &search, int64_t rows, int64_t blockRows,
                        void (*run)(const Search &search, int64_t begin, int64_t end)) {
  SearchCall<Search> call{search, rows, blockRows, run};
  context.pool.run((rows + blockRows - 1) / blockRows, runSearch<Search>, &call);
}

/// Where numbers of each owner begin, from how many it has, which stand one place behind.
static void addUp(int32_t *pointers, int64_t owners) {
  pointers[0] = 0;
  for (int64_t i = 0; i < owners; ++i)
    pointers[i + 1] += pointers[i];
}

static void keep(const Candidates &from, const void *condition, bool isDouble, int64_t elements, int64_t most) {
  int32_t count = 0;
  for (int64_t i = 0; i < most; ++i) {
    from.owners[i] = count;
    double own = i >= elements ? 0
                 : isDouble    ? static_cast<const double *>(condition)[i]
                               : static_cast<double>(static_cast<const float *>(condition)[i]);
    if (own < 0 || own > 0) // and not if it is no number
      from.chosen[count++] = static_cast<int32_t>(i);
  }
  from.owners[most] = count;
}

const int32_t *const *followChoices(const Call &call, const StepRec &record, const PreparedStep &step,
                                    const int32_t **room) {
  const Model &model = call.graph.model;
  for (int64_t k = 0; k < record.numIndices; ++k) {
    int64_t index = model.list(record.indicesAt)[k];
    room[k] = model.index(index).isChosen ? static_cast<const int32_t *>(chosenArray(call, index)) : step.indices[k];
  }
  return room;
}

const int64_t *followExtents(const Call &call, int64_t step, int64_t *room, Partition &partition) {
  const Model &model = call.graph.model;
  const FunctionRec &function = call.record();
  const int64_t *extents = call.graph.extents;
  memcpy(room, extents, model.header().numSpaces * sizeof *room);
  const auto *list = reinterpret_cast<const ChosenRec *>(model.list(function.chosenAt));
  for (int64_t k = 0; k < function.numChosen; ++k) {
    const MapRec &map = model.map(list[k].map);
    if (list[k].index < 0 || model.index(list[k].index).kind != IndexKind::Pointers || map.kind != MapKind::Owner ||
        model.buffer(list[k].buffer).first >= step - function.firstStep)
      continue;
    room[map.from] = static_cast<const int32_t *>(call.pointer(list[k].buffer))[extents[map.to]];
  }
  const StepRec &record = model.step(step);
  int64_t rows = record.kind == StepKind::Rows ? record.space : record.map >= 0 ? model.map(record.map).to : -1;
  if (rows >= 0 && !partition.begin && room[rows] < partition.rows) {
    partition.rows = room[rows];
    partition.blocks = (partition.rows + partition.blockRows - 1) / partition.blockRows;
  }
  return room;
}

void choose(gnnc_context &context, const Call &call, const StepRec &record, const PreparedStep &step,
            void *const *buffers, const int64_t *extents) {
  const Model &model = call.graph.model;
  const SpaceRec &selection = model.space(record.space);
  const BufferRec &deciding = model.buffer(model.list(record.buffersAt)[1]);
  const int32_t *const *indices = followChoices(
      call, record, step, reinterpret_cast<const int32_t **>(call.workspace + call.function().stepIndicesAt));
  bool isDouble = deciding.dtypeBits == 64;
  Candidates from;
  from.chosen = static_cast<int32_t *>(buffers[0]);
  from.count = call.graph.extents[selection.of];
  from.owners = const_cast<int32_t *>(indices[0]); // of an open selection the step's own
  from.others = selection.others != 0;
  if (selection.numMaps) {
    from.groups = model.list(selection.mapsAt)[0] == kIdentity ? nullptr : indices[1];
    from.pointers = indices[2];
    from.members = indices[3];
  }
  const Partition &blocks = step.partition;
  constexpr int64_t kPointsPerBlock = 4096;
  switch (record.kind) {
  case StepKind::Keep:
    keep(from, buffers[1], isDouble, extents[selection.base], call.graph.extents[selection.base]);
    break;
  case StepKind::Top: {
    TopSearch search{from, buffers[1], isDouble};
    runInBlocks(context, search, blocks.rows, blocks.blockRows, findTop);
    break;
  }
  case StepKind::Farthest: {
    bool hasStart = record.number != 0;
    FarthestSearch search{
        from, buffers[1], hasStart ? buffers[2] : nullptr, buffers[hasStart ? 3 : 2], deciding.rowElements, isDouble};
    runInBlocks(context, search, blocks.rows, blocks.blockRows, findFarthest);
    break;
  }
  case StepKind::Within: {
    const int32_t *belongs = selection.numMaps ? indices[5] : nullptr;
    int64_t groups = selection.numMaps ? extents[model.map(model.list(selection.mapsAt)[1]).to] : 1;
    WithinSearch search{from,          buffers[1], buffers[2],           static_cast<int32_t *>(buffers[3]),
                        belongs,       groups,     deciding.rowElements, selection.most,
                        record.number, isDouble};
    search.cellCount = fillCells(search);
    runInBlocks(context, search, blocks.rows, blocks.blockRows, countWithin);
    addUp(from.owners, blocks.rows);
    runInBlocks(context, search, blocks.rows, blocks.blockRows, listWithin);
    break;
  }
  default: {
    bool hasTree = deciding.rowElements <= tree::kMostNumbers; // as ChoiceRecords.cpp has it
    NearestSearch search{from,
                         buffers[1],
                         buffers[2],
                         buffers[4],
                         buffers[3],
                         deciding.rowElements,
                         isDouble,
                         context.variant->level,
                         hasTree ? static_cast<int32_t *>(buffers[5]) : nullptr,
                         selection.numMaps ? indices[5] : nullptr,
                         selection.numMaps ? extents[model.map(model.list(selection.mapsAt)[1]).to] : 1};
    if (!hasTree || !hasManyPoints(search)) {
      runInBlocks(context, search, from.count, kPointsPerBlock, fillColumns);
      runInBlocks(context, search, blocks.rows, blocks.blockRows, findNearest);
      break;
    }
    sortPoints(search);
    search.from.members = search.tree;
    runInBlocks(context, search, from.count, kPointsPerBlock, fillColumns);
    boxPoints(search);
    runInBlocks(context, search, blocks.rows, blocks.blockRows, findNearestInTree);
  }
  }
  if (selection.open)
    leadNowhere(from.chosen, from.owners[call.graph.extents[selection.base]], call.graph.extents[record.space]);

  ChosenArrays arrays(call, record, indices);
  const auto *made = reinterpret_cast<const ChosenRec *>(model.list(record.chosenAt));
  for (int64_t k = 0; k < record.numChosen; ++k)
    arrays.make(made[k]);
}

} // namespace gnnc::runtime
