//===- InterpreterTest.cpp - The interpreter's interface ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the numbers are is tested by test/Interpret; here is what only a caller of the library sees.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Reference/Interpreter.h"
#include "dialects/mpk/IR/MPK.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace gnnc;

namespace {

constexpr const char *kSum = R"(
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "x"})
      -> (tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}, tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "d"}) {
    %0 = mpdfg.broadcast %x along @src : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
    %1 = mpdfg.reduce sum %0 along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
    %2 = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
    return %1, %2 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>
  }
)";

class InterpreterTest : public ::testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(kSum, &context);
    root.extents["node"] = 3;
    root.extents["edge"] = 2;
    root.maps["src"] = {0, 1};
    root.maps["dst"] = {2, 2};
    RefTensor x(false, 3, {1});
    x.data = {1, 10, 100};
    inputs["x"] = x;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  RootGraph root;
  llvm::StringMap<RefTensor> inputs;
};

TEST_F(InterpreterTest, GivesNamedOutputsInOrder) {
  auto graph = materialise(*module, root);
  ASSERT_TRUE(bool(graph));
  EXPECT_EQ(graph->map("dst").to, "node");
  auto outputs = interpret(*module, *graph, inputs);
  ASSERT_TRUE(bool(outputs));
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_EQ((*outputs)[0].name, "y");
  const RefTensor *y = findTensor(*outputs, "y"), *d = findTensor(*outputs, "d");
  ASSERT_TRUE(y && d);
  EXPECT_EQ(y->data, (std::vector<double>{0, 0, 11}));
  EXPECT_EQ(d->data, (std::vector<double>{0, 0, 2}));
  EXPECT_TRUE(d->dims.empty());
  EXPECT_EQ(findTensor(*outputs, "z"), nullptr);
}

TEST_F(InterpreterTest, RejectsTheGraphOfAnotherModule) {
  GraphData graph;
  auto outputs = interpret(*module, graph, inputs);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(llvm::toString(outputs.takeError()), "space @node was not materialised");

  graph.extents["node"] = 3;
  graph.extents["edge"] = 2;
  outputs = interpret(*module, graph, inputs);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(llvm::toString(outputs.takeError()), "map @src was not materialised");

  graph.maps["src"] = {"edge", "node", {0}};
  outputs = interpret(*module, graph, inputs);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(llvm::toString(outputs.takeError()), "map @src: expected 2 elements, found 1");
}

TEST_F(InterpreterTest, RejectsInputsThatDoNotHoldTheirShape) {
  auto graph = materialise(*module, root);
  ASSERT_TRUE(bool(graph));
  inputs["x"].data.pop_back();
  auto outputs = interpret(*module, *graph, inputs);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(llvm::toString(outputs.takeError()), "'x': expected 3 numbers, found 2");

  inputs["x"] = RefTensor(true, 1, {1});
  outputs = interpret(*module, *graph, inputs);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(llvm::toString(outputs.takeError()), "'x': expected 3 rows of [1], found shared [1]");
}

TEST_F(InterpreterTest, EvaluatesRepeatedlyWithoutChange) {
  auto graph = materialise(*module, root);
  ASSERT_TRUE(bool(graph));
  for (int i = 0; i < 3; ++i) {
    auto outputs = interpret(*module, *graph, inputs);
    ASSERT_TRUE(bool(outputs));
    EXPECT_EQ(findTensor(*outputs, "y")->data, (std::vector<double>{0, 0, 11}));
  }
}

} // namespace
