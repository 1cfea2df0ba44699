//===- DistributedTest.cpp - Ranks with parts of a graph against one -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models on one rank, as the interpreter computes them, and on several, interpreted and compiled: outputs, gradients of
// all parameters and inputs, and what a training step makes of parameters.
//
//===----------------------------------------------------------------------===//

#include "DistributedModel.h"
#include "Ranks.h"
#include "TrainModels.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

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

class Distributed : public testing::TestWithParam<Recipe> {};

/// Graphs, and ranks that they are divided among.
struct Division {
  int64_t nodes, edges;
  std::vector<int> counts;
};

/// Programs whose results numbers of other ranks are sure to change.
bool isSureToExchange(llvm::StringRef function) { return function == kGradient || function == "train_step"; }

TEST_P(Distributed, EqualsOneRank) {
  DistributedModel model(GetParam().text);
  ASSERT_TRUE(model.spec);
  for (auto [optLevel, end] : {std::pair(0u, "fuse"), std::pair(2u, "fuse"), std::pair(2u, "")}) {
    SCOPED_TRACE("-O" + std::to_string(optLevel) + (*end ? "" : ", kernels"));
    auto whole = model.lower(optLevel, /*distributed=*/false, end), parts = model.lower(optLevel, true, end);
    ASSERT_TRUE(whole && parts);
    int64_t transfers = 0;
    parts->walk([&](mpdfg::TransferOp) { ++transfers; });
    EXPECT_EQ(transfers > 0, GetParam().exchanges);
    parts->walk([](mpdfg::VaryOp op) { ADD_FAILURE() << "vary is left"; });
    parts->walk([](mpdfg::DeriveAsOp op) { ADD_FAILURE() << "derive_as is left"; });
    auto off = mlir::OwningOpRef<mlir::ModuleOp>(parts->clone());
    if (*end)
      switchOff(*off);

    for (auto function : parts->getOps<mlir::func::FuncOp>()) {
      if (function.getName() == kForward)
        continue; // the gradient gives the same, and more
      SCOPED_TRACE(function.getName().str());
      bool exchanges = isSureToExchange(function.getName()) && *end &&
                       !function.getBody().front().getOps<mpdfg::TransferOp>().empty();
      for (const Division &division : {Division{37, 190, {1, 2, 4}}, Division{5, 9, {3, 7}}, Division{1, 3, {2}}}) {
        SCOPED_TRACE(testing::Message() << division.nodes << " nodes");
        Graph graph = graphFor(division.nodes, division.edges, unsigned(division.nodes));
        Tensors tensors = model.tensorsFor(function, graph);
        auto expected = interpretOn(*whole, graph, tensors, function.getName());
        ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
        Tensors one = tensorsOf(std::move(*expected));
        for (int count : division.counts)
          for (PartitionKind kind : {PartitionKind::Metis, PartitionKind::Random}) {
            SCOPED_TRACE(testing::Message() << count << " ranks, by " << int(kind));
            Ranks ranks(*model.imported, graph, count, kind);
            auto found = ranks.run(*parts, function.getName(), tensors);
            ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
            expectEqual(*found, one, kTolerance);
            if (!exchanges || division.nodes < 37 || count == 1)
              continue;
            auto without = ranks.run(*off, function.getName(), tensors);
            ASSERT_TRUE(bool(without)) << llvm::toString(without.takeError());
            EXPECT_TRUE(isFar(*without, one)) << "what is exchanged makes no difference";
          }
      }
    }
  }
}

/// Bytes that a program's transfers bring to all ranks together, by its description.
int64_t predictedBytes(const ModelInfo &info, llvm::StringRef program, const Ranks &ranks) {
  double bytes = 0;
  for (const KernelInfo &kernel : info.kernels)
    if (kernel.kind == "transfer" && kernel.function == program)
      bytes += *kernel.written.evaluate([&](llvm::StringRef space) -> std::optional<int64_t> {
        // What goes back is as many rows as came.
        if (space.consume_back(".halo") || space.consume_back(".send"))
          return ranks.haloOf(space);
        return std::nullopt;
      });
  return int64_t(bytes);
}

TEST_P(Distributed, CompiledEqualsOneRank) {
  struct Way {
    unsigned optLevel;
    bool isDouble;
    double tolerance;
  };
  for (auto [optLevel, isDouble, tolerance] : {Way{2, true, 1e-12}, Way{0, true, 1e-12}, Way{2, false, 1e-5}}) {
    SCOPED_TRACE(testing::Message() << "-O" << optLevel << (isDouble ? ", float64" : ", float32"));
    DistributedModel model(GetParam().text);
    ASSERT_TRUE(model.spec);
    auto whole = model.lower(optLevel, /*distributed=*/false, "fuse");
    // LLVM's optimiser takes most of the time, and knows nothing of ranks.
    auto compiled = model.compile(optLevel, isDouble, /*optimise=*/!isDouble);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    const ModelFile &file = (*compiled)->file();
    for (const ProgramInfo &program : file.info().programs) {
      auto function = whole->lookupSymbol<mlir::func::FuncOp>(program.name);
      if (!function || program.name == kForward)
        continue; // the gradient gives the same, and more; its halves are not run apart
      SCOPED_TRACE(program.name);
      for (const Division &division :
           {Division{37, 190, {1, 2, 3, 4, 8}}, Division{5, 9, {3, 7}}, Division{1, 3, {2}}}) {
        SCOPED_TRACE(testing::Message() << division.nodes << " nodes");
        Graph graph = graphFor(division.nodes, division.edges, unsigned(division.nodes));
        Tensors tensors = model.tensorsFor(function, graph);
        auto expected = interpretOn(*whole, graph, tensors, program.name);
        ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
        Tensors one = tensorsOf(std::move(*expected));
        for (int count : division.counts)
          for (PartitionKind kind : {PartitionKind::Metis, PartitionKind::Random}) {
            SCOPED_TRACE(testing::Message() << count << " ranks, by " << int(kind));
            Ranks ranks(*model.imported, graph, count, kind);
            auto found = ranks.run(file, program.name, tensors);
            ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
            expectEqual(*found, one, tolerance);
            EXPECT_EQ(ranks.bytesExchanged(), predictedBytes(file.info(), program.name, ranks));
            if (!isSureToExchange(program.name) || division.nodes < 37 || count == 1 || ranks.bytesExchanged() == 0)
              continue;
            auto without = ranks.run(file, program.name, tensors, /*exchanges=*/false);
            ASSERT_TRUE(bool(without)) << llvm::toString(without.takeError());
            EXPECT_TRUE(isFar(*without, one)) << "what is exchanged makes no difference";
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
                                         // Members of one owner on several ranks.
                                         Recipe{"SoftmaxToSource", R"(
    model M {
      input x: node[in = 3]
      param W[in, out = 4]
      let h = tanh(x @ W)
      let alpha = softmax(sum(h.src * h.dst, over: out), along: src)
      output y = sum(alpha * h.dst, along: src)
      output z = logsumexp(h.dst, along: src)
    })"},
                                         Recipe{"LargestOfSources", R"(
    model M {
      input x: node[in = 3], w: edge[]
      param W[in, out = 4]
      let h = x @ W
      output most = max(w * h.dst, along: src)
      output least = min(h.dst - h.src, along: src)
    })"},
                                         // Of many equal numbers the first of the whole graph gets the gradient.
                                         Recipe{"EqualMaxima", R"(
    space other = filter(edge, src != dst)
    map other_src: other -> node = src
    map other_dst: other -> node = dst
    space both = union(other, node)
    map both_src: both -> node = other_src | node
    model M(node_type: int = 3) {
      input x: node[in = 3], e: edge[in], z: node[in]
      let r = sign(detach(x)) + (x - detach(x))
      let u = sign(detach(e)) + (e - detach(e))
      output most = max(r.dst, along: src)
      output least = min(u, along: src) * z
      output filtered = max(r.other_dst, along: other_src)
      output joined = min(r.both_src, along: both_src) + max(r.other_dst, along: other_src)
      output type = max(r, along: ntype)
      output all = min(u, along: all)
    })"},
                                         // Tuples are in the order of what they are of, which a part does not have.
                                         Recipe{"EqualMaximaOfTuples", R"(
    model M(edge_type: int = 4) {
      space pair = distinct(dst, src)
      space kind = distinct(dst, etype, src)
      input x: node[in = 3], e: edge[in], z: node[in]
      let r = sign(detach(x)) + (x - detach(x))
      let u = sum(sign(detach(e)) + (e - detach(e)), along: pair)
      output most = max(r.pair.src, along: pair.dst) * z
      output least = min(u, along: pair.src)
      output kinds = max(r.kind.src, along: kind.etype)
      output all = max(u, along: all)
    })"},
                                         Recipe{"Pooling", R"(
    import std
    model M(node_type: int = 3) {
      input x: node[in = 4]
      param a[out = 5]
      let h = relu(GCN(x, out: 5))
      output most = max(h, along: batch)
      output y = sum(softmax(h @ a, along: batch) * h, along: batch)
      output t = max(h, along: ntype) + logsumexp(h, along: ntype)
      output all = max(h, along: all)
    })"},
                                         // One rank counts what all have.
                                         Recipe{"UnionsWithTypes", R"(
    model M(node_type: int = 3, edge_type: int = 4) {
      space both = union(node, node_type)
      map both_type: both -> node_type = ntype | node_type
      map both_node: both -> node = node | none
      space other = filter(both, both_type != both_type)
      space more = union(edge_type, both, edge)
      map more_node: more -> node = none | both_node | src
      map more_type: more -> edge_type = edge_type | none | etype
      input x: node[in = 4], e: edge[in], r: edge_type[in]
      param P: node_type[in], W[in, out = 3]
      let h = join(x, P, on: both)
      let k = tanh(join(r, h, e, on: more) @ W)
      output types = sum(tanh(h @ W), along: both_type) + max(h @ W, along: both_type)
      output nodes = max(k, along: more_node) + sum(sum(k, along: more_node).src)
      output kinds = mean(k, along: more_type) + degree(more_type)
      output all = sum(softmax(sum(k, over: out), along: all) * k, along: all)
    })"},
                                         // The last member of an owner may be on another rank than the one before it.
                                         Recipe{"LastMembers", R"(
    model M(node_type: int = 3, edge_type: int = 4) {
      map last_out = last(edge, src)
      map last_in = last(edge, dst)
      map last_typed = last(node, ntype)
      map last_kind = last(edge, src.ntype)
      space loop = filter(edge, src == dst)
      space real = filter(edge, src != dst)
      map last_loop = last(loop, src)
      space ring = union(real, node)
      map ring_old: ring -> edge = edge | last_loop
      map ring_src: ring -> node = src | node
      map to_last: edge -> edge = dst.last_out
      input x: node[in = 3], e: edge[in]
      param P: node_type[in]
      output y = e.last_out + sum(x, along: last_out).last_in
      output t = x.last_typed + (square(e)).last_kind + P
      output back = sum(P, along: last_typed) + max(P, along: last_typed)
      output r = sum(square(e).ring_old * x.ring_src, along: ring_src) + max(x.ring_src, along: ring_src)
      output old = max(x.ring_src, along: ring_old) + sum(x.ring_src, along: ring_old) + degree(last_out)
      output two = e.to_last + mean(e, along: to_last)
    })"},
                                         // Of an edge's source on another rank the type is known.
                                         Recipe{"TypesOfSources", R"(
    model M(node_type: int = 3) {
      space same = filter(edge, src.ntype == dst.ntype)
      space kind = distinct(dst, src.ntype)
      map same_src: same -> node = src
      map same_dst: same -> node = dst
      input x: node[in = 3], e: edge[in]
      param P: node_type[in]
      let h = sum(tanh(e) * x.src, along: kind) * P.kind
      output y = sum(square(h), along: kind.dst) + max(x.same_src, along: same_dst)
      output t = sum(h, along: kind.node_type) + mean(e, along: src.ntype)
    })"},
                                         // The product's row is wider than what it is made of.
                                         Recipe{"WideHeads", R"(
    import std
    model M {
      input x: node[in = 3]
      output y = GAT(x, heads: 4, out: 6)
    })"}),
                         [](const auto &info) { return std::string(info.param.name); });

Recipe distributedRecipe(const TrainModel &model) { return {model.name, model.text}; }

INSTANTIATE_TEST_SUITE_P(Training, Distributed,
                         testing::Values(distributedRecipe(kTrainModels[0]), distributedRecipe(kTrainModels[1]),
                                         distributedRecipe(kTrainModels[2]), distributedRecipe(kTrainModels[3]),
                                         // Random numbers of a filter's elements, and of a union of unions'.
                                         Recipe{"DropoutOfDerivedSpaces", R"(
    space other = filter(edge, src != dst)
    map other_src: other -> node = src
    map other_dst: other -> node = dst
    space both = union(other, node)
    space three = union(both, edge)
    map both_dst: both -> node = other_dst | node
    map three_dst: three -> node = both_dst | dst
    layer Descent(value: any[in], grad: any[in]) -> any[in] { value - 0.1 * grad }
    model M {
      input x: node[in = 6]
      param a[in]
      let h = sum(dropout((x * a).other_src, 0.4), along: other_dst)
      output y = sum(dropout(h.three_dst, 0.3), along: three_dst)
      loss = mean(sum(square(y), over: in), along: all)
      train Descent()
    })"},
                                         Recipe{"PlainAttentionWithDropout", R"(
    import std
    model M(class: int = 3) {
      input x: node[in = 9]
      let h = elu(GATPlain(dropout(x, 0.6), heads: 2, out: 4, drop: 0.6) as c1)
      output y = GATPlain(h, heads: 1, out: class, concat: false, drop: 0.3) as c2
      loss = CrossEntropy(y.train, onehot(label).train)
      train AdamW(lr: CosineDecay(step, lr: 0.01, steps: 10), clip: 0.5)
    })"}),
                         [](const auto &info) { return std::string(info.param.name); });

/// Rounding of what ranks send each other must not leave an owner without a winner, or with two.
TEST(DistributedWinners, AreOneForEachOwnerInSixteenBits) {
  DistributedModel model(R"(
    model M {
      input x: node[in = 64], b: node[out = 64]
      param W[in, out]
      output most = max((tanh(x @ W) + b).dst, along: src)
    })");
  ASSERT_TRUE(model.spec);
  Graph graph = graphFor(37, 190, 37);
  std::set<int32_t> owners(graph.map("src").begin(), graph.map("src").end());
  Tensors tensors = randomTensors(*model.spec, graph, 5);
  tensors["grad.most"] = Tensor::zeros({37, 64});
  llvm::fill(tensors["grad.most"].data, 1);
  for (Storage storage : {Storage::BF16, Storage::F16}) {
    CompileOptions options;
    options.gradient = options.distributed = true;
    options.along = model.along();
    options.cpuLevels = {3};
    options.storage = storage;
    auto compiled = CompiledModel::create(*model.spec, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (int count : {1, 2, 4}) {
      Ranks ranks(*model.imported, graph, count, PartitionKind::Random);
      auto found = ranks.run((*compiled)->file(), kGradient, tensors);
      ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
      const std::vector<double> &winners = found->at("grad.b").data;
      EXPECT_EQ(std::accumulate(winners.begin(), winners.end(), 0.0), double(64 * owners.size())) << count << " ranks";
    }
  }
}

} // namespace
