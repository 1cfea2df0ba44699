//===- GraphPartTest.cpp - What a graph file is a part of -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphPart.h"
#include "TestFiles.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Part 1 of 3, whose nodes have these numbers among nine.
SafetensorsFile partWith(std::vector<int64_t> numbers) {
  int64_t count = int64_t(numbers.size());
  return FileBuilder()
      .add<int64_t>("node.global", {count}, std::move(numbers))
      .metadata({{"parts", "3"}, {"rank", "1"}, {"num_nodes.global", "9"}})
      .build();
}

TEST(GraphPart, NumbersOfElementsAreReadAsTheyAre) {
  SafetensorsFile file = partWith({1, 4, 8});
  GraphPart part = llvm::cantFail(GraphPart::read(file));
  EXPECT_EQ(part.rank(), 1);
  EXPECT_EQ(part.parts(), 3);
  EXPECT_EQ(llvm::cantFail(part.globalNumbers("node")), (std::vector<int64_t>{1, 4, 8}));
}

TEST(GraphPart, NumbersOfElementsThatNoPartitionHas) {
  auto error = [](std::vector<int64_t> numbers) {
    SafetensorsFile file = partWith(std::move(numbers));
    return errorOf(llvm::cantFail(GraphPart::read(file)).globalNumbers("node"));
  };
  EXPECT_EQ(error({1, 9}), "graph 'f': tensor 'node.global': expected numbers below 9, found 9");
  EXPECT_EQ(error({-1, 4}), "graph 'f': tensor 'node.global': expected numbers below 9, found -1");
  EXPECT_EQ(error({1, 4, 4}),
            "graph 'f': tensor 'node.global': expected each number once, in rising order, found 4 after 4");
  EXPECT_EQ(error({4, 1}),
            "graph 'f': tensor 'node.global': expected each number once, in rising order, found 1 after 4");
}

} // namespace
