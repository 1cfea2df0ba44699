//===- PhaseRunner.cpp - A module on its way through the phases -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/PhaseRunner.h"
#include "gnnc/Analysis/CostModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace gnnc;

static constexpr llvm::StringLiteral kTiles = "tile-products", kFormProducts = "form-products", kFuse = "fuse";

/// Of a kernel, estimated: with fewer it has an operation or two, and what is around them is most of the code.
static constexpr int64_t kLeastStatements = 16;
/// Generated statements that are never too many, whatever is asked for: some operations have as many by themselves.
static constexpr int64_t kShort = 2000;

/// The pass said what it put in tiles; this says that it was in vain.
static void remarkNoTiles(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto remark = remark::missed(function.getLoc(),
                                     remark::RemarkOpts::name("tile").category(kTiles).function(function.getName())))
      remark << "products of members are stored after all: GPUs have no kernel for all the sweeps that would make them";
}

/// What the longest body of a module's kernels comes to by the estimate.
static int64_t estimateLongest(ModuleOp module) {
  int64_t longest = 0;
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &kernel : function.getBody().front()) {
      int64_t statements = 0;
      for (Region &body : kernel.getRegions())
        body.walk([&](Operation *op) { statements += statementsOf(op); });
      longest = std::max(longest, statements);
    }
  return longest;
}

static void remarkLongKernels(ModuleOp module, int64_t length, int64_t statements) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto remark = remark::passed(function.getLoc(),
                                     remark::RemarkOpts::name("length").category(kFuse).function(function.getName())))
      remark << "kernels are fused of at most " + std::to_string(statements) +
                    " statements, as estimated: longer ones come to " + std::to_string(length) +
                    " as they are generated, more statements than a kernel may have";
}

LogicalResult PhaseRunner::runPipeline(const PassPhase &phase) {
  PassManager pm(module->getContext());
  phase.populate(pm, options);
  return pm.run(*module);
}

LogicalResult PhaseRunner::run(const PassPhase &phase) {
  if (phase.name != kFuse) {
    if (phase.name == kFormProducts && options.target.hasTileKernels)
      beforeProducts = module->clone();
    return runPipeline(phase);
  }
  LogicalResult result = fuse(phase);
  if (succeeded(result) && beforeFusion)
    result = fuseLess(phase);
  beforeProducts = {};
  beforeFusion = {};
  return result;
}

/// The phase once, or twice if tiles turn out to have no kernels.
LogicalResult PhaseRunner::fuse(const PassPhase &phase) {
  // Without optimisations every kernel is as short as can be.
  if (options.target.lengthOfLongestKernel && options.passes.getLevel() > 0)
    beforeFusion = module->clone();
  if (failed(runPipeline(phase)))
    return failure();
  if (!beforeProducts || options.target.hasTileKernels(*module))
    return success();
  module = std::move(beforeProducts);
  return formProductsAgainWithoutTiles();
}

/// Again with a smaller bound, as long as what is generated is too long.
LogicalResult PhaseRunner::fuseLess(const PassPhase &phase) {
  const int64_t most = std::max(options.statements, kShort);
  int64_t length = options.target.lengthOfLongestKernel(*module);
  if (length <= most || options.statements <= kLeastStatements)
    return success();
  // What else happens was remarked the first time.
  std::optional<ScopedDiagnosticHandler> withoutRemarks(
      std::in_place, module->getContext(),
      [](Diagnostic &diagnostic) { return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark); });
  for (int64_t now = length; now > most && options.statements > kLeastStatements;
       now = options.target.lengthOfLongestKernel(*module)) {
    int64_t shorter = std::min(options.statements, estimateLongest(*module)) * most / now;
    options.statements = std::max(std::min(shorter, options.statements / 2), kLeastStatements);
    module = std::move(beforeFusion);
    if (failed(fuse(phase)))
      return failure();
  }
  withoutRemarks.reset();
  remarkLongKernels(*module, length, options.statements);
  return success();
}

LogicalResult PhaseRunner::formProductsAgainWithoutTiles() {
  options.passes.leaveOut(kTiles);
  {
    // What else happens was remarked the first time.
    ScopedDiagnosticHandler withoutRemarks(module->getContext(), [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
    });
    for (const PassPhase &phase : passPhases()) {
      if (phase.name == kFuse && beforeFusion)
        beforeFusion = module->clone();
      if ((phase.name == kFormProducts || phase.name == kFuse) && failed(runPipeline(phase)))
        return failure();
    }
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
