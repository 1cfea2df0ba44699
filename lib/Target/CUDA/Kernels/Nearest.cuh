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
// A warp keeps the nearest so far in order, across its lanes: distances are no negative numbers, so that their bits, as
// whole numbers, have their order, and what is not a number comes last. Points come by rising number, so one that is as
// far as another goes behind it. More than the lanes hold are kept in the result itself, in turns: each turn finds those
// behind the last of the turn before.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_NEAREST_CUH
#define GNNC_KERNELS_NEAREST_CUH

#include "Lanes.cuh"

namespace gnnc::nearest {

using device::Nearest;

constexpr int kPoints = 128, kSubtiles = kPoints / 32, kNumbers = 16, kWarps = device::kNearestThreads / 32;

template <typename T> struct Key;
template <> struct Key<float> {
  using Type = unsigned;
  static constexpr Type kNone = ~0u, kNoNumber = 0x7fffffffu;
  GNNC_DEVICE static Type of(float x) { return x == x ? __float_as_uint(x) : kNoNumber; }
  GNNC_DEVICE static float add(float a, float b) { return __fadd_rn(a, b); }
  GNNC_DEVICE static float sub(float a, float b) { return __fadd_rn(a, -b); }
  GNNC_DEVICE static float mul(float a, float b) { return __fmul_rn(a, b); }
};
template <> struct Key<double> {
  using Type = unsigned long long;
  static constexpr Type kNone = ~0ull, kNoNumber = 0x7fffffffffffffffull;
  GNNC_DEVICE static Type of(double x) {
    return x == x ? static_cast<Type>(__double_as_longlong(x)) : kNoNumber;
  }
  GNNC_DEVICE static double add(double a, double b) { return __dadd_rn(a, b); }
  GNNC_DEVICE static double sub(double a, double b) { return __dadd_rn(a, -b); }
  GNNC_DEVICE static double mul(double a, double b) { return __dmul_rn(a, b); }
};

/// What one query keeps: lane l has number l of them.
template <typename T> struct Kept {
  using K = typename Key<T>::Type;
  K key, worst;
  int number;

  GNNC_DEVICE void clear(int room) {
    key = Key<T>::kNone;
    number = -1;
    worst = room > 0 ? Key<T>::kNone : K(0);
  }
  /// All lanes with the same arguments.
  GNNC_DEVICE void insert(K newKey, int newNumber, int room) {
    int place = __popc(__ballot_sync(kAllLanes, key <= newKey));
    K upKey = __shfl_up_sync(kAllLanes, key, 1);
    int upNumber = __shfl_up_sync(kAllLanes, number, 1);
    if (lane() > place) {
      key = upKey;
      number = upNumber;
    } else if (lane() == place) {
      key = newKey;
      number = newNumber;
    }
    worst = __shfl_sync(kAllLanes, key, room - 1);
  }
};

template <typename T, int kQueries> struct Shared {
  T points[kNumbers][kPoints + 1];
  T queries[kWarps * kQueries][kNumbers];
  int numbers[kPoints];
  int begin, end;
};

/// kQueries for each warp.
template <typename T, int kQueries> GNNC_DEVICE void search(const Nearest &own) {
  using K = typename Key<T>::Type;
  __shared__ Shared<T, kQueries> shared;
  const T *points = static_cast<const T *>(own.points), *queries = static_cast<const T *>(own.queries);
  const int width = int(own.width), lane = gnnc::lane(), warp = int(threadIdx.x) / 32;
  const int64 first = int64(blockIdx.x) * (kWarps * kQueries);
  auto queryAt = [&](int64 place) -> int64 {
    return place >= own.numQueries ? -1 : own.order ? own.order[place] : place;
  };
  // The points of all groups of this block's queries.
  if (threadIdx.x == 0) {
    int64 last = first + kWarps * kQueries - 1;
    last = last < own.numQueries ? last : own.numQueries - 1;
    shared.begin = own.groups ? own.pointers[own.groups[queryAt(first)]] : 0;
    shared.end = own.groups ? own.pointers[own.groups[queryAt(last)] + 1] : int(own.numPoints);
  }
  int64 query[kQueries];
  int room[kQueries], at[kQueries], begin[kQueries], end[kQueries], turns = 0;
  GNNC_FOR(q, kQueries) {
    query[q] = queryAt(first + warp * kQueries + q);
    bool isThere = query[q] >= 0;
    at[q] = isThere ? own.owners[query[q]] : 0;
    room[q] = isThere ? own.owners[query[q] + 1] - at[q] : 0;
    int group = isThere && own.groups ? own.groups[query[q]] : 0;
    begin[q] = !isThere ? 0 : own.groups ? own.pointers[group] : 0;
    end[q] = !isThere ? 0 : own.groups ? own.pointers[group + 1] : int(own.numPoints);
    turns = (room[q] + 31) / 32 > turns ? (room[q] + 31) / 32 : turns;
  }
  // Warps wait for each other at each tile.
  __shared__ int mostTurns;
  if (threadIdx.x == 0)
    mostTurns = 0;
  __syncthreads();
  if (lane == 0)
    atomicMax(&mostTurns, turns);
  __syncthreads();
  const int blockBegin = shared.begin, blockEnd = shared.end;
  Kept<T> kept[kQueries];
  K after[kQueries];        // what was kept in the turns before ends here,
  int afterNumber[kQueries]; // and, of equal ones, with this point
  GNNC_FOR(q, kQueries) {
    after[q] = 0;
    afterNumber[q] = -1;
  }
  for (int turn = 0; turn < mostTurns; ++turn) {
    int roomNow[kQueries];
    GNNC_FOR(q, kQueries) {
      int left = room[q] - 32 * turn;
      roomNow[q] = left < 0 ? 0 : left < 32 ? left : 32;
      kept[q].clear(roomNow[q]);
    }
    for (int from = blockBegin; from < blockEnd; from += kPoints) {
      T sums[kQueries][kSubtiles];
      GNNC_FOR(q, kQueries) GNNC_FOR(s, kSubtiles) sums[q][s] = 0;
      for (int begun = 0; begun < width; begun += kNumbers) {
        int count = width - begun < kNumbers ? width - begun : kNumbers;
        __syncthreads();
        if (begun == 0)
          for (int i = threadIdx.x; i < kPoints; i += blockDim.x)
            shared.numbers[i] = from + i >= blockEnd ? -1 : own.members ? own.members[from + i] : from + i;
        __syncthreads();
        for (int i = threadIdx.x; i < kPoints * count; i += blockDim.x) {
          int point = i / count, k = i % count, number = shared.numbers[point];
          shared.points[k][point] = number < 0 ? T(0) : points[int64(number) * width + begun + k];
        }
        for (int i = threadIdx.x; i < kWarps * kQueries * count; i += blockDim.x) {
          int64 number = queryAt(first + i / count);
          shared.queries[i / count][i % count] = number < 0 ? T(0) : queries[number * width + begun + i % count];
        }
        __syncthreads();
        auto addNumber = [&](int k) {
          T x[kSubtiles];
          GNNC_FOR(s, kSubtiles) x[s] = shared.points[k][s * 32 + lane];
          GNNC_FOR(q, kQueries) {
            T y = shared.queries[warp * kQueries + q][k];
            GNNC_FOR(s, kSubtiles) {
              T difference = Key<T>::sub(x[s], y);
              sums[q][s] = Key<T>::add(sums[q][s], Key<T>::mul(difference, difference));
            }
          }
        };
        if (count == kNumbers) {
          GNNC_FOR(k, kNumbers) addNumber(k);
        } else {
          for (int k = 0; k < count; ++k)
            addNumber(k);
        }
      }
      GNNC_FOR(s, kSubtiles) {
        int place = from + s * 32 + lane, number = shared.numbers[s * 32 + lane];
        GNNC_FOR(q, kQueries) {
          K key = Key<T>::of(sums[q][s]);
          bool isBehind = turn == 0 || key > after[q] || (key == after[q] && number > afterNumber[q]);
          bool isOne = place >= begin[q] && place < end[q] && isBehind && !(own.others && number == query[q]);
          for (unsigned left = __ballot_sync(kAllLanes, isOne && key < kept[q].worst); left; left &= left - 1) {
            int source = __ffs(left) - 1;
            K newKey = __shfl_sync(kAllLanes, key, source);
            int newNumber = __shfl_sync(kAllLanes, number, source);
            if (newKey < kept[q].worst)
              kept[q].insert(newKey, newNumber, roomNow[q]);
          }
        }
      }
    }
    GNNC_FOR(q, kQueries) {
      if (lane < roomNow[q])
        own.chosen[at[q] + 32 * turn + lane] = kept[q].number;
      if (roomNow[q] > 0) {
        after[q] = __shfl_sync(kAllLanes, kept[q].key, roomNow[q] - 1);
        afterNumber[q] = __shfl_sync(kAllLanes, kept[q].number, roomNow[q] - 1);
      }
    }
    __syncthreads();
  }
}

} // namespace gnnc::nearest

#endif // GNNC_KERNELS_NEAREST_CUH
