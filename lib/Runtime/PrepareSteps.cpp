//===- PrepareSteps.cpp - The blocks that steps are cut into --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "Preparation.h"

namespace gnnc::runtime {

using namespace table;

gnnc_status Preparation::cutStep(int64_t number, Partition &result) {
  const StepRec &step = model.step(number);
  auto isMerged = [](const StepRec &step) { return step.numMerges > 0 || step.blockBytes > 0; };
  auto mergedNumbers = [&](const StepRec &step) {
    int64_t elements = 0;
    for (int64_t k = 0; k < step.numMerges; ++k)
      elements += model.merge(step, k).elements;
    return elements;
  };
  bool merged = isMerged(step);
  int64_t elements = mergedNumbers(step);
  // Steps that are cut alike share their blocks.
  for (int64_t i = 0; i < numCut; ++i) {
    const StepRec &other = model.step(cut[i]);
    if (other.kind == step.kind && other.map == step.map && other.space == step.space && isMerged(other) == merged &&
        isLargeMerge(mergedNumbers(other)) == isLargeMerge(elements)) {
      result = graph.steps[cut[i]].partition;
      return GNNC_OK;
    }
  }
  cut[numCut++] = number;
  if (isCollective(step)) {
    // Each rank's value is like a block's.
    result.blocks = graph.ranks.size > 1 ? graph.ranks.size : 0;
    return GNNC_OK;
  }
  if (step.kind == StepKind::Rows) {
    result = partitionRows(step.space < 0 ? 1 : graph.extents[step.space], merged, elements);
    return GNNC_OK;
  }
  if (isChoice(step)) {
    int64_t owners = graph.extents[model.space(step.space).base];
    result = partitionRows(owners, /*merged=*/false);
    if (step.kind == StepKind::Farthest) { // An owner takes as many passes over its members as are chosen.
      result.blockRows = 1;
      result.blocks = owners;
    }
    return GNNC_OK;
  }
  if (topology.maps[step.map].isChosen) {
    // How many members owners have is not known, so blocks have as many owners.
    result = partitionRows(graph.extents[model.map(step.map).to], merged, elements);
    return GNNC_OK;
  }
  const Grouping *grouping;
  if (gnnc_status status = indices.grouping(step.map, grouping))
    return status;
  bool done = step.kind == StepKind::Sweep ? partitionSweep(*grouping, memory, result)
                                           : partitionGrouped(*grouping, merged, memory, result);
  return done ? GNNC_OK : outOfMemory("the blocks of a step");
}

gnnc_status Preparation::cutSteps() {
  graph.steps = memory.array<PreparedStep>(header.numSteps);
  int64_t numPointers = 0;
  for (int64_t i = 0; i < header.numSteps; ++i)
    numPointers += model.step(i).numIndices;
  const int32_t **pointers = memory.array<const int32_t *>(numPointers);
  cut = scratch.array<int64_t>(header.numSteps);
  if (!graph.steps || !pointers || !cut)
    return outOfMemory("the list of steps");
  for (int64_t i = 0; i < header.numSteps; ++i) {
    const StepRec &record = model.step(i);
    PreparedStep step;
    if (isUsed(i))
      if (gnnc_status status = cutStep(i, step.partition))
        return status;
    step.indices = pointers;
    for (int64_t k = 0; k < record.numIndices; ++k)
      *pointers++ = arrays[model.list(record.indicesAt)[k]];
    graph.steps[i] = step;
  }
  // Groupings are not asked for any more: keep what the table lists.
  for (int64_t i = 0; i < header.numIndices; ++i) {
    bool seen = !arrays[i];
    for (int64_t j = 0; j < i && !seen; ++j)
      seen = arrays[j] == arrays[i];
    if (!seen)
      memory.adopt(arrays[i], scratch);
  }
  return GNNC_OK;
}

} // namespace gnnc::runtime
