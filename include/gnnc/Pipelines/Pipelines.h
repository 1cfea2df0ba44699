//===- Pipelines.h - The phases of compilation ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each phase is a pipeline of passes with options of its own. `passPhases` lists them in order; PhaseRunner runs them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_PIPELINES_PIPELINES_H
#define GNNC_PIPELINES_PIPELINES_H

#include "gnnc/Target/Capabilities.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace gnnc {

/// Which optimisations run: those of a level, except for some that are named.
class PassSelection {
public:
  PassSelection(unsigned level = 2, std::vector<std::string> without = {})
      : level(level), without(std::move(without)) {}
  /// Whether the optimisation `name`, without which programs mean the same, runs; it belongs to `fromLevel` and above.
  bool takes(unsigned fromLevel, llvm::StringRef name) const;
  void leaveOut(llvm::StringRef name) { without.push_back(name.str()); }
  unsigned getLevel() const { return level; }

private:
  friend llvm::ArrayRef<llvm::StringRef> optionalPasses();
  unsigned level;
  std::vector<std::string> without;
  std::vector<llvm::StringRef> *asked = nullptr; ///< names that `takes` is asked about are added; null: they are not
};

struct SimplifyPipelineOptions {
  PassSelection passes;
};
/// simplify: gives movements a form that has kernels, folds, merges equal values and drops unused ones.
void populateSimplifyPipeline(mlir::OpPassManager &pm, const SimplifyPipelineOptions &options);

struct RewritePipelineOptions {
  PassSelection passes;
  /// What to assume where only the graph can tell.
  Extents extents = Extents::Unknown;
  /// @forward is still to be differentiated as a whole.
  bool willDifferentiate = false;
  bool tilesInBlocks = false; ///< see TargetCapabilities
};
/// rewrite: makes the mpdfg program cheaper, whatever it is made into later (R1-R7).
void populateRewritePipeline(mlir::OpPassManager &pm, const RewritePipelineOptions &options);

struct DifferentiatePipelineOptions {
  PassSelection passes;
  bool gradient = false;               ///< add @gradient
  std::vector<std::string> cotangents; ///< outputs that are differentiated; empty: all
  bool distributed = false;            ///< for ranks that have a part of the graph each
  std::vector<std::string> along;      ///< the maps that spaces go along; see the distribute pass
  int64_t operationsPerByte = kOperationsPerExchangedByte;
  std::vector<std::string> fixed; ///< inputs whose rows of other ranks are an input, too
};
/// differentiate: replaces derivatives by the code that computes them. Before that, what ranks exchange is part of the
/// program, so that it is differentiated too.
void populateDifferentiatePipeline(mlir::OpPassManager &pm, const DifferentiatePipelineOptions &options);

struct FormProductsPipelineOptions {
  PassSelection passes;
  bool tilesInBlocks = false; ///< see TargetCapabilities
  bool distributed = false;
  int64_t operationsPerByte = kOperationsPerExchangedByte;
};
/// form-products: contractions with a weight become matrix products, or stay in sweeps in tiles.
void populateFormProductsPipeline(mlir::OpPassManager &pm, const FormProductsPipelineOptions &options);

struct FusePipelineOptions {
  PassSelection passes;
  SaveMode save = SaveMode::Auto;
  unsigned checkpoints = 0;                                              ///< segments that are computed again
  Storage storage = Storage::AsComputed;                                 ///< what rows of spaces are kept as in memory
  bool wholeInterface = false;                                           ///< but for inputs and outputs
  bool tilesInBlocks = false, spreadEpilogues = false, packRows = false; ///< see TargetCapabilities
  int64_t statements = kMostStatements;                                  ///< that a sweep may have
};
/// fuse: gathers everything between products into sweeps; only kernels remain.
void populateFusePipeline(mlir::OpPassManager &pm, const FusePipelineOptions &options);

struct PlanMemoryPipelineOptions {
  PassSelection passes;
  bool joinLaunches = false; ///< see TargetCapabilities
  bool distributed = false;
};
/// plan-memory: orders kernels and gives each intermediate tensor a slot of one arena.
void populatePlanMemoryPipeline(mlir::OpPassManager &pm, const PlanMemoryPipelineOptions &options);

/// What all phases together depend on; an optimisation level alone is enough.
struct PhaseOptions {
  PhaseOptions(unsigned optLevel = 2, bool gradient = false) : passes(optLevel), gradient(gradient) {}
  PassSelection passes;
  bool gradient;                       ///< compute gradients too
  std::vector<std::string> cotangents; ///< outputs that are differentiated; empty: all
  bool distributed = false;            ///< for ranks that have a part of the graph each
  std::vector<std::string> along;      ///< the maps that spaces go along; see the distribute pass
  int64_t operationsPerByte = kOperationsPerExchangedByte;
  std::vector<std::string> fixed; ///< inputs whose rows of other ranks are an input, too
  SaveMode save = SaveMode::Auto;
  unsigned checkpoints = 0; ///< segments of the forward half that are computed again; see the save-values pass
  Extents extents = Extents::Unknown;
  Storage storage = Storage::AsComputed;
  bool wholeInterface = false;          ///< inputs and outputs are stored as they are computed
  int64_t statements = kMostStatements; ///< that a sweep may have
  TargetCapabilities target;
};

/// The names of all optimisations that a PassSelection may leave out, because programs mean the same without them.
/// These are the names that the pipelines ask about.
llvm::ArrayRef<llvm::StringRef> optionalPasses();

/// Whether functions are compiled under several assumptions, for the runtime to choose among
/// (lib/Pipelines/Alternatives.h).
bool takesAlternatives(const PassSelection &passes);

/// A phase that is a pipeline of passes on the module.
struct PassPhase {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  void (*populate)(mlir::OpPassManager &pm, const PhaseOptions &options);
};

/// The phases between import and code generation, in order. Help texts, --compile-to and the driver read this list.
llvm::ArrayRef<PassPhase> passPhases();

/// Registers gnnc's passes and dialect pipelines with the command-line parser of gnnc-opt.
void registerPasses();

} // namespace gnnc

#endif // GNNC_PIPELINES_PIPELINES_H
