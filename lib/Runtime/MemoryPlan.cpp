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

/// A place that has been given away, and for how long.
struct Placed {
  int64_t first, last, offset, end;
};
static_assert(kPlanWords == 2 + sizeof(Placed) / sizeof(int64_t));

/// Places items in this order, each into the smallest gap it fits; returns the bytes needed, or -1. `places` has room
/// for all of them, and has them by their offsets.
static int64_t place(Lifetime *items, const int64_t *order, int64_t count, Placed *places) {
  int64_t total = 0;
  for (int64_t placed = 0; placed < count; ++placed) {
    Lifetime &item = items[order[placed]];
    const int64_t size = rounded(item.bytes), first = item.first, last = item.last;
    // Walk over the neighbours in time from low to high offsets; `top` is where the free memory after them begins.
    int64_t top = 0, best = -1, bestGap = INT64_MAX;
    for (const Placed *other = places, *end = places + placed; other != end; ++other) {
      if (first > other->last || other->first > last)
        continue;
      int64_t gap = other->offset - top;
      if (gap >= size && gap < bestGap) {
        best = top;
        bestGap = gap;
      }
      top = other->end > top ? other->end : top;
    }
    item.offset = best >= 0 ? best : top;
    int64_t end;
    if (__builtin_add_overflow(item.offset, size, &end))
      return -1;
    total = end > total ? end : total;
    int64_t at = placed;
    for (; at > 0 && places[at - 1].offset > item.offset; --at)
      places[at] = places[at - 1];
    places[at] = {first, last, item.offset, end};
  }
  return total;
}

/// The most bytes that are alive at one time; that is at the beginning of some item. `changes` has `room` words.
static int64_t largestSum(const Lifetime *items, const int64_t *order, int64_t count, int64_t *changes, int64_t room) {
  int64_t end = 0;
  for (int64_t i = 0; i < count; ++i)
    end = items[order[i]].last + 2 > end ? items[order[i]].last + 2 : end;
  if (end <= room) { // Sums do not overflow: the items have places.
    for (int64_t step = 0; step < end; ++step)
      changes[step] = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Lifetime &item = items[order[i]];
      changes[item.first] += rounded(item.bytes);
      changes[item.last + 1] -= rounded(item.bytes);
    }
    int64_t most = 0, sum = 0;
    for (int64_t step = 0; step < end; ++step) {
      sum += changes[step];
      most = sum > most ? sum : most;
    }
    return most;
  }
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t sum = 0, step = items[order[i]].first;
    for (int64_t k = 0; k < count; ++k)
      if (const Lifetime &other = items[order[k]]; other.first <= step && step <= other.last)
        sum += rounded(other.bytes);
    most = sum > most ? sum : most;
  }
  return most;
}

/// Whether all of these items, and no others, are in an order.
static bool isOrderOf(const Lifetime *items, int64_t count, int64_t wanted, PlanOrder &known) {
  bool isSame = known.count == wanted && wanted > 0;
  for (int64_t i = 0; isSame && i < wanted; ++i) // no item is there twice
    if (const Lifetime &item = items[known.items()[i]]; item.first > item.last || item.bytes == 0)
      isSame = false;
  return isSame && known.room >= count;
}

static int64_t excessOf(int64_t total, int64_t alive) {
  double more = static_cast<double>(total - alive) / static_cast<double>(alive > 0 ? alive : 1);
  return static_cast<int64_t>(more * PlanOrder::kExcessOfAll);
}

// Once for a graph: made for size.
[[gnu::cold]] void planMemory(Lifetime *items, int64_t count, int64_t *scratch, int64_t &total, PlanOrder *known) {
  int64_t *order = scratch, *bestOrder = scratch + count, *words = scratch + 2 * count;
  Placed *const places = reinterpret_cast<Placed *>(words);
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
  }
  constexpr int64_t kLittle = 64; // one part of so many
  if (known && isOrderOf(items, count, wanted, *known)) {
    total = place(items, known->items(), wanted, places);
    if (total < 0)
      return;
    int64_t alive = largestSum(items, order, wanted, words, count);
    int64_t excess = excessOf(total, alive), little = PlanOrder::kExcessOfAll / kLittle;
    if (excess <= little || (total / 2 <= known->total && excess <= known->excess + little))
      return;
  }
  for (int64_t i = 1; i <= wanted; ++i)
    insertLast(order, i, [&](int64_t a, int64_t b) { return items[a].bytes > items[b].bytes; });
  total = place(items, order, wanted, places);
  if (total < 0)
    return;
  // What sticks out at the top came too late to find a place below: let it choose first.
  const int64_t alive = largestSum(items, order, wanted, words, count);
  int64_t enough = alive + alive / kLittle, now = total;
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
    now = place(items, order, wanted, places);
    if (now < 0) // The sums that are added up depend on the order.
      break;
    if (now >= total)
      continue;
    total = now;
    for (int64_t i = 0; i < wanted; ++i)
      bestOrder[i] = order[i];
  }
  if (now != total)
    place(items, bestOrder, wanted, places);
  if (known && known->room >= count) {
    known->count = wanted;
    known->excess = excessOf(total, alive);
    known->total = total;
    for (int64_t i = 0; i < wanted; ++i)
      known->items()[i] = bestOrder[i];
  }
}

// Once for a context: made for size.
[[gnu::cold]] bool PlanOrders::start(const Model &model, bool isDevice) {
  int64_t count = model.header().numFunctions;
  orders = memory.array<PlanOrder *>(count);
  for (int64_t i = 0; orders && i < count; ++i) {
    const table::FunctionRec &function = model.function(i);
    int64_t room =
        function.numBuffers + (isDevice ? 0 : function.numSteps); // as planWorkspace and planDevice count them
    for (int64_t step = function.firstStep; step < function.firstStep + function.numSteps; ++step)
      room += isDevice ? model.deviceStep(step).numScratch : model.step(step).numMerges;
    void *own = memory.allocate(static_cast<int64_t>(sizeof(PlanOrder) / sizeof(int64_t)) + room, sizeof(int64_t));
    if (!own)
      return false;
    orders[i] = new (own) PlanOrder{room};
  }
  return orders;
}

PlanOrder *PlanOrders::take(int64_t function) {
  return orders ? __atomic_exchange_n(&orders[function], nullptr, __ATOMIC_ACQUIRE) : nullptr;
}

void PlanOrders::give(int64_t function, PlanOrder *order) {
  if (order)
    __atomic_store_n(&orders[function], order, __ATOMIC_RELEASE);
}

} // namespace gnnc::runtime
