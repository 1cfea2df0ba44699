//===- DeviceData.h - What kernels and the runtime share --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one description of memory that lib/Runtime/CUDA writes and lib/Target/CUDA/Kernels reads, or the other way round,
// and of arguments that are passed as a whole. It includes nothing: NVRTC has no headers. Numbers are 32 bits (int) or
// 64 (long long, which has the bits of int64_t); addresses are the device's.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MODELFORMAT_DEVICEDATA_H
#define GNNC_MODELFORMAT_DEVICEDATA_H

namespace gnnc::device {

using Int64 = long long;
static_assert(sizeof(int) == 4 && sizeof(Int64) == 8 && sizeof(void *) == 8);

/// How many elements a space has: so many, or, where the program chooses, a word below zero: less the address of how
/// many there are and, behind it, of the most there can be.
#ifdef GNNC_OPEN_SPACES
struct Extent {
  Int64 word;
  __device__ __forceinline__ operator Int64() const { return word < 0 ? *reinterpret_cast<const int *>(-word) : word; }
  __device__ __forceinline__ Int64 most() const { return word < 0 ? reinterpret_cast<const int *>(-word)[1] : word; }
};
__device__ __forceinline__ Int64 mostOf(Extent extent) { return extent.most(); }
#else
using Extent = Int64;
#ifdef __CUDACC__
__device__ __forceinline__ Int64 mostOf(Extent extent) { return extent; }
#else
inline Int64 mostOf(Extent extent) { return extent; }
#endif
#endif

//===----------------------------------------------------------------------===//
// Sweeps: the worklist of a map
//===----------------------------------------------------------------------===//

/// Members [begin, end) of an owner. `slot`: where partial sums go if the owner has more items; -1: it has not.
struct alignas(16) Item {
  int owner, begin, end, slot;
};
/// An owner with several items, whose partial sums are in slots [first, last).
struct alignas(16) Heavy {
  int owner, first, last, members;
};

/// A sweep's arguments about items, in the order of its words. Items with a slot come first.
struct Work {
  const Item *items;
  Extent numItems; ///< without a map, elements of a space
  Int64 numHeavyItems;
  const Heavy *heavy;
  Int64 numHeavy;
  const int *heavyOfSlot;
  void *slots;                   ///< partial sums of each slot, for the walk in progress
  void *states;                  ///< merged sums of each heavy owner, for each walk but the last
  void *partials;                ///< totals of each block
  Int64 partialsAt, numPartials; ///< where this launch's begin; how many there are of all launches
};

/// The same where there are neither members nor totals.
struct Rows {
  Extent numItems;
};

/// Blocks of a launch that go through some of the items in one way.
struct Part {
  const Item *items;
  Int64 numItems, numBlocks;
};

/// Blocks along y of a grid; where there are more, they go along z too.
constexpr int kMostAlongY = 1 << 15;

//===----------------------------------------------------------------------===//
// Preparing graphs
//===----------------------------------------------------------------------===//

/// What kernels find out about a map; all 0: nothing.
struct Findings {
  unsigned long long wrong; ///< ~ the number of the first element that is
  unsigned long long undefined, notInOrder;
};

/// A map to read: targets from `least` to `extent` - 1; wrong ones become -1.
struct Reading {
  const void *from;
  Int64 isWide, count, least, extent;
  int *to;
  Findings *findings;
};
/// Several at once; blocks take turns.
constexpr int kMostReadings = 4;
struct Readings {
  Reading list[kMostReadings];
  Int64 number;
};

/// Arrays to compare.
struct Comparison {
  const int *a, *b;
  Int64 count;
  Findings *findings;
};
/// Several at once; blocks take turns.
constexpr int kMostComparisons = 8;
struct Comparisons {
  Comparison list[kMostComparisons];
  Int64 number;
};

/// What is counted for a worklist; all 0 before.
constexpr int kNumSizes = 12;
struct Numbers {
  unsigned long long membersOfLong;
  int slots, heavy;
  int sizes[kNumSizes]; ///< [k]: light owners of at least 2^k members
};

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// A search for the nearest points; `width` numbers of a row.
struct Nearest {
  const void *points, *queries;
  const int *owners;   ///< [queries + 1]: where what is chosen for each begins in `chosen`
  const int *groups;   ///< of each query; null: all belong together
  const int *pointers; ///< of each group: where its positions begin
  const int *members;  ///< the point at each position; null: itself
  const int *order;    ///< the query at each position, group by group; null: itself
  int *chosen;
  Int64 numQueries, numPoints, width, others;
};
/// A search for points nearer than a radius; `square`: the bits of a double.
struct Within {
  const void *points, *queries;
  const int *groups;   ///< of each query; null: all belong together
  const int *pointers; ///< of each group: where its positions begin
  const int *members;  ///< the point at each position; null: itself
  const int *belongs;  ///< the group of each point
  const int *lists;    ///< null, or where the points of each list of cells begin ...
  const int *listed;   ///< ... among these
  const int *order;    ///< the query that comes at each place; null: itself
  int *owners;         ///< [queries + 1]: where what is chosen for each begins in `chosen`; before, how many
  int *chosen;
  Int64 numQueries, numPoints, width, most, others, square;
};
/// The same with a tree over the points in an order of theirs, group by group; nodes have 32 children, and at most 32
/// points are chosen for each query.
constexpr int kMostTreeLevels = 7;
struct NearestTree {
  const void *points, *queries; ///< the points in order
  const int *owners;            ///< [queries + 1]: where what is chosen for each begins in `chosen`
  const int *groups;            ///< of each query; null: itself with `pointers`, else all belong together
  const int *pointers;          ///< of each group: where its places begin
  const int *order;             ///< the point at each place
  const int *places;            ///< the query that comes at each place; null: itself
  const void *boxes;            ///< of all nodes, level by level
  int *chosen;
  Int64 numQueries, numPoints, width, others, levels;
  Int64 nodes[kMostTreeLevels], offsets[kMostTreeLevels];
};
/// A search for points that are far from each other; a block searches in a group.
struct Farthest {
  const void *points;
  const void *start;   ///< by point: the largest comes first; null: the smallest number does
  const int *pointers; ///< of each group: where its positions begin
  const int *members;  ///< the point at each position; null: itself
  const int *owners;   ///< [groups + 1]: where what is chosen for each begins in `chosen`
  void *nearest;       ///< by position: room for the distance to the nearest point chosen so far
  int *chosen;
  Int64 numGroups, width;
};
constexpr int kNearestThreads = 128, kFarthestThreads = 512, kWithinThreads = 128;
constexpr int kQueriesOfBlock32 = 32, kQueriesOfBlock64 = 16;

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Of each block of the kernels that prepare graphs.
constexpr int kSortThreads = 512;
/// Elements of a thread and of a tile, and digits of a pass, where there are many tiles ...
constexpr int kSortHeld = 16, kSortTile = kSortThreads * kSortHeld, kDigitBits = 8;
/// ... and where there are few: small tiles, for many blocks; and digits of nine bits, since 262 144 nodes then take
/// two passes.
constexpr int kFewHeld = 8; ///< at most
constexpr int kFewTile = kSortThreads * kFewHeld, kFewDigitBits = 9;
constexpr int kMostFewTiles = kSortThreads, kTilesOfGroup = 16;

/// What a pass of the sort reads and writes: the arguments of all its kernels.
struct Pass {
  const int *targets, *values; ///< null values: an element's own number
  int *keysOut, *valuesOut;    ///< null: not wanted
  const int *through;          ///< numbers of the elements whose ...
  int *throughOut;             ///< ... sorted list is wanted too, or null
  Int64 count, undefined, shift, bits;
  Int64 held;      ///< few tiles: elements of a tile for each thread
  int *starts;     ///< few tiles: null, or where the digits begin, or the owners of the last digit, ...
  Int64 numStarts; ///< ... so many of them
  int *counts;     ///< of tiles
  int *sums;       ///< of all tiles, or of groups of them
  // Buckets.
  const int *given; ///< the targets before the upper digit was sorted
  const int *upper; ///< where the buckets begin, and the end
  Int64 buckets;
  const Findings *found; ///< null, or what says whether there is anything to sort
};

} // namespace gnnc::device

#endif // GNNC_MODELFORMAT_DEVICEDATA_H
