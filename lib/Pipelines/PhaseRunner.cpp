//===- PhaseRunner.cpp - A module on its way through the phases -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/PhaseRunner.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace gnnc;

static constexpr llvm::StringLiteral kTiles = "tile-products", kFormProducts = "form-products", kFuse = "fuse";

/// The pass said what it put in tiles; this says that it was in vain.
static void remarkNoTiles(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto remark = remark::missed(function.getLoc(),
                                     remark::RemarkOpts::name("tile").category(kTiles).function(function.getName())))
      remark << "products of members are stored after all: GPUs have no kernel for all the sweeps that would make them";
}

LogicalResult PhaseRunner::runPipeline(const PassPhase &phase) {
  PassManager pm(module->getContext());
  phase.populate(pm, options);
  return pm.run(*module);
}

LogicalResult PhaseRunner::run(const PassPhase &phase) {
  if (phase.name == kFormProducts && options.target.hasTileKernels)
    beforeProducts = module->clone();
  if (failed(runPipeline(phase)))
    return failure();
  if (phase.name != kFuse || !beforeProducts)
    return success();
  OwningOpRef<ModuleOp> checkpoint = std::move(beforeProducts);
  if (options.target.hasTileKernels(*module))
    return success();
  module = std::move(checkpoint);
  return formProductsAgainWithoutTiles();
}

LogicalResult PhaseRunner::formProductsAgainWithoutTiles() {
  options.passes.leaveOut(kTiles);
  {
    // What else happens was remarked the first time.
    ScopedDiagnosticHandler withoutRemarks(module->getContext(), [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
    });
    for (const PassPhase &phase : passPhases())
      if ((phase.name == kFormProducts || phase.name == kFuse) && failed(runPipeline(phase)))
        return failure();
  }
  remarkNoTiles(*module);
  return success();
}

LogicalResult PhaseRunner::runUntil(llvm::StringRef end) {
  for (const PassPhase &phase : passPhases()) {
    if (phase.name == end)
      break;
    if (failed(run(phase)))
      return failure();
  }
  return success();
}
