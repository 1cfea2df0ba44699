//===- Indices.h - Groupings and index arrays -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *grouping* lists the elements of a map's domain owner by owner (a stable counting sort by target). It is made once
// for each map, whoever asks, and shares arrays wherever it can: elements that already stand in order need no list of
// their own, and equal arrays are kept once.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_INDICES_H
#define GNNC_RUNTIME_INDICES_H

#include "Topology.h"

namespace gnnc::runtime {

struct Grouping {
  const int32_t *pointers = nullptr; ///< [owners + 1]
  const int32_t *members = nullptr;  ///< [count]; null: position k holds element k
  int64_t owners = 0;
  int64_t count = 0; ///< elements where the map is defined
  /// On a device, where it was made with the grouping: the targets of map `sortedMap` in the members' order. There may
  /// then be no members, though elements are not in order.
  const int32_t *sorted = nullptr;
  int64_t sortedMap = table::kIdentity;
  bool inOrder() const { return !members && !sorted; }
};

class Indices {
public:
  explicit Indices(Topology &topology) : topology(topology) {}

  /// Room for the groupings; before anything else.
  gnnc_status start();
  gnnc_status grouping(int64_t map, const Grouping *&result);
  /// On a device, for all maps that will be grouped at once: what grouping them has to know.
  GNNC_OF_PART gnnc_status examineOnDevice(const bool *wanted);
  /// Which arrays will be asked for, so that groupings on a device make no others. Without it all are made.
  GNNC_OF_PART gnnc_status plan(const bool *used);
  /// After all was waited for: says what is wrong with a map that was grouped while it was read. If such a map's
  /// elements proved to be in order, there are no members where there need not be.
  gnnc_status settle(const int32_t **arrays);
  /// The array of one record of the table.
  gnnc_status array(const table::IndexRec &record, const int32_t *&data, int64_t &length);
  /// Makes arrays of equal contents one.
  static void share(const int32_t **arrays, const int64_t *lengths, int64_t count);

private:
  gnnc_status makeGrouping(int64_t map, Grouping &result);
  // Pairs.cpp
  GNNC_OF_PART gnnc_status groupPairs(int64_t map, const int64_t (&maps)[2], Grouping &result);
  GNNC_OF_PART gnnc_status shiftOfPairs(int64_t map, const int32_t *&data, int64_t &length);
  GNNC_OF_PART gnnc_status groupPairsOnDevice(const int32_t *own, const Grouping &other, Grouping &result);
  GNNC_OF_PART gnnc_status shiftOfPairsOnDevice(const int32_t *own, const Grouping &pairs, const Grouping &other,
                                                const int32_t *&data);
  // CUDA/DeviceTopology.cpp
  GNNC_OF_PART gnnc_status makeGroupingOnDevice(int64_t map, Grouping &result);
  bool isSortedUnasked(int64_t map) const;
  bool canBeSortedUnasked(int64_t map) const;
  GNNC_OF_PART gnnc_status arrayOnDevice(const table::IndexRec &record, const int32_t *&data, int64_t &length);
  gnnc_status naturalNumbers(int64_t count, const int32_t *&data);
  gnnc_status outOfMemory(int64_t map);

  /// What a grouping on a device has to make besides its rows.
  struct Wanted {
    bool members = true;
    int64_t sortedMap = table::kIdentity;
  };

  Topology &topology;
  Wanted *wanted = nullptr;
  Grouping *groupings = nullptr;
  const int32_t *naturals = nullptr;
  int64_t numNaturals = -1;
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_INDICES_H
