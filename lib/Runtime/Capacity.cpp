//===- Capacity.cpp - Graphs that may change ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Capacity.h"
#include "Choose.h"
#include "Partition.h"
#include "Ranks.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t piecesOf(int64_t count, int64_t size) { return (count + size - 1) / size; }

static gnnc_status rootCapacity(const Model &model, const gnnc_graph_desc &desc, int64_t space, int64_t extent,
                                int64_t &capacity, gnnc_error *error) {
  const char *name = model.name(model.space(space).name);
  capacity = extent;
  bool found = false;
  for (int32_t i = 0; i < desc.num_capacities; ++i) {
    const gnnc_extent &given = desc.capacities[i];
    if (strcmp(given.space, name) != 0)
      continue;
    if (found)
      return fail(error, GNNC_INVALID_ARGUMENT, "space '%s': its capacity is given twice", name);
    found = true;
    capacity = given.extent;
  }
  if (capacity > kMaxExtent)
    return fail(error, GNNC_UNSUPPORTED, "space '%s': expected a capacity of at most %lld, found %lld", name,
                static_cast<long long>(kMaxExtent), static_cast<long long>(capacity));
  if (extent > capacity)
    return fail(error, GNNC_INVALID_GRAPH, "space '%s': expected a capacity of its extent, %lld, or more, found %lld",
                name, static_cast<long long>(extent), static_cast<long long>(capacity));
  return GNNC_OK;
}

/// From those of the spaces it is made of, which come earlier.
static int64_t derivedCapacity(const Model &model, int64_t space, const int64_t *capacities) {
  const SpaceRec &record = model.space(space);
  int64_t total = 0;
  switch (record.kind) {
  case SpaceKind::Static:
    return record.extent;
  case SpaceKind::Filter:
    return capacities[record.base];
  case SpaceKind::Union:
    for (int64_t i = 0; i < record.numParts; ++i)
      total += capacities[model.list(record.partsAt)[i]];
    return total;
  case SpaceKind::Pairs:
    return __builtin_mul_overflow(capacities[record.base], capacities[record.of], &total) ? kMaxExtent + 1 : total;
  case SpaceKind::Selection:
    return __builtin_mul_overflow(capacities[record.base], least(record.most, capacities[record.of]), &total)
               ? kMaxExtent + 1
               : total;
  default: // SpaceKind::Distinct: no more tuples than there can be, nor than elements
    total = 1;
    for (int64_t i = 0; i < record.numMaps; ++i) {
      int64_t map = model.list(record.mapsAt)[i];
      int64_t values = capacities[map == kIdentity ? record.base : model.map(map).to];
      if (__builtin_mul_overflow(total, values, &total))
        return capacities[record.base];
    }
    return least(total, capacities[record.base]);
  }
}

gnnc_status findCapacities(const Model &model, const gnnc_graph_desc &desc, const int64_t *extents, Memory &memory,
                           const int64_t *&capacities, gnnc_error *error) {
  capacities = nullptr;
  if (desc.num_capacities == 0)
    return GNNC_OK;
  if (desc.num_capacities < 0 || !desc.capacities)
    return fail(error, GNNC_INVALID_ARGUMENT, "graph description: num_capacities is %d%s", desc.num_capacities,
                desc.capacities ? "" : ", but capacities is null");
  for (int32_t i = 0; i < desc.num_capacities; ++i)
    if (!desc.capacities[i].space)
      return fail(error, GNNC_INVALID_ARGUMENT, "graph description: capacity %d has no name", i);
  const Header &header = model.header();
  int64_t *result = memory.array<int64_t>(header.numSpaces);
  if (!result)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the capacities");
  const int64_t *order = model.list(header.orderAt);
  for (int64_t i = 0; i < header.numSpaces; ++i)
    result[i] = 0;
  for (int64_t i = 0; i < header.numOrder; ++i) {
    int64_t space = order[i] / 2;
    if (order[i] % 2 != 0)
      continue;
    if (model.space(space).kind != SpaceKind::Root)
      result[space] = derivedCapacity(model, space, result);
    else if (gnnc_status status = rootCapacity(model, desc, space, extents[space], result[space], error))
      return status;
    if (result[space] > kMaxExtent)
      return fail(error, GNNC_UNSUPPORTED, "space '%s': expected a capacity of at most %lld, found %lld",
                  model.name(model.space(space).name), static_cast<long long>(kMaxExtent),
                  static_cast<long long>(result[space]));
  }
  capacities = result;
  return GNNC_OK;
}

gnnc_status checkCapacities(const Model &model, const int64_t *extents, const int64_t *capacities, gnnc_error *error) {
  for (int64_t i = 0; i < model.header().numSpaces; ++i)
    if (model.space(i).kind == SpaceKind::Root && extents[i] > capacities[i])
      return fail(error, GNNC_INVALID_GRAPH, "space '%s': expected at most %lld elements, its capacity, found %lld",
                  model.name(model.space(i).name), static_cast<long long>(capacities[i]),
                  static_cast<long long>(extents[i]));
  return GNNC_OK;
}

int64_t mostBlocks(const Model &model, const StepRec &step, const int64_t *capacities) {
  // Blocks have 64 rows or a weight of 1024 at least, and there are no more than so many (Partition.cpp).
  auto blocks = [](int64_t count, int64_t size) { return least(piecesOf(count, size), kMaxMergedBlocks); };
  if (isCollective(step) || isChoice(step)) // of one rank alone; nothing for each block
    return 0;
  if (step.kind == StepKind::Rows)
    return blocks(step.space < 0 ? 1 : capacities[step.space], 64);
  if (isChosenMap(model, step.map))
    return blocks(capacities[model.map(step.map).to], 64);
  int64_t members = capacities[model.map(step.map).from], owners = capacities[model.map(step.map).to];
  return step.kind == StepKind::Sweep ? blocks(members + owners, 1024) : owners + blocks(members, 64);
}

} // namespace gnnc::runtime
