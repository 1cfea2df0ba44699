//===- Farthest.cpp - Points that are far from each other -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each member of a group has its distance to the nearest point chosen so far, infinity at first. The farthest is chosen
// and the distances are brought up to date, as many times as there is room. Distances are those of Nearest.cpp; what is
// chosen has none any more.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"

namespace gnnc::runtime {

namespace {

template <typename T> class Farthest {
public:
  explicit Farthest(const FarthestSearch &search)
      : search(search), from(search.from), points(static_cast<const T *>(search.points)),
        start(static_cast<const T *>(search.start)), nearest(static_cast<T *>(search.distances)) {}

  void find(int64_t owner) const {
    int64_t begin = from.begin(owner), end = from.end(owner);
    for (int64_t i = begin; i < end; ++i)
      nearest[from.member(i)] = static_cast<T>(__builtin_inf());
    int32_t *chosen = from.chosen + from.owners[owner], *last = from.chosen + from.owners[owner + 1];
    while (chosen < last) {
      bool isFirst = chosen == from.chosen + from.owners[owner];
      int32_t number = isFirst && start ? largestStart(begin, end) : farthest(begin, end);
      *chosen++ = number;
      nearest[number] = kTaken;
      if (chosen == last)
        return;
      search.width == 3 ? update<3>(number, begin, end) : update<0>(number, begin, end);
    }
  }

private:
  static constexpr T kTaken = -1;

  int32_t largestStart(int64_t begin, int64_t end) const {
    int32_t best = from.member(begin);
    for (int64_t i = begin + 1; i < end; ++i) {
      int32_t number = from.member(i);
      T own = start[number], other = start[best];
      bool isEqual = own == other || (own != own && other != other);
      if (isEqual ? number < best : own > other || other != other)
        best = number;
    }
    return best;
  }

  int32_t farthest(int64_t begin, int64_t end) const {
    int32_t best = -1, other = -1; // of those with a distance, and of those whose distance is not a number
    for (int64_t i = begin; i < end; ++i) {
      int32_t number = from.member(i);
      T own = nearest[number];
      if (own >= 0) {
        if (best < 0 || own > nearest[best] || (own == nearest[best] && number < best))
          best = number;
      } else if (own != own && (other < 0 || number < other)) {
        other = number;
      }
    }
    return best < 0 ? other : best;
  }

  /// `kWidth`: of rows; 0: not known here.
  template <int kWidth> void update(int32_t number, int64_t begin, int64_t end) const {
    const int64_t width = kWidth ? kWidth : search.width;
    const T *point = points + number * width;
    for (int64_t i = begin; i < end; ++i) {
      int32_t member = from.member(i);
      const T *own = points + member * width;
      T sum = 0;
      for (int64_t k = 0; k < width; ++k) {
#pragma clang fp contract(off)
        T difference = own[k] - point[k];
        sum += difference * difference;
      }
      T &known = nearest[member]; // Neither what is taken nor what is not a number ever changes.
      if (sum < known || (sum != sum && known >= 0))
        known = sum;
    }
  }

  const FarthestSearch &search;
  const Candidates &from;
  const T *points, *start;
  T *nearest;
};

template <typename T> void findRows(const FarthestSearch &search, int64_t begin, int64_t end) {
  Farthest<T> farthest(search);
  for (int64_t owner = begin; owner < end; ++owner)
    farthest.find(owner);
}

} // namespace

void findFarthest(const FarthestSearch &search, int64_t begin, int64_t end) {
  search.isDouble ? findRows<double>(search, begin, end) : findRows<float>(search, begin, end);
}

} // namespace gnnc::runtime
