//===- DevicePairs.cpp - Pairs of elements on a GPU -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Pairs.cpp does, where the arrays are on a device.
//
//===----------------------------------------------------------------------===//

#include "../Indices.h"
#include "Prepare.h"

extern const char gnnc_device_pairs = 0;

namespace gnnc::runtime {

using namespace table;

gnnc_status Topology::derivePairsOnDevice(int64_t space) {
  const SpaceRec &record = model.space(space);
  const int64_t *pair = model.list(record.mapsAt);
  const int32_t *own = targets(pair[0]).data, *other = targets(pair[1]).data;
  int64_t base = extents[record.base], of = extents[record.of], groups = extents[model.map(pair[0]).to];
  extents[space] = builder->countPairs(own, other, groups, base, of);
  // What was found out about root maps came with the number of pairs.
  if (gnnc_status status = builder->status ? builder->status : finishReading())
    return status;
  if (extents[space] > kMaxExtent)
    return tooManyPairs(space);
  if (record.isListed)
    builder->listPairs(own, other, groups, base, of, extents[space], spaces[space].members, spaces[space].partners);
  return builder->status;
}

gnnc_status Indices::groupPairsOnDevice(const int32_t *own, const Grouping &other, Grouping &result) {
  result.pointers = topology.builder->pointersOfPairs(own, other.pointers, result.owners);
  return topology.builder->status;
}

gnnc_status Indices::shiftOfPairsOnDevice(const int32_t *own, const Grouping &pairs, const Grouping &other,
                                          const int32_t *&data) {
  data = topology.builder->shiftOfPairs(own, pairs.pointers, other.pointers, pairs.owners);
  return topology.builder->status;
}

} // namespace gnnc::runtime

namespace gnnc::runtime::cuda {

int64_t GraphBuilder::countPairs(const int32_t *own, const int32_t *other, int64_t groups, int64_t base, int64_t of) {
  auto *sizes = static_cast<int32_t *>(cleared(groups * 4));
  int64_t *total = report ? &report->total : nullptr;
  fill(total, 2, 0);
  each(CountGroups, of, other, of, sizes);
  each(CountPairs, base, own, sizes, base, total);
  fetchReport();
  int64_t count = status ? 0 : page->total;
  fill(total, 2, 0); // Other sums leave the upper half alone.
  return count;
}

const int32_t *GraphBuilder::pointersOfPairs(const int32_t *own, const int32_t *places, int64_t base) {
  int32_t *counts = temporary(base), *pointers = array(base + 1);
  each(SizePairs, base, own, places, base, counts);
  int32_t *before = sumsBefore(counts, base, status ? nullptr : pointers + base);
  copy(pointers, before, base);
  release(counts);
  release(before);
  return pointers;
}

const int32_t *GraphBuilder::shiftOfPairs(const int32_t *own, const int32_t *pointers, const int32_t *places,
                                          int64_t base) {
  int32_t *shifts = array(base);
  each(ShiftPairs, base, own, pointers, places, base, shifts);
  return shifts;
}

void GraphBuilder::listPairs(const int32_t *own, const int32_t *other, int64_t groups, int64_t base, int64_t of,
                             int64_t count, const int32_t *&owners, const int32_t *&partners) {
  Grouping grouping;
  group(other, of, groups, /*inOrder=*/false, /*undefined=*/0, nullptr, /*wantsMembers=*/true, nullptr, grouping);
  const int32_t *pointers = pointersOfPairs(own, grouping.pointers, base);
  int32_t *first = array(count), *second = array(count);
  each(ListPairs, base, own, pointers, grouping.pointers, grouping.members, base, first, second);
  owners = first;
  partners = second;
}

} // namespace gnnc::runtime::cuda
