//===- PhaseRunner.h - A module on its way through the phases ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_PIPELINES_PHASERUNNER_H
#define GNNC_PIPELINES_PHASERUNNER_H

#include "gnnc/Pipelines/Pipelines.h"
#include "mlir/IR/OwningOpRef.h"

namespace gnnc {

/// Runs the phases on a module. This is the only place where compilation goes back a step.
///
/// Before products are formed, targets say what tiles they can compute in general (TargetCapabilities::tilesInBlocks),
/// but whether a particular tile fits is known only of fused sweeps. If one does not fit, the products are formed
/// again, without tiles.
///
/// Fusion estimates how long a kernel's code will be; targets count what they would generate. If that is longer than a
/// kernel may be, fusion is repeated with a smaller bound, until it is not or until less than kLeastStatements would be
/// estimated for each kernel.
class PhaseRunner {
public:
  PhaseRunner(mlir::OwningOpRef<mlir::ModuleOp> module, PhaseOptions options)
      : module(std::move(module)), options(std::move(options)) {}

  /// Runs the next of `passPhases()`; diagnostics say why it failed.
  mlir::LogicalResult run(const PassPhase &phase);
  /// Runs the phases in order, up to but without the one named `end`; empty: all of them.
  mlir::LogicalResult runUntil(llvm::StringRef end);

  mlir::ModuleOp getModule() { return *module; }
  mlir::OwningOpRef<mlir::ModuleOp> takeModule() { return std::move(module); }
  /// The options as given, but without tile-products if products had to be formed again, and with fewer statements if
  /// kernels had become too long.
  const PhaseOptions &getOptions() const { return options; }

private:
  mlir::LogicalResult runPipeline(const PassPhase &phase);
  mlir::LogicalResult fuse(const PassPhase &phase);
  mlir::LogicalResult formProductsAgainWithoutTiles();
  mlir::LogicalResult fuseLess(const PassPhase &phase);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  PhaseOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> beforeProducts, beforeFusion; ///< null: there is no way back
};

} // namespace gnnc

#endif // GNNC_PIPELINES_PHASERUNNER_H
