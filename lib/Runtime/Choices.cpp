//===- Choices.cpp - Where what a run chooses is found --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

bool isChosenMap(const Model &model, int64_t map) {
  const MapRec &record = model.map(map);
  for (int64_t i = 0; i < record.numParts; ++i)
    if (int64_t part = model.list(record.partsAt)[i]; part >= 0 && isChosenMap(model, part))
      return true;
  return record.kind == MapKind::Chosen || (record.kind == MapKind::Owner && model.space(record.from).open);
}

void *chosenArray(const Call &call, int64_t index, int64_t map) {
  const FunctionRec &function = call.record();
  const auto *list = reinterpret_cast<const ChosenRec *>(call.graph.model.list(function.chosenAt));
  for (int64_t k = 0; k < function.numChosen; ++k)
    if (list[k].index == index && (index >= 0 || list[k].map == map))
      return call.pointer(list[k].buffer);
  return nullptr;
}

const int32_t *const *followChoices(const Call &call, const StepRec &record, const PreparedStep &step,
                                    const int32_t **room) {
  if (call.record().numChosen == 0)
    return step.indices;
  const Model &model = call.graph.model;
  for (int64_t k = 0; k < record.numIndices; ++k) {
    int64_t index = model.list(record.indicesAt)[k];
    room[k] = model.index(index).isChosen ? static_cast<const int32_t *>(chosenArray(call, index)) : step.indices[k];
  }
  return room;
}

int64_t openPointers(const Call &call, int64_t space) {
  const Model &model = call.graph.model;
  const FunctionRec &function = call.record();
  const auto *list = reinterpret_cast<const ChosenRec *>(model.list(function.chosenAt));
  for (int64_t k = 0; k < function.numChosen; ++k)
    if (list[k].index >= 0 && model.index(list[k].index).kind == IndexKind::Pointers)
      if (const MapRec &map = model.map(list[k].map); map.kind == MapKind::Owner && map.from == space)
        return list[k].index;
  return -1;
}

const int64_t *followExtents(const Call &call, int64_t step, int64_t *room) {
  const Model &model = call.graph.model;
  const FunctionRec &function = call.record();
  const int64_t *extents = call.graph.extents;
  if (function.numChosen == 0)
    return extents;
  memcpy(room, extents, model.header().numSpaces * sizeof *room);
  const auto *list = reinterpret_cast<const ChosenRec *>(model.list(function.chosenAt));
  for (int64_t k = 0; k < function.numChosen; ++k) {
    const MapRec &map = model.map(list[k].map);
    if (list[k].index < 0 || model.index(list[k].index).kind != IndexKind::Pointers || map.kind != MapKind::Owner ||
        model.buffer(list[k].buffer).first >= step - function.firstStep)
      continue;
    room[map.from] = static_cast<const int32_t *>(call.pointer(list[k].buffer))[extents[map.to]];
  }
  return room;
}

} // namespace gnnc::runtime
