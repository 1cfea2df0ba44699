//===- WarpgroupResults.cuh - What warpgroups do with sums ------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end of WarpgroupProduct.cuh and WarpgroupStages.cuh: a tile's sums, as lanes have them, go through the epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPRESULTS_CUH
#define GNNC_KERNELS_WARPGROUPRESULTS_CUH

#include "TensorProduct.cuh"

namespace gnnc {

/// Finishes a tile whose rows begin with `first` and whose columns with `column`, by all threads of a block. `staging`
/// is shared memory that nothing else uses, for rows that are not stored as lanes have them (kIsStored).
template <class S>
GNNC_DEVICE void finishRows(const typename S::Args &args, const float *made, float *staging, int64 first, int64 end,
                            int batch, int column) {
  constexpr int kN = S::kTileColumns;
  if constexpr (!kIsStored<S>) {
    constexpr int kColumns = kN % 32 == 0 ? 32 : 16, kVStaged = kStoredAtOnce<S>;
    float *const own = staging + threadIdx.x / 32 * 16 * kPaddedResult<kColumns>;
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
  } else {
    constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
    auto columnOf = [&](int c) { return c / 2 * 8 + lane() % 4 * 2 + c % 2; };
    GNNC_FOR(half, 2) {
      const int64 source = first + threadIdx.x / 32 * 16 + lane() / 4 + half * 8;
      const bool live = source < end;
      typename S::Row row;
      if constexpr (S::kFoldsRows) {
        static_assert(S::kN <= kN && S::kBatch * S::kRows == 1);
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

#endif // GNNC_KERNELS_WARPGROUPRESULTS_CUH
