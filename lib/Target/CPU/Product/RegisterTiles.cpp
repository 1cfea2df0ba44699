//===- RegisterTiles.cpp - How a matrix is cut into registers -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTiles.h"

#include <algorithm>

using namespace gnnc::cpu;

/// Processors with as many registers have wider tiles, of more rows.
constexpr int64_t kManyRegisters = 32;

void gnnc::cpu::forEachEvenPart(int64_t count, int64_t most,
                                llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) {
  if (count <= 0)
    return;
  int64_t parts = (count + most - 1) / most, size = count / parts, larger = count % parts;
  if (larger > 0)
    visit(0, larger, size + 1);
  visit(larger * (size + 1), parts - larger, size);
}

RegisterTiles::RegisterTiles(int64_t columns, int64_t lanes, int64_t registers) : columns(columns) {
  bool many = registers >= kManyRegisters;
  int64_t wide = std::clamp<int64_t>((columns + lanes - 1) / lanes, 1, many ? 4 : 2);
  width = wide * lanes;
  // One register for each vector of the weight, one for the broadcast number and one to spare; the rest accumulates.
  numRows = std::min<int64_t>((registers - wide - 2) / wide, many ? 14 : 8);
}

void RegisterTiles::forEach(llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) const {
  int64_t whole = columns / width;
  if (whole > 0)
    visit(0, whole, width);
  if (int64_t left = columns - whole * width; left > 0)
    visit(whole * width, 1, left);
}
