//===- CostModelTest.cpp - Published cost formulas from real programs -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where papers give formulas, the program is written down and the model must find them. "Understanding GNN
// computational graph" counts a concat as an operation for each number it copies and a LeakyReLU as one operation;
// here a copy is bytes, and LeakyReLU a comparison and a product.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/CostModel.h"
#include "ParsedSweep.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

constexpr const char *kTypes = R"(
  !n = tensor<?x64xf32, #mpdfg.on<@node>>
  !e = tensor<?x64xf32, #mpdfg.on<@edge>>
  !ns = tensor<?xf32, #mpdfg.on<@node>>
  !es = tensor<?xf32, #mpdfg.on<@edge>>
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
)";

/// The cost of a function of a module with nodes and edges.
Cost costIn(const std::string &function) {
  mlir::MLIRContext context;
  auto module = parse(context, kTypes + function);
  Cost cost;
  if (module)
    for (auto each : module->getOps<mlir::func::FuncOp>())
      cost = costOfFunction(each);
  return cost;
}

SymbolicExpr edges(int64_t factor) { return SymbolicExpr::of("edge", factor); }
SymbolicExpr nodes(int64_t factor) { return SymbolicExpr::of("node", factor); }

// Section 4 of "Understanding GNN computational graph": 6|E|f + |E| on edges, 4|V|f + 2|E| split and hoisted; f = 64.
TEST(CostModel, ScoresOfGATOnEdges) {
  Cost cost = costIn(R"(
    func.func @f(%u: !e, %v: !e, %a: tensor<128xf32>) -> !es {
      %0 = mpdfg.concat %u, %v axis 0 : (!e, !e) -> tensor<?x128xf32, #mpdfg.on<@edge>>
      %1 = mpdfg.contract %0 [0], %a [0] -> [] : tensor<?x128xf32, #mpdfg.on<@edge>>, tensor<128xf32> -> !es
      %2 = mpdfg.unary leaky_relu %1 {alpha = 0.2 : f64} : !es -> !es
      return %2 : !es
    })");
  EXPECT_EQ(cost.flops, edges(4 * 64 + 2)) << "4|E|f for the product; LeakyReLU is two operations";
  EXPECT_EQ(cost.written, edges(4 * (2 * 64 + 1 + 1))) << "the 2|E|f numbers of the concat, and two scores";
}

TEST(CostModel, ScoresOfGATOnNodes) {
  Cost cost = costIn(R"(
    func.func @f(%x: !n, %a: tensor<64xf32>, %b: tensor<64xf32>) -> !es {
      %0 = mpdfg.contract %x [0], %a [0] -> [] : !n, tensor<64xf32> -> !ns
      %1 = mpdfg.contract %x [0], %b [0] -> [] : !n, tensor<64xf32> -> !ns
      %2 = mpdfg.broadcast %0 along @dst : !ns -> !es
      %3 = mpdfg.broadcast %1 along @src : !ns -> !es
      %4 = mpdfg.binary add %2, %3 : !es, !es -> !es
      %5 = mpdfg.unary leaky_relu %4 {alpha = 0.2 : f64} : !es -> !es
      return %5 : !es
    })");
  EXPECT_EQ(cost.flops, nodes(4 * 64) + edges(1 + 2)) << "4|V|f, and for each edge a sum and LeakyReLU";
}

// Without fusion an edge's row is written and read again (scatter, then gather): 2|E|f numbers beside the result's.
TEST(CostModel, AggregationWithoutFusion) {
  Cost cost = costIn(R"(
    func.func @f(%x: !n) -> !n {
      %0 = mpdfg.broadcast %x along @src : !n -> !e
      %1 = mpdfg.reduce sum %0 along @dst : !e -> !n
      return %1 : !n
    })");
  EXPECT_EQ(cost.flops, edges(64));
  EXPECT_EQ(cost.read, edges(2 * 64 * 4 + 2 * 4));
  EXPECT_EQ(cost.written, edges(64 * 4) + nodes(64 * 4));
}

TEST(CostModel, AggregationInOneSweep) {
  Cost cost = costIn(R"(
    func.func @f(%x: !n) -> !n {
      %0 = mpk.sweep over @node along @dst (%x) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
      ^bb0(%r: tensor<64xf32>):
        %s = mpk.accumulate sum %r : tensor<64xf32>
        mpk.yield %s : tensor<64xf32>
      } : (!n) -> !n
      return %0 : !n
    })");
  EXPECT_EQ(cost.flops, edges(64));
  EXPECT_EQ(cost.read, edges(64 * 4 + 2 * 4) + nodes(4)) << "a row, its number and where it comes from";
  EXPECT_EQ(cost.written, nodes(64 * 4)) << "nothing for an edge";
}

// EdgeConv (the same paper): a product of edges costs 2|E| f f', hoisted 2|V| f f'.
TEST(CostModel, ProductsOnNodesAndEdges) {
  Cost onEdges = costIn(R"(
    func.func @f(%x: !e, %w: tensor<64x32xf32>) -> tensor<?x32xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !e, tensor<64x32xf32> -> tensor<?x32xf32, #mpdfg.on<@edge>>
      return %0 : tensor<?x32xf32, #mpdfg.on<@edge>>
    })");
  Cost onNodes = costIn(R"(
    func.func @f(%x: !n, %w: tensor<64x32xf32>) -> tensor<?x32xf32, #mpdfg.on<@node>> {
      %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 64 n 32 : (!n, tensor<64x32xf32>) -> tensor<?x32xf32, #mpdfg.on<@node>>
      return %0 : tensor<?x32xf32, #mpdfg.on<@node>>
    })");
  EXPECT_EQ(onEdges.flops, edges(2 * 64 * 32));
  EXPECT_EQ(onNodes.flops, nodes(2 * 64 * 32));
  EXPECT_EQ(onNodes.read, nodes(64 * 4) + 64 * 32 * 4);
}

TEST(SymbolicExpr, AddsScalesAndEvaluates) {
  SymbolicExpr cost = edges(3) + nodes(2) * 4 + 5;
  EXPECT_EQ(cost.str(), "3 edge + 8 node + 5");
  auto extent = [](llvm::StringRef space) { return std::optional<int64_t>(space == "edge" ? 10 : 100); };
  EXPECT_EQ(cost.evaluate(extent), 3 * 10 + 8 * 100 + 5);
  EXPECT_EQ(cost.evaluate([](llvm::StringRef) { return std::optional<int64_t>(); }), std::nullopt);
  EXPECT_EQ((edges(3) + edges(-3)).str(), "0");
}

} // namespace
