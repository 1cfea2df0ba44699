//===- ElaborateTest.cpp - Values, axes and residencies -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

TEST(Elaborate, ElementwiseAligns) {
  EXPECT_EQ(typeOfExpr("x + x"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("x * b"), "node[in = 6, out = 3]");
  EXPECT_EQ(typeOfExpr("b * h"), "node[heads = 2, out = 3]");
  EXPECT_EQ(typeOfExpr("x * h"), "node[heads = 2, out = 3, in = 6]");
  EXPECT_EQ(typeOfExpr("e * h.src"), "edge[heads = 2, out = 3]");
  EXPECT_EQ(typeOfExpr("where(x > 0, x, b)"), "node[in = 6, out = 3]");
  EXPECT_EQ(typeOfExpr("1 - x"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("x > 0 and x < 1 or not x"), "node[in = 6]");
  EXPECT_EQ(typeOfExpr("b"), "shared[out = 3]");
  EXPECT_EQ(typeOfExpr("2"), "shared[]");
}

TEST(Elaborate, Contractions) {
  EXPECT_EQ(typeOfExpr("x @ W"), "node[out = 3]");
  EXPECT_EQ(typeOfExpr("rename(h, out: in)[in: 0..3] @ W[in: 0..3]"), "node[heads = 2, out = 3]");
  EXPECT_EQ(typeOfExpr("x.src @ K.src"), "edge[]");
  EXPECT_EQ(typeOfExpr("dot(x, s, over: in)"), "node[]");
  EXPECT_EQ(typeOfExpr("dot(h, h, over: (heads, out))"), "node[]");
  EXPECT_EQ(typeOfExpr("W @ b"), "shared[in = 6]");
}

TEST(Elaborate, ContractionKeepsCommonAxes) {
  ModelSpec model = load("model M {\n  input x: edge[heads = 2, in = 5]\n  param A: edge_type[heads, in, out = 4]\n"
                         "  output y = x @ A.edge\n}",
                         {{"edge_type", "3"}});
  EXPECT_EQ(outputType(model), "edge[heads = 2, out = 4]");
  EXPECT_EQ(only(model, OpCode::Contract).axesUsed, std::vector<std::string>{"in"});
  EXPECT_EQ(model.spaces[spaceNamed(model, "edge_type")].extent, 3);
}

TEST(Elaborate, TheSampleOfTheDesign) {
  const char *text = R"(
layer GAT(x: node[in], heads: int, out: int, slope: float = 0.2) -> node[heads, out] {
  param W[in, heads, out], a_src[heads, out], a_dst[heads, out]
  let z     = x @ W                                              // node[heads, out]
  let score = leaky_relu(sum(z.src * a_src, over: out) + sum(z.dst * a_dst, over: out), slope)
  let alpha = softmax(score)                                     // over the edges into each node
  sum(alpha * z.src)
}

layer HGT(x: node[in], heads: int, out: int, out2: int = out) -> node[heads, out2] {
  param K, Q, V : node_type[in, heads, out]                      // one weight for each node type
  param A, M    : edge_type[heads, out, out2]
  let score = sum((x.src @ K.src) @ A.edge * rename(x.dst @ Q.dst, out: out2), over: out2) / sqrt(out)
  sum(softmax(score) * ((x.src @ V.src) @ M.edge))
}
model M(in: int = 32, node_type: int = 3, edge_type: int = 4) {
  input x: node[in]
  output a = GAT(x, heads: 8, out: 4)
  output b = HGT(x, heads: 2, out: 5) as typed
}
)";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model, 0), "node[heads = 8, out = 4]");
  EXPECT_EQ(outputType(model, 1), "node[heads = 2, out2 = 5]");
  EXPECT_EQ(typeOf(model, valueNamed(model, "gat.W")), "shared[in = 32, heads = 8, out = 4]");
  EXPECT_EQ(typeOf(model, valueNamed(model, "typed.K")), "node_type[in = 32, heads = 2, out = 5]");
  EXPECT_EQ(typeOf(model, valueNamed(model, "typed.A")), "edge_type[heads = 2, out = 5, out2 = 5]");
  EXPECT_EQ(only(model, OpCode::Unary, "leaky_relu").number, 0.2);
  // K.src goes along ntype after src.
  const Map &path = model.maps[mapNamed(model, "src.ntype")];
  EXPECT_EQ(path.kind, Map::Kind::Compose);
  EXPECT_EQ(path.parts, (std::vector<Id>{mapNamed(model, "src"), mapNamed(model, "ntype")}));
}

TEST(Elaborate, StandardLayers) {
  ModelSpec gcn = load("import std\nmodel M(in: int = 1433, hidden: int = 16, classes: int = 7) {\n"
                       "  input x: node[in]\n  let h = relu(GCN(x, out: hidden) as c1)\n"
                       "  output logits = GCN(h, out: classes) as c2\n}",
                       {{"hidden", "32"}});
  EXPECT_EQ(outputType(gcn), "node[out = 7]");
  EXPECT_EQ(typeOf(gcn, valueNamed(gcn, "c1.W")), "shared[in = 1433, out = 32]");
  EXPECT_EQ(typeOf(gcn, valueNamed(gcn, "c2.b")), "shared[out = 7]");
  EXPECT_EQ(gcn.spaces[spaceNamed(gcn, "with_self_loops.ring")].kind, Space::Kind::Union);
  ModelSpec gat = load("import std\nmodel M {\n  input x: node[in = 9]\n"
                       "  let h = elu(GAT(x, heads: 8, out: 8, drop: 0.6))\n"
                       "  output logits = GAT(h, out: 7, concat: false, drop: 0.6)\n}");
  EXPECT_EQ(typeOf(gat, valueNamed(gat, "gat2.W")), "shared[in = 64, heads = 1, out = 7]");
  EXPECT_EQ(count(gat, OpCode::Random), 0); // only training drops anything
  EXPECT_EQ(count(gat, OpCode::Norm, "softmax"), 2);
}

TEST(Elaborate, CompileTimeNumbers) {
  EXPECT_EQ(typeOfExpr("x[in: 1..2 * 2 + 1]"), "node[in = 4]");
  ModelSpec model = load("model M(a: int = 7, f: float = 2, on_: bool = true) {\n"
                         "  let b = a / 2 > 3 and on_ ? floor(sqrt(a * a)) - 3 : zz\n"
                         "  param W[k = b, l = max(a, 9) % 4, m = 2 ^ 3]\n"
                         "  output y = W * f\n  output n = a / 2\n}");
  EXPECT_EQ(outputType(model), "shared[k = 4, l = 1, m = 8]");
  EXPECT_EQ(model.values[model.outputs[1].value].number, 3.5);
  EXPECT_EQ(outputType(
                load("model M(n: int = 3, f: float = 1) { param b[n]; output y = b * f }", {{"n", "5"}, {"f", "0.5"}})),
            "shared[n = 5]");
}

TEST(Elaborate, ChoiceElaboratesOneBranch) {
  ModelSpec model = load("layer L(x: node[in], bias: bool = true) {\n  param b[in]\n  bias ? x + b : x\n}\n"
                         "model M {\n  input x: node[in = 2]\n  output y = L(x, bias: false)\n}");
  EXPECT_EQ(count(model, OpCode::Param), 0);
  EXPECT_EQ(count(model, OpCode::Binary), 0);
}

TEST(Elaborate, UnusedThingsAreDropped) {
  Loaded loaded = tryLoad("model M {\n  input a: node[k = 2], b: node[k], c: edge[]\n  param W[k], V[k]\n"
                          "  let unused = sum(c)\n  output y = b * V\n}");
  ASSERT_TRUE(loaded.model);
  const ModelSpec &model = *loaded.model;
  EXPECT_EQ(model.values.size(), 3u);
  EXPECT_EQ(model.spaces.size(), 1u);
  EXPECT_TRUE(model.maps.empty());
  // `c` is used by a value that is not; `a` by none.
  ASSERT_EQ(loaded.diagnostics.size(), 1u);
  EXPECT_EQ(loaded.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(loaded.diagnostics[0].message, "input 'a' is not used");
}

TEST(Elaborate, GivenValuesComeFirst) {
  ModelSpec model = load("model M {\n  param W[k = 2]\n  input a: node[k]\n  let t = a * W\n  state s[k]\n"
                         "  input b: node[k]\n  output y = t * s + b\n}");
  std::vector<std::string> names;
  for (size_t i = 0; i < 4; ++i)
    names.push_back(model.values[i].name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "W", "s"}));
}

TEST(Elaborate, OptionalInput) {
  ModelSpec model = load("model M {\n  input w: edge[] = 1\n  output y = sum(w)\n}");
  const Value &w = model.values[valueNamed(model, "w")];
  EXPECT_TRUE(w.optional);
  EXPECT_EQ(w.number, 1);
  EXPECT_EQ(typeOf(model, valueNamed(model, "w")), "edge[]");
}

TEST(Elaborate, Repeat) {
  ModelSpec model = load("import std\nmodel M {\n  input x: node[in = 4]\n  let h = x\n"
                         "  repeat 3 {\n    let h = relu(GCN(h, out: 4) as conv)\n    param s[in = 4]\n  }\n"
                         "  output y = h * s\n}");
  EXPECT_EQ(outputType(model), "node[out = 4, in = 4]");
  valueNamed(model, "conv.W");
  valueNamed(model, "conv2.W");
  valueNamed(model, "conv3.W");
  valueNamed(model, "s3"); // the last is the one that is seen
  EXPECT_EQ(count(model, OpCode::Unary, "relu"), 3);
}

TEST(Elaborate, AnonymousAxesAlignFromTheEnd) {
  ModelSpec model = load("model M {\n  input x: node[4, 16]\n  param h: node[16]\n  output y = x * h\n}");
  EXPECT_EQ(outputType(model), "node[_2 = 4, _1 = 16]");
}

TEST(Elaborate, DeclaredSizesAreNumbers) {
  EXPECT_EQ(
      outputType(load("model M {\n  param h: node[dim = 16], W[dim, dim2 = dim * 2]\n  output y = h @ W / dim\n}")),
      "node[dim2 = 32]");
  // A value may hide the number, the axis stays.
  EXPECT_EQ(outputType(load("model M {\n  input x: node[k = 3]\n  let k = sum(x, over: k)\n  param b[k]\n"
                            "  output y = k * b\n}")),
            "node[k = 3]");
}

TEST(Elaborate, AnInputMayBeHidden) {
  EXPECT_TRUE(tryLoad("model M { input x: node[]; let x = relu(x); output y = 1 }").diagnostics.empty());
}

TEST(Elaborate, ChoosesTheModel) {
  CompileInputs inputs;
  std::vector<Diagnostic> diagnostics;
  std::string text = "model A { output a = 1 }\nmodel B { output b = 1 }";
  EXPECT_EQ(loadModelFromText("m.gnn", text, inputs, diagnostics)->name, "B");
  inputs.model = "A";
  EXPECT_EQ(loadModelFromText("m.gnn", text, inputs, diagnostics)->name, "A");
  inputs.model = "C";
  EXPECT_FALSE(loadModelFromText("m.gnn", text, inputs, diagnostics));
  EXPECT_EQ(diagnostics.at(0).message, "no model 'C' in this file, found 'A', 'B'");
}

TEST(Elaborate, Imports) {
  ModelSpec model = load("import \"lib/a.gnn\"\nimport \"b.gnn\"\n"
                         "model M {\n  input x: node[k = 2]\n  output y = A(x) + B(x)\n}",
                         {},
                         {{"lib/a.gnn", "import \"../b.gnn\"\nlayer A(x: node[k]) { B(x) * 2 }"},
                          {"b.gnn", "layer B(x: node[k]) { relu(x) }"}});
  EXPECT_EQ(model.files.size(), 4u); // and the prelude
  EXPECT_EQ(count(model, OpCode::Unary, "relu"), 2);
}

TEST(Elaborate, ALaterImportComesFirst) {
  ModelSpec model = load("import \"a.gnn\"\nimport \"b.gnn\"\nmodel M { input x: node[]; output y = L(x) }", {},
                         {{"a.gnn", "layer L(x: node[]) { relu(x) }"}, {"b.gnn", "layer L(x: node[]) { exp(x) }"}});
  EXPECT_EQ(count(model, OpCode::Unary, "exp"), 1);
}

TEST(Elaborate, LongSums) {
  std::string sum = "x";
  for (int i = 0; i < 5000; ++i)
    sum += i % 2 ? " + x" : " - 2 * x";
  ModelSpec model = load("model M {\n  input x: node[in = 4]\n  output y = " + sum + "\n}");
  EXPECT_EQ(count(model, OpCode::Binary, "add"), 2500);
  EXPECT_EQ(count(model, OpCode::Binary, "sub"), 2500);
}
