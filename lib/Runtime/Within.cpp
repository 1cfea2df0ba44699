//===- Within.cpp - Points nearer than a radius ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many points of up to three numbers are listed by cells (Cells.h), and those in the lists around are tried; of few
// points in a group, or of points with more numbers, all are. Distances are those of Nearest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "gnnc/ModelFormat/Cells.h"
#include <string.h>

namespace gnnc::runtime {

namespace {

/// Of no more points in a group, on average, each other is tried.
constexpr int64_t kFewPoints = 64;

template <typename T> class Within {
public:
  explicit Within(const WithinSearch &search) : search(search), from(search.from) {
    double wide;
    memcpy(&wide, &search.square, sizeof wide);
    square = static_cast<T>(wide);
    grid = cells::gridFor(wide);
  }

  int64_t fill() const {
    int32_t *starts = search.cells, *points = starts + from.count + 1, *lists = points + from.count;
    memset(starts, 0, (from.count + 1) * sizeof(int32_t));
    for (int64_t i = 0; i < from.count; ++i) {
      int64_t group = search.belongs ? search.belongs[i] : 0;
      lists[i] = static_cast<int32_t>(cells::listOf(cellOf(point(i)), group, from.count));
      ++starts[lists[i] + 1];
    }
    for (int64_t list = 0; list < from.count; ++list)
      starts[list + 1] += starts[list];
    // Each list is filled from its start to its end, which is where the next one starts; then they are moved back.
    for (int64_t i = 0; i < from.count; ++i)
      points[starts[lists[i]]++] = static_cast<int32_t>(i);
    memmove(starts + 1, starts, from.count * sizeof(int32_t));
    starts[0] = 0;
    return from.count;
  }

  /// Gives `take` the number of each point that is nearer to the owner.
  template <typename Take> void each(int64_t owner, Take take) const {
    const T *query = static_cast<const T *>(search.queries) + owner * search.width;
    auto tryPoint = [&](int32_t number) {
      if (from.others && number == owner)
        return;
      if (isNearer(point(number), query))
        take(number);
    };
    if (!search.cellCount) {
      for (int64_t i = from.begin(owner), end = from.end(owner); i < end; ++i)
        tryPoint(from.member(i));
      return;
    }
    const int32_t *starts = search.cells, *points = starts + from.count + 1;
    int64_t group = search.belongs ? from.groupOf(owner) : 0;
    cells::eachRange(cellOf(query), search.width, group, search.cellCount, [&](int64_t begin, int64_t end) {
      for (int32_t i = starts[begin]; i < starts[end]; ++i)
        if (!search.belongs || search.belongs[points[i]] == group)
          tryPoint(points[i]);
    });
  }

  /// The smallest numbers of those that are nearer, in order.
  void list(int64_t owner) const {
    int32_t *chosen = from.chosen + from.owners[owner];
    int64_t room = from.owners[owner + 1] - from.owners[owner], kept = 0;
    each(owner, [&](int32_t number) {
      if (kept == room && number > chosen[kept - 1])
        return;
      int64_t place = kept < room ? kept++ : kept - 1;
      for (; place > 0 && chosen[place - 1] > number; --place)
        chosen[place] = chosen[place - 1];
      chosen[place] = number;
    });
  }

private:
  const T *point(int64_t number) const { return static_cast<const T *>(search.points) + number * search.width; }
  cells::Cell cellOf(const T *point) const { return cells::cellOf(point, search.width, grid); }

  bool isNearer(const T *point, const T *query) const {
#pragma clang fp contract(off)
    T sum = 0;
    for (int64_t k = 0; k < search.width; ++k) {
      T difference = point[k] - query[k];
      sum += difference * difference;
    }
    return sum < square;
  }

  const WithinSearch &search;
  const Candidates &from;
  T square;
  double grid; ///< cells for each unit of length
};

template <typename T> void countRows(const WithinSearch &search, int64_t begin, int64_t end) {
  Within<T> within(search);
  for (int64_t owner = begin; owner < end; ++owner) {
    int64_t count = 0;
    within.each(owner, [&](int32_t) { ++count; });
    search.from.owners[owner + 1] = static_cast<int32_t>(count < search.most ? count : search.most);
  }
}

template <typename T> void listRows(const WithinSearch &search, int64_t begin, int64_t end) {
  Within<T> within(search);
  for (int64_t owner = begin; owner < end; ++owner)
    if (search.from.owners[owner] < search.from.owners[owner + 1])
      within.list(owner);
}

} // namespace

int64_t fillCells(const WithinSearch &search) {
  if (search.width > 3 || search.from.count <= kFewPoints * search.groups)
    return 0;
  return search.isDouble ? Within<double>(search).fill() : Within<float>(search).fill();
}

void countWithin(const WithinSearch &search, int64_t begin, int64_t end) {
  search.isDouble ? countRows<double>(search, begin, end) : countRows<float>(search, begin, end);
}

void listWithin(const WithinSearch &search, int64_t begin, int64_t end) {
  search.isDouble ? listRows<double>(search, begin, end) : listRows<float>(search, begin, end);
}

} // namespace gnnc::runtime
