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

/// The best of a warp.
GNNC_DEVICE Offer bestOf(Offer own) {
  for (int mask = 16; mask > 0; mask /= 2) {
    Offer other = {shuffleXor(own.key, mask), shuffleXor(own.number, mask)};
    if (other.isBefore(own))
      own = other;
  }
  return own;
}

template <typename T> GNNC_DEVICE void search(const Farthest &own) {
  constexpr int kWarps = device::kFarthestThreads / 32;
  constexpr T kTaken = -1;
  __shared__ Offer offers[2][kWarps]; // by turns, so that one wait a point is enough
  const T *points = static_cast<const T *>(own.points);
  T *nearest = static_cast<T *>(own.nearest);
  for (int64 group = blockIdx.x; group < own.numGroups; group += gridDim.x) {
    const int begin = own.pointers[group], end = own.pointers[group + 1];
    const int first = own.owners[group], last = own.owners[group + 1];
    for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x)
      nearest[i] = T(__int_as_float(0x7f800000));
    int before = -1; // the point chosen last
    for (int place = first; place < last; ++place) {
      Offer best = noOffer();
      for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x) {
        const int number = own.members ? own.members[i] : i;
        T known = nearest[i];
        if (known == kTaken)
          continue;
        if (number == before) {
          nearest[i] = kTaken;
          continue;
        }
        if (before >= 0) {
          T sum = 0;
          for (int64 k = 0; k < own.width; ++k) {
            T difference = choose::add(points[number * own.width + k], -points[before * own.width + k]);
            sum = choose::add(sum, choose::mul(difference, difference));
          }
          if (sum < known || (sum != sum && known == known))
            nearest[i] = known = sum;
        }
        if (Offer offer = {keyOf(known), number}; offer.isBefore(best))
          best = offer;
      }
      best = bestOf(best);
      Offer(&shared)[kWarps] = offers[place & 1];
      if (lane() == 0)
        shared[threadIdx.x / 32] = best;
      __syncthreads();
      best = bestOf(lane() < kWarps ? shared[lane()] : noOffer());
      before = best.number;
      if (threadIdx.x == 0)
        own.chosen[place] = before;
    }
    __syncthreads(); // before the next group's offers
  }
}

} // namespace gnnc::farthest

#endif // GNNC_KERNELS_FARTHEST_CUH
