//===- Describe.h - What was chosen for a graph -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_DESCRIBE_H
#define GNNC_RUNTIME_DESCRIBE_H

#include "Graph.h"

namespace gnnc::runtime {

/// Writes JSON and a zero, as far as they fit into `capacity` bytes; returns the length of all of it without the zero.
///
///   {"digest": "9f0c...", "device": "cpu", or "cuda" with "architecture": 90 (0: planned), "processors": 132,
///    "extents": [{"space": "node", "extent": 2708, "capacity": 2708}, ...],
///    "functions": [{"function": "forward", "chosen": "forward.few_owners", "by": "cost", "capacity" or "tuning",
///                   "costs": [{"function": "forward", "cost": 1200, "percent": 90}, ...]}, ...],
///    "worklists": [{"map": "dst", "owners": 2708, "members": 10556, "chunk": 256, "items": 2708, "heavy_owners": 0,
///                   "heavy_items": 0, "by_size": false, "at_least": [2708, ...]}, ...],
///    "sweeps": [{"kernel": "gnnc_kernel3", "function": "forward", "map": "dst", "by": "size", "average" or "tuning",
///                "launches": [{"kernel": "gnnc_kernel3", "least": 32, "below": -1, "items": 7, "blocks": 1}]}, ...]}
///
/// Functions are those there are alternatives to, with those first; sweeps are those of functions that run.
/// `at_least`: of items by size, how many have 1, 2, 4, ... members or a share of a heavy owner.
size_t describeChoices(const gnnc_graph &graph, char *text, size_t capacity);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_DESCRIBE_H
