//===- TextAnalysisTest.cpp - What an editor is told ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

using namespace gnnc::frontend;

static const char *text = "layer L(x: node[in], out: int) -> node[out] {\n" // 1
                          "  param W[in, out]\n"                            // 2
                          "  let z = x @ W\n"                               // 3
                          "  sum(z.src)\n"                                  // 4
                          "}\n"                                             // 5
                          "model M(k: int) {\n"                             // 6
                          "  input x: node[in = 4]\n"                       // 7
                          "  let h = L(x, out: k + 2)\n"                    // 8
                          "  output y = relu(h)\n"                          // 9
                          "}\n";

static std::string at(const Analysis &analysis, unsigned line, unsigned column) {
  const Occurrence *found = analysis.find(line, column);
  if (!found)
    return "nothing";
  return found->text + (found->definition ? " @" + std::to_string(found->definition->line) + ":" +
                                                std::to_string(found->definition->column)
                                          : "");
}

TEST(Analysis, Occurrences) {
  CompileInputs inputs;
  inputs.model = "M";
  inputs.defines["k"] = "3";
  Analysis analysis = analyzeText("m.gnn", text, inputs);
  EXPECT_TRUE(analysis.diagnostics.empty()) << render(analysis.diagnostics);
  EXPECT_EQ(at(analysis, 2, 9), "param W: shared[in = 4, out = 5] @2:9");
  EXPECT_EQ(at(analysis, 3, 7), "let z: node[out = 5] @3:7");
  EXPECT_EQ(at(analysis, 3, 11), "x: node[in = 4] @1:9");
  EXPECT_EQ(at(analysis, 4, 9), ".src: edge[out = 5]");
  EXPECT_EQ(at(analysis, 4, 7), "z: node[out = 5] @3:7");
  EXPECT_EQ(at(analysis, 7, 9), "input x: node[in = 4] @7:9");
  EXPECT_EQ(at(analysis, 8, 11), "layer L @1:7");
  EXPECT_EQ(at(analysis, 9, 10), "output y: node[out = 5] @9:10");
  EXPECT_EQ(at(analysis, 9, 15), "relu(x)");
  EXPECT_EQ(at(analysis, 9, 19), "h: node[out = 5] @8:7");
  EXPECT_EQ(at(analysis, 5, 1), "nothing");
}

TEST(Analysis, SizesWithoutAValue) {
  Analysis analysis = analyzeText("m.gnn", text, {});
  EXPECT_TRUE(analysis.diagnostics.empty()) << render(analysis.diagnostics);
  EXPECT_EQ(at(analysis, 3, 7), "let z: node[out] @3:7");
  // What holds for some sizes only is no error.
  analysis = analyzeText("m.gnn",
                         "model M(k: int, n: int) {\n  input x: node[k], y: node[n]\n  let a = x[k: 0..3]\n"
                         "  let b = split(y, n, p: 2, q: n / 2)\n  output c = sum(a, over: k)\n  output d = x.edge\n}",
                         {});
  ASSERT_EQ(analysis.diagnostics.size(), 1u) << render(analysis.diagnostics);
  EXPECT_EQ(analysis.diagnostics[0].loc.line, 6u);
}

TEST(Analysis, GoesOnAfterErrors) {
  Analysis analysis = analyzeText("m.gnn",
                                  "model M {\n  input x: node[k = 2]\n  let a = x +\n  let b = yy * x\n"
                                  "  output z = relu(x)\n}",
                                  {});
  ASSERT_EQ(analysis.diagnostics.size(), 2u) << render(analysis.diagnostics);
  EXPECT_EQ(analysis.diagnostics[1].loc.line, 4u);
  EXPECT_EQ(at(analysis, 5, 10), "output z: node[k = 2] @5:10");
}

/// What uses it may be in the statement that could not be read.
TEST(Analysis, SaysNothingOfUnusedInputsAfterSyntaxErrors) {
  Analysis analysis =
      analyzeText("m.gnn", "model M {\n  input x: node[k = 2], z: node[k]\n  output y = x + z +\n}", {});
  for (const Diagnostic &each : analysis.diagnostics)
    EXPECT_EQ(each.severity, Severity::Error) << each.message;
  EXPECT_FALSE(analysis.diagnostics.empty());
}

TEST(Analysis, LayersThatNoModelCalls) {
  Analysis analysis =
      analyzeText("l.gnn",
                  "layer L(x: node[in], heads: int, e: edge[heads]) -> node[heads] {\n  param W[in, heads]\n"
                  "  let y = x @ W\n  sum(y.src * e)\n}\nlayer Bad(x: node[in]) {\n  x * e\n}",
                  {});
  EXPECT_EQ(at(analysis, 3, 7), "let y: node[heads] @3:7");
  ASSERT_EQ(analysis.diagnostics.size(), 1u) << render(analysis.diagnostics);
  EXPECT_EQ(analysis.diagnostics[0].message, "unknown name 'e'");
}

TEST(Analysis, Warnings) {
  Analysis analysis = analyzeText("l.gnn", "layer L(x: node[a], y: node[b]) { x + y }\n", {});
  ASSERT_EQ(analysis.diagnostics.size(), 1u) << render(analysis.diagnostics);
  EXPECT_EQ(analysis.diagnostics[0].severity, Severity::Warning);
  // Sizes that nobody knows are not told.
  EXPECT_EQ(analysis.diagnostics[0].message.substr(0, 55), "'+' of node[a] and node[b] gives all pairs, node[a, b],");
}

TEST(Analysis, OtherFiles) {
  CompileInputs inputs;
  inputs.readFile = [](const std::string &path) -> std::optional<std::string> {
    return path == "dir/a.gnn" ? std::optional<std::string>("\nlayer A(x: node[k]) { x }") : std::nullopt;
  };
  Analysis analysis =
      analyzeText("dir/m.gnn", "import \"a.gnn\"\nmodel M {\n  input x: node[k = 1]\n  output y = A(x)\n}", inputs);
  EXPECT_TRUE(analysis.diagnostics.empty());
  const Occurrence *found = analysis.find(4, 14);
  ASSERT_TRUE(found && found->definition);
  EXPECT_EQ(found->definitionFile, "dir/a.gnn");
  EXPECT_EQ(found->definition->line, 2u);
}

TEST(Analysis, JSON) {
  EXPECT_EQ(analyzeText("m.json", "{", {}).diagnostics.size(), 1u);
  EXPECT_EQ(analyzeText("m.gnn", "", {}).diagnostics.size(), 0u);
}

TEST(Analysis, TheStandardLibrary) {
  for (const char *name :
       {"prelude", "std", "dense", "norm", "conv", "attention", "relational", "interaction", "pool", "loss", "optim"}) {
    std::optional<std::string> text = embeddedText(name);
    ASSERT_TRUE(text) << name;
    Analysis analysis = analyzeText(std::string(name) + ".gnn", *text, {});
    EXPECT_TRUE(analysis.diagnostics.empty()) << render(analysis.diagnostics);
  }
  EXPECT_FALSE(embeddedText("nothing"));
}
