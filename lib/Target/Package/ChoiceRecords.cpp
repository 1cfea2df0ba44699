//===- ChoiceRecords.cpp - What steps make of maps they choose ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map to what is chosen has index arrays like any other. They are not made when a graph is prepared but by the step
// that chooses, each in a buffer of the function, which lives until the last step that reads it. An array that is made
// of others comes after these; one that is made of two choices is made by the later. Of an open selection the step also
// chooses where the elements of each owner begin: that array says how many there are, and stays until the end.
//
//===----------------------------------------------------------------------===//

#include "TableBuilder.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/ModelFormat/PointTree.h"

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
  FlatSymbolRefAttr along = mpdfg::getChosenMap(op);
  mpdfg::SpaceOp selection = mpdfg::getSelection(op);
  auto self = FlatSymbolRefAttr::get(selection);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  int64_t bits = type.getElementTypeBitWidth();
  SmallVector<int64_t> bufferList = {bufferOf(op->getResult(0))}, written = bufferList;
  for (Value operand : op->getOperands())
    bufferList.push_back(bufferOf(operand));
  if (device.steps.empty()) {
    int64_t of = space(selection.getOfAttr());
    if (isa<mpdfg::NearestOp>(op))
      written.push_back(temporary("distances", space(self), 1, bits, number, number));
    if (isa<mpdfg::FarthestOp>(op))
      written.push_back(temporary("distances", of, 1, bits, number, number));
    if (isa<mpdfg::NearestOp>(op))
      written.push_back(temporary("columns", of, mpdfg::getFeatureElements(type), bits, number, number));
    if (isa<mpdfg::NearestOp>(op) && mpdfg::getFeatureElements(type) <= tree::kMostNumbers)
      written.push_back(temporary("tree", of, 4, 32, number, number));
    if (isa<mpdfg::WithinOp>(op))
      written.push_back(temporary("cells", of, 3, 32, number, number, /*moreRows=*/1));
    bufferList.append(written.begin() + 1, written.end());
  }
  int64_t pointers = indexOf({IndexKind::Pointers, mpdfg::getOwnerMap(op), {}});
  SmallVector<int64_t> indexList = {pointers};
  if (selection.getOpen()) {
    // Until the end, which is not known yet.
    chosenBuffers[pointers] = temporary("pointers", space(selection.getBaseAttr()), 1, 32, number, number, 2);
    written.push_back(chosenBuffers[pointers]);
  }
  if (selection.getMaps()) {
    auto base = dyn_cast<FlatSymbolRefAttr>(selection.getMapsAttr()[0]);
    auto of = cast<FlatSymbolRefAttr>(selection.getMapsAttr()[1]);
    int64_t ofPointers = indexOf({IndexKind::Pointers, of, {}}), ofMembers = indexOf({IndexKind::Members, of, {}});
    indexList.append({base ? indexOf({IndexKind::Raw, base, {}}) : ofPointers, ofPointers, ofMembers,
                      base ? indexOf({IndexKind::Members, base, {}}) : ofMembers, indexOf({IndexKind::Raw, of, {}})});
  }
  if (mpdfg::isOpen(op, selection.getBaseAttr())) // Whose extent is known by it.
    indexList.push_back(openPointers(space(selection.getBaseAttr())));
  table::StepRec step{};
  step.kernel = -1;
  step.kind = kernel.kind;
  step.map = map(along);
  step.space = space(self);
  step.buffersAt = list(bufferList);
  step.numBuffers = bufferList.size();
  step.indicesAt = list(indexList);
  step.numIndices = indexList.size();
  step.mergesAt = list({});
  step.writtenAt = list(written);
  step.numWritten = written.size();
  step.name = name((op->getName().stripDialect() + " " + selection.getSymName()).str());
  if (auto within = dyn_cast<mpdfg::WithinOp>(op)) {
    double radius = within.getRadius().convertToDouble(), square = radius * radius;
    step.number = llvm::bit_cast<int64_t>(bits == 32 ? double(float(square)) : square);
  }
  if (auto farthest = dyn_cast<mpdfg::FarthestOp>(op))
    step.number = farthest.getStart() ? 1 : 0;
  // The map itself, as it is.
  int64_t raw = indexOf({IndexKind::Raw, along, {}});
  chosenBuffers[raw] = bufferList[0];
  steps.push_back(step);
}

/// The index that says how many elements an open space has.
int64_t TableBuilder::openPointers(int64_t number) {
  for (auto [map, op] : llvm::enumerate(mapOps))
    if (op.getKind() == mpdfg::MapKind::Owner && space(op.getFromAttr()) == number)
      return indexOf({IndexKind::Pointers, FlatSymbolRefAttr::get(op), {}});
  llvm_unreachable("an open space has owners");
}

/// The last step of those that a map waits for.
int64_t TableBuilder::choosingStep(int64_t map, const table::FunctionRec &record) {
  int64_t last = -1;
  mpdfg::MapOp op = mapOps[map];
  for (FlatSymbolRefAttr chosen : mpdfg::chosenBehind(op, FlatSymbolRefAttr::get(op)))
    for (int64_t i = record.firstStep; i < record.firstStep + record.numSteps; ++i)
      if (table::isChoice(steps[i].kind) && steps[i].space == space(mapOps[this->map(chosen)].getFromAttr()))
        last = std::max(last, i);
  return last;
}

/// A step reads an index array, and the choice makes it first if it is not there yet.
void TableBuilder::needFor(int64_t step, const IndexRef &ref, const table::FunctionRec &record) {
  int64_t number = indexOf(ref);
  if (indices[number].isChosen)
    needChosen(number, record);
  table::StepRec &chooser = steps[step];
  SmallVector<int64_t> known(ArrayRef(table.words).slice(chooser.indicesAt, chooser.numIndices));
  if (llvm::is_contained(known, number))
    return;
  known.push_back(number);
  chooser.indicesAt = list(known);
  chooser.numIndices = known.size();
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
  auto need = [&](IndexKind kind, FlatSymbolRefAttr map) { needFor(step, {kind, map, {}}, record); };
  mpdfg::MapOp map = mapOps[wanted.map];
  bool isOwner = map.getKind() == mpdfg::MapKind::Owner; // of an open space: in order, with pointers
  int64_t ofSpace = space(map.getFromAttr()), moreRows = 0;
  switch (wanted.kind) {
  case IndexKind::Raw: // It is made of others, or of pointers: the chosen map itself has a buffer.
    if (isOwner)
      need(IndexKind::Pointers, refOf(wanted.map));
    for (Attribute part : isOwner ? ArrayAttr::get(map.getContext(), {}) : map.getPartsAttr())
      if (auto each = dyn_cast<FlatSymbolRefAttr>(part))
        need(IndexKind::Raw, each);
    break;
  case IndexKind::Pointers:
    need(IndexKind::Raw, refOf(wanted.map));
    ofSpace = space(map.getToAttr());
    moreRows = 1;
    break;
  case IndexKind::Members:
  case IndexKind::MembersOrNone:
    need(IndexKind::Pointers, refOf(wanted.map));
    break;
  case IndexKind::Shift: // of pairs, which are known with the graph
    break;
  case IndexKind::Sorted:
    need(IndexKind::Members, refOf(wanted.map));
    need(IndexKind::Raw, refOf(wanted.other));
    break;
  }
  if (wanted.kind == IndexKind::MembersOrNone) { // No elements are in order by what is chosen.
    need(IndexKind::Members, refOf(wanted.map));
    chosenBuffers[index] = chosenBuffers.lookup(indexOf({IndexKind::Members, refOf(wanted.map), {}}));
    return;
  }
  int64_t at = step - record.firstStep;
  int64_t buffer = temporary("chosen", ofSpace, 1, 32, at, at, moreRows);
  chosenBuffers[index] = buffer;
  chosenBy[step].push_back({index, wanted.map, buffer});
}

/// The same for the items of a worklist.
void TableBuilder::needChosenItems(int64_t map, const table::FunctionRec &record) {
  if (chosenItems.contains(map))
    return;
  constexpr int64_t kWordsOfItem = 4;
  int64_t step = choosingStep(map, record), at = step - record.firstStep;
  needFor(step, {IndexKind::Pointers, FlatSymbolRefAttr::get(mapOps[map]), {}}, record);
  int64_t buffer = temporary("items", space(mapOps[map].getToAttr()), kWordsOfItem, 32, at, at);
  chosenItems[map] = buffer;
  chosenBy[step].push_back({-1, map, buffer});
}

void TableBuilder::chosenRecords(table::FunctionRec &record) {
  auto listAt = [&](int64_t at, int64_t count) { return SmallVector<int64_t>(ArrayRef(table.words).slice(at, count)); };
  int64_t end = record.firstStep + record.numSteps;
  // What each step reads, as its choices make it.
  auto read = [&](int64_t step) {
    SmallVector<int64_t> found = listAt(steps[step].indicesAt, steps[step].numIndices);
    if (!deviceSteps.empty())
      found.append(listAt(deviceSteps[step].indicesAt, deviceSteps[step].numIndices));
    llvm::erase_if(found, [&](int64_t index) { return !indices[index].isChosen; });
    return found;
  };
  auto itemsOf = [&](int64_t step) {
    SmallVector<int64_t> found;
    for (int64_t k = 0; !deviceSteps.empty() && k < deviceSteps[step].numLaunches; ++k) {
      const table::LaunchRec &launch = launches[deviceSteps[step].firstLaunch + k];
      bool hasItems = launch.grid == cuda::GridKind::Items || launch.grid == cuda::GridKind::HeavyItems ||
                      launch.grid == cuda::GridKind::HeavyOwners;
      if (hasItems && isChosenMap(launch.symbol))
        found.push_back(launch.symbol);
    }
    return found;
  };
  for (int64_t i = record.firstStep; i < end; ++i) {
    for (int64_t index : read(i))
      needChosen(index, record);
    for (int64_t map : itemsOf(i))
      needChosenItems(map, record);
  }
  // How many elements open spaces have is for all steps that come later.
  SmallVector<int64_t> openBuffers;
  for (auto [index, buffer] : chosenBuffers)
    if (const table::IndexRec &made = indices[index];
        made.kind == IndexKind::Pointers && mapOps[made.map].getKind() == mpdfg::MapKind::Owner)
      openBuffers.push_back(buffer);
  llvm::sort(openBuffers);
  for (int64_t buffer : openBuffers)
    buffers[buffer].last = std::max<int64_t>(record.numSteps, 1) - 1;
  for (int64_t i = record.firstStep; i < end; ++i) {
    std::vector<table::ChosenRec> &made = chosenBy[i];
    steps[i].chosenAt = append(made);
    steps[i].numChosen = made.size();
    SmallVector<int64_t> used = listAt(steps[i].buffersAt, steps[i].numBuffers),
                         written = listAt(steps[i].writtenAt, steps[i].numWritten), followed;
    for (int64_t index : read(i))
      followed.push_back(chosenBuffers.lookup(index));
    for (int64_t map : itemsOf(i))
      followed.push_back(chosenItems.lookup(map));
    for (int64_t buffer : openBuffers)
      if (buffers[buffer].first < i - record.firstStep && !llvm::is_contained(followed, buffer))
        followed.push_back(buffer);
    for (const table::ChosenRec &each : made) {
      followed.push_back(each.buffer);
      written.push_back(each.buffer);
    }
    bool isChoice = table::isChoice(steps[i].kind);
    if (followed.empty() && !isChoice)
      continue;
    // They live until the last step that reads them, and have addresses when it is run.
    for (int64_t buffer : followed)
      if (buffers[buffer].kind == table::BufferKind::Arena)
        buffers[buffer].last = std::max(buffers[buffer].last, i - record.firstStep);
    used.append(followed);
    steps[i].buffersAt = list(used);
    steps[i].numBuffers = used.size();
    steps[i].writtenAt = list(written);
    steps[i].numWritten = written.size();
    if (deviceSteps.empty())
      continue;
    table::DeviceStepRec &there = deviceSteps[i];
    if (!isChoice) {
      used = listAt(there.buffersAt, there.numBuffers);
      used.append(followed);
    } else {
      there.writtenAt = list(written);
      there.numWritten = written.size();
      there.indicesAt = steps[i].indicesAt;
      there.numIndices = steps[i].numIndices;
    }
    there.buffersAt = list(used);
    there.numBuffers = used.size();
  }
  std::vector<table::ChosenRec> all;
  for (auto [index, buffer] : chosenBuffers)
    all.push_back({index, indices[index].map, buffer});
  for (auto [map, buffer] : chosenItems)
    all.push_back({-1, map, buffer});
  llvm::sort(all, [](const table::ChosenRec &a, const table::ChosenRec &b) {
    return std::pair(a.index, a.map) < std::pair(b.index, b.map);
  });
  record.chosenAt = append(all);
  record.numChosen = all.size();
  chosenBuffers.clear();
  chosenItems.clear();
  chosenBy.clear();
}
