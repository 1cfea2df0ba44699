//===- ParseExpr.cpp - Expressions ----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Precedence from low to high: ?: · or · and · not · comparisons · + - · * / % · @ · unary - · ^ · postfix.
//
//===----------------------------------------------------------------------===//

#include "Syntax/Parser.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace gnnc::frontend;
using namespace gnnc::frontend::ast;
using llvm::StringRef;

ExprPtr Parser::make(Expr::Kind kind, Loc loc, StringRef name) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->loc = loc;
  expr->name = name.str();
  return expr;
}

bool Parser::tooDeep() {
  diagnostics.error(peek().loc, "this is nested more than " + llvm::Twine(maxNesting) + " levels deep");
  return false;
}

ExprPtr Parser::adopt(ExprPtr parent, ExprPtr child) {
  if (!parent || !child)
    return nullptr;
  if (child->depth >= maxNesting) {
    tooDeep();
    return nullptr;
  }
  parent->depth = std::max(parent->depth, child->depth + 1);
  parent->operands.push_back(std::move(child));
  return parent;
}

ExprPtr Parser::parseExpr() {
  Nest nest(depth);
  if (depth > maxNesting) {
    tooDeep();
    return nullptr;
  }
  ExprPtr condition = parseBinary(0);
  if (!condition || !peek().isSymbol("?"))
    return condition;
  ExprPtr choice = make(Expr::Kind::Choice, take().loc);
  choice = adopt(std::move(choice), std::move(condition));
  ExprPtr yes = parseExpr();
  if (!yes || !expect(":"))
    return nullptr;
  choice = adopt(std::move(choice), std::move(yes));
  return adopt(std::move(choice), parseExpr());
}

/// How tightly a token binds as a binary operator; 0 where it is none.
static unsigned precedenceOf(const Token &token) {
  if (token.kind == Token::Kind::Keyword)
    return token.text == "or" ? 1 : token.text == "and" ? 2 : 0;
  if (token.kind != Token::Kind::Symbol)
    return 0;
  return llvm::StringSwitch<unsigned>(token.text)
      .Cases({"==", "!=", "<", "<=", ">", ">="}, 3)
      .Cases({"+", "-"}, 4)
      .Cases({"*", "/", "%"}, 5)
      .Case("@", 6)
      .Default(0);
}

ExprPtr Parser::parseBinary(unsigned precedence) {
  // `not` binds looser than comparisons, tighter than `and`.
  if (peek().isKeyword("not") && precedence <= 3) {
    Nest nest(depth);
    if (depth > maxNesting) {
      tooDeep();
      return nullptr;
    }
    ExprPtr negation = make(Expr::Kind::Unary, take().loc, "not");
    ExprPtr left = adopt(std::move(negation), parseBinary(3));
    return left && precedence <= 2 ? parseBinaryRest(std::move(left), precedence) : std::move(left);
  }
  ExprPtr left = parseUnary();
  return left ? parseBinaryRest(std::move(left), precedence) : nullptr;
}

/// Operators of one precedence that follow each other make one flat node: sums of thousands are not deep.
ExprPtr Parser::parseBinaryRest(ExprPtr left, unsigned precedence) {
  unsigned chained = 0; // the precedence of the operators of `left`, if it is such a node of this loop
  while (left) {
    unsigned binds = precedenceOf(peek());
    if (binds == 0 || binds < precedence)
      return left;
    const Token &op = take();
    checkMinus(op);
    if (binds != chained)
      left = adopt(make(Expr::Kind::Binary, op.loc, op.text), std::move(left));
    chained = binds;
    if (left)
      left->operators.push_back({op.text.str(), op.loc});
    left = adopt(std::move(left), parseBinary(binds + 1));
    if (left && binds == 3 && precedenceOf(peek()) == 3) {
      diagnostics.error(peek().loc, "comparisons do not chain: join them with 'and'");
      return nullptr;
    }
  }
  return left;
}

/// A minus at the start of a line is an operator. One that looks like a sign was hardly meant to be.
void Parser::checkMinus(const Token &op) {
  if (!op.isSymbol("-") || !op.startsLine)
    return;
  joinedMinus = op.loc;
  const Token &next = peek();
  if (next.loc.line == op.loc.line && next.loc.column == op.loc.column + 1)
    diagnostics.warning(op.loc, "this '-' is subtracted from the statement before it; to start a statement, end that "
                                "one with ';' or write '(-...)'; to subtract, write '- ' with a space");
}

ExprPtr Parser::parseUnary() {
  if (!peek().isSymbol("-"))
    return parsePower();
  Nest nest(depth);
  if (depth > maxNesting) {
    tooDeep();
    return nullptr;
  }
  ExprPtr negation = make(Expr::Kind::Unary, take().loc, "-");
  return adopt(std::move(negation), parseUnary());
}

ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (!base || !peek().isSymbol("^"))
    return base;
  Nest nest(depth);
  if (depth > maxNesting) {
    tooDeep();
    return nullptr;
  }
  const Token &op = take();
  ExprPtr power = adopt(make(Expr::Kind::Binary, op.loc, op.text), std::move(base));
  if (power)
    power->operators.push_back({op.text.str(), op.loc});
  return adopt(std::move(power), parseUnary());
}

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parsePrimary();
  while (expr) {
    if (consume(".")) {
      Name name;
      if (!parseName(name, "a map or space"))
        return nullptr;
      expr = adopt(make(Expr::Kind::Member, name.loc, name.text), std::move(expr));
    } else if (peek().isSymbol("[")) {
      expr = parseSlice(std::move(expr));
    } else {
      return expr;
    }
  }
  return nullptr;
}

/// x[axis: begin..end] or x[axis: index]
ExprPtr Parser::parseSlice(ExprPtr base) {
  Loc loc = take().loc;
  Name axis;
  if (!parseName(axis, "the axis to slice") || !expect(":"))
    return nullptr;
  ExprPtr slice = adopt(make(Expr::Kind::Slice, loc, axis.text), std::move(base));
  slice = adopt(std::move(slice), parseExpr());
  if (slice && !peek().isSymbol("..") && !peek().isSymbol("]")) {
    fail("'..' and the end of the slice, or ']' after an index");
    return nullptr;
  }
  if (slice && consume(".."))
    slice = adopt(std::move(slice), parseExpr());
  return slice && expect("]") ? std::move(slice) : nullptr;
}

ExprPtr Parser::parsePrimary() {
  const Token &token = peek();
  switch (token.kind) {
  case Token::Kind::Integer:
  case Token::Kind::Float:
    return parseNumber();
  case Token::Kind::Name:
    if (peek(1).isSymbol("("))
      return parseCall();
    take();
    return make(Expr::Kind::Name, token.loc, token.text);
  case Token::Kind::Keyword:
    if (token.text == "true" || token.text == "false") {
      ExprPtr expr = make(Expr::Kind::Bool, take().loc);
      expr->integer = token.text == "true";
      return expr;
    }
    break;
  case Token::Kind::Symbol:
    if (token.text != "(")
      break;
    take();
    if (ExprPtr first = parseExpr()) {
      if (!peek().isSymbol(","))
        return expect(")") ? std::move(first) : nullptr;
      ExprPtr tuple = adopt(make(Expr::Kind::Tuple, token.loc), std::move(first));
      while (tuple && consume(",") && !peek().isSymbol(")"))
        tuple = adopt(std::move(tuple), parseExpr());
      return tuple && expect(")") ? std::move(tuple) : nullptr;
    }
    return nullptr;
  default:
    break;
  }
  fail("an expression");
  return nullptr;
}

ExprPtr Parser::parseNumber() {
  const Token &token = take();
  ExprPtr expr = make(token.kind == Token::Kind::Integer ? Expr::Kind::Integer : Expr::Kind::Float, token.loc);
  if (token.kind == Token::Kind::Integer) {
    if (token.text.getAsInteger(10, expr->integer)) {
      diagnostics.error(token.loc, "integer " + token.text + " does not fit in 64 bits");
      return nullptr;
    }
    return expr;
  }
  if (token.text.getAsDouble(expr->number) || !std::isfinite(expr->number)) {
    diagnostics.error(token.loc, "number " + token.text + " does not fit in double precision");
    return nullptr;
  }
  return expr;
}

/// NAME(arguments) [on RELATION]... [as NAME | as STRING]
ExprPtr Parser::parseCall() {
  const Token &name = take();
  ExprPtr call = make(Expr::Kind::Call, name.loc, name.text);
  if (!parseArguments(call->arguments))
    return nullptr;
  for (const Argument &argument : call->arguments) {
    if (argument.value->depth >= maxNesting) {
      tooDeep();
      return nullptr;
    }
    call->depth = std::max(call->depth, argument.value->depth + 1);
  }
  while (consumeKeyword("on"))
    if (Name relation; parseName(relation, "a relation"))
      call->on.push_back(relation);
    else
      return nullptr;
  if (consumeKeyword("as")) {
    Name instance;
    if (peek().kind == Token::Kind::String) { // a name from elsewhere, such as "convs.0"
      instance.loc = peek().loc;
      instance.text = take().text.str();
    } else if (!parseName(instance, "this instance")) {
      return nullptr;
    }
    call->as = instance;
  }
  return call;
}

bool Parser::parseArguments(std::vector<Argument> &arguments) {
  if (!expect("("))
    return false;
  while (!peek().isSymbol(")")) {
    Argument argument;
    const Token &token = peek();
    bool wordy = token.kind == Token::Kind::Name || token.kind == Token::Kind::Keyword;
    if (wordy && peek(1).isSymbol(":")) {
      argument.name = Name{token.text.str(), token.loc};
      take();
      take();
    }
    argument.value = parseExpr();
    if (!argument.value)
      return false;
    arguments.push_back(std::move(argument));
    if (!consume(","))
      break;
  }
  return expect(")");
}
