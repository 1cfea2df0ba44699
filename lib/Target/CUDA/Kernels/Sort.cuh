//===- Sort.cuh - Stable radix sort and prefix sums -------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sorts by one digit of the key at a time, from the lowest: each block counts the digits of its tile, prefix sums say
// where the tile's part of each digit begins, and each block ranks its keys and writes them there, by way of shared
// memory so that neighbours are written together. A rank counts the equal digits before a key in its warp (found by
// votes), in the warps before, and in the tiles before: the sort is stable, and the same every time. Short arrays have
// a variant with one kernel less for each digit; where they have two, the upper comes first, and then each block sorts
// what is equal in it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_SORT_CUH
#define GNNC_KERNELS_SORT_CUH

#include "Lanes.cuh"

namespace gnnc::prepare {

constexpr int kThreads = 512, kWarps = kThreads / 32, kHeld = 16;
constexpr int kTile = kThreads * kHeld;
constexpr int kDigits = 256; ///< at most

template <int N> constexpr int kLog2 = 1 + kLog2<N / 2>;
template <> constexpr int kLog2<1> = 0;

/// The sum of x over all threads before this one, and of all. Threads are a multiple of 32, at most 1024.
template <int Threads> GNNC_DEVICE int sumBefore(int x, int &all) {
  __shared__ int sums[32];
  int inclusive = x;
  GNNC_FOR(i, 5) {
    int other = __shfl_up_sync(kAllLanes, inclusive, 1 << i);
    if (lane() >= 1 << i)
      inclusive += other;
  }
  __syncthreads(); // `sums` may be read from the call before.
  if (lane() == 31)
    sums[threadIdx.x / 32] = inclusive;
  __syncthreads();
  int before = 0;
  all = 0;
  GNNC_FOR(w, Threads / 32) {
    if (w == int(threadIdx.x / 32))
      before = all;
    all += sums[w];
  }
  return before + inclusive - x;
}

/// Undefined targets are sorted as `undefined`, which is behind all others.
GNNC_DEVICE int keyOf(int target, int undefined) { return target < 0 ? undefined : target; }

/// counts[digit * tiles + tile]
GNNC_DEVICE void countDigits(const int *targets, int64 count, int undefined, int shift, int bits, int *counts) {
  constexpr int kCopies = 4; // Warps of one copy rarely meet.
  __shared__ int bins[kCopies][kDigits];
  for (int i = threadIdx.x; i < kCopies * kDigits; i += kThreads)
    bins[i / kDigits][i % kDigits] = 0;
  __syncthreads();
  int mask = (1 << bits) - 1, *own = bins[threadIdx.x / 32 % kCopies];
  int64 begin = int64(blockIdx.x) * kTile, end = begin + kTile < count ? begin + kTile : count;
  auto add = [&](int target) { atomicAdd(&own[(keyOf(target, undefined) >> shift) & mask], 1); };
  if (end - begin == kTile) {
    const int4 *four = reinterpret_cast<const int4 *>(targets + begin) + threadIdx.x;
    GNNC_FOR(i, kHeld / 4) {
      int4 t = __ldg(four + i * kThreads);
      add(t.x), add(t.y), add(t.z), add(t.w);
    }
  } else {
    for (int64 at = begin + threadIdx.x; at < end; at += kThreads)
      add(__ldg(targets + at));
  }
  __syncthreads();
  for (int digit = threadIdx.x; digit <= mask; digit += kThreads) {
    int sum = 0;
    GNNC_FOR(copy, kCopies) sum += bins[copy][digit];
    counts[int64(digit) * gridDim.x + blockIdx.x] = sum;
  }
}

/// Block d turns the counts of digit d into sums over the tiles before, and leaves their total.
GNNC_DEVICE void scanCounts(int *counts, int64 tiles, int *totals) {
  int *row = counts + int64(blockIdx.x) * tiles;
  int running = 0;
  for (int64 from = 0; from < tiles; from += kThreads) {
    int64 at = from + threadIdx.x;
    int all, before = sumBefore<kThreads>(at < tiles ? row[at] : 0, all);
    if (at < tiles)
      row[at] = running + before;
    running += all;
  }
  if (threadIdx.x == 0)
    totals[blockIdx.x] = running;
}

/// For each digit how many the tile has of it, and the warp's in `bins` as sums over the warps before. Ranks are among
/// the warp's own, in the order of the calls: lane by lane, then the next of each lane. `digitOf(i)`: of what a lane
/// holds.
template <int Held, int Digits, typename DigitOf>
GNNC_DEVICE int rankDigits(DigitOf digitOf, unsigned short (&bins)[kWarps][Digits], int (&ranks)[Held]) {
  int warp = threadIdx.x / 32;
  GNNC_FOR(i, Digits / 32)
  bins[warp][i * 32 + lane()] = 0;
  // Votes do not wait for each other: all come before the first count.
  unsigned alike[Held];
  GNNC_FOR(i, Held) {
    alike[i] = kAllLanes;
    GNNC_FOR(b, kLog2<Digits>) {
      bool is = (digitOf(i) >> b) & 1;
      unsigned those = __ballot_sync(kAllLanes, is);
      alike[i] &= is ? those : ~those;
    }
  }
  __syncwarp();
  GNNC_FOR(i, Held) {
    int before = __popc(alike[i] & ((1u << lane()) - 1)), leader = __ffs(alike[i]) - 1, start = 0;
    if (before == 0) {
      start = bins[warp][digitOf(i)];
      bins[warp][digitOf(i)] = static_cast<unsigned short>(start + __popc(alike[i]));
    }
    ranks[i] = __shfl_sync(kAllLanes, start, leader) + before;
    __syncwarp();
  }
  __syncthreads();
  int digit = threadIdx.x, own = 0;
  if (digit < Digits)
    GNNC_FOR(w, kWarps) {
      int held = bins[w][digit];
      bins[w][digit] = static_cast<unsigned short>(own);
      own += held;
    }
  return own;
}

/// What is known of a digit when a tile is scattered: how many there are of it, and in the tiles before.
struct DigitCount {
  int all, before;
};

/// What a pass of the sort reads and writes.
struct Pass {
  const int *targets, *values; ///< null values: an element's own number
  int *keysOut, *valuesOut;    ///< null: not wanted
  const int *through;          ///< numbers of the elements whose ...
  int *throughOut;             ///< ... sorted list is wanted too, or null
  int64 count;
  int undefined, shift, bits;
};

/// Part of what a pass sorts. Its digits are those of `keys` at `from` and behind, all before `from` in the result.
struct Part {
  int64 begin; ///< of the tile
  int valid;   ///< elements of the tile
  int from;
  bool isAll; ///< the tile is all there is
};

/// Each thread's `find` counts a digit, its own number, unless the tile is all. `tell` is told where the digit begins.
template <int Held, int Digits, typename Find, typename Tell>
GNNC_DEVICE void scatterTile(const Pass &pass, const Part &part, Find find, Tell tell) {
  __shared__ unsigned short bins[kWarps][Digits];
  __shared__ int tileStart[Digits], destination[Digits];
  __shared__ int exchange[kThreads * Held];
  int mask = (1 << pass.bits) - 1, shift = pass.shift, warp = threadIdx.x / 32, valid = part.valid;
  const int *targets = pass.targets + part.begin;

  int keys[Held], ranks[Held];
  int first = warp * 32 * Held + lane();
  // What is past the end has the last digit of all, and comes after those that have it too.
  GNNC_FOR(i, Held)
  keys[i] = first + 32 * i < valid ? keyOf(__ldg(targets + first + 32 * i), pass.undefined) : -1;
  DigitCount known = {};
  int digit = threadIdx.x;
  if (!part.isAll)
    known = find(digit);
  auto digitOf = [&](int i) { return (keys[i] >> shift) & mask; };
  int own = rankDigits<Held, Digits>(digitOf, bins, ranks);
  int all, start = sumBefore<kThreads>(own, all), base = start;
  if (!part.isAll)
    base = sumBefore<kThreads>(known.all, all);
  if (digit <= mask) {
    tileStart[digit] = start;
    destination[digit] = part.from + base + known.before - start;
    tell(digit, part.from + base);
  }
  __syncthreads();
  GNNC_FOR(i, Held)
  ranks[i] += bins[warp][digitOf(i)] + tileStart[digitOf(i)];
  int places[Held];
  if (part.isAll && !pass.keysOut) {
    GNNC_FOR(i, Held)
    places[i] = part.from + i * kThreads + int(threadIdx.x);
  } else {
    GNNC_FOR(i, Held) exchange[ranks[i]] = keys[i];
    __syncthreads();
    GNNC_FOR(i, Held) {
      int at = i * kThreads + threadIdx.x, key = exchange[at];
      places[i] = destination[(key >> shift) & mask] + at;
      if (pass.keysOut && at < valid)
        pass.keysOut[places[i]] = key;
    }
    __syncthreads();
  }
  GNNC_FOR(i, Held) {
    int at = first + 32 * i;
    exchange[ranks[i]] = at >= valid   ? 0
                         : pass.values ? __ldg(pass.values + part.begin + at)
                                       : int(part.begin) + at;
  }
  __syncthreads();
  GNNC_FOR(i, Held) {
    int at = i * kThreads + threadIdx.x;
    if (pass.valuesOut && at < valid)
      pass.valuesOut[places[i]] = exchange[at];
    if (pass.throughOut && at < valid)
      pass.throughOut[places[i]] = __ldg(pass.through + exchange[at]);
  }
}

/// The tile of this block.
template <int Held> GNNC_DEVICE Part ownTile(int64 count) {
  constexpr int kOwnTile = kThreads * Held;
  int64 begin = int64(blockIdx.x) * kOwnTile, left = count - begin;
  return {begin, left < kOwnTile ? int(left) : kOwnTile, 0, false};
}

GNNC_DEVICE void scatterDigits(const Pass &pass, const int *counts, const int *totals) {
  auto find = [&](int digit) {
    return digit >> pass.bits ? DigitCount{}
                              : DigitCount{totals[digit], counts[int64(digit) * gridDim.x + blockIdx.x]};
  };
  scatterTile<kHeld, kDigits>(pass, ownTile<kHeld>(pass.count), find, [](int, int) {});
}

//===----------------------------------------------------------------------===//
// Few tiles: each adds up the counts of those before it, so that no kernel need stand between counting and scattering
//===----------------------------------------------------------------------===//

// Small tiles, for many blocks; and digits of nine bits, since 262 144 nodes then take two passes.
constexpr int kFewHeld = 8, kFewTile = kThreads * kFewHeld, kFewDigits = 512;
constexpr int kMostFewTiles = 512; ///< no more than kThreads
constexpr int kTilesOfGroup = 16;

/// Leaves a tile's counts of its digits: counts[tile][digit], and added to sums[tile / kTilesOfGroup][digit], which are
/// 0 before. Whole numbers: the order of additions does not matter. `digit` is called with the numbers of the tile's
/// elements, of which there are `count` in all; below 0: it has none.
template <typename DigitOf>
GNNC_DEVICE void countTile(int64 count, int numDigits, int *counts, int *sums, DigitOf digitOf) {
  constexpr int kCopies = 4;
  __shared__ int bins[kCopies][kFewDigits];
  for (int i = threadIdx.x; i < kCopies * kFewDigits; i += kThreads)
    bins[i / kFewDigits][i % kFewDigits] = 0;
  __syncthreads();
  int *own = bins[threadIdx.x / 32 % kCopies];
  int64 begin = int64(blockIdx.x) * kFewTile;
  GNNC_FOR(i, kFewHeld) {
    int64 at = begin + i * kThreads + threadIdx.x;
    if (int digit = at < count ? digitOf(at) : -1; digit >= 0)
      atomicAdd(&own[digit], 1);
  }
  __syncthreads();
  if (int digit = threadIdx.x; digit < numDigits) {
    int sum = 0;
    GNNC_FOR(copy, kCopies) sum += bins[copy][digit];
    counts[blockIdx.x * numDigits + digit] = sum;
    if (sum)
      atomicAdd(&sums[blockIdx.x / kTilesOfGroup * numDigits + digit], sum);
  }
}

/// Of what countTile left.
GNNC_DEVICE DigitCount addUp(const int *counts, const int *sums, int numDigits, int digit) {
  DigitCount result = {};
  int group = blockIdx.x / kTilesOfGroup, groups = (gridDim.x - 1) / kTilesOfGroup + 1;
#pragma unroll 4
  for (int g = 0; g < groups; ++g) {
    int sum = __ldg(sums + g * numDigits + digit);
    result.all += sum;
    result.before += g < group ? sum : 0;
  }
  GNNC_FOR(i, kTilesOfGroup - 1) {
    int tile = group * kTilesOfGroup + i;
    result.before += tile < int(blockIdx.x) ? __ldg(counts + tile * numDigits + digit) : 0;
  }
  return result;
}

/// What a map's reader found out (Prepare.cuh); all 0 before. `wrong`: ~ the number of the first element that is.
struct Findings {
  unsigned long long wrong, undefined, notInOrder;
};

/// Whether a list that is to be sorted is in order; `found` is null where the host knew that it is not.
GNNC_DEVICE bool needsNoSort(const Findings *found) { return found && !found->notInOrder; }

GNNC_DEVICE void countFew(const int *targets, int64 count, int undefined, int shift, int bits, const Findings *found,
                          int *counts, int *sums) {
  if (needsNoSort(found))
    return;
  int mask = (1 << bits) - 1;
  countTile(count, mask + 1, counts, sums,
            [&](int64 at) { return (keyOf(__ldg(targets + at), undefined) >> shift) & mask; });
}

/// The first of `count` rising numbers that is not less than `wanted`.
GNNC_DEVICE int64 lowerBound(const int *numbers, int64 count, int64 wanted) {
  int64 low = 0, high = count;
  while (low < high) {
    int64 middle = (low + high) / 2;
    if (__ldg(numbers + middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Where digits or owners begin: `starts` of the first `numStarts`.
struct Starts {
  int *starts;
  int64 numStarts;
};

/// What sorting makes of a list that is in order.
GNNC_DEVICE void takeAsIs(const Pass &pass, const int *targets, const Starts &rows) {
  int64 own = int64(blockIdx.x) * kThreads + threadIdx.x, step = int64(gridDim.x) * kThreads;
  for (int64 i = own; i < pass.count; i += step) {
    if (pass.valuesOut)
      pass.valuesOut[i] = int(i);
    if (pass.throughOut)
      pass.throughOut[i] = __ldg(pass.through + i);
  }
  for (int64 owner = own; owner < rows.numStarts; owner += step)
    rows.starts[owner] = int(lowerBound(targets, pass.count, owner));
}

/// Keys that are left out are not sorted any further.
GNNC_DEVICE void scatterFew(const Pass &pass, const Starts &digits, const Findings *found, const int *counts,
                            const int *sums) {
  if (needsNoSort(found)) {
    if (!pass.keysOut)
      takeAsIs(pass, pass.targets, digits);
    return;
  }
  int numDigits = 1 << pass.bits;
  auto find = [&](int digit) { return digit < numDigits ? addUp(counts, sums, numDigits, digit) : DigitCount{}; };
  scatterTile<kFewHeld, kFewDigits>(pass, ownTile<kFewHeld>(pass.count), find, [&](int digit, int start) {
    if (blockIdx.x != 0)
      return;
    if (digit < digits.numStarts)
      digits.starts[digit] = start;
    if (digit + 1 == numDigits && numDigits < digits.numStarts)
      digits.starts[numDigits] = int(pass.count);
  });
}

/// Adds 1 for each thread's digit; below 0: it has none. Where all lanes have one digit, they need not take turns.
GNNC_DEVICE void addDigit(int *counts, int digit) {
  if (__all_sync(kAllLanes, digit == __shfl_sync(kAllLanes, digit, 0))) {
    if (lane() == 0 && digit >= 0)
      atomicAdd(&counts[digit], 32);
  } else if (digit >= 0) {
    atomicAdd(&counts[digit], 1);
  }
}

/// Sorts by the lower digit what is sorted by the upper one: `upper` says where those buckets begin. Block b takes
/// bucket b; blocks behind them take what is too long for one. Each counts its bucket by itself, so that nothing stands
/// between the two digits. `rows`: where each key begins, or none.
GNNC_DEVICE void scatterBuckets(const Pass &pass, const int *targets, const int *upper, int buckets, const Starts &rows,
                                const Findings *found) {
  __shared__ int counts[2][kFewDigits];
  __shared__ int2 surplus;
  if (needsNoSort(found))
    return takeAsIs(pass, targets, rows);
  int bucket = blockIdx.x, tile = 0;
  if (bucket >= buckets) {
    int own = threadIdx.x, wanted = bucket - buckets, all;
    int tiles = own < buckets ? (__ldg(upper + own + 1) - __ldg(upper + own) + kFewTile - 1) / kFewTile - 1 : 0;
    tiles = tiles < 0 ? 0 : tiles;
    int before = sumBefore<kThreads>(tiles, all);
    if (wanted >= all)
      return;
    if (before <= wanted && wanted < before + tiles)
      surplus = {own, wanted - before + 1};
    __syncthreads();
    bucket = surplus.x, tile = surplus.y;
  }
  int begin = __ldg(upper + bucket), end = __ldg(upper + bucket + 1), numDigits = 1 << pass.bits;
  int at = begin + tile * kFewTile, left = end - at;
  Part part{at, left < kFewTile ? left : kFewTile, begin, end - begin <= kFewTile};
  auto find = [&](int digit) {
    counts[0][digit] = counts[1][digit] = 0;
    __syncthreads();
    GNNC_FOR(isBehind, 2) {
      int from = isBehind ? at : begin, to = isBehind ? end : at;
#pragma unroll 4
      for (int i = from; i < to; i += kThreads) {
        int place = i + threadIdx.x;
        addDigit(counts[isBehind], place < to ? __ldg(pass.targets + place) & (numDigits - 1) : -1);
      }
    }
    __syncthreads();
    return DigitCount{counts[0][digit] + counts[1][digit], counts[0][digit]};
  };
  int64 first = int64(bucket) << pass.bits;
  scatterTile<kFewHeld, kFewDigits>(pass, part, find, [&](int digit, int start) {
    if (tile == 0 && first + digit < rows.numStarts)
      rows.starts[first + digit] = start;
  });
}

//===----------------------------------------------------------------------===//
// Prefix sums of any numbers of one array
//===----------------------------------------------------------------------===//

GNNC_DEVICE void sumTiles(const int *numbers, int64 count, int *sums) {
  int sum = 0;
  int64 begin = int64(blockIdx.x) * kTile;
  GNNC_FOR(i, kHeld) {
    int64 at = begin + i * kThreads + threadIdx.x;
    sum += at < count ? __ldg(numbers + at) : 0;
  }
  int all;
  sumBefore<kThreads>(sum, all);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = all;
}

/// One block. Entry `tiles` becomes the sum of all.
GNNC_DEVICE void scanSums(int *sums, int64 tiles) {
  int running = 0;
  for (int64 from = 0; from < tiles; from += kThreads) {
    int64 at = from + threadIdx.x;
    int all, before = sumBefore<kThreads>(at < tiles ? sums[at] : 0, all);
    if (at < tiles)
      sums[at] = running + before;
    running += all;
  }
  if (threadIdx.x == 0)
    sums[tiles] = running;
}

/// results[i]: sum of the numbers before i. May be `numbers` itself.
GNNC_DEVICE void applySums(const int *numbers, int64 count, const int *sums, int *results) {
  int64 begin = int64(blockIdx.x) * kTile;
  int running = sums[blockIdx.x];
  for (int i = 0; i < kHeld; ++i) {
    int64 at = begin + i * kThreads + threadIdx.x;
    int all, before = sumBefore<kThreads>(at < count ? numbers[at] : 0, all);
    if (at < count)
      results[at] = running + before;
    running += all;
  }
}

} // namespace gnnc::prepare

#endif // GNNC_KERNELS_SORT_CUH
