//===- TableBuilder.h - What makes the table of a model ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Appends the records of spaces, maps, buffers and steps, and the lists that these refer to, to the words of a table;
// see include/gnnc/ModelFormat/ModelTable.h for each field.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_PACKAGE_TABLEBUILDER_H
#define GNNC_LIB_TARGET_PACKAGE_TABLEBUILDER_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/ModelFormat/ModelTable.h"
#include "gnnc/Target/Package/Package.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gnnc {

/// Of one model. `run` is called once.
class TableBuilder {
public:
  TableBuilder(mlir::ModuleOp module, llvm::ArrayRef<EmittedKernel> kernels, size_t numVariants,
               const DeviceCode &device, llvm::ArrayRef<EmbeddedTensor> embedded)
      : module(module), kernels(kernels), numVariants(numVariants), device(device), embedded(embedded) {}

  ModelTable run();

private:
  // What is put into the table, and where it begins there.
  int64_t name(llvm::StringRef text) {
    auto [it, fresh] = nameAt.try_emplace(text, int64_t(table.names.size()));
    if (fresh) {
      table.names += text;
      table.names += '\0';
    }
    return it->second;
  }
  int64_t list(llvm::ArrayRef<int64_t> values) {
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
  // Numbers of spaces, maps and parts of derived ones; -1 where there is none.
  int64_t space(mlir::Attribute ref) {
    auto symbol = llvm::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(ref);
    return symbol ? spaces.lookup(symbol.getValue()) : -1;
  }
  int64_t map(mlir::Attribute ref) {
    auto symbol = llvm::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(ref);
    return symbol ? maps.lookup(symbol.getValue()) : -1;
  }
  int64_t part(mlir::Attribute entry) {
    return llvm::isa<mlir::UnitAttr>(entry)            ? table::kIdentity
           : llvm::isa<mlir::FlatSymbolRefAttr>(entry) ? map(entry)
                                                       : table::kUndefined;
  }

  /// Gives spaces and maps their numbers.
  void declare();
  std::vector<table::SpaceRec> spaceRecords();
  /// After the steps, whose indices say what is asked for.
  bool isListed(mpdfg::SpaceOp pairs);
  std::vector<table::MapRec> mapRecords();
  std::vector<table::ValuesRec> valuesRecords();
  /// Spaces (2 s) and maps (2 m + 1), each after what it is derived from.
  llvm::SmallVector<int64_t> order();
  void bufferRecords(mlir::func::FuncOp function);
  void programRecords(mlir::func::FuncOp function, const table::FunctionRec &record);
  void alternativeRecord(mlir::func::FuncOp function);
  /// A sum of products of extents as a list of terms: where it begins, and how many there are.
  std::pair<int64_t, int64_t> formula(const SymbolicExpr &expression);
  int64_t bufferOf(mlir::Value value) { return bufferNumbers.lookup(mpdfg::getViewed(value)); }
  int64_t indexOf(const IndexRef &ref);
  void stepRecord(mlir::Operation &op, const EmittedKernel &kernel);
  void collectiveRecord(mlir::Operation *op, const EmittedKernel &kernel);
  // ChoiceRecords.cpp
  void choiceRecord(mlir::Operation *op, const EmittedKernel &kernel, int64_t number);
  /// After the steps of a function: what its choices make, and where the others find it.
  void chosenRecords(table::FunctionRec &record);
  int64_t temporary(llvm::StringRef label, int64_t space, int64_t rowElements, int64_t bits, int64_t first,
                    int64_t last, int64_t moreRows = 0);
  void needChosen(int64_t index, const table::FunctionRec &record);
  void needChosenItems(int64_t map, const table::FunctionRec &record);
  void needFor(int64_t step, const IndexRef &ref, const table::FunctionRec &record);
  int64_t choosingStep(int64_t map, const table::FunctionRec &record);
  bool isChosenMap(int64_t map);
  int64_t openPointers(int64_t space);
  void deviceStepRecord(const cuda::DeviceStep &step);
  /// What a kernel's parameter is the number of; `firstScratch` is that of the step's own memory.
  int64_t wordNumber(const cuda::Word &word, const cuda::DeviceStep &step, int64_t firstScratch);

  mlir::ModuleOp module;
  llvm::ArrayRef<EmittedKernel> kernels;
  size_t numVariants;
  const DeviceCode &device;
  llvm::ArrayRef<EmbeddedTensor> embedded;
  ModelTable table;
  llvm::StringMap<int64_t> nameAt, spaces, maps;
  llvm::StringMap<int64_t> valuesOf; ///< the record of each embedded tensor
  llvm::SmallVector<mpdfg::SpaceOp> spaceOps;
  llvm::SmallVector<mpdfg::MapOp> mapOps;
  std::vector<table::BufferRec> buffers;
  llvm::DenseMap<mlir::Value, int64_t> bufferNumbers;
  std::vector<table::IndexRec> indices;
  std::vector<table::StepRec> steps;
  /// Of the function at hand: the buffer of each index array that a step makes, and what each step makes, in order.
  llvm::DenseMap<int64_t, int64_t> chosenBuffers, chosenItems;
  llvm::DenseMap<int64_t, std::vector<table::ChosenRec>> chosenBy;
  std::vector<table::DeviceStepRec> deviceSteps;
  std::vector<table::ScratchRec> scratch;
  std::vector<table::LaunchRec> launches;
  std::vector<table::FunctionRec> functions;
  std::vector<table::ProgramRec> programs;
  std::vector<table::AlternativeRec> alternatives;
};

} // namespace gnnc

#endif // GNNC_LIB_TARGET_PACKAGE_TABLEBUILDER_H
