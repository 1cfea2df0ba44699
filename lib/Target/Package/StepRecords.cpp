//===- StepRecords.cpp - Kernels, collectives and launches of a table -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step for each kernel, in order; with code for GPUs also one that says which launches it is there.
//
//===----------------------------------------------------------------------===//

#include "TableBuilder.h"
#include "dialects/mpk/IR/KernelAttrs.h"

using namespace mlir;
using namespace gnnc;

int64_t TableBuilder::indexOf(const IndexRef &ref) {
  table::IndexRec wanted{ref.kind, map(ref.map), ref.other ? map(ref.other) : -1, 0};
  wanted.isChosen = isChosenMap(wanted.map) || (wanted.other >= 0 && isChosenMap(wanted.other));
  for (auto [i, record] : llvm::enumerate(indices))
    if (record.kind == wanted.kind && record.map == wanted.map && record.other == wanted.other)
      return i;
  indices.push_back(wanted);
  return indices.size() - 1;
}

void TableBuilder::stepRecord(Operation &op, const EmittedKernel &kernel) {
  SmallVector<int64_t> bufferList, indexList, written;
  for (Value result : op.getResults())
    written.push_back(bufferOf(result));
  for (Value value : kernel.buffers)
    bufferList.push_back(bufferOf(value));
  for (const IndexRef &ref : kernel.indices)
    indexList.push_back(indexOf(ref));
  std::vector<table::MergeRec> merges;
  for (const MergeRef &merge : kernel.merges)
    merges.push_back({bufferList[merge.buffer], merge.kind, merge.elements});
  table::StepRec step{};
  step.kernel = steps.size();
  step.kind = kernel.kind;
  step.map = kernel.map ? map(kernel.map) : -1;
  step.space = kernel.space ? space(kernel.space) : -1;
  step.buffersAt = list(bufferList);
  step.numBuffers = bufferList.size();
  step.indicesAt = list(indexList);
  step.numIndices = indexList.size();
  step.mergesAt = append(merges);
  step.numMerges = merges.size();
  step.blockBytes = kernel.blockBytes;
  step.writtenAt = list(written);
  step.numWritten = written.size();
  step.name = name(device.steps.empty() ? kernel.name : device.steps[steps.size()].name);
  steps.push_back(step);
}

void TableBuilder::collectiveRecord(Operation *op, const EmittedKernel &kernel) {
  int64_t to = bufferOf(op->getResult(0));
  std::vector<table::MergeRec> merges;
  auto spaceOf = [](Value value) { return mpdfg::getResidency(value.getType()).getValue(); };
  std::string label; // errors name it
  if (auto transfer = dyn_cast<mpdfg::TransferOp>(op))
    label = ("transfer " + spaceOf(transfer.getInput()) + " to " + spaceOf(transfer.getResult())).str();
  if (auto await = dyn_cast<mpdfg::AwaitOp>(op))
    label = ("await " + spaceOf(await.getResult())).str();
  if (auto reduce = dyn_cast<mpdfg::AllReduceOp>(op)) {
    label = ("all_reduce " + mpdfg::stringifyEnum(reduce.getKind())).str();
    merges.push_back({to,
                      reduce.getKind() == mpdfg::ReduceKind::Sum   ? MergeKind::Sum
                      : reduce.getKind() == mpdfg::ReduceKind::Max ? MergeKind::Max
                                                                   : MergeKind::Min,
                      reduce.getType().getNumElements()});
  }
  table::StepRec step{};
  step.kernel = -1;
  step.kind = kernel.kind;
  step.map = step.space = -1;
  // An await has the buffers of its transfer.
  Value from = isa<mpdfg::AwaitOp>(op) ? op->getOperand(1) : op->getOperand(0);
  step.buffersAt = list({bufferOf(from), to});
  step.numBuffers = 2;
  step.indicesAt = list({});
  step.mergesAt = append(merges);
  step.numMerges = merges.size();
  step.writtenAt = list({to});
  step.numWritten = 1;
  step.name = name(label);
  steps.push_back(step);
}

int64_t TableBuilder::wordNumber(const cuda::Word &word, const cuda::DeviceStep &step, int64_t firstScratch) {
  switch (word.kind) {
  case cuda::WordKind::Buffer:
    return bufferOf(step.buffers[word.number]);
  case cuda::WordKind::Index:
    return indexOf(step.indices[word.number]);
  case cuda::WordKind::Extent:
    return word.symbol ? space(word.symbol) : -1;
  case cuda::WordKind::Scratch:
    return firstScratch + word.number;
  default:
    return word.symbol ? map(word.symbol) : int64_t(word.number);
  }
}

void TableBuilder::deviceStepRecord(const cuda::DeviceStep &step) {
  SmallVector<int64_t> bufferList, indexList, zeroed, written;
  for (Value result : step.written)
    written.push_back(bufferOf(result));
  for (Value value : step.buffers)
    bufferList.push_back(bufferOf(value));
  for (const IndexRef &ref : step.indices)
    indexList.push_back(indexOf(ref));
  for (unsigned number : step.zeroed)
    zeroed.push_back(bufferList[number]);
  table::DeviceStepRec record{};
  record.buffersAt = list(bufferList);
  record.numBuffers = bufferList.size();
  record.writtenAt = list(written);
  record.numWritten = written.size();
  record.indicesAt = list(indexList);
  record.numIndices = indexList.size();
  record.zeroedAt = list(zeroed);
  record.numZeroed = zeroed.size();
  record.firstScratch = scratch.size();
  record.numScratch = step.scratch.size();
  record.firstLaunch = launches.size();
  record.numLaunches = step.launches.size();
  for (const cuda::Scratch &memory : step.scratch)
    scratch.push_back({memory.kind,
                       !memory.map                                  ? -1
                       : memory.kind == cuda::ScratchKind::Elements ? space(memory.map)
                                                                    : map(memory.map),
                       memory.bytes});
  for (const cuda::Launch &launch : step.launches) {
    std::vector<table::WordRec> words;
    for (const cuda::Word &word : launch.words)
      words.push_back({word.kind, wordNumber(word, step, record.firstScratch)});
    bool isSpace = launch.grid == cuda::GridKind::Elements;
    table::LaunchRec entry{};
    entry.kernel = name(launch.kernel);
    entry.image = launch.part;
    entry.grid = launch.grid;
    entry.symbol = !launch.symbol ? -1 : isSpace ? space(launch.symbol) : map(launch.symbol);
    entry.perBlock = launch.perBlock;
    entry.perElement = launch.perElement;
    entry.gridY = launch.gridY;
    entry.gridZ = launch.gridZ;
    entry.threads = launch.threads;
    entry.sharedBytes = launch.sharedBytes;
    entry.mostBlocksPerProcessor = launch.mostBlocksPerProcessor;
    entry.leastMembers = launch.leastMembers;
    entry.belowMembers = launch.belowMembers;
    entry.wholeBlocks = launch.wholeBlocks;
    entry.isFew = launch.isFew;
    entry.isJoined = launch.isJoined;
    entry.isCounted = launch.isCounted;
    entry.architecture = launch.architecture;
    entry.wordsAt = append(words);
    entry.numWords = launch.words.size();
    launches.push_back(entry);
  }
  deviceSteps.push_back(record);
}
