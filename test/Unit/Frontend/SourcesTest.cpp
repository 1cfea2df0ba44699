//===- SourcesTest.cpp - What a graph's data come from --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

static const char *const model =
    "space paper from  size(x,0)\n"
    "space cite from size(edge_index, 1)\n"
    "map citing: cite -> paper from edge_index[0]\n"
    "map first: paper -> cite partial from put(full(size(x, 0), -1), edge_index [0], [ 1,-2 ])\n"
    "layer L(x: paper[in]) -> paper[out] { param W[out = 2, in] as \"lin.weight\"; x @ W }\n"
    "model M exported {\n"
    "  input x: paper[in = 4]\n"
    "  input recent: paper[] from ge(year, 2020)\n"
    "  output y = recent * sum(L(x).citing.first * 1, along: all)\n"
    "}\n";

TEST(Sources, AreKeptInOneForm) {
  ModelSpec spec = load(model);
  EXPECT_TRUE(spec.exported);
  std::map<std::string, std::string> sources;
  for (const Space &space : spec.spaces)
    sources[space.name] = space.source;
  for (const Map &map : spec.maps)
    sources[map.name] = map.source;
  for (const Value &value : spec.values)
    if (value.op == OpCode::Input)
      sources[value.name] = value.source;
  EXPECT_EQ(sources["paper"], "size(x, 0)");
  EXPECT_EQ(sources["citing"], "edge_index[0]");
  EXPECT_EQ(sources["first"], "put(full(size(x, 0), -1), edge_index[0], [1, -2])");
  EXPECT_EQ(sources["recent"], "ge(year, 2020)");
  EXPECT_EQ(sources["x"], "");
}

TEST(Sources, ParametersHaveNamesFromOutside) {
  ModelSpec spec = load(model);
  auto param = std::find_if(spec.values.begin(), spec.values.end(),
                            [](const Value &value) { return value.op == OpCode::Param; });
  ASSERT_NE(param, spec.values.end());
  EXPECT_EQ(param->name, "l.lin.weight");
  EXPECT_EQ(errorIn("param a as \"w\", b as \"w\"\noutput y = a + b"),
            "1:28: there is already an input, parameter or state 'w'");
  EXPECT_EQ(
      errorOf("model M { input x: node[k = 2]\n  repeat 2 { param W[k] as \"w\" }\n  output y = x * W }"),
      "2:28: 'w' would be declared in each turn of 'repeat': a name after 'as' is given to one parameter or state");
  ModelSpec turns = load("layer L(x: node[k]) { param W[k] as \"w\"; x * W }\n"
                         "model M { input x: node[k = 2]\n  let h = x\n  repeat 2 { let h = L(h) }\n  output y = h }");
  std::vector<std::string> names;
  for (const Value &value : turns.values)
    if (value.op == OpCode::Param)
      names.push_back(value.name);
  EXPECT_EQ(names, (std::vector<std::string>{"l.w", "l2.w"}));
}

TEST(Sources, SpreadMakesRowsOfAStaticSpace) {
  ModelSpec spec = load("space kind static\nmap of: node -> kind\n"
                        "model M(kind: int = 3) { param W[k = 3, out = 2]; output y = spread(W, on: kind).of }\n");
  EXPECT_EQ(typeOf(spec, spec.outputs[0].value), "node[out = 2]");
  EXPECT_NE(errorOf("space kind static\nmodel M(kind: int = 3) { param W[k = 2]; output y = spread(W, on: kind) }\n")
                .find("the first axis must have the extent 3"),
            std::string::npos);
}

TEST(Sources, MistakesAreNamed) {
  auto at = [](const std::string &source) {
    return errorOf("space s from " + source + "\nmodel M { output y = 1 }\n");
  };
  EXPECT_EQ(at("1.5"), "1:14: expected the name of a tensor, a function of tensors or an integer, found '1.5'");
  EXPECT_EQ(at("size(x 0)"), "1:21: expected ',', found '0'");
  EXPECT_EQ(at("e[x]"), "1:16: expected the number of a row, found 'x'");
  std::string deep;
  for (int i = 0; i < 300; ++i)
    deep += "neg(";
  EXPECT_NE(at(deep).find("200"), std::string::npos) << at(deep);
}
