//===- Choose.cuh - Elements that values choose -----------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is kept, what has the largest scores, and what is nearer than a radius. For the last, the lanes of a warp try
// the points in the lists of cells around a query (Cells.h), or of its whole group: first they are counted, then listed
// by rising number. Queries are taken as the lists have them, so that warps side by side try much the same points.
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

/// Where the points of the lists around a query are: each lane has one list.
class Around {
public:
  template <typename T> GNNC_DEVICE Around(const Within &own, const T *query, int group) {
    const cells::Cell cell = cells::cellOf(query, own.width, cells::gridFor(__longlong_as_double(own.square)));
    const int64 count = own.numPoints;
    const int rows = cells::numRows(own.width), row = lane() / 3;
    const int64 first = cells::firstList(cell, row < rows ? row : 0, own.width, group, count);
    int64 list = first + lane() % 3;
    list -= list < count ? 0 : count;
    bool isNew = row < rows;
    for (int before = 0; before < rows; ++before) {
      const int64 other = shuffle(first, before * 3);
      isNew = isNew && !(before < row && cells::isInRow(list, other, count));
    }
    begin = isNew ? own.lists[list] : 0;
    end = isNew ? own.lists[list + 1] - begin : 0;
    int before = 0;
    GNNC_FOR(i, 5) {
      before = shuffleUp(end, 1 << i);
      end += lane() >= 1 << i ? before : 0;
    }
    before = shuffleUp(end, 1);
    begin -= lane() > 0 ? before : 0;
  }

  GNNC_DEVICE int size() const { return shuffle(end, 31); }
  /// The place in all lists of the i-th of these points.
  GNNC_DEVICE int place(int i) const {
    int list = 0; // the first that ends behind it
    GNNC_FOR(step, 5) {
      const int middle = list + (16 >> step);
      if (shuffle(end, middle - 1) <= i)
        list = middle;
    }
    return shuffle(begin, list) + i;
  }

private:
  int end;   ///< how many points this list and those before have
  int begin; ///< where the list begins, less how many those before have
};

/// All lanes call `take` together, with a point and whether it is nearer to the query; those of a call have numbers in
/// no order.
template <typename T, typename Take> GNNC_DEVICE void eachWithin(const Within &own, int query, Take take) {
  const T *points = static_cast<const T *>(own.points);
  const T *from = static_cast<const T *>(own.queries) + int64(query) * own.width;
  const T square = T(__longlong_as_double(own.square));
  const int group = own.groups ? own.groups[query] : 0;
  auto isFound = [&](int number) {
    return !(own.others && number == query) && isNearer(points + int64(number) * own.width, from, own.width, square);
  };
  if (!own.lists) {
    const int begin = own.groups ? own.pointers[group] : 0;
    const int end = own.groups ? own.pointers[group + 1] : int(own.numPoints);
    for (int first = begin; first < end; first += 32) {
      const int i = first + lane(), number = i >= end ? 0 : own.members ? own.members[i] : i;
      take(number, i < end && isFound(number));
    }
    return;
  }
  const Around around(own, from, group);
  const int size = around.size();
  for (int first = 0; first < size; first += 32) {
    const int i = first + lane(), place = around.place(i < size ? i : size - 1), number = own.listed[place];
    take(number, i < size && (!own.groups || own.belongs[number] == group) && isFound(number));
  }
}

template <typename T> GNNC_DEVICE void countWithin(const Within &own) {
  const int64 warp = (int64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, warps = int64(gridDim.x) * blockDim.x / 32;
  for (int64 i = warp; i < own.numQueries; i += warps) {
    const int query = own.order ? own.order[i] : int(i);
    int64 count = 0;
    eachWithin<T>(own, query, [&](int, bool isFound) { count += __popc(ballot(isFound)); });
    if (lane() == 0)
      own.owners[query] = int(count < own.most ? count : own.most);
  }
}

/// The least numbers of those that a warp adds, in order.
class LeastNumbers {
public:
  /// `numbers`: shared memory of this warp for kHeld. Up to kMostRoom are found.
  static constexpr int kHeld = 1024, kMostRoom = kHeld - 64;
  GNNC_DEVICE LeastNumbers(int *numbers, int room) : numbers(numbers), room(room) {}

  GNNC_DEVICE void add(int number, bool isFound) {
    const unsigned those = ballot(isFound && number <= last);
    if (those >> lane() & 1)
      numbers[count + __popc(those & ((1u << lane()) - 1))] = number;
    count += __popc(those);
    if (count > kHeld - 32)
      sort();
  }

  GNNC_DEVICE void write(int *to) {
    sort();
    for (int i = lane(); i < count; i += 32)
      to[i] = numbers[i];
    syncWarp();
  }

private:
  static constexpr int kNone = 0x7fffffff;

  /// Bitonic. Keeps as many as there is room for.
  GNNC_DEVICE void sort() {
    int size = 32;
    while (size < count)
      size *= 2;
    syncWarp();
    for (int i = count + lane(); i < size; i += 32)
      numbers[i] = kNone;
    for (int run = 2; run <= size; run *= 2)
      for (int apart = run / 2; apart > 0; apart /= 2) {
        syncWarp();
        for (int i = lane(); i < size / 2; i += 32) {
          const int low = 2 * apart * (i / apart) + i % apart, high = low + apart, a = numbers[low], b = numbers[high];
          if ((a > b) == ((low & run) == 0)) {
            numbers[low] = b;
            numbers[high] = a;
          }
        }
      }
    syncWarp();
    count = count < room ? count : room;
    last = count == room ? numbers[room - 1] : kNone;
  }

  int *numbers, room, count = 0;
  int last = kNone; ///< no later one is of use
};

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
  __shared__ int held[device::kWithinThreads / 32][LeastNumbers::kHeld];
  const int64 warp = (int64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, warps = int64(gridDim.x) * blockDim.x / 32;
  for (int64 i = warp; i < own.numQueries; i += warps) {
    const int query = own.order ? own.order[i] : int(i);
    int *const chosen = own.chosen + own.owners[query];
    const int room = own.owners[query + 1] - own.owners[query];
    if (room <= 0)
      continue;
    if (room <= LeastNumbers::kMostRoom) {
      LeastNumbers least(held[threadIdx.x / 32], room);
      eachWithin<T>(own, query, [&](int number, bool isFound) { least.add(number, isFound); });
      least.write(chosen);
      continue;
    }
    int kept = 0;
    eachWithin<T>(own, query, [&](int number, bool isFound) {
      for (unsigned those = ballot(isFound); those; those &= those - 1) {
        const int next = shuffle(number, __ffs(those) - 1);
        if (lane() == 0)
          insert(chosen, kept, room, next);
      }
    });
  }
}

} // namespace gnnc::choose

#endif // GNNC_KERNELS_CHOOSE_CUH
