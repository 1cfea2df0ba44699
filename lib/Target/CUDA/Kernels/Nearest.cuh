//===- Nearest.cuh - The nearest points -------------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block searches for queries that stand side by side, group by group: it goes through the points of all their groups,
// some at a time in shared memory, and a warp computes the distances of a few queries to many points at once, some of
// their numbers at a time, from the first on. No distance is ever in memory.
//
// A warp keeps the nearest so far of each of its queries in order, and collects what is nearer than the last of them;
// 32 of these are sorted and merged at a time. Distances are no negative numbers, so that their bits, as whole numbers,
// have their order; what is not a number comes last, and of equal distances the smaller number comes first. More than
// 32 are found in turns: each turn finds those behind the last one of the turn before.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_NEAREST_CUH
#define GNNC_KERNELS_NEAREST_CUH

#include "Lanes.cuh"

namespace gnnc::nearest {

using device::Nearest;

constexpr int kPoints = 128, kSubtiles = kPoints / 32, kNumbers = 16, kWarps = device::kNearestThreads / 32;
constexpr int kKept = 32, kCollected = 64;

/// A distance and whose it is, which are compared together.
template <typename T> struct Found;
template <> struct Found<float> {
  using Key = unsigned;
  static constexpr Key kNone = ~0u;
  unsigned long long both;
  GNNC_DEVICE static Key keyOf(float x) { return x == x ? __float_as_uint(x) : 0x7fffffffu; }
  GNNC_DEVICE static Found of(Key key, int number) {
    return {static_cast<unsigned long long>(key) << 32 | unsigned(number)};
  }
  GNNC_DEVICE Key key() const { return Key(both >> 32); }
  GNNC_DEVICE int number() const { return int(both); }
  GNNC_DEVICE bool operator<(const Found &other) const { return both < other.both; }
  GNNC_DEVICE Found from(int lane) const { return {shuffle(both, lane)}; }
  GNNC_DEVICE Found across(int mask) const { return {shuffleXor(both, mask)}; }
  GNNC_DEVICE static float add(float a, float b) { return __fadd_rn(a, b); }
  GNNC_DEVICE static float mul(float a, float b) { return __fmul_rn(a, b); }
};
template <> struct Found<double> {
  using Key = unsigned long long;
  static constexpr Key kNone = ~0ull;
  Key own;
  int whose;
  GNNC_DEVICE static Key keyOf(double x) {
    return x == x ? static_cast<Key>(__double_as_longlong(x)) : 0x7fffffffffffffffull;
  }
  GNNC_DEVICE static Found of(Key key, int number) { return {key, number}; }
  GNNC_DEVICE Key key() const { return own; }
  GNNC_DEVICE int number() const { return whose; }
  GNNC_DEVICE bool operator<(const Found &other) const {
    return own < other.own || (own == other.own && unsigned(whose) < unsigned(other.whose));
  }
  GNNC_DEVICE Found from(int lane) const { return {shuffle(own, lane), shuffle(whose, lane)}; }
  GNNC_DEVICE Found across(int mask) const { return {shuffleXor(own, mask), shuffleXor(whose, mask)}; }
  GNNC_DEVICE static double add(double a, double b) { return __dadd_rn(a, b); }
  GNNC_DEVICE static double mul(double a, double b) { return __dmul_rn(a, b); }
};

/// Sorts what lanes have, from where halves of `from` lanes are in order, up and down by turns.
template <typename T> GNNC_DEVICE Found<T> sorted(Found<T> x, int from) {
  for (int size = from; size <= 32; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      Found<T> other = x.across(step);
      bool rises = (lane() & size) == 0 || size == 32, isFirst = (lane() & step) == 0;
      if ((other < x) == (rises == isFirst))
        x = other;
    }
  return x;
}

template <typename T, int kQueries> struct Shared {
  T points[kNumbers][kPoints + 1];
  alignas(16) T queries[kWarps * kQueries][kNumbers];
  Found<T> kept[kWarps * kQueries][kKept], collected[kWarps * kQueries][kCollected];
  int numbers[kPoints];
  int queryNumbers[kWarps * kQueries];
  int begin, end, turns;
};

/// kQueries for each warp.
template <typename T, int kQueries> GNNC_DEVICE void search(const Nearest &own) {
  using F = Found<T>;
  using K = typename F::Key;
  __shared__ Shared<T, kQueries> shared;
  constexpr int kAll = kWarps * kQueries;
  const T *points = static_cast<const T *>(own.points), *queries = static_cast<const T *>(own.queries);
  const int width = int(own.width), lane = gnnc::lane(), warp = int(threadIdx.x) / 32;
  const int64 first = int64(blockIdx.x) * kAll;
  for (int i = threadIdx.x; i < kAll; i += blockDim.x)
    shared.queryNumbers[i] = first + i >= own.numQueries ? -1 : own.order ? own.order[first + i] : int(first + i);
  if (threadIdx.x == 0)
    shared.turns = 0;
  __syncthreads();
  // The points of all groups of this block's queries.
  if (threadIdx.x == 0) {
    int64 last = own.numQueries - first < kAll ? own.numQueries - first - 1 : kAll - 1;
    shared.begin = own.groups ? own.pointers[own.groups[shared.queryNumbers[0]]] : 0;
    shared.end = own.groups ? own.pointers[own.groups[shared.queryNumbers[last]] + 1] : int(own.numPoints);
  }
  int query[kQueries], begin[kQueries], end[kQueries];
  // Lane q has what is to be known of query q: where its result begins, and how many it has room for.
  int at = 0, allRoom = 0;
  GNNC_FOR(q, kQueries) {
    query[q] = shared.queryNumbers[warp * kQueries + q];
    bool isThere = query[q] >= 0;
    int group = isThere && own.groups ? own.groups[query[q]] : 0;
    begin[q] = isThere && own.groups ? own.pointers[group] : 0;
    end[q] = !isThere ? 0 : own.groups ? own.pointers[group + 1] : int(own.numPoints);
    if (lane == q && isThere) {
      at = own.owners[query[q]];
      allRoom = own.owners[query[q] + 1] - at;
    }
  }
  if (lane < kQueries)
    atomicMax(&shared.turns, (allRoom + kKept - 1) / kKept);
  __syncthreads();
  const int blockBegin = shared.begin, blockEnd = shared.end, turns = shared.turns;
  F after = F::of(0, 0); // lane q: what was kept in the turns before ends with this one
  for (int turn = 0; turn < turns; ++turn) {
    int room = allRoom - kKept * turn, collected = 0; // lane q: of query q
    room = room < 0 ? 0 : room < kKept ? room : kKept;
    K worst = room > 0 ? F::kNone : K(0);
    GNNC_FOR(q, kQueries) shared.kept[warp * kQueries + q][lane] = F::of(F::kNone, -1);
    syncWarp();
    auto merge = [&](int q, int count) {
      F(&list)[kKept] = shared.kept[warp * kQueries + q];
      F(&more)[kCollected] = shared.collected[warp * kQueries + q];
      F x = lane < count ? more[lane] : F::of(F::kNone, -1);
      F rest = more[lane + 32];
      syncWarp();
      more[lane] = rest;
      F other = sorted(x, 2).from(31 - lane), mine = list[lane];
      if (other < mine)
        mine = other;
      mine = sorted(mine, 32);
      list[lane] = mine;
      K last = mine.from(shuffle(room, q) - 1).key();
      if (lane == q) {
        worst = last;
        collected -= count;
      }
      syncWarp();
    };
    for (int from = blockBegin; from < blockEnd; from += kPoints) {
      T sums[kQueries][kSubtiles];
      GNNC_FOR(q, kQueries) GNNC_FOR(s, kSubtiles) sums[q][s] = 0;
      for (int begun = 0; begun < width; begun += kNumbers) {
        const int count = width - begun < kNumbers ? width - begun : kNumbers;
        __syncthreads();
        if (begun == 0) {
          for (int i = threadIdx.x; i < kPoints; i += blockDim.x)
            shared.numbers[i] = from + i >= blockEnd ? -1 : own.members ? own.members[from + i] : from + i;
          __syncthreads();
        }
        auto load = [&](int count) {
          for (int i = threadIdx.x; i < kPoints * count; i += blockDim.x) {
            int number = shared.numbers[i / count];
            shared.points[i % count][i / count] = number < 0 ? T(0) : points[int64(number) * width + begun + i % count];
          }
          for (int i = threadIdx.x; i < kAll * count; i += blockDim.x) {
            int number = shared.queryNumbers[i / count];
            shared.queries[i / count][i % count] =
                number < 0 ? T(0) : queries[int64(number) * width + begun + i % count];
          }
        };
        auto add = [&](int k) {
          T x[kSubtiles];
          GNNC_FOR(s, kSubtiles) x[s] = shared.points[k][s * 32 + lane];
          GNNC_FOR(q, kQueries) {
            T y = shared.queries[warp * kQueries + q][k];
            GNNC_FOR(s, kSubtiles) {
              T difference = F::add(x[s], -y);
              sums[q][s] = F::add(sums[q][s], F::mul(difference, difference));
            }
          }
        };
        if (count == kNumbers) { // No division by what is not known.
          load(kNumbers);
          __syncthreads();
          GNNC_FOR(k, kNumbers) add(k);
        } else {
          load(count);
          __syncthreads();
          for (int k = 0; k < count; ++k)
            add(k);
        }
      }
      GNNC_FOR(s, kSubtiles) {
        const int place = from + s * 32 + lane, number = shared.numbers[s * 32 + lane];
        GNNC_FOR(q, kQueries) {
          K key = F::keyOf(sums[q][s]);
          const K most = shuffle(worst, q);
          bool isOne = place >= begin[q] && place < end[q] && key < most && !(own.others && number == query[q]);
          F found = F::of(key, number);
          if (turn > 0) {
            const F last = after.from(q);
            isOne = isOne && last < found;
          }
          unsigned all = ballot(isOne);
          if (all) {
            int before = shuffle(collected, q);
            if (isOne)
              shared.collected[warp * kQueries + q][before + __popc(all & ((1u << lane) - 1))] = found;
            collected += lane == q ? __popc(all) : 0;
          }
        }
        syncWarp();
        for (unsigned full = ballot(collected >= 32); full; full &= full - 1)
          merge(__ffs(full) - 1, 32);
      }
    }
    for (unsigned left = ballot(collected > 0); left; left &= left - 1) {
      int q = __ffs(left) - 1;
      merge(q, shuffle(collected, q));
    }
    for (int q = 0; q < kQueries; ++q) {
      int to = shuffle(at, q), count = shuffle(room, q);
      if (lane < count)
        own.chosen[to + kKept * turn + lane] = shared.kept[warp * kQueries + q][lane].number();
      if (lane == q && count > 0)
        after = shared.kept[warp * kQueries + q][count - 1];
    }
    __syncthreads();
  }
}

} // namespace gnnc::nearest

#endif // GNNC_KERNELS_NEAREST_CUH
