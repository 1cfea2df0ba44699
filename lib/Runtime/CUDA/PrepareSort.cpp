//===- PrepareSort.cpp - Sorting and sums of lists on a GPU ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"

namespace gnnc::runtime::cuda {

void GraphBuilder::sort(const int32_t *keys, const int32_t *values, int64_t count, int64_t most, Sorted &result) {
  int64_t bits = 1;
  while (bits < 31 && most >> bits)
    ++bits;
  Pass pass = {};
  pass.targets = keys;
  pass.values = values;
  pass.count = count;
  pass.undefined = most;
  if (divideUp(count, kFewTile) <= kMostFewTiles)
    return sortFew(pass, bits, result);
  int64_t passes = divideUp(bits, kDigitBits), width = divideUp(bits, passes), tiles = divideUp(count, kTile);
  pass.counts = temporary(tiles << width);
  pass.sums = temporary(int64_t(1) << width);
  int32_t *keysTo[2] = {array(count), passes > 1 ? array(count) : nullptr};
  int32_t *valuesTo[2] = {array(count), passes > 1 ? array(count) : nullptr};
  for (int64_t i = 0; i < passes; ++i) {
    bool isLast = i + 1 == passes;
    pass.shift = i * width;
    pass.bits = width < bits - pass.shift ? width : bits - pass.shift;
    pass.keysOut = isLast && !result.wantsKeys ? nullptr : keysTo[i % 2];
    pass.valuesOut = isLast && !result.wantsValues ? nullptr : valuesTo[i % 2];
    if (isLast && result.through) {
      pass.through = result.through;
      pass.throughOut = result.throughs = array(count);
    }
    launchPass(CountDigits, tiles, pass);
    launch(ScanCounts, int64_t(1) << pass.bits, pass.counts, tiles, pass.sums);
    launchPass(ScatterDigits, tiles, pass);
    pass.targets = keysTo[i % 2];
    pass.values = valuesTo[i % 2];
  }
  int64_t final = (passes - 1) % 2;
  release(pass.counts);
  release(pass.sums);
  release(keysTo[1 - final]);
  release(valuesTo[1 - final]);
  if (!result.wantsKeys)
    release(keysTo[final]);
  if (!result.wantsValues)
    release(valuesTo[final]);
  result.keys = result.wantsKeys ? keysTo[final] : nullptr;
  result.values = result.wantsValues ? valuesTo[final] : nullptr;
}

/// With small tiles, digits of nine bits, and two kernels for each. Of two
/// digits the upper one comes first; blocks then sort by the lower one what has
/// the same upper one.
void GraphBuilder::sortFew(Pass &pass, int64_t bits, Sorted &result) {
  constexpr int64_t kMostBits = 2 * kFewDigitBits;
  int64_t count = pass.count, starts = pass.undefined + 1;
  if (bits > kFewDigitBits && bits <= kMostBits && !(result.wantsKeys && !result.rows)) {
    // The least key for what is undefined that has an upper digit of its own.
    auto apart = [&](int64_t bits) {
      int64_t low = int64_t(1) << (bits - kFewDigitBits);
      return divideUp(pass.undefined, low) * low;
    };
    int64_t enough = apart(bits) >> bits ? bits + 1 : bits;
    if (enough <= kMostBits) {
      bits = enough;
      pass.undefined = apart(bits);
    }
  }
  int64_t passes = divideUp(bits, kFewDigitBits), width = divideUp(bits, passes);
  bool inBuckets = passes == 2 && count > 0;
  pass.held = heldFor(count);
  pass.found = result.found;
  pass.given = pass.targets;
  auto sortFirst = [&](int64_t shift, int64_t bits) {
    pass.shift = shift;
    pass.bits = bits;
    pass.keysOut = temporary(count);
    pass.valuesOut = temporary(count);
    sortDigit(pass);
    pass.targets = pass.keysOut;
    pass.values = pass.valuesOut;
  };
  if (inBuckets) {
    pass.numStarts = (int64_t(1) << kFewDigitBits) + 1;
    pass.upper = pass.starts = temporary(pass.numStarts);
    pass.buckets = (pass.undefined >> (bits - kFewDigitBits)) + 1;
    sortFirst(bits - kFewDigitBits, kFewDigitBits);
    pass.shift = 0;
  } else {
    for (pass.shift = 0; bits - pass.shift > kFewDigitBits; pass.shift += width)
      sortFirst(pass.shift, width);
  }
  pass.bits = inBuckets ? bits - kFewDigitBits : bits - pass.shift;
  result.hasRows = result.rows && passes <= 2 && count > 0;
  pass.keysOut = result.keys = result.wantsKeys && !result.hasRows ? temporary(count) : nullptr;
  pass.valuesOut = result.values = result.wantsValues ? array(count) : nullptr;
  pass.through = result.through;
  pass.throughOut = result.throughs = result.through ? array(count) : nullptr;
  pass.starts = result.rows;
  pass.numStarts = result.rows ? starts : 0;
  if (passes > 2) {
    pass.numStarts = (int64_t(1) << pass.bits) + 1;
    pass.starts = temporary(pass.numStarts);
    result.starts = count > 0 ? pass.starts : nullptr;
    result.shift = pass.shift;
  }
  if (inBuckets)
    launchPass(ScatterBuckets, pass.buckets + count / kFewTile, pass);
  else
    sortDigit(pass);
}

void GraphBuilder::sortDigit(Pass &pass) {
  int64_t tiles = divideUp(pass.count, kThreads * pass.held);
  pass.counts = temporary(tiles << pass.bits);
  pass.sums = static_cast<int32_t *>(cleared((divideUp(tiles, kTilesOfGroup) << pass.bits) * 4));
  launchPass(CountFew, tiles, pass);
  launchPass(ScatterFew, tiles, pass);
}

int32_t *GraphBuilder::sumsBefore(const int32_t *numbers, int64_t count, int32_t *total) {
  int64_t tiles = divideUp(count, kTile);
  int32_t *sums = temporary(tiles + 1), *results = temporary(count);
  launch(SumTiles, tiles, numbers, count, sums);
  launch(ScanSums, 1, sums, tiles);
  launch(ApplySums, tiles, numbers, count, sums, results);
  copy(total, sums + tiles, 1);
  release(sums);
  return results;
}

int32_t *GraphBuilder::sumsBefore(const int32_t *numbers, int64_t count, int64_t &total) {
  // The upper half of the place stays 0.
  int32_t *results = sumsBefore(numbers, count, report ? reinterpret_cast<int32_t *>(&report->total) : nullptr);
  fetchReport();
  total = status ? 0 : page->total;
  return results;
}

} // namespace gnnc::runtime::cuda
