//===- Choose.cuh - Elements that values choose -----------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is kept, what has the largest scores, and what is nearer than a radius. For the last, a thread tries the points
// in the lists of cells around a query (Cells.h), or of its whole group: first it counts, then it lists them by rising
// number. Queries are taken as the lists have them, so that the threads of a warp try much the same points.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_CHOOSE_CUH
#define GNNC_KERNELS_CHOOSE_CUH

#include "Lanes.cuh" // before Cells.h, which uses its words

#include "Cells.h" // of include/gnnc/ModelFormat

namespace gnnc::choose {

using device::Within;

/// `extent`: how many elements there are, or less the address of how many (device::Extent).
template <typename T> GNNC_DEVICE void keepFlags(const T *condition, int64 extent, int64 most, int *flags) {
  const int64 live = extent < 0 ? *reinterpret_cast<const int *>(-extent) : extent;
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < most; i += int64(gridDim.x) * blockDim.x)
    flags[i] = i < live && (condition[i] < 0 || condition[i] > 0);
}

/// Whole numbers that rise where scores fall; what is no number comes last, and both zeros are one.
GNNC_DEVICE unsigned long long keyOf(float score) {
  unsigned bits = __float_as_uint(score + 0.0f);
  return score != score ? 0xffffffffu : bits >> 31 ? bits : ~bits & 0x7fffffffu;
}
GNNC_DEVICE unsigned long long keyOf(double score) {
  unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(score + 0.0));
  return score != score ? ~0ull : bits >> 63 ? bits : ~bits & 0x7fffffffffffffffull;
}

/// 16 bits of the key of each element in an order (null: of their numbers).
template <typename T>
GNNC_DEVICE void scoreKeys(const T *scores, const int *order, int64 shift, int64 count, int *keys) {
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64(gridDim.x) * blockDim.x)
    keys[i] = int(keyOf(scores[order ? order[i] : i]) >> shift & 0xffff);
}

template <typename T>
GNNC_DEVICE void findCells(const T *points, const int *belongs, int64 width, int64 square, int64 count, int *lists) {
  const double grid = cells::gridFor(__longlong_as_double(square));
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64(gridDim.x) * blockDim.x)
    lists[i] = int(cells::listOf(cells::cellOf(points + i * width, width, grid), belongs ? belongs[i] : 0, count));
}

GNNC_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
GNNC_DEVICE float mul(float a, float b) { return __fmul_rn(a, b); }
GNNC_DEVICE double add(double a, double b) { return __dadd_rn(a, b); }
GNNC_DEVICE double mul(double a, double b) { return __dmul_rn(a, b); }

template <typename T> GNNC_DEVICE bool isNearer(const T *point, const T *query, int64 width, T square) {
  T sum = 0;
  for (int64 k = 0; k < width; ++k) {
    T difference = add(point[k], -query[k]);
    sum = add(sum, mul(difference, difference));
  }
  return sum < square;
}

/// Gives `take` the number of each point that is nearer to the query.
template <typename T, typename Take> GNNC_DEVICE void eachWithin(const Within &own, int query, Take take) {
  const T *points = static_cast<const T *>(own.points), *from = static_cast<const T *>(own.queries) + query * own.width;
  const double wide = __longlong_as_double(own.square);
  const T square = T(wide);
  const int group = own.groups ? own.groups[query] : 0;
  auto tryPoint = [&](int number) {
    if (!(own.others && number == query) && isNearer(points + number * own.width, from, own.width, square))
      take(number);
  };
  if (!own.lists) {
    const int begin = own.groups ? own.pointers[group] : 0;
    const int end = own.groups ? own.pointers[group + 1] : int(own.numPoints);
    for (int i = begin; i < end; ++i)
      tryPoint(own.members ? own.members[i] : i);
    return;
  }
  const cells::Cell cell = cells::cellOf(from, own.width, cells::gridFor(wide));
  cells::eachRange(cell, own.width, group, own.numPoints, [&](int64 begin, int64 end) {
    for (int i = own.lists[begin], last = own.lists[end]; i < last; ++i)
      if (const int number = own.listed[i]; !own.groups || own.belongs[number] == group)
        tryPoint(number);
  });
}

template <typename T> GNNC_DEVICE void countWithin(const Within &own) {
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < own.numQueries; i += int64(gridDim.x) * blockDim.x) {
    const int query = own.order ? own.order[i] : int(i);
    int64 count = 0;
    eachWithin<T>(own, query, [&](int) { ++count; });
    own.owners[query] = int(count < own.most ? count : own.most);
  }
}

/// Keeps the smallest numbers in order; `kept` of them, up to `room`.
GNNC_DEVICE void insert(int *list, int &kept, int room, int number) {
  if (kept == room && number > list[kept - 1])
    return;
  int place = kept < room ? kept++ : kept - 1;
  for (; place > 0 && list[place - 1] > number; --place)
    list[place] = list[place - 1];
  list[place] = number;
}

template <typename T> GNNC_DEVICE void listWithin(const Within &own) {
  constexpr int kHeld = 64; // of a thread, which all threads of a warp have side by side
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < own.numQueries; i += int64(gridDim.x) * blockDim.x) {
    const int query = own.order ? own.order[i] : int(i);
    int *const chosen = own.chosen + own.owners[query];
    const int room = own.owners[query + 1] - own.owners[query];
    int kept = 0, held[kHeld];
    if (room > kHeld)
      eachWithin<T>(own, query, [&](int number) { insert(chosen, kept, room, number); });
    else if (room > 0)
      eachWithin<T>(own, query, [&](int number) { insert(held, kept, room, number); });
    for (int k = 0; room <= kHeld && k < kept; ++k)
      chosen[k] = held[k];
  }
}

} // namespace gnnc::choose

#endif // GNNC_KERNELS_CHOOSE_CUH
