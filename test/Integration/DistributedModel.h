//===- DistributedModel.h - A model for one rank and several ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_DISTRIBUTEDMODEL_H
#define GNNC_TEST_INTEGRATION_DISTRIBUTEDMODEL_H

#include "Interpreted.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace gnnc::test {

/// A model before its phases, and after some of them, for one rank or for several.
class DistributedModel {
public:
  explicit DistributedModel(const std::string &text);
  /// Without threads for its passes.
  explicit DistributedModel(frontend::ModelSpec spec);

  /// The maps that parts of tests go along (Ranks.h), whatever would be chosen for the model: those named dst, else the
  /// first. So sums along others are tested.
  std::vector<std::string> along() const;
  /// Up to the phase `end`, with gradients; empty: all phases.
  mlir::OwningOpRef<mlir::ModuleOp> lower(unsigned optLevel, bool distributed, llvm::StringRef end);
  /// The same object code for ranks, with gradients. `optimise`: with LLVM's optimiser, as users get it.
  llvm::Expected<std::unique_ptr<CompiledModel>> compile(unsigned optLevel, bool isDouble, bool optimise = true);
  /// Inputs, parameters and states, and gradients of outputs.
  Tensors tensorsFor(mlir::func::FuncOp function, const Graph &graph) const;

  std::optional<frontend::ModelSpec> spec;
  std::vector<std::string> fixed;           ///< inputs whose halo is given
  std::optional<int64_t> operationsPerByte; ///< as of --operations-per-byte
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> imported;
};

/// A graph with everything that models of these tests need.
Graph graphFor(int64_t nodes, int64_t edges, unsigned seed);

void expectEqual(const Tensors &actual, const Tensors &expected, double tolerance);

/// Whether any of the results is far from what it should be.
bool isFar(const Tensors &found, const Tensors &expected);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_DISTRIBUTEDMODEL_H
