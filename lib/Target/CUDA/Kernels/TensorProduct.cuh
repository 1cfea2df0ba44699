//===- TensorProduct.cuh - Products of rows by tensor cores -----*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of Product.cuh in float32 by MatrixUnits.cuh: the same arguments, the same results but for rounding.
// Each warp has a rectangle of kWarpRows x kWarpColumns results; operands come through kStages stages of shared memory,
// kDepth deep, of which all but one are on their way while one is multiplied.
//
// Besides what Product.cuh wants, a Shape has kWarpRows (16 or 32), kWarpColumns (a multiple of 8, up to 32; all of a
// row that is folded, up to 64), kStages; kSplit: float32 in three products, else TF32 in one; kResident: the weight's
// tile stays in shared memory, which groups cannot have.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_TENSORPRODUCT_CUH
#define GNNC_KERNELS_TENSORPRODUCT_CUH

#include "MatrixUnits.cuh"
#include "Product.cuh"

namespace gnnc {

/// Numbers of one copy of rows of this length.
template <int Length, typename T = float>
constexpr int kCopied = kIsHalf<T> && Length % 8 == 0 ? 8
                        : Length % 4 == 0             ? 4
                        : Length % 2 == 0             ? 2
                                                      : 1;

/// Length of a row of shared memory whose columns are read 8 at a time in 4 rows: all in different banks.
template <int Columns> constexpr int kPaddedRow = Columns == 8 ? 8 : Columns + 8;

/// Length of a row of shared memory that is read 4 columns at a time in 8 rows, of copies of 16 bytes.
template <int Depth, typename T> constexpr int kPaddedDepth = !kIsHalf<T> ? Depth + 4 : Depth == 8 ? 24 : Depth + 8;

/// The same where it is read two columns at a time.
template <int Depth, typename T> constexpr int kPairedDepth = !kIsHalf<T> ? Depth + 8 : kPaddedDepth<Depth, T>;

/// What a pointer points to, for decltype.
template <typename T> T typeOf(const T *);

/// Count copies of V numbers each to shared memory: piece(i, copy) calls copy(to, from, live) with addresses in it and
/// in the memory of `rows`; what is not live is zero. Copies of 4 bytes and more run beside computation. A single
/// number of 16 bits goes through a register, all of them being read before the first is written.
template <int Count, int V, typename T, typename Piece> GNNC_DEVICE void copyPieces(const T *, Piece piece) {
  constexpr int kBytes = V * int(sizeof(T));
  if constexpr (kBytes >= 4) {
    GNNC_FOR(i, Count)
    piece(i, [](unsigned to, const T *from, bool live) { copyAsync<kBytes>(to, from, live ? kBytes : 0); });
  } else {
    unsigned short bits[Count];
    GNNC_FOR(i, Count)
    piece(i, [&](unsigned, const T *from, bool live) {
      bits[i] = live ? __ldg(reinterpret_cast<const unsigned short *>(from)) : 0;
    });
    GNNC_FOR(i, Count) piece(i, [&](unsigned to, const T *, bool) { storeShared(to, bits[i]); });
  }
}

/// A tile's place among all, neighbours in time having the same rows: they find them in the cache.
template <int64 TilesOfRows> struct TileNumber {
  int64 rows;
  int other;
  GNNC_DEVICE TileNumber(int tile) {
    int64 number = int64(tile) * gridDim.x + blockIdx.x;
    rows = number / TilesOfRows, other = int(number % TilesOfRows);
  }
};

/// What the threads of a block have to do with its warps' rectangles.
template <class S> struct Warps {
  static constexpr int kAcross = S::kTileColumns / S::kWarpColumns, kDown = S::kTileRows / S::kWarpRows;
  static constexpr int kThreads = 32 * kAcross * kDown, kRows = S::kWarpRows / 16, kColumns = S::kWarpColumns / 8;
  GNNC_DEVICE static int top() { return threadIdx.x / 32 / kAcross * S::kWarpRows; }
  GNNC_DEVICE static int left() { return threadIdx.x / 32 % kAcross * S::kWarpColumns; }
};

/// Runs `fetch(step, stage)` ahead of `multiply(stage)` for all steps.
template <int Stages, typename Fetch, typename Multiply>
GNNC_DEVICE void pipeline(int64 steps, Fetch fetch, Multiply multiply) {
  GNNC_FOR(step, Stages - 1) {
    if (step < steps)
      fetch(step, step);
    commitCopies();
  }
  int stage = 0, ahead = Stages - 1;
  for (int64 step = 0; step < steps; ++step) {
    waitForCopies<Stages - 2>();
    __syncthreads(); // All have the stage, and none is at the one before, which is filled again.
    if (step + Stages - 1 < steps)
      fetch(step + Stages - 1, ahead);
    commitCopies();
    multiply(stage);
    stage = stage + 1 == Stages ? 0 : stage + 1, ahead = ahead + 1 == Stages ? 0 : ahead + 1;
  }
}

/// Whether results are stored as lanes have them, and not by way of shared memory. Four lanes of a warp have eight
/// numbers of a row, eight rows at a time: rows that do not begin with such a piece of 32 bytes, or have 16 bits a
/// number, would be written in parts of sectors.
template <class S> constexpr bool kIsStored = S::kFoldsRows || (S::kN % 8 == 0 && !S::kStoresHalves);
/// Numbers of one store by way of shared memory.
template <class S>
constexpr int kStoredAtOnce = S::kN % 8 == 0 && S::kStoresHalves ? 8
                              : S::kN % 4 == 0                   ? 4
                              : S::kN % 2 == 0                   ? 2
                                                                 : 1;
/// Length of a row there: pairs of eight lanes' rows lie in different banks.
template <int Columns> constexpr int kPaddedResult = Columns % 16 == 0 ? Columns + 8 : Columns;

/// Sixteen rows of Columns numbers as a warp's lanes have them of tensor cores, by way of shared memory of their own,
/// from where neighbouring lanes take V neighbouring numbers: take(row, column, numbers). Of a row Columns or fewer,
/// Live, are taken.
template <int Columns, int Live, int V, typename Take>
GNNC_DEVICE void takeRows(float *own, const float (*made)[4], Take take) {
  constexpr int kStride = kPaddedResult<Columns>, kPieces = Live / V;
  syncWarp(); // All have taken what was there before.
  GNNC_FOR(j, Columns / 8) GNNC_FOR(half, 2) {
    float2 pair = {made[j][half * 2], made[j][half * 2 + 1]};
    *reinterpret_cast<float2 *>(own + (half * 8 + lane() / 4) * kStride + j * 8 + lane() % 4 * 2) = pair;
  }
  syncWarp();
  GNNC_FOR_STEP(begin, 16 * kPieces, 32) {
    const int at = begin + lane(), row = at / kPieces, n = at % kPieces * V;
    if (16 * kPieces % 32 == 0 || row < 16) {
      float numbers[V];
      readRow<V>(numbers, own + row * kStride + n);
      take(row, n, numbers);
    }
  }
}

/// Shared memory of a product: the weight's tile in both parts if it stays, then the stages, then results.
template <class S> struct ProductMemory {
  using X = typename S::Args::LhsType;
  static constexpr int kSteps = (S::kK + S::kDepth - 1) / S::kDepth;
  using Weight = RightParts<S::kTileColumns>;
  static constexpr int kStrideX = S::kResident ? kPairedDepth<S::kDepth, X> : kPaddedDepth<S::kDepth, X>;
  static constexpr int kStrideW = kPaddedRow<S::kTileColumns>;
  static constexpr int kParts = S::kResident ? Weight::numbers(kSteps * S::kDepth) : 0;
  static constexpr int kStageX = S::kTileRows * kStrideX * int(sizeof(X)) / 4,
                       kStageW = S::kResident ? 0 : S::kDepth * kStrideW;
  static constexpr int kResults = kParts + S::kStages * (kStageX + kStageW); // 16 rows of each warp
};

/// A block multiplies its rows by its columns of the weight, kTileRows at a time. It goes on to its next rows without a
/// pause: the stages are filled with them while the last ones are multiplied.
template <class S> GNNC_DEVICE void tensorProduct(const typename S::Args &args) {
  using W = Warps<S>;
  using M = ProductMemory<S>;
  using X = typename M::X;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kDepth = S::kDepth, kThreads = W::kThreads;
  constexpr int kVX = kCopied<S::kK, X>, kVW = kCopied<S::kN>, kBytesX = sizeof(X);
  extern __shared__ double memory[];
  float *const parts = reinterpret_cast<float *>(memory), *const stages = parts + M::kParts;
  // Batches are parts of a row as tiles of columns are: blocks that have the same rows come one after the other.
  constexpr int kTiles = (S::kN + kN - 1) / kN;
  const BlockTile<1, S::kBatch * kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<S::kBatch * kTiles> tile(block.tile);
  const int thread = threadIdx.x, batch = tile.other / kTiles, column = tile.other % kTiles * kN;

  int64 begin, end, group = 0, stride = kM;
  if constexpr (S::kGrouped) {
    Item item = args.work.items[tile.rows];
    begin = int64(item.begin) * S::kRows, end = int64(item.end) * S::kRows, group = item.owner;
  } else {
    begin = tile.rows * kM, end = args.rows * S::kRows, stride = int64(gridDim.x) * kM;
  }
  const float *weight = args.rhs + (group * S::kBatch + batch) * S::kK * S::kN + column;
  if constexpr (S::kResident) {
    for (int at = thread; at < M::kSteps * kDepth * kN; at += kThreads) {
      int k = at / kN, n = at % kN;
      M::Weight::template place<S::kSplit>(
          parts, k, n, k < S::kK && column + n < S::kN ? __ldg(weight + int64(k) * S::kN + n) : 0.0f);
    }
  }

  constexpr int kCopiesX = (kM * kDepth / kVX + kThreads - 1) / kThreads;
  constexpr int kCopiesW = (kN * kDepth / kVW + kThreads - 1) / kThreads;
  // What this thread copies of a tile's rows: the first row that is its own, or, of rows that lie anywhere, each, and
  // whether it is there.
  constexpr bool kAnywhere = S::kGathersLhs || S::kGrouped;
  constexpr int kRowsApart = kThreads * kVX / kDepth;
  const int ownRow = thread * kVX / kDepth, ownColumn = thread * kVX % kDepth;
  const X *from[kAnywhere ? kCopiesX : 1];
  bool lives[kAnywhere ? kCopiesX : 1];
  int rowsLeft = 0;
  auto find = [&](int64 first) {
    rowsLeft = end - first < kM ? int(end - first) : kM;
    GNNC_FOR(i, kAnywhere ? kCopiesX : 1) {
      int64 source = first + ownRow + i * kRowsApart;
      bool live = true;
      if constexpr (kAnywhere) {
        int64 position = ownRow + i * kRowsApart < rowsLeft ? source / S::kRows : first / S::kRows,
              part = source % S::kRows;
        source = __ldg((S::kGathersLhs ? args.lhsRows : args.members) + position);
        live = source >= 0, source = source * S::kRows + part;
      }
      from[i] = args.lhs + (source * S::kBatch + batch) * S::kK + ownColumn;
      lives[i] = live;
    }
  };
  int64 ahead = begin; // the tile that is fetched, and its next step
  // Rows of an odd number of 16 bits begin anywhere: they are copied in words, whatever is before a row's first number
  // in its word too. Where all rows follow one another, a row's number says whether there is such a thing.
  constexpr bool kInWords = kIsHalf<X> && kVX == 1 && !kAnywhere && S::kResident;
  auto numbersBefore = [&](int64 source) {
    const auto at = reinterpret_cast<unsigned long long>(args.lhs + (source * S::kBatch + batch) * S::kK);
    return kInWords ? int(at / 2 % 2) : 0;
  };
  auto fetchWords = [&](unsigned to, int depth) {
    constexpr int kNumbers = S::kK < kDepth ? S::kK : kDepth, kWords = kNumbers / 2 + 1;
    GNNC_FOR(i, (kM * kWords + kThreads - 1) / kThreads) {
      const int at = thread + i * kThreads, m = at / kWords, word = at % kWords;
      const X *const row = args.lhs + ((ahead + m) * S::kBatch + batch) * S::kK;
      const int first = word * 2 - numbersBefore(ahead + m), left = S::kK - depth - first;
      if (kM * kWords % kThreads == 0 || m < kM)
        copyAsync<4>(to + m * M::kStrideX * 2 + word * 4, row + depth + first,
                     m >= rowsLeft || left <= 0 ? 0
                     : left == 1                ? 2
                                                : 4);
    }
  };
  const unsigned stagesAt = sharedAddress(stages);
  int aheadStep = 0;
  auto fetch = [&](int64, int stage) {
    if (aheadStep == 0)
      find(ahead);
    const unsigned xs = stagesAt + stage * (M::kStageX + M::kStageW) * 4, ws = xs + M::kStageX * 4;
    const int depth = aheadStep * kDepth;
    if constexpr (kInWords) {
      fetchWords(xs, depth);
    } else {
      copyPieces<kCopiesX, kVX>(args.lhs, [&](int i, auto copy) {
        const int m = ownRow + i * kRowsApart;
        bool inside = m < rowsLeft && (S::kK % kDepth == 0 || depth + ownColumn < S::kK);
        const X *row = kAnywhere ? from[kAnywhere ? i : 0] : from[0] + int64(i * kRowsApart) * S::kBatch * S::kK;
        if (kM * kDepth % (kVX * kThreads) == 0 || m < kM)
          copy(xs + (m * M::kStrideX + ownColumn) * kBytesX, row + depth, inside && lives[kAnywhere ? i : 0]);
      });
    }
    if constexpr (!S::kResident) { // braces: a pragma is no statement of its own
      GNNC_FOR(i, kCopiesW) {
        int at = (thread + i * kThreads) * kVW, k = at / kN, n = at % kN;
        bool inside = (S::kK % kDepth == 0 || depth + k < S::kK) && (S::kN % kN == 0 || column + n < S::kN);
        if (kN * kDepth % (kVW * kThreads) == 0 || k < kDepth)
          copyAsync<4 * kVW>(ws + (k * M::kStrideW + n) * 4, weight + int64(depth + k) * S::kN + n,
                             inside ? 4 * kVW : 0);
      }
    }
    if (++aheadStep == M::kSteps)
      aheadStep = 0, ahead += stride;
  };

  constexpr bool kFlushes = S::kK > kDepthOfSums;
  float sums[W::kRows][W::kColumns][4] = {};
  float totals[kFlushes ? W::kRows : 1][kFlushes ? W::kColumns : 1][4] = {};
  int64 first = begin;
  int done = 0;
  auto finish = [&](auto numbers, const typename S::Row &row, int64 source, int n, const float *made, bool live) {
    int64 position = source / S::kRows, part = source % S::kRows, target = position;
    if constexpr (S::kGrouped)
      target = __ldg(args.members + position);
    int64 at = ((target * S::kRows + part) * S::kBatch + batch) * S::kN + column;
    if (S::kN % kN == 0 || column + n < S::kN)
      S::template finish<numbers.value>(args, row, target, at + n, batch * S::kN + column + n, made, live);
  };
  auto write = [&](const float (&made)[W::kRows][W::kColumns][4]) {
    constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
    GNNC_FOR(i, W::kRows) GNNC_FOR(half, 2) {
      int64 source = first + W::top() + i * 16 + half * 8 + lane() / 4;
      const bool live = source < end;
      auto columnOf = [&](int c) { return W::left() + c / 2 * 8 + lane() % 4 * 2 + c % 2; };
      typename S::Row row;
      if constexpr (S::kFoldsRows) {
        static_assert(W::kAcross == 1 && S::kBatch * S::kRows == 1 && !S::kGrouped);
        float numbers[W::kColumns * 2];
        GNNC_FOR(c, W::kColumns * 2) numbers[c] = made[i][c / 2][half * 2 + c % 2];
        row = S::template rowOf<4>(args, live ? source : first, numbers, columnOf);
      }
      if (live) {
        GNNC_FOR_STEP(c, W::kColumns * 2, kVOut)
        finish(Constant<kVOut>(), row, source, columnOf(c), &made[i][c / 2][half * 2 + c % 2], true);
      }
    }
  };
  // The same by way of shared memory.
  auto writeStaged = [&](const float (&made)[W::kRows][W::kColumns][4]) {
    constexpr int kLive = S::kN < S::kWarpColumns ? S::kN : S::kWarpColumns, kVOut = kStoredAtOnce<S>;
    float *const own = parts + M::kResults + thread / 32 * 16 * kPaddedResult<S::kWarpColumns>;
    GNNC_FOR(i, W::kRows)
    takeRows<S::kWarpColumns, kLive, kVOut>(own, made[i], [&](int row, int n, const float *numbers) {
      const int64 source = first + W::top() + i * 16 + row;
      const bool live = source < end;
      // Without a branch reads need not wait for each other. Of a tile that ends before its last column most would be
      // for nothing.
      if (S::kN % kN == 0 || live)
        finish(Constant<kVOut>(), typename S::Row(), live ? source : first, W::left() + n, numbers, live);
    });
  };
  auto put = [&](const float (&made)[W::kRows][W::kColumns][4]) {
    if constexpr (kIsStored<S>)
      write(made);
    else
      writeStaged(made);
  };
  const float *const ownParts = M::Weight::own(parts, W::left());
  int64 tiles = begin < end ? (end - begin + stride - 1) / stride : 0;
  pipeline<S::kStages>(tiles * M::kSteps, fetch, [&](int stage) {
    const float *ws = stages + stage * (M::kStageX + M::kStageW) + M::kStageX;
    const X *xs = reinterpret_cast<const X *>(ws - M::kStageX);
    const X *const own = xs + (W::top() + lane() / 4) * M::kStrideX + lane() % 4 * 2;
    int before[kInWords ? W::kRows : 1][2];
    if constexpr (kInWords) {
      GNNC_FOR(i, W::kRows)
      GNNC_FOR(half, 2) before[i][half] = numbersBefore(first + W::top() + i * 16 + half * 8 + lane() / 4);
    }
    auto multiply = [&](auto depth) {
      GNNC_FOR_STEP(k, depth.value, 8) {
        Parts<W::kRows, 4, S::kSplit && !kIsHalf<X>> left;
        Parts<W::kColumns, 2, S::kSplit> right;
        if constexpr (kInWords) {
          GNNC_FOR(i, W::kRows) GNNC_FOR(n, 4) {
            const int m = W::top() + i * 16 + lane() / 4 + n % 2 * 8, d = k + M::Weight::depth(n / 2);
            left.set(i, n, done * kDepth + d < S::kK ? xs[m * M::kStrideX + before[i][n % 2] + d] : X());
          }
        } else if constexpr (S::kResident) {
          loadLeftPairs<M::kStrideX>(left, own + k);
        } else {
          loadLeft<M::kStrideX, 1>(left, xs + W::top() * M::kStrideX + k);
        }
        if constexpr (S::kResident)
          M::Weight::load(right, ownParts + M::Weight::numbers(done * kDepth + k));
        else
          loadRight<M::kStrideW>(right, ws + k * M::kStrideW + W::left());
        multiplyStep(sums, left, right);
      }
    };
    // Of the last step as much as there is.
    constexpr int kRest = (S::kK + 7) / 8 * 8 - (M::kSteps - 1) * kDepth;
    if (kRest < kDepth && done + 1 == M::kSteps)
      multiply(Constant<kRest>());
    else
      multiply(Constant<kDepth>());
    ++done;
    if constexpr (kFlushes) {
      if (done * kDepth % kDepthOfSums == 0 || done == M::kSteps)
        flush(totals, sums);
    }
    if (done == M::kSteps) {
      if constexpr (kFlushes) {
        put(totals);
        GNNC_FOR(i, W::kRows) GNNC_FOR(j, W::kColumns) GNNC_FOR(n, 4) totals[i][j][n] = 0;
      } else {
        put(sums);
        GNNC_FOR(i, W::kRows) GNNC_FOR(j, W::kColumns) GNNC_FOR(n, 4) sums[i][j][n] = 0;
      }
      done = 0, first += stride;
    }
  });
}

/// How rows of Length numbers lie in shared memory, of which a tile takes Columns. Rows that lie one behind the other,
/// are taken whole, and could not be copied in pieces of 16 bytes are copied as the one piece of memory that they are:
/// what a tile has beyond a row's end is the next row then, and becomes results that there are not.
template <typename T, int Length, int Columns, int Depth, bool AsTheyAre> struct RowStage {
  static constexpr int kPiece = 16 / int(sizeof(T)); // numbers
  static constexpr bool kAsOne = AsTheyAre && Length <= Columns && Length % kPiece != 0;
  static constexpr int kStride = kAsOne ? Length : kPaddedRow<Columns>;
  static constexpr int kNumbers = kAsOne ? (Depth * Length + Columns + kPiece - 1) / kPiece * kPiece : Depth * kStride;
  static_assert(Depth % kPiece == 0);
};

/// The block's tile of the sum over its range of rows: kTileRows of kK, kTileColumns of kN.
template <class S> GNNC_DEVICE void tensorOuterSum(const typename S::Args &args) {
  using W = Warps<S>;
  using X = typename S::Args::LhsType;
  using G = typename S::Args::RhsType;
  constexpr int kM = S::kTileRows, kN = S::kTileColumns, kDepth = S::kDepth, kThreads = W::kThreads;
  constexpr bool kAsTheyAre = S::kBatch == 1 && !S::kGrouped;
  using StageX = RowStage<X, S::kK, kM, kDepth, kAsTheyAre && !S::kGathersLhs>;
  using StageG = RowStage<G, S::kN, kN, kDepth, kAsTheyAre && !S::kGathersRhs>;
  constexpr int kTilesAcross = (S::kN + kN - 1) / kN, kTilesDown = (S::kK + kM - 1) / kM;
  __shared__ __align__(16) X xs[S::kStages][StageX::kNumbers];
  __shared__ __align__(16) G gs[S::kStages][StageG::kNumbers];
  constexpr int64 kTiles = int64(kTilesAcross) * kTilesDown;
  const BlockTile<1, S::kBatch * kTiles> block;
  if (!block.exists)
    return;
  const TileNumber<S::kBatch * kTiles> tile(block.tile);
  const int thread = threadIdx.x, batch = tile.other / int(kTiles), other = tile.other % int(kTiles);
  const int k0 = other / kTilesAcross * kM, n0 = other % kTilesAcross * kN;

  constexpr int64 kElements = int64(S::kBatch) * S::kK * S::kN;
  int64 begin, end;
  float *to;
  if constexpr (S::kGrouped) {
    Item item = args.work.items[tile.rows];
    begin = item.begin, end = item.end;
    to = item.slot < 0 ? args.result + item.owner * kElements
                       : static_cast<float *>(args.work.slots) + item.slot * kElements;
  } else {
    // A multiple of eight, so that what is copied as one piece begins at a multiple of 16 bytes.
    int64 each = (args.rows + gridDim.x * 8 - 1) / (gridDim.x * 8) * 8;
    begin = tile.rows * each < args.rows ? tile.rows * each : args.rows;
    end = begin + each < args.rows ? begin + each : args.rows;
    to = static_cast<float *>(args.work.partials) + tile.rows * kElements;
  }
  // Copies of the rows of an operand, of Length numbers each, from column `first` on: Count columns of Depth rows.
  auto fetchRows = [&](auto gathers, auto stage, auto length, auto count, unsigned to, const auto *rows,
                       const int *numbers, int64 position, int first) {
    constexpr bool kGathers = gathers.value;
    constexpr int kLength = length.value, kCount = count.value, kBytes = sizeof(*rows);
    if constexpr (stage.kAsOne) {
      constexpr int kPieces = kDepth * kLength / stage.kPiece;
      const int64 left = (end - position) * kLength;
      const auto *from = rows + position * kLength;
      GNNC_FOR(i, (kPieces + kThreads - 1) / kThreads) {
        const int piece = thread + i * kThreads, at = piece * stage.kPiece;
        const int live = left < at ? 0 : left - at < stage.kPiece ? int(left - at) : stage.kPiece;
        if (kPieces % kThreads == 0 || piece < kPieces)
          copyAsync<16>(to + at * kBytes, from + at, live * kBytes);
      }
      return;
    }
    constexpr int kV = kCopied<kLength, decltype(typeOf(rows))>;
    copyPieces<(kCount * kDepth / kV + kThreads - 1) / kThreads, kV>(rows, [&](int i, auto copy) {
      int at = (thread + i * kThreads) * kV, r = at / kCount, k = at % kCount;
      int64 row = position + r;
      bool live = row < end && (kLength % kCount == 0 || first + k < kLength);
      if constexpr (kGathers || S::kGrouped) {
        row = __ldg((kGathers ? numbers : args.members) + (live ? row : begin));
        live = live && row >= 0;
      }
      if (kCount * kDepth % (kV * kThreads) == 0 || r < kDepth)
        copy(to + (r * kPaddedRow<kCount> + k) * kBytes, rows + (row * S::kBatch + batch) * kLength + first + k, live);
    });
  };
  const unsigned xsAt = sharedAddress(xs), gsAt = sharedAddress(gs);
  auto fetch = [&](int64 step, int stage) {
    const int64 position = begin + step * kDepth;
    fetchRows(Constant<S::kGathersLhs>(), StageX(), Constant<S::kK>(), Constant<kM>(), xsAt + stage * sizeof(xs[0]),
              args.lhs, args.lhsRows, position, k0);
    fetchRows(Constant<S::kGathersRhs>(), StageG(), Constant<S::kN>(), Constant<kN>(), gsAt + stage * sizeof(gs[0]),
              args.rhs, args.rhsRows, position, n0);
  };
  float sums[W::kRows][W::kColumns][4] = {}, totals[W::kRows][W::kColumns][4] = {};
  int since = 0;
  int64 steps = end > begin ? (end - begin + kDepth - 1) / kDepth : 0;
  pipeline<S::kStages>(steps, fetch, [&](int stage) {
    GNNC_FOR_STEP(k, kDepth, 8) {
      Parts<W::kRows, 4, S::kSplit && !kIsHalf<X>> left;
      Parts<W::kColumns, 2, S::kSplit && !kIsHalf<G>> right;
      loadLeft<1, StageX::kStride>(left, &xs[stage][k * StageX::kStride + W::top()]);
      loadRight<StageG::kStride>(right, &gs[stage][k * StageG::kStride + W::left()]);
      multiplyStep(sums, left, right);
    }
    if ((since += kDepth) == kDepthOfSums)
      flush(totals, sums), since = 0;
  });
  flush(totals, sums);
  constexpr int kVOut = S::kN % 2 == 0 ? 2 : 1;
  GNNC_FOR(i, W::kRows) GNNC_FOR(j, W::kColumns) GNNC_FOR_STEP(n, 4, kVOut) {
    int row = k0 + W::top() + i * 16 + n / 2 * 8 + lane() / 4, at = n0 + W::left() + j * 8 + lane() % 4 * 2 + n % 2;
    if (row < S::kK && at < S::kN)
      store<kVOut>(to + (int64(batch) * S::kK + row) * S::kN + at, &totals[i][j][n]);
  }
}

} // namespace gnnc

#endif // GNNC_KERNELS_TENSORPRODUCT_CUH
