//===- LexerTest.cpp - Tokens and where statements end --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Syntax/Lexer.h"

#include <gtest/gtest.h>

using namespace gnnc::frontend;

/// Tokens with a space between; `;` for the end of a statement.
static std::string tokens(const std::string &text, std::vector<Diagnostic> *out = nullptr) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  DiagnosticEngine engine(sources, diagnostics);
  unsigned file = sources.add("t.gnn", text);
  std::string result;
  for (const Token &token : lex(sources, file, engine)) {
    if (token.kind == Token::Kind::End)
      break;
    result += (result.empty() ? "" : " ") + (token.kind == Token::Kind::Newline ? ";" : token.text.str());
  }
  if (out)
    *out = diagnostics;
  else
    EXPECT_TRUE(diagnostics.empty());
  return result;
}

TEST(Lexer, Tokens) {
  EXPECT_EQ(tokens("let a_1=b.src@W->x==y!=z"), "let a_1 = b . src @ W -> x == y != z");
  EXPECT_EQ(tokens("x[in: 0..16]"), "x [ in : 0 .. 16 ]");
  EXPECT_EQ(tokens("1 2.5 1e-3 .5 3.src"), "1 2.5 1e-3 .5 3 . src");
  EXPECT_EQ(tokens("import \"a b.gnn\""), "import a b.gnn");
}

TEST(Lexer, QuotedNamesMayBeKeywords) {
  EXPECT_EQ(tokens("input `input` `a_1`"), "input input a_1");
  for (const char *text : {"``", "`1`", "`a", "`a b`"}) {
    std::vector<Diagnostic> diagnostics;
    tokens(text, &diagnostics);
    ASSERT_FALSE(diagnostics.empty()) << text;
    EXPECT_EQ(diagnostics[0].message, "expected a name and '`' after '`'") << text;
  }
}

TEST(Lexer, Comments) {
  EXPECT_EQ(tokens("a // b\nc /* d\n e */ f"), "a ; c ; f");
  EXPECT_EQ(tokens("\xEF\xBB\xBFlet"), "let");
}

TEST(Lexer, NewlinesEndStatements) {
  EXPECT_EQ(tokens("a\n\nb;c"), "a ; b ; c");
  EXPECT_EQ(tokens("f(a,\n b)\n[c\n]\nd"), "f ( a , b ) ; [ c ] ; d");
  EXPECT_EQ(tokens("a +\n b"), "a + b");
  EXPECT_EQ(tokens("a\n  + b\n  .src\nlet c"), "a + b . src ; let c");
  EXPECT_EQ(tokens("a and\n b\n or c"), "a and b or c");
  EXPECT_EQ(tokens("layer A()\n  -> node\n{\n}"), "layer A ( ) -> node { }");
}

TEST(Lexer, AKeywordClosesBrackets) { EXPECT_EQ(tokens("let a = f(b\nlet c = d"), "let a = f ( b ; let c = d"); }

TEST(Lexer, Places) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  DiagnosticEngine engine(sources, diagnostics);
  auto all = lex(sources, sources.add("t.gnn", "a\n  bcd"), engine);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2].loc.line, 2u);
  EXPECT_EQ(all[2].loc.column, 3u);
  EXPECT_EQ(all[2].loc.length, 3u);
}

TEST(Lexer, BadBytes) {
  std::vector<Diagnostic> diagnostics;
  EXPECT_EQ(tokens("a $ b \xff\xfe c", &diagnostics), "a b c");
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].message, "unexpected character '$'");
  EXPECT_EQ(diagnostics[1].message, "unexpected byte 0xFF");
  tokens("/* a", &diagnostics);
  ASSERT_EQ(diagnostics.size(), 1u);
  tokens("\"a", &diagnostics);
  ASSERT_EQ(diagnostics.size(), 1u);
}
