//===- TileSweep.cuh - A sweep that multiplies its members ------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block takes positions (members in the order of their owners, or rows of a space) in a range of its own, kTileRows
// at a time. The rows of a tile lie in shared memory, and what is done with them is a few steps between barriers:
//
//   makeRows      numbers of a value, from operands in memory and rows that lie there already
//   multiplyRows  rows times a weight, by tensor cores (MatrixUnits.cuh) or by fused multiply-adds
//   storeRows     a result with a row for each position
//   sumRows       what an owner accumulates of its members
//   addTotals     a sum over all rows; addOuter: the same of outer products
//
// So nothing is stored for a member. Owners lie in the tile as *segments*: strips of rows are accumulated beside each
// other, each segment's part of a strip in its first row there; then a segment's parts. A segment that goes on in the
// block's next tile waits in shared memory (`carry`); what reaches into another block's range is left in one of the
// block's two slots, and `finishTiles` merges the slots of an owner in order. Totals are left as one partial sum for
// each block, which `addTiles` adds in order. Nothing is atomic, and every order is fixed by the graph and the grid.
//
// A Body (printed by the compiler) has Real, Args (operands, `Work work`), kTileRows, kThreads, kSegments, kBytes of
// its places, numPositions(args), numOwners(args), pointers(args), find(args, at, position), prepare(args, tile), Sums
// and step(args, tile, sums), leave(args, tile, sums), kWords (of a slot or a block's partial sums); finishTiles:
// finish(owner's members) for each sum; addTiles: store(args, number, sum). Places are in numbers of shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_TILESWEEP_CUH
#define GNNC_KERNELS_TILESWEEP_CUH

#include "MatrixUnits.cuh"
#include "Product.cuh"

namespace gnnc {

/// What a block knows of the tile it is at.
template <class B> struct Tile {
  using Real = typename B::Real;
  Real *rows;        ///< places of values
  int *at;           ///< numbers of the rows that operands are read at: array * kTileRows + row
  int *segments;     ///< first rows of segments, then the number of rows; segments[kTileRows + 1]: how many there are
  int64 begin, stop; ///< the block's range of positions
  int64 first;       ///< the tile's first
  int live;          ///< its rows
  int number;        ///< of those the block has had before
};

template <class B> constexpr int kTilePlaces = (B::kPlaces + 3) / 4 * 4;
/// Bytes of shared memory: places, numbers of rows, segments and their masks.
template <class B>
constexpr int kTileBytes = kTilePlaces<B> * int(sizeof(typename B::Real)) +
                           (B::kArrays * B::kTileRows + (B::kSegments ? B::kTileRows + 8 : 0)) * 4;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// What a thread reads before it goes on.
constexpr int kAtOnce = 4;

/// M: kWidth, kV (side by side), kPlace, kStride, make(args, tile, row, first, numbers). Rows that are not there are 0.
template <class M, class B> GNNC_DEVICE void makeRows(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kChunks = M::kWidth / M::kV, kAll = B::kTileRows * kChunks;
  // All are read before the first is written, which the compiler could not do.
  constexpr int kBatch = kAll < kAtOnce * B::kThreads ? (kAll + B::kThreads - 1) / B::kThreads : kAtOnce;
  for (int base = threadIdx.x; base < kAll; base += kBatch * B::kThreads) {
    typename B::Real made[kBatch][M::kV];
    GNNC_FOR(u, kBatch) {
      const int i = base + u * B::kThreads, row = i / kChunks, first = i % kChunks * M::kV;
      if (row < tile.live) // So it is one of the tile's.
        M::make(args, tile, row, first, made[u]);
      else
        fill<M::kV>(made[u], typename B::Real(0));
    }
    GNNC_FOR(u, kBatch) {
      const int i = base + u * B::kThreads, row = i / kChunks, first = i % kChunks * M::kV;
      if (kAll % (kBatch * B::kThreads) == 0 || i < kAll)
        store<M::kV>(tile.rows + M::kPlace + row * M::kStride + first, made[u]);
    }
  }
}

/// The same into memory: store(args, tile, row, first, numbers).
template <class M, class B> GNNC_DEVICE void storeRows(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kChunks = M::kWidth / M::kV;
  for (int i = threadIdx.x; i < tile.live * kChunks; i += B::kThreads) {
    const int row = i / kChunks, first = i % kChunks * M::kV;
    typename B::Real made[M::kV];
    M::make(args, tile, row, first, made);
    M::store(args, tile, row, first, made);
  }
}

//===----------------------------------------------------------------------===//
// Products: P has kSlices (parts of a row that are multiplied by themselves), kBatched (each by a weight of its own),
// kK, kN, kFrom, kFromStride, kTo, kToStride, weight(args); for tensor cores kWarpRows, kWarpColumns, kSplit, and
// kParts, where the weight lies in both parts in shared memory, or -1.
//===----------------------------------------------------------------------===//

template <class P> constexpr int kPartsStride = 2 * ((P::kN + 7) / 8 * 8) + 8;
template <class P> constexpr int kPartsDepth = (P::kK + 7) / 8 * 8;

/// A weight in both parts into shared memory, once for a block.
template <class P, class B> GNNC_DEVICE void keepWeight(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kColumns = (P::kN + 7) / 8 * 8, kDepth = kPartsDepth<P>, kWeights = P::kBatched ? P::kSlices : 1;
  const float *weight = P::weight(args);
  for (int i = threadIdx.x; i < kWeights * kDepth * kColumns; i += B::kThreads) {
    const int n = i % kColumns, k = i / kColumns % kDepth, slice = i / (kColumns * kDepth);
    Parts<1, 1> both;
    both.set(0, 0, k < P::kK && n < P::kN ? __ldg(weight + (slice * P::kK + k) * P::kN + n) : 0.0f);
    float2 pair = {__uint_as_float(both.high[0][0]), __uint_as_float(both.low[0][0])};
    *reinterpret_cast<float2 *>(tile.rows + P::kParts + (slice * kDepth + k) * kPartsStride<P> + 2 * n) = pair;
  }
}

template <class P, class B>
GNNC_DEVICE void multiplyRowsOnTensorCores(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kRows = P::kWarpRows / 16, kColumns = P::kWarpColumns / 8;
  constexpr int kAcross = (P::kN + P::kWarpColumns - 1) / P::kWarpColumns, kDown = B::kTileRows / P::kWarpRows;
  constexpr bool kFlushes = P::kK > kDepthOfSums;
  const int g = lane() / 4, t = lane() % 4;
  for (int job = threadIdx.x / 32; job < kAcross * kDown * P::kSlices; job += B::kThreads / 32) {
    const int left = job % kAcross * P::kWarpColumns, top = job / kAcross % kDown * P::kWarpRows;
    const int slice = job / (kAcross * kDown), weightSlice = P::kBatched ? slice : 0;
    const float *x = tile.rows + P::kFrom + top * P::kFromStride + slice * P::kK;
    float sums[kRows][kColumns][4] = {};
    float totals[kFlushes ? kRows : 1][kFlushes ? kColumns : 1][4] = {};
#pragma unroll 2
    for (int k = 0; k < P::kK; k += 8) {
      Parts<kRows, 4> a;
      Parts<kColumns, 2> b;
      if constexpr (P::kK % 8 == 0) {
        loadLeft<P::kFromStride, 1>(a, x + k);
      } else { // What lies beyond is another part of the row.
        GNNC_FOR(i, kRows) GNNC_FOR(n, 4) {
          int depth = k + t + n / 2 * 4;
          a.set(i, n, depth < P::kK ? x[(i * 16 + g + n % 2 * 8) * P::kFromStride + depth] : 0.0f);
        }
      }
      if constexpr (P::kParts >= 0) {
        const float *parts = tile.rows + P::kParts + (weightSlice * kPartsDepth<P> + k) * kPartsStride<P>;
        GNNC_FOR(j, kColumns) GNNC_FOR(n, 2) {
          float2 both = {0, 0};
          if (P::kN % P::kWarpColumns == 0 || left + j * 8 < P::kN)
            both = *reinterpret_cast<const float2 *>(parts + (t + n * 4) * kPartsStride<P> + 2 * (left + j * 8 + g));
          b.high[j][n] = __float_as_uint(both.x), b.low[j][n] = __float_as_uint(both.y);
        }
      } else {
        const float *weight = P::weight(args) + int64(weightSlice) * P::kK * P::kN;
        GNNC_FOR(j, kColumns) GNNC_FOR(n, 2) {
          int depth = k + t + n * 4, column = left + j * 8 + g;
          bool inside = (P::kK % 8 == 0 || depth < P::kK) && (P::kN % P::kWarpColumns == 0 || column < P::kN);
          b.set(j, n, inside ? __ldg(weight + depth * P::kN + column) : 0.0f);
        }
      }
      multiplyStep<P::kSplit, P::kSplit>(sums, a, b);
      if constexpr (kFlushes) {
        if ((k + 8) % kDepthOfSums == 0 || k + 8 >= P::kK)
          flush(totals, sums);
      }
    }
    float *y = tile.rows + P::kTo + top * P::kToStride + slice * P::kN;
    GNNC_FOR(i, kRows) GNNC_FOR(j, kColumns) GNNC_FOR(n, 4) {
      const int row = i * 16 + g + n / 2 * 8, column = left + j * 8 + 2 * t + n % 2;
      float made;
      if constexpr (kFlushes)
        made = totals[i][j][n];
      else
        made = sums[i][j][n];
      if (P::kN % P::kWarpColumns == 0 || column < P::kN)
        y[row * P::kToStride + column] = made;
    }
  }
}

/// Four rows and four columns for each thread.
template <class P, class B> GNNC_DEVICE void multiplyRowsByFMA(const typename B::Args &args, const Tile<B> &tile) {
  using Real = typename B::Real;
  constexpr int kAcross = (P::kN + 3) / 4, kDown = B::kTileRows / 4;
  for (int job = threadIdx.x; job < kAcross * kDown * P::kSlices; job += B::kThreads) {
    const int left = job % kAcross, top = job / kAcross % kDown * 4, slice = job / (kAcross * kDown);
    const Real *x = tile.rows + P::kFrom + top * P::kFromStride + slice * P::kK;
    const Real *weight = P::weight(args) + (P::kBatched ? slice : 0) * P::kK * P::kN;
    Real sums[4][4] = {};
#pragma unroll 4
    for (int k = 0; k < P::kK; ++k) {
      Real w[4];
      GNNC_FOR(j, 4) w[j] = left + j * kAcross < P::kN ? __ldg(weight + k * P::kN + left + j * kAcross) : Real(0);
      GNNC_FOR(i, 4) {
        const Real number = x[i * P::kFromStride + k];
        GNNC_FOR(j, 4) sums[i][j] += number * w[j];
      }
    }
    Real *y = tile.rows + P::kTo + top * P::kToStride + slice * P::kN;
    GNNC_FOR(i, 4) GNNC_FOR(j, 4) {
      if (left + j * kAcross < P::kN)
        y[i * P::kToStride + left + j * kAcross] = sums[i][j];
    }
  }
}

template <class P, class B> GNNC_DEVICE void multiplyRows(const typename B::Args &args, const Tile<B> &tile) {
  if constexpr (P::kOnTensorCores)
    multiplyRowsOnTensorCores<P>(args, tile);
  else
    multiplyRowsByFMA<P>(args, tile);
}

//===----------------------------------------------------------------------===//
// Sums of members. S: kWidth, kMost, kLeast (neither: a sum), kNames (whose the number is), kParts and kNamesParts
// (places), kCarry and kNamesCarry (places of two), kWord and kNamesWord (in a slot), value(args, tile, row, f),
// element(tile, row), store(args, owner, f, members, number, winner).
//===----------------------------------------------------------------------===//

/// One number that is accumulated.
template <class S, typename Real> struct Accumulated {
  Real number = S::kMost ? -Real(GNNC_INFINITY) : S::kLeast ? Real(GNNC_INFINITY) : Real(0);
  Real winner = numberOf(Real(0), -1);

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
  GNNC_DEVICE void save(Real *numbers, Real *winners, int at) const {
    numbers[at] = number;
    if constexpr (S::kNames)
      winners[at] = winner;
  }
  GNNC_DEVICE void addFrom(const Real *numbers, const Real *winners, int at) {
    Real other = numbers[at], otherWinner = winner;
    if constexpr (S::kNames)
      otherWinner = winners[at];
    add(other, otherWinner);
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

template <class S, class B> GNNC_DEVICE void sumRows(const typename B::Args &args, const Tile<B> &tile) {
  using Real = typename B::Real;
  using Sum = Accumulated<S, Real>;
  constexpr int kLanes = kRowLanes<S::kWidth>, kStrip = kStripRows<B, S::kWidth>, kGroups = B::kThreads / kLanes;
  const int group = threadIdx.x / kLanes, firstFeature = threadIdx.x % kLanes;
  Real *const parts = tile.rows + S::kParts, *const names = tile.rows + (S::kNames ? S::kNamesParts : 0);
  for (int strip = group; strip < B::kTileRows / kStrip; strip += kGroups) {
    const int begin = strip * kStrip;
    for (int f = firstFeature; f < S::kWidth && begin < tile.live; f += kLanes) {
      Sum sum;
      int first = begin;
      constexpr int kBatch = kStrip < 2 * kAtOnce ? kStrip : 2 * kAtOnce;
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
              sum.save(parts, names, first * S::kWidth + f);
              sum = Sum(), first = base + i;
            }
            sum.add(numbers[i], winners[i]);
          }
        }
      }
      sum.save(parts, names, first * S::kWidth + f);
    }
  }
  __syncthreads();
  const int count = tile.segments[B::kTileRows + 1];
  Real *const carried = tile.rows + S::kCarry + tile.number % 2 * S::kWidth, *const next =
                                                                                 tile.rows + S::kCarry +
                                                                                 (tile.number + 1) % 2 * S::kWidth;
  Real *const carriedNames = tile.rows + (S::kNames ? S::kNamesCarry + tile.number % 2 * S::kWidth : 0),
              *const nextNames = tile.rows + (S::kNames ? S::kNamesCarry + (tile.number + 1) % 2 * S::kWidth : 0);
  for (int segment = group; segment < count; segment += kGroups) {
    const int from = tile.segments[segment], to = tile.segments[segment + 1], owner = tile.at[from];
    const int64 ownerFrom = __ldg(B::pointers(args) + owner), ownerTo = __ldg(B::pointers(args) + owner + 1);
    const bool before = ownerFrom < tile.first, beforeRange = ownerFrom < tile.begin;
    const bool after = ownerTo > tile.first + tile.live, lastTile = tile.first + tile.live == tile.stop;
    Real *slot = static_cast<Real *>(args.work.partials) + (int64(blockIdx.x) * 2 + (beforeRange ? 0 : 1)) * B::kWords;
    for (int f = firstFeature; f < S::kWidth; f += kLanes) {
      Sum sum;
      if (before && tile.first > tile.begin)
        sum.addFrom(carried, carriedNames, f);
      sum.addFrom(parts, names, from * S::kWidth + f);
      for (int row = (from / kStrip + 1) * kStrip; row < to; row += kStrip)
        sum.addFrom(parts, names, row * S::kWidth + f);
      if (after && !lastTile)
        sum.save(next, nextNames, f);
      else if (beforeRange || after)
        sum.save(slot + S::kWord, slot + (S::kNames ? S::kNamesWord : 0), f);
      else
        S::store(args, owner, f, int(ownerTo - ownerFrom), sum.number, sum.winner);
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
  using Real = typename B::Real;
  const Real *slots = static_cast<const Real *>(args.work.partials);
  for (int f = lane(); f < S::kWidth; f += 32) {
    Accumulated<S, Real> sum;
#pragma unroll 4
    for (int64 block = first; members > 0 && block <= last; ++block) {
      const Real *slot = slots + (2 * block + (block == first ? 1 : 0)) * B::kWords;
      sum.addFrom(slot + S::kWord, slot + (S::kNames ? S::kNamesWord : 0), f);
    }
    S::store(args, owner, f, members, sum.number, sum.winner);
  }
}

/// Positions of a block.
template <class B> GNNC_DEVICE int64 positionsOfBlock(const typename B::Args &args, int64 blocks) {
  int64 tiles = (B::numPositions(args) + B::kTileRows - 1) / B::kTileRows;
  return blocks > 0 ? (tiles + blocks - 1) / blocks * B::kTileRows : 1;
}

template <class B> GNNC_DEVICE void finishTiles(const typename B::Args &args) {
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
      const int job = i * Shape::kWarps + threadIdx.x / 32;
      const int left = job % Shape::kAcross * O::kWarpColumns, top = job / Shape::kAcross % Shape::kDown * O::kWarpRows;
      const int slice = job / (Shape::kAcross * Shape::kDown);
      if (job < Shape::kAll) {
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
      const int job = i * Shape::kWarps + threadIdx.x / 32;
      const int left = job % Shape::kAcross * O::kWarpColumns, top = job / Shape::kAcross % Shape::kDown * O::kWarpRows;
      const int slice = job / (Shape::kAcross * Shape::kDown);
      GNNC_FOR(r, Shape::kRows) GNNC_FOR(c, Shape::kColumns) GNNC_FOR(n, 4) {
        const int k = top + r * 16 + g + n / 2 * 8, column = left + c * 8 + 2 * t + n % 2;
        if (job < Shape::kAll && k < O::kK && column < O::kN)
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

/// 32 of a block's partial sums, of all blocks: 8 strips of threads take them in turn.
template <class B> GNNC_DEVICE void addTiles(const typename B::Args &args) {
  using Real = typename B::Real;
  __shared__ Real strips[8][32];
  const int strip = threadIdx.x / 32;
  const int at = blockIdx.x * 32 + lane();
  const Real *partials = static_cast<const Real *>(args.work.partials);
  Real sum = 0;
  if (at < B::kWords)
    for (int64 i = strip; i < args.work.numPartials; i += 8)
      sum += partials[i * B::kWords + at];
  strips[strip][lane()] = sum;
  __syncthreads();
  if (strip == 0 && at < B::kWords) {
    GNNC_FOR(other, 7) sum += strips[other + 1][lane()];
    B::store(args, at, sum);
  }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

template <class B> GNNC_DEVICE void tiles(const typename B::Args &args) {
  extern __shared__ double memory[];
  Tile<B> tile;
  tile.rows = reinterpret_cast<typename B::Real *>(memory);
  tile.at = reinterpret_cast<int *>(tile.rows + kTilePlaces<B>);
  tile.segments = tile.at + B::kArrays * B::kTileRows;
  const int64 end = B::numPositions(args), each = positionsOfBlock<B>(args, gridDim.x);
  tile.begin = blockIdx.x * each, tile.stop = tile.begin + each < end ? tile.begin + each : end;
  B::prepare(args, tile);
  typename B::Sums sums;
  tile.number = 0;
  static_assert(B::kTileRows <= B::kThreads);
  // The next tile's numbers of rows are on their way while this one is worked at.
  int next[B::kArrays];
  auto find = [&](int64 first) {
    const int64 position = first + threadIdx.x;
    if (threadIdx.x < B::kTileRows && first < tile.stop)
      B::find(args, next, int(position < tile.stop ? position : tile.stop - 1));
  };
  find(tile.begin);
  for (tile.first = tile.begin; tile.first < tile.stop; tile.first += B::kTileRows, ++tile.number) {
    tile.live = tile.stop - tile.first < B::kTileRows ? int(tile.stop - tile.first) : B::kTileRows;
    __syncthreads(); // All have done with the tile before.
    if (threadIdx.x < B::kTileRows) {
      GNNC_FOR(i, B::kArrays) tile.at[i * B::kTileRows + threadIdx.x] = next[i];
    }
    find(tile.first + B::kTileRows);
    __syncthreads();
    if constexpr (B::kSegments)
      findSegments(tile);
    B::step(args, tile, sums);
  }
  B::leave(args, tile, sums);
}

} // namespace gnnc

#endif // GNNC_KERNELS_TILESWEEP_CUH
