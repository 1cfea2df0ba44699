//===- Farthest.cuh - Points that are far from each other -------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block chooses among the points of a group, one after the other. Each thread updates some of the distances to the
// nearest chosen point by the point chosen last, and offers the farthest of them; the block takes the best offer. All
// distances are infinite at first, so that the point with the smallest number is chosen first.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_FARTHEST_CUH
#define GNNC_KERNELS_FARTHEST_CUH

#include "Choose.cuh"

namespace gnnc::farthest {

using device::Farthest;

/// Whole numbers that rise with the distance; of what is not a number 0.
GNNC_DEVICE unsigned long long keyOf(float x) { return x == x ? __float_as_uint(x) + 1ull : 0; }
GNNC_DEVICE unsigned long long keyOf(double x) {
  return x == x ? static_cast<unsigned long long>(__double_as_longlong(x)) + 1 : 0;
}

struct Offer {
  unsigned long long key;
  int number;
  GNNC_DEVICE bool isBefore(const Offer &other) const {
    return key > other.key || (key == other.key && number < other.number);
  }
};
/// Behind all else.
GNNC_DEVICE Offer noOffer() { return {0, 0x7fffffff}; }

/// The best of a warp. Keys of float distances have 32 bits.
template <typename T> GNNC_DEVICE Offer bestOf(Offer own) {
  if constexpr (sizeof(T) == sizeof(float)) {
    const unsigned key = unsigned(own.key), best = largestOfWarp(key);
    return {best, int(leastOfWarp(key == best ? unsigned(own.number) : unsigned(noOffer().number)))};
  } else {
    for (int mask = 16; mask > 0; mask /= 2) {
      Offer other = {shuffleXor(own.key, mask), shuffleXor(own.number, mask)};
      if (other.isBefore(own))
        own = other;
    }
    return own;
  }
}

constexpr int kWarps = device::kFarthestThreads / 32;
/// By turns, so that one wait a point is enough.
using Offers = Offer[2][kWarps];

/// The best of a block; `turn`: of the points that it chooses.
template <typename T> GNNC_DEVICE int bestOfBlock(Offer best, Offers &offers, int turn) {
  best = bestOf<T>(best);
  Offer(&shared)[kWarps] = offers[turn & 1];
  if (lane() == 0)
    shared[threadIdx.x / 32] = best;
  __syncthreads();
  return bestOf<T>(lane() < kWarps ? shared[lane()] : noOffer()).number;
}

constexpr float kNoDistance = -1; // of what is chosen already

template <typename T> GNNC_DEVICE T distance(const T *point, const T *other, int64 width) {
  T sum = 0;
  for (int64 k = 0; k < width; ++k) {
    T difference = choose::add(point[k], -other[k]);
    sum = choose::add(sum, choose::mul(difference, difference));
  }
  return sum;
}

/// Brings a distance up to date by a point's own, and says what the point offers.
template <typename T> GNNC_DEVICE void offer(T &known, T own, int number, Offer &best) {
  if (own < known || (own != own && known == known))
    known = own;
  if (Offer mine = {keyOf(known), number}; mine.isBefore(best))
    best = mine;
}

/// The point whose `start` is the largest; what is not a number is behind all others.
template <typename T> GNNC_DEVICE int largestStart(const Farthest &own, int begin, int end, int turn, Offers &offers) {
  const T *start = static_cast<const T *>(own.start);
  Offer best = noOffer();
  for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x) {
    const int number = own.members ? own.members[i] : i;
    const unsigned long long all = sizeof(T) == sizeof(float) ? 0xffffffffull : ~0ull;
    if (Offer mine = {all - choose::keyOf(start[number]), number}; mine.isBefore(best))
      best = mine;
  }
  return bestOfBlock<T>(best, offers, turn);
}

/// Places [begin, end), which are at most kHeld for each thread: what is known of them is in registers.
template <typename T, int kHeld>
GNNC_DEVICE void chooseHeld(const Farthest &own, int begin, int end, int first, int last, int before, Offers &offers) {
  constexpr int kWidth = 3;
  const T *points = static_cast<const T *>(own.points);
  T held[kHeld][kWidth], nearest[kHeld];
  int numbers[kHeld];
  GNNC_FOR(h, kHeld) {
    const int place = begin + int(threadIdx.x) + h * device::kFarthestThreads;
    numbers[h] = place >= end ? -1 : own.members ? own.members[place] : place;
    nearest[h] = place < end ? T(__int_as_float(0x7f800000)) : T(kNoDistance);
    GNNC_FOR(k, kWidth) held[h][k] = place < end ? points[int64(numbers[h]) * kWidth + k] : T(0);
  }
  for (int place = first; place < last; ++place) {
    Offer best = noOffer();
    T point[kWidth];
    GNNC_FOR(k, kWidth) point[k] = before < 0 ? T(0) : points[int64(before) * kWidth + k];
    GNNC_FOR(h, kHeld) {
      if (numbers[h] == before)
        nearest[h] = T(kNoDistance);
      if (nearest[h] != T(kNoDistance))
        offer(nearest[h], before < 0 ? nearest[h] : distance(held[h], point, kWidth), numbers[h], best);
    }
    before = bestOfBlock<T>(best, offers, place);
    if (threadIdx.x == 0)
      own.chosen[place] = before;
  }
}

/// The same for any number of them.
template <typename T>
GNNC_DEVICE void chooseFromMemory(const Farthest &own, int begin, int end, int first, int last, int before,
                                  Offers &offers) {
  const T *points = static_cast<const T *>(own.points);
  T *nearest = static_cast<T *>(own.nearest);
  for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x)
    nearest[i] = T(__int_as_float(0x7f800000));
  for (int place = first; place < last; ++place) {
    Offer best = noOffer();
    for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x) {
      const int number = own.members ? own.members[i] : i;
      T known = nearest[i];
      if (number == before)
        nearest[i] = known = T(kNoDistance);
      if (known == T(kNoDistance))
        continue;
      offer(known, before < 0 ? known : distance(points + number * own.width, points + before * own.width, own.width),
            number, best);
      nearest[i] = known;
    }
    before = bestOfBlock<T>(best, offers, place);
    if (threadIdx.x == 0)
      own.chosen[place] = before;
  }
}

template <typename T> GNNC_DEVICE void search(const Farthest &own) {
  __shared__ Offers offers;
  for (int64 group = blockIdx.x; group < own.numGroups; group += gridDim.x) {
    const int begin = own.pointers[group], end = own.pointers[group + 1];
    const int last = own.owners[group + 1];
    int first = own.owners[group], before = -1; // the point chosen last
    if (own.start && first < last) {
      before = largestStart<T>(own, begin, end, first, offers);
      if (threadIdx.x == 0)
        own.chosen[first] = before;
      ++first;
    }
    const int held = own.width == 3 ? (end - begin + device::kFarthestThreads - 1) / device::kFarthestThreads : 99;
    if (held <= 2)
      chooseHeld<T, 2>(own, begin, end, first, last, before, offers);
    else if (held <= 8)
      chooseHeld<T, 8>(own, begin, end, first, last, before, offers);
    else if (held <= 16)
      chooseHeld<T, 16>(own, begin, end, first, last, before, offers);
    else
      chooseFromMemory<T>(own, begin, end, first, last, before, offers);
    __syncthreads(); // before the next group's offers
  }
}

} // namespace gnnc::farthest

#endif // GNNC_KERNELS_FARTHEST_CUH
