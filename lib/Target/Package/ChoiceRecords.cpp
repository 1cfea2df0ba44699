//===- ChoiceRecords.cpp - What steps make of maps they choose ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map to what is chosen has index arrays like any other. They are not made when a graph is prepared but by the step
// that chooses, each in a buffer of the function, which lives until the last step that reads it. An array that is made
// of others comes after these; one that is made of two choices is made by the later.
//
//===----------------------------------------------------------------------===//

#include "TableBuilder.h"
#include "dialects/mpdfg/IR/Choices.h"

using namespace mlir;
using namespace gnnc;

bool TableBuilder::isChosenMap(int64_t map) {
  mpdfg::MapOp op = mapOps[map];
  return !mpdfg::isKnownWithGraph(op, FlatSymbolRefAttr::get(op));
}

int64_t TableBuilder::temporary(StringRef label, int64_t space, int64_t rowElements, int64_t bits, int64_t first,
                                int64_t last, int64_t moreRows) {
  table::BufferRec record{};
  record.name = name(label);
  record.kind = table::BufferKind::Arena;
  record.space = space;
  record.rowElements = rowElements;
  record.dimsAt = list({rowElements});
  record.numDims = 1;
  record.dtypeBits = bits;
  record.first = first;
  record.last = last;
  record.replaces = record.values = -1;
  record.moreRows = moreRows;
  buffers.push_back(record);
  return int64_t(buffers.size()) - 1;
}

void TableBuilder::choiceRecord(Operation *op, const EmittedKernel &kernel, int64_t number) {
  auto nearest = cast<mpdfg::NearestOp>(op);
  auto chosen = mapOps[map(nearest.getAlongAttr())];
  auto selection = spaceOps[space(chosen.getFromAttr())];
  auto self = FlatSymbolRefAttr::get(selection);
  auto type = cast<RankedTensorType>(nearest.getPoints().getType());
  int64_t bits = type.getElementTypeBitWidth();
  SmallVector<int64_t> bufferList = {bufferOf(nearest.getResult()), bufferOf(nearest.getPoints()),
                                     bufferOf(nearest.getQueries())};
  bufferList.push_back(temporary("distances", space(self), 1, bits, number, number));
  bufferList.push_back(temporary("columns", space(selection.getOfAttr()), mpdfg::getFeatureElements(type), bits, number,
                                 number));
  SmallVector<int64_t> indexList = {indexOf({IndexKind::Pointers, nearest.getOwnerAttr(), {}})};
  if (selection.getMaps()) {
    auto base = cast<FlatSymbolRefAttr>(selection.getMapsAttr()[0]), of = cast<FlatSymbolRefAttr>(selection.getMapsAttr()[1]);
    indexList.append({indexOf({IndexKind::Raw, base, {}}), indexOf({IndexKind::Pointers, of, {}}),
                      indexOf({IndexKind::Members, of, {}})});
  }
  table::StepRec step{};
  step.kernel = -1;
  step.kind = kernel.kind;
  step.map = map(nearest.getAlongAttr());
  step.space = space(self);
  step.buffersAt = list(bufferList);
  step.numBuffers = bufferList.size();
  step.indicesAt = list(indexList);
  step.numIndices = indexList.size();
  step.mergesAt = list({});
  step.writtenAt = list({bufferList[0], bufferList[3], bufferList[4]});
  step.numWritten = 3;
  step.name = name(("nearest " + selection.getSymName()).str());
  // The map itself, as it is.
  int64_t raw = indexOf({IndexKind::Raw, nearest.getAlongAttr(), {}});
  chosenBuffers[raw] = bufferList[0];
  steps.push_back(step);
}

/// The last step of those that a map waits for.
int64_t TableBuilder::choosingStep(int64_t map, const table::FunctionRec &record) {
  int64_t last = -1;
  mpdfg::MapOp op = mapOps[map];
  for (FlatSymbolRefAttr chosen : mpdfg::chosenBehind(op, FlatSymbolRefAttr::get(op)))
    for (int64_t i = record.firstStep; i < record.firstStep + record.numSteps; ++i)
      if (steps[i].kind == StepKind::Nearest && steps[i].map == this->map(chosen))
        last = std::max(last, i);
  return last;
}

/// Has an array made that a step reads, and before it what it is made of.
void TableBuilder::needChosen(int64_t index, const table::FunctionRec &record) {
  if (chosenBuffers.contains(index))
    return;
  table::IndexRec wanted = indices[index];
  auto refOf = [&](int64_t number) { return FlatSymbolRefAttr::get(mapOps[number]); };
  int64_t step = choosingStep(wanted.map, record);
  if (wanted.other >= 0)
    step = std::max(step, choosingStep(wanted.other, record));
  // The step reads it, and makes it first if it is not there yet.
  auto need = [&](const IndexRef &ref) {
    int64_t number = indexOf(ref);
    if (indices[number].isChosen)
      needChosen(number, record);
    table::StepRec &chooser = steps[step];
    SmallVector<int64_t> list(ArrayRef(table.words).slice(chooser.indicesAt, chooser.numIndices));
    if (llvm::is_contained(list, number))
      return;
    list.push_back(number);
    chooser.indicesAt = this->list(list);
    chooser.numIndices = list.size();
  };
  int64_t from = space(mapOps[wanted.map].getFromAttr());
  int64_t to = space(mapOps[wanted.map].getToAttr());
  int64_t ofSpace = from, moreRows = 0;
  switch (wanted.kind) {
  case IndexKind::Raw:
    for (Attribute part : mapOps[wanted.map].getPartsAttr()) // It is made of others: the map itself has a buffer.
      if (auto each = dyn_cast<FlatSymbolRefAttr>(part))
        need({IndexKind::Raw, each, {}});
    break;
  case IndexKind::Pointers:
    need({IndexKind::Raw, refOf(wanted.map), {}});
    ofSpace = to;
    moreRows = 1;
    break;
  case IndexKind::Members:
  case IndexKind::MembersOrNone:
    need({IndexKind::Pointers, refOf(wanted.map), {}});
    break;
  case IndexKind::Sorted:
    need({IndexKind::Members, refOf(wanted.map), {}});
    need({IndexKind::Raw, refOf(wanted.other), {}});
    break;
  }
  if (wanted.kind == IndexKind::MembersOrNone) { // As it is: no elements are in order by what is chosen.
    need({IndexKind::Members, refOf(wanted.map), {}});
    chosenBuffers[index] = chosenBuffers.lookup(indexOf({IndexKind::Members, refOf(wanted.map), {}}));
    return;
  }
  int64_t at = step - record.firstStep;
  int64_t buffer = temporary("chosen", ofSpace, 1, 32, at, at, moreRows);
  chosenBuffers[index] = buffer;
  chosenBy[step].push_back({index, buffer});
}

void TableBuilder::chosenRecords(const table::FunctionRec &record) {
  for (int64_t i = record.firstStep; i < record.firstStep + record.numSteps; ++i) {
    SmallVector<int64_t> read(ArrayRef(table.words).slice(steps[i].indicesAt, steps[i].numIndices));
    for (int64_t index : read)
      if (indices[index].isChosen)
        needChosen(index, record);
  }
  for (int64_t i = record.firstStep; i < record.firstStep + record.numSteps; ++i) {
    std::vector<table::ChosenRec> &made = chosenBy[i];
    steps[i].chosenAt = append(made);
    steps[i].numChosen = made.size();
    SmallVector<int64_t> followed;
    SmallVector<int64_t> used(ArrayRef(table.words).slice(steps[i].buffersAt, steps[i].numBuffers));
    SmallVector<int64_t> written(ArrayRef(table.words).slice(steps[i].writtenAt, steps[i].numWritten));
    for (auto [k, index] : llvm::enumerate(ArrayRef(table.words).slice(steps[i].indicesAt, steps[i].numIndices)))
      if (indices[index].isChosen)
        followed.append({int64_t(k), chosenBuffers.lookup(index)});
    for (size_t k = 1; k < followed.size(); k += 2)
      used.push_back(followed[k]);
    for (const table::ChosenRec &each : made) {
      used.push_back(each.buffer);
      written.push_back(each.buffer);
    }
    steps[i].followedAt = list(followed);
    steps[i].numFollowed = followed.size() / 2;
    if (followed.empty() && made.empty())
      continue;
    // All buffers of a step have addresses when it is run.
    steps[i].buffersAt = list(used);
    steps[i].numBuffers = used.size();
    steps[i].writtenAt = list(written);
    steps[i].numWritten = written.size();
    for (int64_t buffer : used)
      if (buffers[buffer].kind == table::BufferKind::Arena)
        buffers[buffer].last = std::max(buffers[buffer].last, i - record.firstStep);
  }
  chosenBuffers.clear();
  chosenBy.clear();
}
