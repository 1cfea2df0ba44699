
#include "MemoryPlan.h"

namespace gnnc::runtime {

/// `count` words of `list` rise by less(a, b); equal ones keep their order. Lists are short (the buffers of a model).
template <typename Less> static void insertLast(int64_t *list, int64_t count, Less less) {
  for (int64_t i = count - 1; i > 0 && less(list[i], list[i - 1]); --i) {
    int64_t swapped = list[i];
    list[i] = list[i - 1];
    list[i - 1] = swapped;
  }
}

void planMemory(Lifetime *items, int64_t count, int64_t *scratch, int64_t &total) {
  int64_t *bySize = scratch, *byOffset = scratch + count;
  int64_t wanted = 0;
  for (int64_t i = 0; i < count; ++i) {
    items[i].offset = 0;
    if (items[i].first > items[i].last || items[i].bytes == 0)
      continue;
    bySize[wanted++] = i;
    insertLast(bySize, wanted, [&](int64_t a, int64_t b) { return items[a].bytes > items[b].bytes; });
  }

  total = 0;
  for (int64_t placed = 0; placed < wanted; ++placed) {
    Lifetime &item = items[bySize[placed]];
    int64_t size;
    if (__builtin_add_overflow(item.bytes, kAlignment - 1, &size)) {
      total = -1;
      return;
    }
    size -= size % kAlignment;
    // Walk over the neighbours in time from low to high offsets; `top` is where the free memory after them begins.
    int64_t top = 0, best = -1, bestGap = 0;
    for (int64_t i = 0; i < placed; ++i) {
      const Lifetime &other = items[byOffset[i]];
      if (other.last < item.first || item.last < other.first)
        continue;
      int64_t gap = other.offset - top;
      if (gap >= size && (best < 0 || gap < bestGap)) {
        best = top;
        bestGap = gap;
      }
      int64_t end = other.offset + (other.bytes + kAlignment - 1) / kAlignment * kAlignment;
      top = end > top ? end : top;
    }
    item.offset = best >= 0 ? best : top;
    int64_t end;
    if (__builtin_add_overflow(item.offset, size, &end)) {
      total = -1;
      return;
    }
    total = end > total ? end : total;
    byOffset[placed] = bySize[placed];
    insertLast(byOffset, placed + 1, [&](int64_t a, int64_t b) { return items[a].offset < items[b].offset; });
  }
}

} // namespace gnnc::runtime
