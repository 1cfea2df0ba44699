//===- TileRows.cuh - Rows of a tile in shared memory ----------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a tile of TileSweep.cuh lie in shared memory: how they are made from operands and from each other, and
// how they are multiplied by a weight. What a Body has is said there.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_TILEROWS_CUH
#define GNNC_KERNELS_TILEROWS_CUH

#include "MatrixUnits.cuh"
#include "Sweep.cuh"

namespace gnnc {

/// What a block knows of the tile it is at.
template <class B> struct Tile {
  using Real = typename B::Real;
  Real *rows;        ///< places of values
  int *at;           ///< numbers of the rows that operands are read at: array * kTileRows + row
  int *segments;     ///< first rows of segments, then the number of rows; segments[kTileRows + 1]: how many there are
  int2 *bounds;      ///< of each row's owner: where its members begin and end; `own` of all threads
  int2 own;          ///< of the owner of this thread's row
  int64 begin, stop; ///< the block's range of positions
  int64 first;       ///< the tile's first
  int live;          ///< its rows
  int number;        ///< of those the block has had before
};

template <class B> constexpr int kTilePlaces = (B::kPlaces + 3) / 4 * 4;
/// First rows of segments, their number, and two masks of rows.
template <class B> constexpr int kSegmentWords = B::kTileRows + 12;
/// Bytes of shared memory: places, numbers of rows, segments and their masks, and owners' bounds.
template <class B>
constexpr int kTileBytes = kTilePlaces<B> * int(sizeof(typename B::Real)) +
                           (B::kArrays * B::kTileRows + (B::kSegments ? 2 * B::kTileRows + kSegmentWords<B> : 0)) * 4;

//===----------------------------------------------------------------------===//
// What the compiler prints
//===----------------------------------------------------------------------===//

// clang-format off
/// Of `tiles`. Places are in numbers of shared memory.
template <class B> concept TileBody = requires(const typename B::Args &args, const Tile<B> &tile, typename B::Sums sums,
                                               int (&at)[B::kArrays], int position) {
  args.work;                                               // behind the operands
  requires B::kTileRows <= B::kThreads && B::kThreads % 32 == 0;
  { B::kByThreads } -> Same<const bool &>;                 // each row is made and multiplied by a thread of its own
  requires !B::kByThreads || B::kTileRows == B::kThreads;
  requires B::kPlaces >= 0 && B::kWords >= 0;              // numbers of shared memory; of a slot or partial sums
  { B::kSegments } -> Same<const bool &>;                  // rows are accumulated for owners
  { B::numPositions(args) } -> Same<int64>;                // members or rows
  B::find(args, at, position);                             // numbers of the rows that operands are read at
  B::prepare(args, tile);                                  // once for a block
  B::step(args, tile, sums);                               // all that is done with a tile
  B::leave(args, tile, sums);                              // the block's totals
};

/// Of `finishTiles`.
template <class B> concept FinishBody = requires(const typename B::Args &args, int owner, int members, int64 block) {
  { B::numOwners(args) } -> Same<int64>;
  { B::numPositions(args) } -> Same<int64>;
  { B::pointers(args) } -> Same<const int *>;              // where the owners' members begin
  B::finish(args, owner, members, block, block);           // each sum, of the first and the last block that has a part
};

/// Of `addTiles`.
template <class B> concept TotalsBody = requires(const typename B::Args &args, int number, typename B::Real sum) {
  requires B::kWords > 0;                                  // partial sums of a block
  B::store(args, number, sum);
};
// clang-format on

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Numbers that a thread reads before it goes on: all of them before the first is used.
constexpr int kNumbersAtOnce = 16;
constexpr int powerOfTwo(int atLeast) {
  int power = 1;
  while (power < atLeast)
    power *= 2;
  return power;
}
/// Pieces of so many numbers: a power of two.
constexpr int piecesAtOnce(int numbers) {
  int pieces = 1;
  while (2 * pieces * numbers <= kNumbersAtOnce)
    pieces *= 2;
  return pieces;
}
constexpr int lanesOfAccesses(int accesses, int numbers) {
  int best = accesses < 32 ? powerOfTwo(accesses) : 32;
  auto slots = [&](int lanes) { return (accesses + lanes - 1) / lanes * lanes; };
  for (int lanes = best / 2; lanes * numbers >= 8 && (accesses + lanes - 1) / lanes * numbers <= kNumbersAtOnce;
       lanes /= 2)
    if (slots(lanes) < slots(best))
      best = lanes;
  return best;
}

template <int Numbers> constexpr int kPiecesAtOnce = piecesAtOnce(Numbers);
/// How threads share rows of so many numbers, of which an access takes V: those with neighbouring numbers have one row,
/// as many of them as leave few idle, each with several accesses. What has to be known of a row is known once for them.
template <int Width, int V, int Lanes = lanesOfAccesses(Width / V, V)> struct RowShape {
  static constexpr int kAccesses = Width / V, kLanes = Lanes;
  static constexpr int kAll = (kAccesses + kLanes - 1) / kLanes;                    ///< of a thread
  static constexpr int kAcross = kAll < kPiecesAtOnce<V> ? kAll : kPiecesAtOnce<V>; ///< at once
  /// The first number of the thread's access a, or of its first one where a is none.
  GNNC_DEVICE static int first(int a) { return has(a) ? at(a) : at(0) < Width ? at(0) : 0; }
  GNNC_DEVICE static bool has(int a) { return (kAccesses % kLanes == 0 && kAll % kAcross == 0) || at(a) < Width; }

private:
  GNNC_DEVICE static int at(int a) { return (int(threadIdx.x % kLanes) + a * kLanes) * V; }
};

/// A thread's own row.
template <class M, class B> GNNC_DEVICE void makeOwnRow(const typename B::Args &args, const Tile<B> &tile) {
  const int row = threadIdx.x;
  typename B::Real made[M::kWidth];
  if (row < tile.live) {
    GNNC_FOR(i, M::kWidth / M::kV) {
      typename B::Real part[M::kV];
      M::make(args, tile, row, i * M::kV, part);
      GNNC_FOR(v, M::kV) made[i * M::kV + v] = part[v];
    }
  } else {
    fill<M::kWidth>(made, typename B::Real(0));
  }
  GNNC_FOR(i, M::kWidth / M::kV)
  storeAnywhere<M::kV>(tile.rows + M::kPlace + row * M::kStride + i * M::kV, made + i * M::kV);
}

/// What neighbouring threads have of a sum.
template <int Lanes, typename Real, typename Join> GNNC_DEVICE Real acrossLanes(Real own, Join join) {
#pragma unroll
  for (int bit = 1; bit < Lanes; bit *= 2)
    own = join(own, shuffleXor(own, bit));
  return own;
}

/// Each number by kLanes threads.
template <class M, class B> GNNC_DEVICE void makeRowsTogether(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kAll = B::kTileRows * M::kWidth * M::kLanes;
  static_assert(M::kV == 1 && kAll % 32 == 0); // Warps stay together.
#pragma unroll 4
  for (int i = threadIdx.x; i < kAll; i += B::kThreads) {
    const int row = i / (M::kWidth * M::kLanes), first = i / M::kLanes % M::kWidth;
    typename B::Real made[1];
    M::make(args, tile, row, first, made);
    if (i % M::kLanes == 0)
      tile.rows[M::kPlace + row * M::kStride + first] = row < tile.live ? made[0] : typename B::Real(0);
  }
}

/// M: kWidth, kV (side by side), kLanes, kPlace, kStride, make(args, tile, row, first, numbers). Rows that are not
/// there are 0.
template <class M, class B> GNNC_DEVICE void makeRows(const typename B::Args &args, const Tile<B> &tile) {
  if constexpr (B::kByThreads)
    return makeOwnRow<M>(args, tile);
  if constexpr (M::kLanes > 1)
    return makeRowsTogether<M>(args, tile);
  using Shape = RowShape<M::kWidth, M::kV>;
  constexpr int kGroups = B::kThreads / Shape::kLanes, kRounds = (B::kTileRows + kGroups - 1) / kGroups,
                kMost = kPiecesAtOnce<Shape::kAcross * M::kV>, kBatch = kRounds < kMost ? kRounds : kMost;
  static_assert(kRounds % kBatch == 0);
  const int group = threadIdx.x / Shape::kLanes;
  if (kGroups > B::kTileRows && group >= B::kTileRows)
    return;
  // All are read before the first is written, which the compiler could not do. So rows that are not there are made of
  // the last one's operands.
  for (int base = group; base < B::kTileRows; base += kBatch * kGroups)
    for (int a = 0; a < Shape::kAll; a += Shape::kAcross) {
      typename B::Real made[kBatch][Shape::kAcross][M::kV];
      GNNC_FOR(u, kBatch)
      GNNC_FOR(i, Shape::kAcross) M::make(args, tile, base + u * kGroups, Shape::first(a + i), made[u][i]);
      GNNC_FOR(u, kBatch) GNNC_FOR(i, Shape::kAcross) {
        const int row = base + u * kGroups;
        if (row >= tile.live)
          fill<M::kV>(made[u][i], typename B::Real(0));
        if (Shape::has(a + i))
          storeAnywhere<M::kV>(tile.rows + M::kPlace + row * M::kStride + Shape::first(a + i), made[u][i]);
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
// kParts, where the weight lies in both parts in shared memory, or -1. For threads with rows of their own it lies there
// as it is, each of its rows at a multiple of four numbers.
//===----------------------------------------------------------------------===//

template <class P> constexpr int kPartsColumns = (P::kN + 7) / 8 * 8;
template <class P> constexpr int kPartsDepth = (P::kK + 7) / 8 * 8;
template <class P> using PartsOf = RightParts<kPartsColumns<P>>;

/// A weight in both parts into shared memory, once for a block.
template <class P, class B> GNNC_DEVICE void keepWeight(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kColumns = kPartsColumns<P>, kDepth = kPartsDepth<P>, kWeights = P::kBatched ? P::kSlices : 1;
  const float *weight = P::weight(args);
  for (int i = threadIdx.x; i < kWeights * kDepth * kColumns; i += B::kThreads) {
    const int n = i % kColumns, k = i / kColumns % kDepth, slice = i / (kColumns * kDepth);
    PartsOf<P>::template place<P::kSplit>(tile.rows + P::kParts + PartsOf<P>::numbers(slice * kDepth), k, n,
                                          k < P::kK && n < P::kN ? __ldg(weight + (slice * P::kK + k) * P::kN + n)
                                                                 : 0.0f);
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
    // What is the lane's of the first step: all else is at distances that are known.
    const float *const x = tile.rows + P::kFrom + (top + g) * P::kFromStride + slice * P::kK + 2 * t;
    const float *const parts =
        PartsOf<P>::own(tile.rows + P::kParts + PartsOf<P>::numbers(weightSlice * kPartsDepth<P>), left);
    const float *const weight = P::weight(args) + (weightSlice * P::kK + 2 * t) * P::kN + left + g;
    float sums[kRows][kColumns][4] = {};
    float totals[kFlushes ? kRows : 1][kFlushes ? kColumns : 1][4] = {};
    auto step = [&](int k, auto isWhole) {
      constexpr bool kIsWhole = isWhole.value;
      Parts<kRows, 4, P::kSplit> a;
      Parts<kColumns, 2, P::kSplit> b;
      if constexpr (kIsWhole && (P::kK % 2 == 0 || P::kSlices == 1)) {
        loadLeftPairs<P::kFromStride>(a, x + k);
      } else { // What lies beyond is another part of the row.
        GNNC_FOR(i, kRows) GNNC_FOR(n, 4) {
          const int depth = k + n / 2;
          const bool inside = kIsWhole || depth + 2 * t < P::kK;
          a.set(i, n, inside ? x[(i * 16 + n % 2 * 8) * P::kFromStride + depth] : 0.0f);
        }
      }
      if constexpr (P::kParts >= 0) {
        PartsOf<P>::load(b, parts + PartsOf<P>::numbers(k), kPartsColumns<P> - left);
      } else {
        GNNC_FOR(j, kColumns) GNNC_FOR(n, 2) {
          const bool inside =
              (kIsWhole || k + 2 * t + n < P::kK) && (P::kN % P::kWarpColumns == 0 || left + j * 8 + g < P::kN);
          b.set(j, n, inside ? __ldg(weight + (k + n) * P::kN + j * 8) : 0.0f);
        }
      }
      multiplyStep(sums, a, b);
      if constexpr (kFlushes) {
        if ((k + 8) % kDepthOfSums == 0 || k + 8 >= P::kK)
          flush(totals, sums);
      }
    };
    constexpr int kWhole = P::kK / 8 * 8;
#pragma unroll 2
    for (int k = 0; k < kWhole; k += 8)
      step(k, Constant<1>());
    if constexpr (kWhole < P::kK)
      step(kWhole, Constant<0>());
    float *const y = tile.rows + P::kTo + (top + g) * P::kToStride + slice * P::kN + left + 2 * t;
    GNNC_FOR(i, kRows) GNNC_FOR(j, kColumns) GNNC_FOR(n, 4) {
      float made;
      if constexpr (kFlushes)
        made = totals[i][j][n];
      else
        made = sums[i][j][n];
      if (P::kN % P::kWarpColumns == 0 || left + j * 8 + 2 * t + n % 2 < P::kN)
        y[(i * 16 + n / 2 * 8) * P::kToStride + j * 8 + n % 2] = made;
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

/// Numbers of a weight's row that a thread reads at once.
template <typename Real> constexpr int kWeightsAtOnce = 16 / int(sizeof(Real));
template <class P> constexpr int kOwnWeightStride = (P::kN + 3) / 4 * 4;

template <class P, class B> GNNC_DEVICE void keepOwnWeight(const typename B::Args &args, const Tile<B> &tile) {
  constexpr int kColumns = kOwnWeightStride<P>, kDepth = (P::kBatched ? P::kSlices : 1) * P::kK;
  for (int i = threadIdx.x; i < kDepth * kColumns; i += B::kThreads) {
    const int n = i % kColumns, k = i / kColumns;
    tile.rows[P::kParts + i] = n < P::kN ? __ldg(P::weight(args) + k * P::kN + n) : typename B::Real(0);
  }
}

/// A thread's own row: all threads read the same number of the weight at a time.
template <class P, class B> GNNC_DEVICE void multiplyOwnRow(const Tile<B> &tile) {
  using Real = typename B::Real;
  constexpr int kV = kWeightsAtOnce<Real>, kColumns = kOwnWeightStride<P>;
  GNNC_FOR(slice, P::kSlices) {
    const Real *x = tile.rows + P::kFrom + threadIdx.x * P::kFromStride + slice * P::kK;
    Real *const weight = tile.rows + P::kParts + (P::kBatched ? slice : 0) * P::kK * kColumns;
    Real sums[kColumns] = {};
    GNNC_FOR(k, P::kK) {
      const Real number = x[k];
      GNNC_FOR(j, kColumns / kV) {
        Real w[kV];
        load<kV>(w, weight + k * kColumns + j * kV);
        GNNC_FOR(v, kV) sums[j * kV + v] += number * w[v];
      }
    }
    Real *const y = tile.rows + P::kTo + threadIdx.x * P::kToStride + slice * P::kN;
    if constexpr (P::kN % kV == 0 && P::kToStride % kV == 0) {
      GNNC_FOR(j, P::kN / kV) storeAnywhere<kV>(y + j * kV, sums + j * kV);
    } else {
      GNNC_FOR(n, P::kN) y[n] = sums[n];
    }
  }
}

template <class P, class B> GNNC_DEVICE void multiplyRows(const typename B::Args &args, const Tile<B> &tile) {
  if constexpr (B::kByThreads)
    multiplyOwnRow<P>(tile);
  else if constexpr (P::kOnTensorCores)
    multiplyRowsOnTensorCores<P>(args, tile);
  else
    multiplyRowsByFMA<P>(args, tile);
}

} // namespace gnnc

#endif // GNNC_KERNELS_TILEROWS_CUH
