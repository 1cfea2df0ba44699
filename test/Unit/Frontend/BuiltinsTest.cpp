//===- BuiltinsTest.cpp - Built-in functions ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

TEST(Builtins, Elementwise) {
  for (const char *name : {"relu", "gelu", "silu",   "sigmoid", "tanh", "softplus", "exp",   "log",   "sqrt", "rsqrt",
                           "abs",  "sign", "square", "sin",     "cos",  "erf",      "recip", "floor", "ceil", "round"})
    EXPECT_EQ(typeOfExpr(std::string(name) + "(x)"), "node[in = 6]");
  ModelSpec model =
      load("model M { input x: node[]; output y = leaky_relu(elu(leaky_relu(x, slope: 0.2))) + pow(x, 3) }");
  std::map<std::string, std::vector<double>> numbers;
  for (const Value &value : model.values)
    if (value.op == OpCode::Unary)
      numbers[value.name].push_back(value.number);
  EXPECT_EQ(numbers["leaky_relu"], (std::vector<double>{0.2, 0.01}));
  EXPECT_EQ(numbers["elu"], std::vector<double>{1});
  EXPECT_EQ(count(model, OpCode::Binary, "pow"), 1);
  EXPECT_EQ(typeOfExpr("maximum(x, 0) + minimum(b, x)"), "node[out = 3, in = 6]");
}

TEST(Builtins, Reductions) {
  EXPECT_EQ(typeOfExpr("sum(e)"), "node[heads = 2]");
  EXPECT_EQ(typeOfExpr("mean(e, along: src)"), "node[heads = 2]");
  EXPECT_EQ(typeOfExpr("max(x, along: all)"), "shared[in = 6]");
  EXPECT_EQ(typeOfExpr("sum(x, along: ntype)"), "node_type[in = 6]");
  EXPECT_EQ(typeOfExpr("sum(x, along: batch)"), "graph[in = 6]");
  EXPECT_EQ(typeOfExpr("sum(e, along: dst.ntype)"), "node_type[heads = 2]");
  EXPECT_EQ(typeOfExpr("sum(x, along: graph)"), "graph[in = 6]");
  EXPECT_EQ(typeOfExpr("min(h, over: (heads, out))"), "node[]");
  EXPECT_EQ(typeOfExpr("sum(e, over: heads, along: dst)"), "node[]");
  EXPECT_EQ(typeOfExpr("logsumexp(e)"), "node[heads = 2]");
  EXPECT_EQ(typeOfExpr("degree(dst)"), "node[]");
  EXPECT_EQ(typeOfExpr("degree(src.batch)"), "graph[]");
}

TEST(Builtins, ASharedValueCountsForEachMember) {
  ModelSpec model = load("model M { param s[k = 2]; output a = sum(1); output b = sum(s, along: dst)\n"
                         "  output c = mean(s); output d = logsumexp(s, along: src); output e = softmax(1) }");
  EXPECT_EQ(outputType(model, 0), "node[]");
  EXPECT_EQ(model.values[model.outputs[0].value].op, OpCode::Degree);
  EXPECT_EQ(outputType(model, 1), "node[k = 2]");
  EXPECT_EQ(model.values[model.outputs[2].value].op, OpCode::Select);
  EXPECT_EQ(outputType(model, 3), "node[k = 2]");
  EXPECT_EQ(outputType(model, 4), "edge[]");
}

TEST(Builtins, Softmax) {
  EXPECT_EQ(typeOfExpr("softmax(e)"), "edge[heads = 2]");
  EXPECT_EQ(typeOfExpr("softmax(x, along: batch)"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("log_softmax(e)"), "edge[heads = 2]");
  EXPECT_EQ(typeOfExpr("softmax(x, along: all)"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("logsumexp(x, along: all)"), "shared[in = 6]");
  EXPECT_EQ(typeOfExpr("logsumexp(h, over: out)"), "node[heads = 2]");
  ModelSpec model = load("model M { input x: node[k = 3]; output y = log_softmax(x, over: k) }");
  EXPECT_EQ(outputType(model), "node[k = 3]");
  // The maximum is taken off, and no gradient goes through it.
  const Value &fixed = only(model, OpCode::Detach);
  EXPECT_EQ(model.values[fixed.operands[0]].name, "max");
  EXPECT_EQ(only(model, OpCode::Fold, "max").operands, std::vector<Id>{0});
  EXPECT_EQ(count(model, OpCode::Binary, "sub"), 2);
}

TEST(Builtins, Moves) {
  EXPECT_EQ(typeOfExpr("x.src"), "edge[in = 6]");
  EXPECT_EQ(typeOfExpr("g.node"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("g.src"), "edge[in = 6]");
  EXPECT_EQ(typeOfExpr("K.dst"), "edge[in = 6]");
  EXPECT_EQ(typeOfExpr("x.node"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("s.src"), "shared[in = 6]");
  EXPECT_EQ(typeOfExpr("2.src"), "shared[]");
  EXPECT_EQ(typeOfExpr("move(g, src.batch)"), "edge[in = 6]");
  ModelSpec model = load("model M { input g: graph[]; output y = g.src }");
  const Map &map = model.maps[only(model, OpCode::Move).map];
  EXPECT_EQ(map.kind, Map::Kind::Compose);
  EXPECT_EQ(map.name, "src.batch");
}

TEST(Builtins, Shapes) {
  EXPECT_EQ(typeOfExpr("concat(x, 2 * x, axis: in)"), "node[in = 12]");
  EXPECT_EQ(typeOfExpr("concat(x, b.src, axis: both)"), "node[both = 9]");
  EXPECT_EQ(typeOfExpr("concat(h, permute(rename(h, out: o), (heads, o)), axis: out)"), "node[heads = 2, out = 6]");
  EXPECT_EQ(typeOfExpr("concat(W, rename(W, out: o), axis: oo)"), "shared[in = 6, oo = 6]");
  EXPECT_EQ(typeOfExpr("rename(h, heads: out, out: heads)"), "node[out = 2, heads = 3]");
  EXPECT_EQ(typeOfExpr("flatten(h, f)"), "node[f = 6]");
  EXPECT_EQ(typeOfExpr("flatten(x, f)"), "node[f = 6]");
  EXPECT_EQ(typeOfExpr("flatten(g @ s, f)"), "graph[f = 1]");
  EXPECT_EQ(typeOfExpr("merge(x * h, (in, heads), as: m)"), "node[out = 3, m = 12]");
  EXPECT_EQ(typeOfExpr("split(x, in, a: 2, c: 3)"), "node[a = 2, c = 3]");
  EXPECT_EQ(typeOfExpr("permute(h, (out, heads))"), "node[out = 3, heads = 2]");
  EXPECT_EQ(typeOfExpr("permute(x, in)"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("x[in: 2..5]"), "node[in = 3]");
}

TEST(Builtins, WhatDoesNothingIsNoOperation) {
  ModelSpec model = load("model M { input h: node[a = 2, b = 3]\n"
                         "  output y = dropout(permute(rename(h.node, a: a), (a, b)), 0) }");
  EXPECT_EQ(model.values.size(), 1u);
}

TEST(Builtins, Constants) {
  ModelSpec model = load("model M { input x: node[]; output y = 2 * x + 2 + sqrt(4) }");
  EXPECT_EQ(count(model, OpCode::Constant), 1);
}

TEST(Builtins, Indices) {
  EXPECT_EQ(typeOfExpr("h[heads: 1]"), "node[out = 3]");
  EXPECT_EQ(typeOfExpr("x[in: 2 * 2]"), "node[]");
  EXPECT_EQ(typeOfExpr("h[out: 0][heads: 0].src"), "edge[]");
}

TEST(Builtins, Transposed) {
  ModelSpec model = load("model M {\n  input x: node[in = 4], z: node[in2 = 3]\n  param W[in, out = 3]\n"
                         "  let h = x @ W\n  output y = rename(h, out: in) @ W.T\n}");
  EXPECT_EQ(outputType(model), "node[out = 4]");
  EXPECT_EQ(typeOfExpr("W.T"), "shared[in = 3, out = 6]");
  EXPECT_EQ(typeOfExpr("h.T"), "node[heads = 3, out = 2]");
  // A map of that name comes first.
  EXPECT_EQ(outputType(load("map T: edge -> node\nmodel M {\n  input h: node[a = 2, b = 3]\n  output y = h.T\n}")),
            "edge[a = 2, b = 3]");
}

TEST(Builtins, Clamp) {
  EXPECT_EQ(typeOfExpr("clamp(x, -1, 1)"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("clamp(x, 0, s)"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("x[in: 0..clamp(9, 1, 4)]"), "node[in = 4]");
}

TEST(Builtins, Variance) {
  EXPECT_EQ(typeOfExpr("var(x.src)"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("std(x, along: batch)"), "graph[in = 6]");
  EXPECT_EQ(typeOfExpr("std(x, along: all)"), "shared[in = 6]");
  EXPECT_EQ(typeOfExpr("std(h, over: out)"), "node[heads = 2]");
  EXPECT_EQ(typeOfExpr("var(h, over: out, along: batch)"), "graph[heads = 2]");
  EXPECT_EQ(typeOfExpr("var(s)"), "node[in = 6]");
}

TEST(Builtins, MapsThatAgree) {
  EXPECT_EQ(typeOfExpr("where(src == dst, e, 0)"), "edge[heads = 2]");
  EXPECT_EQ(typeOfExpr("(src.ntype != dst.ntype) * w"), "edge[]");
  ModelSpec model = load("model M {\n  output y = src == dst\n  output n = src != dst\n  output again = src == dst\n}");
  EXPECT_EQ(outputType(model), "edge[]");
  EXPECT_EQ(std::count_if(model.spaces.begin(), model.spaces.end(),
                          [](const Space &space) { return space.kind == Space::Kind::Filter; }),
            2);
  // In a layer they are those of the relation in force.
  EXPECT_EQ(outputType(load("layer L(x: node[k]) on with_self_loops { sum((src == dst) * x.src) }\n"
                            "model M {\n  input x: node[k = 2]\n  output y = L(x)\n}")),
            "node[k = 2]");
}

TEST(Builtins, DotOrdersAxesAsTheSumOfAProduct) {
  const std::vector<std::pair<std::string, std::string>> operands = {
      {"h", "W * h"}, {"W * h", "h"}, {"b", "h * W"}, {"h", "W"}, {"W", "h"}, {"rename(W, in: k)", "h * W"}};
  for (auto &[a, b] : operands)
    EXPECT_EQ(typeOfExpr("dot(" + a + ", " + b + ", over: out)"),
              typeOfExpr("sum(outer(" + a + ", " + b + "), over: out)"))
        << a << " and " << b;
}
