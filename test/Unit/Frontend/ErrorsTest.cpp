//===- ErrorsTest.cpp - What is said about mistakes -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

/// The error of an expression on line 5 of a model with some inputs.
static std::string errorOfExpr(const std::string &expr) {
  return errorOf("model M {\n  input x: node[in = 4], e: edge[k = 2], g: graph[]\n  param W[in, out = 3], V[out, in], "
                 "K: node_type[in]\n  output y =\n" +
                     expr + "\n}",
                 {{"node_type", "2"}});
}

TEST(Errors, Syntax) {
  EXPECT_EQ(errorIn("\n  let a = 1 +\n  output y = a"), "2:14: expected an expression, found the end of the line");
  EXPECT_EQ(errorIn("\n  let = 1"), "2:7: expected the name of a value, found '='");
  EXPECT_EQ(errorIn("\n  output y = 1 2"), "2:16: expected the end of the statement, found '2'");
  EXPECT_EQ(errorIn("\n  1 + 2"), "2:5: expected a statement such as 'let name = ...' or 'output name = ...', found an "
                                  "expression whose value is not used");
  EXPECT_EQ(errorOf("layr A() { 1 }"),
            "1:1: expected 'import', 'space', 'map', 'relation', 'layer' or 'model', found 'layr'");
  EXPECT_EQ(errorOf("model M { output y = 1"), "1:23: expected '}', found the end of the file");
  EXPECT_EQ(errorOf("layer A(x: node[2 * k]) { x }"),
            "1:19: expected ',' or ']' (a computed size needs a name: 'name = size'), found '*'");
  EXPECT_EQ(errorOf("model M(x: node[a]) { }"), "1:9: a model's parameters are numbers; expected 'int', 'float' or "
                                                "'bool', and an 'input' statement for values");
  EXPECT_EQ(errorOfExpr("1 < 2 < 3"), "5:7: comparisons do not chain: join them with 'and'");
  EXPECT_EQ(errorIn("\n  let a = 99999999999999999999"), "2:11: integer 99999999999999999999 does not fit in 64 bits");
  EXPECT_EQ(errorOf("layer L() { input x: node[]\n x }\nmodel M { output y = 1 }"),
            "1:13: 'input' is allowed only in a model, outside 'repeat'");
}

TEST(Errors, Names) {
  EXPECT_EQ(errorOfExpr("xx"), "5:1: unknown name 'xx'; did you mean 'x'?");
  EXPECT_EQ(errorOfExpr("leaky_rel(x)"), "5:1: unknown layer or function 'leaky_rel'; did you mean 'leaky_relu'?");
  EXPECT_EQ(errorOfExpr("x.scr"), "5:3: no map or space 'scr' is in scope; did you mean 'src'?");
  EXPECT_EQ(errorOfExpr("src"), "5:1: 'src' is a map, not a value; a value moves along it as in 'x.src'");
  EXPECT_EQ(errorOfExpr("node + 1"), "5:1: 'node' is a space, not a value");
  EXPECT_EQ(errorOfExpr("x * relu"), "5:5: unknown name 'relu'");
  EXPECT_EQ(errorIn("\n  input x: nod[a = 1]"), "2:12: unknown space 'nod'; did you mean 'node'?");
  EXPECT_EQ(errorIn("\n  input x: node[widht]", "width: int = 4"),
            "2:17: unknown axis 'widht': no size of that name; give it one as in 'widht = 16'; did you mean 'width'?");
  EXPECT_EQ(errorIn("\n  param W[a = 1]\n  param W[a]"), "3:9: param 'W' already exists");
  EXPECT_EQ(errorIn("\n  output y = 1\n  output y = 2"), "3:10: there is already an output 'y'");
  EXPECT_EQ(errorIn("\n  let a = 1"), "1:7: model 'M' has no output; expected a statement 'output name = ...'");
  EXPECT_EQ(errorOf("layer A() { 1 }"), "no model in this file; expected 'model NAME { ... }'");
  EXPECT_EQ(errorOf("layer relu(x: node[]) { x }\nmodel M { output y = 1 }"),
            "1:7: layer 'relu' has the name of a built-in function");
  EXPECT_EQ(errorOf("layer A() { 1 }\nlayer A() { 1 }\nmodel M { output y = 1 }"),
            "2:7: layer 'A' is already declared");
}

TEST(Errors, Axes) {
  EXPECT_EQ(errorOfExpr("sum(x, over: out)"), "5:1: no axis 'out' in node[in = 4]");
  EXPECT_EQ(errorOfExpr("x @ rename(W, in: k)"),
            "5:3: '@' contracts axis 'in', the last of node[in = 4], which the right "
            "operand shared[k = 4, out = 3] does not have");
  EXPECT_EQ(errorOfExpr("x + x[in: 0..2]"), "5:3: axis 'in' has different sizes: node[in = 4] and node[in = 2]");
  EXPECT_EQ(errorOfExpr("x @ V[in: 0..2]"),
            "5:3: axis 'in' has different sizes: node[in = 4] and shared[out = 3, in = 2]");
  EXPECT_EQ(errorOfExpr("g @ W"), "5:3: '@' contracts the last axis of its left operand, but graph[] has none");
  EXPECT_EQ(errorOfExpr("x[in: 3..5]"), "5:2: a slice of axis 'in' must lie in 0..4 and not be empty, found 3..5");
  EXPECT_EQ(errorOfExpr("x[in: 4]"), "5:7: an index of axis 'in' is an integer from 0 to 3, found 4");
  EXPECT_EQ(errorOfExpr("x[in: -1]"), "5:7: an index of axis 'in' is an integer from 0 to 3, found -1");
  EXPECT_EQ(errorOfExpr("x[k: 0]"), "5:2: no axis 'k' in node[in = 4]");
  EXPECT_EQ(errorOfExpr("x[in: 1 2]"), "5:9: expected '..' and the end of the slice, or ']' after an index, found '2'");
  EXPECT_EQ(errorOfExpr("x.T"), "5:3: '.T' exchanges two axes, found node[in = 4]");
  EXPECT_EQ(errorOfExpr("where(src == etype, 1, 0)"),
            "5:11: a filter compares maps to one space, but 'src' is to 'node' and 'etype' is to 'edge_type'");
  EXPECT_EQ(errorOfExpr("split(x, in, a: 3, b: 2)"), "5:1: axis 'in' of size 4 cannot be split into 6 numbers");
  EXPECT_EQ(errorOfExpr("rename(W, in: out)"), "5:1: two axes of one value are called 'out'");
  EXPECT_EQ(errorOfExpr("concat(x, W, axis: in)"), "5:1: operands that join along their last axes must have the same "
                                                   "other axes: node[in = 4] and shared[in = 4, out = 3]");
  EXPECT_EQ(errorOfExpr("permute(W, in)"), "5:1: a permutation names all 2 axes of shared[in = 4, out = 3], found 1");
  EXPECT_EQ(errorOfExpr("merge(W, (in, k), as: n)"), "5:1: no axis 'k' in shared[in = 4, out = 3]");
}

TEST(Errors, Residencies) {
  EXPECT_EQ(errorOfExpr("x * e"),
            "5:3: operands reside on different spaces: node and edge (move the node value with .src or .dst)");
  EXPECT_EQ(errorOfExpr("x + g"),
            "5:3: operands reside on different spaces: node and graph (move the graph value with .batch)");
  EXPECT_EQ(errorOfExpr("where(e, x, 0)"),
            "5:1: operands reside on different spaces: edge and node (move the node value with .src or .dst)");
  EXPECT_EQ(errorOfExpr("e @ rename(K, in: k)"), "5:3: operands reside on different spaces: edge and node_type");
  EXPECT_EQ(errorOfExpr("sum(x)"),
            "5:1: sum needs 'along: map' or 'over: axis': the value is on 'node', and only values "
            "on 'edge' are reduced along 'dst' by default");
  EXPECT_EQ(errorOfExpr("sum(x, along: etype)"), "5:15: no map leads from 'node' to 'edge'");
  EXPECT_EQ(errorOfExpr("x.src.src"), "5:7: the value is already on 'edge'; 'src' moves values from 'node' to 'edge'");
  EXPECT_EQ(errorOfExpr("e.node"), "5:3: no map leads from 'node' to 'edge'");
  EXPECT_EQ(errorOfExpr("softmax(W, along: dst)"),
            "5:1: softmax along a map needs a value on a space, found shared[in = 4, out = 3]");
  EXPECT_EQ(errorOfExpr("sum(1, along: all)"), "5:1: cannot reduce along 'all': the value is shared already");
}

TEST(Errors, AmbiguousMoves) {
  EXPECT_EQ(errorOfExpr("x.edge"), "5:3: ambiguous: both 'src' and 'dst' lead from 'edge' to 'node'");
  EXPECT_EQ(errorOfExpr("K.edge"), "5:3: ambiguous: both 'src.ntype' and 'dst.ntype' lead from 'edge' to 'node_type'");
  EXPECT_EQ(errorOfExpr("sum(e, along: batch)"), "5:15: ambiguous: both 'src' and 'dst' lead from 'edge' to 'node'");
}

TEST(Errors, Arguments) {
  const char *layer = "layer L(x: node[a], w: edge[] = 1, n: int, f: float = 1) { x * n }\n";
  auto call = [&](const std::string &call) {
    return errorIn("\n  input x: node[k = 2], e: edge[], t: node[b = 2, c = 3]\n  output y = " + call, "", layer);
  };
  EXPECT_EQ(call("L(x)"), "3:14: missing argument 'n' of layer 'L'");
  EXPECT_EQ(call("L(n: 1)"), "3:14: missing argument 'x' of layer 'L'");
  EXPECT_EQ(call("L(x, e, e, n: 1)"),
            "3:22: extra argument: layer 'L' takes 2 values by position; numbers are given by "
            "name, as in 'out: 16'");
  EXPECT_EQ(call("L(x, m: 1)"), "3:19: layer 'L' has no parameter 'm'");
  EXPECT_EQ(call("L(x, x: x, n: 1)"), "3:22: argument 'x' of layer 'L' is given twice");
  EXPECT_EQ(call("L(e, n: 1)"), "3:16: argument 'x' of layer 'L' is on 'node', found a value on 'edge'");
  EXPECT_EQ(call("L(t, n: 1)"), "3:16: argument 'x' of layer 'L' has 1 axis, found [b = 2, c = 3]");
  EXPECT_EQ(call("L(x, n: 1.5)"), "3:22: parameter 'n' is an int, found 1.5");
  EXPECT_EQ(call("L(x, n: x)"),
            "3:22: parameter 'n' of layer 'L' is a number known at compile time, found node[k = 2]");
  EXPECT_EQ(call("L(x, a: 3, n: 1)"), "3:19: layer 'L' has no parameter 'a'");
  EXPECT_EQ(call("relu(x, x)"), "3:22: extra argument; expected relu(x)");
  EXPECT_EQ(call("relu(x, y: 1)"), "3:22: extra argument 'y'; expected relu(x)");
  EXPECT_EQ(call("relu()"), "3:14: missing argument; expected relu(x)");
  EXPECT_EQ(call("relu(x) as r"), "3:25: 'relu' is a built-in function; 'on' and 'as' belong to layers");
  EXPECT_EQ(call("leaky_relu(x, x)"), "3:28: this argument of leaky_relu must be a number known at compile time, found "
                                      "node[k = 2]");
  EXPECT_EQ(call("x ? 1 : 2"),
            "3:16: the condition of '?' must be known at compile time, found node[k = 2]; values are "
            "chosen element by element with where(c, a, b)");
  EXPECT_EQ(call("dropout(x, 1.5)"), "3:14: a dropout probability is at least 0 and less than 1, found 1.5");
  EXPECT_EQ(call("(L(x, n: 1) as a) + (L(x, n: 1) as a)"), "3:49: layer 'a' already exists");
}

TEST(Errors, SizesOfArguments) {
  EXPECT_EQ(errorIn("\n  input x: node[a = 2], y: node[b = 3]\n  output z = L(x, y)", "",
                    "layer L(x: node[k], y: node[k]) { x + y }"),
            "3:19: axis 'k' of argument 'y' of layer 'L' has size 2, found 3");
  EXPECT_EQ(errorIn("\n  input x: node[a = 2]\n  output z = L(x)", "", "layer L(x: node[k = 2 * 2]) { x }"),
            "3:16: axis 'k' of layer 'L' has size 4, found 2");
  EXPECT_EQ(errorIn("\n  input x: node[a = 2]\n  output z = L(x, k: 3)", "", "layer L(x: node[k], k: int) { x }"),
            "3:16: axis 'k' of argument 'x' of layer 'L' has size 3, found 2");
}

TEST(Errors, Results) {
  auto error = [](const std::string &layer) {
    return errorIn("\n  input x: node[a = 2]\n  output y = L(x)", "", layer);
  };
  EXPECT_EQ(error("layer L(x: node[k]) -> edge[k] { x }"),
            "5:34: the result of layer 'L' is declared on 'edge', found a value on 'node'");
  EXPECT_EQ(error("layer L(x: node[k]) -> node[k, j = 2] { x }"),
            "5:41: the result of layer 'L' is declared to have axes [k, j], found [k]");
  EXPECT_EQ(error("layer L(x: node[k]) -> node[k = 3] { x }"),
            "5:38: axis 'k' of the result of layer 'L' is declared to have size 3, found 2");
  EXPECT_EQ(error("layer L(x: node[k]) { let y = x }"),
            "5:7: a layer must end with an expression, which is its result");
  EXPECT_EQ(error("layer L(x: node[k]) {\n x\n let y = x\n y }"),
            "6:2: only the last statement of a layer is an expression; the value of this one is not used");
}

TEST(Errors, OneForOneCause) {
  auto count = [](const std::string &text) { return tryLoad(text).diagnostics.size(); };
  const std::string model = "\nmodel M {\n  input x: node[a = 2]\n  output y = L(x)\n}";
  // A result that is taken for part of the statement before it.
  EXPECT_EQ(count("layer L(x: node[k]) -> node[k] {\n  let y = relu(x)\n  - y\n}" + model), 1u);
  EXPECT_EQ(count("layer L(x: node[k]) -> node[k] {\n  let y = x +\n}" + model), 1u);
  EXPECT_EQ(count("layer L(x: node[k]) -> node[k] {\n  let y = zz\n}" + model), 1u);
  EXPECT_EQ(count("model M {\n  input x: node[a = 2]\n  def h = x\n  output y = x\n}"), 1u);
  EXPECT_EQ(count("model M {\n  input x: node[a = 2]\n  x + 1 = 3\n  output y = x\n}"), 1u);
  EXPECT_EQ(count("model M {\n  input x: node[a = 2]\n  output y = zz\n}"), 1u);
  EXPECT_EQ(count("model M {\n  input x: node[a = 2]\n  output = x\n}"), 1u);
}

TEST(Errors, Numbers) {
  EXPECT_EQ(errorOfExpr("9223372036854775807 + 1"), "5:21: 9223372036854775807 + 1 does not fit in 64 bits");
  EXPECT_EQ(errorOfExpr("2 ^ 64"), "5:3: 2 ^ 64 does not fit in 64 bits");
  EXPECT_EQ(errorOfExpr("-9223372036854775807 * 2"), "5:22: -9223372036854775807 * 2 does not fit in 64 bits");
  EXPECT_EQ(errorOfExpr("(-9223372036854775807 - 1) / -1"), "5:28: 0 - -9223372036854775808 does not fit in 64 bits");
  EXPECT_EQ(errorOfExpr("1 / 0"), "5:3: division by zero");
  EXPECT_EQ(errorOfExpr("5 % 0"), "5:3: division by zero");
  EXPECT_EQ(errorOfExpr("exp(1000)"), "5:1: the result of exp is not a finite number");
  EXPECT_EQ(errorOfExpr("1e300 * 1e300"), "5:7: the result of '*' is not a finite number");
  EXPECT_EQ(errorOfExpr("1.5 % 2"), "5:5: '%' takes integers, found 1.5 and 2");
  EXPECT_EQ(errorIn("\n  param W[a = 0]"), "2:15: a size must be an integer of at least 1, found 0");
  EXPECT_EQ(errorIn("\n  param W[a = 1.5]"), "2:15: a size must be an integer of at least 1, found 1.5");
  EXPECT_EQ(errorIn("\n  param W[a = 1048576, b = 1048577]\n  output y = W"),
            "2:9: a value of 1048576 x 1048577 numbers per row is too large; the limit is 2^40");
  EXPECT_EQ(errorIn("\n  param a[i = 1048576], b[j = 1048576], c[k = 2]\n  output y = a * b * c"),
            "3:20: a value of 1048576 x 1048576 x 2 numbers per row is too large; the limit is 2^40");
  EXPECT_EQ(errorIn("\n  repeat 5000 { let a = 1 }"),
            "2:10: the count of 'repeat' must be an integer from 0 to 4096, found 5000");
}

TEST(Errors, Definitions) {
  const char *text = "model M(n: int, f: float = 1) { output y = n * f }";
  EXPECT_EQ(errorOf(text), "1:9: parameter 'n' of model 'M' has no value; define it with '-D n=...'");
  EXPECT_EQ(errorOf(text, {{"n", "x"}}), "1:9: the definition of 'n': expected a number, true or false, found 'x'");
  EXPECT_EQ(errorOf(text, {{"n", "1.5"}}), "1:9: parameter 'n' is an int, found 1.5");
  EXPECT_EQ(errorOf(text, {{"n", "1"}, {"m", "2"}}),
            "1:7: '-D m=2' has no effect: model 'M' has no parameter or static space of that "
            "name");
  EXPECT_EQ(errorOf("model M(n: int) { output y = n }", {{"node_type", "-1"}, {"n", "1"}}),
            "1:7: the extent of static space 'node_type' must be 1 to 2147483647, found -1");
}

TEST(Errors, WhatNewcomersMean) {
  const std::string model = "model M {\n  input x: node[k = 4], e: edge[k]\n  output y = ";
  EXPECT_EQ(errorOf("import std\n" + model + "GCN(x, 16)\n}"),
            "4:14: missing argument 'out' of layer 'GCN'; 16 was taken for 'w': numbers are given by name, as in "
            "'out: 16'");
  EXPECT_EQ(errorOf(model + "max(x, 0)\n}"), "3:14: 'max' reduces one value, along a map or over axes; the larger of "
                                             "two is 'maximum(a, b)'");
  EXPECT_EQ(errorOf(model + "min(1, x)\n}"), "3:14: 'min' reduces one value, along a map or over axes; the smaller of "
                                             "two is 'minimum(a, b)'");
  EXPECT_EQ(errorOf(model + "L(x, e)\n}\nlayer L(x: node[k], e: edge[k]) on with_self_loops { sum(e * x.src) }"),
            "5:60: operands reside on different spaces: edge and with_self_loops.ring (move the edge value with "
            "move(value, old, fill: 0))");
  EXPECT_EQ(errorOf(model + "GCN(x, out: 16)\n}"),
            "3:14: unknown layer or function 'GCN'; the standard library has it: "
            "add 'import std' at the top of the file");
  EXPECT_EQ(errorOf(model + "x\n  loss = mean(sum(x, over: k), along: all)\n  train Adam(lr: 1)\n}"),
            "5:9: unknown optimiser 'Adam'; the standard library has it: add 'import std' at the top of the file");
}

TEST(Errors, OneForEachCause) {
  auto lines = [](const std::string &text) {
    std::vector<unsigned> lines;
    for (const Diagnostic &diagnostic : tryLoad(text).diagnostics)
      lines.push_back(diagnostic.loc.line);
    return lines;
  };
  EXPECT_EQ(lines("model M {\n  input x: node[k = 2]\n  let a = GCN(x, out: 2)\n  let b = GCN(x, out: 3)\n"
                  "  output y = GCN(x, out: 4) + zz\n  output z = zz\n}"),
            (std::vector<unsigned>{3, 5}));
  // In a layer, whatever the sizes of its calls are.
  EXPECT_EQ(lines("layer L(x: node[k]) {\n  sum(x, over: j)\n}\nmodel M {\n  input x: node[k = 2], y: node[l = 3]\n"
                  "  output a = L(x)\n  output b = L(y)\n}"),
            (std::vector<unsigned>{2}));
}

TEST(Errors, Recursion) {
  EXPECT_EQ(errorOf("layer A(x: node[k]) { B(x) }\nlayer B(x: node[k]) { A(x) }\n"
                    "model M { input x: node[k = 1]\n  output y = A(x) }"),
            "2:23: layer 'A' calls itself: A -> B -> A");
}

TEST(Errors, Imports) {
  EXPECT_EQ(errorOf("import \"no.gnn\"\nmodel M { output y = 1 }"),
            "1:8: cannot read 'no.gnn': No such file or directory");
  EXPECT_EQ(errorOf("import nothing\nmodel M { output y = 1 }"),
            "1:8: no library 'nothing'; a file is imported by its path in quotes");
  EXPECT_EQ(errorOf("import \"a.gnn\"\nmodel M { output y = 1 }", {},
                    {{"a.gnn", "import \"b.gnn\""}, {"b.gnn", "import \"./a.gnn\""}}),
            "1:8: import cycle: a.gnn -> b.gnn -> a.gnn");
  std::vector<Diagnostic> unclosed = tryLoad("import \"no.gnn\nmodel M { output y = 1 }", {}, {}).diagnostics;
  ASSERT_EQ(unclosed.size(), 1u);
  EXPECT_EQ(unclosed[0].message, "expected '\"' at the end of this string");
  EXPECT_EQ(errorOf("import \"test.gnn\"\nmodel M { output y = 1 }"), "1:8: import cycle: test.gnn -> test.gnn");
  std::vector<Diagnostic> diagnostics;
  CompileInputs inputs;
  inputs.mainPath = "/nowhere/model.gnn";
  EXPECT_FALSE(loadModel(inputs, diagnostics));
  EXPECT_EQ(render(diagnostics), "error: cannot read '/nowhere/model.gnn': No such file or directory\n");
}

TEST(Errors, Structure) {
  auto error = [](const std::string &declarations) {
    return errorOf(declarations + "\nmodel M { input x: node[]; output y = x }");
  };
  EXPECT_EQ(error("space a\nspace a"), "2:7: 'a' is already declared");
  EXPECT_EQ(error("map src: node -> node"), "1:5: 'src' is already declared");
  EXPECT_EQ(error("space all"), "1:7: 'all' has a special meaning and cannot name a space or map");
  EXPECT_EQ(error("space forward"), "1:7: 'forward' is the name of a program and cannot name a space or map");
  EXPECT_EQ(error("map gradient: node -> node"),
            "1:5: 'gradient' is the name of a program and cannot name a space or map");
  EXPECT_EQ(error("map m: nowhere -> node"), "1:8: unknown space 'nowhere'");
  EXPECT_EQ(error("space f = filter(edge, src == etype)"),
            "1:7: a filter compares maps to one space, but 'src' is to 'node' and 'etype' is to 'edge_type'");
  EXPECT_EQ(error("space f = filter(edge, src == ntype)"),
            "1:31: map 'ntype' starts at 'node', but the path is at 'edge'");
  EXPECT_EQ(error("space u = union(edge, node)\nmap m: u -> node = src"),
            "2:20: map 'src' starts at 'edge', but the path is at 'u'");
  EXPECT_EQ(error("space u = union(edge, node)\nmap m: u -> node = src | node | node"),
            "2:5: union 'u' has 2 parts, but 3 paths are given");
  EXPECT_EQ(error("space n = filter(edge, src == dst)\nmap l = last(n, dst)\nspace f = filter(node, l == l)"),
            "3:7: a filter compares maps that are defined everywhere, but 'l' is partial");
  EXPECT_EQ(error("space n = filter(edge, src == dst)\nmap l = last(n, dst)\nspace f = distinct(l)"),
            "3:7: distinct takes maps that are defined everywhere, but 'l' is partial");
  EXPECT_EQ(errorIn("\n  input x: node[]\n  space n = filter(edge, src == dst)\n  map l = last(n, dst)\n"
                    "  output y = softmax(x, along: l)"),
            "5:14: softmax needs a map that is defined everywhere, but 'l' is partial");
  EXPECT_EQ(error("map m: edge -> node = etype"), "1:23: expected a path to 'node', found one to 'edge_type'");
  EXPECT_EQ(error("map m: edge -> node = src | dst"),
            "1:5: only a map from a union has one path for each of several parts");
  EXPECT_EQ(errorOf("relation r() { edge(src: src) }\nlayer L(x: node[]) on r { x }\n"
                    "model M { input x: node[]; output y = L(x) }"),
            "1:16: a relation has maps 'src' and 'dst'; expected 'SPACE(src: ..., dst: ...)'");
  EXPECT_EQ(errorOf("layer L(x: node[k]) { x }\nspace a\nspace b\nrelation r: a -> b\n"
                    "model M { input x: node[k = 1]; output y = L(x) on r }"),
            "1:12: 'node' needs a relation with one space at both ends, but 'r' goes from 'a' to 'b'; use 'source' and "
            "'target'");
  EXPECT_EQ(errorOf("layer L(x: node[k]) { x }\nmodel M { input x: node[k = 1]; output y = L(x) on rr }"),
            "2:52: unknown relation 'rr'");
}

TEST(Errors, SeveralAtOnce) {
  Loaded loaded = tryLoad("model M {\n  input x: node[k = 2]\n  let a = x * zz\n  let b = a + a\n  let c = x.edge\n"
                          "  output y = b * c\n  output z = sum(x)\n}");
  std::vector<unsigned> lines;
  for (const Diagnostic &diagnostic : loaded.diagnostics)
    lines.push_back(diagnostic.loc.line);
  EXPECT_EQ(lines, (std::vector<unsigned>{3, 5, 7}));
}

TEST(Errors, Rendering) {
  Loaded loaded = tryLoad("layer L(x: node[k]) {\n\tsum(x, over: j)\n}\nmodel M {\n  input x: node[k = 2]\n"
                          "  output y = L(x)\n}");
  ASSERT_EQ(loaded.diagnostics.size(), 1u);
  EXPECT_EQ(render(loaded.diagnostics[0]), "test.gnn:2:2: error: no axis 'j' in node[k = 2]\n"
                                           "\tsum(x, over: j)\n"
                                           "\t^~~\n"
                                           "test.gnn:6:14: note: in this call of layer 'L'\n"
                                           "  output y = L(x)\n"
                                           "             ^\n");
  SourceLookup lookup = [](const std::string &) { return "\nsecond line\n"; };
  EXPECT_NE(render(loaded.diagnostics[0], lookup).find("second line\n ^~~\n"), std::string::npos);
}

TEST(Errors, RenderingOfAnyLine) {
  auto rendered = [](const std::string &line, unsigned column, unsigned length) {
    Diagnostic diagnostic;
    diagnostic.loc.line = 1;
    diagnostic.loc.column = column;
    diagnostic.loc.length = length;
    diagnostic.sourceLine = line;
    std::string text = render(diagnostic);
    return text.substr(text.find('\n') + 1);
  };
  // Columns count bytes, carets stand under characters.
  EXPECT_EQ(rendered("/* \xc3\xa9 */ x\xc3\xa9 y", 10, 3), "/* \xc3\xa9 */ x\xc3\xa9 y\n        ^~\n");
  EXPECT_EQ(rendered("x", 9, 5), "x\n ^\n");
  // What is no text does not reach a terminal.
  EXPECT_EQ(rendered("\x7f"
                     "ELF\x1b[31m\xff",
                     1, 1),
            "?ELF?[31m?\n^\n");
  std::string text = rendered(std::string(5000, 'a') + "b" + std::string(5000, 'c'), 5001, 1);
  size_t newline = text.find('\n');
  EXPECT_LT(newline, 200u);
  EXPECT_EQ(text.substr(0, 4), "...a");
  EXPECT_EQ(text[text.find('^') - newline - 1], 'b');
}
