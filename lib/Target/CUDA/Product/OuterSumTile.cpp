//===- OuterSumTile.cpp - A block's part of an outer sum ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles are powers of two where that leaves little of them empty. A matrix of 75 by 48 would have one of 128 by 64,
// more than half of which is nothing: it has one of 80 by 48 then, of five warps with 16 by 48 each.
//
//===----------------------------------------------------------------------===//

#include "Product/OuterSumTile.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace gnnc;
using namespace gnnc::cuda;

namespace {

/// Of a tile that may be empty more than in the best one.
constexpr double kMostEmpty = 1.25;
constexpr int64_t kMostWarps = 8, kStaticSharedBytes = 48 << 10;
/// Of a warp, as registers allow.
constexpr int64_t kMostNumbers = 32 * 32;
/// What a warp does in a step of eight rows, in instructions: three products of tensor cores on each 16 by 8 numbers,
/// each of which keeps them busy as long as two others take to issue, and reading and splitting what both operands
/// have; and what copies of the tile's rows take all warps, for two numbers.
constexpr int64_t kProducts = 3 * 2, kOperand = 5, kCopies = 3;

/// Numbers that all tiles have.
int64_t area(const OuterSumTile &tile, int64_t k, int64_t n) {
  return llvm::alignTo(k, tile.rows) * llvm::alignTo(n, tile.columns);
}

int64_t cost(const OuterSumTile &tile, int64_t k, int64_t n) {
  int64_t tiles = llvm::divideCeil(k, tile.rows) * llvm::divideCeil(n, tile.columns);
  int64_t warps = tile.rows / tile.height * (tile.columns / tile.width), rows = tile.height / 16,
          columns = tile.width / 8;
  return tiles * (warps * (rows * columns * kProducts + (4 * rows + 2 * columns) * kOperand) +
                  (tile.rows + tile.columns) / 2 * kCopies);
}

} // namespace

OuterSumTile cuda::tileOuterSum(int64_t k, int64_t n, int64_t depth, int64_t stages) {
  OuterSumTile usual;
  usual.columns = std::clamp<int64_t>(llvm::PowerOf2Ceil(n), 8, 128);
  usual.rows = std::clamp<int64_t>(llvm::PowerOf2Ceil(k), 16, usual.columns > 64 ? 64 : 128);
  usual.height = std::min<int64_t>(usual.rows, 32);
  usual.width = std::min<int64_t>(usual.columns, 32);
  OuterSumTile best = usual;
  // Rows in shared memory are padded by eight numbers, and then lie in different banks where they have a multiple
  // of 16.
  for (int64_t height : {16, 32})
    for (int64_t width = 16; width * height <= kMostNumbers; width += 16)
      for (int64_t down = 1; down <= kMostWarps; ++down)
        for (int64_t across = 1; down * across <= kMostWarps; ++across) {
          OuterSumTile tile{down * height, across * width, height, width};
          if (stages * depth * (tile.rows + tile.columns + 16) * 4 <= kStaticSharedBytes &&
              cost(tile, k, n) < cost(best, k, n))
            best = tile;
        }
  return double(area(usual, k, n)) > kMostEmpty * double(area(best, k, n)) ? best : usual;
}
