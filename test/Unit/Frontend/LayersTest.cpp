//===- LayersTest.cpp - Calls of layers -----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

static std::string result(const std::string &layers, const std::string &call) {
  return outputType(load(layers +
                         "\nmodel M {\n  input x: node[in = 4], h: node[heads = 2, out = 3], e: edge[k = 5]\n"
                         "  output y = " +
                         call + "\n}"));
}

TEST(Layers, AxesAreBoundByPosition) {
  EXPECT_EQ(result("layer L(x: node[a]) -> node[b] { param W[a, b = 2 * a]\n x @ W }", "L(x)"), "node[b = 8]");
  EXPECT_EQ(result("layer L(x: node[a, b], c: int = a * b) { param W[a, b, c]\n x * W }", "L(h)"),
            "node[heads = 2, out = 3, c = 6]");
}

TEST(Layers, AxesGetTheirNamesBack) {
  EXPECT_EQ(result("layer Norm(x: any[dim]) -> any[dim] { x - mean(x, over: dim) }", "Norm(x) + x"), "node[in = 4]");
  // Unless two would have one name.
  EXPECT_EQ(result("layer L(a: node[p], b: node[q]) { a * b }", "L(x, x)"), "node[p = 4, q = 4]");
  EXPECT_EQ(result("layer L(a: node[p], in: int) { param W[in]\n a * W }", "L(x, in: 4)"), "node[p = 4, in = 4]");
}

TEST(Layers, ResultsHaveTheDeclaredOrder) {
  EXPECT_EQ(result("layer L(x: node[in], k: int) -> node[k, in] { param W[k]\n x * W }", "L(x, k: 3)"),
            "node[k = 3, in = 4]");
}

TEST(Layers, Wildcards) {
  EXPECT_EQ(result("layer L(x: any[k], y: any[k]) -> any[k] { x + y }", "L(e, e)"), "edge[k = 5]");
  EXPECT_EQ(result("layer L(x: any[k], y: any1[]) -> any1[k] { sum(x, along: dst) + y }", "L(e, sum(x, over: in))"),
            "node[k = 5]");
  EXPECT_EQ(result("layer L(x: any[k]) { param t: any[k]\n x + t }", "L(e)"), "edge[k = 5]");
  EXPECT_EQ(outputType(load("layer L(x: any[k]) { x }\nmodel M { param p[k = 2]; output y = L(p) }")), "shared[k = 2]");
}

TEST(Layers, DefaultsAndNames) {
  const char *layer =
      "layer L(x: node[in], w: edge[] = 1, out: int = in, f: float = 0.5, b: bool = false) -> node[out] {\n"
      "  param W[in, out]\n  let y = sum(w * (x @ W).src) * f\n  b ? relu(y) : y\n}";
  EXPECT_EQ(result(layer, "L(x)"), "node[out = 4]");
  EXPECT_EQ(result(layer, "L(out: 7, x: x, b: true, f: 2)"), "node[out = 7]");
  EXPECT_EQ(result(layer, "L(x, sum(e, over: k), out: 2)"), "node[out = 2]");
}

TEST(Layers, InstanceNames) {
  ModelSpec model = load("layer In(x: node[k]) { param b[k]\n x + b }\n"
                         "layer Out(x: node[k]) { In(In(x)) + (In(x) as c) }\n"
                         "model M {\n  input x: node[k = 2]\n  output y = Out(Out(x) as first)\n}");
  for (const char *name : {"first.in.b", "first.in2.b", "first.c.b", "out.in.b", "out.in2.b", "out.c.b"})
    EXPECT_EQ(typeOf(model, valueNamed(model, name)), "shared[k = 2]");
  EXPECT_EQ(count(model, OpCode::Param), 6);
}

TEST(Layers, BipartiteRelation) {
  const char *text = R"(
space user
space item
relation follows: user -> item
layer SAGE(xs: source[in], xd: target[in2], out: int) -> target[out] {
  param W[in, out], V[in2, out]
  mean(xs.src) @ W + xd @ V
}
model M {
  input u: user[a = 4], i: item[b = 5], w: follows[]
  output y = SAGE(u, i, out: 3) on follows
  output z = sum(u.follows.src * w, along: follows.dst)
  output t = i.follows
}
)";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model, 0), "item[out = 3]");
  EXPECT_EQ(outputType(model, 1), "item[a = 4]");
  EXPECT_EQ(outputType(model, 2), "follows[b = 5]");
  EXPECT_EQ(model.spaces.size(), 3u); // node and edge are not used
  EXPECT_EQ(model.maps[mapNamed(model, "follows.src")].to, spaceNamed(model, "user"));
  EXPECT_EQ(model.maps[mapNamed(model, "follows.dst")].to, spaceNamed(model, "item"));
}

TEST(Layers, DerivedRelationAtTheCall) {
  const char *text = "layer L(x: node[k]) -> node[k] { sum(x.src) }\n"
                     "relation likes: node -> node\n"
                     "model M { input x: node[k = 2]\n  output a = L(x)\n  output b = L(x) on with_self_loops\n"
                     "  output c = L(x) on likes on with_self_loops\n  output d = L(x) on edge }";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model, 1), "node[k = 2]");
  auto map = [&](size_t i) { return model.maps[model.values[model.outputs[i].value].map].name; };
  EXPECT_EQ(map(0), "dst");
  EXPECT_EQ(map(1), "with_self_loops.ring_dst");
  EXPECT_EQ(map(2), "likes.with_self_loops.ring_dst");
  EXPECT_EQ(map(3), "dst");
}

TEST(Layers, ParametersOfAHeaderWithARelationAreOutside) {
  // `w` is on the outer edges, the body's edges are others.
  ModelSpec model = load("layer L(x: node[k], w: edge[] = 1) on with_self_loops -> node[k] {\n"
                         "  sum(x.src * move(w, old, fill: 1))\n}\n"
                         "model M { input x: node[k = 2], w: edge[]\n  output a = L(x, w)\n  output b = L(x) }");
  EXPECT_EQ(outputType(model), "node[k = 2]");
  const Value *moved = nullptr;
  for (const Value &value : model.values)
    if (value.op == OpCode::Move && value.number == 1)
      moved = &value;
  ASSERT_TRUE(moved);
  EXPECT_EQ(model.maps[moved->map].name, "with_self_loops.ring_old");
  EXPECT_TRUE(model.maps[moved->map].partial);
  EXPECT_EQ(spaceOf(model, moved->residency), "with_self_loops.ring");
  // The default is the same as the fill, so nothing moves.
  EXPECT_EQ(count(model, OpCode::Select), 0);
}

TEST(Layers, SharedValuesGiveWayToTheFill) {
  ModelSpec model = load("layer L(w: edge[] = 3) on with_self_loops { sum(w.old) }\nmodel M { output y = L() }");
  EXPECT_EQ(outputType(model), "node[]");
  EXPECT_EQ(typeOf(model, only(model, OpCode::Reduce).operands[0]), "with_self_loops.ring[]");
  EXPECT_EQ(count(model, OpCode::Select), 1);
}

TEST(Layers, AxesThatTheResultDefines) {
  ModelSpec model =
      load("layer Wide(x: node[in], heads: int, out: int) -> node[wide = heads * out, last = wide + 1] {\n"
           "  param W[in, wide], V[last]\n  outer(x @ W, V)\n}\n"
           "model M {\n  input x: node[k = 4]\n  output y = Wide(x, heads: 2, out: 3)\n}");
  EXPECT_EQ(outputType(model), "node[wide = 6, last = 7]");
}
