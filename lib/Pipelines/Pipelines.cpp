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

using namespace mlir;
using namespace gnnc;

namespace {

/// Adds passes to a phase, but for those that are to be left out.
class PhaseBuilder {
public:
  PhaseBuilder(OpPassManager &pm, const PhaseOptions &options) : pm(pm), options(options) {}
  /// Whatever the level.
  void require(std::unique_ptr<Pass> pass) { pm.addPass(std::move(pass)); }
  /// From this level on, unless it is left out.
  void add(unsigned level, std::unique_ptr<Pass> pass) {
    if (options.optLevel >= level && !llvm::is_contained(options.without, pass->getArgument()))
      pm.addPass(std::move(pass));
  }

private:
  OpPassManager &pm;
  const PhaseOptions &options;
};

void simplify(OpPassManager &pm, const PhaseOptions &options) {
  PhaseBuilder phase(pm, options);
  // 1. Movements over everything and along partial maps get a form that kernels have.
  phase.require(createSimplifyMovements());
  // 2. Equal values are computed once; inlined layers repeat derived quantities such as degrees.
  phase.add(1, createCSEPass());
  // 3. What no output needs is dropped, at every level: it might need inputs that are not there.
  phase.require(createCanonicalizerPass());
}

/// Rewrites of mpdfg that make the program cheaper, whatever it is made into later (R1-R6). With `gradient`, @forward
/// is still to be differentiated.
void rewrite(PhaseBuilder &phase, Extents extents, bool gradient) {
  // Movements that are written out are made whole, also those that factor-sums has left.
  phase.add(2, createRecognizePatterns());
  // Products and sums are cut by where their operands come from...
  phase.add(2, createSplitConcats());
  phase.add(2, createDistributeLinear());
  // ... and made before these move.
  ReorderBroadcastOptions products;
  products.gradient = gradient;
  phase.add(2, createReorderBroadcast(products));
  phase.add(2, createGroupTerms());
  phase.add(2, createSplitFactors());
  HoistElementwiseOptions hoist;
  hoist.gradient = gradient;
  phase.add(2, createHoistElementwise(hoist));
  // What remains in sums and is the same for all members.
  FactorSumsOptions factors;
  factors.gradient = gradient;
  phase.add(2, createFactorSums(factors));
  // Sums and products in the order in which the narrower rows move.
  OrderAggregationOptions order;
  order.extents = extents;
  phase.add(2, createOrderAggregation(order));
  // What still multiplies members by weights of types.
  GroupTypesOptions types;
  types.extents = extents;
  types.gradient = gradient;
  phase.add(2, createGroupTypes(types));
  phase.add(2, createCSEPass());
}

void differentiate(OpPassManager &pm, const PhaseOptions &options) {
  PhaseBuilder phase(pm, options);
  // What moves before a broadcast now has its adjoint there too.
  rewrite(phase, options.extents, options.gradient);
  // Before products are formed: rules are about mpdfg, and the adjoint code is reordered like any other.
  DifferentiateOptions adjoint;
  adjoint.gradient = options.gradient;
  phase.require(createDifferentiate(adjoint));
  simplify(pm, options);
}

void reorder(OpPassManager &pm, const PhaseOptions &options) {
  PhaseBuilder phase(pm, options);
  rewrite(phase, options.extents, /*gradient=*/false);
  // Sums that follow from others, while products are still visible as such.
  phase.add(2, createReuseSums());
  // Products that need no memory of their own; what is left becomes products.
  TileProductsOptions tiles;
  tiles.blocks = options.tilesInBlocks;
  phase.add(1, createTileProducts(tiles));
  // Gradients of weights first: their outer products must not become products of rows.
  phase.require(createFormOuterSums());
  // What remains of sums over everything joins sweeps.
  phase.add(2, createSplitSums());
  // Products stand between sweeps, so they are formed first; at -O2 they also move before a broadcast (R1).
  FormProductsOptions products;
  products.hoist = options.optLevel >= 2 && !llvm::is_contained(options.without, "reorder-broadcast");
  phase.require(createFormProducts(products));
  // Work on weights, which fusion would give to one thread.
  phase.add(1, createSpreadShared());
  phase.add(1, createCSEPass());
  phase.require(createCanonicalizerPass());
}

void fuse(OpPassManager &pm, const PhaseOptions &options) {
  // Before fusion, which decides where everything else is computed.
  SaveValuesOptions saving;
  saving.save = options.save;
  pm.addPass(createSaveValues(saving));
  FuseMessagePassingOptions fusion;
  fusion.fuse = options.optLevel > 0;
  fusion.degrees = !llvm::is_contained(options.without, "read-degrees");
  pm.addPass(createFuseMessagePassing(fusion));
  // Bodies repeat what several anchors of a sweep share. Sweeps that are equal stay: their results are outputs, each of
  // which has memory of its own.
  pm.nest<func::FuncOp>().nest<mpk::SweepOp>().addPass(createCSEPass());
  if (options.tilesInBlocks)
    pm.addPass(createSplitTileSweeps());
  // What is left to do with the rows of a product is done while they are at hand.
  FuseEpiloguesOptions epilogues;
  epilogues.spread = options.spreadEpilogues;
  PhaseBuilder(pm, options).add(1, createFuseEpilogues(epilogues));
  // What is kept in memory is known now.
  NarrowStorageOptions narrow;
  narrow.storage = options.storage;
  if (options.storage != Storage::AsComputed)
    pm.addPass(createNarrowStorage(narrow));
}

void planMemory(OpPassManager &pm, const PhaseOptions &options) {
  bool join = options.joinLaunches && options.optLevel > 0 && !llvm::is_contained(options.without, "join-launches");
  PlaceUpdatesOptions updates;
  updates.early = join;
  pm.addPass(createPlaceUpdates(updates));
  if (join)
    pm.addPass(createJoinLaunches());
  pm.addPass(createPlanMemory());
}

constexpr PassPhase kPhases[] = {
    {"simplify", "fold, merge equal values, drop unused ones", simplify},
    {"differentiate", "replace derivatives by code, add @gradient if asked for", differentiate},
    {"reorder", "form matrix products and move them before broadcasts", reorder},
    {"fuse", "gather everything between products into sweeps (mpk)", fuse},
    {"plan-memory", "give intermediate tensors slots of one arena", planMemory},
};

} // namespace

llvm::ArrayRef<llvm::StringRef> gnnc::optionalPasses() {
  static constexpr llvm::StringRef names[] = {
      "recognize-patterns", "split-concats", "distribute-linear", "reorder-broadcast", "group-terms",   "split-factors",
      "hoist-elementwise",  "factor-sums",   "order-aggregation", "group-types",       "reuse-sums",    "split-sums",
      "spread-shared",      "tile-products", "read-degrees",      "fuse-epilogues",    "join-launches", "alternatives"};
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
