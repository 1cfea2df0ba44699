//===- Worklist.cuh - Worklists in two kernels ------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lib/Runtime/CUDA/Worklist.cpp makes on the host, for graphs that few blocks can list: the first kernel counts
// each tile's owners by their size, the second finds where the tile's items go and writes them. Whether owners go by
// falling size is decided here, so that the host need not be asked. Larger graphs have kernels of their own in
// Prepare.cuh.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WORKLIST_CUH
#define GNNC_KERNELS_WORKLIST_CUH

#include "Sort.cuh"

namespace gnnc::prepare {

using device::Heavy, device::Item, device::Numbers, device::kNumSizes;

/// Owners of more members than `chunk` are heavy: they have several items, each with a slot.
struct Owner {
  int begin, end;
  GNNC_DEVICE Owner(const int *pointers, int64 number)
      : begin(__ldg(pointers + number)), end(__ldg(pointers + number + 1)) {}
  GNNC_DEVICE int members() const { return end - begin; }
  GNNC_DEVICE int slots(int chunk) const { return members() > chunk ? (members() - 1) / chunk + 1 : 0; }
};

/// Digits are sizes, the largest first: chunk + 1 of them. heavyOfTile[tile]: slots and heavy owners.
GNNC_DEVICE void countOwners(const int *pointers, int64 owners, int held, int chunk, int64 isLong, int *counts,
                             int *sums, int2 *heavyOfTile, Numbers *numbers) {
  int slots = 0, heavy = 0, ofLong = 0;
  countTile(owners, held, chunk + 1, counts, sums, [&](int64 number) {
    Owner owner(pointers, number);
    ofLong += owner.members() > isLong ? owner.members() : 0;
    slots += owner.slots(chunk);
    heavy += owner.members() > chunk;
    return owner.members() > chunk ? -1 : chunk - owner.members();
  });
  int allSlots, allHeavy, allOfLong;
  sumBefore<kThreads>(slots, allSlots);
  sumBefore<kThreads>(heavy, allHeavy);
  sumBefore<kThreads>(ofLong, allOfLong);
  if (threadIdx.x == 0) {
    heavyOfTile[blockIdx.x] = {allSlots, allHeavy};
    if (allOfLong)
      atomicAdd(&numbers->membersOfLong, static_cast<unsigned long long>(allOfLong));
  }
}

/// The sum over the lanes before.
GNNC_DEVICE int sumBeforeLane(int x) {
  int inclusive = x;
  GNNC_FOR(i, 5) {
    int other = shuffleUp(inclusive, 1 << i);
    inclusive += lane() >= 1 << i ? other : 0;
  }
  return inclusive - x;
}

/// The heavy owners of a tile: `before` are the slots and heavy owners before it. heavyBefore[i]: those before the
/// lane's owner i, in all.
GNNC_DEVICE void listHeavy(const int *pointers, int64 first, int64 owners, int held, int chunk, int2 before,
                           Item *items, Heavy *heavy, int *heavyOfSlot, int (&heavyBefore)[kFewHeld]) {
  __shared__ int2 ofWarp[kWarps];
  int slots[kFewHeld], slotsBefore[kFewHeld];
  int2 own = {0, 0};
  GNNC_FOR(i, kFewHeld) {
    int64 number = first + 32 * i;
    slots[i] = i < held && number < owners ? Owner(pointers, number).slots(chunk) : 0;
    unsigned those = ballot(slots[i] > 0);
    heavyBefore[i] = own.y + __popc(those & ((1u << lane()) - 1));
    slotsBefore[i] = own.x + sumBeforeLane(slots[i]);
    own.y += __popc(those);
    own.x = shuffle(slotsBefore[i] + slots[i], 31);
  }
  int warp = threadIdx.x / 32;
  if (lane() == 0)
    ofWarp[warp] = own;
  __syncthreads();
  for (int w = 0; w < warp; ++w)
    before.x += ofWarp[w].x, before.y += ofWarp[w].y;
  GNNC_FOR(i, kFewHeld) {
    heavyBefore[i] += before.y;
    slotsBefore[i] += before.x;
    // The warp lists the slots of one of its owners after the other.
    for (unsigned those = ballot(slots[i] > 0); those; those &= those - 1) {
      int from = __ffs(those) - 1, number = shuffle(heavyBefore[i], from);
      int at = shuffle(slotsBefore[i], from), count = shuffle(slots[i], from);
      int64 which = first - lane() + from + 32 * i;
      Owner owner(pointers, which);
      for (int slot = lane(); slot < count; slot += 32) {
        int begin = owner.begin + slot * chunk;
        items[at + slot] = {int(which), begin, owner.end - begin > chunk ? begin + chunk : owner.end, at + slot};
        heavyOfSlot[at + slot] = number;
      }
      if (lane() == 0)
        heavy[number] = {int(which), at, at + count, owner.members()};
    }
  }
}

/// By falling size if long owners have more members than `mostEven`. Block 0 leaves the numbers that there are.
GNNC_DEVICE void listOwners(const int *pointers, int64 owners, int held, int chunk, int64 mostEven, const int *counts,
                            const int *sums, const int2 *heavyOfTile, Numbers *numbers, Item *items, Heavy *heavy,
                            int *heavyOfSlot) {
  static_assert(kMostFewTiles <= kThreads && kFewDigits <= kThreads);
  __shared__ unsigned short bins[kWarps][kFewDigits];
  __shared__ int destination[kFewDigits];
  __shared__ int2 before, here;
  int digit = threadIdx.x, tile = blockIdx.x;
  int2 ofTile = digit < int(gridDim.x) ? heavyOfTile[digit] : int2{0, 0};
  int slots, numHeavy, slotsBefore = sumBefore<kThreads>(ofTile.x, slots);
  int heavyBeforeTile = sumBefore<kThreads>(ofTile.y, numHeavy);
  if (digit == tile) {
    before = {slotsBefore, heavyBeforeTile};
    here = ofTile;
  }
  bool bySize = numbers->membersOfLong > static_cast<unsigned long long>(mostEven);
  __syncthreads();

  int64 first = (int64(tile) * kThreads + threadIdx.x / 32 * 32) * held + lane();
  int heavyBefore[kFewHeld];
  if (here.y > 0)
    listHeavy(pointers, first, owners, held, chunk, before, items, heavy, heavyOfSlot, heavyBefore);
  else
    GNNC_FOR(i, kFewHeld) heavyBefore[i] = before.y;

  int digits[kFewHeld], ranks[kFewHeld];
  if (bySize) {
    GNNC_FOR(i, kFewHeld) {
      int members = i < held && first + 32 * i < owners ? Owner(pointers, first + 32 * i).members() : chunk + 1;
      digits[i] = members > chunk ? kFewDigits - 1 : chunk - members;
    }
    DigitCount known = {};
    if (digit <= chunk)
      known = addUp(counts, sums, chunk + 1, digit);
    rankDigits<kFewHeld, kFewDigits>(held, [&](int i) { return digits[i]; }, bins, ranks);
    int all, base = sumBefore<kThreads>(known.all, all);
    destination[digit] = base + known.before;
    // Those of at least 2^k members are those of the digits up to chunk - 2^k.
    if (tile == 0)
      GNNC_FOR(k, kNumSizes) {
        if (digit == chunk - (1 << k) + 1)
          numbers->sizes[k] = base;
      }
    __syncthreads();
  }
  GNNC_FOR(i, kFewHeld) {
    int64 number = first + 32 * i;
    if (i >= held || number >= owners)
      continue;
    Owner owner(pointers, number);
    if (owner.members() > chunk)
      continue;
    int64 at = bySize ? destination[digits[i]] + bins[threadIdx.x / 32][digits[i]] + ranks[i] : number - heavyBefore[i];
    items[slots + at] = {int(number), owner.begin, owner.end, -1};
  }
  if (tile == 0 && digit == 0) {
    numbers->slots = slots;
    numbers->heavy = numHeavy;
  }
}

} // namespace gnnc::prepare

#endif // GNNC_KERNELS_WORKLIST_CUH
