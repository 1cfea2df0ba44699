//===- Pipelines.cpp - The phases of compilation --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/Pipelines.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace gnnc;

namespace {

void simplify(OpPassManager &pm, unsigned optLevel) {
  // 1. Movements over everything and along partial maps get a form that kernels have.
  pm.addPass(createSimplifyMovements());
  // 2. Equal values are computed once; inlined layers repeat derived quantities such as degrees.
  if (optLevel > 0)
    pm.addPass(createCSEPass());
  // 3. What no output needs is dropped, at every level: it might need inputs that are not there.
  pm.addPass(createCanonicalizerPass());
}

void reorder(OpPassManager &pm, unsigned optLevel) {
  // Products stand between sweeps, so they are formed first; at -O2 they also move before a broadcast (R1).
  FormProductsOptions products;
  products.hoist = optLevel >= 2;
  pm.addPass(createFormProducts(products));
  if (optLevel > 0)
    pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
}

void fuse(OpPassManager &pm, unsigned optLevel) {
  FuseMessagePassingOptions options;
  options.fuse = optLevel > 0;
  pm.addPass(createFuseMessagePassing(options));
  // Bodies repeat what several anchors of a sweep share.
  pm.addPass(createCSEPass());
}

void planMemory(OpPassManager &pm, unsigned optLevel) { pm.addPass(createPlanMemory()); }

constexpr PassPhase kPhases[] = {
    {"simplify", "fold, merge equal values, drop unused ones", simplify},
    {"reorder", "form matrix products and move them before broadcasts", reorder},
    {"fuse", "gather everything between products into sweeps (mpk)", fuse},
    {"plan-memory", "give intermediate tensors slots of one arena", planMemory},
};

} // namespace

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
      static std::vector<std::string> names;
      names.push_back(name);
      registrations.push_back(std::make_unique<PassPipelineRegistration<>>(
          name, phase.summary, [populate = phase.populate, level](OpPassManager &pm) { populate(pm, level); }));
    }
}
