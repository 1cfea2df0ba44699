//===- Ranks.h - Ranks that are threads -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph with its tensors cut into parts, and a distributed program interpreted, or run, by a thread for each part.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANKS_H
#define GNNC_TEST_INTEGRATION_RANKS_H

#include "ElementNumbers.h"
#include "Interpreted.h"
#include "gnnc/Graphs/Partition.h"
#include "gnnc/Host/ModelFile.h"

#include <functional>
#include <memory>

namespace gnnc::test {

/// A graph's parts, for programs whose root spaces and maps are those of `module` (before it is distributed).
class Ranks {
public:
  Ranks(mlir::ModuleOp module, const Graph &graph, int parts, PartitionKind kind);
  /// Divided as `divide` says.
  using Divide = std::function<llvm::Expected<GraphPartition>(const GraphStructure &)>;
  Ranks(mlir::ModuleOp module, const Graph &graph, const Divide &divide);

  /// That values may be on derived spaces of this distributed program.
  void findDerivedSpaces(mlir::ModuleOp distributed);

  /// Runs a function of a distributed module on all ranks at once. The results on divided spaces are put together
  /// again; all others must be the same bits on all ranks, or this is an error.
  llvm::Expected<Tensors> run(mlir::ModuleOp distributed, llvm::StringRef function, const Tensors &tensors) const;
  /// The same of a compiled model: outputs, and what a program updates. `exchanges`: false brings nothing but zeros.
  llvm::Expected<Tensors> run(const ModelFile &model, llvm::StringRef program, const Tensors &tensors,
                              bool exchanges = true) const;
  /// How long rows of compiled models are on their way.
  void delayExchanges(int milliseconds) { delay = milliseconds; }
  /// Bytes that the ranks of the last run of a compiled model got from each other by exchanges.
  int64_t bytesExchanged() const { return exchanged; }
  /// Elements of halos, by space.
  int64_t haloOf(llvm::StringRef space) const;

private:
  /// Rows of the part, if the value is on a divided space.
  Tensor cut(const Tensor &tensor, llvm::StringRef space, int rank) const;
  /// Rows of the part's halo of `space` ("node.halo").
  Tensor cutHalo(const Tensor &tensor, llvm::StringRef space, int rank) const;
  std::optional<size_t> dividedSpace(llvm::StringRef space) const;
  /// The numbers of a part's elements in the whole graph; null for values that all ranks have.
  const std::vector<int64_t> *elementsOf(llvm::StringRef space, int rank) const;
  /// What an input says of them: the numbers, or two digits of each.
  Tensor numbersOf(llvm::StringRef space, int rank, bool inDigits) const;
  struct Result {
    std::string name, space;
    std::vector<Tensor> ofRanks;
  };
  llvm::Expected<Tensors> putTogether(llvm::ArrayRef<Result> results) const;
  llvm::Error runRank(const ModelFile &model, const ProgramInfo &program, const Tensors &tensors, int rank,
                      const gnnc_collectives &collectives, std::vector<Result> &results) const;

  std::unique_ptr<GraphStructure> structure;
  std::optional<GraphPartition> partition;
  std::vector<RootGraph> parts;
  RootGraph wholeGraph;
  mlir::OwningOpRef<mlir::ModuleOp> undistributed;            ///< its spaces and maps
  std::vector<llvm::StringMap<std::vector<int64_t>>> numbers; ///< by rank and space
  llvm::StringMap<int64_t> extents;                           ///< of the whole graph's divided spaces
  int delay = 0;
  mutable int64_t exchanged = 0;
};

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANKS_H
