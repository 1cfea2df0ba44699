//===- PhasesTest.cpp - Which passes run, and in which order ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/PhaseRunner.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace gnnc;

namespace {

/// All passes of all phases, as text.
std::string pipelineOf(const PhaseOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const PassPhase &phase : passPhases()) {
    mlir::OpPassManager pm(mlir::ModuleOp::getOperationName());
    phase.populate(pm, options);
    stream << phase.name << ": ";
    pm.printAsTextualPipeline(stream);
    stream << "\n";
  }
  return text;
}

TEST(PassSelection, TakesByLevelAndName) {
  PassSelection passes(1, {"tile-products"});
  EXPECT_TRUE(passes.takes(1, "fuse-epilogues"));
  EXPECT_FALSE(passes.takes(2, "fuse-epilogues"));
  EXPECT_FALSE(passes.takes(1, "tile-products"));
  passes.leaveOut("fuse-epilogues");
  EXPECT_FALSE(passes.takes(1, "fuse-epilogues"));
}

TEST(PassSelection, EachOptionalPassCanBeLeftOut) {
  PhaseOptions all;
  all.distributed = true; // for those that only ranks have, some of them where links are slow
  all.operationsPerByte *= 2;
  all.target.spreadEpilogues = all.target.tilesInBlocks = all.target.joinLaunches = all.target.packRows = true;
  ASSERT_FALSE(optionalPasses().empty());
  for (llvm::StringRef name : optionalPasses()) {
    PhaseOptions without = all;
    without.passes.leaveOut(name);
    if (name == "alternatives") // Which is no pass, but other runs of all.
      EXPECT_NE(takesAlternatives(all.passes), takesAlternatives(without.passes));
    else
      EXPECT_NE(pipelineOf(all), pipelineOf(without)) << name.str();
  }
}

TEST(PassSelection, NamesAreListedOnce) {
  std::vector<llvm::StringRef> names(optionalPasses().begin(), optionalPasses().end());
  EXPECT_TRUE(llvm::is_contained(names, "read-degrees"));
  EXPECT_TRUE(llvm::is_contained(names, "join-launches")); // whatever the targets
  llvm::sort(names);
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

constexpr const char *kModule = R"(
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: tensor<?x64xf32, #mpdfg.on<@edge>>, %w: tensor<64x64xf32>)
      -> tensor<?x64xf32, #mpdfg.on<@node>> {
    %0 = mpdfg.unary relu %x : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
    %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1]
      : tensor<?x64xf32, #mpdfg.on<@edge>>, tensor<64x64xf32> -> tensor<?x64xf32, #mpdfg.on<@edge>>
    %2 = mpdfg.reduce max %1 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
    return %2 : tensor<?x64xf32, #mpdfg.on<@node>>
  })";

TEST(PhaseRunner, FormsProductsAgainWhereATileHasNoKernel) {
  mlir::MLIRContext context;
  context.loadDialect<mpk::MPKDialect, mlir::func::FuncDialect>();
  for (bool hasKernels : {true, false}) {
    unsigned asked = 0;
    PhaseOptions options;
    options.target.tilesInBlocks = true;
    options.target.hasTileKernels = [&](mlir::ModuleOp) {
      ++asked;
      return hasKernels;
    };
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kModule, &context);
    ASSERT_TRUE(module);
    PhaseRunner runner(std::move(module), options);
    ASSERT_TRUE(mlir::succeeded(runner.runUntil("")));
    EXPECT_EQ(asked, 1u);
    bool tiled = false, product = false;
    runner.getModule().walk([&](mlir::Operation *op) {
      tiled |= mpk::isTiled(op);
      product |= mlir::isa<mpk::ProductOp>(op);
    });
    EXPECT_EQ(tiled, hasKernels);
    EXPECT_EQ(product, !hasKernels);
    EXPECT_EQ(runner.getOptions().passes.takes(1, "tile-products"), hasKernels);
  }
}

constexpr const char *kChain = R"(
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
    %0 = mpdfg.unary tanh %x : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    %1 = mpdfg.unary sin %0 : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    %2 = mpdfg.unary tanh %1 : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    %3 = mpdfg.unary sin %2 : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    return %3 : tensor<?x8xf32, #mpdfg.on<@node>>
  })";

/// The operations of the longest sweep, and of how many there are.
std::pair<int64_t, unsigned> countSweeps(mlir::ModuleOp module) {
  int64_t longest = 0;
  unsigned sweeps = 0;
  module.walk([&](mpk::SweepOp sweep) {
    longest = std::max<int64_t>(longest, llvm::range_size(sweep.getBody().front().without_terminator()));
    ++sweeps;
  });
  return {longest, sweeps};
}

TEST(PhaseRunner, FusesLessWhereKernelsAreLongerThanEstimated) {
  mlir::MLIRContext context;
  context.loadDialect<mpk::MPKDialect, mlir::func::FuncDialect>();
  // Each operation is estimated at 16 statements, and comes to so many; a kernel may have 4000.
  for (auto [each, level, sweeps, longest, statements] : {std::tuple(1000, 2u, 1u, 4, 4000),
                                                          {1001, 2u, 3u, 2, 31},
                                                          {2001, 2u, 3u, 2, 16}, // as short as can be
                                                          {9000, 0u, 4u, 1, 4000}}) {
    PhaseOptions options(level);
    options.target.lengthOfLongestKernel = [&, each = each](mlir::ModuleOp module) {
      return each * countSweeps(module).first;
    };
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kChain, &context);
    ASSERT_TRUE(module);
    PhaseRunner runner(std::move(module), options);
    ASSERT_TRUE(mlir::succeeded(runner.runUntil("")));
    EXPECT_EQ(countSweeps(runner.getModule()), std::pair(int64_t(longest), sweeps)) << each << " -O" << level;
    EXPECT_EQ(runner.getOptions().statements, statements) << each << " -O" << level;
  }
}

} // namespace
