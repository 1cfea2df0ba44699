//===- DistributedTest.cpp - Ranks with parts of a graph against one -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models as the interpreter computes them, on one rank and on several: outputs, gradients of all parameters and inputs,
// and what a training step makes of parameters.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Pipelines/PhaseRunner.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Recipe {
  const char *name;
  const char *text;
  bool exchanges = true; ///< the result is another one if nothing is exchanged
};

void PrintTo(const Recipe &recipe, std::ostream *stream) { *stream << recipe.name; }

constexpr double kTolerance = 1e-12;

/// A model before its phases, and after those up to `form-products`, for one rank or for several.
class DistributedModel {
public:
  explicit DistributedModel(const std::string &text) : spec(loadText(text)) {
    context.loadDialect<mpk::MPKDialect, mpdfg::MPDFGDialect, mlir::func::FuncDialect>();
    if (spec)
      imported = importModel(*spec, &context);
  }

  mlir::OwningOpRef<mlir::ModuleOp> lower(unsigned optLevel, bool distributed) {
    PhaseOptions options(optLevel, /*gradient=*/true);
    options.distributed = distributed;
    PhaseRunner runner(mlir::OwningOpRef<mlir::ModuleOp>(imported->clone()), options);
    if (mlir::failed(runner.runUntil("fuse")))
      return {};
    return runner.takeModule();
  }

  std::optional<frontend::ModelSpec> spec;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> imported;
};

/// A graph with everything that models of this test need.
Graph graphFor(int64_t nodes, int64_t edges, unsigned seed) {
  Graph graph = randomGraph(nodes, edges, seed);
  graph.extents["class"] = 3;
  graph.extents["train"] = nodes / 3;
  graph.maps["label"];
  graph.maps["train_idx"];
  for (int32_t i = 0; i < nodes; ++i)
    graph.maps["label"].push_back(i % 4 - 1); // -1: no label
  for (int32_t i = 0; i < nodes / 3; ++i)
    graph.maps["train_idx"].push_back(int32_t((3 * i + 1) % nodes));
  // Three entries in each row of a sparse input.
  graph.extents["x.entry"] = 3 * nodes;
  for (int32_t i = 0; i < 3 * nodes; ++i) {
    graph.maps["x.row"].push_back(i / 3);
    graph.maps["x.column"].push_back((7 * i + i / 3) % 5);
  }
  // Of two kinds of nodes.
  graph.extents["user"] = nodes;
  graph.extents["item"] = nodes / 2 + 1;
  graph.extents["bought"] = edges;
  graph.maps["bought.src"] = graph.map("src");
  graph.maps["bought.dst"];
  for (int32_t target : graph.map("dst"))
    graph.maps["bought.dst"].push_back(target / 2);
  return graph;
}

void expectEqual(const Tensors &actual, const Tensors &expected, double tolerance = kTolerance) {
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    ASSERT_TRUE(found != actual.end()) << name;
    if (!tensor.data.empty()) {
      EXPECT_LE(relativeError(found->second, tensor), tolerance) << name;
    }
  }
}

/// Transfers that bring nothing but zeros.
void switchOff(mlir::ModuleOp module) {
  module.walk([](mpdfg::TransferOp transfer) {
    mlir::OpBuilder b(transfer);
    mlir::Type row = mpdfg::getElementType(transfer.getType());
    mlir::Value zero = mpdfg::ConstantOp::create(b, transfer.getLoc(), row, b.getF64FloatAttr(0));
    transfer.replaceAllUsesWith(mpdfg::BroadcastOp::create(b, transfer.getLoc(), transfer.getType(), zero,
                                                           mlir::FlatSymbolRefAttr::get(b.getContext(), mpdfg::kAllMap),
                                                           b.getF64FloatAttr(0))
                                    .getResult());
    transfer.erase();
  });
}

class Distributed : public testing::TestWithParam<Recipe> {
protected:
  /// Inputs, parameters and states, and gradients of outputs.
  static Tensors tensorsFor(const DistributedModel &model, mlir::func::FuncOp function, const Graph &graph) {
    Tensors tensors = randomTensors(*model.spec, graph, 5);
    unsigned seed = 7;
    for (mlir::BlockArgument argument : function.getArguments()) {
      std::string name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kNameAttr).str();
      if (name == "step")
        tensors[name].data = {2};
      // Second moments and variances are not negative.
      if (llvm::StringRef(name).ends_with(".v") || llvm::StringRef(name).ends_with("var"))
        for (double &x : tensors[name].data)
          x = std::fabs(x) + 0.125;
      if (tensors.count(name))
        continue;
      std::vector<int64_t> shape;
      if (mlir::FlatSymbolRefAttr space = mpdfg::getResidency(argument.getType()))
        shape.push_back(graph.extent(space.getValue().str()));
      llvm::append_range(shape, mpdfg::getFeatureShape(argument.getType()));
      Tensor &tensor = tensors[name] = Tensor::zeros(shape);
      for (double &x : tensor.data)
        x = double((seed = seed * 1103515245 + 12345) >> 16 & 1023) / 512 - 1;
    }
    return tensors;
  }
};

TEST_P(Distributed, EqualsOneRank) {
  DistributedModel model(GetParam().text);
  ASSERT_TRUE(model.spec);
  for (unsigned optLevel : {0u, 2u}) {
    SCOPED_TRACE("-O" + std::to_string(optLevel));
    auto whole = model.lower(optLevel, /*distributed=*/false), parts = model.lower(optLevel, /*distributed=*/true);
    ASSERT_TRUE(whole && parts);
    int64_t transfers = 0;
    parts->walk([&](mpdfg::TransferOp) { ++transfers; });
    EXPECT_EQ(transfers > 0, GetParam().exchanges);
    parts->walk([](mpdfg::VaryOp op) { ADD_FAILURE() << "vary is left"; });
    auto off = mlir::OwningOpRef<mlir::ModuleOp>(parts->clone());
    switchOff(*off);

    for (auto function : parts->getOps<mlir::func::FuncOp>()) {
      if (function.getName() == kForward)
        continue; // the gradient gives the same, and more
      SCOPED_TRACE(function.getName().str());
      // Only these have results that numbers of other ranks are sure to change.
      bool differs = function.getName() == kGradient || function.getName() == "train_step";
      bool exchanges = differs && !function.getBody().front().getOps<mpdfg::TransferOp>().empty();
      for (auto [nodes, edges] : {std::pair(37, 190), std::pair(5, 9), std::pair(1, 3)}) {
        SCOPED_TRACE(testing::Message() << nodes << " nodes");
        Graph graph = graphFor(nodes, edges, unsigned(nodes));
        Tensors tensors = tensorsFor(model, function, graph);
        auto expected = interpretOn(*whole, graph, tensors, function.getName());
        ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
        Tensors one = tensorsOf(std::move(*expected));
        for (int count : {1, 2, 3, 4})
          for (PartitionKind kind : {PartitionKind::Metis, PartitionKind::Random}) {
            SCOPED_TRACE(testing::Message() << count << " ranks, by " << int(kind));
            Ranks ranks(*model.imported, graph, count, kind);
            auto found = ranks.run(*parts, function.getName(), tensors);
            ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
            expectEqual(*found, one);
            if (!exchanges || nodes < 37 || count == 1)
              continue;
            auto without = ranks.run(*off, function.getName(), tensors);
            ASSERT_TRUE(bool(without)) << llvm::toString(without.takeError());
            EXPECT_TRUE(llvm::any_of(one, [&](auto &each) {
              return relativeError(without->at(each.first), each.second) > 1e-3;
            })) << "what is exchanged makes no difference";
          }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Distributed,
                         testing::Values(Recipe{"GCN", R"(
    import std
    model M {
      input x: node[in = 6]
      let h = relu(GCN(x, out: 5) as c1)
      output y = GCN(h, out: 3) as c2
    })"},
                                         Recipe{"SAGE", R"(
    import std
    model M {
      input x: node[in = 4]
      let h = tanh(SAGE(x, out: 5))
      output y = SAGEMax(h, out: 3)
    })"},
                                         Recipe{"GAT", R"(
    import std
    model M {
      input x: node[in = 4]
      let h = elu(GAT(x, heads: 2, out: 3))
      output y = GATv2Plain(h, out: 3)
    })"},
                                         Recipe{"EdgeNetworks", R"(
    import std
    model M {
      input x: node[in = 4], e: edge[in_edge = 2]
      let h = EdgeConvMLP(x, hidden: 5, out: 3)
      output y = NNConv(h, e, hidden: 3, out: 2)
    })"},
                                         Recipe{"SumToSource", R"(
    model M {
      input x: node[in = 3], w: edge[]
      param W[in, out = 4]
      let h = tanh(x @ W)
      output y = sum(w * h.dst, along: src) + mean(h.dst * h.src, along: src)
    })"},
                                         Recipe{"Readout", R"(
    import std
    model M {
      input x: node[in = 4], target: graph[out = 3]
      let h = relu(GCN(x, out: 5))
      output y = Linear(mean(h, along: batch), out: 3)
      output error = MSE(y, target)
      output total = mean(h, along: all)
    })"},
                                         Recipe{"GraphNorm", R"(
    import std
    model M {
      input x: node[in = 4]
      output y = GraphNorm(x)
    })",
                                                /*exchanges=*/false}, // nodes are where their graphs are
                                         Recipe{"AttentionOverAll", R"(
    model M {
      input x: node[in = 4]
      param a[in], b[in]
      let alpha = softmax(x @ a, along: all)
      let y = sum(alpha * x, along: all)
      output z = square(b) + y
    })",
                                                /*exchanges=*/false},
                                         Recipe{"Relational", R"(
    import std
    model M(edge_type: int = 4, node_type: int = 3) {
      input x: node[in = 4]
      param P: node_type[in], Q: node_type[in, out = 3], R: edge_type[in, out]
      let h = relu(RGCN(x + P.ntype, out: 3))
      output y = sum(x.src @ Q.src + x.src @ R.edge, along: dst) * h
      output t = sum(h.src, along: etype) + mean(h.dst, along: etype)
    })"},
                                         Recipe{"DegreesAndExtents", R"(
    model M {
      input x: node[in = 3]
      output y = x / (1 + degree(src)) + x * degree(dst)
      output m = mean(x.src, along: all)
    })"},
                                         Recipe{"Sparse", R"(
    model M {
      input x: node[in = 5] sparse
      param W[in, out = 3]
      output y = sum((x @ W).src)
    })"},
                                         Recipe{"GraphNormOfNeighbours", R"(
    import std
    model M {
      input x: node[in = 4]
      output y = GraphNorm(sum(x.src))
    })"},
                                         Recipe{"Embedding", R"(
    import std
    model M {
      param H: node[in = 4]
      output y = SAGE(H, out: 3)
    })"},
                                         Recipe{"Bipartite", R"(
    import std
    space user
    space item
    relation bought: user -> item
    model M {
      input u: user[a = 4], i: item[b = 3]
      param W[a, out = 5]
      let h = relu(BipartiteSAGE(u, i, out: 5) on bought)
      output score = dot(h.bought.dst, (u @ W).bought.src, over: out)
    })"},
                                         Recipe{"TrainingWithStatistics", R"(
    import std
    model M(class: int = 3) {
      input x: node[in = 6]
      let h = relu(BatchNorm(SAGE(x, out: 7) as c1))
      output y = GAT(h, heads: 2, out: class, concat: false) as c2
      loss = CrossEntropy(y.train, onehot(label).train)
      metric accuracy = Accuracy(y.train, onehot(label).train)
      train AdamW(lr: CosineDecay(step, lr: 0.01, steps: 10), clip: 0.5)
    })"},
                                         // An embedding; and a loss that has a derivative in it.
                                         Recipe{"TrainingOfForces", R"(
    model M {
      param q: node[dim = 4] = 0.5
      input p: node[xyz = 3]
      let d = p.src - p.dst
      let energy = sum(exp(-sum(d * d, over: xyz)) * dot(q.src, q.dst, over: dim), along: all)
      let force = -gradient(energy, p)
      output f = force
      loss = energy * 0.01 + mean(sum(square(force), over: xyz), along: all)
      train Descent()
    }
    layer Descent(value: any[dim], grad: any[dim]) -> any[dim] { value - 0.01 * grad })"}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
