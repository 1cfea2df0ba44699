//===- Partition.h - Blocks of a kernel's work ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks depend on the graph and on the step only, never on the number of threads: partial sums belong to blocks and
// are added in block order, so results are the same bits whoever computed them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_PARTITION_H
#define GNNC_RUNTIME_PARTITION_H

#include "Indices.h"

namespace gnnc::runtime {

/// Blocks of a step. Block b is [begin[b], end[b]), for owner[b]; where `begin` is null, it is rows
/// [b*blockRows, min((b+1)*blockRows, rows)). Null `owner`: no owner (-1).
struct Partition {
  int64_t blocks = 0;
  int64_t rows = 0;
  int64_t blockRows = 0;
  const int32_t *begin = nullptr;
  const int32_t *end = nullptr;
  const int32_t *owner = nullptr;
  const int32_t *order = nullptr; ///< which block is started as number i; null: block i

  /// Runs the block that comes as number `turn`.
  void run(const table::Frame &frame, table::Kernel kernel, int64_t turn) const;
};

/// Most blocks of a step that keeps a partial result for each (StepKind::Grouped: besides one for each owner).
constexpr int64_t kMaxMergedBlocks = 256;

/// StepKind::Rows. `merged`: the step has partial results, of so many numbers for each block: to write and to add up
/// many of them takes as long as some rows.
Partition partitionRows(int64_t rows, bool merged, int64_t elements = 0);
/// Whether partial results of so many numbers are a reason for larger blocks.
bool isLargeMerge(int64_t elements);
/// StepKind::Sweep: owners in blocks of about equal weight (members + owners). False when memory runs out.
bool partitionSweep(const Grouping &grouping, Memory &memory, Partition &result);
/// StepKind::Grouped: positions of the grouping, each block within one owner. False when memory runs out.
bool partitionGrouped(const Grouping &grouping, bool merged, Memory &memory, Partition &result);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_PARTITION_H
