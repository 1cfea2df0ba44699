//===- Pipelines.cpp - The phases of compilation --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/Pipelines.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_REGISTRATION
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;

namespace {

/// Adds passes to a phase, except for those that are to be left out.
class PhaseBuilder {
public:
  PhaseBuilder(OpPassManager &pm, const PassSelection &passes) : pm(pm), passes(passes) {}
  /// Whatever the level.
  void require(std::unique_ptr<Pass> pass) { pm.addPass(std::move(pass)); }
  /// From this level on, unless it is left out. `applies`: whether it is for these targets at all.
  void add(unsigned level, std::unique_ptr<Pass> pass, bool applies = true) {
    // Asked in any case, so that optionalPasses() hears of it.
    if (passes.takes(level, pass->getArgument()) && applies)
      pm.addPass(std::move(pass));
  }
  /// Merges equal values; not at -O0.
  void merge(unsigned level) {
    if (passes.getLevel() >= level)
      pm.addPass(createCSEPass());
  }

private:
  OpPassManager &pm;
  const PassSelection &passes;
};

} // namespace

bool PassSelection::takes(unsigned fromLevel, llvm::StringRef name) const {
  if (asked && !llvm::is_contained(*asked, name))
    asked->push_back(name);
  return level >= fromLevel && !llvm::is_contained(without, name);
}

bool gnnc::takesAlternatives(const PassSelection &passes) { return passes.takes(/*fromLevel=*/2, "alternatives"); }

void gnnc::populateSimplifyPipeline(OpPassManager &pm, const SimplifyPipelineOptions &options) {
  PhaseBuilder phase(pm, options.passes);
  // 1. Movements over everything and along partial maps get a form that kernels have.
  phase.require(createSimplifyMovements());
  // 2. Equal values are computed once; inlined layers repeat derived quantities such as degrees.
  phase.merge(1);
  // 3. What no output needs is dropped, at every level: it might need inputs that are not there.
  phase.require(createCanonicalizerPass());
}

void gnnc::populateRewritePipeline(OpPassManager &pm, const RewritePipelineOptions &options) {
  PhaseBuilder phase(pm, options.passes);
  // Movements that are written out are made whole, also those that factor-sums has left.
  phase.add(2, createRecognizePatterns());
  // What is joined only to be moved at once.
  phase.add(2, createSplitMovements());
  // Products and sums are cut by where their operands come from...
  phase.add(2, createSplitConcats());
  phase.add(2, createDistributeLinear());
  // ... and made before these move.
  ReorderBroadcastOptions products;
  products.gradient = options.willDifferentiate;
  phase.add(2, createReorderBroadcast(products));
  // What is left on members meets another weight than its own where that is cheaper.
  AssociateProductsOptions association;
  association.gradient = options.willDifferentiate;
  association.blocks = options.tilesInBlocks;
  phase.add(2, createAssociateProducts(association));
  phase.add(2, createGroupTerms());
  phase.add(2, createSplitFactors());
  HoistElementwiseOptions hoist;
  hoist.gradient = options.willDifferentiate;
  phase.add(2, createHoistElementwise(hoist));
  // What remains in sums and is the same for all members.
  FactorSumsOptions factors;
  factors.gradient = options.willDifferentiate;
  phase.add(2, createFactorSums(factors));
  // Sums and products in the order in which the narrower rows move.
  OrderAggregationOptions order;
  order.extents = options.extents;
  phase.add(2, createOrderAggregation(order));
  // What still multiplies members by weights of types.
  GroupTypesOptions types;
  types.extents = options.extents;
  types.gradient = options.willDifferentiate;
  phase.add(2, createGroupTypes(types));
  // When it is known what has few rows.
  phase.add(2, createMoveTransposes());
  phase.merge(2);
}

void gnnc::populateDifferentiatePipeline(OpPassManager &pm, const DifferentiatePipelineOptions &options) {
  // After rewriting: what moved before a broadcast has its adjoint there too. Before products are formed: rules are
  // about mpdfg, and the adjoint code is rewritten like any other.
  PhaseBuilder phase(pm, options.passes);
  if (options.distributed) {
    // What moves is known now, and is as narrow as rewriting has made it.
    DistributeOptions distribute;
    distribute.along.assign(options.along.begin(), options.along.end());
    distribute.operationsPerByte = options.operationsPerByte;
    distribute.fixed.assign(options.fixed.begin(), options.fixed.end());
    phase.require(createDistribute(distribute));
  }
  DifferentiateOptions adjoint;
  adjoint.gradient = options.gradient;
  adjoint.cotangents.assign(options.cotangents.begin(), options.cotangents.end());
  phase.require(createDifferentiate(adjoint));
  phase.add(1, createReadParts(), options.distributed);
  populateSimplifyPipeline(pm, {options.passes});
}

void gnnc::populateFormProductsPipeline(OpPassManager &pm, const FormProductsPipelineOptions &options) {
  PhaseBuilder phase(pm, options.passes);
  // Sums that follow from others, while products are still visible as such.
  phase.add(2, createReuseSums());
  // When all rewrites have said what is summed, and before products and sweeps are made of that. Where links are as
  // fast as those of GPUs in one machine, work beside transfers gains nothing.
  bool isSlow = options.distributed && options.operationsPerByte > kOperationsPerExchangedByte;
  SplitHaloSumsOptions halos;
  halos.operationsPerByte = options.operationsPerByte;
  phase.add(2, createSplitHaloSums(halos), isSlow);
  phase.add(1, createSplitJoinedOperands(), options.tilesInBlocks);
  phase.add(1, createSweepChannels(), options.tilesInBlocks);
  // Products that need no memory of their own; what is left becomes products.
  TileProductsOptions tiles;
  tiles.blocks = options.tilesInBlocks;
  phase.add(1, createTileProducts(tiles));
  // Long sums over shared values become such gradients.
  phase.add(1, createSpreadContractions());
  // Gradients of weights first: their outer products must not become products of rows. What is left of them to sweeps
  // is only fused with its sum where these are.
  FormOuterSumsOptions outerSums;
  outerSums.blocks = options.tilesInBlocks && options.passes.getLevel() > 0;
  phase.require(createFormOuterSums(outerSums));
  // What remains of sums over everything joins sweeps.
  phase.add(2, createSplitSums());
  // Products stand between sweeps, so they are formed first; at -O2 they also move before a broadcast (R1).
  FormProductsOptions products;
  products.hoist = options.passes.takes(2, "reorder-broadcast");
  phase.require(createFormProducts(products));
  // Work on weights, which fusion would give to one thread.
  phase.add(1, createSpreadShared());
  phase.merge(1);
  phase.require(createCanonicalizerPass());
}

void gnnc::populateFusePipeline(OpPassManager &pm, const FusePipelineOptions &options) {
  PhaseBuilder phase(pm, options.passes);
  // Before fusion, which decides where everything else is computed.
  SaveValuesOptions saving;
  saving.save = options.save;
  saving.checkpoints = options.checkpoints;
  phase.require(createSaveValues(saving));
  FuseMessagePassingOptions fusion;
  fusion.fuse = options.passes.getLevel() > 0;
  fusion.statements = options.statements;
  fusion.degrees = options.passes.takes(0, "read-degrees");
  // With --save=none the least memory is asked for.
  fusion.keep = options.passes.takes(1, "keep-values") && options.save != SaveMode::None;
  phase.require(createFuseMessagePassing(fusion));
  // Bodies repeat what several anchors of a sweep share. Sweeps that are equal stay: their results are outputs, each of
  // which has memory of its own.
  auto mergeInBodies = [&] { pm.nest<func::FuncOp>().nest<mpk::SweepOp>().addPass(createCSEPass()); };
  mergeInBodies();
  // Rows are joined where they are written, and sliced where they are read.
  SplitJoinedRowsOptions rows;
  rows.statements = options.statements;
  phase.add(1, createSplitJoinedRows(rows));
  // Parts of a softmax may take two walks where the whole took one.
  phase.require(createExpandSoftmaxes());
  mergeInBodies();
  if (options.tilesInBlocks)
    phase.require(createSplitTileSweeps());
  phase.add(1, createSplitWideOwners(), options.tilesInBlocks);
  phase.add(1, createSplitUnrelatedRows());
  // What is left to do with the rows of a product is done while they are in registers or cache.
  FuseEpiloguesOptions epilogues;
  epilogues.spread = options.spreadEpilogues;
  phase.add(1, createFuseEpilogues(epilogues));
  // What is kept in memory is known now.
  NarrowStorageOptions narrow;
  narrow.storage = options.storage;
  narrow.wholeInterface = options.wholeInterface;
  if (options.storage != Storage::AsComputed)
    phase.require(createNarrowStorage(narrow));
  // Rows that are alike in memory.
  phase.add(1, createPackRows(), options.packRows);
  // What is left of pairs are the sides that sweeps read.
  phase.add(1, createWalkPairs());
}

void gnnc::populatePlanMemoryPipeline(OpPassManager &pm, const PlanMemoryPipelineOptions &options) {
  PhaseBuilder phase(pm, options.passes);
  PlaceUpdatesOptions updates;
  updates.early = options.joinLaunches && options.passes.takes(1, "join-launches");
  phase.require(createPlaceUpdates(updates));
  phase.add(1, createJoinLaunches(), options.joinLaunches);
  // Among the kernels that there are, which exchange what they exchange.
  phase.add(1, createOverlapTransfers(), options.distributed);
  phase.require(createPlanMemory());
}

/// How the options of all phases give each its own.
static constexpr PassPhase kPhases[] = {
    {"simplify", "fold, merge equal values, drop unused ones",
     [](OpPassManager &pm, const PhaseOptions &options) { populateSimplifyPipeline(pm, {options.passes}); }},
    {"rewrite", "move, split, group and reorder operations where that saves work",
     [](OpPassManager &pm, const PhaseOptions &options) {
       PassSelection passes = options.passes;
       // Pairs of a type and an element that several ranks lead to would be of several ranks. Afterwards, when programs
       // are about one rank's elements, they are not.
       if (options.distributed) {
         passes.leaveOut("group-types");
         passes.leaveOut("split-movements"); // One exchange of a joined row instead of many.
       }
       populateRewritePipeline(
           pm, {passes, options.extents, /*willDifferentiate=*/options.gradient, options.target.tilesInBlocks});
     }},
    {"differentiate", "replace derivatives by code, add @gradient if asked for",
     [](OpPassManager &pm, const PhaseOptions &options) {
       populateDifferentiatePipeline(pm, {options.passes, options.gradient, options.cotangents, options.distributed,
                                          options.along, options.operationsPerByte, options.fixed});
     }},
    {"rewrite-gradient", "the same rewrites, of what differentiation has added",
     [](OpPassManager &pm, const PhaseOptions &options) {
       populateRewritePipeline(
           pm, {options.passes, options.extents, /*willDifferentiate=*/false, options.target.tilesInBlocks});
     }},
    {"form-products", "form matrix products of contractions with a weight",
     [](OpPassManager &pm, const PhaseOptions &options) {
       populateFormProductsPipeline(
           pm, {options.passes, options.target.tilesInBlocks, options.distributed, options.operationsPerByte});
     }},
    {"fuse", "gather everything between products into sweeps (mpk)",
     [](OpPassManager &pm, const PhaseOptions &options) {
       populateFusePipeline(pm, {options.passes, options.save, options.checkpoints, options.storage,
                                 options.wholeInterface, options.target.tilesInBlocks, options.target.spreadEpilogues,
                                 options.target.packRows, options.statements});
     }},
    {"plan-memory", "give intermediate tensors slots of one arena",
     [](OpPassManager &pm, const PhaseOptions &options) {
       populatePlanMemoryPipeline(pm, {options.passes, options.target.joinLaunches, options.distributed});
     }},
};

llvm::ArrayRef<llvm::StringRef> gnnc::optionalPasses() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> asked;
    PhaseOptions options;
    options.passes.asked = &asked;
    OpPassManager pm(ModuleOp::getOperationName());
    for (const PassPhase &phase : kPhases)
      phase.populate(pm, options);
    takesAlternatives(options.passes);
    return asked;
  }();
  return names;
}

llvm::ArrayRef<PassPhase> gnnc::passPhases() { return kPhases; }

void gnnc::registerPasses() {
  registerGNNCTransformsPasses();
  registerCSEPass();
  registerCanonicalizerPass();
  for (const PassPhase &phase : kPhases)
    for (unsigned level = 0; level <= 2; ++level) {
      // Registration keeps references to nothing: names are copied.
      static std::vector<std::unique_ptr<PassPipelineRegistration<>>> registrations;
      std::string name = ("gnnc-" + phase.name + "-O" + llvm::Twine(level)).str();
      registrations.push_back(std::make_unique<PassPipelineRegistration<>>(
          name, phase.summary, [populate = phase.populate, level](OpPassManager &pm) { populate(pm, level); }));
    }
}
