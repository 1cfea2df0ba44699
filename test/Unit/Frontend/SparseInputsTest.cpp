//===- SparseInputsTest.cpp - Sparse inputs -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

static ModelSpec sparse(const std::string &expr) {
  return load("model M { input x: node[in = 5] sparse, s: node[]\n  param W[in, out = 3], V[out, in]\n  output y = " +
              expr + "\n}");
}

TEST(Sparse, Structure) {
  ModelSpec model = sparse("x @ W");
  ASSERT_EQ(model.sparseInputs.size(), 1u);
  const SparseInput &input = model.sparseInputs[0];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(model.spaces[input.entries].name, "x.entry");
  EXPECT_EQ(model.maps[input.row].name, "x.row");
  EXPECT_EQ(model.maps[input.column].name, "x.column");
  EXPECT_EQ(model.maps[input.row].to, spaceNamed(model, "node"));
  const Space &columns = model.spaces[model.maps[input.column].to];
  EXPECT_EQ(columns.kind, Space::Kind::Static);
  EXPECT_EQ(columns.extent, 5);
  EXPECT_EQ(typeOf(model, input.value), "x.entry[]");
  EXPECT_TRUE(model.values[input.value].optional);
  EXPECT_EQ(model.values[input.value].number, 1);
}

TEST(Sparse, Product) {
  ModelSpec model = sparse("x @ W");
  EXPECT_EQ(outputType(model), "node[out = 3]");
  const Value &spread = only(model, OpCode::Spread);
  EXPECT_EQ(spaceOf(model, spread.residency), "x.columns");
  EXPECT_EQ(model.maps[only(model, OpCode::Move).map].name, "x.column");
  EXPECT_EQ(model.maps[only(model, OpCode::Reduce, "sum").map].name, "x.row");
  EXPECT_EQ(count(model, OpCode::Permute), 0);
  // The weight's contracted axis goes first.
  ModelSpec turned = sparse("x @ V");
  EXPECT_EQ(outputType(turned), "node[out = 3]");
  EXPECT_EQ(count(turned, OpCode::Permute), 1);
  EXPECT_EQ(outputType(sparse("dot(x, W, over: in)")), "node[out = 3]");
}

TEST(Sparse, WhatStaysSparse) {
  EXPECT_EQ(outputType(sparse("sum(x, over: in)")), "node[]");
  EXPECT_EQ(outputType(sparse("mean(x, over: in)")), "node[]");
  EXPECT_EQ(outputType(sparse("(2 * sqrt(abs(-x)) / s * 3) @ W")), "node[out = 3]");
  EXPECT_EQ(outputType(sparse("dropout(x ^ 2, 0.5) @ W")), "node[out = 3]");
  EXPECT_EQ(outputType(sparse("rename(x.node, in: k) @ rename(W, in: k)")), "node[out = 3]");
  ModelSpec model = sparse("sum(x, over: in)");
  // A sparse input is kept whole.
  EXPECT_EQ(model.sparseInputs.size(), 1u);
  mapNamed(model, "x.column");
  spaceNamed(model, "x.columns");
}

TEST(Sparse, TwoLayerModel) {
  const char *text = R"(
import std
model GCN2(in: int = 1433, hidden: int = 16, classes: int = 7) {
  input x: node[in] sparse
  let total = sum(x, over: in)
  let xn = x / where(total == 0, 1, total)
  let h = relu(GCN(xn, out: hidden) as c1)
  output logits = GCN(h, out: classes) as c2
}
)";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model), "node[out = 7]");
  EXPECT_EQ(count(model, OpCode::Spread), 1);
  EXPECT_EQ(count(model, OpCode::Contract), 1);
  EXPECT_EQ(model.spaces[spaceNamed(model, "x.columns")].extent, 1433);
}

TEST(Sparse, Layers) {
  ModelSpec model = load("layer Norm(x: any[k]) -> any[k] { x / sum(x, over: k) }\n"
                         "model M { input x: node[in = 5] sparse\n  param W[in, out = 2]\n  output y = Norm(x) @ W\n}");
  EXPECT_EQ(outputType(model), "node[out = 2]");
  EXPECT_EQ(count(model, OpCode::Spread), 1);
}

TEST(Sparse, Errors) {
  auto error = [](const std::string &expr) {
    return errorOf("model M { input x: node[in = 5] sparse, e: edge[]\n  param W[in, out = 3]\n  output y = " + expr +
                   "\n}");
  };
  EXPECT_EQ(
      error("x + 1"),
      "3:16: sparse input 'x' is not supported in '+'; it can be multiplied as 'x @ W', scaled by one number per row, "
      "summed over its axis, dropped out, and passed to functions with f(0) = 0");
  EXPECT_EQ(error("x").substr(0, 53), "3:14: sparse input 'x' is not supported as an output;");
  EXPECT_NE(error("exp(x)").find("in exp, which is not 0 at 0"), std::string::npos);
  EXPECT_NE(error("x.src @ W").find("when it moves along 'src'"), std::string::npos);
  EXPECT_NE(error("max(x, over: in)").find("in max"), std::string::npos);
  EXPECT_NE(error("(x * e) @ W").find("operands reside on different spaces: node and edge"), std::string::npos);
  EXPECT_NE(error("x * W").find("scaled by a value without axes only"), std::string::npos);
  EXPECT_NE(error("x @ rename(W, in: k)").find("'@' contracts axis 'in'"), std::string::npos);
  EXPECT_EQ(errorIn("\n  input x: node[a = 1, b = 2] sparse\n  output y = 1"),
            "2:9: a sparse input is on a space and has one axis, as in 'input x: node[in] sparse'");
}
