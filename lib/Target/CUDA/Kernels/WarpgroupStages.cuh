//===- WarpgroupStages.cuh - Deep products by warpgroups --------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of WarpgroupProduct.cuh whose weight does not stay in shared memory, of operands that are rounded and
// not split: both sides come through stages of shared memory, kPanel depths each, of which all but two are on their
// way. Stages go on from one tile of rows to the next.
//
// The weight is rounded and put in order once, by a kernel of its own (placeWeight): for each batch and each tile of
// columns one stage behind the other, as it lies in shared memory, so that one copy brings it. Each warp copies and
// reads the rows that it multiplies, in pieces of 16 bytes. A lane has four neighbouring words of 16, which are two of
// each of two products, and the weight's depths lie in the same order.
//
// A Shape is that of WarpgroupProduct.cuh with kStages; the memory of partial sums holds the weight.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPSTAGES_CUH
#define GNNC_KERNELS_WARPGROUPSTAGES_CUH

#include "WarpgroupResults.cuh"
#include "Warpgroups.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

/// Rows and columns of a stage in shared memory: 128 bytes of each.
template <class S> struct Stage {
  using X = typename S::Args::LhsType;
  static constexpr Operands kKind = kOperands<X>;
  static constexpr int kDepth = S::kPanel, kSteps = (S::kK + kDepth - 1) / kDepth;
  static constexpr int kPieces = 8, kV = 16 / int(sizeof(X)); ///< pieces of a row, numbers of a piece
  static constexpr int kWords = S::kTileColumns * 32;         ///< of the weight
  static constexpr int kBytesOfRows = S::kTileRows * 128, kBytes = kBytesOfRows + kWords * 4;
  static constexpr int kArrivals = S::kStages * kBytes, kResults = kArrivals + 64; ///< where these are, in bytes
  static constexpr int kTiles = (S::kN + S::kTileColumns - 1) / S::kTileColumns;
  static_assert(kDepth == kPieces * kV && S::kK % kV == 0 && !S::kSplit && !S::kFoldsRows && kKind != Operands::F16);
  static_assert(S::kStages >= 3 && S::kStages <= 8);
  /// Where a row's piece lies, in bytes: eight lanes that copy a row, or read four pieces of two neighbouring rows,
  /// have different banks.
  GNNC_DEVICE static int placeOf(int row, int piece) { return row * 128 + (piece ^ (row % 2 * 4 + row / 2 % 4)) * 16; }
};

/// One stage of a weight for each block along y.
template <class S> GNNC_DEVICE void placeWeight(const typename S::Args &args) {
  using Parts = Stage<S>;
  constexpr int kInWord = Parts::kKind == Operands::TF32 ? 1 : 2, kN = S::kTileColumns;
  if (device::mostOf(args.rows) < S::kManyRows)
    return;
  const BlockTile<S::kBatch, Parts::kTiles * Parts::kSteps> block;
  if (!block.exists)
    return;
  const int column = block.tile / Parts::kSteps * kN, depth = block.tile % Parts::kSteps * Parts::kDepth;
  const float *weight = args.rhs + int64(block.batch) * S::kK * S::kN;
  float *to = static_cast<float *>(args.work.partials) +
              (int64(block.batch) * Parts::kTiles * Parts::kSteps + block.tile) * Parts::kWords;
  _Pragma("unroll 8") for (int word = threadIdx.x; word < Parts::kWords; word += blockDim.x) {
    // As RightTile::placeOf has it: four words of a column, then eight columns, both halves of a step, all columns.
    const int number = word / 32 % 2 * 4 + word % 4, n = column + word / 64 % (kN / 8) * 8 + word / 4 % 8;
    const int step = word / (kN * 8);
    float w[kInWord];
    // Word 4 t + 2 s + h of 16 of a row is number t + 4 h of step s.
    const int k = depth + (step / 2 * 16 + number % 4 * 4 + step % 2 * 2 + number / 4) * kInWord;
    GNNC_FOR(e, kInWord) w[e] = k + e < S::kK && n < S::kN ? __ldg(weight + int64(k + e) * S::kN + n) : 0.0f;
    unsigned bits;
    if constexpr (kInWord == 1)
      bits = roundToTF32(w[0]);
    else
      bits = narrowPair(w, typename Parts::X());
    to[word] = __uint_as_float(bits);
  }
}

template <class S> GNNC_DEVICE void stagedProduct(const typename S::Args &args) {
  using Parts = Stage<S>;
  using X = typename Parts::X;
  using Tile = RightTile<Parts::kKind, S::kTileColumns>;
  constexpr Operands kKind = Parts::kKind;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kV = Parts::kV, kStages = S::kStages;
  static_assert(!S::kGrouped && kM % 64 == 0);
  if (device::mostOf(args.rows) < S::kManyRows)
    return;
  extern __shared__ double memory[];
  const BlockTile<1, S::kBatch * Parts::kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<S::kBatch * Parts::kTiles> tile(block.tile);
  const int batch = tile.other / Parts::kTiles, column = tile.other % Parts::kTiles * kN;
  const float *const weight =
      static_cast<const float *>(args.work.partials) + int64(tile.other) * Parts::kSteps * Parts::kWords;
  const int64 end = args.rows * S::kRows, stride = int64(gridDim.x) * kM;
  const int ownRow = threadIdx.x / 32 * 16;

  // A lane copies a piece of each of four rows of its warp's. Those that are gathered: -1 where there is none.
  const int copiedRow = ownRow + lane() / 8;
  int gathered[4];
  auto find = [&](int64 first) {
    if constexpr (S::kGathersLhs) {
      GNNC_FOR(i, 4) {
        const int64 source = first + copiedRow + i * 4;
        gathered[i] = source < end ? __ldg(args.lhsRows + source / S::kRows) : -1;
      }
    }
  };
  int64 coming = tile.rows * kM; ///< the tile whose step is copied next
  int comingStep = 0;
  find(coming);
  const unsigned stages = sharedAddress(memory), arrivals = stages + Parts::kArrivals;
  auto fetch = [&](int stage) {
    const unsigned xs = stages + stage * Parts::kBytes;
    if (coming < end) {
      const int depth = comingStep * Parts::kDepth;
      if (threadIdx.x == 0) {
        expectBytes(arrivals + stage * 8, Parts::kWords * 4);
        copyMany(xs + Parts::kBytesOfRows, weight + comingStep * Parts::kWords, Parts::kWords * 4,
                 arrivals + stage * 8);
      }
      const int piece = lane() % 8;
      GNNC_FOR(i, 4) {
        int64 row = coming + copiedRow + i * 4;
        bool live = row < end && (S::kK % Parts::kDepth == 0 || depth + piece * kV < S::kK);
        if constexpr (S::kGathersLhs)
          live = live && gathered[i] >= 0, row = int64(gathered[i]) * S::kRows + row % S::kRows;
        copyAsync<16>(xs + Parts::placeOf(copiedRow + i * 4, piece),
                      live ? args.lhs + (row * S::kBatch + batch) * S::kK + depth + piece * kV : args.lhs,
                      live ? 16 : 0);
      }
      if (++comingStep == Parts::kSteps) {
        comingStep = 0, coming += stride;
        find(coming);
      }
    }
    commitCopies();
  };
  if (threadIdx.x < kStages)
    makeArrival(arrivals + threadIdx.x * 8, 1);
  showToProducts();
  __syncthreads();
  GNNC_FOR(stage, kStages - 2) fetch(stage);
  float sums[kN / 2];
  int stage = 0, ahead = kStages - 2;
  bool isOdd = false; ///< what the weight's copies of this round are
  for (int64 first = tile.rows * kM; first < end; first += stride) {
    _Pragma("unroll 1") for (int step = 0; step < Parts::kSteps; ++step) {
      waitForProducts<1>(); // The stage before the last has been multiplied by all after the barrier.
      __syncthreads();
      fetch(ahead);
      waitForCopies<kStages - 2>(); // Those of the lane, then of the warp.
      syncWarp();
      waitForArrival(arrivals + stage * 8, isOdd);
      char *const xs = reinterpret_cast<char *>(memory) + stage * Parts::kBytes;
      const uint64 right = Tile::descriptor(stages + stage * Parts::kBytes + Parts::kBytesOfRows);
      LeftSteps<kKind, 2, false> left[2];
      GNNC_FOR(chunk, 2) {
        if (chunk > 0)
          waitForProducts<1>(); // What had these registers has been multiplied.
        GNNC_FOR(half, 2) {
          const uint4 all =
              *reinterpret_cast<uint4 *>(xs + Parts::placeOf(ownRow + half * 8 + lane() / 4, chunk * 4 + lane() % 4));
          const unsigned words[4] = {all.x, all.y, all.z, all.w};
          GNNC_FOR(s, 2) GNNC_FOR(h, 2) {
            if constexpr (kKind == Operands::TF32)
              left[chunk].set(s, half + 2 * h, __uint_as_float(words[2 * s + h]));
            else
              left[chunk].set(s, half + 2 * h, words[2 * s + h]);
          }
        }
        beginProducts();
        left[chunk].template multiply<kN, false>(sums, right + Tile::toStep(chunk * 2), 0, step > 0 || chunk > 0);
        commitProducts();
      }
      isOdd ^= stage + 1 == kStages;
      stage = stage + 1 == kStages ? 0 : stage + 1, ahead = ahead + 1 == kStages ? 0 : ahead + 1;
    }
    waitForProducts<0>();
    holdRegisters(sums);
    finishRows<S>(args, sums, reinterpret_cast<float *>(memory) + Parts::kResults / 4, first, end, batch, column);
  }
}

} // namespace gnnc

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPSTAGES_CUH
