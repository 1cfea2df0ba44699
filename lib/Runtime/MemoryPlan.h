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

namespace gnnc::runtime {

struct Lifetime {
  int64_t bytes;
  int64_t first, last; ///< steps in which it holds something; first > last: never
  int64_t offset;      ///< result, a multiple of kAlignment
};

inline constexpr int64_t kPlanWords = 3;

/// `scratch` has room for kPlanWords * count words. `total` becomes the bytes needed, or -1 if they do not fit in 63
/// bits.
void planMemory(Lifetime *items, int64_t count, int64_t *scratch, int64_t &total);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_MEMORYPLAN_H
