//===- RegisterTilesTest.cpp - How a matrix is cut into registers ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product/RegisterTiles.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

using namespace gnnc::cpu;

namespace {

using Runs = std::vector<std::array<int64_t, 3>>;

Runs evenParts(int64_t count, int64_t most) {
  Runs runs;
  forEachEvenPart(count, most,
                  [&](int64_t first, int64_t parts, int64_t size) { runs.push_back({first, parts, size}); });
  return runs;
}

Runs tilesOf(const RegisterTiles &tiles) {
  Runs runs;
  tiles.forEach([&](int64_t first, int64_t count, int64_t columns) { runs.push_back({first, count, columns}); });
  return runs;
}

} // namespace

TEST(RegisterTiles, EvenPartsDifferByOneAtMost) {
  EXPECT_EQ(evenParts(50, 6), (Runs{{0, 5, 6}, {30, 4, 5}}));
  EXPECT_EQ(evenParts(12, 6), (Runs{{0, 2, 6}}));
  EXPECT_EQ(evenParts(7, 6), (Runs{{0, 1, 4}, {4, 1, 3}}));
  EXPECT_EQ(evenParts(1, 6), (Runs{{0, 1, 1}}));
  EXPECT_EQ(evenParts(0, 6), Runs());
}

TEST(RegisterTiles, ColumnsAreCutIntoRegisters) {
  // 32 registers of 16 numbers.
  EXPECT_EQ(tilesOf(RegisterTiles(128, 16, 32)), (Runs{{0, 2, 64}}));
  EXPECT_EQ(tilesOf(RegisterTiles(50, 16, 32)), (Runs{{0, 1, 50}}));
  EXPECT_EQ(tilesOf(RegisterTiles(97, 16, 32)), (Runs{{0, 1, 64}, {64, 1, 33}}));
  EXPECT_EQ(tilesOf(RegisterTiles(1, 16, 32)), (Runs{{0, 1, 1}}));
  // 16 of 8.
  EXPECT_EQ(tilesOf(RegisterTiles(50, 8, 16)), (Runs{{0, 3, 16}, {48, 1, 2}}));
  EXPECT_EQ(tilesOf(RegisterTiles(0, 8, 16)), Runs());
}

TEST(RegisterTiles, AccumulatorsLeaveRoomForOperands) {
  for (auto [lanes, registers] : {std::pair(16, 32), {8, 16}, {8, 32}, {4, 16}})
    for (int64_t columns = 1; columns <= 130; ++columns) {
      RegisterTiles tiles(columns, lanes, registers);
      int64_t next = 0;
      for (auto [first, count, width] : tilesOf(tiles)) {
        int64_t wide = (width + lanes - 1) / lanes;
        EXPECT_EQ(first, next);
        EXPECT_GE(tiles.rows(), 1);
        EXPECT_LE(tiles.rows() * wide + wide + 1, registers) << columns;
        next = first + count * width;
      }
      EXPECT_EQ(next, columns);
    }
}
