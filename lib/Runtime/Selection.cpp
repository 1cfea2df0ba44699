//===- Selection.cpp - How many elements a selection has ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "Topology.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

void *chosenArray(const Call &call, int64_t index, int64_t map) {
  const FunctionRec &function = call.record();
  const auto *list = reinterpret_cast<const ChosenRec *>(call.graph.model.list(function.chosenAt));
  for (int64_t k = 0; k < function.numChosen; ++k)
    if (list[k].index == index && (index >= 0 || list[k].map == map))
      return call.pointer(list[k].buffer);
  return nullptr;
}

/// How many of the available elements are chosen at most.
static int64_t limitChosen(const SpaceRec &record, int64_t available) {
  int64_t most = record.most;
  if (record.ratio) {
    double ratio;
    memcpy(&ratio, &record.ratio, sizeof ratio);
    double product = record.ratioBits == 32 ? static_cast<float>(ratio) * static_cast<float>(available)
                                            : ratio * static_cast<double>(available);
    auto whole = static_cast<int64_t>(product);
    whole += static_cast<double>(whole) < product;
    most = whole < most ? whole : most;
  }
  return available < most ? available : most;
}

/// For each element of the base as many as there are of where it belongs, at most `most`.
gnnc_status Topology::deriveSelection(int64_t space) {
  const SpaceRec &record = model.space(space);
  int64_t base = extents[record.base], of = extents[record.of];
  const int64_t *pair = record.numMaps ? model.list(record.mapsAt) : nullptr;
  int64_t groups = pair ? extents[model.map(pair[1]).to] : 1;
  int32_t *sizes = memory.array<int32_t>(groups);
  if (!sizes)
    return outOfMemory("space", spaceName(space), base);
  memset(sizes, 0, groups * sizeof(int32_t));
  // The identity has no targets.
  Targets own = pair ? targets(pair[0]) : Targets{}, others = pair ? targets(pair[1]) : Targets{};
  for (int64_t j = 0; pair && j < of; ++j)
    ++sizes[others[j]];
  if (!pair)
    sizes[0] = static_cast<int32_t>(of);
  auto countOf = [&](int64_t i) -> int64_t {
    int64_t group = pair ? own[i] : 0;
    // Who is not to be chosen for itself belongs where its owner does, if the maps are one.
    int64_t count = sizes[group] - (record.others && (!pair || others[i] == group) ? 1 : 0);
    return limitChosen(record, count);
  };
  int64_t total = 0;
  for (int64_t i = 0; i < base; ++i)
    total += countOf(i);
  if (total > kMaxExtent)
    return fail(error, GNNC_UNSUPPORTED, "space '%s': expected at most %lld elements, found %lld", spaceName(space),
                static_cast<long long>(kMaxExtent), static_cast<long long>(total));
  if (record.open) {
    memory.release(sizes);
    extents[space] = total;
    return GNNC_OK;
  }
  int32_t *owners = memory.array<int32_t>(total);
  if (!owners)
    return outOfMemory("space", spaceName(space), total);
  int64_t next = 0;
  for (int64_t i = 0; i < base; ++i)
    for (int64_t k = countOf(i); k > 0; --k)
      owners[next++] = static_cast<int32_t>(i);
  memory.release(sizes);
  extents[space] = total;
  spaces[space].members = owners;
  return GNNC_OK;
}

} // namespace gnnc::runtime
