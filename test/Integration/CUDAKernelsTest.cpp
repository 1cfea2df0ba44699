//===- CUDAKernelsTest.cpp - All layers' kernels compile for GPUs ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each layer of the standard library, with its gradient, to PTX. Whether the numbers are right is for machines with a
// GPU, where all other tests of layers run on it too.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Target/CUDA/NVRTC.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Layer {
  const char *name, *text;
};

void PrintTo(const Layer &layer, std::ostream *out) { *out << layer.name; }

class CUDAKernels : public testing::TestWithParam<Layer> {};

} // namespace

TEST_P(CUDAKernels, Compile) {
  if (llvm::Error missing = cuda::findCompiler())
    GTEST_SKIP() << llvm::toString(std::move(missing));
  std::optional<spec::ModelSpec> model = loadText(std::string("import std\n") + GetParam().text);
  ASSERT_TRUE(model);
  for (bool twice : {false, true}) {
    if (twice && llvm::StringRef(GetParam().name) != "GAT") // One layer in double precision is enough.
      continue;
    model->doublePrecision = twice;
    CompileOptions options;
    options.emit = EmitKind::PTX;
    options.gradient = true;
    llvm::Expected<std::string> code = compile(*model, options);
    ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
    EXPECT_NE(code->find(".entry gnnc_kernel0"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, CUDAKernels,
    testing::Values(
        Layer{"GCN", "model M { input x: node[6], w: edge[]\n output y = GCN(x, w, out: 5) }"},
        Layer{"SGC", "model M { input x: node[6]\n output y = SGC(x, hops: 2, out: 5) }"},
        Layer{"APPNP", "model M { input x: node[6]\n output y = APPNP(x, hops: 2) }"},
        Layer{"SAGE",
              "model M { input x: node[6]\n output y = SAGEMax(x, out: 4) + SAGEMin(x, out: 4) + SAGE(x, out: 4) }"},
        Layer{"GIN", "model M { input x: node[6]\n output y = GIN(x, hidden: 8) }"},
        Layer{"EdgeConv",
              "model M { input x: node[6]\n output y = EdgeConvMLP(x, hidden: 8, out: 5) + EdgeConv(x, out: 5) }"},
        Layer{"GMM", "model M { input x: node[6], p: edge[2]\n output y = GMM(x, p, kernels: 3, out: 5) }"},
        Layer{"NNConv", "model M { input x: node[4], e: edge[3]\n output y = NNConv(x, e, hidden: 6, out: 5) }"},
        Layer{"GAT", "model M { input x: node[6]\n output y = GAT(x, heads: 3, out: 4) }"},
        Layer{"GATMean", "model M { input x: node[6]\n output y = GATPlain(x, heads: 3, out: 4, concat: false) }"},
        Layer{"GATv2", "model M { input x: node[6], f: edge[3]\n output y = GATv2Edge(x, f, heads: 2, out: 4) }"},
        Layer{"Transformer",
              "model M { input x: node[6], f: edge[3]\n output y = GraphTransformerEdge(x, f, heads: 2, out: 4) }"},
        Layer{"AGNN", "model M { input x: node[6]\n output y = AGNN(x) }"},
        Layer{"CGAT", "model M { input x: node[6]\n output y = CGAT(x, out: 4, slope: 0.1) }"},
        Layer{"RGCN", "model M(edge_type: int = 4) { input x: node[6]\n"
                      "output h = RGCNEmbedding(bases: 2, out: 6)\n output y = RGCNBasis(x, bases: 3, out: 5) }"},
        Layer{"HGT", "model M(node_type: int = 3, edge_type: int = 4) { input x: node[6]\n"
                     "output y = HGT(x, heads: 2, out: 4) }"},
        Layer{"SimpleHGN", "model M(edge_type: int = 4) { input x: node[6]\n"
                           "output y = L2Normalize(SimpleHGN(x, heads: 2, out: 4, relation_dim: 3)) }"},
        Layer{"Interaction",
              "model M { input x: node[4], e: edge[3]\n"
              "let f = EdgeNetwork(x, e, hidden: 6, out: 5)\n output y = NodeNetwork(x, f, hidden: 6, out: 7) }"},
        Layer{"Norms", "model M { input x: node[6]\n output y = GraphNorm(BatchNorm(LayerNorm(x))) }"},
        Layer{"Pools", "model M { input x: node[6]\n"
                       "output s = GlobalSumPool(x) + GlobalMeanPool(x) + GlobalMaxPool(x) + GlobalAttentionPool(x) }"},
        Layer{"Sparse",
              "model M { input x: node[in = 50] sparse\n param W[in, out = 7]\n output y = RowNormalize(x) @ W }"},
        Layer{"Joins", "model M { input x: node[features = 6]\n"
                       "output y = sum(softmax(concat(x.src, x.dst, axis: features))) }"}),
    [](const auto &info) { return std::string(info.param.name); });
