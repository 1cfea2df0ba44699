//===- Nearest.cpp - The nearest points -----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Points are kept in columns, so that distances of many to one query are computed side by side; each distance is the
// same sum in the same order, whatever the width of vectors. The nearest so far are in order, which few points change.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"

namespace gnnc::runtime {

namespace {

constexpr int64_t kTile = 256;

template <typename T>
[[gnu::always_inline]] inline void distancesOf(const NearestSearch &search, const T *query, int64_t begin, int64_t size,
                                               T *result) {
#pragma clang fp contract(off)
  const T *column = static_cast<const T *>(search.columns) + begin;
  for (int64_t i = 0; i < size; ++i)
    result[i] = 0;
  for (int64_t k = 0; k < search.width; ++k, column += search.from.count) {
    T own = query[k];
    for (int64_t i = 0; i < size; ++i) {
      T difference = column[i] - own;
      result[i] += difference * difference;
    }
  }
}

template <typename T> inline bool isNumber(T x) { return x == x; }
/// Not-a-number is behind all else.
template <typename T> inline bool isBefore(T a, T b) { return a < b || (isNumber(a) && !isNumber(b)); }

template <typename T> [[gnu::always_inline]] inline void searchFor(const NearestSearch &search, int64_t owner) {
  int64_t first = search.from.owners[owner], room = search.from.owners[owner + 1] - first;
  if (room == 0)
    return;
  int64_t begin = search.from.begin(owner), end = search.from.end(owner);
  const T *query = static_cast<const T *>(search.queries) + owner * search.width;
  T *nearest = static_cast<T *>(search.distances) + first;
  int32_t *chosen = search.from.chosen + first;
  int64_t kept = 0;
  T tile[kTile];
  for (int64_t from = begin; from < end; from += kTile) {
    int64_t size = end - from < kTile ? end - from : kTile;
    distancesOf<T>(search, query, from, size, tile);
    for (int64_t i = 0; i < size; ++i) {
      // Points come by rising number, so an equal distance comes behind those that are there.
      if (kept == room && !isBefore(tile[i], nearest[kept - 1]))
        continue;
      int32_t number = search.from.member(from + i);
      if (search.from.others && number == owner)
        continue;
      int64_t place = kept < room ? kept++ : kept - 1;
      for (; place > 0 && isBefore(tile[i], nearest[place - 1]); --place) {
        nearest[place] = nearest[place - 1];
        chosen[place] = chosen[place - 1];
      }
      nearest[place] = tile[i];
      chosen[place] = number;
    }
  }
}

template <typename T> void searchRows(const NearestSearch &search, int64_t begin, int64_t end) {
  for (int64_t owner = begin; owner < end; ++owner)
    searchFor<T>(search, owner);
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] void searchRowsWide(const NearestSearch &search, int64_t begin, int64_t end) {
  for (int64_t owner = begin; owner < end; ++owner)
    searchFor<T>(search, owner);
}
#else
template <typename T> void searchRowsWide(const NearestSearch &search, int64_t begin, int64_t end) {
  searchRows<T>(search, begin, end);
}
#endif

template <typename T> void transpose(const NearestSearch &search, int64_t begin, int64_t end) {
  T *columns = static_cast<T *>(search.columns);
  for (int64_t at = begin; at < end; ++at) {
    const T *point = static_cast<const T *>(search.points) + search.from.member(at) * search.width;
    for (int64_t k = 0; k < search.width; ++k)
      columns[k * search.from.count + at] = point[k];
  }
}

} // namespace

void fillColumns(const NearestSearch &search, int64_t begin, int64_t end) {
  search.isDouble ? transpose<double>(search, begin, end) : transpose<float>(search, begin, end);
}

void findNearest(const NearestSearch &search, int64_t begin, int64_t end) {
  bool isWide = search.level >= 3; // for aarch64 there is one form
  if (search.isDouble)
    isWide ? searchRowsWide<double>(search, begin, end) : searchRows<double>(search, begin, end);
  else
    isWide ? searchRowsWide<float>(search, begin, end) : searchRows<float>(search, begin, end);
}

} // namespace gnnc::runtime
