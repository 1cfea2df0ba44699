//===- WarpgroupOuterSum.cuh - Sums over rows by warpgroups -----*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tensorOuterSum by warpgroups: the same arguments, the same partial sums but for rounding and for how rows are shared
// out.
//
// What is summed over are rows, of which the units want eight side by side. So the right side is turned around on its
// way to shared memory, kDepthOfSums rows at a time: a warp copies 4 rows of 8 columns, one of its matrices. The left
// side comes straight to registers: a lane has two neighbouring columns of a row, which are rows g and g + 8 of a
// result.
//
// Rows of 16 bits on both sides, of even lengths, need not be turned around: the units take both from shared memory as
// rows lie there.
//
// A Shape is that of TensorProduct.cuh with kTileRows 64 times the warpgroups; for rows of 16 bits it has kStages.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPOUTERSUM_CUH
#define GNNC_KERNELS_WARPGROUPOUTERSUM_CUH

#include "TensorProduct.cuh"
#include "Warpgroups.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

template <class S> GNNC_DEVICE void warpgroupOuterSumTF32(const typename S::Args &args) {
  using X = typename S::Args::LhsType;
  using G = typename S::Args::RhsType;
  using Tile = RightTile<Operands::TF32, S::kTileColumns>;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kWarps = kM / 16, kStep = kDepthOfSums;
  constexpr int kNumbers = kStep * kN, kAhead = 4;
  constexpr bool kSplitsX = S::kSplit && !kIsHalf<X>, kSplitsG = S::kSplit && !kIsHalf<G>;
  constexpr int kTilesAcross = (S::kN + kN - 1) / kN, kTilesDown = (S::kK + kM - 1) / kM;
  static_assert(!S::kGrouped && kN % 8 == 0 && kM % 64 == 0 && kNumbers / 32 % kWarps == 0);
  extern __shared__ double memory[];
  float *const stages = reinterpret_cast<float *>(memory); // two, each of high and low parts
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

  // Number `at` of a row, so many rows from `first` on; null behind the last, and for rows that lie anywhere and are
  // none.
  auto numberOf = [&](auto gathers, auto length, const auto *rows, const int *numbers, int64 first, int offset,
                      int at) {
    decltype(rows) none = nullptr;
    if (offset >= end - first || at >= length.value)
      return none;
    if constexpr (gathers.value) {
      const int64 row = __ldg(numbers + first + offset);
      return row < 0 ? none : rows + (row * S::kBatch + batch) * length.value + at;
    } else {
      return rows + (first * S::kBatch + batch) * length.value + at + offset * (S::kBatch * length.value);
    }
  };
  // The right side of a step: matrix m has rows 4 (m % 2) and on, columns 8 (m / 2) and on of its eight rows.
  constexpr int kMatricesOfStep = kN / 4, kMatrices = kStep / 8 * kMatricesOfStep / kWarps;
  auto matrixOf = [&](int i, int &step) {
    if constexpr (kWarps % kMatricesOfStep == 0) {
      step = i * (kWarps / kMatricesOfStep) + warp / kMatricesOfStep;
      return warp % kMatricesOfStep;
    } else {
      step = (warp + i * kWarps) / kMatricesOfStep;
      return (warp + i * kWarps) % kMatricesOfStep;
    }
  };
  float rights[kMatrices];
  auto fetchRight = [&](int64 first) {
    GNNC_FOR(i, kMatrices) {
      int step;
      const int matrix = matrixOf(i, step);
      const G *from = numberOf(Constant<S::kGathersRhs>(), Constant<S::kN>(), args.rhs, args.rhsRows, first,
                               step * 8 + matrix % 2 * 4 + t, n0 + matrix / 2 * 8 + g);
      rights[i] = 0;
      if (from)
        readRow<1>(&rights[i], from);
    }
  };
  auto placeRight = [&](float *high) {
    GNNC_FOR(i, kMatrices) {
      const int at = (warp + i * kWarps) * 32 + lane();
      Parts<1, 1, kSplitsG> parts;
      parts.set(0, 0, rights[i]);
      high[at] = __uint_as_float(parts.high[0][0]);
      if constexpr (kSplitsG)
        high[kNumbers + at] = __uint_as_float(parts.low[0][0]);
    }
  };
  // The left side of a step: rows t and t + 4, columns 2 g and 2 g + 1 of the warp's 16.
  const int ownColumn = k0 + warp * 16 + 2 * g;
  float fetched[kAhead][2][2];
  auto fetchLeft = [&](int64 first, int step, float (&to)[2][2]) {
    constexpr int kV = S::kK % 2 == 0 ? 2 : 1;
    GNNC_FOR(i, 2) GNNC_FOR_STEP(v, 2, kV) {
      const X *from = numberOf(Constant<S::kGathersLhs>(), Constant<S::kK>(), args.lhs, args.lhsRows, first,
                               step * 8 + i * 4 + t, ownColumn + v);
      fill<kV>(to[i] + v, 0.0f);
      if (from)
        readRow<kV>(to[i] + v, from);
    }
  };
  LeftSteps<Operands::TF32, 1, kSplitsX> left[2];
  float sums[kN / 2], totals[kN / 2];
  GNNC_FOR(i, kN / 2) totals[i] = 0;
  constexpr int kStage = kNumbers * (kSplitsG ? 2 : 1);
  if (begin < end) {
    fetchRight(begin);
    GNNC_FOR(step, kAhead) fetchLeft(begin, step, fetched[step]);
  }
  int stage = 0;
  for (int64 first = begin; first < end; first += kStep, stage ^= 1) {
    float *const high = stages + stage * kStage;
    placeRight(high); // All have done with what was here before: they have met since.
    showToProducts();
    __syncthreads();
    fetchRight(first + kStep);
    const uint64 highAt = Tile::descriptor(sharedAddress(high)),
                 lowAt = Tile::descriptor(sharedAddress(high + kNumbers));
    GNNC_FOR(step, kStep / 8) {
      waitForProducts<1>(); // The step before the last has read its registers.
      GNNC_FOR(f, 4) left[step % 2].set(0, f, fetched[step % kAhead][f / 2][f % 2]);
      fetchLeft(first, step + kAhead, fetched[step % kAhead]);
      beginProducts();
      left[step % 2].template multiply<kN, kSplitsG>(sums, highAt + Tile::toStep(step), lowAt + Tile::toStep(step),
                                                     step > 0);
      commitProducts();
    }
    waitForProducts<0>();
    holdRegisters(sums);
    GNNC_FOR(i, kN / 2) totals[i] += sums[i];
  }
  float *to = static_cast<float *>(args.work.partials) + tile.rows * kElements + int64(batch) * S::kK * S::kN;
  constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
  GNNC_FOR(half, 2) GNNC_FOR_STEP(c, kN / 4, kVOut) {
    const int row = ownColumn + half, at = n0 + c / 2 * 8 + t * 2 + c % 2;
    if (row < S::kK && at < S::kN)
      store<kVOut>(to + int64(row) * S::kN + at, totals + c / 2 * 4 + half * 2 + c % 2);
  }
}

/// Rows of Columns numbers of 16 bits as both sides of a product in shared memory: for each 8 rows and each 8 columns a
/// matrix of 8 pieces of 16 bytes, which are rows.
template <int Columns> struct RowsTile {
  static constexpr int kToRows = Columns * 16, kToColumns = 128;
  GNNC_DEVICE static int placeOf(int row, int column) { // in bytes
    return row / 8 * kToRows + column / 8 * kToColumns + row % 8 * 16 + column % 8 * 2;
  }
  GNNC_DEVICE static uint64 descriptor(unsigned address, int row, int column) {
    return describeSide(address + row / 8 * kToRows + column / 8 * kToColumns, kToRows, kToColumns);
  }
};

/// Both sides in 16 bits: kStages stages of rows of both in shared memory, of which all but two are on their way.
template <class S> GNNC_DEVICE void warpgroupOuterSum16(const typename S::Args &args) {
  using X = typename S::Args::LhsType;
  constexpr Operands kKind = kOperands<X>;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kThreads = kM * 2, kStep = kDepthOfSums, kStages = S::kStages;
  constexpr int kBytesX = kStep * kM * 2, kStage = kBytesX + kStep * kN * 2, kStepsToFlush = 4;
  constexpr int kTilesAcross = (S::kN + kN - 1) / kN, kTilesDown = (S::kK + kM - 1) / kM;
  static_assert(!S::kGrouped && kN % 16 == 0 && kM % 64 == 0 && kStages >= 3);
  extern __shared__ double memory[];
  const unsigned stages = sharedAddress(memory);
  constexpr int64 kTiles = int64(kTilesAcross) * kTilesDown;
  const BlockTile<S::kBatch, kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<kTiles> tile(block.tile);
  const int batch = block.batch, k0 = tile.other / kTilesAcross * kM, n0 = tile.other % kTilesAcross * kN;
  constexpr int64 kElements = int64(S::kBatch) * S::kK * S::kN;
  const int64 each = (args.rows + gridDim.x - 1) / gridDim.x, begin = tile.rows * each;
  const int64 end = begin + each < args.rows ? begin + each : args.rows;

  // Copies of kStep rows of Length numbers, from column `offset` on Count of them. A warp copies pieces of eight rows,
  // four of each, which lie in different banks.
  auto fetchRows = [&](auto gathers, auto length, auto count, unsigned to, const auto *rows, const int *numbers,
                       int64 first, int offset) {
    constexpr bool kGathers = gathers.value;
    constexpr int kLength = length.value, kCount = count.value, kV = kCopied<kLength, decltype(typeOf(rows))>;
    constexpr int kPieces = kStep * kCount / kV, kCopies = (kPieces + kThreads - 1) / kThreads;
    copyPieces<kCopies, kV>(rows, [&](int i, auto copy) {
      const int piece = threadIdx.x + i * kThreads, row = piece / (8 * (kCount / kV)) * 8 + piece % 8;
      const int at = piece / 8 % (kCount / kV) * kV;
      if (kPieces % kThreads != 0 && piece >= kPieces)
        return;
      int64 source = first + row;
      bool live = source < end && (kLength % kCount == 0 || offset + at < kLength);
      if constexpr (kGathers) {
        source = live ? __ldg(numbers + source) : 0;
        live = live && source >= 0;
      }
      copy(to + RowsTile<kCount>::placeOf(row, at), rows + (source * S::kBatch + batch) * kLength + offset + at, live);
    });
  };
  auto fetch = [&](int64 first, int stage) {
    const unsigned xs = stages + stage * kStage;
    fetchRows(Constant<S::kGathersLhs>(), Constant<S::kK>(), Constant<kM>(), xs, args.lhs, args.lhsRows, first, k0);
    fetchRows(Constant<S::kGathersRhs>(), Constant<S::kN>(), Constant<kN>(), xs + kBytesX, args.rhs, args.rhsRows,
              first, n0);
  };
  float sums[kN / 2], totals[kN / 2];
  GNNC_FOR(i, kN / 2) totals[i] = 0;
  GNNC_FOR(stage, kStages - 2) {
    if (begin + stage * kStep < end)
      fetch(begin + stage * kStep, stage);
    commitCopies();
  }
  const int ownColumn = threadIdx.x / 128 * 64;
  int stage = 0, ahead = kStages - 2, since = 0;
  for (int64 first = begin; first < end; first += kStep) {
    waitForCopies<kStages - 3>();
    showToProducts();
    waitForProducts<1>(); // The stage before the last has been multiplied by all after the barrier.
    __syncthreads();
    if (first + (kStages - 2) * kStep < end)
      fetch(first + (kStages - 2) * kStep, ahead);
    commitCopies();
    const unsigned xs = stages + stage * kStage;
    beginProducts();
    GNNC_FOR_STEP(row, kStep, 16) {
      multiplySharedColumns<kKind, kN>(sums, RowsTile<kM>::descriptor(xs, row, ownColumn),
                                       RowsTile<kN>::descriptor(xs + kBytesX, row, 0), since > 0 || row > 0);
    }
    commitProducts();
    stage = stage + 1 == kStages ? 0 : stage + 1, ahead = ahead + 1 == kStages ? 0 : ahead + 1;
    if (++since == kStepsToFlush || first + kStep >= end) {
      waitForProducts<0>();
      holdRegisters(sums);
      GNNC_FOR(i, kN / 2) totals[i] += sums[i];
      since = 0;
    }
  }
  float *to = static_cast<float *>(args.work.partials) + tile.rows * kElements + int64(batch) * S::kK * S::kN;
  constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
  GNNC_FOR(half, 2) GNNC_FOR_STEP(c, kN / 4, kVOut) {
    const int row = k0 + threadIdx.x / 32 * 16 + lane() / 4 + half * 8;
    const int at = n0 + c / 2 * 8 + lane() % 4 * 2 + c % 2;
    if (row < S::kK && at < S::kN)
      store<kVOut>(to + int64(row) * S::kN + at, totals + c / 2 * 4 + half * 2 + c % 2);
  }
}

template <class S> GNNC_DEVICE void warpgroupOuterSum(const typename S::Args &args) {
  if (device::mostOf(args.rows) < S::kManyRows)
    return;
  // Rows of an odd length cannot be copied as they are.
  constexpr Operands kLeft = kOperands<typename S::Args::LhsType>, kRight = kOperands<typename S::Args::RhsType>;
  if constexpr (kLeft != Operands::TF32 && kLeft == kRight && S::kK % 2 == 0 && S::kN % 2 == 0)
    warpgroupOuterSum16<S>(args);
  else
    warpgroupOuterSumTF32<S>(args);
}

} // namespace gnnc

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPOUTERSUM_CUH
