//===- ModelTable.cpp - The table the runtime reads -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spaces, maps, index arrays, buffers and steps as records of 64-bit words; see include/gnnc/ModelFormat/ModelTable.h
// for each field.
//
//===----------------------------------------------------------------------===//

#include "gnnc/ModelFormat/ModelTable.h"
#include "Needs.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Support/Half.h"
#include "gnnc/Target/Package/Package.h"
#include "gnnc/Transforms/Halves.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace gnnc;

namespace {

table::SpaceKind kindOf(mpdfg::SpaceKind kind) {
  switch (kind) {
  case mpdfg::SpaceKind::Root:
    return table::SpaceKind::Root;
  case mpdfg::SpaceKind::Static:
    return table::SpaceKind::Static;
  case mpdfg::SpaceKind::Filter:
    return table::SpaceKind::Filter;
  case mpdfg::SpaceKind::Union:
    return table::SpaceKind::Union;
  case mpdfg::SpaceKind::Distinct:
    return table::SpaceKind::Distinct;
  }
  llvm_unreachable("no kind of a space");
}

table::MapKind kindOf(mpdfg::MapKind kind) {
  switch (kind) {
  case mpdfg::MapKind::Root:
    return table::MapKind::Root;
  case mpdfg::MapKind::Inclusion:
    return table::MapKind::Inclusion;
  case mpdfg::MapKind::Part:
    return table::MapKind::Part;
  case mpdfg::MapKind::Parts:
    return table::MapKind::Parts;
  case mpdfg::MapKind::Projection:
    return table::MapKind::Projection;
  case mpdfg::MapKind::Class:
    return table::MapKind::Class;
  case mpdfg::MapKind::Last:
    return table::MapKind::Last;
  case mpdfg::MapKind::Compose:
    return table::MapKind::Compose;
  case mpdfg::MapKind::Injection:
    return table::MapKind::Injection;
  }
  llvm_unreachable("no kind of a map");
}

class TableBuilder {
public:
  TableBuilder(ModuleOp module, ArrayRef<EmittedKernel> kernels, size_t numVariants, const DeviceCode &device,
               ArrayRef<EmbeddedTensor> embedded)
      : module(module), kernels(kernels), numVariants(numVariants), device(device), embedded(embedded) {}

  ModelTable run();

private:
  int64_t name(StringRef text) {
    auto [it, fresh] = nameAt.try_emplace(text, int64_t(table.names.size()));
    if (fresh) {
      table.names += text;
      table.names += '\0';
    }
    return it->second;
  }
  int64_t list(ArrayRef<int64_t> values) {
    int64_t at = table.words.size();
    table.words.insert(table.words.end(), values.begin(), values.end());
    return at;
  }
  template <typename Record> int64_t append(const std::vector<Record> &records) {
    static_assert(sizeof(Record) % sizeof(int64_t) == 0);
    int64_t at = table.words.size();
    const auto *words = reinterpret_cast<const int64_t *>(records.data());
    table.words.insert(table.words.end(), words, words + records.size() * sizeof(Record) / sizeof(int64_t));
    return at;
  }
  int64_t space(Attribute ref) {
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(ref);
    return symbol ? spaces.lookup(symbol.getValue()) : -1;
  }
  int64_t map(Attribute ref) {
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(ref);
    return symbol ? maps.lookup(symbol.getValue()) : -1;
  }
  int64_t part(Attribute entry) {
    return isa<UnitAttr>(entry) ? table::kIdentity : isa<FlatSymbolRefAttr>(entry) ? map(entry) : table::kUndefined;
  }

  void declare();
  std::vector<table::SpaceRec> spaceRecords();
  std::vector<table::MapRec> mapRecords();
  std::vector<table::ValuesRec> valuesRecords();
  SmallVector<int64_t> order();
  void bufferRecords(func::FuncOp function);
  void programRecords(func::FuncOp function, const table::FunctionRec &record);
  void alternativeRecord(func::FuncOp function);
  std::pair<int64_t, int64_t> formula(const SymbolicExpr &expression);
  int64_t bufferOf(Value value) { return bufferNumbers.lookup(mpdfg::getViewed(value)); }
  int64_t indexOf(const IndexRef &ref);
  void stepRecord(Operation &op, const EmittedKernel &kernel);
  void collectiveRecord(Operation *op, const EmittedKernel &kernel);
  void deviceStepRecord(const cuda::DeviceStep &step);
  int64_t wordNumber(const cuda::Word &word, const cuda::DeviceStep &step, int64_t firstScratch);

  ModuleOp module;
  ArrayRef<EmittedKernel> kernels;
  size_t numVariants;
  const DeviceCode &device;
  ArrayRef<EmbeddedTensor> embedded;
  ModelTable table;
  llvm::StringMap<int64_t> nameAt, spaces, maps;
  llvm::StringMap<int64_t> valuesOf; ///< the record of each embedded tensor
  SmallVector<mpdfg::SpaceOp> spaceOps;
  SmallVector<mpdfg::MapOp> mapOps;
  std::vector<table::BufferRec> buffers;
  DenseMap<Value, int64_t> bufferNumbers;
  std::vector<table::IndexRec> indices;
  std::vector<table::StepRec> steps;
  std::vector<table::DeviceStepRec> deviceSteps;
  std::vector<table::ScratchRec> scratch;
  std::vector<table::LaunchRec> launches;
  std::vector<table::FunctionRec> functions;
  std::vector<table::ProgramRec> programs;
  std::vector<table::AlternativeRec> alternatives;
};

} // namespace

void TableBuilder::declare() {
  for (auto op : module.getOps<mpdfg::SpaceOp>()) {
    spaces[op.getSymName()] = spaceOps.size();
    spaceOps.push_back(op);
  }
  for (auto op : module.getOps<mpdfg::MapOp>()) {
    maps[op.getSymName()] = mapOps.size();
    mapOps.push_back(op);
  }
}

std::vector<table::SpaceRec> TableBuilder::spaceRecords() {
  std::vector<table::SpaceRec> records;
  for (mpdfg::SpaceOp op : spaceOps) {
    SmallVector<int64_t> mapList, parts;
    if (op.getMaps())
      for (Attribute ref : op.getMapsAttr())
        mapList.push_back(map(ref));
    if (op.getParts())
      for (Attribute ref : op.getPartsAttr())
        parts.push_back(space(ref));
    records.push_back({name(op.getSymName()), kindOf(op.getKind()), op.getExtent() ? int64_t(*op.getExtent()) : -1,
                       space(op.getBaseAttr()), list(mapList), int64_t(mapList.size()), op.getEqual(), list(parts),
                       int64_t(parts.size())});
  }
  return records;
}

std::vector<table::MapRec> TableBuilder::mapRecords() {
  std::vector<table::MapRec> records;
  for (mpdfg::MapOp op : mapOps) {
    SmallVector<int64_t> parts;
    if (op.getParts())
      for (Attribute entry : op.getPartsAttr())
        parts.push_back(part(entry));
    records.push_back({name(op.getSymName()), kindOf(op.getKind()), space(op.getFromAttr()), space(op.getToAttr()),
                       op.getPartial(), op.getPart() ? int64_t(*op.getPart()) : 0, list(parts), int64_t(parts.size())});
  }
  return records;
}

std::vector<table::ValuesRec> TableBuilder::valuesRecords() {
  constexpr size_t kAlignment = 64;
  std::vector<table::ValuesRec> records;
  for (const EmbeddedTensor &tensor : embedded) {
    table.values.resize(llvm::alignTo(table.values.size(), kAlignment));
    valuesOf[tensor.name] = records.size();
    records.push_back({name(tensor.name), tensor.bits, tensor.isBFloat, list(tensor.shape),
                       int64_t(tensor.shape.size()), int64_t(table.values.size())});
    table.values += tensor.bytes;
  }
  return records;
}

/// Spaces (2 s) and maps (2 m + 1), each after what it is derived from.
SmallVector<int64_t> TableBuilder::order() {
  SmallVector<int64_t> order;
  DenseSet<Operation *> done;
  auto visit = [&](auto &&self, Operation *op) -> void {
    if (!op || !done.insert(op).second)
      return;
    auto visitSpace = [&](Attribute ref) {
      if (int64_t number = space(ref); number >= 0)
        self(self, spaceOps[number]);
    };
    auto visitMap = [&](Attribute ref) {
      if (isa<FlatSymbolRefAttr>(ref))
        self(self, mapOps[map(ref)]);
    };
    if (auto declared = dyn_cast<mpdfg::SpaceOp>(op)) {
      visitSpace(declared.getBaseAttr());
      if (declared.getMaps())
        llvm::for_each(declared.getMapsAttr(), visitMap);
      if (declared.getParts())
        llvm::for_each(declared.getPartsAttr(), visitSpace);
      order.push_back(2 * spaces.lookup(declared.getSymName()));
      return;
    }
    auto declared = cast<mpdfg::MapOp>(op);
    visitSpace(declared.getFromAttr());
    visitSpace(declared.getToAttr());
    if (declared.getParts())
      llvm::for_each(declared.getPartsAttr(), visitMap);
    order.push_back(2 * maps.lookup(declared.getSymName()) + 1);
  };
  for (mpdfg::SpaceOp op : spaceOps)
    visit(visit, op);
  for (mpdfg::MapOp op : mapOps)
    visit(visit, op);
  return order;
}

void TableBuilder::bufferRecords(func::FuncOp function) {
  auto add = [&](Value value, Type seenAs, StringRef label, table::BufferKind kind) -> table::BufferRec & {
    auto type = cast<RankedTensorType>(seenAs);
    ArrayRef<int64_t> dims = mpdfg::getFeatureShape(type);
    table::BufferRec record{};
    record.name = name(label);
    record.kind = kind;
    record.space = space(mpdfg::getResidency(type));
    record.rowElements = RefTensor::product(dims);
    record.dimsAt = list(dims);
    record.numDims = dims.size();
    record.dtypeBits = type.getElementTypeBitWidth();
    record.isBFloat = type.getElementType().isBF16();
    record.replaces = -1;
    record.values = -1;
    bufferNumbers[value] = buffers.size();
    buffers.push_back(record);
    return buffers.back();
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    std::optional<mpdfg::Role> role = getRole(function, i);
    table::BufferRec &record =
        add(argument, argument.getType(), function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue(),
            role == mpdfg::Role::Param   ? table::BufferKind::Param
            : role == mpdfg::Role::State ? table::BufferKind::State
                                         : table::BufferKind::Input);
    if (auto found = valuesOf.find(function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue());
        found != valuesOf.end())
      record.values = found->second;
    if (auto fill = function.getArgAttrOfType<FloatAttr>(i, kFillAttr)) {
      record.optional = 1;
      record.fill = llvm::bit_cast<int64_t>(fill.getValueAsDouble());
      auto number = float(fill.getValueAsDouble());
      if (record.dtypeBits == 16)
        record.fill = record.isBFloat ? encodeBF16(number) : encodeF16(number);
    }
  }
  Operation *terminator = function.getBody().front().getTerminator();
  mpk::ArenaOp arena;
  DenseMap<int64_t, int64_t> slotBuffers;         // Of values that take each other's place.
  SmallVector<std::pair<Value, Value>> inOutputs; // Values in the memory of an output, which is made later.
  for (Operation &op : function.getBody().front()) {
    if (auto found = dyn_cast<mpk::ArenaOp>(op))
      arena = found;
    for (OpResult value : op.getResults()) {
      mpk::PlaceAttr place = mpk::getPlace(value);
      if (!place)
        continue;
      if (place.getKind() == mpk::PlaceKind::Arena) {
        int64_t slot = *place.getNumber();
        auto [known, fresh] = slotBuffers.try_emplace(slot, int64_t(buffers.size()));
        if (!fresh) {
          bufferNumbers[value] = known->second;
          continue;
        }
        table::BufferRec &record =
            add(value, value.getType(), "arena" + std::to_string(slot), table::BufferKind::Arena);
        record.first = arena.getFirst()[slot];
        record.last = arena.getLast()[slot];
        continue;
      }
      if (place.getKind() == mpk::PlaceKind::Result)
        if (Value output = terminator->getOperand(*place.getNumber()); output != value) {
          inOutputs.push_back({value, output});
          continue;
        }
      auto isThis = [value = value](Value returned) { return mpdfg::getViewed(returned) == value; };
      unsigned output = llvm::find_if(terminator->getOperands(), isThis) - terminator->operand_begin();
      table::BufferRec &record =
          add(value, terminator->getOperand(output).getType(),
              function.getResultAttrOfType<StringAttr>(output, kNameAttr).getValue(), table::BufferKind::Output);
      if (std::optional<unsigned> updated = getUpdated(function, output))
        record.replaces = bufferNumbers.lookup(function.getArgument(*updated));
    }
  }
  for (auto [value, output] : inOutputs)
    bufferNumbers[value] = bufferNumbers.lookup(output);
}

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

int64_t TableBuilder::indexOf(const IndexRef &ref) {
  table::IndexRec wanted{ref.kind, map(ref.map), ref.other ? map(ref.other) : -1};
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
  step.buffersAt = list({bufferOf(op->getOperand(0)), to});
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
    entry.isRuns = launch.isRuns;
    entry.isJoined = launch.isJoined;
    entry.isCounted = launch.isCounted;
    entry.architecture = launch.architecture;
    entry.wordsAt = append(words);
    entry.numWords = launch.words.size();
    launches.push_back(entry);
  }
  deviceSteps.push_back(record);
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
        mpk::isCollective(&op) ? collectiveRecord(&op, kernel) : stepRecord(op, kernel);
      }
    record.numBuffers = int64_t(buffers.size()) - record.firstBuffer;
    record.numSteps = int64_t(steps.size()) - record.firstStep;
    SmallVector<int64_t> needs;
    for (StringRef need : findNeeds(function))
      needs.push_back(spaces.count(need) ? 2 * spaces.lookup(need) : 2 * maps.lookup(need) + 1);
    record.needsAt = list(needs);
    record.numNeeds = needs.size();
    programRecords(function, record);
    alternativeRecord(function);
    functions.push_back(record);
  }
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
      kernel.kind = isa<mpdfg::TransferOp>(op)    ? StepKind::Transfer
                    : isa<mpdfg::AllReduceOp>(op) ? StepKind::AllReduce
                                                  : StepKind::Rows;
      kernel.map = dyn_cast_or_null<FlatSymbolRefAttr>(op.getAttr("along"));
      kernel.space = mpk::isCollective(&op) ? mpdfg::getResidency(op.getOperand(0).getType())
                                            : dyn_cast_or_null<FlatSymbolRefAttr>(op.getAttr("over"));
      kernels.push_back(std::move(kernel));
    }
  return kernels;
}
