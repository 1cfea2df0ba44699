//===- DistributedLayersTest.cpp - The standard library on ranks ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers of the standard library with gradients, compiled and run by several ranks, against one rank as the
// interpreter computes it.
//
//===----------------------------------------------------------------------===//

#include "DistributedModel.h"
#include "Ranks.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Layer {
  const char *name;
  const char *call; ///< of an input x on nodes, and e and w on edges
};

void PrintTo(const Layer &layer, std::ostream *stream) { *stream << layer.name; }

class DistributedLayers : public testing::TestWithParam<Layer> {};

TEST_P(DistributedLayers, EqualOneRank) {
  DistributedModel model(std::string(R"(
    import std
    model M(edge_type: int = 4, node_type: int = 3) {
      input x: node[in = 4], e: edge[in_edge = 2], w: edge[]
      output y = )") + GetParam().call +
                         "\n}");
  ASSERT_TRUE(model.spec);
  auto whole = model.lower(/*optLevel=*/2, /*distributed=*/false, "fuse");
  ASSERT_TRUE(whole);
  // LLVM's optimiser, which takes most of the time, knows nothing of ranks.
  auto compiled = model.compile(/*optLevel=*/2, /*isDouble=*/false, /*optimise=*/testsEverything());
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  Graph graph = graphFor(37, 190, 37);
  auto function = whole->lookupSymbol<mlir::func::FuncOp>(kGradient);
  Tensors tensors = model.tensorsFor(function, graph);
  auto expected = interpretOn(*whole, graph, tensors, kGradient);
  ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
  Tensors one = tensorsOf(std::move(*expected));
  for (int count : {2, 5}) {
    SCOPED_TRACE(testing::Message() << count << " ranks");
    Ranks ranks(*model.imported, graph, count, PartitionKind::Random);
    auto found = ranks.run((*compiled)->file(), kGradient, tensors);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    expectEqual(*found, one, 1e-5);
    EXPECT_GT(ranks.bytesExchanged(), 0);
    auto without = ranks.run((*compiled)->file(), kGradient, tensors, /*exchanges=*/false);
    ASSERT_TRUE(bool(without)) << llvm::toString(without.takeError());
    EXPECT_TRUE(isFar(*without, one)) << "what is exchanged makes no difference";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, DistributedLayers,
    testing::Values(
        Layer{"GAT", "GAT(x, heads: 2, out: 3)"}, Layer{"GATPlain", "GATPlain(x, heads: 2, out: 3, concat: false)"},
        Layer{"GATv2", "GATv2(x, heads: 2, out: 3)"}, Layer{"GATv2Edge", "GATv2Edge(x, e, heads: 2, out: 3)"},
        Layer{"GATv2EdgePlain", "GATv2EdgePlain(x, e, heads: 2, out: 3)"},
        Layer{"GraphTransformer", "GraphTransformer(x, heads: 2, out: 3)"},
        Layer{"GraphTransformerEdge", "GraphTransformerEdge(x, e, heads: 2, out: 3)"}, Layer{"AGNN", "AGNN(x)"},
        Layer{"SGC", "SGC(x, w, hops: 3, out: 3)"}, Layer{"APPNP", "APPNP(x, hops: 3)"},
        Layer{"SAGE", "SAGE(x, out: 7)"}, Layer{"SAGEMax", "SAGEMax(x, out: 3)"},
        Layer{"SAGEMin", "SAGEMin(x, out: 3)"}, Layer{"GIN", "GIN(x, hidden: 5, out: 3)"},
        Layer{"EdgeConv", "EdgeConv(x, out: 3)"}, Layer{"EdgeConvMLP", "EdgeConvMLP(x, hidden: 5, out: 3)"},
        Layer{"GMM", "GMM(x, e, kernels: 2, out: 3)"}, Layer{"NNConv", "NNConv(x, e, hidden: 3, out: 2)"},
        Layer{"EdgeNetwork", "EdgeNetwork(x, e, hidden: 5, out: 3)"},
        Layer{"NodeNetwork", "NodeNetwork(sum(x.src), e, hidden: 5, out: 3)"},
        Layer{"BatchNorm", "BatchNorm(sum(x.src))"}, Layer{"LayerNorm", "LayerNorm(sum(x.src))"},
        Layer{"GraphNorm", "GraphNorm(sum(x.src))"}, Layer{"GlobalSumPool", "GlobalSumPool(sum(x.src))"},
        Layer{"GlobalMeanPool", "GlobalMeanPool(sum(x.src))"}, Layer{"GlobalMaxPool", "GlobalMaxPool(sum(x.src))"},
        Layer{"GlobalAttentionPool", "GlobalAttentionPool(sum(x.src))"}, Layer{"RGCN", "RGCN(x, out: 3)"},
        Layer{"RGCNSum", "RGCNSum(x, out: 3)"}, Layer{"RGCNBasis", "RGCNBasis(x, bases: 2, out: 3)"},
        Layer{"RGCNEmbedding", "RGCNEmbedding(bases: 2, out: 3)"}, Layer{"HGT", "HGT(x, heads: 2, out: 3)"},
        Layer{"SimpleHGN", "SimpleHGN(x, heads: 2, out: 3, relation_dim: 2)"}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
