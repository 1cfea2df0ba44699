//===- Worklist.cpp - Owners in chunks of a bounded size ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The size of chunks grows with the number of members, so that there are always several items for each warp that a GPU
// holds, and few partial sums; it is smaller where there are few owners. Where owners that are long beside the average
// hold a good part of the members, items go by falling size, so that long ones do not begin last and neighbours in a
// block are alike; else by owner, which finds more in caches.
//
//===----------------------------------------------------------------------===//

#include "Worklist.h"
#include <string.h>

namespace gnnc::runtime::cuda {

constexpr int64_t kMostChunk = 2048;
/// Items that a large GPU has at work at a time: 132 processors with 64 warps.
constexpr int64_t kItemsInFlight = 8192;
/// Few owners with so many members on average leave much of a GPU idle (one graph's nodes, edges by their type), so
/// their chunks are shorter. An item is a whole block's then, and one block adds up all that an owner has.
constexpr int64_t kFewOwners = 512, kLongOfFew = 128, kLeastOfFew = 32, kItemsOfFew = 2048;
/// Falling size if the long owners hold more than one in this many members.
constexpr int64_t kLongShare = 256;
/// So many times the average is long, but not fewer members than these.
constexpr int64_t kLong = 8, kLeastLong = 32;

static int64_t chunkOf(int64_t members, int64_t least, int64_t items) {
  int64_t chunk = least;
  while (chunk < kMostChunk && chunk * items < members)
    chunk *= 2;
  return chunk;
}

int64_t chunkFor(int64_t members, int64_t owners) {
  bool isFew = owners < kFewOwners && owners * kLongOfFew <= members;
  return isFew ? chunkOf(members, kLeastOfFew, kItemsOfFew) : chunkOf(members, kLeastChunk, kItemsInFlight);
}

/// An owner of m > chunk members has at most 2 m / (chunk + 1) items; chunks grow so that there are no more than so
/// many items, until they grow no more.
static int64_t mostOf(int64_t members, int64_t least, int64_t items) {
  int64_t ofLeast = 2 * members / (least + 1), ofOwn = 2 * members / (chunkOf(members, least, items) + 1);
  int64_t most = ofOwn > 2 * items ? ofOwn : 2 * items;
  return ofLeast < most ? ofLeast : most;
}

int64_t mostSlots(int64_t, int64_t members) { // There may be few owners where there could be many.
  int64_t ofMany = mostOf(members, kLeastChunk, kItemsInFlight), ofFew = mostOf(members, kLeastOfFew, kItemsOfFew);
  return ofMany > ofFew ? ofMany : ofFew;
}

int64_t mostHeavy(int64_t owners, int64_t members) {
  int64_t most = mostSlots(owners, members) / 2;
  return most < owners ? most : owners;
}

int64_t mostItems(int64_t owners, int64_t members) { return owners + mostSlots(owners, members); }

int64_t longFrom(int64_t members, int64_t owners) {
  int64_t least = kLong * members / (owners > 0 ? owners : 1), chunk = chunkFor(members, owners);
  // Where there are many items, only long items can become stragglers.
  int64_t shortest = chunk > kLeastChunk ? kLeastChunk : kLeastLong;
  least = least < shortest ? shortest : least;
  return least > chunk ? chunk : least;
}

int64_t mostEven(int64_t members) { return members / kLongShare; }

bool makeWorklist(const Grouping &grouping, Memory &memory, Worklist &result) {
  const int32_t *pointers = grouping.pointers;
  int64_t chunk = chunkFor(grouping.count, grouping.owners), membersOfLong = 0,
          isLong = longFrom(grouping.count, grouping.owners);
  result.chunk = chunk;
  for (int64_t owner = 0; owner < grouping.owners; ++owner) {
    int64_t members = pointers[owner + 1] - pointers[owner];
    int64_t chunks = members <= chunk ? 1 : (members + chunk - 1) / chunk;
    result.numItems += chunks;
    if (chunks > 1) {
      result.numSlots += chunks;
      ++result.numHeavy;
    }
    if (members > isLong)
      membersOfLong += members;
  }
  Item *items = memory.array<Item>(result.numItems);
  Heavy *heavy = memory.array<Heavy>(result.numHeavy);
  int32_t *heavyOfSlot = memory.array<int32_t>(result.numSlots);
  if (!items || !heavy || !heavyOfSlot)
    return false;

  int64_t slot = 0, number = 0;
  for (int64_t owner = 0; owner < grouping.owners; ++owner) {
    int32_t begin = pointers[owner], end = pointers[owner + 1];
    if (end - begin <= chunk)
      continue;
    int64_t first = slot;
    for (int64_t at = begin; at < end; at += chunk, ++slot) {
      int64_t last = at + chunk < end ? at + chunk : end;
      items[slot] = {static_cast<int32_t>(owner), static_cast<int32_t>(at), static_cast<int32_t>(last),
                     static_cast<int32_t>(slot)};
      heavyOfSlot[slot] = static_cast<int32_t>(number);
    }
    heavy[number++] = {static_cast<int32_t>(owner), static_cast<int32_t>(first), static_cast<int32_t>(slot),
                       end - begin};
  }

  Item *light = items + slot;
  int64_t next = 0;
  bool bySize = membersOfLong > mostEven(grouping.count);
  int64_t places[kMostChunk + 2];
  if (bySize) { // Counting sort by falling size, stable.
    memset(places, 0, sizeof places);
    for (int64_t owner = 0; owner < grouping.owners; ++owner)
      if (int64_t members = pointers[owner + 1] - pointers[owner]; members <= chunk)
        ++places[chunk - members + 1];
    for (int64_t size = 1; size <= chunk + 1; ++size)
      places[size] += places[size - 1];
  }
  for (int64_t owner = 0; owner < grouping.owners; ++owner) {
    int64_t members = pointers[owner + 1] - pointers[owner];
    if (members > chunk)
      continue;
    int64_t at = bySize ? places[chunk - members]++ : next++;
    light[at] = {static_cast<int32_t>(owner), pointers[owner], pointers[owner + 1], -1};
    for (int k = 0; k < kNumSizes && members >> k; ++k)
      ++result.largest[k];
  }
  result.bySize = bySize;
  for (int64_t &count : result.largest)
    count += slot;
  result.items = items;
  result.heavy = heavy;
  result.heavyOfSlot = heavyOfSlot;
  return true;
}

} // namespace gnnc::runtime::cuda
