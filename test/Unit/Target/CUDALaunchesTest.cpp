//===- CUDALaunchesTest.cpp - Launches that GPUs can do -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace gnnc;
using namespace gnnc::cuda;

namespace {

/// The steps of a function on a space @node whose body is `text`.
std::vector<DeviceStep> stepsOf(mlir::MLIRContext &context, mlir::OwningOpRef<mlir::ModuleOp> &module,
                                const std::string &signature, const std::string &text,
                                const PrintOptions &options = {}) {
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>("module { mpdfg.space @node root\n mpdfg.space @edge root\n"
                                                   " mpdfg.map @src root from @edge to @node\n"
                                                   " mpdfg.map @dst root from @edge to @node\n func.func @forward" +
                                                       signature + " {\n" + text + "\n}\n}",
                                                   &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  llvm::Expected<CUDASource> source = printModule(*module, options);
  EXPECT_TRUE(bool(source)) << llvm::toString(source.takeError());
  return source ? std::move(source->steps) : std::vector<DeviceStep>();
}

/// The sum of outer products of rows of k and n numbers.
std::vector<DeviceStep> outerSum(int64_t batch, int64_t k, int64_t n, const PrintOptions &options) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto type = [&](int64_t size) {
    return "tensor<?x" + std::to_string(batch) + "x" + std::to_string(size) + "xf32, #mpdfg.on<@node>>";
  };
  std::string lhs = type(k), rhs = type(n);
  std::string result = "tensor<" + std::to_string(batch) + "x" + std::to_string(k) + "x" + std::to_string(n) + "xf32>";
  return stepsOf(context, module, "(%x: " + lhs + ", %g: " + rhs + ") -> " + result,
                 "%y = mpk.outer_sum over @node (%x, %g) batch " + std::to_string(batch) + " k " + std::to_string(k) +
                     " n " + std::to_string(n) + " : (" + lhs + ", " + rhs + ") -> " + result +
                     "\nreturn %y : " + result,
                 options);
}

/// The product of rows of k numbers with a weight of k by n.
std::vector<DeviceStep> product(int64_t k, int64_t n, const PrintOptions &options, const std::string &type = "f32") {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string columns = std::to_string(n), lhs = "tensor<?x" + std::to_string(k) + "x" + type + ", #mpdfg.on<@node>>",
              rhs = "tensor<" + std::to_string(k) + "x" + columns + "xf32>",
              result = "tensor<?x" + columns + "x" + type + ", #mpdfg.on<@node>>";
  return stepsOf(context, module, "(%x: " + lhs + ", %w: " + rhs + ") -> " + result,
                 "%y = mpk.product over @node (%x, %w) batch 1 rows 1 k " + std::to_string(k) + " n " + columns +
                     " : (" + lhs + ", " + rhs + ") -> " + result + "\nreturn %y : " + result,
                 options);
}

/// How many launches have something to do for so many rows, where machine code for an architecture is loaded (0: PTX).
int64_t launchesFor(const DeviceStep &step, int64_t rows, int architecture) {
  return llvm::count_if(step.launches, [&](const Launch &launch) {
    bool isThere = launch.architecture < 0 ? architecture != -launch.architecture
                                           : launch.architecture == 0 || launch.architecture == architecture;
    return isThere && launch.grid == GridKind::Elements && rows >= launch.leastMembers &&
           (launch.belowMembers == 0 || rows < launch.belowMembers);
  });
}

} // namespace

/// What is counted in numbers of a weight, or in its batches, may be more than one dimension of a grid takes.
TEST(CUDALaunches, WeightsOfAnySize) {
  for (ProductArithmetic products : {ProductArithmetic::TF32x3, ProductArithmetic::FMA})
    for (auto [batch, k, n] : {std::tuple(1, 2048, 1024), {70000, 4, 4}, {1, 40000, 40000}, {300, 512, 4096}}) {
      std::vector<DeviceStep> steps = outerSum(batch, k, n, {products});
      ASSERT_EQ(steps.size(), 1u);
      ASSERT_EQ(steps[0].launches.size(), 2u);
      const Launch &sum = steps[0].launches[0], &add = steps[0].launches[1];
      EXPECT_LE(sum.gridY, 65535);
      EXPECT_LE(sum.gridZ, 65535);
      EXPECT_GE(sum.gridY * sum.gridZ, int64_t(batch) * ((k + 127) / 128) * ((n + 127) / 128));
      EXPECT_EQ(add.gridY * add.gridZ, 1);
      EXPECT_EQ(add.perElement, (int64_t(batch) * k * n + 31) / 32);
      // Blocks of all tiles together: so many partial sums, of which each has a tile, fit a few hundred megabytes.
      EXPECT_GT(sum.mostBlocksPerProcessor, 0);
      EXPECT_LE(sum.mostBlocksPerProcessor * 132 * 128 * 128 * 4, int64_t(256) << 20);
    }
}

/// A long product has a kernel for few rows and one for many: for each number of rows one of them.
TEST(CUDALaunches, LongProductsOfFewRows) {
  for (int64_t k : {255, 256}) {
    std::vector<DeviceStep> steps = product(k, 100, {});
    ASSERT_EQ(steps.size(), 1u);
    const Launch &last = steps[0].launches.back();
    EXPECT_EQ(last.belowMembers, 0);
    if (k < 256) {
      EXPECT_EQ(steps[0].launches.size(), 1u);
      EXPECT_EQ(last.leastMembers, 0);
      continue;
    }
    ASSERT_EQ(steps[0].launches.size(), 2u);
    const Launch &few = steps[0].launches[0];
    EXPECT_EQ(few.leastMembers, 0);
    EXPECT_EQ(few.belowMembers, 256 * 32 / 2); // two tiles of columns
    EXPECT_EQ(last.leastMembers, few.belowMembers);
    EXPECT_EQ(few.perBlock, 32);
    EXPECT_EQ(last.perBlock, 128);
    // All few blocks run at the same time: kStages of what SlicedProduct.cuh keeps of both operands.
    EXPECT_EQ(few.sharedBytes, 3 * 4 * (32 * 68 + 64 * (64 + 8)));
  }
}

/// Where there is machine code for sm_90, warpgroups do products that are large enough; for each number of rows and
/// each architecture there is one kernel, whose shared memory every such GPU has.
TEST(CUDALaunches, Warpgroups) {
  struct Case {
    int k, n;
    int columns, panel;         ///< panel: 0 where the weight's tile is in shared memory as a whole
    int tf32Columns, tf32Panel; ///< where nothing is split
  };
  for (bool splits : {true, false})
    for (Case each : {Case{256, 256, 64, 0, 128, 0},
                      {64, 64, 64, 0, 64, 0},
                      {100, 65, 48, 0, 48, 0},
                      {432, 64, 64, 0, 64, 0},
                      {512, 256, 64, 64, 128, 32},
                      {1280, 320, 64, 64, 160, 32},
                      {600, 64, 32, 0, 64, 0},
                      {2900, 64, 0, 0, 0, 0},
                      {2900, 128, 64, 64, 64, 64},
                      {63, 256, 0, 0, 0, 0}}) {
      PrintOptions options{splits ? ProductArithmetic::TF32x3 : ProductArithmetic::TF32};
      options.hasWarpgroups = true;
      std::vector<DeviceStep> steps = product(each.k, each.n, options);
      ASSERT_EQ(steps.size(), 1u);
      int many = 0, columns = splits ? each.columns : each.tf32Columns, panel = splits ? each.panel : each.tf32Panel;
      const bool isStaged = !splits && panel == 32; // and the weight is put in order first
      int64_t leastMany = 0;
      for (const Launch &launch : steps[0].launches)
        if (llvm::StringRef(launch.kernel).ends_with("_many")) {
          ++many, leastMany = launch.leastMembers;
          EXPECT_EQ(launch.architecture, 90);
          EXPECT_EQ(launch.threads, 512);
          EXPECT_EQ(launch.perBlock, 256);
          EXPECT_EQ(launch.gridY, (each.n + columns - 1) / columns);
          // The weight's tile, or two of its panels and one that is on its way; where rows do not begin at sectors, 16
          // rows of 24 numbers of each warp's results.
          int parts = splits ? 8 : 4;
          int weight = columns * (panel ? panel * (2 * parts + 4) : (each.k + 15) / 16 * 16 * parts);
          if (isStaged) // Four stages of both sides.
            weight = 4 * 128 * (256 + columns) + 64;
          EXPECT_EQ(launch.sharedBytes, weight + (each.n % 8 ? 16 * 16 * 24 * 4 : 0)) << each.k << " x " << each.n;
          EXPECT_LE(launch.sharedBytes, kMostSharedBytes);
        }
      EXPECT_EQ(many, columns ? 1 : 0);
      for (int64_t rows : {1, 4000, 4096, 8192, 16383, 16384, 10000000})
        for (int architecture : {0, 80, 90})
          EXPECT_EQ(launchesFor(steps[0], rows, architecture),
                    1 + (isStaged && architecture == 90 && rows >= leastMany))
              << each.k << ", " << rows << ", " << architecture;
    }
  for (auto [k, n, isMany] : {std::tuple(256, 256, true), {65, 64, true}, {64, 256, false}, {256, 63, false}}) {
    PrintOptions options;
    options.hasWarpgroups = true;
    std::vector<DeviceStep> steps = outerSum(1, k, n, options);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].launches.size(), isMany ? 4u : 2u);
    for (int64_t rows : {1, 8191, 8192, 10000000})
      for (int architecture : {0, 80, 90})
        EXPECT_EQ(launchesFor(steps[0], rows, architecture), 1) << k << ", " << rows << ", " << architecture;
  }
}

/// Rows of 16 bits are multiplied as they are: a weight's tile has half the bytes, and as sums of up to 512 depths have
/// no totals, twice the columns.
TEST(CUDALaunches, WarpgroupsIn16Bits) {
  for (const char *type : {"bf16", "f16"})
    for (ProductArithmetic products : {ProductArithmetic::TF32x3, ProductArithmetic::TF32})
      for (auto [k, n, columns] :
           {std::tuple(256, 256, 128), {64, 64, 64}, {75, 99, 112}, {448, 128, 128}, {512, 128, 64}, {600, 64, 64}}) {
        PrintOptions options{products};
        options.hasWarpgroups = true;
        std::vector<DeviceStep> steps = product(k, n, options, type);
        ASSERT_EQ(steps.size(), 1u);
        int64_t many = 0;
        const bool isRounded = products == ProductArithmetic::TF32;
        const bool isStaged = isRounded && llvm::StringRef(type) == "bf16" && k >= 512 && n > 64;
        const int most = isRounded && k == 512 ? 128 : columns;
        int64_t leastMany = 0;
        for (const Launch &launch : steps[0].launches)
          if (llvm::StringRef(launch.kernel).ends_with("_many")) {
            ++many, leastMany = launch.leastMembers;
            EXPECT_EQ(launch.gridY, (n + most - 1) / most);
            // Where there is room, rows of 16 bits wait to be stored whole.
            int weight = (k + 31) / 32 * 32 * most * (products == ProductArithmetic::TF32 ? 2 : 4);
            int waiting = 16 * 16 * (most % 32 ? 24 : 40) * 4;
            if (isStaged) // Three stages of both sides leave room for that.
              EXPECT_EQ(launch.sharedBytes, 3 * 128 * (256 + most) + 64 + waiting);
            else
              EXPECT_EQ(launch.sharedBytes, weight + (weight + waiting <= kMostSharedBytes ? waiting : 0));
            EXPECT_LE(launch.sharedBytes, kMostSharedBytes);
          }
        EXPECT_EQ(many, 1);
        for (int64_t rows : {1, 4000, 8192, 16383, 16384, 10000000})
          for (int architecture : {0, 80, 90})
            EXPECT_EQ(launchesFor(steps[0], rows, architecture),
                      1 + (isStaged && architecture == 90 && rows >= leastMany))
                << k << ", " << rows << ", " << architecture;
      }
}

/// The ways in which a sweep shares out its items are parts of one grid: all but the last are joined to it, sizes fall,
/// and partial totals are counted from the grid's first block.
TEST(CUDALaunches, WaysOfOneSweep) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string node = "tensor<?x16xf32, #mpdfg.on<@node>>";
  std::vector<DeviceStep> steps =
      stepsOf(context, module, "(%x: " + node + ") -> (" + node + ", tensor<16xf32>)",
              "%y:2 = mpk.sweep over @node along @dst (%x) access [#mpk.access<gather_member @src>] "
              "yields [#mpk.access<owner>, #mpk.access<shared>] {\n^bb0(%a: tensor<16xf32>):\n"
              "%s = mpk.accumulate sum %a : tensor<16xf32>\n%t = mpk.accumulate sum %s shared : tensor<16xf32>\n"
              "mpk.yield %s, %t : tensor<16xf32>, tensor<16xf32>\n} : (" +
                  node + ") -> (" + node +
                  ", tensor<16xf32>)\n"
                  "return %y#0, %y#1 : " +
                  node + ", tensor<16xf32>");
  ASSERT_EQ(steps.size(), 1u);
  std::vector<Launch> parts;
  for (const Launch &launch : steps[0].launches)
    if (launch.grid == GridKind::Items)
      parts.push_back(launch);
  ASSERT_EQ(parts.size(), 4u);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].kernel, "gnnc_kernel0");
    EXPECT_EQ(parts[i].isJoined, i + 1 < parts.size());
    EXPECT_EQ(parts[i].wholeBlocks, i == 0);
    EXPECT_EQ(parts[i].threads, parts[0].threads);
    EXPECT_TRUE(parts[i].isCounted);
    EXPECT_EQ(parts[i].belowMembers, i ? parts[i - 1].leastMembers : 0);
    EXPECT_LT(parts[i].leastMembers, i ? parts[i - 1].leastMembers : 1 << 20);
    for (const Word &word : parts[i].words)
      if (word.kind == WordKind::BlocksBefore)
        EXPECT_EQ(word.number, 0u);
  }
  EXPECT_EQ(parts.back().leastMembers, 0);
  // What merges the slots of heavy owners leaves its totals behind theirs.
  const Launch &merge = steps[0].launches[4];
  EXPECT_EQ(merge.grid, GridKind::HeavyOwners);
  EXPECT_TRUE(llvm::any_of(merge.words,
                           [](const Word &word) { return word.kind == WordKind::BlocksBefore && word.number == 4; }));
}

/// Sweeps of one launch: the first step launches all and touches all their memory, the others do nothing. Each has its
/// blocks, all along x; what is more than a kernel takes arguments goes to another kernel.
TEST(CUDALaunches, JoinedSweeps) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto sweep = [](const std::string &result, const std::string &inputs, int64_t count, int64_t size) {
    std::string type = "tensor<" + std::to_string(size) + "xf32>", types, access, arguments;
    for (int64_t i = 0; i < count; ++i) {
      types += (i ? ", " : "") + type;
      access += i ? ", #mpk.access<shared>" : "#mpk.access<shared>";
      arguments += (i ? ", %a" : "%a") + std::to_string(i) + ": " + type;
    }
    return result + " = mpk.sweep (" + inputs + ") access [" + access + "] yields [#mpk.access<shared>] {\n^bb0(" +
           arguments + "):\n%s = mpdfg.unary neg %a0 : " + type + " -> " + type + "\nmpk.yield %s : " + type +
           "\n} {mpk.launch = 0 : i64} : (" + types + ") -> " + type + "\n";
  };
  std::vector<DeviceStep> steps =
      stepsOf(context, module, "(%x: tensor<4xf32>, %y: tensor<4096xf32>) -> (tensor<4xf32>, tensor<4096xf32>)",
              sweep("%0", "%x", 1, 4) + sweep("%1", "%y", 1, 4096) + "return %0, %1 : tensor<4xf32>, tensor<4096xf32>");
  ASSERT_EQ(steps.size(), 2u);
  ASSERT_EQ(steps[0].launches.size(), 2u);
  EXPECT_EQ(steps[0].written.size(), 2u);
  EXPECT_EQ(steps[0].buffers.size(), 4u);
  EXPECT_TRUE(steps[1].launches.empty());
  EXPECT_TRUE(steps[1].buffers.empty());
  EXPECT_TRUE(steps[1].written.empty());
  const Launch &small = steps[0].launches[0], &wide = steps[0].launches[1];
  EXPECT_TRUE(small.isJoined);
  EXPECT_FALSE(wide.isJoined);
  EXPECT_EQ(small.perElement, 1);
  EXPECT_EQ(wide.perElement, 4096 / (32 * 4 * 2)) << "a group of 32 lanes has two accesses of four numbers in a tile";
  EXPECT_EQ(wide.gridY * wide.gridZ, 1);
  std::vector<std::pair<WordKind, unsigned>> words;
  for (const Word &word : wide.words)
    words.push_back({word.kind, word.number});
  using enum WordKind;
  EXPECT_EQ(words, (std::vector<std::pair<WordKind, unsigned>>{{Buffer, 0},
                                                               {Buffer, 1},
                                                               {Extent, 0},
                                                               {PartBlocks, 0},
                                                               {Buffer, 2},
                                                               {Buffer, 3},
                                                               {Extent, 0},
                                                               {PartBlocks, 1}}));

  // Three sweeps of 200 operands.
  std::string arguments, inputs, body;
  for (int i = 0; i < 200; ++i) {
    arguments += (i ? ", %x" : "%x") + std::to_string(i) + ": tensor<4xf32>";
    inputs += (i ? ", %x" : "%x") + std::to_string(i);
  }
  for (int i = 0; i < 3; ++i)
    body += sweep("%" + std::to_string(i), inputs, 200, 4);
  steps = stepsOf(context, module, "(" + arguments + ") -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)",
                  body + "return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].launches.size(), 2u);
  EXPECT_EQ(steps[1].launches.size(), 0u);
  EXPECT_EQ(steps[2].launches.size(), 1u);
  EXPECT_LE(steps[0].launches.back().words.size(), 512u);
  EXPECT_EQ(steps[2].launches.back().kernel, "gnnc_kernel2");
}

/// Kernels that differ in operands alone are compiled once; steps keep names of their own.
TEST(CUDALaunches, AlikeKernels) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto sweep = [](const std::string &result, const std::string &input, const std::string &op) {
    return result + " = mpk.sweep (" + input + ") access [#mpk.access<shared>] yields [#mpk.access<shared>] {\n" +
           "^bb0(%a: tensor<4xf32>):\n%s = mpdfg.unary " + op + " %a : tensor<4xf32> -> tensor<4xf32>\n" +
           "mpk.yield %s : tensor<4xf32>\n} : (tensor<4xf32>) -> tensor<4xf32>\n";
  };
  std::vector<DeviceStep> steps =
      stepsOf(context, module, "(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)",
              sweep("%0", "%x", "neg") + sweep("%1", "%0", "exp") + sweep("%2", "%1", "neg") +
                  "return %1, %2 : tensor<4xf32>, tensor<4xf32>");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].launches[0].kernel, "gnnc_kernel0");
  EXPECT_EQ(steps[1].launches[0].kernel, "gnnc_kernel1");
  EXPECT_EQ(steps[2].launches[0].kernel, "gnnc_kernel0");
  EXPECT_EQ(steps[2].name, "gnnc_kernel2");
}

TEST(CUDALaunches, RefusesWhatNoGPUHas) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) { said += d.str(); });
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  // 600 parameters in one kernel: 1200 addresses and more.
  std::string arguments, results, names, access, yields, blockArguments, values, rowTypes, types;
  for (int i = 0; i < 600; ++i) {
    std::string number = std::to_string(i), comma = i ? ", " : "";
    arguments += comma + "%x" + number + ": tensor<4xf32>";
    names += comma + "%x" + number;
    types += comma + "tensor<4xf32>";
    access += comma + "#mpk.access<shared>";
    blockArguments += comma + "%a" + number + ": tensor<4xf32>";
    values += comma + "%a" + number;
  }
  module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @forward(" + arguments + ") -> (" + types + ") {\n%y:600 = mpk.sweep (" + names + ") access [" +
          access + "] yields [" + access + "] {\n^bb0(" + blockArguments + "):\nmpk.yield " + values + " : " + types +
          "\n} : (" + types + ") -> (" + types + ")\nreturn " +
          [&] {
            std::string all;
            for (int i = 0; i < 600; ++i)
              all += (i ? ", %y#" : "%y#") + std::to_string(i);
            return all;
          }() +
          " : " + types + "\n}",
      &context);
  ASSERT_TRUE(module) << said;
  llvm::Expected<CUDASource> source = printModule(*module, {});
  EXPECT_FALSE(bool(source));
  llvm::consumeError(source.takeError());
  EXPECT_NE(said.find("kernel 'gnnc_kernel0' would take 1201 arguments of 8 bytes, and at most 512 can be had"),
            std::string::npos)
      << said;
}

/// The translation units together have each kernel once, with what it needs, and launches know which one theirs is in.
TEST(CUDALaunches, PartsOfAModule) {
  mlir::MLIRContext context;
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  std::string arguments, results, types, body;
  int number = 0;
  /// A sweep of one operand, each a result of the function.
  auto add = [&](const std::string &type, const std::string &element, const std::string &over, const char *access,
                 const std::string &operation, const char *attribute) {
    std::string name = std::to_string(number++), comma = number > 1 ? ", " : "";
    arguments += comma + "%x" + name + ": " + type;
    results += comma + "%y" + name;
    types += comma + type;
    body += "%y" + name + " = mpk.sweep " + over + "(%x" + name + ") access [#mpk.access<" + access +
            ">] yields [#mpk.access<" + (over.empty() ? "shared" : "owner") + ">] {\n^bb0(%a: " + element +
            "):\n%s = " + operation + "\nmpk.yield %s : " + element + "\n}" + attribute + " : (" + type + ") -> " +
            type + "\n";
  };
  for (int width = 3; width < 30; ++width) {
    std::string size = std::to_string(width), element = "tensor<" + size + "xf32>";
    add("tensor<?x" + size + "xf32, #mpdfg.on<@node>>", element, "over @node along @dst ", "gather_member @src",
        "mpk.accumulate sum %a : " + element, "");
    // Two launches of the same two bodies, and one more each.
    if (width == 3 || width == 29)
      for (const char *operation : {"neg", "square", width == 3 ? "abs" : "relu"})
        add("tensor<8xf32>", "tensor<8xf32>", "", "shared",
            std::string("mpdfg.unary ") + operation + " %a : tensor<8xf32> -> tensor<8xf32>",
            width == 3 ? " {mpk.launch = 0 : i64}" : " {mpk.launch = 1 : i64}");
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "module { mpdfg.space @node root\n mpdfg.space @edge root\n mpdfg.map @src root from @edge to @node\n"
      " mpdfg.map @dst root from @edge to @node\n func.func @forward(" +
          arguments + ") -> (" + types + ") {\n" + body + "return " + results + " : " + types + "\n}\n}",
      &context);
  ASSERT_TRUE(module);
  llvm::Expected<CUDASource> source = printModule(*module, {});
  ASSERT_TRUE(bool(source)) << llvm::toString(source.takeError());
  ASSERT_EQ(source->steps.size(), size_t(number));
  EXPECT_GT(source->parts.size(), 2u);
  EXPECT_LE(source->parts.size(), 12u);
  const llvm::StringRef entry = "extern \"C\" __global__";
  size_t entries = 0;
  for (llvm::StringRef part : source->parts) {
    EXPECT_TRUE(part.starts_with(llvm::StringRef(source->text).split("namespace").first));
    entries += part.count(entry);
    // What a part has is defined there, once.
    for (int i = 0; i < number; ++i) {
      std::string name = "gnnc_kernel" + std::to_string(i) + "_";
      EXPECT_EQ(part.count("namespace " + name + " {\n") * 2, part.count("namespace " + name));
      EXPECT_EQ(part.count("namespace " + name + " {\n"), part.contains(name + "::Body") ? 1u : 0u) << i;
    }
  }
  EXPECT_EQ(entries, llvm::StringRef(source->text).count(entry));
  for (const DeviceStep &step : source->steps)
    for (const Launch &launch : step.launches) {
      ASSERT_LT(launch.part, source->parts.size());
      EXPECT_NE(source->parts[launch.part].find(" " + launch.kernel + "(const __grid_constant__"), std::string::npos);
    }
}
