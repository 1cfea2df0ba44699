//===- WarpgroupProduct.cuh - Products of rows by warpgroups ----*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of TensorProduct.cuh by warpgroups: the same arguments, the same results but for rounding.
//
// The weight's tile lies in shared memory for as long as the block runs, in both parts (MatrixUnits.cuh). Rows come
// straight to the registers that are multiplied, 16 bytes a lane: a lane's four neighbouring depths of 16 are what it
// has of two products of 8, and the weight's depths lie in the same order. While a warpgroup multiplies 16 depths, the
// next ones are split, and those after them are on their way; what waits for sums to be flushed or written, the other
// warpgroups make up for.
//
// A Shape is that of TensorProduct.cuh with kTileRows 64 times the warpgroups; kManyRows: this kernel does the products
// of at least so many rows. Rows of groups have none.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPPRODUCT_CUH
#define GNNC_KERNELS_WARPGROUPPRODUCT_CUH

#include "TensorProduct.cuh"
#include "Warpgroups.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

namespace gnnc {

/// Depths of which a lane has its numbers at once, those of two products.
constexpr int kChunk = 16;

template <class S> GNNC_DEVICE void warpgroupProduct(const typename S::Args &args) {
  if (args.rows < S::kManyRows)
    return;
  using X = typename S::Args::LhsType;
  using Tile = RightTile<S::kTileColumns>;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kThreads = kM * 2;
  constexpr int kChunks = (S::kK + kChunk - 1) / kChunk, kNumbers = kChunks * kChunk * kN;
  constexpr bool kSplitsX = S::kSplit && !kIsHalf<X>, kFlushes = S::kK > kDepthOfSums;
  static_assert(!S::kGrouped && kN % 8 == 0 && kM % 64 == 0);
  extern __shared__ double memory[];
  float *const high = reinterpret_cast<float *>(memory), *const low = high + kNumbers;
  constexpr int kTiles = (S::kN + kN - 1) / kN;
  const BlockTile<1, S::kBatch * kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<S::kBatch * kTiles> tile(block.tile);
  const int batch = tile.other / kTiles, column = tile.other % kTiles * kN;
  const float *weight = args.rhs + int64(batch) * S::kK * S::kN + column;
  _Pragma("unroll 8") for (int at = threadIdx.x; at < kNumbers; at += kThreads) {
    // Depth 4 t + 2 s + h of a chunk is number t + 4 h of its step s.
    const int k = at / kN, n = at % kN, to = Tile::placeOf(k / kChunk * 2 + k % 4 / 2, k % kChunk / 4 + k % 2 * 4, n);
    const float w = k < S::kK && column + n < S::kN ? __ldg(weight + int64(k) * S::kN + n) : 0.0f;
    unsigned parts[2];
    splitNumber(w, parts[0], parts[1]);
    high[to] = __uint_as_float(parts[0]);
    if constexpr (S::kSplit)
      low[to] = __uint_as_float(parts[1]);
  }
  showToProducts();
  __syncthreads();
  const uint64 highAt = Tile::descriptor(sharedAddress(high)), lowAt = Tile::descriptor(sharedAddress(low));

  const int64 end = args.rows * S::kRows, stride = int64(gridDim.x) * kM;
  const int ownRow = threadIdx.x / 32 * 16 + lane() / 4, ownDepth = lane() % 4 * 4;
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
  auto fetch = [&](const Rows &rows, int chunk, float (&to)[2][4]) {
    constexpr int kV = kCopied<S::kK, X> > 4 ? 4 : kCopied<S::kK, X>;
    GNNC_FOR(half, 2) GNNC_FOR_STEP(v, 4, kV) {
      fill<kV>(to[half] + v, 0.0f);
      if (rows.at[half] && (S::kK % kChunk == 0 || chunk * kChunk + ownDepth + v < S::kK))
        readRow<kV>(to[half] + v, rows.at[half] + chunk * kChunk + v);
    }
  };
  float fetched[2][2][4]; // of an even chunk and of an odd one: of two rows
  LeftSteps<2, kSplitsX, !kIsHalf<X>> left[2];
  float sums[kN / 2], totals[kFlushes ? kN / 2 : 1];
  Rows rows = find(tile.rows * kM);
  fetch(rows, 0, fetched[0]);
  if constexpr (kChunks > 1)
    fetch(rows, 1, fetched[1]);
  for (int64 first = tile.rows * kM; first < end; first += stride) {
    const Rows next = find(first + stride);
    auto multiply = [&](auto parity, int chunk, bool adds) {
      constexpr int kOwn = parity.value;
      waitForProducts<1>(); // The chunk before the last has read its registers.
      GNNC_FOR(step, 2) GNNC_FOR(f, 4) left[kOwn].set(step, f, fetched[kOwn][f % 2][2 * step + f / 2]);
      // What comes after the next one; at the end of the rows that of the next rows which has these registers.
      const bool isLast = chunk + 2 >= kChunks;
      fetch(isLast ? next : rows, isLast ? kOwn : chunk + 2, fetched[kOwn]);
      beginProducts();
      left[kOwn].template multiply<kN, S::kSplit>(sums, highAt + Tile::toStep(chunk * 2),
                                                  lowAt + Tile::toStep(chunk * 2), adds);
      commitProducts();
    };
    // So many chunks to the next flush, of which an even number comes before.
    auto multiplyAll = [&](auto count, int chunk) {
      GNNC_FOR_STEP(c, count.value, 2) {
        multiply(Constant<0>(), chunk + c, c > 0);
        if (c + 1 < count.value)
          multiply(Constant<1>(), chunk + c + 1, true);
      }
      waitForProducts<0>();
      holdRegisters(sums);
      if constexpr (kFlushes)
        GNNC_FOR(i, kN / 2) totals[i] += sums[i];
    };
    constexpr int kToFlush = kDepthOfSums / kChunk, kRest = kChunks % kToFlush;
    if constexpr (kFlushes)
      GNNC_FOR(i, kN / 2) totals[i] = 0;
    _Pragma("unroll 1") for (int chunk = 0; chunk + kToFlush <= kChunks; chunk += kToFlush)
        multiplyAll(Constant<kToFlush>(), chunk);
    if constexpr (kRest > 0)
      multiplyAll(Constant<kRest>(), kChunks - kRest);
    rows = next;
    const float *made = kFlushes ? totals : sums;
    if constexpr (!kIsStored<S>) {
      constexpr int kColumns = kN % 32 == 0 ? 32 : 16, kVStaged = kStoredAtOnce<S>;
      float *const own = high + kNumbers * (S::kSplit ? 2 : 1) + threadIdx.x / 32 * 16 * kPaddedResult<kColumns>;
      GNNC_FOR_STEP(c, kN, kColumns)
      takeRows<kColumns, kColumns, kVStaged>(
          own, reinterpret_cast<const float (*)[4]>(made + c / 2), [&](int row, int n, const float *numbers) {
            const int64 source = first + threadIdx.x / 32 * 16 + row;
            if (source < end && (S::kN % kN == 0 || column + c + n < S::kN))
              S::template finish<kVStaged>(args, typename S::Row(), source / S::kRows,
                                           (source * S::kBatch + batch) * S::kN + column + c + n,
                                           batch * S::kN + column + c + n, numbers);
          });
      continue;
    }
    constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
    auto columnOf = [&](int c) { return c / 2 * 8 + lane() % 4 * 2 + c % 2; };
    GNNC_FOR(half, 2) {
      const int64 source = first + ownRow + half * 8;
      const bool live = source < end;
      typename S::Row row;
      if constexpr (S::kFoldsRows) {
        static_assert(kTiles == 1 && S::kBatch * S::kRows == 1);
        float numbers[kN / 4];
        GNNC_FOR(c, kN / 4) numbers[c] = made[c / 2 * 4 + half * 2 + c % 2];
        row = S::template rowOf<4>(args, live ? source : first, numbers, columnOf);
      }
      if (live) {
        const int64 element = source / S::kRows, at = (source * S::kBatch + batch) * S::kN + column;
        GNNC_FOR_STEP(c, kN / 4, kVOut) {
          const int n = columnOf(c);
          if (S::kN % kN == 0 || column + n < S::kN)
            S::template finish<kVOut>(args, row, element, at + n, batch * S::kN + column + n,
                                      made + c / 2 * 4 + half * 2 + c % 2);
        }
      }
    }
  }
}

} // namespace gnnc

#endif // __CUDA_ARCH_FEAT_SM90_ALL
#endif // GNNC_KERNELS_WARPGROUPPRODUCT_CUH
