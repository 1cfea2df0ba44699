//===- Parser.h - From tokens to syntax -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive descent; docs/Language.md has the grammar. A mistake ends the statement it is in, and parsing goes on with
// the next one. Nesting is bounded, so that no text overflows the stack.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SYNTAX_PARSER_H
#define GNNC_LIB_FRONTEND_SYNTAX_PARSER_H

#include "Syntax/AST.h"
#include "Syntax/Lexer.h"

namespace gnnc::frontend {

/// How deep expressions and blocks may nest.
constexpr unsigned maxNesting = 200;

class Parser {
public:
  Parser(const Sources &sources, unsigned file, DiagnosticEngine &diagnostics)
      : tokens(lex(sources, file, diagnostics)), diagnostics(diagnostics) {}

  ast::File parseFile();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }
  const Token &take();
  bool consume(llvm::StringRef symbol);
  bool consumeKeyword(llvm::StringRef word);
  /// A name that has a meaning in this place only, such as `static`.
  bool consumeWord(llvm::StringRef word);
  bool expect(llvm::StringRef symbol);
  bool fail(llvm::StringRef expected);
  void skipNewlines();
  bool endStatement();
  void recoverStatement();
  void recoverDeclaration();

  // Declarations.
  void parseDeclaration(ast::File &file);
  bool parseImport(ast::File &file);
  bool parseSpace(ast::SpaceDecl &decl);
  bool parseSelection(ast::SpaceDecl &decl, ast::SpaceDecl::Kind kind);
  bool parseFilter(ast::SpaceDecl &decl);
  bool parseMap(ast::MapDecl &decl);
  bool parseRelation(ast::RelationDecl &decl);
  bool parseRelationResult(ast::RelationDecl &decl);
  bool parseLayer(ast::LayerDecl &decl);
  bool parseModel(ast::ModelDecl &decl);
  bool parseFormals(std::vector<ast::Formal> &formals);
  bool parseFormal(ast::Formal &formal);
  bool parseType(ast::Type &type);
  bool parseSource(std::string &text);
  bool parseAxes(std::vector<ast::AxisType> &axes);
  bool parseName(ast::Name &name, llvm::StringRef what);
  bool parseNames(std::vector<ast::Name> &names, llvm::StringRef what);
  bool parsePath(ast::Path &path);

  // Statements.
  enum class Where { Layer, Model, Repeat };
  bool parseBlock(std::vector<ast::Statement> &body, Where where);
  bool parseStatement(std::vector<ast::Statement> &body, Where where);
  bool parseValues(std::vector<ast::Statement> &body, ast::ValueDecl::Kind kind);
  std::optional<bool> parseWordStatement(std::vector<ast::Statement> &body, Where where);
  bool parseOutput(std::vector<ast::Statement> &body, ast::OutputStmt::Kind kind);
  bool parseTrain(std::vector<ast::Statement> &body);
  bool inModel(const Token &token, Where where);

  // Expressions; null after an error.
  ast::ExprPtr parseExpr();
  ast::ExprPtr parseBinary(unsigned precedence);
  ast::ExprPtr parseBinaryRest(ast::ExprPtr left, unsigned precedence);
  void checkMinus(const Token &op);
  ast::ExprPtr parseUnary();
  ast::ExprPtr parsePower();
  ast::ExprPtr parsePostfix();
  ast::ExprPtr parsePrimary();
  ast::ExprPtr parseNumber();
  ast::ExprPtr parseCall();
  bool parseArguments(std::vector<ast::Argument> &arguments);
  ast::ExprPtr parseSlice(ast::ExprPtr base);
  ast::ExprPtr make(ast::Expr::Kind kind, Loc loc, llvm::StringRef name = "");
  /// Appends an operand and keeps count of the depth; null where the tree gets too deep.
  ast::ExprPtr adopt(ast::ExprPtr parent, ast::ExprPtr child);

  /// Counts the nesting of what is being parsed.
  struct Nest {
    explicit Nest(unsigned &depth) : depth(++depth) {}
    ~Nest() { --depth; }
    unsigned &depth;
  };
  bool tooDeep();

  std::vector<Token> tokens;
  size_t position = 0;
  unsigned depth = 0;
  std::optional<Loc> joinedMinus; ///< the latest that starts a line and is an operator all the same
  DiagnosticEngine &diagnostics;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SYNTAX_PARSER_H
