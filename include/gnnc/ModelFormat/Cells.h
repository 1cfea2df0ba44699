//===- Cells.h - Cells of space that points are listed by -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a search for what is nearer than a radius finds it on any processor: cells are a little wider than the radius, so
// that it is in the 3^width cells around a point's own. Included by the runtime and by kernels, as DeviceData.h is.
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
  GNNC_CELLS bool operator==(const Cell &other) const {
    return at[0] == other.at[0] && at[1] == other.at[1] && at[2] == other.at[2];
  }
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

/// The cells around one, and itself, by number.
GNNC_CELLS long long numBeside(long long width) { return width == 1 ? 3 : width == 2 ? 9 : 27; }
GNNC_CELLS Cell beside(const Cell &cell, long long width, long long turn) {
  Cell result = cell;
  for (long long k = 0; k < width; ++k, turn /= 3)
    result.at[k] += turn % 3 - 1;
  return result;
}

/// The list that has a cell's points, one of `count`.
GNNC_CELLS long long listOf(const Cell &cell, long long count) {
  unsigned long long hash = (unsigned long long)cell.at[0] * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 29) + (unsigned long long)cell.at[1] * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 32) + (unsigned long long)cell.at[2] * 0x94d049bb133111ebull;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull;
  return (long long)((hash >> 33) % (unsigned long long)count);
}

} // namespace gnnc::cells

#endif // GNNC_MODELFORMAT_CELLS_H
