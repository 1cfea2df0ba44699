//===- InstancesTest.cpp - Layers whose parameters calls share -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

static const std::string cell = "layer Cell(m: node[k], h: node[k], scale: float = 1) -> node[k] {\n"
                                "  param W[k, out = k], b[k]\n  scale * tanh(rename(m @ W, out: k) + h + b)\n}\n"
                                "layer Two(x: node[k], out: int) -> node[out] {\n"
                                "  relu(Lin(x, out: out)) + Lin(x, out: out)\n}\n"
                                "layer Lin(x: node[k], out: int) -> node[out] { param W[k, out]\n x @ W }\n";

static std::vector<std::string> params(const ModelSpec &model) {
  std::vector<std::string> names;
  for (const Value &value : model.values)
    if (value.op == OpCode::Param)
      names.push_back(value.name);
  return names;
}

TEST(Instances, ShareTheirParameters) {
  ModelSpec model = load(cell + "model M {\n  input x: node[k = 4]\n  instance cell = Cell(scale: 2)\n  let h = x\n"
                                "  repeat 5 { let h = cell(sum(h.src), h) }\n  output y = h\n}");
  EXPECT_EQ(params(model), (std::vector<std::string>{"cell.W", "cell.b"}));
  EXPECT_EQ(count(model, OpCode::Unary, "tanh"), 5);
  EXPECT_EQ(outputType(model), "node[k = 4]");
}

TEST(Instances, OfLayersWithLayers) {
  ModelSpec model = load(cell + "model M {\n  input a: node[k = 4], b: node[l = 4]\n  instance enc = Two(out: 3)\n"
                                "  let x = enc(a)\n  let y = enc(b)\n  output d = dot(x, y, over: out)\n"
                                "  output own = Two(a, out: 3)\n}");
  EXPECT_EQ(params(model), (std::vector<std::string>{"enc.lin.W", "enc.lin2.W", "two.lin.W", "two.lin2.W"}));
}

TEST(Instances, AreCalledAsElsewhere) {
  ModelSpec model = load(cell + "model M {\n  input a: node[k = 4]\n"
                                "  instance enc = Two(out: 4) as \"encoders.0\"\n"
                                "  let x = rename(enc(a), out: k)\n  let y = rename(enc(x), out: k)\n"
                                "  output z = Lin(y, out: 2) as \"head.1\" + Lin(x, out: 2) as `input`\n}");
  EXPECT_EQ(params(model), (std::vector<std::string>{"encoders.0.lin.W", "encoders.0.lin2.W", "head.1.W", "input.W"}));
  // Two of one name are refused as others are.
  EXPECT_EQ(errorOf(cell + "model M {\n  input a: node[k = 4]\n  output x = Lin(a, out: 2) as \"h.1\"\n"
                           "  output y = Lin(a, out: 2) as \"h.1\"\n}"),
            "13:32: layer 'h.1' already exists");
  EXPECT_EQ(errorOf(cell + "model M {\n  input a: node[k = 4]\n  output x = Lin(a, out: 2) as 5\n}"),
            "12:32: expected the name of this instance, found '5'");
}

TEST(Instances, Train) {
  ModelSpec model =
      load("import std\nlayer Track(x: node[k]) {\n  state seen[k]\n  param W[k, out = k]\n"
           "  update seen = mean(x, along: all)\n  rename(x @ W, out: k) - seen\n}\n"
           "model M {\n  input a: node[k = 4]\n  instance f = Track()\n"
           "  let h = dropout(a, 0.5)\n  repeat 1 { let h = f(h) }\n"
           "  output y = h\n  loss = mean(sum(square(h), over: k), along: all)\n  train Adam(lr: 0.1) for f\n}");
  EXPECT_EQ(params(model), std::vector<std::string>{"f.W"});
  // Each call would update the one state.
  EXPECT_EQ(errorOf("import std\nlayer Track(x: node[k]) {\n  state seen[k]\n  param s[k]\n"
                    "  update seen = mean(x, along: all)\n  x * s - seen\n}\n"
                    "model M {\n  input a: node[k = 4]\n  instance f = Track()\n  let h = f(f(a))\n"
                    "  output y = h\n  loss = mean(sum(square(h), over: k), along: all)\n  train Adam(lr: 0.1)\n}"),
            "5:10: state 'f.seen' is updated twice in one step");
}

TEST(Instances, InRelationsAndRepeats) {
  ModelSpec model = load(cell + "layer Sum(x: node[k]) -> node[k] { param s[k]\n sum(x.src * s) }\n"
                                "model M {\n  input x: node[k = 4]\n  instance f = Sum() on with_self_loops\n"
                                "  let h = x\n  repeat 2 {\n    instance g = Lin(out: 4)\n"
                                "    let h = rename(g(f(h)), out: k) + rename(g(h), out: k)\n  }\n  output y = h\n}");
  EXPECT_EQ(params(model), (std::vector<std::string>{"f.s", "g.W", "g2.W"}));
  EXPECT_EQ(model.spaces[spaceNamed(model, "with_self_loops.ring")].kind, Space::Kind::Union);
}

TEST(Instances, Mistakes) {
  auto error = [](const std::string &statements) {
    return errorIn("\n  input x: node[k = 4], z: node[l = 5]\n" + statements, "", cell);
  };
  EXPECT_EQ(error("  instance f = Lin(out: 2)\n  output y = f(x) + f(z)"),
            "13:54: all calls of an instance share 'f.W', which is shared[k = 4, out = 2] in an earlier one and "
            "shared[k = 5, out = 2] in this one");
  EXPECT_EQ(error("  instance f = Lin(out: 2)\n  output y = f(x, out: 3)"),
            "4:24: argument 'out' of layer 'Lin' is given twice");
  EXPECT_EQ(error("  instance f = Lin(out: 2)\n  output y = f(x) as g"),
            "4:22: 'f' is an instance, which has its name; 'as' belongs to calls of layers");
  EXPECT_EQ(error("  instance f = Lin(x, out: 2)\n  output y = f()"),
            "3:20: the declaration of an instance gives arguments by name");
  EXPECT_EQ(error("  instance f = Lni(out: 2)\n  output y = f(x)"), "3:16: unknown layer 'Lni'; did you mean 'Lin'?");
  EXPECT_EQ(error("  instance relu = Lin(out: 2)\n  output y = x"),
            "3:12: instance 'relu' has the name of a built-in function");
  EXPECT_EQ(error("  instance f = 3\n  output y = x"),
            "3:16: an instance is declared as 'instance name = LAYER(arguments)'");
  EXPECT_EQ(error("  instance f = Lin(out: 2)\n  instance f = Lin(out: 2)\n  output y = f(x)"),
            "4:12: layer 'f' already exists");
  EXPECT_EQ(error("  instance f = Lin()\n  output y = f(x)"), "4:14: missing argument 'out' of layer 'Lin'");
}
