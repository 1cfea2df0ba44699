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
// Sums of members. S: kWidth, kMost, kLeast (neither: a sum), kNames (whose the number is), kParts and kNamesParts
// (places), kCarry and kNamesCarry (places of two), kWord and kNamesWord (in a slot), value(args, tile, row, f),
// element(tile, row), store(args, owner, f, members, number, winner).
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

/// One number that is accumulated.
template <class S, typename Real> struct Accumulated {
  Real number = neutral();
  Real winner = numberOf(Real(0), -1);

  GNNC_DEVICE static Real neutral() {
    return S::kMost ? -Real(GNNC_INFINITY) : S::kLeast ? Real(GNNC_INFINITY) : Real(0);
  }
  GNNC_DEVICE void add(Real other, Real otherWinner) {
    if constexpr (S::kNames && S::kMost)
      keepMost(number, winner, other, otherWinner);
    else if constexpr (S::kNames)
      keepLeast(number, winner, other, otherWinner);
    else if constexpr (S::kMost)
      number = most(number, other);
    else if constexpr (S::kLeast)
      number = least(number, other);
    else
      number += other;
  }
  GNNC_DEVICE void save(const Place<Real> &place, int at) const {
    place.numbers[at] = number;
    if constexpr (S::kNames)
      place.winners[at] = winner;
  }
  GNNC_DEVICE void addFrom(const Place<Real> &place, int at) {
    Real other = place.numbers[at], otherWinner = winner;
    if constexpr (S::kNames)
      otherWinner = place.winners[at];
    add(other, otherWinner);
  }
  /// Adds parts first to last in order: find(i) says in which place, and where there.
  template <typename Int, typename Find> GNNC_DEVICE void addParts(Int first, Int last, Find find) {
#pragma unroll 4
    for (Int i = first; i <= last; ++i) {
      int at = 0;
      const Place<Real> place = find(i, at);
      addFrom(place, at);
    }
  }
};

constexpr int powerOfTwo(int atLeast) {
  int power = 1;
  while (power < atLeast)
    power *= 2;
  return power;
}

/// Threads that share a row, and rows that one after the other are added up by the same.
template <int Width> constexpr int kRowLanes = Width >= 32 ? 32 : powerOfTwo(Width);
template <class B, int Width>
constexpr int kStripRows =
    B::kTileRows * kRowLanes<Width> / B::kThreads < 4 ? 4 : B::kTileRows * kRowLanes<Width> / B::kThreads;

/// One number of a strip: rows from `begin` on, each segment's part of the strip to its first row there.
template <class S, class B>
GNNC_DEVICE void sumStrip(const typename B::Args &args, const Tile<B> &tile, int begin, int f) {
  using Real = typename B::Real;
  using Sum = Accumulated<S, Real>;
  constexpr int kStrip = kStripRows<B, S::kWidth>, kBatch = kStrip < 2 * kAtOnce ? kStrip : 2 * kAtOnce;
  const Place<Real> parts = placeAt<S>(tile.rows, S::kParts, S::kNamesParts);
  Sum sum;
  int first = begin;
  for (int base = begin; base < begin + kStrip; base += kBatch) {
    Real numbers[kBatch], winners[kBatch] = {};
    bool starts[kBatch];
    GNNC_FOR(i, kBatch) { // Rows that are not there repeat the last one's numbers.
      numbers[i] = S::value(args, tile, base + i, f);
      starts[i] = base + i > begin && tile.at[base + i] != tile.at[base + i - 1]; // Array 0 has the owners.
      if constexpr (S::kNames)
        winners[i] = numberOf(Real(0), S::element(tile, base + i));
    }
    GNNC_FOR(i, kBatch) {
      if (base + i < tile.live) {
        if (starts[i]) {
          sum.save(parts, first * S::kWidth + f);
          sum = Sum(), first = base + i;
        }
        sum.add(numbers[i], winners[i]);
      }
    }
  }
  sum.save(parts, first * S::kWidth + f);
}

/// Where a tile's segment lies: its rows, its owner, and which of the owner's members are elsewhere.
struct Segment {
  int from, to, owner, members;
  bool beforeTile, beforeRange, after, lastTile;
};

/// One number of a segment, from its parts of strips and what came before them.
template <class S, class B>
GNNC_DEVICE void sumSegment(const typename B::Args &args, const Tile<B> &tile, const Segment &segment, int f) {
  using Real = typename B::Real;
  constexpr int kStrip = kStripRows<B, S::kWidth>;
  const Place<Real> parts = placeAt<S>(tile.rows, S::kParts, S::kNamesParts);
  auto carryOf = [&](int number) {
    const int at = number % 2 * S::kWidth;
    return placeAt<S>(tile.rows, S::kCarry + at, S::kNamesCarry + at);
  };
  Accumulated<S, Real> sum;
  if (segment.beforeTile)
    sum.addFrom(carryOf(tile.number), f);
  sum.addFrom(parts, segment.from * S::kWidth + f);
  sum.addParts(segment.from / kStrip + 1, (segment.to - 1) / kStrip, [&](int strip, int &at) {
    at = strip * kStrip * S::kWidth + f;
    return parts;
  });
  if (segment.after && !segment.lastTile)
    sum.save(carryOf(tile.number + 1), f);
  else if (segment.beforeRange || segment.after)
    sum.save(slotAt<S, B>(args, blockIdx.x, !segment.beforeRange), f);
  else
    S::store(args, segment.owner, f, segment.members, sum.number, sum.winner);
}

/// Sums of one width, First's: there are two barriers for all of them, not for each.
template <class First, class... Rest, class B>
GNNC_DEVICE void sumRows(const typename B::Args &args, const Tile<B> &tile) {
  static_assert(((Rest::kWidth == First::kWidth) && ...));
  constexpr int kLanes = kRowLanes<First::kWidth>, kStrip = kStripRows<B, First::kWidth>,
                kGroups = B::kThreads / kLanes;
  const int group = threadIdx.x / kLanes, firstFeature = threadIdx.x % kLanes;
  for (int strip = group; strip < B::kTileRows / kStrip; strip += kGroups) {
    const int begin = strip * kStrip;
    for (int f = firstFeature; f < First::kWidth && begin < tile.live; f += kLanes) {
      sumStrip<First>(args, tile, begin, f);
      (sumStrip<Rest>(args, tile, begin, f), ...);
    }
  }
  if (threadIdx.x < B::kTileRows)
    tile.bounds[threadIdx.x] = tile.own;
  __syncthreads();
  const int count = tile.segments[B::kTileRows + 1];
  for (int number = group; number < count; number += kGroups) {
    Segment segment;
    segment.from = tile.segments[number], segment.to = tile.segments[number + 1];
    segment.owner = tile.at[segment.from];
    const int2 bounds = tile.bounds[segment.from];
    segment.members = bounds.y - bounds.x;
    segment.beforeRange = bounds.x < tile.begin;
    segment.beforeTile = bounds.x < tile.first && tile.first > tile.begin;
    segment.after = bounds.y > tile.first + tile.live, segment.lastTile = tile.first + tile.live == tile.stop;
    for (int f = firstFeature; f < First::kWidth; f += kLanes) {
      sumSegment<First>(args, tile, segment, f);
      (sumSegment<Rest>(args, tile, segment, f), ...);
    }
  }
}

/// Finds the first rows of owners.
template <class B> GNNC_DEVICE void findSegments(const Tile<B> &tile) {
  constexpr int kMasks = (B::kTileRows + 31) / 32;
  unsigned *const masks = reinterpret_cast<unsigned *>(tile.segments + B::kTileRows + 2);
  const int row = threadIdx.x;
  bool starts = row < tile.live && (row == 0 || tile.at[row] != tile.at[row - 1]);
  if (row < kMasks * 32) {
    unsigned mask = __ballot_sync(kAllLanes, starts);
    if (lane() == 0)
      masks[row / 32] = mask;
  }
  __syncthreads();
  int before = 0, all = 0;
  GNNC_FOR(i, kMasks) {
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
  for (int f = lane(); f < S::kWidth; f += 32) {
    Accumulated<S, typename B::Real> sum;
    if (members > 0)
      sum.addParts(first, last, [&](int64 block, int &at) {
        at = f;
        return slotAt<S, B>(args, block, block == first);
      });
    S::store(args, owner, f, members, sum.number, sum.winner);
  }
}

/// Positions of a block.
template <class B> GNNC_DEVICE int64 positionsOfBlock(const typename B::Args &args, int64 blocks) {
  int64 tiles = (B::numPositions(args) + B::kTileRows - 1) / B::kTileRows;
  return blocks > 0 ? (tiles + blocks - 1) / blocks * B::kTileRows : 1;
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
    for (unsigned todo = __ballot_sync(kAllLanes, wanted); todo; todo &= todo - 1) {
      const int which = __ffs(todo) - 1;
      const int begin = __shfl_sync(kAllLanes, from, which), end = __shfl_sync(kAllLanes, to, which);
      B::finish(args, int(base) + which, end - begin, begin / each, (end - 1) / each);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sums over all rows. T: kWidth, kPlace (of kThreads / kRowLanes times kWidth numbers), kWord, value(args, tile, row,
// f). O: kSlices, kK, kN, kFrom, kFromStride, kTo, kToStride (the two factors), kWord; kWarpRows, kWarpColumns, kSplit.
//===----------------------------------------------------------------------===//

template <class T, typename Real> struct Totals {
  Real sums[(T::kWidth + kRowLanes<T::kWidth> - 1) / kRowLanes<T::kWidth>] = {};
};

template <class T, class B>
GNNC_DEVICE void addTotals(const typename B::Args &args, const Tile<B> &tile, Totals<T, typename B::Real> &totals) {
  constexpr int kLanes = kRowLanes<T::kWidth>, kGroups = B::kThreads / kLanes, kStrip = kStripRows<B, T::kWidth>;
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

/// How the rectangles of a product of two tall matrices are shared among the warps, or numbers among threads.
template <class O, int Threads> struct OuterShape {
  static constexpr int kDown = (O::kK + O::kWarpRows - 1) / O::kWarpRows,
                       kAcross = (O::kN + O::kWarpColumns - 1) / O::kWarpColumns;
  static constexpr int kAll = kDown * kAcross * O::kSlices, kWarps = Threads / 32, kJobs = (kAll + kWarps - 1) / kWarps;
  static constexpr int kRows = O::kWarpRows / 16, kColumns = O::kWarpColumns / 8;

  /// The corner of a warp's i-th rectangle, and in which of the products it lies.
  struct Job {
    int left, top, slice;
    bool exists;
  };
  GNNC_DEVICE static Job job(int i) {
    const int job = i * kWarps + threadIdx.x / 32;
    return {job % kAcross * O::kWarpColumns, job / kAcross % kDown * O::kWarpRows, job / (kAcross * kDown), job < kAll};
  }
};
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
    GNNC_FOR(i, Shape::kJobs) {
      const auto [left, top, slice, exists] = Shape::job(i);
      if (exists) {
        float sums[Shape::kRows][Shape::kColumns][4] = {};
#pragma unroll 2
        for (int depth = 0; depth < B::kTileRows; depth += 8) {
          Parts<Shape::kRows, 4> a;
          Parts<Shape::kColumns, 2> b;
          GNNC_FOR(r, Shape::kRows) GNNC_FOR(n, 4) {
            const int k = top + r * 16 + g + n % 2 * 8;
            const bool inside = O::kK % O::kWarpRows == 0 || k < O::kK;
            a.set(r, n, inside ? x[(depth + t + n / 2 * 4) * O::kFromStride + slice * O::kK + k] : 0.0f);
          }
          GNNC_FOR(c, Shape::kColumns) GNNC_FOR(n, 2) {
            const int column = left + c * 8 + g;
            const bool inside = O::kN % O::kWarpColumns == 0 || column < O::kN;
            b.set(c, n, inside ? y[(depth + t + n * 4) * O::kToStride + slice * O::kN + column] : 0.0f);
          }
          multiplyStep<O::kSplit, O::kSplit>(sums, a, b);
          if ((depth + 8) % kDepthOfSums == 0 || depth + 8 == B::kTileRows)
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
    const int g = lane() / 4, t = lane() % 4;
    GNNC_FOR(i, Shape::kJobs) {
      const auto [left, top, slice, exists] = Shape::job(i);
      GNNC_FOR(r, Shape::kRows) GNNC_FOR(c, Shape::kColumns) GNNC_FOR(n, 4) {
        const int k = top + r * 16 + g + n / 2 * 8, column = left + c * 8 + 2 * t + n % 2;
        if (exists && k < O::kK && column < O::kN)
          to[(slice * O::kK + k) * O::kN + column] = outer.totals[i][r][c][n];
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
