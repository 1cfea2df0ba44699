//===- ParseStatement.cpp - Statements ------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Syntax/Parser.h"

using namespace gnnc::frontend;
using namespace gnnc::frontend::ast;

bool Parser::parseBlock(std::vector<Statement> &body, Where where) {
  Nest nest(depth);
  if (depth > maxNesting)
    return tooDeep();
  if (!expect("{"))
    return false;
  for (skipNewlines(); !peek().isSymbol("}") && peek().kind != Token::Kind::End; skipNewlines()) {
    if (diagnostics.full())
      return false;
    // A declaration here means that a closing brace was forgotten.
    if (peek().isKeyword("layer") || peek().isKeyword("model") || peek().isKeyword("import"))
      break;
    if (!parseStatement(body, where) || !endStatement())
      recoverStatement();
  }
  return expect("}");
}

bool Parser::parseStatement(std::vector<Statement> &body, Where where) {
  const Token &token = peek();
  if (std::optional<bool> parsed = parseWordStatement(body, where))
    return *parsed;
  if (token.kind != Token::Kind::Keyword || token.text == "true" || token.text == "false" || token.text == "not") {
    ExprPtr value = parseExpr();
    if (!value)
      return false;
    if (where != Where::Layer) {
      diagnostics.error(value->loc, where == Where::Model
                                        ? "expected a statement such as 'let name = ...' or 'output name = ...', found "
                                          "an expression whose value is not used"
                                        : "expected a statement such as 'let name = ...', found an expression whose "
                                          "value is not used");
      return false; // what follows on the line belongs to the same mistake
    }
    body.push_back({std::move(value)});
    return true;
  }
  if (token.text == "let") {
    take();
    LetStmt let;
    if (!parseName(let.name, "a value"))
      return false;
    // The name is known even where its value is not understood.
    joinedMinus.reset();
    bool ok = expect("=") && (let.value = parseExpr());
    let.minus = joinedMinus;
    body.push_back({std::move(let)});
    return ok;
  }
  if (token.text == "param")
    return parseValues(body, ValueDecl::Kind::Param);
  if (token.text == "state")
    return parseValues(body, ValueDecl::Kind::State);
  if (token.text == "space") {
    SpaceDecl decl;
    bool ok = parseSpace(decl);
    if (ok)
      body.push_back({std::move(decl)});
    return ok;
  }
  if (token.text == "map") {
    MapDecl decl;
    bool ok = parseMap(decl);
    if (ok)
      body.push_back({std::move(decl)});
    return ok;
  }
  if (token.text == "repeat") {
    RepeatStmt repeat;
    repeat.loc = take().loc;
    if (!(repeat.count = parseExpr()))
      return false;
    bool ok = parseBlock(repeat.body, Where::Repeat);
    body.push_back({std::move(repeat)});
    return ok;
  }
  if (token.text == "input" || token.text == "output") {
    if (!inModel(token, where))
      return false;
    if (token.text == "input")
      return parseValues(body, ValueDecl::Kind::Input);
    take();
    return parseOutput(body, OutputStmt::Kind::Output);
  }
  return fail("a statement");
}

bool Parser::inModel(const Token &token, Where where) {
  if (where == Where::Model)
    return true;
  diagnostics.error(token.loc, "'" + token.text + "' is allowed only in a model, outside 'repeat'");
  return false;
}

/// Statements that start with a word which is a name elsewhere. What follows tells: no expression has two names in a
/// row, and no statement is an expression followed by `=`.
std::optional<bool> Parser::parseWordStatement(std::vector<Statement> &body, Where where) {
  const Token &token = peek();
  if (token.kind != Token::Kind::Name)
    return std::nullopt;
  bool named = peek(1).kind == Token::Kind::Name;
  if (token.text == "update" && named) {
    take();
    UpdateStmt update;
    if (!parseName(update.name, "a state") || !expect("=") || !(update.value = parseExpr()))
      return false;
    body.push_back({std::move(update)});
    return true;
  }
  if (token.text == "instance" && named) {
    take();
    InstanceStmt instance;
    bool ok = parseName(instance.name, "an instance") && expect("=") && (instance.call = parseExpr());
    if (ok && instance.call->kind != Expr::Kind::Call) {
      diagnostics.error(instance.call->loc, "an instance is declared as 'instance name = LAYER(arguments)'");
      instance.call = nullptr;
    }
    body.push_back({std::move(instance)});
    return ok;
  }
  bool loss = token.text == "loss" && peek(1).isSymbol("=");
  bool metric = token.text == "metric" && named, train = token.text == "train" && named;
  if (!loss && !metric && !train)
    return std::nullopt;
  if (!inModel(token, where))
    return false;
  if (loss)
    return parseOutput(body, OutputStmt::Kind::Loss);
  take();
  return train ? parseTrain(body) : parseOutput(body, OutputStmt::Kind::Metric);
}

/// NAME = value
bool Parser::parseOutput(std::vector<Statement> &body, OutputStmt::Kind kind) {
  OutputStmt output;
  output.kind = kind;
  if (!parseName(output.name, "an output") || !expect("=") || !(output.value = parseExpr()))
    return false;
  body.push_back({std::move(output)});
  return true;
}

/// OPTIMISER(arguments) [for PATH, PATH...]
bool Parser::parseTrain(std::vector<Statement> &body) {
  TrainStmt train;
  train.loc = peek().loc;
  if (!peek(1).isSymbol("("))
    return take(), fail("'(' after the name of an optimiser");
  if (!(train.optimiser = parseCall()))
    return false;
  if (consumeWord("for"))
    do
      if (!parsePath(train.patterns.emplace_back()))
        return false;
    while (consume(","));
  body.push_back({std::move(train)});
  return true;
}

/// param A, B: TYPE [= initial], C[axes] [= initial], D · input x: TYPE [sparse] [= constant]
///
/// A type after `:`, with the initial value after it, belongs to the names right before it that have no axes of their
/// own.
bool Parser::parseValues(std::vector<Statement> &body, ValueDecl::Kind kind) {
  take();
  std::vector<ValueDecl> decls;
  size_t untyped = 0; // the first name that waits for a type
  do {
    ValueDecl &decl = decls.emplace_back();
    decl.kind = kind;
    if (!parseName(decl.name, "a value"))
      return false;
    auto type = std::make_shared<Type>();
    type->loc = decl.name.loc;
    if (peek().isSymbol("[")) {
      if (!parseAxes(type->axes))
        return false;
      decl.type = type;
      untyped = decls.size();
      if (kind != ValueDecl::Kind::Input && consume("=") && !(decl.defaultValue = parseExpr()))
        return false;
    } else if (consume(":")) {
      if (!parseType(*type))
        return false;
      std::shared_ptr<Expr> initial;
      if (kind != ValueDecl::Kind::Input && consume("=") && !(initial = parseExpr()))
        return false;
      for (; untyped < decls.size(); ++untyped) {
        decls[untyped].type = type;
        decls[untyped].defaultValue = initial;
      }
      if (kind == ValueDecl::Kind::Input) {
        ValueDecl &last = decls.back();
        last.sparse = consumeWord("sparse");
        if (!last.sparse && consumeWord("from") && !parseSource(last.source))
          return false;
        if (consume("=") && !(last.defaultValue = parseExpr()))
          return false;
      }
    } else if (kind != ValueDecl::Kind::Input && consume("=")) { // a shared number
      if (!(decl.defaultValue = parseExpr()))
        return false;
      decl.type = type;
      untyped = decls.size();
    }
    // The last name before it.
    if (kind != ValueDecl::Kind::Input && consumeKeyword("as")) {
      const Token &alias = peek();
      if (alias.kind != Token::Kind::String)
        return fail("a name in quotes");
      decls.back().alias = Name{take().text.str(), alias.loc};
    }
  } while (consume(","));
  for (ValueDecl &decl : decls) {
    if (!decl.type) { // a shared scalar
      decl.type = std::make_shared<Type>();
      decl.type->loc = decl.name.loc;
    }
    body.push_back({std::move(decl)});
  }
  return true;
}
