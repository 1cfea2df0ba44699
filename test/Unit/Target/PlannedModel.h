//===- PlannedModel.h - A small model past plan-memory ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_TARGET_PLANNEDMODEL_H
#define GNNC_TEST_UNIT_TARGET_PLANNEDMODEL_H

#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Target/Package/Package.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace gnnc::test {

/// Two kernels over a graph with self loops: a product, whose result is in the arena, and a sum with a shared maximum.
/// Spaces and maps are declared in the wrong order on purpose: what is derived comes first.
class PlannedModel {
public:
  PlannedModel() {
    context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(R"(
      module @Planned {
        mpdfg.space @ring union {parts = [@real, @node]}
        mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
        mpdfg.space @edge root
        mpdfg.space @node root
        mpdfg.space @kind static {extent = 3 : i64}
        mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
        mpdfg.map @real.dst compose from @real to @node {parts = [@real.in, @dst]}
        mpdfg.map @real.in inclusion from @real to @edge
        mpdfg.map @src root from @edge to @node
        mpdfg.map @dst root from @edge to @node
        func.func @forward(
            %x: tensor<?x2x4xf32, #mpdfg.on<@node>>
              {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>, mpdfg.axes = ["heads", "in"], mpdfg.fill = 0.5 : f64},
            %w: tensor<8x6xf32> {mpdfg.name = "W", mpdfg.role = #mpdfg.role<param>, mpdfg.axes = ["in", "out"]})
            -> (tensor<?x6xf32, #mpdfg.on<@node>> {mpdfg.name = "y", mpdfg.axes = ["out"]},
                tensor<6xf32> {mpdfg.name = "top", mpdfg.axes = ["out"]}) {
          mpk.arena [@node] bytes [24] first [0] last [1]
          %z = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 6 {mpk.places = [#mpk.place<arena 0>]}
             : (tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<8x6xf32>) -> tensor<?x6xf32, #mpdfg.on<@node>>
          %y:2 = mpk.sweep over @node along @ring.dst (%z) access [#mpk.access<owner>]
              yields [#mpk.access<owner>, #mpk.access<shared>] {
          ^bb0(%a: tensor<6xf32>):
            %s = mpk.accumulate sum %a : tensor<6xf32>
            %m = mpk.accumulate max %s shared : tensor<6xf32>
            mpk.yield %s, %m : tensor<6xf32>, tensor<6xf32>
          } {mpk.places = [#mpk.place<none>, #mpk.place<none>]}
            : (tensor<?x6xf32, #mpdfg.on<@node>>) -> (tensor<?x6xf32, #mpdfg.on<@node>>, tensor<6xf32>)
          return %y#0, %y#1 : tensor<?x6xf32, #mpdfg.on<@node>>, tensor<6xf32>
        }
      })",
                                                     &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    mpk::ProductOp product = *function.getOps<mpk::ProductOp>().begin();
    mpk::SweepOp sweep = *function.getOps<mpk::SweepOp>().begin();
    auto symbol = [&](const char *name) { return mlir::FlatSymbolRefAttr::get(&context, name); };
    EmittedKernel rows, sum;
    rows.name = "gnnc_kernel0";
    rows.kind = StepKind::Rows;
    rows.space = symbol("node");
    rows.buffers = {product.getLhs(), product.getRhs(), product.getResult(0)};
    sum.name = "gnnc_kernel1";
    sum.kind = StepKind::Sweep;
    sum.map = symbol("ring.dst");
    sum.buffers = {product.getResult(0), sweep.getResult(0), sweep.getResult(1)};
    sum.indices = {{IndexKind::Pointers, symbol("ring.dst"), {}},
                   {IndexKind::Sorted, symbol("ring.dst"), symbol("real.dst")},
                   {IndexKind::Pointers, symbol("ring.dst"), {}}};
    sum.merges = {{2, MergeKind::Max, 6}};
    kernels = {rows, sum};
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<EmittedKernel> kernels;
};

} // namespace gnnc::test

#endif // GNNC_TEST_UNIT_TARGET_PLANNEDMODEL_H
