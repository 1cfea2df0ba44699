//===- LaunchItems.cpp - Which items a launch takes -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchItems.h"
#include "../Graph.h"
#include "Worklist.h"

namespace gnnc::runtime::cuda {

using namespace table;

/// Items for each processor that are few.
constexpr int64_t kFewItems = 16;

ItemRange chooseItems(const DeviceWorklist &list, int64_t members, int64_t least, int64_t below) {
  if (list.bySize) {
    auto atLeast = [&](int64_t size) {
      if (size <= 0)
        return list.numItems;
      int k = 0;
      while (k + 1 < kNumSizes && int64_t(1) << k < size)
        ++k;
      return list.largest[k];
    };
    int64_t first = below < 0 ? 0 : atLeast(below), end = atLeast(least);
    return {first, end > first ? end - first : 0};
  }
  int64_t items = list.numItems > 0 ? list.numItems : 1;
  bool isOwn = members >= least * items && (below < 0 || members < below * items);
  return {0, isOwn ? list.numItems : 0};
}

/// Warps for each processor that are few: it has room for as many at once.
constexpr int64_t kFewWarps = 64;
/// Where there are few, owners have more groups of lanes each, from so many times fewer members on: the GPU would
/// otherwise wait for the longest owners, and a group without a member costs no more than an idle warp.
constexpr int64_t kFiner = 4;

/// An owner with fewer members has few; so has a graph's owner on average, where such owners have a schedule of their
/// own.
constexpr int64_t kFewMembers = 4;

/// Which sizes the schedules of a step take, `finer` times smaller ones than by default. Returns the warps of all.
static int64_t decideSizes(gnnc_graph &graph, int64_t step, int64_t processors, const Tuning &tuning, int64_t finer) {
  const Model &model = graph.model;
  DeviceGraph &result = *graph.device;
  Schedules schedules = schedulesOf(model, step);
  int64_t below = -1, warps = 0;
  for (int64_t i = schedules.first; i < schedules.first + schedules.count; ++i) {
    const LaunchRec &launch = model.launch(i);
    const DeviceWorklist &list = result.worklists[launch.symbol];
    bool isTuned = tuning.least && tuning.least[i] >= 0 && tuning.bySize[i] == list.bySize;
    int64_t least = isTuned ? tuning.least[i] : launch.leastMembers;
    if (!isTuned && !launch.wholeBlocks && least > 0) // all alike, so that they keep falling
      least = least > finer ? least / finer : 1;
    // By owner, items are of much the same size: they keep the GPU busy with a warp each, unless they are few.
    if (launch.wholeBlocks && !isTuned && !list.bySize && list.numItems >= kFewItems * processors)
      least = INT32_MAX;
    const int64_t members = graph.extents[model.map(launch.symbol).from];
    // One member in flight leaves room for more owners, which a GPU that is not full has already.
    bool isBeforeFew = i + 1 < schedules.first + schedules.count && model.launch(i + 1).isFew;
    if (isBeforeFew && !isTuned && finer == 1 && members < kFewMembers * list.numItems)
      least = below < 0 || below > kFewMembers ? kFewMembers : below;
    result.items[i] = chooseItems(list, members, least, below);
    result.sizes[i] = {least, below, isTuned};
    below = least;
    if (launch.isFew && result.items[i].count > 0) {
      // By size, those with a slot are never among the smaller ones.
      int64_t slots = list.numSlots, &first = result.items[i].first;
      if (first < slots) {
        result.items[schedules.first] = {0, slots};
        result.items[i].count -= slots - first;
        first = slots;
      }
    }
    warps += result.items[i].count * launch.threads / (32 * launch.perBlock);
  }
  return warps;
}

gnnc_status decideGrids(gnnc_graph &graph, const Device &device, const Tuning &tuning, gnnc_error *error) {
  const Model &model = graph.model;
  const Header &header = model.header();
  DeviceGraph &result = *graph.device;
  for (int64_t i = 0; i < header.numLaunches; ++i)
    result.items[i] = {}, result.sizes[i] = {};
  for (int64_t i = 0; i < header.numSteps; ++i)
    if (decideSizes(graph, i, device.processors(), tuning, 1) < kFewWarps * device.processors())
      decideSizes(graph, i, device.processors(), tuning, kFiner);
  for (int64_t i = 0; i < header.numLaunches; ++i) {
    const LaunchRec &launch = model.launch(i);
    int64_t count = 1, mostCount = 1;
    auto ofMap = [&](int64_t map, int64_t now, int64_t (*mostOf)(int64_t owners, int64_t members)) {
      count = mostCount = now;
      if (graph.capacities)
        mostCount = mostOf(graph.capacities[model.map(map).to], graph.capacities[model.map(map).from]);
    };
    switch (launch.grid) {
    case GridKind::Items:
      ofMap(launch.symbol, result.items[i].count, mostItems);
      break;
    case GridKind::HeavyItems:
      ofMap(launch.symbol, result.worklists[launch.symbol].numSlots, mostSlots);
      break;
    case GridKind::HeavyOwners:
      ofMap(launch.symbol, result.worklists[launch.symbol].numHeavy, mostHeavy);
      break;
    case GridKind::Elements:
      if (launch.symbol >= 0) {
        count = mostCount = graph.extents[launch.symbol];
        if (graph.capacities)
          mostCount = graph.capacities[launch.symbol];
        // Another launch of the step is for as many as these; kernels ask too, since what is recorded runs in any case.
        if (count < launch.leastMembers || (launch.belowMembers > 0 && count >= launch.belowMembers))
          count = 0;
      }
      break;
    default:
      break;
    }
    if (!device.has(launch))
      count = mostCount = 0;
    auto blocksFor = [&](int64_t elements) {
      int64_t blocks = (elements * launch.perElement + launch.perBlock - 1) / launch.perBlock;
      int64_t most = launch.mostBlocksPerProcessor * device.processors() / (launch.gridY * launch.gridZ);
      most = most > 0 ? most : 1;
      return launch.mostBlocksPerProcessor > 0 && blocks > most ? most : blocks;
    };
    result.blocks[i] = blocksFor(count);
    result.mostBlocks[i] = blocksFor(mostCount);
    if (result.mostBlocks[i] > INT32_MAX)
      return fail(error, GNNC_UNSUPPORTED, "kernel '%s': %lld blocks are more than a GPU takes",
                  model.name(launch.kernel), static_cast<long long>(result.mostBlocks[i]));
  }
  return GNNC_OK;
}

} // namespace gnnc::runtime::cuda
