//===- PrepareWorklist.cpp - Worklists made on a GPU ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH
// LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small worklists have room for the most items there can be, and two kernels
// that decide everything; the host learns at the end how many items there are.
// Large ones are counted first and listed when the host knows their sizes.
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "Worklist.h"

namespace gnnc::runtime::cuda {

/// What the kernels found out.
void GraphBuilder::note(const Numbers &numbers, const Grouping &grouping, DeviceWorklist &result) {
  int64_t light = grouping.owners - numbers.heavy;
  result.numSlots = numbers.slots;
  result.numHeavy = numbers.heavy;
  result.numItems = light + result.numSlots;
  result.bySize = static_cast<int64_t>(numbers.membersOfLong) > mostEven(grouping.count);
  // Launches share the items at these places, so they must rise; fewer have
  // more members.
  int64_t before = light;
  for (int k = 0; result.bySize && k < kNumSizes; ++k) {
    int64_t size = numbers.sizes[k];
    before = size < 0 ? 0 : size < before ? size : before;
    result.largest[k] = result.numSlots + before;
  }
}

/// So many places that are 0.
void GraphBuilder::reserveNumbers(int64_t count) {
  if (numNumbers + count <= kMostNumbers)
    return;
  finish();
  if (!status)
    fill(report->numbers, sizeof report->numbers / 4, 0);
  numNumbers = 0;
}

void GraphBuilder::listFew(const Grouping &grouping, DeviceWorklist &result) {
  reserveNumbers(1);
  int64_t owners = grouping.owners, members = grouping.count, chunk = chunkFor(members, owners);
  int64_t held = heldFor(owners), tiles = divideUp(owners, kThreads * held);
  int64_t slots = mostSlots(owners, members), heavy = mostHeavy(owners, members), items = mostItems(owners, members);
  // One array for all three: in the order of their alignment.
  int64_t heavyAt = items * int64_t(sizeof(Item)), slotsAt = heavyAt + heavy * int64_t(sizeof(Heavy));
  auto *block = static_cast<char *>(allocate(slotsAt + slots * 4));
  int32_t *counts = temporary(tiles * (chunk + 1)), *ofTiles = temporary(tiles * 2);
  void *sums = cleared(divideUp(tiles, kTilesOfGroup) * (chunk + 1) * 4);
  if (status)
    return;
  Numbers *numbers = report->numbers + numNumbers++;
  launch(CountOwners, tiles, grouping.pointers, owners, held, chunk, longFrom(members, owners), counts, sums, ofTiles,
         numbers);
  launch(ListOwners, tiles, grouping.pointers, owners, held, chunk, mostEven(members), counts, sums, ofTiles, numbers,
         block, block + heavyAt, block + slotsAt);
  result.chunk = chunk;
  result.items = reinterpret_cast<Address>(block);
  // The end of this array may be another's beginning.
  result.heavy = heavy > 0 ? result.items + static_cast<Address>(heavyAt) : 0;
  result.heavyOfSlot = slots > 0 ? result.items + static_cast<Address>(slotsAt) : 0;
  pending[numPending++] = {numbers, &grouping, &result};
}

struct GraphBuilder::LargeList {
  const Grouping *grouping;
  DeviceWorklist *result;
  Numbers *numbers;
  int32_t *firstSlots, *heavyBefore;
};

void GraphBuilder::countLarge(LargeList &list) {
  const Grouping &grouping = *list.grouping;
  int64_t owners = grouping.owners, chunk = chunkFor(grouping.count, owners);
  int32_t *slots = temporary(owners), *isHeavy = temporary(owners);
  if (status)
    return;
  Numbers *numbers = list.numbers = report->numbers + numNumbers++;
  each(CountItems, owners, grouping.pointers, owners, chunk, longFrom(grouping.count, owners), slots, isHeavy, numbers);
  list.firstSlots = sumsBefore(slots, owners, &numbers->slots);
  list.heavyBefore = sumsBefore(isHeavy, owners, &numbers->heavy);
  // Few blocks: each warp adds to the same twelve numbers.
  int64_t blocks = divideUp(owners, kThreads), most = 2 * device.processors();
  launch(CountSizes, blocks < most ? blocks : most, grouping.pointers, owners, chunk, numbers);
  release(slots);
  release(isHeavy);
}

void GraphBuilder::listLarge(LargeList &list) {
  const Grouping &grouping = *list.grouping;
  DeviceWorklist &result = *list.result;
  note(of(list.numbers), grouping, result);
  int64_t owners = grouping.owners, chunk = result.chunk = chunkFor(grouping.count, owners);
  int64_t light = owners - result.numHeavy;
  auto *items = static_cast<Item *>(allocate(result.numItems * int64_t(sizeof(Item))));
  auto *heavy = static_cast<Heavy *>(allocate(result.numHeavy * int64_t(sizeof(Heavy))));
  int32_t *heavyOfSlot = array(result.numSlots);
  if (result.numHeavy > 0) {
    each(ListHeavy, owners, grouping.pointers, owners, chunk, list.firstSlots, list.heavyBefore, heavy);
    each(ListSlots, result.numSlots, grouping.pointers, chunk, heavy, result.numHeavy, result.numSlots, items,
         heavyOfSlot);
  }
  int32_t *order = nullptr;
  if (result.bySize) {
    int32_t *keys = temporary(owners);
    each(SizeKeys, owners, grouping.pointers, owners, chunk, keys);
    Sorted sorted;
    sort(keys, nullptr, owners, chunk + 1, sorted);
    order = sorted.values;
    release(keys);
  }
  int64_t listed = result.bySize ? light : owners;
  each(ListLight, listed, grouping.pointers, listed, chunk, order, list.heavyBefore, items + result.numSlots);
  release(order);
  release(list.firstSlots);
  release(list.heavyBefore);
  result.items = reinterpret_cast<Address>(items);
  result.heavy = reinterpret_cast<Address>(heavy);
  result.heavyOfSlot = reinterpret_cast<Address>(heavyOfSlot);
}

void GraphBuilder::worklists(const Grouping *const *groupings, int64_t count, DeviceWorklist *const *results) {
  LargeList large[kMostNumbers];
  int64_t numLarge = 0;
  auto list = [&] {
    reserveNumbers(numLarge);
    for (int64_t i = 0; i < numLarge; ++i)
      countLarge(large[i]);
    if (numLarge > 0)
      fetchReport();
    for (int64_t i = 0; !status && i < numLarge; ++i)
      listLarge(large[i]);
    numLarge = 0;
  };
  for (int64_t i = 0; i < count; ++i) {
    const Grouping &grouping = *groupings[i];
    if (chunkFor(grouping.count, grouping.owners) <= kLeastChunk &&
        divideUp(grouping.owners, kFewTile) <= kMostFewTiles) {
      listFew(grouping, *results[i]);
      continue;
    }
    large[numLarge++] = {&grouping, results[i], nullptr, nullptr, nullptr};
    if (numLarge == kMostNumbers)
      list();
  }
  list();
}

} // namespace gnnc::runtime::cuda
