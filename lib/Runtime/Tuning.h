//===- Tuning.h - Choices that were measured --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tuning is text, one record a line; what follows a # is for people. `gnnc tune` writes it and `prepare` reads it:
//
//   gnnc-tune 1 9f0c...            version of this format; digest of the model's table, 16 hexadecimal digits
//   graph cuda 90                  a graph it was measured on: cpu, or cuda and the architecture
//   extent node 2708               of each of its spaces
//   function forward forward.few_owners        which function runs in place of which
//   sweep gnnc_kernel3 by_size 32 8            from how many members on each schedule of a sweep takes an owner, in a
//                                              worklist that is by_size or by_owner
//
// A graph is like another if no extent is more than a quarter of the smaller one away. Of several like it the nearest
// is taken.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_TUNING_H
#define GNNC_RUNTIME_TUNING_H

#include "Error.h"
#include "Memory.h"
#include "Model.h"

namespace gnnc::runtime {

constexpr int64_t kTuningVersion = 1;
/// For the architecture of readTuning.
constexpr int64_t kOnCPU = 0, kAnyGPU = -1;

/// What a tuning says of graphs like one. Null lists: nothing.
struct Tuning {
  const int64_t *functions = nullptr; ///< for each function, the one that runs in its place; -1: not said
  const int64_t *least = nullptr;     ///< for each launch of items, its least members; -1: not said
  const bool *bySize = nullptr;       ///< and for which order of the worklist
};

/// Checks all of `text` against the model and finds what it says of a graph with these extents. The lists are of
/// `memory`.
gnnc_status readTuning(const Model &model, const char *text, int64_t architecture, const int64_t *extents,
                       Memory &memory, Tuning &result, gnnc_error *error);

/// The first launch of a step's schedules and their number; 0 where it has no worklist.
struct Schedules {
  int64_t first = 0, count = 0;
};
Schedules schedulesOf(const Model &model, int64_t step);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_TUNING_H
