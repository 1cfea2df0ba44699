//===- MatrixUnits.cuh - Float32 products by tensor cores -------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores multiply numbers of 11 bits (TF32) and add them up in 32. A float32 is the sum of two such numbers to
// its last bit: x = high + low. So x y is high high + high low + low high, three products, and what is left out is
// 2^-21 of it or less (Markidis et al., NVIDIA Tensor Core Programmability, Performance & Precision, section V; CUTLASS
// calls it 3xTF32). Tensor cores cut sums off instead of rounding them, so the sum of 64 depths is added to its total
// by an ordinary, rounding addition.
//
// A warp has kRows x 16 by kColumns x 8 results. Fragments are those of mma.m16n8k8 (PTX ISA, "Matrix fragments for
// mma.m16n8k8"): lane 4 g + t holds rows g and g + 8 and depths t and t + 4 of the left side, depths t and t + 4 and
// column g of the right side, and columns 2 t and 2 t + 1 of rows g and g + 8 of the result. Which depth is called t
// and which t + 4 does not matter if both sides agree: where a right side's parts are kept (RightParts), these are
// depths 2 t and 2 t + 1, so that a lane has neighbouring numbers.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_MATRIXUNITS_CUH
#define GNNC_KERNELS_MATRIXUNITS_CUH

#include "Half.cuh"
#include "Lanes.cuh"

namespace gnnc {

/// Half a unit of the last of 11 bits, and what tensor cores cut off.
constexpr unsigned kHalf = 0x1000u, kCutOff = 0x1fffu;

/// Both parts of a number: what it is rounded to, and what that leaves out; of the 12 bits of that, tensor cores cut
/// off the last. A NaN with all bits set, as GPUs make it, is rounded to a zero, but what that leaves out is a NaN
/// still. So is what an infinity leaves out, or a number that is rounded to one (from 3.4020e38 on).
GNNC_DEVICE void splitNumber(float x, unsigned &high, unsigned &low) {
  high = (__float_as_uint(x) + kHalf) & ~kCutOff;
  low = __float_as_uint(x - __uint_as_float(high));
}

/// Two numbers as pairs of 16 bits: what they begin with, and what that leaves out.
template <Operands Kind> GNNC_DEVICE void splitPair(const float (&x)[2], unsigned &high, unsigned &low) {
  using H = typename Choice<Kind == Operands::BF16, bf16, f16>::Type;
  float begin[2], rest[2];
  high = narrowPair(x, H());
  widenPair(begin, high, static_cast<const H *>(nullptr));
  constexpr float kMost = Kind == Operands::BF16 ? 0x1p116f : 16.0f; // where the beginning is infinite
  GNNC_FOR(i, 2) rest[i] = fmaxf(fminf(x[i] - begin[i], kMost), -kMost);
  low = narrowPair(rest, H());
}

/// One side's numbers of a step: in both parts, or rounded to the one. Numbers of 16 bits have no low part: 11 bits are
/// all they have.
template <int Count, int Numbers, bool Splits> struct Parts {
  unsigned high[Count][Numbers], low[Count][Numbers];

  GNNC_DEVICE void set(int i, int j, float x) {
    if constexpr (Splits)
      splitNumber(x, high[i][j], low[i][j]);
    else
      high[i][j] = roundToTF32(x);
  }
  GNNC_DEVICE void set(int i, int j, bf16 x) { high[i][j] = unsigned(x.bits) << 16; }
  GNNC_DEVICE void set(int i, int j, f16 x) { high[i][j] = __float_as_uint(widen(x)); }
};

/// Adds the products of 8 depths. A side that is not split has numbers of 11 bits: TF32, or all there is. A sum's
/// products come far apart, so that none waits for the one before.
template <bool SplitA, bool SplitB, int Rows, int Columns>
GNNC_DEVICE void multiplyStep(float (&sums)[Rows][Columns][4], const Parts<Rows, 4, SplitA> &a,
                              const Parts<Columns, 2, SplitB> &b) {
  if constexpr (SplitA) {
    GNNC_FOR(i, Rows) GNNC_FOR(j, Columns) multiplyAdd(sums[i][j], a.low[i], b.high[j]);
  }
  if constexpr (SplitB) {
    GNNC_FOR(i, Rows) GNNC_FOR(j, Columns) multiplyAdd(sums[i][j], a.high[i], b.low[j]);
  }
  GNNC_FOR(i, Rows) GNNC_FOR(j, Columns) multiplyAdd(sums[i][j], a.high[i], b.high[j]);
}

/// Depth after which sums are added to their totals.
constexpr int kDepthOfSums = 64;

/// Adds sums to totals, rounding, and begins them again.
template <int Rows, int Columns>
GNNC_DEVICE void flush(float (&totals)[Rows][Columns][4], float (&sums)[Rows][Columns][4]) {
  GNNC_FOR(i, Rows) GNNC_FOR(j, Columns) GNNC_FOR(n, 4) totals[i][j][n] += sums[i][j][n], sums[i][j][n] = 0;
}

/// A step's left side from shared memory, where number (row, depth) lies at row * RowStride + depth * DepthStride.
template <int RowStride, int DepthStride, int Rows, bool Splits, typename T>
GNNC_DEVICE void loadLeft(Parts<Rows, 4, Splits> &left, const T *from) {
  const int g = lane() / 4, t = lane() % 4;
  GNNC_FOR(i, Rows) GNNC_FOR(n, 4) {
    left.set(i, n, from[(i * 16 + g + n % 2 * 8) * RowStride + (t + n / 2 * 4) * DepthStride]);
  }
}
/// A right side whose number (depth, column) lies at depth * Stride + column.
template <int Stride, int Columns, bool Splits, typename T>
GNNC_DEVICE void loadRight(Parts<Columns, 2, Splits> &right, const T *from) {
  const int g = lane() / 4, t = lane() % 4;
  GNNC_FOR(j, Columns) GNNC_FOR(n, 2) right.set(j, n, from[(t + n * 4) * Stride + j * 8 + g]);
}

/// A step's left side whose lanes have depths 2 t and 2 t + 1, from the first number that is the lane's.
template <int RowStride, int Rows, bool Splits, typename T>
GNNC_DEVICE void loadLeftPairs(Parts<Rows, 4, Splits> &left, const T *own) {
  GNNC_FOR(i, Rows) GNNC_FOR(half, 2) {
    const T *const from = own + (i * 16 + half * 8) * RowStride;
    if constexpr (kIsHalf<T>) {
      float pair[2];
      widenPair(pair, *reinterpret_cast<const unsigned *>(from), from);
      GNNC_FOR(n, 2) left.high[i][half + 2 * n] = __float_as_uint(pair[n]);
    } else {
      const float2 pair = *reinterpret_cast<const float2 *>(from);
      left.set(i, half, pair.x), left.set(i, half + 2, pair.y);
    }
  }
}

/// A right side of so many columns, a multiple of 8, in both parts in shared memory: of depths 2 i and 2 i + 1 and a
/// column the two high parts and the two low ones, as a lane wants them, side by side; in other banks for the next
/// depths.
template <int Columns> struct RightParts {
  static constexpr int kStride = 4 * Columns + 8;
  GNNC_DEVICE static constexpr int numbers(int depths) { return depths / 2 * kStride; }
  /// The depth of a step that is the lane's first or second.
  GNNC_DEVICE static int depth(int n) { return lane() % 4 * 2 + n; }
  /// Without Splits only the high part is used, and has to keep a NaN by itself.
  template <bool Splits> GNNC_DEVICE static void place(float *to, int depth, int column, float x) {
    unsigned high, low = 0;
    if constexpr (Splits)
      splitNumber(x, high, low);
    else
      high = roundToTF32(x);
    float *const at = to + depth / 2 * kStride + column * 4 + depth % 2;
    at[0] = __uint_as_float(high), at[2] = __uint_as_float(low);
  }
  /// What is the lane's of a first step, from a column on.
  GNNC_DEVICE static const float *own(const float *parts, int column) {
    return parts + lane() % 4 * kStride + (column + lane() / 4) * 4;
  }
  /// Of a step, whose columns that are beyond the last are zeros.
  template <int Count, bool Splits>
  GNNC_DEVICE static void load(Parts<Count, 2, Splits> &right, const float *own, int live = Columns) {
    GNNC_FOR(j, Count) {
      float4 both = {0, 0, 0, 0};
      if (j * 8 < live)
        both = *reinterpret_cast<const float4 *>(own + j * 32);
      right.high[j][0] = __float_as_uint(both.x), right.high[j][1] = __float_as_uint(both.y);
      right.low[j][0] = __float_as_uint(both.z), right.low[j][1] = __float_as_uint(both.w);
    }
  }
};

} // namespace gnnc

#endif // GNNC_KERNELS_MATRIXUNITS_CUH
