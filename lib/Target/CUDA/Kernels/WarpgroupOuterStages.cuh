//===- WarpgroupOuterStages.cuh - Wide sums over rows -----------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of WarpgroupOuterSum.cuh of float32 that is rounded and not split, in tiles of up to 256 by 128 results,
// which read little.
//
// Rows of the left side come to stages of shared memory, each in one copy, and from there to registers. Copies like
// these can be on their way while others write to shared memory for the units, but each takes its time to begin.
// So the right side comes straight to registers and is turned around: lanes take two neighbouring columns of four rows
// and leave four rows of two columns. There are three places for that: one that is written, one that the latest
// products read, and one whose products other warps may not have waited for.
//
// Columns need not be in order, as long as results are put where they belong: so columns 2 g and 2 g + 1 of the left
// side are rows g and g + 8 of a result, and columns 2 q and 2 q + 1 of the right side columns q and q + 8.
//
// A Shape is that of WarpgroupOuterSum.cuh with kStages of kStageRows rows.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPOUTERSTAGES_CUH
#define GNNC_KERNELS_WARPGROUPOUTERSTAGES_CUH

#include "TensorProduct.cuh"
#include "Warpgroups.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

/// How many numbers lie where in shared memory: stages of rows of the left side, the right side, arrivals.
template <class S> struct OuterStage {
  static constexpr int kRows = S::kStageRows, kM = S::kTileRows, kN = S::kTileColumns, kThreads = kM * 2;
  static constexpr int kStride = kM + 8; ///< four rows of four pairs of columns have different banks
  static constexpr int kNumbers = kRows * kStride;
  static constexpr int kRights = S::kStages * kNumbers, kRight = kRows * kN, kPlaces = 3;
  static constexpr int kArrivals = kRights + kPlaces * kRight;
  static_assert(kM % 64 == 0 && kN % 16 == 0 && S::kK % 4 == 0 && S::kN % 4 == 0 && !S::kGrouped && !S::kSplit);
  static_assert(kRows % 32 == 0);
  static_assert(S::kStages >= 3 && S::kStages <= 8); // a barrier comes between a copy and its use
};

/// A thread's part of a stage's right side: pairs of neighbouring columns of four rows.
template <class S> struct RightPairs {
  using Parts = OuterStage<S>;
  static constexpr int kPairs = Parts::kN / 2, kAll = Parts::kRows / 4 * kPairs;
  static constexpr int kOwn = (kAll + Parts::kThreads - 1) / Parts::kThreads;
  float2 own[kOwn][4];

  template <typename Body> GNNC_DEVICE static void forEach(Body body) {
    GNNC_FOR(i, kOwn) {
      const int at = threadIdx.x + i * Parts::kThreads;
      if (kAll % Parts::kThreads == 0 || at < kAll)
        body(i, at % kPairs, at / kPairs * 4);
    }
  }
  /// Rows from `first` on, of which those before `end` are there; `column` is the tile's first.
  GNNC_DEVICE void fetch(const typename S::Args &args, int64 first, int64 end, int batch, int column) {
    forEach([&](int i, int pair, int row) {
      GNNC_FOR(r, 4) {
        own[i][r] = {0.0f, 0.0f};
        int64 source = first + row + r;
        bool live = source < end && (S::kN % Parts::kN == 0 || column + pair * 2 < S::kN);
        if constexpr (S::kGathersRhs) {
          source = live ? __ldg(args.rhsRows + source) : -1;
          live = live && source >= 0;
        }
        if (live)
          own[i][r] =
              __ldg(reinterpret_cast<const float2 *>(args.rhs + (source * S::kBatch + batch) * S::kN + column) + pair);
      }
    });
  }
  GNNC_DEVICE void turnAround(float *to) const {
    forEach([&](int i, int pair, int row) {
      GNNC_FOR(j, 2) {
        uint4 column;
        column.x = roundToTF32(j ? own[i][0].y : own[i][0].x), column.y = roundToTF32(j ? own[i][1].y : own[i][1].x);
        column.z = roundToTF32(j ? own[i][2].y : own[i][2].x), column.w = roundToTF32(j ? own[i][3].y : own[i][3].x);
        const int place =
            RightTile<Operands::TF32, Parts::kN>::placeOf(row / 8, row % 8, pair / 8 * 16 + j * 8 + pair % 8);
        *reinterpret_cast<uint4 *>(to + place) = column;
      }
    });
  }
};

template <class S> GNNC_DEVICE void stagedOuterSum(const typename S::Args &args) {
  using Parts = OuterStage<S>;
  using Tile = RightTile<Operands::TF32, S::kTileColumns>;
  constexpr int kM = Parts::kM, kN = Parts::kN, kRows = Parts::kRows, kStages = S::kStages, kWarps = kM / 16;
  constexpr int kOwnRows = (kRows + kWarps - 1) / kWarps, kChunks = kRows / 16;
  using X = typename S::Args::LhsType;
  constexpr int kTilesAcross = (S::kN + kN - 1) / kN, kTilesDown = (S::kK + kM - 1) / kM;
  // Units cut sums off, so that these are added to the partial sum after so many rows.
  constexpr int64 kMostRowsOfSum = 4096;
  if (device::mostOf(args.rows) < S::kManyRows)
    return;
  extern __shared__ double memory[];
  float *const stages = reinterpret_cast<float *>(memory);
  constexpr int64 kTiles = int64(kTilesAcross) * kTilesDown;
  const BlockTile<S::kBatch, kTiles> block;
  if (!block.exists)
    return;
  const int batch = block.batch, warp = threadIdx.x / 32, g = lane() / 4, t = lane() % 4;
  const TileNumber<kTiles> tile(block.tile);
  const int k0 = tile.other / kTilesAcross * kM, n0 = tile.other % kTilesAcross * kN;
  constexpr int64 kElements = int64(S::kBatch) * S::kK * S::kN;
  const int64 each = (args.rows + gridDim.x - 1) / gridDim.x, begin = tile.rows * each;
  const int64 end = begin + each < args.rows ? begin + each : args.rows;

  // Each warp copies a few rows of the left side. Those that are none are zero.
  const unsigned bytes = (S::kK - k0 < kM ? S::kK - k0 : kM) * 4;
  const unsigned arrivals = sharedAddress(stages + Parts::kArrivals);
  auto fetchLeft = [&](int64 first, int stage) {
    const unsigned arrival = arrivals + stage * 8;
    float *const to = stages + stage * Parts::kNumbers;
    const X *from[kOwnRows];
    unsigned expected = 0;
    GNNC_FOR(i, kOwnRows) {
      const int row = warp + i * kWarps;
      int64 source = first + row;
      bool live = source < end && (kRows % kWarps == 0 || row < kRows);
      if constexpr (S::kGathersLhs) {
        source = live ? __ldg(args.lhsRows + source) : -1;
        live = live && source >= 0;
      }
      from[i] = live ? args.lhs + (source * S::kBatch + batch) * S::kK + k0 : nullptr;
      expected += live ? bytes : 0;
    }
    if (lane() == 0)
      expectBytes(arrival, expected);
    GNNC_FOR(i, kOwnRows) {
      const int row = warp + i * kWarps;
      float *const place = to + row * Parts::kStride;
      if (from[i]) {
        if (lane() == 0)
          copyMany(sharedAddress(place), from[i], bytes, arrival);
      } else if (kRows % kWarps == 0 || row < kRows) {
        for (int at = lane(); at < kM; at += 32)
          place[at] = 0;
      }
    }
  };
  // Puts the sums where they belong, or adds them to what is there.
  float sums[kN / 2];
  bool adds = false;
  auto leave = [&] {
    float *to = static_cast<float *>(args.work.partials) + tile.rows * kElements + int64(batch) * S::kK * S::kN;
    GNNC_FOR(half, 2) {
      const int row = k0 + warp * 16 + 2 * g + half;
      GNNC_FOR_STEP(column, kN, 16) {
        const int at = n0 + column + 4 * t;
        if (row < S::kK && at < S::kN) {
          const float *const own = sums + column / 2 + half * 2;
          float4 *const place = reinterpret_cast<float4 *>(to + int64(row) * S::kN + at);
          float4 made = {own[0], own[4], own[1], own[5]};
          if (adds) {
            const float4 before = *place;
            made.x += before.x, made.y += before.y, made.z += before.z, made.w += before.w;
          }
          *place = made;
        }
      }
    }
    adds = true;
  };
  if (threadIdx.x < kStages)
    makeArrival(arrivals + threadIdx.x * 8, kWarps);
  showToProducts();
  __syncthreads();
  GNNC_FOR(stage, kStages - 1) {
    if (begin + stage * kRows < end)
      fetchLeft(begin + stage * kRows, stage);
  }
  RightPairs<S> rights;
  rights.fetch(args, begin, end, batch, n0);
  __syncthreads(); // Rows that are none have been written by others.
  if (begin >= end) {
    GNNC_FOR(i, kN / 2) sums[i] = 0;
    leave();
  }
  LeftSteps<Operands::TF32, 2, false> left[2];
  auto load = [&](const float *xs, int chunk) {
    waitForProducts<1>(); // What had these registers has been multiplied.
    GNNC_FOR(step, 2) GNNC_FOR(i, 2) {
      const int row = chunk * 16 + step * 8 + i * 4 + t;
      const float2 own = *reinterpret_cast<const float2 *>(xs + row * Parts::kStride + warp * 16 + 2 * g);
      left[chunk % 2].set(step, 2 * i, own.x), left[chunk % 2].set(step, 2 * i + 1, own.y);
    }
  };
  int stage = 0, place = 0;
  bool isOdd = false; ///< what the copies of this round are
  for (int64 from = begin; from < end; from += kMostRowsOfSum) {
    const int64 to = from + kMostRowsOfSum < end ? from + kMostRowsOfSum : end;
    _Pragma("unroll 1") for (int64 first = from; first < to; first += kRows) {
      const float *const xs = stages + stage * Parts::kNumbers;
      float *const right = stages + Parts::kRights + place * Parts::kRight;
      rights.turnAround(right);
      waitForArrival(arrivals + stage * 8, isOdd);
      load(xs, 0);
      showToProducts();
      __syncthreads();
      rights.fetch(args, first + kRows, end, batch, n0);
      const uint64 rightAt = Tile::descriptor(sharedAddress(right));
      GNNC_FOR(chunk, kChunks) {
        if (chunk > 0)
          load(xs, chunk);
        beginProducts();
        left[chunk % 2].template multiply<kN, false>(sums, rightAt + Tile::toStep(chunk * 2), 0,
                                                     first > from || chunk > 0);
        commitProducts();
      }
      // All had done with the stage before at the barrier.
      if (first + (kStages - 1) * kRows < end)
        fetchLeft(first + (kStages - 1) * kRows, stage == 0 ? kStages - 1 : stage - 1);
      isOdd ^= stage + 1 == kStages;
      stage = stage + 1 == kStages ? 0 : stage + 1, place = place + 1 == Parts::kPlaces ? 0 : place + 1;
    }
    waitForProducts<0>();
    holdRegisters(sums);
    leave();
  }
}

} // namespace gnnc

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPOUTERSTAGES_CUH
