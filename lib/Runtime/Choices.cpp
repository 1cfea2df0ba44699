//===- Choices.cpp - Where what a run chooses is found --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"

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

} // namespace gnnc::runtime
