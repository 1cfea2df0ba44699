//===- MatrixUnits.cuh - Float32 products by tensor cores -------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores multiply numbers of 11 bits (TF32) and add them up in 32. A float32 is the sum of two such numbers to
// its last bit but two: x = high + low. So x y is high high + high low + low high, three products, and what is left out
// is 2^-22 of it or less (Markidis et al., NVIDIA Tensor Core Programmability, Performance & Precision, section V;
// CUTLASS calls it 3xTF32). Tensor cores cut sums off instead of rounding them, so the sum of 64 depths is added to its
// total by an ordinary, rounding addition.
//
// A warp has kRows x 16 by kColumns x 8 results. Fragments are those of mma.m16n8k8 (PTX ISA, "Matrix fragments for
// mma.m16n8k8"): lane 4 g + t holds rows g and g + 8 and depths t and t + 4 of the left side, depths t and t + 4 and
// column g of the right side, and columns 2 t and 2 t + 1 of rows g and g + 8 of the result.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_MATRIXUNITS_CUH
#define GNNC_KERNELS_MATRIXUNITS_CUH

#include "Half.cuh"
#include "Lanes.cuh"

namespace gnnc {

/// Half a unit of the last of 11 bits: what tensor cores cut off is rounded if this is added before.
constexpr unsigned kHalf = 0x1000u, kCutOff = 0x1fffu;

/// Both parts of a number. An infinity minus itself would be a NaN; with a finite low part, infinities stay what they
/// are. No true low part is larger than 2^116.
GNNC_DEVICE void splitNumber(float x, unsigned &high, unsigned &low) {
  high = (__float_as_uint(x) + kHalf) & ~kCutOff;
  low = __float_as_uint(fminf(x - __uint_as_float(high), 0x1p116f)) + kHalf;
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

/// One side's numbers of a step in both parts. Numbers of 16 bits have no low part: 11 bits are all they have.
template <int Count, int Numbers> struct Parts {
  unsigned high[Count][Numbers], low[Count][Numbers];

  GNNC_DEVICE void set(int i, int j, float x) { splitNumber(x, high[i][j], low[i][j]); }
  GNNC_DEVICE void set(int i, int j, bf16 x) { high[i][j] = unsigned(x.bits) << 16; }
  GNNC_DEVICE void set(int i, int j, f16 x) { high[i][j] = __float_as_uint(widen(x)); }
};

/// Adds the products of 8 depths. A side that is not split has numbers of 11 bits: TF32, or all there is. A sum's
/// products come far apart, so that none waits for the one before.
template <bool SplitA, bool SplitB, int Rows, int Columns>
GNNC_DEVICE void multiplyStep(float (&sums)[Rows][Columns][4], const Parts<Rows, 4> &a, const Parts<Columns, 2> &b) {
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
template <int RowStride, int DepthStride, int Rows, typename T>
GNNC_DEVICE void loadLeft(Parts<Rows, 4> &left, const T *from) {
  const int g = lane() / 4, t = lane() % 4;
  GNNC_FOR(i, Rows) GNNC_FOR(n, 4) {
    left.set(i, n, from[(i * 16 + g + n % 2 * 8) * RowStride + (t + n / 2 * 4) * DepthStride]);
  }
}
/// A right side whose number (depth, column) lies at depth * Stride + column.
template <int Stride, int Columns, typename T> GNNC_DEVICE void loadRight(Parts<Columns, 2> &right, const T *from) {
  const int g = lane() / 4, t = lane() % 4;
  GNNC_FOR(j, Columns) GNNC_FOR(n, 2) right.set(j, n, from[(t + n * 4) * Stride + j * 8 + g]);
}
/// The same of both parts side by side: at depth * Stride + 2 * column, and after it.
template <int Stride, int Columns> GNNC_DEVICE void loadRightParts(Parts<Columns, 2> &right, const float *from) {
  const int g = lane() / 4, t = lane() % 4;
  GNNC_FOR(j, Columns) GNNC_FOR(n, 2) {
    float2 both = *reinterpret_cast<const float2 *>(from + (t + n * 4) * Stride + 2 * (j * 8 + g));
    right.high[j][n] = __float_as_uint(both.x), right.low[j][n] = __float_as_uint(both.y);
  }
}

} // namespace gnnc

#endif // GNNC_KERNELS_MATRIXUNITS_CUH
