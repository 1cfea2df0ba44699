//===- DistributedOverlapTest.cpp - Kernels beside transfers --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that come late come in time: results are those of one process, and some transfers have kernels beside them.
//
//===----------------------------------------------------------------------===//

#include "DistributedModel.h"
#include "Interpreted.h"
#include "Ranks.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

// The product of a node's own rows does not need those of others, nor do the gradients of weights.
static const char *const kText = R"(
    import std
    model M {
      input x: node[in = 6], s: node[] = 0.5
      param P[in, features = 5], Q[in, features], R[features]
      let a = relu(sum(x.src @ P, along: dst) + x @ Q)
      let b = GAT(a, heads: 1, out: 5) + s * a
      let c = sum(maximum(b.src, a.src) * s.src) + b * R
      output y = GCN(c, out: 3) + Linear(x, out: 3)
      output m = mean(c.src, along: all)
    })";

/// A byte between ranks is worth a sum that is written and read once more.
static constexpr int64_t kSlowLinks = 1 << 14;

// Sums over members that read rows of others, and what goes back to these, but for a mean that is a weight's.
static const char *const kSums = R"(
    space other = filter(edge, src != dst)
    map other_src: other -> node = src
    map other_dst: other -> node = dst
    map some: edge -> node = src
    space ring = union(other, node)
    map ring_src: ring -> node = src | node
    map ring_dst: ring -> node = dst | node
    model M(node_type: int = 3) {
      input x: node[in = 6], e: edge[in], w: edge[]
      param P[in, out = 5], Q: node_type[out], T: edge[2]
      let h = tanh(x @ P)
      let a = sum(w * tanh(h.src - h.dst), along: dst) + mean(h.ring_src, along: ring_dst)
      let b = tanh(a + sum(h.other_src, along: other_dst))
      output y = sum((b + Q.ntype).src, along: dst) - sum(e @ P, along: src)
      output z = sum(softmax(w) * b.src) + max(b.src, along: dst)
      output t = sum(square(b).src * sum(T, over: _1), along: all)
    })";

/// Transfers of a function that kernels run beside.
static int64_t countBeside(const ModelInfo &info, llvm::StringRef function) {
  return llvm::count_if(
      info.kernels, [&](const KernelInfo &kernel) { return kernel.function == function && kernel.kind == "await"; });
}

TEST(DistributedOverlap, LateRowsAreInTime) {
  for (auto [optLevel, operationsPerByte] :
       {std::pair(0u, kOperationsPerExchangedByte), std::pair(1u, kOperationsPerExchangedByte),
        std::pair(2u, kOperationsPerExchangedByte), std::pair(2u, kSlowLinks)})
    for (auto [nodes, edges, count] : {std::tuple(37, 190, 3), std::tuple(41, 60, 4), std::tuple(5, 9, 7)}) {
      SCOPED_TRACE(testing::Message() << "-O" << optLevel << ", " << count << " ranks");
      DistributedModel model(kText);
      ASSERT_TRUE(model.spec);
      model.operationsPerByte = operationsPerByte;
      auto whole = model.lower(optLevel, /*distributed=*/false, "fuse");
      ASSERT_TRUE(whole);
      auto function = whole->lookupSymbol<mlir::func::FuncOp>(kGradient);
      Graph graph = graphFor(nodes, edges, 11);
      Tensors tensors = model.tensorsFor(function, graph);
      auto expected = interpretOn(*whole, graph, tensors, kGradient);
      ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
      Tensors one = tensorsOf(std::move(*expected));

      auto compiled = model.compile(optLevel, /*isDouble=*/true);
      ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
      const ModelFile &file = (*compiled)->file();
      if (optLevel > 0)
        EXPECT_GT(countBeside(file.info(), kGradient), 1);
      else
        EXPECT_EQ(countBeside(file.info(), kGradient), 0);
      Ranks ranks(*model.imported, graph, count, PartitionKind::Random);
      ranks.delayExchanges(3);
      auto found = ranks.run(file, kGradient, tensors);
      ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
      expectEqual(*found, one, 1e-12);
    }
}

/// Sums that begin with own members are the same but for the order of additions, and the same bits each time.
TEST(DistributedOverlap, SumsOfTwoHalves) {
  for (bool isDouble : {true, false}) {
    DistributedModel model(kSums);
    ASSERT_TRUE(model.spec);
    auto whole = model.lower(2, /*distributed=*/false, "fuse");
    auto together = model.lower(2, /*distributed=*/true, "fuse");
    model.operationsPerByte = kSlowLinks;
    auto apart = model.lower(2, /*distributed=*/true, "fuse");
    ASSERT_TRUE(whole && together && apart);
    auto filters = [](mlir::ModuleOp module) {
      return llvm::count_if(module.getOps<mpdfg::SpaceOp>(), [](mpdfg::SpaceOp space) {
        return space.getSymName().ends_with(".near") || space.getSymName().ends_with(".far");
      });
    };
    EXPECT_EQ(filters(*together), 0);
    EXPECT_EQ(filters(*apart), 6); // of edges, of those that are no loops, and of a ring
    auto function = whole->lookupSymbol<mlir::func::FuncOp>(kGradient);
    auto compiled = model.compile(2, isDouble);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    const ModelFile &file = (*compiled)->file();
    EXPECT_GT(countBeside(file.info(), kGradient), 4);
    for (auto [nodes, edges, count] :
         {std::tuple(37, 190, 1), std::tuple(37, 190, 2), std::tuple(41, 60, 3), std::tuple(64, 500, 8)}) {
      SCOPED_TRACE(testing::Message() << count << " ranks");
      Graph graph = graphFor(nodes, edges, 11);
      Tensors tensors = model.tensorsFor(function, graph);
      auto expected = interpretOn(*whole, graph, tensors, kGradient);
      ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
      Tensors one = tensorsOf(std::move(*expected));
      Ranks ranks(*model.imported, graph, count, PartitionKind::Random);
      auto interpreted = ranks.run(*apart, kGradient, tensors);
      ASSERT_TRUE(bool(interpreted)) << llvm::toString(interpreted.takeError());
      expectEqual(*interpreted, one, 1e-12);
      auto found = ranks.run(file, kGradient, tensors), again = ranks.run(file, kGradient, tensors);
      ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
      ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
      expectEqual(*found, one, isDouble ? 1e-12 : 1e-5);
      for (const auto &[name, tensor] : *found)
        EXPECT_TRUE(haveSameBits(tensor, again->at(name))) << name;
      auto without = ranks.run(file, kGradient, tensors, /*exchanges=*/false);
      ASSERT_TRUE(bool(without)) << llvm::toString(without.takeError());
      EXPECT_EQ(isFar(*without, one), count > 1);
    }
  }
}
