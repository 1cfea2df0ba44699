//===- RandomProgramTest.cpp - The pipeline keeps the meaning -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each seed a program is interpreted as it is and after each phase of each optimisation level. GNNC_RANDOM_SEEDS=a:b
// runs other seeds than the first hundreds; with GNNC_RANDOM_PRINT set, each program is printed before it is run, in a form
// that gnnc-opt --gnnc-interpret takes.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Pipelines/Pipelines.h"
#include "gtest/gtest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <cmath>
#include <cstdlib>

using namespace gnnc;

namespace {

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Empty if all is the same but for the order of additions. Where the program gives no number, anything may come out.
std::string difference(const std::vector<NamedTensor> &expected, const std::vector<NamedTensor> &found) {
  if (expected.size() != found.size())
    return "number of results";
  for (auto [a, b] : llvm::zip(expected, found)) {
    if (a.value.data.size() != b.value.data.size())
      return a.name + ": size";
    for (auto [i, pair] : llvm::enumerate(llvm::zip(a.value.data, b.value.data))) {
      auto [x, y] = pair;
      if (!std::isnan(x) && x != y && !(std::fabs(x - y) <= 1e-9 * (1 + std::fabs(x))))
        return llvm::formatv("{0}[{1}]: expected {2}, found {3}", a.name, i, x, y).str();
    }
  }
  return "";
}

std::pair<unsigned, unsigned> seedRange() {
  const char *text = std::getenv("GNNC_RANDOM_SEEDS");
  std::pair<unsigned, unsigned> range(0, 300);
  if (text) {
    auto [first, last] = llvm::StringRef(text).split(':');
    first.getAsInteger(10, range.first);
    last.getAsInteger(10, range.second);
  }
  return range;
}

TEST(RandomProgram, KeepsItsMeaning) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  auto [first, last] = seedRange();
  for (unsigned seed = first; seed < last; ++seed) {
    test::RandomProgram program = test::makeRandomProgram(&context, seed);
    if (std::getenv("GNNC_RANDOM_PRINT"))
      (llvm::outs() << "// seed " << seed << "\n" << textOf(*program.module) << "\n").flush();
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*program.module))) << "seed " << seed << "\n" << textOf(*program.module);
    llvm::Expected<GraphData> graph = materialise(*program.module, program.graph);
    ASSERT_TRUE(bool(graph)) << "seed " << seed << ": " << llvm::toString(graph.takeError());
    auto expected = interpret(*program.module, *graph, program.inputs);
    ASSERT_TRUE(bool(expected)) << "seed " << seed << ": " << llvm::toString(expected.takeError());

    for (unsigned level = 0; level <= 2; ++level) {
      mlir::OwningOpRef<mlir::ModuleOp> module(program.module->clone());
      for (const PassPhase &phase : passPhases()) {
        std::string before = textOf(*module);
        mlir::PassManager passes(&context);
        phase.populate(passes, level);
        std::string where = llvm::formatv("seed {0}, -O{1}, phase {2}", seed, level, llvm::StringRef(phase.name));
        ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << where << "\n" << before;
        auto found = interpret(*module, *graph, program.inputs);
        ASSERT_TRUE(bool(found)) << where << ": " << llvm::toString(found.takeError()) << "\n" << textOf(*module);
        ASSERT_EQ(difference(*expected, *found), "") << where << "\n" << before;
      }
    }
  }
}

} // namespace
