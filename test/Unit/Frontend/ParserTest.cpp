//===- ParserTest.cpp - Syntax --------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Syntax/Parser.h"
#include "FrontendTest.h"

using namespace gnnc::frontend;

/// An expression with all its brackets.
static std::string show(const ast::Expr &expr) {
  using Kind = ast::Expr::Kind;
  auto operand = [&](size_t i) { return show(*expr.operands[i]); };
  switch (expr.kind) {
  case Kind::Integer:
    return std::to_string(expr.integer);
  case Kind::Float:
    return std::to_string(expr.number);
  case Kind::Bool:
    return expr.integer ? "true" : "false";
  case Kind::Name:
    return expr.name;
  case Kind::Member:
    return operand(0) + "." + expr.name;
  case Kind::Unary:
    return "(" + expr.name + " " + operand(0) + ")";
  case Kind::Binary: {
    std::string text = operand(0);
    for (size_t i = 0; i < expr.operators.size(); ++i)
      text = "(" + text + " " + expr.operators[i].text + " " + operand(i + 1) + ")";
    return text;
  }
  case Kind::Choice:
    return "(" + operand(0) + " ? " + operand(1) + " : " + operand(2) + ")";
  case Kind::Slice:
    return operand(0) + "[" + expr.name + ": " + operand(1) + (expr.operands.size() > 2 ? ".." + operand(2) : "") + "]";
  case Kind::Tuple:
  case Kind::Call: {
    std::string text = expr.name + "(";
    for (const ast::ExprPtr &each : expr.operands)
      text += (text.back() == '(' ? "" : ", ") + show(*each);
    for (const ast::Argument &each : expr.arguments)
      text += (text.back() == '(' ? "" : ", ") + (each.name ? each.name->text + ": " : "") + show(*each.value);
    text += ")";
    for (const ast::Name &relation : expr.on)
      text += " on " + relation.text;
    return text + (expr.as ? " as " + expr.as->text : "");
  }
  }
  return "";
}

static ast::File parse(const std::string &text, std::vector<Diagnostic> &diagnostics) {
  Sources sources;
  DiagnosticEngine engine(sources, diagnostics);
  return Parser(sources, sources.add("t.gnn", text), engine).parseFile();
}

static std::string expr(const std::string &text) {
  std::vector<Diagnostic> diagnostics;
  ast::File file = parse("layer L() {\n" + text + "\n}", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << render(diagnostics);
  if (!diagnostics.empty() || file.layers.at(0).body.size() != 1)
    return "no expression";
  return show(*std::get<ast::ExprPtr>(file.layers[0].body[0].node));
}

TEST(Parser, Precedence) {
  EXPECT_EQ(expr("a + b * c @ d"), "(a + (b * (c @ d)))");
  EXPECT_EQ(expr("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(expr("-x ^ 2 @ W"), "((- (x ^ 2)) @ W)");
  EXPECT_EQ(expr("x ^ -y ^ z"), "(x ^ (- (y ^ z)))");
  EXPECT_EQ(expr("a or b and not c == d"), "(a or (b and (not (c == d))))");
  EXPECT_EQ(expr("not a and b"), "((not a) and b)");
  EXPECT_EQ(expr("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
  EXPECT_EQ(expr("-x.src @ K.src"), "((- x.src) @ K.src)");
  EXPECT_EQ(expr("x.src[in: 0..k+1].y"), "x.src[in: 0..(k + 1)].y");
  EXPECT_EQ(expr("x[in: k - 1]"), "x[in: (k - 1)]");
  EXPECT_EQ(expr("a - b + c * d / e - f"), "(((a - b) + ((c * d) / e)) - f)");
  EXPECT_EQ(expr("(a - b) - (c - d)"), "((a - b) - (c - d))");
}

TEST(Parser, Calls) {
  EXPECT_EQ(expr("relu(GCN(x, out: 4) as c1)"), "relu(GCN(x, out: 4) as c1)");
  EXPECT_EQ(expr("GAT(x, y) on follows as a + b"), "(GAT(x, y) on follows as a + b)");
  EXPECT_EQ(expr("merge(x, (a, b), as: n)"), "merge(x, (a, b), as: n)");
  EXPECT_EQ(expr("join(a, b, on: U)"), "join(a, b, on: U)");
  EXPECT_EQ(expr("GCN(x)\n  on with_self_loops\n  as c"), "GCN(x) on with_self_loops as c");
  EXPECT_EQ(expr("f(x,)"), "f(x)");
}

TEST(Parser, Declarations) {
  std::vector<Diagnostic> diagnostics;
  ast::File file =
      parse("import std; import \"a.gnn\"\n"
            "space user; space kind static\n"
            "space F = filter(edge, src != dst)\nspace U = union(F, node)\nspace P = distinct(dst, etype)\n"
            "map a, b: user -> node\nmap l = last(F, in.dst)\nmap m: U -> node = src | none | x.y\n"
            "relation follows: user -> node\n"
            "relation r(old) { space F = filter(edge, src == dst); F(src: src, dst: dst, old: edge) }\n"
            "layer L(x: node[in, k = 2 * in, 3], s: [in], t: shared, n: int = 2, f: float, b: bool = true)\n"
            "    on r -> node[in] { x }\n"
            "model M(n: int = 1) { output y = 1 }\n",
            diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << render(diagnostics);
  EXPECT_EQ(file.imports.size(), 2u);
  EXPECT_EQ(file.spacesAndMaps.size(), 9u);
  EXPECT_EQ(file.relations.size(), 1u);
  ASSERT_EQ(file.layers.size(), 1u);
  EXPECT_EQ(file.layers[0].formals.size(), 6u);
  EXPECT_EQ(file.layers[0].formals[0].type.axes.size(), 3u);
  EXPECT_FALSE(file.layers[0].formals[1].type.residency);
  EXPECT_FALSE(file.layers[0].formals[2].type.residency);
  EXPECT_EQ(file.models.size(), 1u);
}

TEST(Parser, TypesOfSeveralNames) {
  std::vector<Diagnostic> diagnostics;
  ast::File file = parse("layer L() {\n  param W[a], K, Q: node[b], s\n  0\n}", diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(file.layers.at(0).body.size(), 5u);
  auto type = [&](size_t i) { return std::get<ast::ValueDecl>(file.layers[0].body[i].node).type; };
  EXPECT_FALSE(type(0)->residency);
  EXPECT_EQ(type(1), type(2));
  EXPECT_EQ(type(1)->residency->text, "node");
  EXPECT_TRUE(type(3)->axes.empty());
}

TEST(Parser, RecoversAtStatements) {
  std::vector<Diagnostic> diagnostics;
  ast::File file = parse("layer A(x: node[in]) {\n  let a = (x +\n  let b = x *\n  let c = x ] \n  b\n}\n"
                         "layer B( {\n}\nmodel M {\n  output y = 1\n}\n",
                         diagnostics);
  EXPECT_EQ(diagnostics.size(), 4u) << render(diagnostics);
  EXPECT_EQ(file.layers.size(), 2u);
  EXPECT_EQ(file.models.size(), 1u);
}

TEST(Parser, NestingIsBounded) {
  for (const char *open : {"(", "-", "f(", "not ", "(a, ", "x[i: "}) {
    std::string text = "layer L() { ";
    for (int i = 0; i < 100000; ++i)
      text += open;
    std::vector<Diagnostic> diagnostics;
    parse(text, diagnostics);
    ASSERT_FALSE(diagnostics.empty());
    EXPECT_NE(diagnostics[0].message.find("nested more than 200 levels deep"), std::string::npos)
        << diagnostics[0].message;
  }
  for (const char *link : {".a", " ^ a"}) {
    std::string text = "layer L() { a";
    for (int i = 0; i < 100000; ++i)
      text += link;
    std::vector<Diagnostic> diagnostics;
    parse(text + "}", diagnostics);
    ASSERT_EQ(diagnostics.size(), 1u);
  }
  // A long sum is not deep.
  for (const char *link : {" + a", " @ a", " and a", " * a - b"}) {
    std::string text = "layer L() { a";
    for (int i = 0; i < 100000; ++i)
      text += link;
    std::vector<Diagnostic> diagnostics;
    parse(text + "}", diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << render(diagnostics.at(0));
  }
  std::string text = "model M { ";
  for (int i = 0; i < 100000; ++i)
    text += "repeat 1 {";
  std::vector<Diagnostic> diagnostics;
  parse(text, diagnostics);
  EXPECT_FALSE(diagnostics.empty());
}
