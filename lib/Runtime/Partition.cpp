//===- Partition.cpp - Blocks of a kernel's work --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Partition.h"

namespace gnnc::runtime {

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/// About 64 blocks, of whole groups of 16 rows (what a register-blocked product takes at a time).
static int64_t blockSize(int64_t rows, int64_t largest, bool merged) {
  int64_t size = min(max(divideUp(rows, 64 * 16) * 16, 64), largest);
  return merged ? max(size, divideUp(rows, kMaxMergedBlocks * 16) * 16) : size;
}

bool isLargeMerge(int64_t elements) { return elements >= 16384; }

Partition partitionRows(int64_t rows, bool merged, int64_t elements) {
  Partition result;
  result.rows = rows;
  result.blockRows = blockSize(rows, 4096, merged);
  // Up to 512 rows where a partial result is large beside the rows that it is the sum of, but 16 blocks for threads.
  if (merged && isLargeMerge(elements))
    result.blockRows = max(result.blockRows, min(divideUp(rows, 16 * 16) * 16, 512));
  result.blocks = divideUp(rows, result.blockRows);
  return result;
}

/// Lets blocks of more than `heavy` weight (those of a hub) start first, so that no thread is left with one at the end.
static bool startHeavyBlocksFirst(const Grouping &grouping, int64_t heavy, Memory &memory, Partition &result) {
  auto isHeavy = [&](int64_t block) {
    int64_t begin = result.begin[block], end = result.end[block];
    return grouping.pointers[end] - grouping.pointers[begin] + end - begin > heavy;
  };
  int64_t next = 0;
  for (int64_t block = 0; block < result.blocks; ++block)
    next += isHeavy(block);
  if (next == 0)
    return true;
  int32_t *order = memory.array<int32_t>(result.blocks);
  if (!order)
    return false;
  int64_t first = 0;
  for (int64_t block = 0; block < result.blocks; ++block)
    order[isHeavy(block) ? first++ : next++] = static_cast<int32_t>(block);
  result.order = order;
  return true;
}

bool partitionSweep(const Grouping &grouping, Memory &memory, Partition &result) {
  int64_t owners = grouping.owners;
  const int32_t *pointers = grouping.pointers;
  int64_t total = grouping.count + owners;
  int64_t target = max(1024, divideUp(total, 256));
  int64_t capacity = divideUp(total, target);
  int32_t *bounds = memory.array<int32_t>(capacity + 1);
  if (!bounds)
    return false;
  // Owner j starts at weight pointers[j] + j. Cut number c goes to the first owner that starts at c * target or later;
  // the cuts inside one heavy owner fall together.
  int64_t blocks = 0;
  bounds[0] = 0;
  for (int64_t cut = 1; cut <= capacity; ++cut) {
    int64_t low = bounds[blocks], high = owners;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (pointers[middle] + middle < cut * target)
        low = middle + 1;
      else
        high = middle;
    }
    if (low > bounds[blocks])
      bounds[++blocks] = static_cast<int32_t>(low);
  }
  result = Partition();
  result.blocks = blocks;
  result.rows = owners;
  result.begin = bounds;
  result.end = bounds + 1;
  return startHeavyBlocksFirst(grouping, 2 * target, memory, result);
}

bool partitionGrouped(const Grouping &grouping, bool merged, Memory &memory, Partition &result) {
  const int32_t *pointers = grouping.pointers;
  int64_t chunk = blockSize(grouping.count, 1024, merged);
  int64_t blocks = 0;
  for (int64_t j = 0; j < grouping.owners; ++j)
    blocks += divideUp(pointers[j + 1] - pointers[j], chunk);
  int32_t *words = memory.array<int32_t>(3 * blocks);
  if (!words)
    return false;
  int32_t *begin = words, *end = words + blocks, *owner = words + 2 * blocks;
  int64_t block = 0;
  for (int64_t j = 0; j < grouping.owners; ++j)
    for (int64_t k = pointers[j]; k < pointers[j + 1]; k += chunk, ++block) {
      begin[block] = static_cast<int32_t>(k);
      end[block] = static_cast<int32_t>(min(k + chunk, pointers[j + 1]));
      owner[block] = static_cast<int32_t>(j);
    }
  result = Partition();
  result.blocks = blocks;
  result.rows = grouping.count;
  result.begin = begin;
  result.end = end;
  result.owner = owner;
  return true;
}

void Partition::run(const table::Frame &frame, table::Kernel kernel, int64_t turn) const {
  int64_t block = order ? order[turn] : turn;
  int64_t first = begin ? begin[block] : block * blockRows;
  int64_t last = begin ? end[block] : min(first + blockRows, rows);
  kernel(&frame, first, last, owner ? owner[block] : -1, block);
}

} // namespace gnnc::runtime
