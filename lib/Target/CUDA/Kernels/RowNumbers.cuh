//===- RowNumbers.cuh - Rows without members, number by number -*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes that share a row are a power of two, and each of a row's axes has its own: for 19 numbers two fifths of the
// lanes have none, and of a joined row one part may have lanes and the other be whole in each. Where nothing is
// exchanged between the numbers of a row, threads take them as they lie in memory instead, whatever the width.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_ROWNUMBERS_CUH
#define GNNC_KERNELS_ROWNUMBERS_CUH

#include "Half.cuh"
#include "Lanes.cuh"

namespace gnnc {

// clang-format off
/// Of `rowNumbers`.
template <class B> concept RowNumbersBody = requires(const typename B::Args &args, int row, int number,
                                                     typename B::Real (&made)[B::kResults]) {
  args.work;                                               // Rows
  requires B::kNumbers >= 1 && B::kThreads % 32 == 0;      // of a row; of a block
  requires B::kRows >= 1;                                  // of a block
  B::make(args, row, number, made);                        // one number of each result, or of the one that it is of
  B::store(args, row, number, made);
};
// clang-format on

/// A thread reads for several numbers before it writes the first.
template <RowNumbersBody B> GNNC_DEVICE void rowNumbers(const typename B::Args &args) {
  constexpr int kAll = B::kRows * B::kNumbers, kBatch = kAll < 4 * B::kThreads ? (kAll - 1) / B::kThreads + 1 : 4;
  const int64 first = int64(blockIdx.x) * B::kRows, left = args.work.numItems - first;
  const int live = left < B::kRows ? int(left) : B::kRows;
  for (int base = threadIdx.x; base < live * B::kNumbers; base += kBatch * B::kThreads) {
    typename B::Real made[kBatch][B::kResults];
    GNNC_FOR(u, kBatch) {
      const int i = base + u * B::kThreads;
      if (i < live * B::kNumbers)
        B::make(args, int(first) + i / B::kNumbers, i % B::kNumbers, made[u]);
    }
    GNNC_FOR(u, kBatch) {
      const int i = base + u * B::kThreads;
      if (i < live * B::kNumbers)
        B::store(args, int(first) + i / B::kNumbers, i % B::kNumbers, made[u]);
    }
  }
}

} // namespace gnnc

#endif // GNNC_KERNELS_ROWNUMBERS_CUH
