//===- ModelTable.cpp - The table the runtime reads -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the records together: spaces and maps (SpaceRecords.cpp), buffers (BufferRecords.cpp) and steps
// (StepRecords.cpp) of each function, and what can be called: programs, and alternatives to them.
//
//===----------------------------------------------------------------------===//

#include "Needs.h"
#include "TableBuilder.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/Halves.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace gnnc;

void TableBuilder::programRecords(func::FuncOp function, const table::FunctionRec &record) {
  auto add = [&](const Twine &label, int64_t first, int64_t count) {
    llvm::SetVector<int64_t> used;
    for (int64_t i = first; i < first + count; ++i) {
      const table::StepRec &step = steps[record.firstStep + i];
      used.insert_range(ArrayRef(table.words).slice(step.buffersAt, step.numBuffers));
      if (!deviceSteps.empty()) {
        const table::DeviceStepRec &onDevice = deviceSteps[record.firstStep + i];
        used.insert_range(ArrayRef(table.words).slice(onDevice.buffersAt, onDevice.numBuffers));
      }
    }
    // In the order of the buffers, which is the order of the description.
    SmallVector<int64_t> sorted(used.begin(), used.end());
    for (int64_t buffer : used)
      if (int64_t replaced = buffers[buffer].replaces; replaced >= 0 && !used.contains(replaced))
        sorted.push_back(replaced);
    llvm::sort(sorted);
    programs.push_back(
        {name(label.str()), int64_t(functions.size()), first, count, list(sorted), int64_t(sorted.size())});
  };
  // An alternative's programs have the names of those that it stands in for.
  auto leader = function->getAttrOfType<FlatSymbolRefAttr>(mpk::kAlternativeAttr);
  StringRef label = leader ? leader.getValue() : function.getSymName();
  add(label, 0, record.numSteps);
  if (std::optional<int64_t> seedless = countSeedless(function)) {
    add(label + ".forward", 0, *seedless);
    add(label + ".backward", *seedless, record.numSteps - *seedless);
  }
}

std::pair<int64_t, int64_t> TableBuilder::formula(const SymbolicExpr &expression) {
  SmallVector<int64_t> terms{-1, expression.getNumber()};
  for (const auto &[name, factor] : expression.getFactors())
    terms.append({spaces.lookup(name), factor});
  return {list(terms), int64_t(terms.size() / 2)};
}

void TableBuilder::alternativeRecord(func::FuncOp function) {
  auto leader = function->getAttrOfType<FlatSymbolRefAttr>(mpk::kAlternativeAttr);
  if (!leader)
    return;
  int64_t number = 0;
  for (auto other : module.getOps<func::FuncOp>()) {
    if (other.getSymName() == leader.getValue())
      break;
    ++number;
  }
  auto [costAt, numTerms] = formula(timeOf(function));
  auto [ownCostAt, numOwnTerms] = formula(timeOf(module.lookupSymbol(leader.getValue())));
  alternatives.push_back(
      {int64_t(functions.size()), number, costAt, numTerms, ownCostAt, numOwnTerms, kAlternativePercent});
}

ModelTable TableBuilder::run() {
  table.words.resize(sizeof(table::Header) / sizeof(int64_t));
  declare();
  table::Header header{};
  header.magic = table::kMagic;
  header.version = table::kTableVersion;
  std::vector<table::SpaceRec> spaceList = spaceRecords();
  header.spacesAt = append(spaceList);
  header.numSpaces = spaceList.size();
  std::vector<table::MapRec> mapList = mapRecords();
  header.mapsAt = append(mapList);
  header.numMaps = mapList.size();
  SmallVector<int64_t> inOrder = order();
  header.orderAt = list(inOrder);
  header.numOrder = inOrder.size();
  std::vector<table::ValuesRec> values = valuesRecords();
  header.valuesAt = append(values);
  header.numValues = values.size();
  header.valuesBytes = table.values.size();
  for (auto function : module.getOps<func::FuncOp>()) {
    table::FunctionRec record{};
    record.name = name(function.getSymName());
    record.firstBuffer = buffers.size();
    record.firstStep = steps.size();
    bufferRecords(function);
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op)) {
        if (!device.steps.empty())
          deviceStepRecord(device.steps[steps.size()]);
        const EmittedKernel &kernel = kernels[steps.size()];
        mpk::isCollective(&op) ? collectiveRecord(&op, kernel)
        : mpdfg::isChoice(&op) ? choiceRecord(&op, kernel, int64_t(steps.size()) - record.firstStep)
                               : stepRecord(op, kernel);
      }
    record.numSteps = int64_t(steps.size()) - record.firstStep;
    chosenRecords(record);
    record.numBuffers = int64_t(buffers.size()) - record.firstBuffer;
    SmallVector<int64_t> needs;
    for (StringRef need : findNeeds(function))
      needs.push_back(spaces.count(need) ? 2 * spaces.lookup(need) : 2 * maps.lookup(need) + 1);
    record.needsAt = list(needs);
    record.numNeeds = needs.size();
    programRecords(function, record);
    alternativeRecord(function);
    functions.push_back(record);
  }
  for (auto [space, op] : llvm::zip(spaceList, spaceOps))
    space.isListed = op.getKind() == mpdfg::SpaceKind::Pairs && isListed(op);
  std::memcpy(table.words.data() + header.spacesAt, spaceList.data(), spaceList.size() * sizeof(table::SpaceRec));
  header.buffersAt = append(buffers);
  header.numBuffers = buffers.size();
  header.indicesAt = append(indices);
  header.numIndices = indices.size();
  header.stepsAt = append(steps);
  header.numSteps = steps.size();
  header.functionsAt = append(functions);
  header.numFunctions = functions.size();
  header.programsAt = append(programs);
  header.numPrograms = programs.size();
  header.alternativesAt = append(alternatives);
  header.numAlternatives = alternatives.size();
  header.deviceStepsAt = append(deviceSteps);
  header.numDeviceSteps = deviceSteps.size();
  header.scratchAt = append(scratch);
  header.numScratch = scratch.size();
  header.launchesAt = append(launches);
  header.numLaunches = launches.size();
  header.numImages = device.images.size();
  header.numPreparationImages = device.preparation.size();
  header.numKernels = kernels.size();
  header.numVariants = numVariants;
  std::memcpy(table.words.data(), &header, sizeof(header));
  auto bytesOf = [](const auto &list) {
    return ArrayRef(reinterpret_cast<const uint8_t *>(list.data()), list.size() * sizeof(*list.data()));
  };
  header.digest =
      int64_t(llvm::xxh3_64bits(bytesOf(table.words)) ^ llvm::rotl(llvm::xxh3_64bits(bytesOf(table.names)), 1));
  std::memcpy(table.words.data(), &header, sizeof(header));
  return std::move(table);
}

ModelTable gnnc::buildTable(ModuleOp module, ArrayRef<EmittedKernel> kernels, size_t numVariants,
                            const DeviceCode &device, ArrayRef<EmbeddedTensor> embedded) {
  return TableBuilder(module, kernels, numVariants, device, embedded).run();
}

SmallVector<EmittedKernel> gnnc::nameKernels(ModuleOp module) {
  SmallVector<EmittedKernel> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op))
        continue;
      EmittedKernel kernel{};
      kernel.name = "gnnc_kernel" + std::to_string(kernels.size());
      kernel.kind = mpk::isOfRuntime(&op) ? stepKindOf(&op) : StepKind::Rows;
      auto sweep = dyn_cast<mpk::SweepOp>(op);
      kernel.map = sweep ? sweep.getOwnersAttr() : dyn_cast_or_null<FlatSymbolRefAttr>(op.getAttr("along"));
      kernel.space = mpdfg::isChoice(&op)     ? mpdfg::getResidency(op.getResult(0).getType())
                     : mpk::isCollective(&op) ? mpdfg::getResidency(op.getOperand(0).getType())
                                              : dyn_cast_or_null<FlatSymbolRefAttr>(op.getAttr("over"));
      kernels.push_back(std::move(kernel));
    }
  return kernels;
}
