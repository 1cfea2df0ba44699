//===- Choose.h - Steps that say where a map leads --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CHOOSE_H
#define GNNC_RUNTIME_CHOOSE_H

#include "Context.h"
#include "Parts.h"

namespace gnnc::runtime {

/// What says where a map leads.
inline bool isChoice(const table::StepRec &step) { return step.kind == table::StepKind::Nearest; }
/// Whether a map leads through what the program chooses.
bool isChosenMap(const Model &model, int64_t map);

/// Runs a choosing step, whose buffers have these addresses: finds what is chosen, and makes the index arrays that
/// other steps read.
GNNC_OF_PART void choose(gnnc_context &context, const Call &call, const table::StepRec &record,
                         const PreparedStep &step, void *const *buffers);

/// Where a function finds what its choices make: an index array, or (`index` is -1) the items of a map's worklist.
void *chosenArray(const Call &call, int64_t index, int64_t map = -1);
/// The index arrays of a step, some of which a choice has made: `room` has a place for each. Without a room nothing was
/// chosen.
const int32_t *const *followChoices(const Call &call, const table::StepRec &record, const PreparedStep &step,
                                    const int32_t **room);

namespace cuda {
/// The memory that a choosing step works in on this graph.
GNNC_OF_PART int64_t choiceBytes(const gnnc_graph &graph, int64_t step);
} // namespace cuda

/// A search for the nearest points, as a step has it.
struct NearestSearch {
  const void *points;  ///< by element: `width` numbers each, as the queries
  const void *queries; ///< by owner
  void *columns;       ///< room for the points by number, then by position
  void *distances;     ///< room for one of each chosen element
  int32_t *chosen;     ///< the result
  int64_t width, count;
  bool isDouble, others;
  const int32_t *owners;   ///< [owners + 1]: where what is chosen for each begins
  const int32_t *groups;   ///< of each owner; null: all belong together
  const int32_t *pointers; ///< of each group: where its positions begin
  const int32_t *members;  ///< the point at each position; null: itself
  int64_t level;           ///< of the processor, see table::Variant
};

/// Brings points [begin, end), by position, into columns.
void fillColumns(const NearestSearch &search, int64_t begin, int64_t end);
/// Finds the nearest points for owners [begin, end).
void findNearest(const NearestSearch &search, int64_t begin, int64_t end);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_CHOOSE_H
