//===- SlicedProduct.cuh - Long products of few rows ------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few rows are few tiles, and a long product keeps the few blocks that have one busy while most processors have none.
// Then tiles are kSlicedRows high, and the warps that would have had rows below each other share K: warp s of W takes
// every W-th 8 depths, and the W sums of a number are added in order through shared memory. Which of the two kernels a
// product takes depends on its rows alone, so its bits do not change from run to run.
//
// A Shape is TensorProduct.cuh's, without groups and folds, its warps' rectangles kSlicedRows high; kFewRows: fewer
// elements than that are few.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_SLICEDPRODUCT_CUH
#define GNNC_KERNELS_SLICEDPRODUCT_CUH

#include "TensorProduct.cuh"

namespace gnnc {

constexpr int kSlicedRows = 32, kSlicedDepth = 64;

template <class S> GNNC_DEVICE void multiplyInSlices(const typename S::Args &args) {
  using W = Warps<S>;
  using X = typename S::Args::LhsType;
  constexpr int kM = kSlicedRows, kN = S::kTileColumns, kThreads = W::kThreads, kSlices = W::kDown;
  constexpr int kVX = kCopied<S::kK, X>, kVW = kCopied<S::kN>, kStages = S::kStages;
  constexpr int kStrideX = kPaddedDepth<kSlicedDepth, X>, kStrideW = kPaddedRow<kN>;
  constexpr int kStageX = kM * kStrideX * int(sizeof(X)) / 4, kStage = kStageX + kSlicedDepth * kStrideW;
  static_assert(S::kWarpRows == kM && !S::kGrouped && !S::kFoldsRows);
  static_assert(kSlicedDepth % (8 * kSlices) == 0 && kSlices * kM * kN <= kStages * kStage);
  extern __shared__ double memory[];
  float *const stages = reinterpret_cast<float *>(memory);
  constexpr int kTiles = (S::kN + kN - 1) / kN;
  const BlockTile<S::kBatch, kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<kTiles> tile(block.tile);
  const int thread = threadIdx.x, batch = block.batch, column = tile.other * kN;
  const int64 end = args.rows * S::kRows;
  int64 first = tile.rows * kM;
  const float *weight = args.rhs + int64(batch) * S::kK * S::kN + column;
  const unsigned stagesAt = sharedAddress(stages);
  auto fetch = [&](int64 step, int stage) {
    const unsigned xs = stagesAt + stage * kStage * 4, ws = xs + kStageX * 4;
    const int depth = int(step) * kSlicedDepth;
    copyPieces<(kM * kSlicedDepth / kVX + kThreads - 1) / kThreads, kVX>(args.lhs, [&](int i, auto copy) {
      const int at = (thread + i * kThreads) * kVX, m = at / kSlicedDepth, k = at % kSlicedDepth;
      int64 source = first + m;
      bool inside = source < end && depth + k < S::kK;
      if constexpr (S::kGathersLhs) {
        const int64 row = __ldg(args.lhsRows + (inside ? source : first) / S::kRows);
        inside = inside && row >= 0, source = row * S::kRows + source % S::kRows;
      }
      if (kM * kSlicedDepth % (kVX * kThreads) == 0 || m < kM)
        copy(xs + (m * kStrideX + k) * int(sizeof(X)), args.lhs + (source * S::kBatch + batch) * S::kK + depth + k,
             inside);
    });
    GNNC_FOR(i, (kN * kSlicedDepth / kVW + kThreads - 1) / kThreads) {
      const int at = (thread + i * kThreads) * kVW, k = at / kN, n = at % kN;
      const bool inside = depth + k < S::kK && column + n < S::kN;
      if (kN * kSlicedDepth % (kVW * kThreads) == 0 || k < kSlicedDepth)
        copyAsync<4 * kVW>(ws + (k * kStrideW + n) * 4, weight + int64(depth + k) * S::kN + n, inside ? 4 * kVW : 0);
    }
  };
  const int slice = W::top() / kM, left = W::left();
  for (; first < end; first += int64(gridDim.x) * kM) {
    float sums[W::kRows][W::kColumns][4] = {}, totals[W::kRows][W::kColumns][4] = {};
    int since = 0;
    pipeline<kStages>((S::kK + kSlicedDepth - 1) / kSlicedDepth, fetch, [&](int stage) {
      const float *ws = stages + stage * kStage + kStageX;
      const X *xs = reinterpret_cast<const X *>(ws - kStageX);
      GNNC_FOR_STEP(part, kSlicedDepth, 8 * kSlices) {
        const int k = part + slice * 8;
        Parts<W::kRows, 4, S::kSplit && !kIsHalf<X>> x;
        Parts<W::kColumns, 2, S::kSplit> w;
        loadLeft<kStrideX, 1>(x, xs + k);
        loadRight<kStrideW>(w, ws + k * kStrideW + left);
        multiplyStep(sums, x, w);
      }
      if ((since += kSlicedDepth / kSlices) == kDepthOfSums)
        flush(totals, sums), since = 0;
    });
    flush(totals, sums);
    waitForCopies<0>();
    __syncthreads(); // All have done with the stages.
    GNNC_FOR(i, W::kRows) GNNC_FOR(j, W::kColumns) GNNC_FOR(n, 4) {
      const int row = i * 16 + n / 2 * 8 + lane() / 4, at = left + j * 8 + lane() % 4 * 2 + n % 2;
      stages[(slice * kM + row) * kN + at] = totals[i][j][n];
    }
    __syncthreads();
    constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
    for (int i = thread * kVOut; i < kM * kN; i += kThreads * kVOut) {
      const int n = i % kN;
      const int64 row = first + i / kN;
      if (row < end && column + n < S::kN) {
        float made[kVOut];
        GNNC_FOR(v, kVOut) {
          made[v] = stages[i + v];
          GNNC_FOR(other, kSlices - 1) made[v] += stages[(other + 1) * kM * kN + i + v];
        }
        const int64 at = (row * S::kBatch + batch) * S::kN + column + n;
        S::template finish<kVOut>(args, typename S::Row(), row / S::kRows, at, batch * S::kN + column + n, made);
      }
    }
    __syncthreads(); // Now the stages may be filled again.
  }
}

/// Whether warpgroups do it (Warpgroups.cuh).
template <class S> GNNC_DEVICE bool isForWarpgroups(const typename S::Args &args) {
  return kHasWarpgroups && S::kManyRows > 0 && device::mostOf(args.rows) >= S::kManyRows;
}

/// The kernels of a product or an outer sum, of which only one has something to do.
template <class S> GNNC_DEVICE void slicedProduct(const typename S::Args &args) {
  if (device::mostOf(args.rows) < S::kFewRows)
    multiplyInSlices<S>(args);
}
template <class S> GNNC_DEVICE void tallProduct(const typename S::Args &args) {
  if (device::mostOf(args.rows) >= S::kFewRows && !isForWarpgroups<S>(args))
    tensorProduct<S>(args);
}
template <class S> GNNC_DEVICE void fewOuterSum(const typename S::Args &args) {
  if (!isForWarpgroups<S>(args))
    tensorOuterSum<S>(args);
}

} // namespace gnnc

#endif // GNNC_KERNELS_SLICEDPRODUCT_CUH
