//===- TileSums.cuh - What is summed of the rows of tiles ------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What becomes of a tile's rows (TileRows.cuh): sums of an owner's members, which may lie in the tiles of several
// blocks, and sums over all rows, of outer products too. Every sum has one order, which the graph and the grid fix.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_TILESUMS_CUH
#define GNNC_KERNELS_TILESUMS_CUH

#include "Product.cuh"
#include "TileRows.cuh"

namespace gnnc {

//===----------------------------------------------------------------------===//
// Sums of members. S: kWidth, kV (side by side), kLanes (threads that share a row), kStrip (rows that the same threads
// add up one after the other), kMost, kLeast (neither: a sum), kNames (whose the number is), kParts and kNamesParts
// (places), kCarry and kNamesCarry (places of two), kWord and kNamesWord (in a slot), make(args, tile,
// row, first, numbers), element(tile, row), store(args, owner, first, members, numbers, winners).
//===----------------------------------------------------------------------===//

/// Where numbers that are accumulated lie, and whose they are if that is asked.
template <typename Real> struct Place {
  Real *numbers, *winners;
};
template <class S, typename Real> GNNC_DEVICE Place<Real> placeAt(Real *base, int numbers, int winners) {
  return {base + numbers, base + (S::kNames ? winners : 0)};
}
/// A block's slots: before its range of positions and after it.
template <class S, class B> GNNC_DEVICE auto slotAt(const typename B::Args &args, int64 block, bool after) {
  auto *slots = static_cast<typename B::Real *>(args.work.partials);
  return placeAt<S>(slots + (2 * block + (after ? 1 : 0)) * B::kWords, S::kWord, S::kNamesWord);
}

/// Numbers side by side that are accumulated.
template <class S, typename Real> struct Accumulated {
  static constexpr int kV = S::kV;
  Real numbers[kV], winners[S::kNames ? kV : 1];

  GNNC_DEVICE Accumulated() {
    fill<kV>(numbers, S::kMost ? -Real(GNNC_INFINITY) : S::kLeast ? Real(GNNC_INFINITY) : Real(0));
    fill<(S::kNames ? kV : 1)>(winners, numberOf(Real(0), -1));
  }
  GNNC_DEVICE void add(int v, Real other, Real otherWinner) {
    if constexpr (S::kNames && S::kMost)
      keepMost(numbers[v], winners[v], other, otherWinner);
    else if constexpr (S::kNames)
      keepLeast(numbers[v], winners[v], other, otherWinner);
    else if constexpr (S::kMost)
      numbers[v] = most(numbers[v], other);
    else if constexpr (S::kLeast)
      numbers[v] = least(numbers[v], other);
    else
      numbers[v] += other;
  }
  /// `W`: numbers of an access. Those of slots, which begin anywhere, are read and written one by one.
  template <int W = kV> GNNC_DEVICE void save(const Place<Real> &place, int at) const {
    GNNC_FOR(i, kV / W) {
      storeAnywhere<W>(place.numbers + at + i * W, numbers + i * W);
      if constexpr (S::kNames)
        storeAnywhere<W>(place.winners + at + i * W, winners + i * W);
    }
  }
  template <int W = kV> GNNC_DEVICE void addFrom(const Place<Real> &place, int at) {
    Real others[kV], otherWinners[kV] = {};
    GNNC_FOR(i, kV / W) {
      load<W>(others + i * W, place.numbers + at + i * W);
      if constexpr (S::kNames)
        load<W>(otherWinners + i * W, place.winners + at + i * W);
    }
    GNNC_FOR(v, kV) add(v, others[v], otherWinners[v]);
  }
  /// Adds parts first to last in order: find(i) says in which place, and where there.
  template <int W = kV, typename Int, typename Find> GNNC_DEVICE void addParts(Int first, Int last, Find find) {
#pragma unroll 4
    for (Int i = first; i <= last; ++i) {
      int at = 0;
      const Place<Real> place = find(i, at);
      addFrom<W>(place, at);
    }
  }
};

/// Rows that one after the other are added up by the same threads.
template <class S, class B> struct Strip {
  using Shape = RowShape<S::kWidth, S::kV, S::kLanes>;
  static constexpr int kRows = S::kStrip;
  static constexpr int kMost = kPiecesAtOnce<Shape::kAcross * S::kV>, kBatch = kRows < kMost ? kRows : kMost;
  static_assert(kRows <= 32 && B::kTileRows % kRows == 0 && kRows % kBatch == 0);
};

/// Of each multiple of 32 rows, which are the first of a segment; behind them, which are so of a segment that is all
/// its owner has and lies in one strip.
template <class B> GNNC_DEVICE unsigned *segmentMasks(const Tile<B> &tile) {
  return reinterpret_cast<unsigned *>(tile.segments + B::kTileRows + 2);
}
template <class B> constexpr int kMasks = (B::kTileRows + 31) / 32;

/// Marks the segments that lie in strips of so many rows.
template <int Rows, class B> GNNC_DEVICE void findWholes(const Tile<B> &tile) {
  const int row = threadIdx.x, first = int(tile.first), end = row / Rows * Rows + Rows;
  if (row < kMasks<B> * 32) {
    bool is = row < tile.live && tile.own.x == first + row && tile.own.y <= first + (end < tile.live ? end : tile.live);
    unsigned mask = ballot(is);
    if (lane() == 0)
      segmentMasks(tile)[kMasks<B> + row / 32] = mask;
  }
}
template <class B> GNNC_DEVICE bool isWhole(const Tile<B> &tile, int from) {
  return segmentMasks(tile)[kMasks<B> + from / 32] >> (from % 32) & 1;
}

/// Where the part of a strip lies that begins at a row. What is no whole segment is a strip's first or its last part.
template <class S, class B> GNNC_DEVICE int partOf(int row, int f) {
  constexpr int kRows = Strip<S, B>::kRows;
  return (row / kRows * 2 + (row % kRows > 0 ? 1 : 0)) * S::kWidth + f;
}

/// A thread's numbers of a strip, from its access `a` on: rows from `begin` on. What is a whole segment is stored.
template <class S, class B>
GNNC_DEVICE void sumStrip(const typename B::Args &args, const Tile<B> &tile, int begin, int a) {
  using Real = typename B::Real;
  using Own = Strip<S, B>;
  using Shape = typename Own::Shape;
  using Sum = Accumulated<S, Real>;
  const Place<Real> parts = placeAt<S>(tile.rows, S::kParts, S::kNamesParts);
  const int rows = tile.live - begin < Own::kRows ? tile.live - begin : Own::kRows;
  const unsigned starts = segmentMasks(tile)[begin / 32] >> (begin % 32),
                 wholes = segmentMasks(tile)[kMasks<B> + begin / 32] >> (begin % 32);
  Sum sums[Shape::kAcross];
  int first = 0;
  auto finish = [&](int end) {
    const int owner = tile.at[begin + first]; // Array 0 has the owners.
    GNNC_FOR(i, Shape::kAcross) {
      if (Shape::has(a + i)) {
        if (wholes >> first & 1)
          S::store(args, owner, Shape::first(a + i), end - first, sums[i].numbers, sums[i].winners);
        else
          sums[i].save(parts, partOf<S, B>(begin + first, Shape::first(a + i)));
      }
      sums[i] = Sum();
    }
    first = end;
  };
  for (int base = 0; base < Own::kRows; base += Own::kBatch) {
    Real numbers[Own::kBatch][Shape::kAcross][S::kV], winners[Own::kBatch] = {};
    GNNC_FOR(u, Own::kBatch) { // Rows that are not there repeat the last one's numbers.
      GNNC_FOR(i, Shape::kAcross) S::make(args, tile, begin + base + u, Shape::first(a + i), numbers[u][i]);
      if constexpr (S::kNames)
        winners[u] = numberOf(Real(0), S::element(tile, begin + base + u));
    }
    GNNC_FOR(u, Own::kBatch) {
      const int row = base + u;
      if (row < rows) {
        if (row > 0 && starts >> row & 1)
          finish(row);
        GNNC_FOR(i, Shape::kAcross) GNNC_FOR(v, S::kV) sums[i].add(v, numbers[u][i][v], winners[u]);
      }
    }
  }
  finish(rows);
}

/// Where a tile's segment lies: its rows, its owner, and which of the owner's members are elsewhere.
struct Segment {
  int from, to, owner, members;
  bool beforeTile, beforeRange, after, lastTile;
};

/// Numbers of a segment, from its parts of strips and what came before them.
template <class S, class B>
GNNC_DEVICE void sumSegment(const typename B::Args &args, const Tile<B> &tile, const Segment &segment, int f) {
  using Real = typename B::Real;
  constexpr int kStrip = Strip<S, B>::kRows;
  const Place<Real> parts = placeAt<S>(tile.rows, S::kParts, S::kNamesParts);
  auto carryOf = [&](int number) {
    const int at = number % 2 * S::kWidth;
    return placeAt<S>(tile.rows, S::kCarry + at, S::kNamesCarry + at);
  };
  Accumulated<S, Real> sum;
  if (segment.beforeTile)
    sum.addFrom(carryOf(tile.number), f);
  sum.addFrom(parts, partOf<S, B>(segment.from, f));
  sum.addParts(segment.from / kStrip + 1, (segment.to - 1) / kStrip, [&](int strip, int &at) {
    at = partOf<S, B>(strip * kStrip, f);
    return parts;
  });
  if (segment.after && !segment.lastTile)
    sum.save(carryOf(tile.number + 1), f);
  else if (segment.beforeRange || segment.after)
    sum.template save<1>(slotAt<S, B>(args, blockIdx.x, !segment.beforeRange), f);
  else
    S::store(args, segment.owner, f, segment.members, sum.numbers, sum.winners);
}

/// Sums of one width, First's: there are three barriers for all of them, not for each.
template <class First, class... Rest, class B>
GNNC_DEVICE void sumRows(const typename B::Args &args, const Tile<B> &tile) {
  static_assert(((Rest::kWidth == First::kWidth && Rest::kV == First::kV) && ...));
  using Own = Strip<First, B>;
  using Shape = typename Own::Shape;
  constexpr int kGroups = B::kThreads / Shape::kLanes;
  const int group = threadIdx.x / Shape::kLanes;
  if (threadIdx.x < B::kTileRows)
    tile.bounds[threadIdx.x] = tile.own;
  findWholes<Own::kRows>(tile);
  __syncthreads();
  for (int strip = group; strip < B::kTileRows / Own::kRows; strip += kGroups) {
    const int begin = strip * Own::kRows;
    for (int a = 0; a < Shape::kAll && begin < tile.live; a += Shape::kAcross) {
      sumStrip<First>(args, tile, begin, a);
      (sumStrip<Rest>(args, tile, begin, a), ...);
    }
  }
  __syncthreads();
  const int count = tile.segments[B::kTileRows + 1];
  for (int number = group; number < count; number += kGroups) {
    Segment segment;
    segment.from = tile.segments[number];
    if (isWhole(tile, segment.from))
      continue;
    const int2 bounds = tile.bounds[segment.from];
    segment.to = tile.segments[number + 1];
    segment.owner = tile.at[segment.from];
    segment.members = bounds.y - bounds.x;
    segment.beforeRange = bounds.x < tile.begin;
    segment.beforeTile = bounds.x < tile.first && tile.first > tile.begin;
    segment.after = bounds.y > tile.first + tile.live, segment.lastTile = tile.first + tile.live == tile.stop;
    for (int a = 0; a < Shape::kAll; ++a)
      if (Shape::has(a)) {
        sumSegment<First>(args, tile, segment, Shape::first(a));
        (sumSegment<Rest>(args, tile, segment, Shape::first(a)), ...);
      }
  }
}

/// Finds the first rows of owners.
template <class B> GNNC_DEVICE void findSegments(const Tile<B> &tile) {
  unsigned *const masks = segmentMasks(tile);
  const int row = threadIdx.x;
  bool starts = row < tile.live && (row == 0 || tile.at[row] != tile.at[row - 1]);
  if (row < kMasks<B> * 32) {
    unsigned mask = ballot(starts);
    if (lane() == 0)
      masks[row / 32] = mask;
  }
  __syncthreads();
  int before = 0, all = 0;
  GNNC_FOR(i, kMasks<B>) {
    before += i < row / 32 ? __popc(masks[i]) : 0;
    all += __popc(masks[i]);
  }
  if (starts)
    tile.segments[before + __popc(masks[row / 32] & ((1u << lane()) - 1))] = row;
  if (row == 0)
    tile.segments[all] = tile.live, tile.segments[B::kTileRows + 1] = all;
}

/// Owners whose members are in several ranges, and those without any: a warp for each. F: the sums of the body.
template <class S, class B>
GNNC_DEVICE void finishSum(const typename B::Args &args, int owner, int members, int64 first, int64 last) {
  for (int f = lane() * S::kV; f < S::kWidth; f += 32 * S::kV) {
    Accumulated<S, typename B::Real> sum;
    if (members > 0)
      sum.template addParts<1>(first, last, [&](int64 block, int &at) {
        at = f;
        return slotAt<S, B>(args, block, block == first);
      });
    S::store(args, owner, f, members, sum.numbers, sum.winners);
  }
}

/// Positions of a block.
template <class B> GNNC_DEVICE int64 positionsOfBlock(const typename B::Args &args, int64 blocks) {
  int64 tiles = (B::numPositions(args) + B::kTileRows - 1) / B::kTileRows;
  return blocks > 0 && tiles > 0 ? (tiles + blocks - 1) / blocks * B::kTileRows : 1;
}

template <FinishBody B> GNNC_DEVICE void finishTiles(const typename B::Args &args) {
  const int64 owners = B::numOwners(args), each = positionsOfBlock<B>(args, args.work.numPartials);
  for (int64 base = (int64(blockIdx.x) * B::kThreads + threadIdx.x) / 32 * 32; base < owners;
       base += int64(gridDim.x) * B::kThreads) {
    int from = 0, to = 0;
    bool wanted = base + lane() < owners;
    if (wanted) {
      from = __ldg(B::pointers(args) + base + lane()), to = __ldg(B::pointers(args) + base + lane() + 1);
      wanted = from == to || from / each != (to - 1) / each;
    }
    for (unsigned todo = ballot(wanted); todo; todo &= todo - 1) {
      const int which = __ffs(todo) - 1;
      const int begin = shuffle(from, which), end = shuffle(to, which);
      B::finish(args, int(base) + which, end - begin, begin / each, (end - 1) / each);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sums over all rows. T: kWidth, kPlace (of kThreads / kRowLanes times kWidth numbers), kWord, value(args, tile, row,
// f). O: kSlices, kK, kN, kFrom, kFromStride, kTo, kToStride (the two factors), kWord; kWarpRows, kWarpColumns, kSplit.
//===----------------------------------------------------------------------===//

/// Threads that share a row of so many numbers.
template <int Width> constexpr int kRowLanes = Width >= 32 ? 32 : powerOfTwo(Width);
template <class B, int Width>
constexpr int kTotalRows =
    B::kTileRows * kRowLanes<Width> / B::kThreads < 4 ? 4 : B::kTileRows * kRowLanes<Width> / B::kThreads;

template <class T, typename Real> struct Totals {
  Real sums[(T::kWidth + kRowLanes<T::kWidth> - 1) / kRowLanes<T::kWidth>] = {};
};

template <class T, class B>
GNNC_DEVICE void addTotals(const typename B::Args &args, const Tile<B> &tile, Totals<T, typename B::Real> &totals) {
  constexpr int kLanes = kRowLanes<T::kWidth>, kGroups = B::kThreads / kLanes, kStrip = kTotalRows<B, T::kWidth>;
  const int group = threadIdx.x / kLanes;
  for (int strip = group; strip < B::kTileRows / kStrip; strip += kGroups)
    GNNC_FOR(c, (T::kWidth + kLanes - 1) / kLanes) {
      const int f = threadIdx.x % kLanes + c * kLanes;
      if (T::kWidth % kLanes == 0 || f < T::kWidth)
        for (int base = strip * kStrip; base < (strip + 1) * kStrip; base += 4) {
          typename B::Real numbers[4];
          GNNC_FOR(i, 4) numbers[i] = T::value(args, tile, base + i, f);
          GNNC_FOR(i, 4) totals.sums[c] += base + i < tile.live ? numbers[i] : typename B::Real(0);
        }
    }
}

template <class T, class B>
GNNC_DEVICE void leaveTotals(const typename B::Args &args, const Tile<B> &tile,
                             const Totals<T, typename B::Real> &totals) {
  using Real = typename B::Real;
  constexpr int kLanes = kRowLanes<T::kWidth>, kGroups = B::kThreads / kLanes;
  Real *const parts = tile.rows + T::kPlace;
  __syncthreads();
  GNNC_FOR(c, (T::kWidth + kLanes - 1) / kLanes) {
    const int f = threadIdx.x % kLanes + c * kLanes;
    if (f < T::kWidth)
      parts[threadIdx.x / kLanes * T::kWidth + f] = totals.sums[c];
  }
  __syncthreads();
  Real *to = static_cast<Real *>(args.work.partials) + int64(blockIdx.x) * B::kWords + T::kWord;
  for (int f = threadIdx.x; f < T::kWidth; f += B::kThreads) {
    Real sum = 0;
    for (int group = 0; group < kGroups; ++group)
      sum += parts[group * T::kWidth + f];
    to[f] = sum;
  }
}

constexpr int partsOfRows(int jobs, int warps, int rows) {
  int parts = 1;
  while (2 * parts * jobs <= warps && rows / (2 * parts) % 8 == 0)
    parts *= 2;
  return parts;
}

/// How the rectangles of a product of two tall matrices are shared among the warps, or numbers among threads. Where
/// there are fewer than warps, each is made in parts, of some of a tile's rows each.
template <class O, int Threads> struct OuterShape {
  static constexpr int kDown = (O::kK + O::kWarpRows - 1) / O::kWarpRows,
                       kAcross = (O::kN + O::kWarpColumns - 1) / O::kWarpColumns;
  static constexpr int kAll = kDown * kAcross * O::kSlices, kWarps = Threads / 32, kJobs = (kAll + kWarps - 1) / kWarps;
  static constexpr int kRows = O::kWarpRows / 16, kColumns = O::kWarpColumns / 8;

  /// The corner of a warp's i-th rectangle, in which of the products it lies, and which part it is.
  struct Job {
    int left, top, slice, part;
    bool exists;
  };
  template <int kParts> GNNC_DEVICE static Job job(int i) {
    const int warp = i * kWarps + threadIdx.x / 32, job = kParts > 1 ? warp % kAll : warp;
    return {job % kAcross * O::kWarpColumns, job / kAcross % kDown * O::kWarpRows, job / (kAcross * kDown),
            kParts > 1 ? warp / kAll : 0, kParts > 1 ? warp < kAll * kParts : warp < kAll};
  }
};
template <class O, class B>
constexpr int kPartsOfRows =
    partsOfRows(OuterShape<O, B::kThreads>::kAll, OuterShape<O, B::kThreads>::kWarps, B::kTileRows);
template <class O, typename Real, int Threads, bool OnTensorCores = O::kOnTensorCores> struct Outer {
  using Shape = OuterShape<O, Threads>;
  float totals[Shape::kJobs][Shape::kRows][Shape::kColumns][4] = {};
};
template <class O, typename Real, int Threads> struct Outer<O, Real, Threads, false> {
  static constexpr int kElements = O::kSlices * O::kK * O::kN, kHeld = (kElements + Threads - 1) / Threads;
  Real totals[kHeld] = {};
};
template <class O, class B> using OuterOf = Outer<O, typename B::Real, B::kThreads>;

template <class O, class B>
GNNC_DEVICE void addOuter(const typename B::Args &, const Tile<B> &tile, OuterOf<O, B> &outer) {
  using Real = typename B::Real;
  const Real *x = tile.rows + O::kFrom, *y = tile.rows + O::kTo;
  if constexpr (O::kOnTensorCores) {
    using Shape = OuterShape<O, B::kThreads>;
    const int g = lane() / 4, t = lane() % 4;
    constexpr int kParts = kPartsOfRows<O, B>, kDepth = B::kTileRows / kParts;
    GNNC_FOR(i, Shape::kJobs) {
      const auto [left, top, slice, part, exists] = Shape::template job<kParts>(i);
      if (exists) {
        float sums[Shape::kRows][Shape::kColumns][4] = {};
        const int end = (part + 1) * kDepth;
        const float *const ownX = x + t * O::kFromStride + slice * O::kK + top + g, *const ownY = y + t * O::kToStride +
                                                                                                  slice * O::kN + left +
                                                                                                  g;
#pragma unroll 2
        for (int depth = part * kDepth; depth < end; depth += 8) {
          Parts<Shape::kRows, 4, O::kSplit> a;
          Parts<Shape::kColumns, 2, O::kSplit> b;
          GNNC_FOR(r, Shape::kRows) GNNC_FOR(n, 4) {
            const bool inside = O::kK % O::kWarpRows == 0 || top + r * 16 + g + n % 2 * 8 < O::kK;
            const float *const at = ownX + depth * O::kFromStride;
            a.set(r, n, inside ? at[n / 2 * 4 * O::kFromStride + r * 16 + n % 2 * 8] : 0.0f);
          }
          GNNC_FOR(c, Shape::kColumns) GNNC_FOR(n, 2) {
            const bool inside = O::kN % O::kWarpColumns == 0 || left + c * 8 + g < O::kN;
            const float *const at = ownY + depth * O::kToStride;
            b.set(c, n, inside ? at[n * 4 * O::kToStride + c * 8] : 0.0f);
          }
          multiplyStep(sums, a, b);
          if ((depth + 8) % kDepthOfSums == 0 || depth + 8 == end)
            flush(outer.totals[i], sums);
        }
      }
    }
  } else {
    GNNC_FOR(i, (OuterOf<O, B>::kHeld)) {
      const int at = i * B::kThreads + threadIdx.x, n = at % O::kN, k = at / O::kN % O::kK,
                slice = at / (O::kN * O::kK);
      if (at < OuterOf<O, B>::kElements) {
        Real sum = outer.totals[i];
        for (int row = 0; row < tile.live; ++row)
          sum += x[row * O::kFromStride + slice * O::kK + k] * y[row * O::kToStride + slice * O::kN + n];
        outer.totals[i] = sum;
      }
    }
  }
}

template <class O, class B>
GNNC_DEVICE void leaveOuter(const typename B::Args &args, const Tile<B> &, const OuterOf<O, B> &outer) {
  using Real = typename B::Real;
  Real *to = static_cast<Real *>(args.work.partials) + int64(blockIdx.x) * B::kWords + O::kWord;
  if constexpr (O::kOnTensorCores) {
    using Shape = OuterShape<O, B::kThreads>;
    constexpr int kParts = kPartsOfRows<O, B>;
    const int g = lane() / 4, t = lane() % 4;
    GNNC_FOR(i, Shape::kJobs) {
      const auto [left, top, slice, part, exists] = Shape::template job<kParts>(i);
      for (int turn = 0; turn < kParts; ++turn) { // Parts are added in order.
        if (turn > 0)
          __syncthreads();
        GNNC_FOR(r, Shape::kRows) GNNC_FOR(c, Shape::kColumns) GNNC_FOR(n, 4) {
          const int k = top + r * 16 + g + n / 2 * 8, column = left + c * 8 + 2 * t + n % 2;
          Real *const sum = to + (slice * O::kK + k) * O::kN + column;
          if (exists && part == turn && k < O::kK && column < O::kN)
            *sum = turn > 0 ? *sum + outer.totals[i][r][c][n] : outer.totals[i][r][c][n];
        }
      }
    }
  } else {
    GNNC_FOR(i, (OuterOf<O, B>::kHeld)) {
      const int at = i * B::kThreads + threadIdx.x;
      if (at < OuterOf<O, B>::kElements)
        to[at] = outer.totals[i];
    }
  }
}

/// 32 of a block's partial sums, of all blocks.
template <TotalsBody B> GNNC_DEVICE void addTiles(const typename B::Args &args) {
  using Real = typename B::Real;
  const int at = blockIdx.x * 32 + lane();
  addStrips(static_cast<const Real *>(args.work.partials), args.work.numPartials, B::kWords, at,
            [&](Real sum) { B::store(args, at, sum); });
}

} // namespace gnnc

#endif // GNNC_KERNELS_TILESUMS_CUH
