//===- Cells.h - Cells of space that points are listed by -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a search for what is nearer than a radius finds it on any processor: cells are a little wider than the radius, so
// that it is in the 3^width cells around a point's own. Points are listed by a hash of their cells in which neighbours
// along the first coordinate stand side by side: three cells are one range of lists. Cells may share a list, so what is
// found there is asked for its distance (and its group), and no list is looked at twice. Included by the runtime and by
// kernels, as DeviceData.h is.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MODELFORMAT_CELLS_H
#define GNNC_MODELFORMAT_CELLS_H

#ifdef __CUDACC__
#define GNNC_CELLS __device__ __forceinline__
#else
#define GNNC_CELLS inline
#endif

namespace gnnc::cells {

struct Cell {
  long long at[3];
};

/// The root, to within what makes cells too wide by a little.
GNNC_CELLS double rootOf(double x) {
  double root = x > 1 ? x : 1;
  for (int i = 0; i < 2200; ++i) { // Newton's steps fall until they are there; at first each is a half.
    double next = 0.5 * (root + x / root);
    if (!(next < root))
      break;
    root = next;
  }
  return root;
}

/// Cells for each unit of length, for the square of a radius. Distances are rounded by less than the cell is too wide.
GNNC_CELLS double gridFor(double square) { return 1 / (rootOf(square) * (1 + 1e-5)); }

/// Of a point with up to three numbers. Coordinates so large that neighbouring cells cannot be told from one another,
/// and what is no number, are in one cell.
template <typename Real> GNNC_CELLS Cell cellOf(const Real *point, long long width, double grid) {
  constexpr double kFar = 1.0e15;
  Cell cell = {{0, 0, 0}};
  for (long long k = 0; k < width; ++k) {
    double x = double(point[k]) * grid;
    x = x < -kFar ? -kFar : x < kFar ? x : kFar;
    long long whole = (long long)x;
    cell.at[k] = whole - (double(whole) > x);
  }
  return cell;
}

/// The list, one of `count`, that has the points of a cell and a group.
GNNC_CELLS long long listOf(const Cell &cell, long long group, long long count) {
  unsigned long long hash = (unsigned long long)group * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 29) + (unsigned long long)cell.at[1] * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 32) + (unsigned long long)cell.at[2] * 0x94d049bb133111ebull;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull;
  long long along = cell.at[0] % count;
  return (long long)((hash >> 33) % (unsigned long long)count +
                     (unsigned long long)(along < 0 ? along + count : along)) %
         count;
}

/// Around a cell there are so many rows of three cells along the first coordinate, the cell's own among them.
constexpr int kMostRows = 9;
GNNC_CELLS int numRows(long long width) { return width == 1 ? 1 : width == 2 ? 3 : kMostRows; }

/// The first list of one of these rows; its other two are those behind, and the first list comes behind the last.
GNNC_CELLS long long firstList(const Cell &cell, int row, long long width, long long group, long long count) {
  Cell beside = {{cell.at[0] - 1, cell.at[1], cell.at[2]}};
  beside.at[1] += width > 1 ? row % 3 - 1 : 0;
  beside.at[2] += width > 2 ? row / 3 - 1 : 0;
  return listOf(beside, group, count);
}

/// Whether a list is one of the three of the row that begins at `first`.
GNNC_CELLS bool isInRow(long long list, long long first, long long count) {
  const long long place = list - first;
  return (place < 0 ? place + count : place) < 3;
}

/// Gives `take` ranges of lists that have, among others, the points of the cells around one; each list once. There are
/// three lists or more.
template <typename Take>
GNNC_CELLS void eachRange(const Cell &cell, long long width, long long group, long long count, Take take) {
  const int rows = numRows(width);
  long long firsts[kMostRows];
  for (int row = 0; row < rows; ++row) {
    const long long first = firsts[row] = firstList(cell, row, width, group, count);
    bool isPlain = first + 3 <= count;
    for (int before = 0; before < row; ++before) {
      long long apart = first < firsts[before] ? firsts[before] - first : first - firsts[before];
      isPlain = isPlain && apart >= 3 && count - apart >= 3;
    }
    if (isPlain) {
      take(first, first + 3);
      continue;
    }
    for (long long k = 0; k < 3; ++k) {
      const long long list = first + k < count ? first + k : first + k - count;
      bool isNew = true;
      for (int before = 0; before < row; ++before)
        isNew = isNew && !isInRow(list, firsts[before], count);
      if (isNew)
        take(list, list + 1);
    }
  }
}

} // namespace gnnc::cells

#endif // GNNC_MODELFORMAT_CELLS_H
