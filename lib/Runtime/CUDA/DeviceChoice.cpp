//===- DeviceChoice.cpp - Steps that say where a map leads, on a GPU ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that prepare graphs make here what a run chooses, in memory of the workspace and without the host: nobody
// waits, so the worklist of a map to what is chosen has an item for each owner, however many members it has.
//
//===----------------------------------------------------------------------===//

#include "../Choose.h"
#include "Prepare.h"
#include "Worklist.h"
#include "gnnc/ModelFormat/PointTree.h"

extern const char gnnc_device_choices = 0;

namespace gnnc::runtime {

using namespace table;

gnnc_status Topology::deriveSelectionOnDevice(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *pair = record.numMaps ? model.list(record.mapsAt) : nullptr;
  // What was found out about root maps is needed: wrong targets have become -1, but are to be reported.
  extents[space] = 0;
  spaces[space].members = builder->selection(
      pair ? targets(pair[0]).data : nullptr, pair ? targets(pair[1]).data : nullptr,
      pair ? extents[model.map(pair[1]).to] : 1, extents[record.base], extents[record.of], record, extents[space]);
  if (builder->status)
    return builder->status;
  if (extents[space] > kMaxExtent)
    return fail(error, GNNC_UNSUPPORTED, "space '%s': expected at most %lld elements, found %lld", spaceName(space),
                static_cast<long long>(kMaxExtent), static_cast<long long>(extents[space]));
  return finishReading();
}

} // namespace gnnc::runtime

namespace gnnc::runtime::cuda {

using namespace table;

/// In the order of the enumerators.
static const char *const kChoiceKernels[kNumChoiceKernels] = {
    "gnnc_count_selection", "gnnc_list_selection", "gnnc_list_each",
    "gnnc_nearest_32",      "gnnc_nearest_64",     "gnnc_spread_owners",
    "gnnc_keep_flags_32",   "gnnc_keep_flags_64",  "gnnc_keep",
    "gnnc_score_keys_32",   "gnnc_score_keys_64",  "gnnc_take_first",
    "gnnc_find_cells_32",   "gnnc_find_cells_64",  "gnnc_count_within_32",
    "gnnc_count_within_64", "gnnc_list_within_32", "gnnc_list_within_64",
    "gnnc_farthest_32",     "gnnc_farthest_64",    "gnnc_point_bounds_32",
    "gnnc_point_bounds_64", "gnnc_point_codes_32", "gnnc_point_codes_64",
    "gnnc_tree_boxes_32",   "gnnc_tree_boxes_64",  "gnnc_nearest_tree_32",
    "gnnc_nearest_tree_64",
};

const char *choiceKernel(int64_t number) { return kChoiceKernels[number]; }

const int32_t *GraphBuilder::selection(const int32_t *own, const int32_t *others, int64_t groups, int64_t base,
                                       int64_t of, const SpaceRec &limits, int64_t &count) {
  bool hasMaps = limits.numMaps != 0;
  int32_t *sizes = hasMaps ? static_cast<int32_t *>(cleared(groups * 4)) : nullptr, *counts = temporary(base);
  if (hasMaps)
    each(CountGroups, of, others, of, sizes);
  each(CountSelection, base, own, others, sizes, base, of, limits.most, limits.others, limits.ratio, limits.ratioBits,
       counts);
  int32_t *places = sumsBefore(counts, base, count);
  int32_t *owners = limits.open ? nullptr : array(count);
  if (owners)
    each(ListSelection, base, counts, places, base, owners);
  release(counts);
  release(places);
  return owners;
}

/// Morton codes put points in order; a warp makes a node of the tree, and searches for a query.
void GraphBuilder::nearestInTree(const device::Nearest &search, const int32_t *belongs, int64_t groups, bool isDouble) {
  const int64_t points = search.numPoints, width = search.width, words = isDouble ? 2 : 1;
  void *bounds = cleared(2 * tree::kMostNumbers * sizeof(int32_t));
  each(isDouble ? PointBounds64 : PointBounds32, points, search.points, width, points, bounds);
  int32_t *codes = temporary(points);
  each(isDouble ? PointCodes64 : PointCodes32, points, search.points, bounds, width, points, codes);
  Sorted byCode;
  sort(codes, nullptr, points, (int64_t(1) << tree::kCodeBits) - 1, byCode);
  const int32_t *order = byCode.values;
  if (groups > 0) { // and not `belongs`, which is null where memory is counted
    Sorted byGroup;
    compose(order, belongs, points, codes);
    sort(codes, order, points, groups, byGroup);
    order = byGroup.values;
  }
  constexpr int64_t kLanes = 32, kNodesOfBlock = kThreads / 32, kQueriesOfBlock = device::kNearestThreads / 32;
  const tree::Shape shape(points, kLanes, kLanes);
  int32_t *sorted = temporary(points * width * words), *boxes = temporary(shape.all * 2 * width * words);
  auto boxesOf = [&](int level) { return boxes ? boxes + shape.offsets[level] * 2 * width * words : nullptr; };
  for (int level = 0; level < shape.levels; ++level)
    launch(isDouble ? TreeBoxes64 : TreeBoxes32, divideUp(shape.nodes[level], kNodesOfBlock), search.points, order,
           sorted, level > 0 ? boxesOf(level - 1) : nullptr, width, level > 0 ? shape.nodes[level - 1] : points,
           boxesOf(level));
  device::NearestTree own = {};
  own.points = sorted;
  own.queries = search.queries;
  own.owners = search.owners;
  own.groups = search.groups;
  own.pointers = search.pointers;
  own.order = order;
  own.places = search.queries == search.points && search.numQueries == points ? order : nullptr;
  own.boxes = boxes;
  own.chosen = search.chosen;
  own.numQueries = search.numQueries;
  own.numPoints = points;
  own.width = width;
  own.others = search.others;
  own.levels = shape.levels;
  for (int level = 0; level < shape.levels; ++level) {
    own.nodes[level] = shape.nodes[level];
    own.offsets[level] = shape.offsets[level];
  }
  static_assert(sizeof own % sizeof(int64_t) == 0);
  launchWords(isDouble ? NearestTree64 : NearestTree32, divideUp(search.numQueries, kQueriesOfBlock),
              reinterpret_cast<int64_t *>(&own), sizeof own / sizeof(int64_t), device::kNearestThreads);
}

void GraphBuilder::nearest(device::Nearest search, const int32_t *belongs, int64_t groups, int64_t fewest, int64_t most,
                           bool isDouble) {
  // Of no more points in a group, on average, each other is tried.
  constexpr int64_t kFewPoints = 1000, kLanes = 32;
  if (search.width <= tree::kMostNumbers && most <= kLanes && search.numPoints > kFewPoints * fewest)
    return nearestInTree(search, belongs, groups, isDouble);
  int64_t blocks = divideUp(search.numQueries, isDouble ? device::kQueriesOfBlock64 : device::kQueriesOfBlock32);
  static_assert(sizeof search % sizeof(int64_t) == 0);
  launchWords(isDouble ? Nearest64 : Nearest32, blocks, reinterpret_cast<int64_t *>(&search),
              sizeof search / sizeof(int64_t), device::kNearestThreads);
}

void GraphBuilder::within(device::Within search, int64_t groups, bool isDouble, int64_t most) {
  // Of no more points in a group, on average, each other is tried; so are those of more than three numbers.
  constexpr int64_t kFewPoints = 64, kMostNumbers = 3;
  int64_t queries = search.numQueries, points = search.numPoints;
  int32_t *counts = temporary(queries);
  if (search.width <= kMostNumbers && points > kFewPoints * groups) {
    int32_t *lists = temporary(points);
    each(isDouble ? FindCells64 : FindCells32, points, search.points, search.belongs, search.width, search.square,
         points, lists);
    Grouping grouping;
    group(lists, points, points, /*inOrder=*/false, /*undefined=*/0, nullptr, /*wantsMembers=*/true, nullptr, grouping);
    search.lists = grouping.pointers;
    search.listed = grouping.members;
    if (search.queries == search.points)
      search.order = grouping.members;
  }
  int32_t *pointers = search.owners;
  search.owners = counts;
  static_assert(sizeof search % sizeof(int64_t) == 0);
  constexpr int64_t kWords = sizeof search / sizeof(int64_t), kThreads = device::kWithinThreads, kLanes = 32;
  auto *words = reinterpret_cast<int64_t *>(&search);
  int64_t blocks = divideUp(queries * kLanes, kThreads);
  launchWords(isDouble ? CountWithin64 : CountWithin32, blocks, words, kWords, kThreads);
  copy(pointers, sumsBefore(counts, queries, pointers ? pointers + queries : nullptr), queries);
  fill(pointers ? pointers + queries + 1 : nullptr, 1, static_cast<uint32_t>(most));
  fill(search.chosen, most, ~uint32_t(0));
  search.owners = pointers;
  launchWords(isDouble ? ListWithin64 : ListWithin32, blocks, words, kWords, kThreads);
}

void GraphBuilder::top(const void *scores, bool isDouble, const int32_t *groups, int64_t numGroups,
                       const int32_t *pointers, const int32_t *owners, int64_t count, int32_t *chosen) {
  constexpr int64_t kBits = 16;
  int32_t *keys = temporary(count);
  const int32_t *order = nullptr;
  for (int64_t shift = 0; shift < (isDouble ? 64 : 32); shift += kBits) {
    Sorted sorted;
    each(isDouble ? ScoreKeys64 : ScoreKeys32, count, scores, order, shift, count, keys);
    sort(keys, order, count, (int64_t(1) << kBits) - 1, sorted);
    order = sorted.values;
  }
  Sorted sorted;
  compose(order, groups, count, keys);
  sort(keys, order, count, numGroups, sorted);
  each(TakeFirst, count, sorted.values, groups, pointers, owners, count, chosen);
}

void GraphBuilder::farthest(device::Farthest search, int64_t count, bool isDouble) {
  search.nearest = temporary(isDouble ? 2 * count : count);
  static_assert(sizeof search % sizeof(int64_t) == 0);
  launchWords(isDouble ? Farthest64 : Farthest32, search.numGroups, reinterpret_cast<int64_t *>(&search),
              sizeof search / sizeof(int64_t), device::kFarthestThreads);
}

void GraphBuilder::keep(const void *condition, bool isDouble, int64_t extent, int64_t most, int32_t *pointers,
                        int32_t *chosen) {
  int32_t *flags = temporary(most);
  each(isDouble ? KeepFlags64 : KeepFlags32, most, condition, extent, most, flags);
  int32_t *places = sumsBefore(flags, most, pointers ? pointers + most : nullptr);
  fill(pointers ? pointers + most + 1 : nullptr, 1, static_cast<uint32_t>(most));
  fill(chosen, most, ~uint32_t(0));
  each(Keep, most, flags, places, most, pointers, chosen);
}

void GraphBuilder::lastInto(const int32_t *map, int64_t count, int64_t extent, int32_t *results) {
  fill(results, extent, ~uint32_t(0));
  each(Last, count, map, count, results);
}

void GraphBuilder::spreadOwners(const int32_t *pointers, int64_t owners, int64_t most, int32_t *result) {
  fill(result, most, ~uint32_t(0));
  each(SpreadOwners, owners, pointers, owners, result);
}

void GraphBuilder::listEach(const int32_t *pointers, int64_t owners, void *items) {
  each(ListEach, owners, pointers, owners, items);
}

/// The number of an index array that says how many elements a function's steps have chosen of an open space.
static int64_t openPointers(const Call &call, int64_t space) {
  const Model &model = call.graph.model;
  const FunctionRec &function = call.record();
  const auto *list = reinterpret_cast<const ChosenRec *>(model.list(function.chosenAt));
  for (int64_t k = 0; k < function.numChosen; ++k)
    if (list[k].index >= 0 && model.index(list[k].index).kind == IndexKind::Pointers)
      if (const MapRec &map = model.map(list[k].map); map.kind == MapKind::Owner && map.from == space)
        return list[k].index;
  return -1;
}

/// How many elements a space has in a call, as kernels are told (device::Extent).
static int64_t extentWord(const Call &call, int64_t space) {
  const Model &model = call.graph.model;
  if (!model.space(space).open)
    return call.graph.extents[space];
  const auto *pointers = static_cast<const int32_t *>(chosenArray(call, openPointers(call, space)));
  return -reinterpret_cast<int64_t>(pointers + call.graph.extents[model.space(space).base]);
}

bool chosenWord(const Call &call, int64_t step, int64_t launch, const WordRec &word, int64_t &value) {
  const Model &model = call.graph.model;
  auto itemsOf = [&](int64_t map) { return reinterpret_cast<int64_t>(chosenArray(call, -1, map)); };
  switch (word.kind) {
  case WordKind::Index:
    value = reinterpret_cast<int64_t>(chosenArray(call, word.number));
    return model.index(word.number).isChosen;
  case WordKind::Items:
    value = itemsOf(word.number);
    return isChosenMap(model, word.number);
  case WordKind::PartItems: {
    int64_t part = model.deviceStep(step).firstLaunch + word.number, map = model.launch(part).symbol;
    value = itemsOf(map) + call.graph.device->items[part].first * static_cast<int64_t>(sizeof(Item));
    return isChosenMap(model, model.launch(launch).symbol);
  }
  case WordKind::Extent:
    value = word.number < 0 ? 1 : extentWord(call, word.number);
    return true;
  default:
    return false;
  }
}

namespace {

/// What one step makes. Without a call there are no addresses, and nothing is launched.
class DeviceChoice {
public:
  DeviceChoice(const gnnc_graph &graph, int64_t step, const Call *call, GraphBuilder &builder)
      : graph(graph), model(graph.model), step(model.step(step)), call(call), builder(builder) {}

  void make() {
    search();
    const auto *made = reinterpret_cast<const ChosenRec *>(model.list(step.chosenAt));
    for (int64_t k = 0; k < step.numChosen; ++k)
      make(made, made[k]);
  }

private:
  /// Memory is counted for the largest graph that an update may bring.
  bool isForAll() const { return !call && graph.capacities; }
  int64_t extent(int64_t space) const { return isForAll() ? graph.capacities[space] : graph.extents[space]; }
  /// How many groups what is chosen from is in, and at least: the fewer, the larger they may be.
  int64_t groupsOf(const SpaceRec &selection) const {
    return selection.numMaps ? extent(model.map(model.list(selection.mapsAt)[1]).to) : 0;
  }
  int64_t fewestGroups(const SpaceRec &selection) const {
    int64_t groups = isForAll() ? 1 : groupsOf(selection);
    return groups > 0 ? groups : 1;
  }
  template <typename T> T *buffer(int64_t number) const {
    return call ? static_cast<T *>(call->pointer(number)) : nullptr;
  }
  const int32_t *index(int64_t number) const {
    if (!call)
      return nullptr;
    return model.index(number).isChosen ? static_cast<const int32_t *>(chosenArray(*call, number))
                                        : reinterpret_cast<const int32_t *>(graph.device->indices[number]);
  }
  const int32_t *array(IndexKind kind, int64_t map) const {
    for (int64_t k = 0; k < step.numIndices; ++k) {
      int64_t number = model.list(step.indicesAt)[k];
      if (const IndexRec &record = model.index(number); record.kind == kind && record.map == map)
        return index(number);
    }
    return nullptr;
  }

  void search() {
    const SpaceRec &selection = model.space(step.space);
    const int64_t *buffers = model.list(step.buffersAt), *indices = model.list(step.indicesAt);
    bool isDouble = model.buffer(buffers[1]).dtypeBits == 64, hasMaps = selection.numMaps != 0;
    auto own = [&](int64_t number) { return const_cast<int32_t *>(index(indices[number])); };
    switch (step.kind) {
    case StepKind::Keep:
      return builder.keep(buffer<void>(buffers[1]), isDouble, call ? extentWord(*call, selection.base) : 0,
                          extent(selection.base), own(0), buffer<int32_t>(buffers[0]));
    case StepKind::Top:
      return builder.top(buffer<void>(buffers[1]), isDouble, own(5), extent(selection.base), own(2), own(0),
                         extent(selection.of), buffer<int32_t>(buffers[0]));
    case StepKind::Farthest: {
      device::Farthest search = {};
      search.points = buffer<void>(buffers[1]);
      search.start = step.number ? buffer<void>(buffers[2]) : nullptr;
      search.pointers = own(2);
      search.members = own(3);
      search.owners = own(0);
      search.chosen = buffer<int>(buffers[0]);
      search.numGroups = extent(selection.base);
      search.width = model.buffer(buffers[1]).rowElements;
      return builder.farthest(search, extent(selection.of), isDouble);
    }
    case StepKind::Within: {
      device::Within search = {};
      search.points = buffer<void>(buffers[1]);
      search.queries = buffer<void>(buffers[2]);
      if (hasMaps) {
        search.groups = own(1);
        search.pointers = own(2);
        search.members = own(3);
        search.belongs = own(5);
      }
      search.owners = own(0);
      search.chosen = buffer<int>(buffers[0]);
      search.numQueries = extent(selection.base);
      search.numPoints = extent(selection.of);
      search.width = model.buffer(buffers[1]).rowElements;
      search.most = selection.most;
      search.others = selection.others;
      search.square = step.number;
      return builder.within(search, fewestGroups(selection), isDouble, extent(step.space));
    }
    default:
      break;
    }
    device::Nearest search = {};
    search.chosen = buffer<int>(buffers[0]);
    search.points = buffer<void>(buffers[1]);
    search.queries = buffer<void>(buffers[2]);
    search.owners = index(indices[0]);
    search.groups = selection.numMaps ? index(indices[1]) : nullptr;
    search.pointers = selection.numMaps ? index(indices[2]) : nullptr;
    search.members = selection.numMaps ? index(indices[3]) : nullptr;
    search.order = selection.numMaps ? index(indices[4]) : nullptr;
    search.numQueries = extent(selection.base);
    search.numPoints = extent(selection.of);
    search.width = model.buffer(buffers[1]).rowElements;
    search.others = selection.others;
    builder.nearest(search, hasMaps ? own(5) : nullptr, groupsOf(selection), fewestGroups(selection), selection.most,
                    isDouble);
  }

  void make(const ChosenRec *made, const ChosenRec &record) {
    const MapRec &map = model.map(record.map);
    if (record.index >= 0 && map.kind == MapKind::Owner && model.index(record.index).kind == IndexKind::Members) {
      builder.iota(buffer<int32_t>(record.buffer), extent(map.from)); // in order
      return;
    }
    auto *result = buffer<int32_t>(record.buffer);
    int64_t elements = extent(map.from), owners = extent(map.to);
    if (record.index < 0)
      return builder.listEach(array(IndexKind::Pointers, record.map), owners, result);
    const IndexRec &wanted = model.index(record.index);
    switch (wanted.kind) {
    case IndexKind::Raw:
      return follow(record.map, result);
    case IndexKind::Sorted:
      builder.compose(array(IndexKind::Members, wanted.map), array(IndexKind::Raw, wanted.other), elements, result);
      return;
    case IndexKind::Pointers: {
      const ChosenRec *members = nullptr;
      for (int64_t k = 0; k < step.numChosen; ++k)
        if (made[k].map == record.map && made[k].index >= 0 && model.index(made[k].index).kind == IndexKind::Members)
          members = made + k;
      Grouping grouping;
      builder.group(array(IndexKind::Raw, record.map), elements, owners, /*inOrder=*/false, /*undefined=*/0, nullptr,
                    /*wantsMembers=*/members, nullptr, grouping);
      builder.copy(result, grouping.pointers, owners + 1);
      if (members)
        builder.copy(buffer<int32_t>(members->buffer), grouping.members, elements);
      return;
    }
    default: // Members were made with Pointers.
      return;
    }
  }

  /// A map that is made of others.
  void follow(int64_t number, int32_t *result) {
    const MapRec &map = model.map(number);
    const int64_t *parts = model.list(map.partsAt);
    if (map.kind == MapKind::Owner) // of an open selection, which pointers say
      return builder.spreadOwners(array(IndexKind::Pointers, number), extent(map.to), extent(map.from), result);
    if (map.kind == MapKind::Last) {
      builder.lastInto(array(IndexKind::Raw, parts[0]), extent(map.to), extent(map.from), result);
      return;
    }
    if (map.kind == MapKind::Compose) {
      builder.compose(array(IndexKind::Raw, parts[0]), array(IndexKind::Raw, parts[1]), extent(map.from), result);
      return;
    }
    const int64_t *spaces = model.list(model.space(map.from).partsAt);
    for (int64_t part = 0; part < map.numParts; ++part) {
      int64_t size = extent(spaces[part]);
      if (parts[part] == kIdentity)
        builder.iota(result, size);
      else if (parts[part] < 0)
        builder.fill(result, size, ~uint32_t(0));
      else
        builder.copy(result, array(IndexKind::Raw, parts[part]), size);
      if (result)
        result += size;
    }
  }

  const gnnc_graph &graph;
  const Model &model;
  const StepRec &step;
  const Call *call;
  GraphBuilder &builder;
};

} // namespace

int64_t choiceBytes(const gnnc_graph &graph, int64_t step) {
  Memory lists(graph.memory.getAllocator());
  GraphBuilder builder(graph.device->device, nullptr, lists, nullptr);
  builder.startIn(nullptr);
  DeviceChoice(graph, step, nullptr, builder).make();
  return builder.numUsed();
}

gnnc_status Device::runChoice(const Call &call, int64_t number, Handle stream) const {
  const Model &model = call.graph.model;
  if (call.recorder)
    return fail(call.error, GNNC_UNSUPPORTED,
                "a recorded run on a graph with capacities: the model chooses space '%s' by values, whose size is "
                "fixed once recorded; record it on a graph without capacities",
                model.name(model.space(model.step(number).space).name));
  if (gnnc_status status = loadPreparation(call.error))
    return status;
  Memory lists(call.graph.memory.getAllocator());
  GraphBuilder builder(*this, stream, lists, call.error);
  int64_t scratch = model.deviceStep(number).firstScratch;
  builder.startIn(call.workspace + call.function().arenaAt + call.graph.device->scratch[scratch]);
  DeviceChoice(call.graph, number, &call, builder).make();
  return builder.status;
}

} // namespace gnnc::runtime::cuda
