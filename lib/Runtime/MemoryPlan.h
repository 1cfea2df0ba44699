//===- MemoryPlan.h - Places of buffers in one workspace --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each buffer an offset so that buffers which live at the same time do not overlap: greedy by falling size, each
// into the smallest gap it fits between those placed already. Where that needs more than what is alive at one time,
// other orders are tried and the best is kept.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_MEMORYPLAN_H
#define GNNC_RUNTIME_MEMORYPLAN_H

#include "Memory.h"
#include "Model.h"

namespace gnnc::runtime {

struct Lifetime {
  int64_t bytes;
  int64_t first, last; ///< steps in which it holds something; first > last: never
  int64_t offset;      ///< result, a multiple of kAlignment
};

inline constexpr int64_t kPlanWords = 6;

/// The order in which items found good places, for those of another graph.
struct PlanOrder {
  int64_t room;       ///< of `items`
  int64_t count = 0;  ///< of items that were placed; 0: nothing is known yet
  int64_t excess = 0; ///< how much more memory they took than was alive at once, in parts of kExcessOfAll
  int64_t total = 0;  ///< that memory: for much more of it, more orders are worth trying
  int64_t *items() { return reinterpret_cast<int64_t *>(this + 1); }

  static constexpr int64_t kExcessOfAll = 1024;
};

/// `scratch` has room for kPlanWords * count words. `total` becomes the bytes needed, or -1 if they do not fit in 63
/// bits. `known`: null, or with room for `count` items: an order to begin with, and the one that was found; no others
/// are tried if it is as good as it was, for about as much memory.
void planMemory(Lifetime *items, int64_t count, int64_t *scratch, int64_t &total, PlanOrder *known = nullptr);

/// What the plans of a context's graphs learn from each other, by function: graphs of one model need much the same
/// order, and trying many takes longer than all else about a new graph.
class PlanOrders {
public:
  explicit PlanOrders(const gnnc_allocator &allocator) : memory(allocator) {}

  /// Takes all the memory that it needs; false: there is none.
  bool start(const Model &model, bool isDevice);
  /// Null where another thread has it, or nothing was started. The caller gives it back.
  PlanOrder *take(int64_t function);
  void give(int64_t function, PlanOrder *order);

private:
  Memory memory;
  PlanOrder **orders = nullptr;
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_MEMORYPLAN_H
