//===- TileSweep.cuh - A sweep that multiplies its members ------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block takes positions (members in the order of their owners, or rows of a space) in a range of its own, kTileRows
// at a time. The rows of a tile lie in shared memory, and what is done with them is a few steps between barriers:
//
//   makeRows      numbers of a value, from operands in memory and rows that lie there already
//   multiplyRows  rows times a weight, by tensor cores (MatrixUnits.cuh) or by fused multiply-adds
//   storeRows     a result with a row for each position
//   sumRows       what an owner accumulates of its members
//   addTotals     a sum over all rows; addOuter: the same of outer products
//
// Where all rows that are made or multiplied are narrow, each thread has a row of its own (kByThreads), and no barrier
// is needed from one such step to the next.
//
// So nothing is stored for a member. Owners lie in the tile as *segments*: strips of rows are accumulated beside each
// other. A segment that is all its owner has and lies in one strip is stored at once; of others a strip has its first
// and its last part at most, and a segment's parts are added when all strips have theirs. A segment that goes on in the
// block's next tile waits in shared memory (`carry`); what reaches into another block's range is left in one of the
// block's two slots, and `finishTiles` merges the slots of an owner in order. Totals are left as one partial sum for
// each block, which `addTiles` adds in order. Nothing is atomic, and every order is fixed by the graph and the grid.
//
// What the compiler prints for each of the three kernels are the concepts TileBody, FinishBody and TotalsBody.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_TILESWEEP_CUH
#define GNNC_KERNELS_TILESWEEP_CUH

#include "TileSums.cuh"

namespace gnnc {

template <TileBody B> GNNC_DEVICE void tiles(const typename B::Args &args) {
  extern __shared__ double memory[];
  Tile<B> tile;
  tile.rows = reinterpret_cast<typename B::Real *>(memory);
  tile.at = reinterpret_cast<int *>(tile.rows + kTilePlaces<B>);
  tile.segments = tile.at + B::kArrays * B::kTileRows;
  tile.bounds = reinterpret_cast<int2 *>(tile.segments + kSegmentWords<B>);
  const int64 end = B::numPositions(args), each = positionsOfBlock<B>(args, gridDim.x);
  tile.begin = blockIdx.x * each, tile.stop = tile.begin + each < end ? tile.begin + each : end;
  B::prepare(args, tile);
  typename B::Sums sums;
  tile.number = 0;
  static_assert(B::kTileRows <= B::kThreads);
  // The next tile's numbers of rows are on their way while this one is worked at.
  int next[B::kArrays];
  auto find = [&](int64 first) {
    const int64 position = first + threadIdx.x;
    if (threadIdx.x < B::kTileRows && first < tile.stop)
      B::find(args, next, int(position < tile.stop ? position : tile.stop - 1));
  };
  find(tile.begin);
  for (tile.first = tile.begin; tile.first < tile.stop; tile.first += B::kTileRows, ++tile.number) {
    tile.live = tile.stop - tile.first < B::kTileRows ? int(tile.stop - tile.first) : B::kTileRows;
    __syncthreads(); // All have done with the tile before.
    if (threadIdx.x < B::kTileRows) {
      GNNC_FOR(i, B::kArrays) tile.at[i * B::kTileRows + threadIdx.x] = next[i];
      if constexpr (B::kSegments) // Sums come last in a step, so these are there by then.
        tile.own = {__ldg(B::pointers(args) + next[0]), __ldg(B::pointers(args) + next[0] + 1)};
    }
    find(tile.first + B::kTileRows);
    __syncthreads();
    if constexpr (B::kSegments)
      findSegments(tile);
    B::step(args, tile, sums);
  }
  B::leave(args, tile, sums);
}

} // namespace gnnc

#endif // GNNC_KERNELS_TILESWEEP_CUH
