//===- Ranks.h - Ranks that are threads -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph with its tensors cut into parts, and a distributed program interpreted by a thread for each part.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_RANKS_H
#define GNNC_TEST_INTEGRATION_RANKS_H

#include "Interpreted.h"
#include "gnnc/Graphs/Partition.h"

#include <memory>

namespace gnnc::test {

/// A graph's parts, for programs whose root spaces and maps are those of `module` (before it is distributed).
class Ranks {
public:
  Ranks(mlir::ModuleOp module, const Graph &graph, int parts, PartitionKind kind);

  /// Runs a function of a distributed module on all ranks at once. The results on divided spaces are put together
  /// again; all others must be the same bits on all ranks, or this is an error.
  llvm::Expected<Tensors> run(mlir::ModuleOp distributed, llvm::StringRef function, const Tensors &tensors) const;

private:
  /// Rows of the part, if the value is on a divided space.
  Tensor cut(const Tensor &tensor, mlir::Type type, int rank) const;
  std::optional<size_t> dividedSpace(mlir::Type type) const;

  std::unique_ptr<GraphStructure> structure;
  std::optional<GraphPartition> partition;
  std::vector<RootGraph> parts;
};

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_RANKS_H
