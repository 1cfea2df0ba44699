//===- Warpgroups.cuh - Products of TF32 by four warps ----------*- CUDA -*-===//
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

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

namespace gnnc {

/// A right side of Columns columns in shared memory, as the units want it without swizzling: for each 8 depths and each
/// 8 columns, two matrices of 8 columns by 4 depths, 128 bytes each.
template <int Columns> struct RightTile {
  static constexpr int kNumbersOfStep = Columns * 8;
  /// Where the number of a column and the depth `number` of step `step` lies.
  GNNC_DEVICE static int placeOf(int step, int number, int column) {
    return ((step * (Columns / 8) + column / 8) * 2 + number / 4) * 32 + column % 8 * 4 + number % 4;
  }
  /// What lies at an address: 128 bytes from depths to depths, 256 from columns to columns.
  GNNC_DEVICE static uint64 descriptor(unsigned address) {
    return uint64(address >> 4 & 0x3fff) | uint64(128 >> 4) << 16 | uint64(256 >> 4) << 32;
  }
  /// From the descriptor of step 0 to that of another.
  GNNC_DEVICE static uint64 toStep(int step) { return uint64(step * (kNumbersOfStep * 4 >> 4)); }
};

/// Begins one product of 8 depths with all columns of a tile, at most 128 of them at a time.
template <int Columns, int First = 0>
GNNC_DEVICE void multiplyColumns(float *sums, const unsigned (&a)[4], uint64 right, bool adds) {
  constexpr int kLeft = Columns - First;
  if constexpr (kLeft > 0) {
    constexpr int kNow = kLeft >= 128 ? 128 : kLeft >= 64 ? 64 : kLeft >= 32 ? 32 : kLeft >= 16 ? 16 : 8;
    multiplyAsync<kNow>(sums + First / 2, a, right + (First / 8 * 256 >> 4), adds);
    multiplyColumns<Columns, First + kNow>(sums, a, right, adds);
  }
}

/// The left side of a few steps in both parts. A side that is not split has numbers of 11 bits, or is cut to TF32.
template <int Steps, bool Splits, bool Cuts> struct LeftSteps {
  unsigned high[Steps][4], low[Splits ? Steps : 1][4];
  GNNC_DEVICE void set(int step, int number, float x) {
    if constexpr (Splits)
      splitNumber(x, high[step][number], low[step][number]);
    else
      high[step][number] = Cuts ? __float_as_uint(x) + kHalf : __float_as_uint(x);
  }
  /// Begins the products of its steps. Given are descriptors of the right side's parts at the first of them; without
  /// `adds` the sums begin anew.
  template <int Columns, bool SplitsRight>
  GNNC_DEVICE void multiply(float *sums, uint64 rightHigh, uint64 rightLow, bool adds) const {
    GNNC_FOR(step, Steps) {
      const uint64 to = RightTile<Columns>::toStep(step);
      bool addsNow = adds || step > 0;
      if constexpr (Splits) {
        multiplyColumns<Columns>(sums, low[step], rightHigh + to, addsNow);
        addsNow = true;
      }
      if constexpr (SplitsRight) {
        multiplyColumns<Columns>(sums, high[step], rightLow + to, addsNow);
        addsNow = true;
      }
      multiplyColumns<Columns>(sums, high[step], rightHigh + to, addsNow);
    }
  }
};

} // namespace gnnc

#endif // __CUDA_ARCH_FEAT_SM90_ALL
#endif // GNNC_KERNELS_WARPGROUPS_CUH
