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

// Graphiler (MLSys 2022), section 4.3.1: rows that are broadcast and then multiplied cost |E| + |E| d1 d2, multiplied
// and then broadcast |V| d1 d2 + |E|, the edges' own term being a row that moves; d1 = 64, d2 = 32, a multiplication
// and an addition being two operations.
TEST(CostModel, BroadcastReorderingOfGraphiler) {
  Cost broadcastFirst = costIn(R"(
    func.func @f(%x: !n, %w: tensor<64x32xf32>) -> tensor<?x32xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.broadcast %x along @src : !n -> !e
      %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : !e, tensor<64x32xf32> -> tensor<?x32xf32, #mpdfg.on<@edge>>
      return %1 : tensor<?x32xf32, #mpdfg.on<@edge>>
    })");
  Cost multiplyFirst = costIn(R"(
    func.func @f(%x: !n, %w: tensor<64x32xf32>) -> tensor<?x32xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !n, tensor<64x32xf32> -> tensor<?x32xf32, #mpdfg.on<@node>>
      %1 = mpdfg.broadcast %0 along @src : tensor<?x32xf32, #mpdfg.on<@node>> -> tensor<?x32xf32, #mpdfg.on<@edge>>
      return %1 : tensor<?x32xf32, #mpdfg.on<@edge>>
    })");
  EXPECT_EQ(broadcastFirst.flops, edges(2 * 64 * 32));
  EXPECT_EQ(broadcastFirst.written, edges(4 * 64 + 4 * 32)) << "the broadcast rows, and the result";
  EXPECT_EQ(multiplyFirst.flops, nodes(2 * 64 * 32));
  EXPECT_EQ(multiplyFirst.written, nodes(4 * 32) + edges(4 * 32)) << "what moves is the product";
}

// Graphiler, section 4.3.2: a product with the weight of an edge's type that reads weights where they are needs no
// buffer of |E| d1 d2 numbers. On distinct pairs it has a row for each pair that occurs, not for each node and type.
TEST(CostModel, TypedProductsOnPairs) {
  const char *types = R"(
    mpdfg.space @etype static {extent = 4 : i64}
    mpdfg.map @kind root from @edge to @etype
    mpdfg.space @pair distinct {base = @edge, maps = [@src, @kind]}
    mpdfg.map @pair.src projection from @pair to @node {part = 0 : i64}
    mpdfg.map @pair.kind projection from @pair to @etype {part = 1 : i64}
    !w = tensor<4x64x32xf32, #mpdfg.on<@etype>>
)";
  Cost broadcastWeights = costIn(std::string(types) + R"(
    func.func @f(%x: !e, %w: !w) -> tensor<?x32xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.broadcast %w along @kind : !w -> tensor<?x64x32xf32, #mpdfg.on<@edge>>
      %1 = mpdfg.contract %x [0], %0 [0, 1] -> [1] : !e, tensor<?x64x32xf32, #mpdfg.on<@edge>>
         -> tensor<?x32xf32, #mpdfg.on<@edge>>
      return %1 : tensor<?x32xf32, #mpdfg.on<@edge>>
    })");
  Cost onPairs = costIn(std::string(types) + R"(
    func.func @f(%x: !n, %w: !w) -> tensor<?x32xf32, #mpdfg.on<@pair>> {
      %0 = mpk.product over @pair (%x, %w) batch 1 rows 1 k 64 n 32 gather @pair.src group @pair.kind
         : (!n, !w) -> tensor<?x32xf32, #mpdfg.on<@pair>>
      return %0 : tensor<?x32xf32, #mpdfg.on<@pair>>
    })");
  auto pairs = [](int64_t factor) { return SymbolicExpr::of("pair", factor); };
  EXPECT_EQ(broadcastWeights.written, edges(4 * 64 * 32 + 4 * 32)) << "|E| d1 d2 numbers of weights";
  EXPECT_EQ(onPairs.flops, pairs(2 * 64 * 32)) << "no term in |E|, and none in |V| |R|";
  EXPECT_EQ(onPairs.written, pairs(4 * 32));
  EXPECT_EQ(onPairs.read, pairs(4 * 64 + 2 * 4) + SymbolicExpr::of("etype", 4 * 64 * 32))
      << "weights once for each type";
}

// "Understanding GNN computational graph" (MLSys 2022), section 5: fused, GAT's Scatter, ReduceScatter and Aggregate
// move |V|hf + 5|E|h + 2|E|hf numbers, not |V|hf + 7|E|h + 3|E|hf. That kernel still keeps scores of edges; here they
// stay in registers, which leaves a score and a row for each edge. h = 8, f = 16.
TEST(CostModel, TrafficOfFusedGAT) {
  constexpr int64_t h = 8, f = 16;
  Cost cost = costIn(R"(
    !z = tensor<?x8x16xf32, #mpdfg.on<@node>>
    !s = tensor<?x8x1xf32, #mpdfg.on<@node>>
    func.func @f(%z: !z, %sd: !s, %ss: !s) -> !z {
      %0 = mpk.sweep over @node along @dst (%sd, %ss, %z)
          access [#mpk.access<owner>, #mpk.access<gather_member @src>, #mpk.access<gather_member @src>]
          yields [#mpk.access<owner>] {
      ^bb0(%d: tensor<8x1xf32>, %s: tensor<8x1xf32>, %v: tensor<8x16xf32>):
        %1 = mpdfg.binary add %s, %d : tensor<8x1xf32>, tensor<8x1xf32> -> tensor<8x1xf32>
        %2 = mpdfg.unary leaky_relu %1 {alpha = 0.2 : f64} : tensor<8x1xf32> -> tensor<8x1xf32>
        %3 = mpk.softmax %2 : tensor<8x1xf32>
        %4 = mpdfg.binary mul %3, %v : tensor<8x1xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
        %5 = mpk.accumulate sum %4 : tensor<8x16xf32>
        mpk.yield %5 : tensor<8x16xf32>
      } : (!s, !s, !z) -> !z
      return %0 : !z
    })");
  SymbolicExpr indices = edges(2 * 4) + nodes(4); // which the paper leaves out
  EXPECT_EQ(cost.read + cost.written, nodes(4 * (h * f + h)) + edges(4 * (h + h * f)) + indices);
  EXPECT_EQ(cost.written, nodes(4 * h * f)) << "|V|hf";
}

// The same without fusion, each operation a kernel: a row of hf numbers for an edge is written by the broadcast and by
// the product with its weight, and read as often and once more by the sum, which is more than the 3|E|hf of the paper's
// Aggregate, whose broadcast and product are one.
TEST(CostModel, TrafficOfAggregateAsOperations) {
  constexpr int64_t h = 8, f = 16;
  Cost cost = costIn(R"(
    func.func @f(%z: tensor<?x8x16xf32, #mpdfg.on<@node>>, %a: tensor<?x8x1xf32, #mpdfg.on<@edge>>)
        -> tensor<?x8x16xf32, #mpdfg.on<@node>> {
      %0 = mpdfg.broadcast %z along @src : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
      %1 = mpdfg.binary mul %a, %0 : tensor<?x8x1xf32, #mpdfg.on<@edge>>, tensor<?x8x16xf32, #mpdfg.on<@edge>>
         -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
      %2 = mpdfg.reduce sum %1 along @dst : tensor<?x8x16xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@node>>
      return %2 : tensor<?x8x16xf32, #mpdfg.on<@node>>
    })");
  EXPECT_EQ(cost.read + cost.written, nodes(4 * h * f) + edges(4 * (5 * h * f + h)) + edges(2 * 4));
}

// The same paper, section 6, and "IO-aware layers", section 3.2: the backward pass reads the softmax's statistics, 2 h
// numbers for each node, and no weights of edges: O(|V| h) instead of O(|E| h). Forward sweeps write shift and scale
// for it.
TEST(CostModel, StatisticsInsteadOfWeights) {
  constexpr int64_t h = 8;
  auto sweep = [](const char *kept, const char *access, const char *result) {
    return std::string(R"(
    !s = tensor<?x8xf32, #mpdfg.on<@node>>
    func.func @f(%x: !s) -> )") +
           result + R"( {
      %0 = mpk.sweep over @node along @dst (%x) access [#mpk.access<gather_member @src>] yields [)" +
           access + R"(] {
      ^bb0(%s: tensor<8xf32>):
        %1 = )" +
           kept + R"( %s : tensor<8xf32>
        mpk.yield %1 : tensor<8xf32>
      } : (!s) -> )" +
           result + R"(
      return %0 : )" +
           result + R"(
    })";
  };
  Cost weights = costIn(sweep("mpk.softmax", "#mpk.access<member>", "tensor<?x8xf32, #mpdfg.on<@edge>>"));
  Cost statistics =
      costIn(sweep("mpk.accumulate softmax_scale", "#mpk.access<owner>", "tensor<?x8xf32, #mpdfg.on<@node>>"));
  EXPECT_EQ(weights.written, edges(4 * h));
  EXPECT_EQ(statistics.written, nodes(4 * h));
  EXPECT_EQ(weights.read, edges(2 * (4 * h + 2 * 4)) + nodes(4)) << "two walks: the softmax is a result";
  EXPECT_EQ(statistics.read, edges(4 * h + 2 * 4) + nodes(4)) << "one walk";
}

// A degree is the difference of two offsets: its owner reads one more number of the index, a member two.
TEST(CostModel, DegreesAreRead) {
  Cost owner = costIn(R"(
    func.func @f(%x: !ns) -> !ns {
      %d = mpdfg.degree along @dst : !ns
      %0 = mpk.sweep over @node (%x, %d) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%r: tensor<f32>, %c: tensor<f32>):
        %1 = mpdfg.binary mul %r, %c : tensor<f32>, tensor<f32> -> tensor<f32>
        mpk.yield %1 : tensor<f32>
      } : (!ns, !ns) -> !ns
      return %0 : !ns
    })");
  EXPECT_EQ(owner.read, nodes(4 + 4));
  Cost member = costIn(R"(
    func.func @f() -> !ns {
      %d = mpdfg.degree along @src : !ns
      %0 = mpk.sweep over @node along @dst (%d) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
      ^bb0(%c: tensor<f32>):
        %1 = mpk.accumulate sum %c : tensor<f32>
        mpk.yield %1 : tensor<f32>
      } : (!ns) -> !ns
      return %0 : !ns
    })");
  EXPECT_EQ(member.read, edges(2 * 4 + 2 * 4) + nodes(4)) << "two offsets, and two numbers of the member";
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
