//===- Top.cpp - The elements with the largest scores ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each owner's elements a heap keeps the first so far, the last of them on top, where what is chosen will be; then
// it is sorted in place.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"

namespace gnnc::runtime {

namespace {

template <typename T> class Top {
public:
  Top(const TopSearch &search, int64_t owner)
      : scores(static_cast<const T *>(search.scores)), heap(search.from.chosen + search.from.owners[owner]),
        room(search.from.owners[owner + 1] - search.from.owners[owner]) {}

  void find(const Candidates &from, int64_t owner) {
    int64_t next = from.begin(owner);
    for (int64_t count = 0; count < room; ++count)
      heap[count] = from.member(next++);
    for (int64_t i = room / 2; i-- > 0;)
      sink(i, room);
    for (int64_t end = from.end(owner); room > 0 && next < end; ++next)
      if (int32_t number = from.member(next); isBefore(number, heap[0])) {
        heap[0] = number;
        sink(0, room);
      }
    for (int64_t count = room - 1; count > 0; --count) {
      int32_t last = heap[0];
      heap[0] = heap[count];
      heap[count] = last;
      sink(0, count);
    }
  }

private:
  /// Larger scores, and of equal ones the smaller number; not-a-number is behind all else.
  bool isBefore(int32_t a, int32_t b) const {
    T x = scores[a], y = scores[b];
    bool isNumber = x == x, isOther = y == y;
    if (isNumber != isOther)
      return isNumber;
    if (isNumber && x != y)
      return x > y;
    return a < b;
  }

  void sink(int64_t at, int64_t count) {
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
      if (child + 1 < count && isBefore(heap[child], heap[child + 1]))
        ++child;
      if (!isBefore(heap[at], heap[child]))
        return;
      int32_t swapped = heap[at];
      heap[at] = heap[child];
      heap[child] = swapped;
    }
  }

  const T *scores;
  int32_t *heap;
  int64_t room;
};

template <typename T> void findRows(const TopSearch &search, int64_t begin, int64_t end) {
  for (int64_t owner = begin; owner < end; ++owner)
    Top<T>(search, owner).find(search.from, owner);
}

} // namespace

void findTop(const TopSearch &search, int64_t begin, int64_t end) {
  search.isDouble ? findRows<double>(search, begin, end) : findRows<float>(search, begin, end);
}

} // namespace gnnc::runtime
