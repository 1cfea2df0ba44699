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
// votes), in the warps before, and in the tiles before: the sort is stable, and the same every time.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_SORT_CUH
#define GNNC_KERNELS_SORT_CUH

#include "Lanes.cuh"

namespace gnnc::prepare {

constexpr int kThreads = 512, kWarps = kThreads / 32, kHeld = 16;
constexpr int kTile = kThreads * kHeld;
constexpr int kDigits = 256; ///< at most

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

/// Null `values`: an element's own number. Null `keysOut`: only the values are wanted.
GNNC_DEVICE void scatterDigits(const int *targets, const int *values, int *keysOut, int *valuesOut, int64 count,
                               int undefined, int shift, int bits, const int *counts, const int *totals) {
  __shared__ unsigned short bins[kWarps][kDigits];
  __shared__ int tileStart[kDigits], destination[kDigits];
  __shared__ int exchange[kTile];
  int mask = (1 << bits) - 1, warp = threadIdx.x / 32;
  int64 begin = int64(blockIdx.x) * kTile;
  int valid = count - begin < kTile ? int(count - begin) : kTile;
  for (int digit = lane(); digit <= mask; digit += 32)
    bins[warp][digit] = 0;
  __syncwarp();

  int keys[kHeld], ranks[kHeld];
  int first = warp * 32 * kHeld + lane();
  // What is past the end has the last digit of all, and comes after those that have it too.
  GNNC_FOR(i, kHeld)
  keys[i] = first + 32 * i < valid ? keyOf(__ldg(targets + begin + first + 32 * i), undefined) : -1;
  GNNC_FOR(i, kHeld) {
    int digit = (keys[i] >> shift) & mask;
    unsigned alike = kAllLanes;
    for (int b = 0; b < bits; ++b) {
      bool is = (digit >> b) & 1;
      unsigned those = __ballot_sync(kAllLanes, is);
      alike &= is ? those : ~those;
    }
    int before = __popc(alike & ((1u << lane()) - 1)), leader = __ffs(alike) - 1, start = 0;
    if (lane() == leader) {
      start = bins[warp][digit];
      bins[warp][digit] = static_cast<unsigned short>(start + __popc(alike));
    }
    ranks[i] = __shfl_sync(kAllLanes, start, leader) + before;
    __syncwarp();
  }
  __syncthreads();

  int digit = threadIdx.x, own = 0;
  if (digit <= mask)
    GNNC_FOR(w, kWarps) {
      int held = bins[w][digit];
      bins[w][digit] = static_cast<unsigned short>(own);
      own += held;
    }
  int all, start = sumBefore<kThreads>(own, all);
  int base = sumBefore<kThreads>(digit <= mask ? totals[digit] : 0, all);
  if (digit <= mask) {
    tileStart[digit] = start;
    destination[digit] = base + counts[int64(digit) * gridDim.x + blockIdx.x] - start;
  }
  __syncthreads();
  GNNC_FOR(i, kHeld) {
    int d = (keys[i] >> shift) & mask;
    ranks[i] += bins[warp][d] + tileStart[d];
    exchange[ranks[i]] = keys[i];
  }
  __syncthreads();
  int places[kHeld];
  GNNC_FOR(i, kHeld) {
    int at = i * kThreads + threadIdx.x, key = exchange[at];
    places[i] = destination[(key >> shift) & mask] + at;
    if (keysOut && at < valid)
      keysOut[places[i]] = key;
  }
  __syncthreads();
  GNNC_FOR(i, kHeld) {
    int at = first + 32 * i;
    exchange[ranks[i]] = at >= valid ? 0 : values ? __ldg(values + begin + at) : int(begin) + at;
  }
  __syncthreads();
  GNNC_FOR(i, kHeld) {
    int at = i * kThreads + threadIdx.x;
    if (at < valid)
      valuesOut[places[i]] = exchange[at];
  }
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
