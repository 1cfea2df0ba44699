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

/// Transfers of a function that kernels run beside.
static int64_t countBeside(const ModelInfo &info, llvm::StringRef function) {
  return llvm::count_if(
      info.kernels, [&](const KernelInfo &kernel) { return kernel.function == function && kernel.kind == "await"; });
}

TEST(DistributedOverlap, LateRowsAreInTime) {
  for (unsigned optLevel : {0u, 1u, 2u})
    for (auto [nodes, edges, count] : {std::tuple(37, 190, 3), std::tuple(41, 60, 4), std::tuple(5, 9, 7)}) {
      SCOPED_TRACE(testing::Message() << "-O" << optLevel << ", " << count << " ranks");
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
