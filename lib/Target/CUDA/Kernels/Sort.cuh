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

using device::Findings, device::Pass, device::kFewHeld, device::kFewTile, device::kMostFewTiles, device::kTilesOfGroup;

constexpr int kThreads = device::kSortThreads, kWarps = kThreads / 32;
constexpr int kHeld = device::kSortHeld, kTile = device::kSortTile;
constexpr int kDigits = 1 << device::kDigitBits, kFewDigits = 1 << device::kFewDigitBits; ///< at most

template <int N> constexpr int kLog2 = 1 + kLog2<N / 2>;
template <> constexpr int kLog2<1> = 0;

/// The sum of x over all threads before this one, and of all. Threads are a multiple of 32, at most 1024.
template <int Threads> GNNC_DEVICE int sumBefore(int x, int &all) {
  __shared__ int sums[32];
  int inclusive = x;
  GNNC_FOR(i, 5) {
    int other = shuffleUp(inclusive, 1 << i);
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
/// holds, the first `held` ones.
template <int Held, int Digits, typename DigitOf>
GNNC_DEVICE int rankDigits(int held, DigitOf digitOf, unsigned short (&bins)[kWarps][Digits], int (&ranks)[Held]) {
  int warp = threadIdx.x / 32;
  GNNC_FOR(i, Digits / 32)
  bins[warp][i * 32 + lane()] = 0;
  // Votes do not wait for each other: all come before the first count.
  unsigned alike[Held];
  GNNC_FOR(i, Held)
  if (i < held) {
    alike[i] = kAllLanes;
    GNNC_FOR(b, kLog2<Digits>) {
      bool is = (digitOf(i) >> b) & 1;
      unsigned those = ballot(is);
      alike[i] &= is ? those : ~those;
    }
  }
  syncWarp();
  GNNC_FOR(i, Held)
  if (i < held) {
    int before = __popc(alike[i] & ((1u << lane()) - 1)), leader = __ffs(alike[i]) - 1, start = 0;
    if (before == 0) {
      start = bins[warp][digitOf(i)];
      bins[warp][digitOf(i)] = static_cast<unsigned short>(start + __popc(alike[i]));
    }
    ranks[i] = shuffle(start, leader) + before;
    syncWarp();
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

/// counts[digit * tiles + tile]
GNNC_DEVICE void countDigits(const Pass &pass) {
  constexpr int kCopies = 4; // Warps of one copy rarely meet.
  __shared__ int bins[kCopies][kDigits];
  for (int i = threadIdx.x; i < kCopies * kDigits; i += kThreads)
    bins[i / kDigits][i % kDigits] = 0;
  __syncthreads();
  int mask = (1 << int(pass.bits)) - 1, shift = int(pass.shift), undefined = int(pass.undefined);
  int *own = bins[threadIdx.x / 32 % kCopies];
  int64 begin = int64(blockIdx.x) * kTile, end = begin + kTile < pass.count ? begin + kTile : pass.count;
  auto add = [&](int target) { atomicAdd(&own[(keyOf(target, undefined) >> shift) & mask], 1); };
  if (end - begin == kTile) {
    const int4 *four = reinterpret_cast<const int4 *>(pass.targets + begin) + threadIdx.x;
    GNNC_FOR(i, kHeld / 4) {
      int4 t = __ldg(four + i * kThreads);
      add(t.x), add(t.y), add(t.z), add(t.w);
    }
  } else {
    for (int64 at = begin + threadIdx.x; at < end; at += kThreads)
      add(__ldg(pass.targets + at));
  }
  __syncthreads();
  for (int digit = threadIdx.x; digit <= mask; digit += kThreads) {
    int sum = 0;
    GNNC_FOR(copy, kCopies) sum += bins[copy][digit];
    pass.counts[int64(digit) * gridDim.x + blockIdx.x] = sum;
  }
}

/// Part of what a pass sorts. Its digits are those of `targets` at `from` and behind.
struct Part {
  int64 begin; ///< of the tile
  int valid;   ///< elements of the tile
  int held;    ///< of each thread
  int from;
  bool isAll; ///< the tile is all there is
};

/// Each thread's `find` counts a digit, its own number, unless the tile is all. `tell` is told where the digit begins.
template <int Held, int Digits, typename Find, typename Tell>
GNNC_DEVICE void scatterTile(const Pass &pass, const Part &part, Find find, Tell tell) {
  __shared__ unsigned short bins[kWarps][Digits];
  __shared__ int tileStart[Digits], destination[Digits];
  __shared__ int exchange[kThreads * Held];
  int mask = (1 << int(pass.bits)) - 1, shift = int(pass.shift), undefined = int(pass.undefined);
  int warp = threadIdx.x / 32, valid = part.valid, held = part.held;
  const int *targets = pass.targets + part.begin;

  int keys[Held], ranks[Held];
  int first = warp * 32 * held + lane();
  // What is past the end has the last digit of all, and comes after those that have it too.
  GNNC_FOR(i, Held)
  keys[i] = i < held && first + 32 * i < valid ? keyOf(__ldg(targets + first + 32 * i), undefined) : -1;
  DigitCount known = {};
  int digit = threadIdx.x;
  if (!part.isAll)
    known = find(digit);
  auto digitOf = [&](int i) { return (keys[i] >> shift) & mask; };
  int own = rankDigits<Held, Digits>(held, digitOf, bins, ranks);
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
  if (i < held)
    ranks[i] += bins[warp][digitOf(i)] + tileStart[digitOf(i)];
  int places[Held];
  if (part.isAll && !pass.keysOut) {
    GNNC_FOR(i, Held)
    places[i] = part.from + i * kThreads + int(threadIdx.x);
  } else {
    GNNC_FOR(i, Held)
    if (i < held)
      exchange[ranks[i]] = keys[i];
    __syncthreads();
    GNNC_FOR(i, Held)
    if (i < held) {
      int at = i * kThreads + threadIdx.x, key = exchange[at];
      places[i] = destination[(key >> shift) & mask] + at;
      if (pass.keysOut && at < valid)
        pass.keysOut[places[i]] = key;
    }
    __syncthreads();
  }
  GNNC_FOR(i, Held)
  if (i < held) {
    int at = first + 32 * i;
    exchange[ranks[i]] = at >= valid ? 0 : pass.values ? __ldg(pass.values + part.begin + at) : int(part.begin) + at;
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
GNNC_DEVICE Part ownTile(int64 count, int held) {
  int64 begin = int64(blockIdx.x) * kThreads * held, left = count - begin;
  return {begin, left < kThreads * held ? int(left) : kThreads * held, held, 0, false};
}

GNNC_DEVICE void scatterDigits(const Pass &pass) {
  auto find = [&](int digit) {
    return digit >> int(pass.bits) ? DigitCount{}
                                   : DigitCount{pass.sums[digit], pass.counts[int64(digit) * gridDim.x + blockIdx.x]};
  };
  scatterTile<kHeld, kDigits>(pass, ownTile(pass.count, kHeld), find, [](int, int) {});
}

//===----------------------------------------------------------------------===//
// Few tiles: each adds up the counts of those before it, so that no kernel need stand between counting and scattering
//===----------------------------------------------------------------------===//

/// Adds 1 for each thread's digit; below 0: it has none. Where all lanes have one digit, they need not take turns.
GNNC_DEVICE void addDigit(int *counts, int digit) {
  if (allLanes(digit == shuffle(digit, 0))) {
    if (lane() == 0 && digit >= 0)
      atomicAdd(&counts[digit], 32);
  } else if (digit >= 0) {
    atomicAdd(&counts[digit], 1);
  }
}

/// Leaves a tile's counts of its digits: counts[tile][digit], and added to sums[tile / kTilesOfGroup][digit], which are
/// 0 before. Whole numbers: the order of additions does not matter. `digit` is called with the numbers of the tile's
/// elements, of which there are `count` in all, `held` for each thread; below 0: it has none.
template <typename DigitOf>
GNNC_DEVICE void countTile(int64 count, int held, int numDigits, int *counts, int *sums, DigitOf digitOf) {
  constexpr int kCopies = 4;
  __shared__ int bins[kCopies][kFewDigits];
  for (int i = threadIdx.x; i < kCopies * kFewDigits; i += kThreads)
    bins[i / kFewDigits][i % kFewDigits] = 0;
  __syncthreads();
  int *own = bins[threadIdx.x / 32 % kCopies];
  int64 begin = int64(blockIdx.x) * kThreads * held;
  GNNC_FOR(i, kFewHeld) {
    int64 at = begin + i * kThreads + threadIdx.x;
    addDigit(own, i < held && at < count ? digitOf(at) : -1);
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

/// Whether a list that is to be sorted is in order; `found` is null where the host knew that it is not.
GNNC_DEVICE bool needsNoSort(const Findings *found) { return found && !found->notInOrder; }

GNNC_DEVICE void countFew(const Pass &pass) {
  if (needsNoSort(pass.found))
    return;
  int mask = (1 << int(pass.bits)) - 1, undefined = int(pass.undefined), shift = int(pass.shift);
  countTile(pass.count, int(pass.held), mask + 1, pass.counts, pass.sums,
            [&](int64 at) { return (keyOf(__ldg(pass.targets + at), undefined) >> shift) & mask; });
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

/// What sorting makes of a list that is in order.
GNNC_DEVICE void takeAsIs(const Pass &pass, const int *targets) {
  int64 own = int64(blockIdx.x) * kThreads + threadIdx.x, step = int64(gridDim.x) * kThreads;
  for (int64 i = own; i < pass.count; i += step) {
    if (pass.valuesOut)
      pass.valuesOut[i] = int(i);
    if (pass.throughOut)
      pass.throughOut[i] = __ldg(pass.through + i);
  }
  for (int64 owner = own; owner < pass.numStarts; owner += step)
    pass.starts[owner] = int(lowerBound(targets, pass.count, owner));
}

/// Keys that are left out are not sorted any further.
GNNC_DEVICE void scatterFew(const Pass &pass) {
  if (needsNoSort(pass.found)) {
    if (!pass.keysOut)
      takeAsIs(pass, pass.targets);
    return;
  }
  int numDigits = 1 << int(pass.bits);
  auto find = [&](int digit) {
    return digit < numDigits ? addUp(pass.counts, pass.sums, numDigits, digit) : DigitCount{};
  };
  Part part = ownTile(pass.count, int(pass.held));
  scatterTile<kFewHeld, kFewDigits>(pass, part, find, [&](int digit, int start) {
    if (blockIdx.x != 0)
      return;
    if (digit < pass.numStarts)
      pass.starts[digit] = start;
    if (digit + 1 == numDigits && numDigits < pass.numStarts)
      pass.starts[numDigits] = int(pass.count);
  });
}

/// Sorts by the lower digit what is sorted by the upper one. Block b takes bucket b; blocks behind them take what is
/// too long for one. Each counts its bucket by itself, so that nothing stands between the two digits. What is undefined
/// has a bucket of its own, where there is nothing to sort: it may be as long as all others.
GNNC_DEVICE void scatterBuckets(const Pass &pass) {
  __shared__ int counts[2][kFewDigits];
  __shared__ int2 surplus;
  if (needsNoSort(pass.found))
    return takeAsIs(pass, pass.given);
  int bucket = blockIdx.x, tile = 0, buckets = int(pass.buckets);
  if (bucket >= buckets) {
    int own = threadIdx.x, wanted = bucket - buckets, all, tiles = 0;
    if (own < buckets)
      tiles = (__ldg(pass.upper + own + 1) - __ldg(pass.upper + own) - 1) / kFewTile;
    int before = sumBefore<kThreads>(tiles, all);
    if (wanted >= all)
      return;
    if (before <= wanted && wanted < before + tiles)
      surplus = {own, wanted - before + 1};
    __syncthreads();
    bucket = surplus.x, tile = surplus.y;
  }
  int begin = __ldg(pass.upper + bucket), end = __ldg(pass.upper + bucket + 1), mask = (1 << int(pass.bits)) - 1;
  int at = begin + tile * kFewTile, left = end - at, valid = left < kFewTile ? left : kFewTile;
  const int64 first = int64(bucket) << int(pass.bits);
  if (first == pass.undefined && !pass.keysOut) {
    if (tile == 0 && threadIdx.x == 0 && first < pass.numStarts)
      pass.starts[first] = begin;
    for (int i = at + threadIdx.x; i < at + valid; i += kThreads) {
      const int value = __ldg(pass.values + i);
      if (pass.valuesOut)
        pass.valuesOut[i] = value;
      if (pass.throughOut)
        pass.throughOut[i] = __ldg(pass.through + value);
    }
    return;
  }
  Part part{at, valid, (valid + kThreads - 1) / kThreads, begin, end - begin <= kFewTile};
  auto find = [&](int digit) {
    counts[0][digit] = counts[1][digit] = 0;
    __syncthreads();
    for (int isBehind = 0; isBehind < 2; ++isBehind) {
      int from = isBehind ? at : begin, to = isBehind ? end : at;
      for (int i = from + threadIdx.x; i - int(threadIdx.x) < to; i += kFewTile) {
        int digits[kFewHeld]; // all are read before the first is counted
        GNNC_FOR(k, kFewHeld)
        digits[k] = i + k * kThreads < to ? __ldg(pass.targets + i + k * kThreads) & mask : -1;
        GNNC_FOR(k, kFewHeld) addDigit(counts[isBehind], digits[k]);
      }
    }
    __syncthreads();
    return DigitCount{counts[0][digit] + counts[1][digit], counts[0][digit]};
  };
  scatterTile<kFewHeld, kFewDigits>(pass, part, find, [&](int digit, int start) {
    if (tile == 0 && first + digit < pass.numStarts)
      pass.starts[first + digit] = start;
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
