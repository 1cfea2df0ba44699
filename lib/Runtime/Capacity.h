//===- Capacity.h - Graphs that may change ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The largest that anything gets on a graph whose root spaces have capacities: extents of derived spaces, blocks of
// steps. What is placed in the workspace is placed for these.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CAPACITY_H
#define GNNC_RUNTIME_CAPACITY_H

#include "Error.h"
#include "Memory.h"
#include "Model.h"

namespace gnnc::runtime {

/// Extents that spaces have at most, from those the caller gives for root spaces; one that is not given keeps its
/// extent. Null if `desc` has none.
gnnc_status findCapacities(const Model &model, const gnnc_graph_desc &desc, const int64_t *extents, Memory &memory,
                           const int64_t *&capacities, gnnc_error *error);

/// Whether no extent of a root space is beyond its capacity.
gnnc_status checkCapacities(const Model &model, const int64_t *extents, const int64_t *capacities, gnnc_error *error);

/// Blocks that a step of a CPU has at most, of those that leave partial results.
int64_t mostBlocks(const Model &model, const table::StepRec &step, const int64_t *capacities);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_CAPACITY_H
