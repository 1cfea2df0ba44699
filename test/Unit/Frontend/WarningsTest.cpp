//===- WarningsTest.cpp - What is said about texts that compile ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace gnnc::frontend;

/// `line:column: message` of all that is said about a text that loads.
static std::vector<std::string> warningsOf(const std::string &text) {
  Loaded loaded = tryLoad(text);
  EXPECT_TRUE(loaded.model) << render(loaded.diagnostics);
  std::vector<std::string> result;
  for (const Diagnostic &diagnostic : loaded.diagnostics)
    result.push_back(std::to_string(diagnostic.loc.line) + ":" + std::to_string(diagnostic.loc.column) + ": " +
                     diagnostic.message);
  return result;
}

static std::string warningOf(const std::string &expr) {
  std::vector<std::string> warnings =
      warningsOf("model M {\n  input x: node[in = 4], y: node[out = 4], z: node[]\n  param W[in, out], b[out]\n"
                 "  output o = x.src * sum(y.src * b, over: out) * z.src * W\n  output p =\n" +
                 expr + "\n}");
  return warnings.empty() ? "" : warnings[0];
}

static const std::string meant =
    ", as each has an axis that the other lacks; align them with 'rename(x, old: new)', or "
    "write 'outer(...)' if all pairs are meant";

TEST(Warnings, PairsOfAxes) {
  EXPECT_EQ(warningOf("x + y"),
            "6:3: '+' of node[in = 4] and node[out = 4] gives all pairs, node[in = 4, out = 4]" + meant);
  EXPECT_EQ(warningOf("maximum(x, b)"),
            "6:1: 'maximum' of node[in = 4] and shared[out = 4] gives all pairs, node[in = 4, out = 4]" + meant);
  EXPECT_NE(warningOf("where(z, x, y)"), "");
  EXPECT_NE(warningOf("x ^ y"), "");
  EXPECT_NE(warningOf("x == y"), "");
  // One operand has all axes.
  for (const char *expr : {"x * W", "W + y", "x + z", "x + 1", "where(z, x, 0)", "where(x, y, W)", "x @ W",
                           "dot(x, x * W, over: in)", "x + rename(y, out: in)"})
    EXPECT_EQ(warningOf(expr), "") << expr;
}

TEST(Warnings, PairsThatAreMeant) {
  for (const char *expr : {"outer(x, y)", "outer(x + y)", "outer(maximum(x, y))", "outer(x * y - 1)"})
    EXPECT_EQ(warningOf(expr), "") << expr;
  EXPECT_EQ(typeOfExpr("outer(x, b)"), "node[in = 6, out = 3]");
  EXPECT_NE(warningOf("outer(x, y) + (x - y)"), "");
}

TEST(Warnings, OnceForAllCalls) {
  EXPECT_EQ(
      warningsOf("layer L(x: node[a], y: node[b]) { x + y }\nmodel M {\n  input x: node[in = 2], y: node[out = 3]\n"
                 "  output p = L(x, y)\n  output q = L(y, x)\n}")
          .size(),
      1u);
}

TEST(Warnings, SignsThatAreOperators) {
  const std::string text = "layer L(x: node[a]) {\n  let y = x\n  -x + y\n}\nmodel M {\n  input x: node[in = 2]\n"
                           "  output p = L(x)\n}";
  Loaded loaded = tryLoad(text);
  EXPECT_FALSE(loaded.model);
  ASSERT_GE(loaded.diagnostics.size(), 1u);
  EXPECT_EQ(loaded.diagnostics[0].loc.line, 3u);
  EXPECT_EQ(loaded.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(loaded.diagnostics[0].message,
            "this '-' is subtracted from the statement before it; to start a statement, end that one with ';' or write "
            "'(-...)'; to subtract, write '- ' with a space");
  // With a space it is a difference; what is missing then is said beside it.
  loaded = tryLoad("layer L(x: node[a]) {\n  let y = x\n  - x\n}\nmodel M {\n  input x: node[in = 2]\n"
                   "  output p = L(x)\n}");
  ASSERT_EQ(loaded.diagnostics.size(), 1u);
  EXPECT_EQ(loaded.diagnostics[0].message, "a layer must end with an expression, which is its result");
  ASSERT_GE(loaded.diagnostics[0].notes.size(), 2u);
  EXPECT_EQ(loaded.diagnostics[0].notes[1].loc.line, 3u);
  EXPECT_TRUE(warningsOf("layer L(x: node[a]) {\n  let y = x\n  - x\n  (-y)\n}\nmodel M {\n  input x: node[in = 2]\n"
                         "  let a = x;\n  output p = L(x - \n -a)\n}")
                  .empty());
}

TEST(Warnings, LayersThatNothingCalls) {
  std::vector<std::string> warnings =
      warningsOf("layer Bad(x: node[in], out: int) {\n  param W[in, out]\n  x @ W + zz\n}\n"
                 "layer Good(x: node[in], heads: int, out: int) {\n  param W[in, heads, out]\n  sum((x @ W).src)\n}\n"
                 "layer OfEdges(e: any[k]) { sum(e, along: dst) }\n"
                 "layer OfThree(x: node[k]) { x[k: 0] + x[k: 1] * x[k: 2] }\n"
                 "layer InTraining(x: node[in]) { training ? x : yy }\n"
                 "model M {\n  input x: node[a = 2]\n  output y = x\n}");
  EXPECT_EQ(warnings, (std::vector<std::string>{"3:11: unknown name 'zz'", "11:48: unknown name 'yy'"}));
  // A layer that is called tells its errors itself.
  EXPECT_EQ(errorOf("layer Bad(x: node[in]) { x + zz }\nmodel M {\n  input x: node[a = 2]\n  output y = Bad(x)\n}"),
            "1:30: unknown name 'zz'");
}

static std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Warnings, NoneForTheLibraryAndTheExamples) {
  size_t tried = 0;
  for (const char *folder : {"/lib/Frontend/std", "/examples"})
    for (auto &entry : std::filesystem::recursive_directory_iterator(std::string(GNNC_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".gnn")
        continue;
      ++tried;
      CompileInputs inputs;
      std::vector<Diagnostic> diagnostics = analyzeText(entry.path(), contents(entry.path()), inputs).diagnostics;
      EXPECT_TRUE(diagnostics.empty()) << render(diagnostics);
    }
  EXPECT_GT(tried, 15u);
}
