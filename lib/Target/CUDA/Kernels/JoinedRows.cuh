//===- JoinedRows.cuh - Several bodies in one grid --------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small elementwise work that has nothing to do with each other, such as an optimiser's steps for all parameters: each
// body has some of the grid's blocks. The bodies (as Sweep.cuh wants them) have no walks and no totals, and as many
// threads a block. All is along x: a group of lanes has one row in one tile.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_JOINEDROWS_CUH
#define GNNC_KERNELS_JOINEDROWS_CUH

#include "Sweep.cuh"

namespace gnnc {

/// Each body's arguments and how many blocks it has, in words one after the other.
template <class Body, class... Rest> struct JoinedArgs {
  typename Body::Args own;
  int64 numBlocks;
  JoinedArgs<Rest...> rest;
};
template <class Body> struct JoinedArgs<Body> {
  typename Body::Args own;
  int64 numBlocks;
};

template <class Body> GNNC_DEVICE void rowsOfBlock(const typename Body::Args &args, unsigned block) {
  using G = Group<Body>;
  static_assert(Body::Totals::kNone && Body::kWalks == 0);
  int64 at = (int64(block) * Body::kThreads + threadIdx.x) / Body::kLanes, row = at / Body::kTiles;
  Body body(args, G::groupLane(), int(at % Body::kTiles), G::staging());
  bool live = row < args.work.numItems;
  body.begin(live ? int(row) : 0);
  if (live)
    body.store();
}

template <class Body, class... Rest>
GNNC_DEVICE void joinedRows(const JoinedArgs<Body, Rest...> &args, unsigned block) {
  if constexpr (sizeof...(Rest) > 0)
    if (block >= unsigned(args.numBlocks))
      return joinedRows<Rest...>(args.rest, block - unsigned(args.numBlocks));
  rowsOfBlock<Body>(args.own, block);
}

} // namespace gnnc

#endif // GNNC_KERNELS_JOINEDROWS_CUH
