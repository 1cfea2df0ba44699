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

} // namespace gnnc::runtime
