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
inline bool isChoice(const table::StepRec &step) { return table::isChoice(step.kind); }
/// Whether a map leads through what the program chooses.
bool isChosenMap(const Model &model, int64_t map);

/// Runs a choosing step, whose buffers have these addresses: finds what is chosen, and makes the index arrays that
/// other steps read. `extents` are those of this call.
GNNC_OF_PART void choose(gnnc_context &context, const Call &call, const table::StepRec &record,
                         const PreparedStep &step, void *const *buffers, const int64_t *extents);

/// Where a function finds what its choices make: an index array, or (`index` is -1) the items of a map's worklist.
GNNC_OF_PART void *chosenArray(const Call &call, int64_t index, int64_t map = -1);
/// The index arrays of a step, some of which a choice has made: `room` has a place for each.
GNNC_OF_PART const int32_t *const *followChoices(const Call &call, const table::StepRec &record,
                                                 const PreparedStep &step, const int32_t **room);

/// How many elements spaces have in this call when a step runs: as many as were chosen, or else as the graph has.
/// `room` has a place for each space. `partition` loses the blocks that are behind them.
GNNC_OF_PART const int64_t *followExtents(const Call &call, int64_t step, int64_t *room, Partition &partition);

namespace cuda {
/// Whether a kernel's argument is about what the run chooses, and then what it is.
GNNC_OF_PART bool chosenWord(const Call &call, int64_t step, int64_t launch, const table::WordRec &word,
                             int64_t &value);
/// The memory that a choosing step works in on this graph.
GNNC_OF_PART int64_t choiceBytes(const gnnc_graph &graph, int64_t step);
} // namespace cuda

/// What a step chooses from.
struct Candidates {
  int32_t *chosen = nullptr;         ///< the result
  int32_t *owners = nullptr;         ///< [owners + 1]: where what is chosen for each begins
  int64_t count = 0;                 ///< elements to choose from
  bool others = false;               ///< nobody is chosen for itself
  const int32_t *groups = nullptr;   ///< of each owner; null: itself with `pointers`, else all belong together
  const int32_t *pointers = nullptr; ///< of each group: where its positions begin
  const int32_t *members = nullptr;  ///< the element at each position; null: itself

  int64_t groupOf(int64_t owner) const { return groups ? groups[owner] : owner; }
  int64_t begin(int64_t owner) const { return pointers ? pointers[groupOf(owner)] : 0; }
  int64_t end(int64_t owner) const { return pointers ? pointers[groupOf(owner) + 1] : count; }
  int32_t member(int64_t position) const { return members ? members[position] : static_cast<int32_t>(position); }
};

/// A search for the nearest points, as a step has it.
struct NearestSearch {
  Candidates from;
  const void *points;  ///< by element: `width` numbers each, as the queries
  const void *queries; ///< by owner
  void *columns;       ///< room for the points by number, then by position
  void *distances;     ///< room for one of each chosen element
  int64_t width;
  bool isDouble;
  int64_t level;          ///< of the processor, see table::Variant
  int32_t *tree;          ///< null, or room for four numbers for each point
  const int32_t *belongs; ///< the group of each point; null: all belong together
  int64_t groups;
};

/// Whether there are so many points that a tree finds them.
bool hasManyPoints(const NearestSearch &search);
/// Puts the points in an order, group by group, which `fillColumns` has to be told; and then makes the tree.
void sortPoints(const NearestSearch &search);
void boxPoints(const NearestSearch &search);
/// Finds the nearest points for owners [begin, end) by the tree.
void findNearestInTree(const NearestSearch &search, int64_t begin, int64_t end);

/// Brings points [begin, end), by position, into columns.
void fillColumns(const NearestSearch &search, int64_t begin, int64_t end);
/// Finds the nearest points for owners [begin, end).
void findNearest(const NearestSearch &search, int64_t begin, int64_t end);

/// A search for points nearer than a radius.
struct WithinSearch {
  Candidates from;
  const void *points, *queries; ///< as above
  int32_t *cells;               ///< room for three numbers for each point, and three more
  const int32_t *belongs;       ///< the group of each point; null: all belong together
  int64_t groups;
  int64_t width, most;
  int64_t square; ///< of the radius: the bits of a double
  bool isDouble;
  int64_t cellCount = 0; ///< lists of points by their cells; 0: there are none, and all points of a group are tried
};

/// Lists points by their cells if there are many of two or three numbers, and says how many lists there are.
int64_t fillCells(const WithinSearch &search);
/// For owners [begin, end): how many points are nearer, one place behind the owner's; and which they are, by number.
void countWithin(const WithinSearch &search, int64_t begin, int64_t end);
void listWithin(const WithinSearch &search, int64_t begin, int64_t end);

/// A search for the elements with the largest scores.
struct TopSearch {
  Candidates from;
  const void *scores;
  bool isDouble;
};

/// Finds them for owners [begin, end).
void findTop(const TopSearch &search, int64_t begin, int64_t end);

/// A search for points that are far from each other.
struct FarthestSearch {
  Candidates from;
  const void *points; ///< by element
  const void *start;  ///< by element: the largest comes first; null: the smallest number does
  void *distances;    ///< room for one of each element to choose from
  int64_t width;
  bool isDouble;
};

/// Finds them for owners [begin, end).
void findFarthest(const FarthestSearch &search, int64_t begin, int64_t end);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_CHOOSE_H
