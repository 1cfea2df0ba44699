//===- WarpgroupProduct.cuh - Products of rows by warpgroups ----*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of TensorProduct.cuh by warpgroups: the same arguments, the same results but for rounding.
//
// Rows come straight to the registers that are multiplied, 16 bytes a lane: a lane's four neighbouring depths of 16 are
// what it has of two products of 8, and the weight's depths lie in the same order (WarpgroupWeight.cuh). While a
// warpgroup multiplies 16 depths, the next ones are split, and those after them are on their way; what waits for sums
// to be flushed or written, the other warpgroups make up for. Rows of 16 bits are multiplied as they are, with twice as
// many depths in 16 bytes.
//
// A Shape is that of TensorProduct.cuh with kTileRows 64 times the warpgroups; kManyRows: this kernel does the products
// of at least so many rows; kPanel: depths of a panel of the weight, or 0 where all depths are in shared memory. Rows
// of groups have none.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPPRODUCT_CUH
#define GNNC_KERNELS_WARPGROUPPRODUCT_CUH

#include "WarpgroupResults.cuh"
#include "WarpgroupWeight.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

/// Depths between waits, after which sums are added to their totals, if there are totals. There are none up to so many
/// depths of operands that are not split: what their rounding left out is more than what such sums lose when they are
/// cut off.
template <Operands Kind, bool Splits>
constexpr int kDepthAtOnce = Kind != Operands::TF32 ? 256
                             : Splits               ? kDepthOfSums
                                                    : 128;
template <Operands Kind, bool Splits>
constexpr int kDepthWithoutTotals = Kind != Operands::TF32 ? 512
                                    : Splits               ? kDepthOfSums
                                                           : 2048;

template <class S> GNNC_DEVICE void warpgroupProduct(const typename S::Args &args) {
  if (device::mostOf(args.rows) < S::kManyRows)
    return;
  using X = typename S::Args::LhsType;
  constexpr Operands kKind = kOperands<X>;
  using Tile = RightTile<kKind, S::kTileColumns>;
  using Word = typename Choice<kKind == Operands::TF32, float, unsigned>::Type; // of a row: of 16 bits two numbers
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kThreads = kM * 2, kChunkDepth = kChunk<kKind>;
  constexpr int kPanel = S::kPanel ? S::kPanel : (S::kK + kChunkDepth - 1) / kChunkDepth * kChunkDepth;
  constexpr int kPanels = (S::kK + kPanel - 1) / kPanel, kPanelChunks = kPanel / kChunkDepth;
  constexpr int kChunks = kPanels * kPanelChunks;
  constexpr bool kSplitsX = S::kSplit && !kIsHalf<X>;
  constexpr bool kFlushes = S::kK > kDepthWithoutTotals<kKind, S::kSplit>;
  using Weight = WeightTile<kKind, kN, kPanel, S::kSplit>;
  using Panels = WeightPanels<kKind, kN, kPanel, kPanels, kThreads, S::kSplit>;
  static_assert(!S::kGrouped && kM % 64 == 0 && (kPanels == 1 || kPanelChunks % 2 == 0));
  extern __shared__ double memory[];
  float *const weights = reinterpret_cast<float *>(memory);
  constexpr int kTiles = (S::kN + kN - 1) / kN;
  const BlockTile<1, S::kBatch * kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<S::kBatch * kTiles> tile(block.tile);
  const int batch = tile.other / kTiles, column = tile.other % kTiles * kN;
  const float *weight = args.rhs + int64(batch) * S::kK * S::kN + column;
  auto isInside = [&](int k, int n) { return k < S::kK && column + n < S::kN; };
  auto weightOf = [&](int k, int n) { return isInside(k, n) ? __ldg(weight + int64(k) * S::kN + n) : 0.0f; };
  auto copyWeight = [&](unsigned to, int k, int n) {
    copyAsync<4>(to, weight + int64(k) * S::kN + n, isInside(k, n) ? 4 : 0);
  };
  const WeightScale scale = scaleOf<kKind, kN, kPanels * kPanel, kThreads>(weights, weightOf);
  Panels panels{weights, scale.factor};
  if constexpr (kPanels > 1)
    panels.begin(copyWeight);
  else
    Weight::template place<kThreads>(weights, scale.factor, weightOf);
  showToProducts();
  __syncthreads();

  const int64 end = args.rows * S::kRows, stride = int64(gridDim.x) * kM;
  const int ownRow = threadIdx.x / 32 * 16 + lane() / 4, ownDepth = lane() % 4 * (kChunkDepth / 4);
  // The lane's two rows of a tile; those that are not there are null.
  struct Rows {
    const X *at[2];
  };
  auto find = [&](int64 first) {
    Rows rows;
    GNNC_FOR(half, 2) {
      int64 source = first + ownRow + half * 8;
      bool live = source < end;
      if constexpr (S::kGathersLhs) {
        const int64 row = live ? __ldg(args.lhsRows + source / S::kRows) : 0;
        live = live && row >= 0, source = row * S::kRows + source % S::kRows;
      }
      rows.at[half] = live ? args.lhs + (source * S::kBatch + batch) * S::kK + ownDepth : nullptr;
    }
    return rows;
  };
  // Rows of 16 bits of an odd length are read number by number, and pairs made of them when they are multiplied.
  constexpr int kOwn = kChunkDepth / 4, kV = kCopied<S::kK, X> > kOwn ? kOwn : kCopied<S::kK, X>;
  constexpr bool kIsOdd = kKind != Operands::TF32 && kV == 1;
  constexpr int kRead = kIsOdd ? 8 : 4;
  auto fetch = [&](const Rows &rows, int chunk, Word(&to)[2][kRead]) {
    const int depth = chunk * kChunkDepth;
    GNNC_FOR(half, 2) {
      fill<kRead>(to[half], Word(0));
      GNNC_FOR_STEP(v, kOwn, kV) {
        if (rows.at[half] && (S::kK == kChunks * kChunkDepth || depth + ownDepth + v < S::kK)) {
          if constexpr (kKind == Operands::TF32)
            readRow<kV>(to[half] + v, rows.at[half] + depth + v);
          else
            readBits<kV>(to[half] + (kIsOdd ? v : v / 2), rows.at[half] + depth + v);
        }
      }
    }
  };
  auto wordOf = [&](const Word(&from)[kRead], int word) {
    if constexpr (kIsOdd)
      return from[2 * word] | from[2 * word + 1] << 16;
    else
      return from[word];
  };
  Word fetched[2][2][kRead]; // of an even chunk and of an odd one: of two rows
  LeftSteps<kKind, 2, kSplitsX> left[2];
  float sums[kN / 2], totals[kFlushes ? kN / 2 : 1];
  Rows rows = find(tile.rows * kM);
  fetch(rows, 0, fetched[0]);
  if constexpr (kChunks > 1)
    fetch(rows, 1, fetched[1]);
  for (int64 first = tile.rows * kM; first < end; first += stride) {
    const Rows next = find(first + stride);
    uint64 highAt = Tile::descriptor(sharedAddress(weights)), lowAt = highAt;
    auto multiply = [&](auto parity, int chunk, bool adds) {
      constexpr int kSet = parity.value;
      waitForProducts<1>(); // The chunk before the last has read its registers.
      GNNC_FOR(step, 2) GNNC_FOR(f, 4) left[kSet].set(step, f, wordOf(fetched[kSet][f % 2], 2 * step + f / 2));
      // What comes after the next one; at the end of the rows that of the next rows which has these registers.
      const bool isLast = chunk + 2 >= kChunks;
      fetch(isLast ? next : rows, isLast ? kSet : chunk + 2, fetched[kSet]);
      beginProducts();
      const uint64 to = Tile::toStep((kPanels > 1 ? chunk % kPanelChunks : chunk) * 2);
      left[kSet].template multiply<kN, S::kSplit>(sums, highAt + to, lowAt + to, adds);
      commitProducts();
    };
    // So many chunks, of which an even number comes before. In the end all is waited for: products that are open where
    // a loop goes back are begun one by one.
    auto multiplySome = [&](auto count, int chunk, auto meanwhile) {
      GNNC_FOR_STEP(c, count.value, 2) {
        multiply(Constant<0>(), chunk + c, c > 0 || (!kFlushes && chunk > 0));
        if (c + 1 < count.value)
          multiply(Constant<1>(), chunk + c + 1, true);
      }
      meanwhile();
      waitForProducts<0>();
      holdRegisters(sums);
      if constexpr (kFlushes)
        GNNC_FOR(i, kN / 2) totals[i] += sums[i];
    };
    if constexpr (kFlushes)
      GNNC_FOR(i, kN / 2) totals[i] = 0;
    auto findTile = [&](const float *tile) {
      highAt = Tile::descriptor(sharedAddress(tile)), lowAt = Tile::descriptor(sharedAddress(tile + Weight::kPart));
    };
    if constexpr (kPanels > 1) {
      _Pragma("unroll 1") for (int panel = 0; panel < kPanels; ++panel) {
        findTile(weights + panels.current * Weight::kWords);
        multiplySome(Constant<kPanelChunks>(), panel * kPanelChunks, [&] {
          panels.putNext(copyWeight);
          showToProducts();
        });
        panels.current ^= 1;
        __syncthreads(); // The tile is there, and nobody reads the one before any more.
      }
    } else {
      constexpr int kAtOnce = kDepthAtOnce<kKind, S::kSplit> / kChunkDepth, kRest = kChunks % kAtOnce;
      findTile(weights);
      _Pragma("unroll 1") for (int chunk = 0; chunk + kAtOnce <= kChunks; chunk += kAtOnce)
          multiplySome(Constant<kAtOnce>(), chunk, [] {});
      if constexpr (kRest > 0)
        multiplySome(Constant<kRest>(), kChunks - kRest, [] {});
    }
    if constexpr (kKind == Operands::F16)
      GNNC_FOR(i, kN / 2)(kFlushes ? totals[kFlushes ? i : 0] : sums[i]) *= scale.back;
    rows = next;
    finishRows<S>(args, kFlushes ? totals : sums, weights + (kPanels > 1 ? Panels::kWords : Weight::kWords), first, end,
                  batch, column);
  }
}

} // namespace gnnc

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPPRODUCT_CUH
