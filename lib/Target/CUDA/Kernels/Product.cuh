//===- Product.cuh - Matrix products of rows --------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two products. `product` multiplies rows by a weight: blocks of kTileRows x kTileColumns results, each thread a
// rectangle of them in registers, both operands through shared memory in steps of kDepth. Rows may be gathered, and
// with groups each block's rows (an item of the worklist) belong to one group and its weight. `outerSum` is the
// gradient of a weight, a sum over rows: each block takes a range of rows and leaves a partial sum, and `addPartials`
// adds those in order.
//
// A Shape (printed by the compiler) has Real, Args (ProductArgs and what the epilogue wants), kBatch, kRows (matrix
// rows of an element), kK, kN, the tiles, and what the operands go through: kGathersLhs, kGathersRhs, kGrouped. For a
// product, finish<V>(args, row, element, at, feature, y, live) takes V numbers of a row of the result that lie side by
// side, the first at `at` in the whole tensor and number `feature` of its element, and stores what the epilogue makes
// of them if they are live. If not, `element` names another one that there is, and is read for nothing, so that reads
// need not wait for each other. `row` is what it knows of all of the row, where it folds rows (kFoldsRows; these have
// one tile): rowOf<Lanes>(args, element, y, feature) makes it of a thread's numbers of it, number c being feature(c) of
// the row, in so many neighbouring lanes. All lanes of a warp take part.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_PRODUCT_CUH
#define GNNC_KERNELS_PRODUCT_CUH

#include "Half.cuh"
#include "Lanes.cuh"
#include "Sweep.cuh"

namespace gnnc {

/// Where rows are read and written: `lhs` and `rhs` say which row of an operand belongs to a position (null: it is the
/// position itself), `members` which row of the result. Memory may hold narrower numbers than Real.
template <typename Real, typename Lhs = Real, typename Rhs = Real, typename Result = Real> struct ProductArgs {
  using LhsType = Lhs;
  using RhsType = Rhs;
  const Lhs *lhs;
  const Rhs *rhs;
  Result *result;
  const int *lhsRows, *rhsRows, *members;
  Work work;
  device::Extent rows; ///< without groups
};

/// Which batch and which tile of a result of Tiles a block has; where there are too many for one dimension of the grid,
/// the last may be one that is not there.
template <int Batch, int64 Tiles> struct BlockTile {
  static_assert(Batch * Tiles < int64(1) << 31);
  int batch, tile;
  bool exists;
  GNNC_DEVICE BlockTile() {
    unsigned number = blockIdx.y + blockIdx.z * gridDim.y;
    batch = Batch == 1 ? 0 : number / unsigned(Tiles), tile = Batch == 1 ? number : number % unsigned(Tiles);
    exists = Batch * Tiles <= kMostAlongY || number < Batch * Tiles;
  }
};

/// Numbers of one access.
template <typename Real> constexpr int kPacked = 16 / int(sizeof(Real));

/// Count numbers for one thread from shared memory: groups of kPacked that lie `stride` apart, so that neighbouring
/// threads read neighbouring groups.
template <int Count, typename Real> GNNC_DEVICE void fetchShared(Real (&to)[Count], const Real *from, int stride) {
  constexpr int V = kPacked<Real>;
  GNNC_FOR_STEP(i, Count, V) {
    auto all = *reinterpret_cast<const typename Packed<Real, V>::Type *>(from + i / V * stride);
    to[i] = all.x, to[i + 1] = all.y;
    if constexpr (V == 4)
      to[i + 2] = all.z, to[i + 3] = all.w;
  }
}

template <class S> GNNC_DEVICE void product(const typename S::Args &args) {
  using Real = typename S::Real;
  constexpr int V = kPacked<Real>;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kDepth = S::kDepth;
  constexpr int kHeight = S::kHeight, kWidth = S::kWidth, kAcross = kN / kWidth, kDown = kM / kHeight;
  constexpr int kThreads = kDown * kAcross;
  // Rows of the weight and of x are read several numbers at a time where their length allows.
  constexpr int kVX = S::kK % V == 0 ? V : 1, kVW = S::kN % V == 0 ? V : 1;
  __shared__ __align__(16) Real xs[2][kDepth][kM + V];
  __shared__ __align__(16) Real ws[2][kDepth][kN];
  __shared__ int64 inRows[kM], outRows[kM];
  const BlockTile<S::kBatch, (S::kN + kN - 1) / kN> block;
  if (!block.exists)
    return;
  const int thread = threadIdx.x, column = block.tile * kN, batch = block.batch;

  // The rows of this block: positions [begin, end), kM matrix rows at a time.
  int64 begin, end, group = 0;
  if constexpr (S::kGrouped) {
    Item item = args.work.items[blockIdx.x];
    begin = int64(item.begin) * S::kRows, end = int64(item.end) * S::kRows, group = item.owner;
  } else {
    begin = int64(blockIdx.x) * kM;
    end = begin + kM < args.rows * S::kRows ? begin + kM : args.rows * S::kRows;
  }
  const Real *weight = args.rhs + (group * S::kBatch + batch) * S::kK * S::kN;

  for (int64 first = begin; first < end; first += kM) {
    for (int i = thread; i < kM; i += kThreads) {
      int64 row = first + i;
      int64 in = -1, out = -1;
      if (row < end) {
        int64 position = row / S::kRows, part = row % S::kRows;
        int64 target = S::kGrouped ? args.members[position] : position;
        int64 source = S::kGathersLhs ? args.lhsRows[position] : target;
        out = target * S::kRows + part;
        in = source < 0 ? -1 : source * S::kRows + part;
      }
      inRows[i] = in, outRows[i] = out;
    }
    __syncthreads();

    constexpr int kLoadsX = (kM * kDepth / kVX + kThreads - 1) / kThreads;
    constexpr int kLoadsW = (kN * kDepth / kVW + kThreads - 1) / kThreads;
    Real nextX[kLoadsX][kVX], nextW[kLoadsW][kVW];
    auto fetch = [&](int depth) {
      GNNC_FOR(i, kLoadsX) {
        int at = (thread + i * kThreads) * kVX, m = at / kDepth, k = depth + at % kDepth;
        bool inside = at < kM * kDepth && k < S::kK && inRows[m < kM ? m : 0] >= 0;
        if (inside)
          readRow<kVX>(nextX[i], args.lhs + (inRows[m] * S::kBatch + batch) * S::kK + k);
        else
          fill<kVX>(nextX[i], Real(0));
      }
      GNNC_FOR(i, kLoadsW) {
        int at = (thread + i * kThreads) * kVW, k = depth + at / kN, n = column + at % kN;
        bool inside = at < kN * kDepth && k < S::kK && n < S::kN;
        if (inside)
          load<kVW>(nextW[i], weight + int64(k) * S::kN + n);
        else
          fill<kVW>(nextW[i], Real(0));
      }
    };
    auto place = [&](int half) {
      GNNC_FOR(i, kLoadsX) {
        int at = (thread + i * kThreads) * kVX;
        if (at < kM * kDepth)
          GNNC_FOR(v, kVX) xs[half][at % kDepth + v][at / kDepth] = nextX[i][v];
      }
      GNNC_FOR(i, kLoadsW) {
        int at = (thread + i * kThreads) * kVW;
        if (at < kN * kDepth)
          storeAnywhere<kVW>(&ws[half][at / kN][at % kN], nextW[i]);
      }
    };

    // A thread's rows and columns: groups of V, which lie apart so that a warp's accesses do not collide.
    Real sum[kHeight][kWidth];
    GNNC_FOR(r, kHeight) GNNC_FOR(c, kWidth) sum[r][c] = 0;
    const int top = thread / kAcross * V, left = thread % kAcross * V;
    constexpr int kSteps = (S::kK + kDepth - 1) / kDepth;
    fetch(0);
    place(0);
    __syncthreads();
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps)
        fetch((step + 1) * kDepth);
      GNNC_FOR(k, kDepth) {
        Real x[kHeight], w[kWidth];
        fetchShared(x, &xs[step & 1][k][top], kDown * V);
        fetchShared(w, &ws[step & 1][k][left], kAcross * V);
        GNNC_FOR(r, kHeight) GNNC_FOR(c, kWidth) sum[r][c] += x[r] * w[c];
      }
      if (step + 1 < kSteps)
        place((step + 1) & 1);
      __syncthreads();
    }
    GNNC_FOR(r, kHeight) {
      const int64 out = outRows[top + r / V * (kDown * V) + r % V], element = (out < 0 ? 0 : out) / S::kRows;
      auto columnOf = [&](int c) { return left + c / V * (kAcross * V) + c % V; };
      typename S::Row row;
      if constexpr (S::kFoldsRows)
        row = S::template rowOf<kAcross>(args, element, sum[r], columnOf);
      if (out >= 0) {
        int64 to = (out * S::kBatch + batch) * S::kN + column;
        GNNC_FOR_STEP(c, kWidth, kVW) {
          int n = columnOf(c);
          if (column + n < S::kN)
            S::template finish<kVW>(args, row, element, to + n, batch * S::kN + column + n, &sum[r][c]);
        }
      }
    }
    __syncthreads();
  }
}

/// The block's tile of the sum over its range of rows: kTileRows of kK, kTileColumns of kN.
template <class S> GNNC_DEVICE void outerSum(const typename S::Args &args) {
  using Real = typename S::Real;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kDepth = S::kDepth;
  constexpr int kHeight = S::kHeight, kWidth = S::kWidth, kAcross = kN / kWidth, kDown = kM / kHeight;
  constexpr int kThreads = kDown * kAcross;
  constexpr int kTilesAcross = (S::kN + kN - 1) / kN, kTilesDown = (S::kK + kM - 1) / kM;
  constexpr int V = kPacked<Real>;
  constexpr int kVX = S::kK % V == 0 ? V : 1, kVG = S::kN % V == 0 ? V : 1;
  __shared__ __align__(16) Real xs[kDepth][kM], gs[kDepth][kN];
  __shared__ int64 xRows[kDepth], gRows[kDepth];
  const BlockTile<S::kBatch, int64(kTilesAcross) * kTilesDown> block;
  if (!block.exists)
    return;
  const int thread = threadIdx.x, batch = block.batch;
  const int k0 = block.tile / kTilesAcross * kM, n0 = block.tile % kTilesAcross * kN;

  constexpr int64 kElements = int64(S::kBatch) * S::kK * S::kN;
  int64 begin, end;
  Real *to;
  if constexpr (S::kGrouped) {
    Item item = args.work.items[blockIdx.x];
    begin = item.begin, end = item.end;
    to = item.slot < 0 ? args.result + item.owner * kElements
                       : static_cast<Real *>(args.work.slots) + item.slot * kElements;
  } else {
    int64 each = (args.rows + gridDim.x - 1) / gridDim.x;
    begin = blockIdx.x * each;
    end = begin + each < args.rows ? begin + each : args.rows;
    to = static_cast<Real *>(args.work.partials) + blockIdx.x * kElements;
  }

  Real sum[kHeight][kWidth];
  GNNC_FOR(r, kHeight) GNNC_FOR(c, kWidth) sum[r][c] = 0;
  const int top = thread / kAcross * V, left = thread % kAcross * V;
  for (int64 first = begin; first < end; first += kDepth) {
    for (int i = thread; i < kDepth; i += kThreads) {
      int64 position = first + i;
      bool live = position < end;
      int64 own = !live ? -1 : S::kGrouped ? args.members[position] : position;
      xRows[i] = !live || !S::kGathersLhs ? own : args.lhsRows[position];
      gRows[i] = !live || !S::kGathersRhs ? own : args.rhsRows[position];
    }
    __syncthreads();
    for (int at = thread * kVX; at < kDepth * kM; at += kThreads * kVX) {
      int row = at / kM, k = k0 + at % kM;
      Real *to = &xs[row][at % kM];
      if (k < S::kK && xRows[row] >= 0)
        readRow<kVX>(to, args.lhs + (xRows[row] * S::kBatch + batch) * S::kK + k);
      else
        fill<kVX>(to, Real(0));
    }
    for (int at = thread * kVG; at < kDepth * kN; at += kThreads * kVG) {
      int row = at / kN, n = n0 + at % kN;
      Real *to = &gs[row][at % kN];
      if (n < S::kN && gRows[row] >= 0)
        readRow<kVG>(to, args.rhs + (gRows[row] * S::kBatch + batch) * S::kN + n);
      else
        fill<kVG>(to, Real(0));
    }
    __syncthreads();
    GNNC_FOR(row, kDepth) {
      Real x[kHeight], g[kWidth];
      fetchShared(x, &xs[row][top], kDown * V);
      fetchShared(g, &gs[row][left], kAcross * V);
      GNNC_FOR(r, kHeight) GNNC_FOR(c, kWidth) sum[r][c] += x[r] * g[c];
    }
    __syncthreads();
  }
  GNNC_FOR(r, kHeight) GNNC_FOR(c, kWidth) {
    int k = k0 + top + r / V * (kDown * V) + r % V, n = n0 + left + c / V * (kAcross * V) + c % V;
    if (k < S::kK && n < S::kN)
      to[(int64(batch) * S::kK + k) * S::kN + n] = sum[r][c];
  }
}

/// Sums of `count` partial results of `elements` numbers each: 32 numbers a block, which 8 strips of threads add up in
/// turn, several of them on their way at once. store(sum) takes number `at` in the end.
template <typename Real, typename Store>
GNNC_DEVICE void addStrips(const Real *partials, int64 count, int64 elements, int64 at, Store store) {
  __shared__ Real strips[8][32];
  const int strip = threadIdx.x / 32;
  Real sum = 0;
  if (at < elements)
    for (int64 i = strip; i < count; i += 8 * kPartialsAtOnce) {
      Real others[kPartialsAtOnce];
      GNNC_FOR(u, kPartialsAtOnce) others[u] = i + 8 * u < count ? partials[(i + 8 * u) * elements + at] : Real(0);
      GNNC_FOR(u, kPartialsAtOnce) sum += others[u];
    }
  strips[strip][lane()] = sum;
  __syncthreads();
  if (strip == 0 && at < elements) {
    GNNC_FOR(other, 7) sum += strips[other + 1][lane()];
    store(sum);
  }
}

template <class S> GNNC_DEVICE void addPartials(const typename S::Args &args) {
  using Real = typename S::Real;
  constexpr int64 kElements = int64(S::kBatch) * S::kK * S::kN;
  constexpr int64 kBlocks = (kElements + 31) / 32; // for each result
  int64 at = blockIdx.x % kBlocks * 32 + lane();
  if constexpr (S::kGrouped) {
    Heavy heavy = args.work.heavy[blockIdx.x / kBlocks];
    addStrips(static_cast<const Real *>(args.work.slots) + heavy.first * kElements, heavy.last - heavy.first, kElements,
              at, [&](Real sum) { args.result[heavy.owner * kElements + at] = sum; });
  } else {
    addStrips(static_cast<const Real *>(args.work.partials), args.work.numPartials, kElements, at,
              [&](Real sum) { args.result[at] = sum; });
  }
}

} // namespace gnnc

#endif // GNNC_KERNELS_PRODUCT_CUH
