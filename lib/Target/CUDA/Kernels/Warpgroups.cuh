//===- Warpgroups.cuh - Products by four warps ------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels for sm_90 have in common: there, the matrix units multiply registers of four warps with shared
// memory (PTX ISA, wgmma). A warpgroup has 64 rows of results, 16 for each of its warps; what lanes hold of both, and
// of the registers that are multiplied, is what MatrixUnits.cuh says of a warp.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPS_CUH
#define GNNC_KERNELS_WARPGROUPS_CUH

#include "MatrixUnits.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

/// Depths of one product.
template <Operands Kind> constexpr int kStepDepth = Kind == Operands::TF32 ? 8 : 16;

/// A side of a product in shared memory: where it begins, and how far it is from 8 depths of 16 bits (4 of TF32) to the
/// next ones, and from 8 columns to the next ones. All are multiples of 16 bytes.
GNNC_DEVICE uint64 describeSide(unsigned address, int toDepths, int toColumns) {
  return uint64(address >> 4 & 0x3fff) | uint64(toDepths >> 4) << 16 | uint64(toColumns >> 4) << 32;
}

/// A right side of Columns columns in shared memory, as the units want it without swizzling: for each step and each
/// 8 columns, two matrices of 8 columns by half the step's depths, 128 bytes each.
template <Operands Kind, int Columns> struct RightTile {
  static constexpr int kDepth = kStepDepth<Kind>, kPiece = kDepth / 2, kBytesOfStep = Columns * 32;
  /// Which number that of a column and the depth `number` of step `step` is.
  GNNC_DEVICE static int placeOf(int step, int number, int column) {
    return ((step * (Columns / 8) + column / 8) * 2 + number / kPiece) * (8 * kPiece) + column % 8 * kPiece +
           number % kPiece;
  }
  GNNC_DEVICE static uint64 descriptor(unsigned address) { return describeSide(address, 128, 256); }
  /// From the descriptor of step 0 to that of another.
  GNNC_DEVICE static uint64 toStep(int step) { return uint64(step * (kBytesOfStep >> 4)); }
};

/// Begins one product of a step's depths with all columns of a tile, at most 128 of them at a time.
template <Operands Kind, int Columns, int First = 0>
GNNC_DEVICE void multiplyColumns(float *sums, const unsigned (&a)[4], uint64 right, bool adds) {
  constexpr int kLeft = Columns - First;
  if constexpr (kLeft > 0) {
    constexpr int kNow = kLeft >= 128 ? 128 : kLeft >= 64 ? 64 : kLeft >= 32 ? 32 : kLeft >= 16 ? 16 : 8;
    multiplyAsync<Kind, kNow>(sums + First / 2, a, right + (First / 8 * 256 >> 4), adds);
    multiplyColumns<Kind, Columns, First + kNow>(sums, a, right, adds);
  }
}

/// The same of both sides in shared memory, whose rows are depths (WarpgroupOuterSum.cuh): 128 bytes for 8 columns.
template <Operands Kind, int Columns, int First = 0>
GNNC_DEVICE void multiplySharedColumns(float *sums, uint64 left, uint64 right, bool adds) {
  constexpr int kLeft = Columns - First;
  if constexpr (kLeft > 0) {
    constexpr int kNow = kLeft >= 128 ? 128 : kLeft >= 64 ? 64 : kLeft >= 32 ? 32 : kLeft >= 16 ? 16 : 8;
    multiplySharedAsync<Kind, kNow>(sums + First / 2, left, right + (First / 8 * 128 >> 4), adds);
    multiplySharedColumns<Kind, Columns, First + kNow>(sums, left, right, adds);
  }
}

/// The left side of a few steps: of TF32 in both parts, if it is split, or cut to it; of 16 bits as it is.
template <Operands Kind, int Steps, bool Splits> struct LeftSteps {
  unsigned high[Steps][4], low[Splits ? Steps : 1][4];
  GNNC_DEVICE void set(int step, int number, float x) {
    static_assert(Kind == Operands::TF32);
    if constexpr (Splits)
      splitNumber(x, high[step][number], low[step][number]);
    else
      high[step][number] = roundToTF32(x);
  }
  GNNC_DEVICE void set(int step, int number, unsigned pair) {
    static_assert(Kind != Operands::TF32 && !Splits);
    high[step][number] = pair;
  }
  /// Begins the products of its steps. Given are descriptors of the right side's parts at the first of them; without
  /// `adds` the sums begin anew.
  template <int Columns, bool SplitsRight>
  GNNC_DEVICE void multiply(float *sums, uint64 rightHigh, uint64 rightLow, bool adds) const {
    GNNC_FOR(step, Steps) {
      const uint64 to = RightTile<Kind, Columns>::toStep(step);
      bool addsNow = adds || step > 0;
      if constexpr (Splits) {
        multiplyColumns<Kind, Columns>(sums, low[step], rightHigh + to, addsNow);
        addsNow = true;
      }
      if constexpr (SplitsRight) {
        multiplyColumns<Kind, Columns>(sums, high[step], rightLow + to, addsNow);
        addsNow = true;
      }
      multiplyColumns<Kind, Columns>(sums, high[step], rightHigh + to, addsNow);
    }
  }
};

} // namespace gnnc

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPS_CUH
