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
// Rows of 16 bits are multiplied as they are, with twice as many depths in 16 bytes. The weight, float32, is two
// numbers of their type: of bf16 16 bits in all, which leave out 2^-18 of it, of f16 22. f16 has few exponents, so the
// tile is multiplied by a power of two that brings its largest number near to 2^14, and the sums are divided by it.
//
// A Shape is that of TensorProduct.cuh with kTileRows 64 times the warpgroups; kManyRows: this kernel does the products
// of at least so many rows. Rows of groups have none.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPPRODUCT_CUH
#define GNNC_KERNELS_WARPGROUPPRODUCT_CUH

#include "TensorProduct.cuh"
#include "Warpgroups.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

/// Depths of which a lane has its numbers at once, those of two products.
template <Operands Kind> constexpr int kChunk = 2 * kStepDepth<Kind>;

/// Depths between waits, after which sums are added to their totals, if there are totals. Rows of 16 bits have none up
/// to 512 depths: what their rounding left out of them is more than what such sums lose when they are cut off.
template <Operands Kind> constexpr int kDepthAtOnce = Kind == Operands::TF32 ? kDepthOfSums : 256;
template <Operands Kind> constexpr int kDepthWithoutTotals = Kind == Operands::TF32 ? kDepthOfSums : 512;

/// Puts the tile of a weight into shared memory in the order in which lanes have depths, in both parts if Splits.
/// weight(k, n) is a number of it, or zero. What the tile has been multiplied by is returned.
template <Operands Kind, int Columns, int Depths, int Threads, bool Splits, typename Weight>
GNNC_DEVICE float placeWeight(float *memory, Weight weight) {
  using Tile = RightTile<Kind, Columns>;
  if constexpr (Kind == Operands::TF32) {
    float *const high = memory, *const low = memory + Depths * Columns;
    _Pragma("unroll 8") for (int at = threadIdx.x; at < Depths * Columns; at += Threads) {
      // Depth 4 t + 2 s + h of a chunk is number t + 4 h of its step s.
      const int k = at / Columns, n = at % Columns;
      const int to = Tile::placeOf(k / 16 * 2 + k % 4 / 2, k % 16 / 4 + k % 2 * 4, n);
      Parts<1, 1, Splits> parts;
      parts.set(0, 0, weight(k, n));
      high[to] = __uint_as_float(parts.high[0][0]);
      if constexpr (Splits)
        low[to] = __uint_as_float(parts.low[0][0]);
    }
    return 1;
  } else {
    float factor = 1, back = 1;
    if constexpr (Kind == Operands::F16) {
      float most = 0; // of the finite ones
      _Pragma("unroll 8") for (int at = threadIdx.x; at < Depths * Columns; at += Threads) {
        const float w = fabsf(weight(at / Columns, at % Columns));
        most = w > most && w <= 0x1.fffffep127f ? w : most;
      }
      GNNC_FOR_STEP(i, 5, 1) most = fmaxf(most, shuffleXor(most, 1 << i));
      if (lane() == 0)
        memory[threadIdx.x / 32] = most;
      __syncthreads();
      GNNC_FOR(i, Threads / 32) most = fmaxf(most, memory[i]);
      __syncthreads();
      const int exponent = int(__float_as_uint(most) >> 23) - 127;
      const int shift = 14 - (exponent < -100 ? -100 : exponent); // so that both factors are normal
      factor = __uint_as_float(unsigned(127 + shift) << 23), back = __uint_as_float(unsigned(127 - shift) << 23);
    }
    unsigned *const high = reinterpret_cast<unsigned *>(memory), *const low = high + Depths * Columns / 2;
    _Pragma("unroll 8") for (int at = threadIdx.x; at < Depths / 2 * Columns; at += Threads) {
      // Depth 8 t + 4 s + 2 h + e of a chunk is number 2 t + 8 h + e of its step s.
      const int k = at / Columns * 2, n = at % Columns;
      const int to = Tile::placeOf(k / 32 * 2 + k % 8 / 4, k % 32 / 8 * 2 + k % 4 / 2 * 8, n) / 2;
      const float w[2] = {weight(k, n) * factor, weight(k + 1, n) * factor};
      unsigned parts[2];
      splitPair<Kind>(w, parts[0], parts[1]);
      high[to] = parts[0];
      if constexpr (Splits)
        low[to] = parts[1];
    }
    return back;
  }
}

template <class S> GNNC_DEVICE void warpgroupProduct(const typename S::Args &args) {
  if (device::mostOf(args.rows) < S::kManyRows)
    return;
  using X = typename S::Args::LhsType;
  constexpr Operands kKind = kOperands<X>;
  using Tile = RightTile<kKind, S::kTileColumns>;
  using Word = typename Choice<kKind == Operands::TF32, float, unsigned>::Type; // of a row: of 16 bits two numbers
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kThreads = kM * 2, kChunkDepth = kChunk<kKind>;
  constexpr int kChunks = (S::kK + kChunkDepth - 1) / kChunkDepth, kNumbers = kChunks * kChunkDepth * kN;
  constexpr int kWords = kNumbers / (kKind == Operands::TF32 ? 1 : 2); // of a part of the weight's tile
  constexpr bool kSplitsX = S::kSplit && !kIsHalf<X>, kFlushes = S::kK > kDepthWithoutTotals<kKind>;
  static_assert(!S::kGrouped && kN % 8 == 0 && kM % 64 == 0);
  extern __shared__ double memory[];
  float *const high = reinterpret_cast<float *>(memory), *const low = high + kWords;
  constexpr int kTiles = (S::kN + kN - 1) / kN;
  const BlockTile<1, S::kBatch * kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<S::kBatch * kTiles> tile(block.tile);
  const int batch = tile.other / kTiles, column = tile.other % kTiles * kN;
  const float *weight = args.rhs + int64(batch) * S::kK * S::kN + column;
  const float factor = placeWeight<kKind, kN, kChunks * kChunkDepth, kThreads, S::kSplit>(high, [&](int k, int n) {
    return k < S::kK && column + n < S::kN ? __ldg(weight + int64(k) * S::kN + n) : 0.0f;
  });
  showToProducts();
  __syncthreads();
  const uint64 highAt = Tile::descriptor(sharedAddress(high)), lowAt = Tile::descriptor(sharedAddress(low));

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
        if (rows.at[half] && (S::kK % kChunkDepth == 0 || depth + ownDepth + v < S::kK)) {
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
    auto multiply = [&](auto parity, int chunk, bool adds) {
      constexpr int kSet = parity.value;
      waitForProducts<1>(); // The chunk before the last has read its registers.
      GNNC_FOR(step, 2) GNNC_FOR(f, 4) left[kSet].set(step, f, wordOf(fetched[kSet][f % 2], 2 * step + f / 2));
      // What comes after the next one; at the end of the rows that of the next rows which has these registers.
      const bool isLast = chunk + 2 >= kChunks;
      fetch(isLast ? next : rows, isLast ? kSet : chunk + 2, fetched[kSet]);
      beginProducts();
      left[kSet].template multiply<kN, S::kSplit>(sums, highAt + Tile::toStep(chunk * 2),
                                                  lowAt + Tile::toStep(chunk * 2), adds);
      commitProducts();
    };
    // So many chunks, of which an even number comes before. In the end all is waited for: products that are open where
    // a loop goes back are begun one by one.
    auto multiplySome = [&](auto count, int chunk) {
      GNNC_FOR_STEP(c, count.value, 2) {
        multiply(Constant<0>(), chunk + c, c > 0 || (!kFlushes && chunk > 0));
        if (c + 1 < count.value)
          multiply(Constant<1>(), chunk + c + 1, true);
      }
      waitForProducts<0>();
      holdRegisters(sums);
      if constexpr (kFlushes)
        GNNC_FOR(i, kN / 2) totals[i] += sums[i];
    };
    constexpr int kAtOnce = kDepthAtOnce<kKind> / kChunkDepth, kRest = kChunks % kAtOnce;
    if constexpr (kFlushes)
      GNNC_FOR(i, kN / 2) totals[i] = 0;
    _Pragma("unroll 1") for (int chunk = 0; chunk + kAtOnce <= kChunks; chunk += kAtOnce)
        multiplySome(Constant<kAtOnce>(), chunk);
    if constexpr (kRest > 0)
      multiplySome(Constant<kRest>(), kChunks - kRest);
    if constexpr (kKind == Operands::F16)
      GNNC_FOR(i, kN / 2)(kFlushes ? totals[kFlushes ? i : 0] : sums[i]) *= factor;
    rows = next;
    const float *made = kFlushes ? totals : sums;
    if constexpr (!kIsStored<S>) {
      constexpr int kColumns = kN % 32 == 0 ? 32 : 16, kVStaged = kStoredAtOnce<S>;
      float *const own = high + kWords * (S::kSplit ? 2 : 1) + threadIdx.x / 32 * 16 * kPaddedResult<kColumns>;
      GNNC_FOR_STEP(c, kN, kColumns)
      takeRows<kColumns, kColumns, kVStaged>(
          own, reinterpret_cast<const float (*)[4]>(made + c / 2), [&](int row, int n, const float *numbers) {
            const int64 wanted = first + threadIdx.x / 32 * 16 + row;
            const bool live = wanted < end;
            if (S::kN % kN == 0 || (live && column + c + n < S::kN)) {
              const int64 source = live ? wanted : first;
              S::template finish<kVStaged>(args, typename S::Row(), source / S::kRows,
                                           (source * S::kBatch + batch) * S::kN + column + c + n,
                                           batch * S::kN + column + c + n, numbers, live);
            }
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

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPPRODUCT_CUH
