//===- DistributedFixedTest.cpp - Inputs of ranks that do not change ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that other ranks have of an input are given with it: results are those of one process, and fewer bytes move.
//
//===----------------------------------------------------------------------===//

#include "DistributedModel.h"
#include "Interpreted.h"
#include "Ranks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

static const char *const kText = R"(
    import std
    model M {
      input x: node[in = 6], w: edge[] = 1, s: node[] = 0.5
      param P[in, features = 5]
      space other = filter(edge, src != dst)
      map other_src: other -> node = src
      map other_dst: other -> node = dst
      let h = relu(GCN(x, out: 5) as c1) + Linear(sum(w * x.src, along: dst), out: 5)
      let k = GAT(h + s, heads: 1, out: 5) + sum((s * x).other_src @ P, along: other_dst)
      output y = GCN(k, out: 3) as c2
      output m = mean(x.src, along: all)
    })";

static int64_t exchangedBy(DistributedModel &model, const Graph &graph, const Tensors &tensors, const Tensors &one,
                           int count, llvm::StringRef program, unsigned optLevel) {
  auto compiled = model.compile(optLevel, /*isDouble=*/true);
  EXPECT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  Ranks ranks(*model.imported, graph, count, PartitionKind::Random);
  auto found = ranks.run((*compiled)->file(), program, tensors);
  EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
  expectEqual(*found, one, 1e-12);
  return ranks.bytesExchanged();
}

TEST(DistributedFixed, EqualsOneRankWithFewerBytes) {
  for (auto [optLevel, fixed] :
       {std::pair(2u, std::vector<std::string>{"x"}), std::pair(2u, std::vector<std::string>{"x", "s", "w"}),
        std::pair(0u, std::vector<std::string>{"x", "s"})})
    for (auto [nodes, edges, count] : {std::tuple(37, 190, 3), std::tuple(37, 190, 8), std::tuple(5, 9, 7)}) {
      SCOPED_TRACE(testing::Message() << "-O" << optLevel << ", " << fixed.size() << " fixed, " << count << " ranks");
      DistributedModel model(kText);
      ASSERT_TRUE(model.spec);
      auto whole = model.lower(optLevel, /*distributed=*/false, "fuse");
      ASSERT_TRUE(whole);
      auto function = whole->lookupSymbol<mlir::func::FuncOp>(kGradient);
      Graph graph = graphFor(nodes, edges, 11);
      Tensors tensors = model.tensorsFor(function, graph);
      auto expected = interpretOn(*whole, graph, tensors, kGradient);
      ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
      Tensors one = tensorsOf(std::move(*expected));
      int64_t before = exchangedBy(model, graph, tensors, one, count, kGradient, optLevel);
      model.fixed = fixed;
      for (const std::string &name : fixed)
        if (name != "w") // Nobody reads it elsewhere.
          one.erase("grad." + name);
      int64_t after = exchangedBy(model, graph, tensors, one, count, kGradient, optLevel);
      EXPECT_LT(after, before);

      auto parts = model.lower(optLevel, true, "fuse");
      Ranks ranks(*model.imported, graph, count, PartitionKind::Metis);
      auto found = ranks.run(*parts, kGradient, tensors);
      ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
      expectEqual(*found, one, 1e-12);
    }
}
