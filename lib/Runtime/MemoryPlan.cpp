//===- MemoryPlan.cpp - Places of buffers in one workspace ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"

namespace gnnc::runtime {

/// How often another order is tried where the first leaves gaps.
static constexpr int64_t kAttempts = 32;
/// Pairs of items that attempts may look at whatever the sizes, and bytes of the workspace for which they may look at
/// one more: a new graph at each step must not take longer to plan than to compute.
static constexpr int64_t kFreePairs = int64_t(1) << 16, kBytesPerPair = 64;

/// `count` words of `list` rise by less(a, b); equal ones keep their order. Lists are short (the buffers of a model).
template <typename Less> static void insertLast(int64_t *list, int64_t count, Less less) {
  for (int64_t i = count - 1; i > 0 && less(list[i], list[i - 1]); --i) {
    int64_t swapped = list[i];
    list[i] = list[i - 1];
    list[i - 1] = swapped;
  }
}

static int64_t rounded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

static bool meet(const Lifetime &a, const Lifetime &b) { return a.first <= b.last && b.first <= a.last; }

/// Places items in this order, each into the smallest gap it fits; returns the bytes needed, or -1.
static int64_t place(Lifetime *items, const int64_t *order, int64_t count, int64_t *byOffset) {
  int64_t total = 0;
  for (int64_t placed = 0; placed < count; ++placed) {
    Lifetime &item = items[order[placed]];
    int64_t size = rounded(item.bytes);
    // Walk over the neighbours in time from low to high offsets; `top` is where the free memory after them begins.
    int64_t top = 0, best = -1, bestGap = 0;
    for (int64_t i = 0; i < placed; ++i) {
      const Lifetime &other = items[byOffset[i]];
      if (!meet(item, other))
        continue;
      int64_t gap = other.offset - top;
      if (gap >= size && (best < 0 || gap < bestGap)) {
        best = top;
        bestGap = gap;
      }
      int64_t end = other.offset + rounded(other.bytes);
      top = end > top ? end : top;
    }
    item.offset = best >= 0 ? best : top;
    int64_t end;
    if (__builtin_add_overflow(item.offset, size, &end))
      return -1;
    total = end > total ? end : total;
    byOffset[placed] = order[placed];
    insertLast(byOffset, placed + 1, [&](int64_t a, int64_t b) { return items[a].offset < items[b].offset; });
  }
  return total;
}

/// The most bytes that are alive at one time; that is at the beginning of some item.
static int64_t largestSum(const Lifetime *items, const int64_t *order, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t sum = 0, step = items[order[i]].first;
    for (int64_t k = 0; k < count; ++k)
      if (const Lifetime &other = items[order[k]]; other.first <= step && step <= other.last)
        sum += rounded(other.bytes); // does not overflow: they have places
    most = sum > most ? sum : most;
  }
  return most;
}

// Once for a graph: made for size.
[[gnu::cold]] void planMemory(Lifetime *items, int64_t count, int64_t *scratch, int64_t &total) {
  int64_t *order = scratch, *byOffset = scratch + count, *bestOrder = scratch + 2 * count;
  int64_t wanted = 0;
  total = 0;
  for (int64_t i = 0; i < count; ++i) {
    items[i].offset = 0;
    if (items[i].first > items[i].last || items[i].bytes == 0)
      continue;
    if (items[i].bytes > INT64_MAX - kAlignment) {
      total = -1;
      return;
    }
    order[wanted++] = i;
    insertLast(order, wanted, [&](int64_t a, int64_t b) { return items[a].bytes > items[b].bytes; });
  }
  total = place(items, order, wanted, byOffset);
  if (total < 0)
    return;
  // What sticks out at the top came too late to find a place below: let it choose first.
  int64_t enough = largestSum(items, order, wanted), now = total;
  enough += enough / 64;
  for (int64_t i = 0; i < wanted; ++i)
    bestOrder[i] = order[i];
  int64_t pairs = kFreePairs + total / kBytesPerPair;
  for (int64_t attempt = 0; attempt < kAttempts && total > enough && (pairs -= wanted * wanted) >= 0; ++attempt) {
    if (attempt == kAttempts / 2) {
      // Begin again with what takes most memory for longest, which what is larger but short-lived may go around.
      auto taken = [&](int64_t i) {
        return static_cast<double>(items[i].bytes) * static_cast<double>(items[i].last - items[i].first + 1);
      };
      for (int64_t i = 1; i <= wanted; ++i)
        insertLast(order, i, [&](int64_t a, int64_t b) { return taken(a) > taken(b); });
    } else {
      int64_t top = 0;
      while (items[order[top]].offset + rounded(items[order[top]].bytes) != now)
        ++top;
      int64_t moved = order[top];
      for (; top > 0; --top)
        order[top] = order[top - 1];
      order[0] = moved;
    }
    now = place(items, order, wanted, byOffset);
    if (now < 0) // The sums that are added up depend on the order.
      break;
    if (now >= total)
      continue;
    total = now;
    for (int64_t i = 0; i < wanted; ++i)
      bestOrder[i] = order[i];
  }
  if (now != total)
    place(items, bestOrder, wanted, byOffset);
}

} // namespace gnnc::runtime
