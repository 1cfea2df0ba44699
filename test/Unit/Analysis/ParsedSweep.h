//===- ParsedSweep.h - A sweep from its body --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_ANALYSIS_PARSEDSWEEP_H
#define GNNC_TEST_UNIT_ANALYSIS_PARSEDSWEEP_H

#include "gnnc/Analysis/SweepPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace gnnc::test {

inline mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context, const std::string &text) {
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module;
}

/// A sweep along @dst whose members have a score %s (2 heads) and a value %v (2 heads of 4), its owners a value %o like
/// it.
class ParsedSweep {
public:
  /// `yields`: for each result its access and features, "owner 2x4".
  ParsedSweep(const std::string &body, std::initializer_list<std::pair<const char *, const char *>> yields,
              bool members = true) {
    std::string accesses, types;
    for (auto [access, features] : yields) {
      std::string space = access == std::string("member") ? "edge" : "node";
      accesses += (accesses.empty() ? "" : ", ") + std::string("#mpk.access<") + access + ">";
      types += (types.empty() ? "" : ", ");
      types += access == std::string("shared")
                   ? std::string("tensor<") + features + "xf32>"
                   : std::string("tensor<?x") + features + "xf32, #mpdfg.on<@" + space + ">>";
    }
    std::string score = members ? "edge" : "node";
    module = parse(context, R"(
      mpdfg.space @node root
      mpdfg.space @edge root
      mpdfg.map @src root from @edge to @node
      mpdfg.map @dst root from @edge to @node
      func.func @forward(%score: tensor<?x2x1xf32, #mpdfg.on<@)" +
                                score + R"(>>,
                         %value: tensor<?x2x4xf32, #mpdfg.on<@node>>) {
        mpk.sweep over @node )" +
                                (members ? "along @dst" : "") + R"( (%score, %value, %value)
          access [#mpk.access<)" +
                                (members ? "member" : "owner") + R"(>, #mpk.access<)" +
                                (members ? "gather_member @src" : "owner") + R"(>, #mpk.access<owner>]
          yields [)" + accesses +
                                R"(] {
        ^bb0(%s: tensor<2x1xf32>, %v: tensor<2x4xf32>, %o: tensor<2x4xf32>):
          )" + body + R"(
        } : (tensor<?x2x1xf32, #mpdfg.on<@)" +
                                score + R"(>>, tensor<?x2x4xf32, #mpdfg.on<@node>>,
             tensor<?x2x4xf32, #mpdfg.on<@node>>) -> ()" +
                                types + R"()
        return
      })");
    if (module)
      module->walk([&](mpk::SweepOp op) { sweep = op; });
  }

  /// The body's n-th operation's result.
  mlir::Value value(unsigned n) { return std::next(sweep.getBody().front().begin(), n)->getResult(0); }
  mlir::Value argument(unsigned n) { return sweep.getBody().getArgument(n); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mpk::SweepOp sweep;
};

} // namespace gnnc::test

#endif // GNNC_TEST_UNIT_ANALYSIS_PARSEDSWEEP_H
