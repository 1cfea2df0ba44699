//===- Lexer.cpp - Tokens of the gnnc language ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Syntax/Lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;

std::string Token::describe() const {
  switch (kind) {
  case Kind::End:
    return "the end of the file";
  case Kind::Newline:
    return "the end of the line";
  case Kind::Keyword:
    return ("keyword '" + text + "'").str();
  case Kind::String:
    return ("\"" + text + "\"").str();
  default:
    return ("'" + text + "'").str();
  }
}

static bool isIn(StringRef word, llvm::ArrayRef<StringRef> words) { return llvm::is_contained(words, word); }

/// Words that cannot name anything.
static bool isKeyword(StringRef word) {
  return isIn(word, {"import", "space", "map", "relation", "layer", "model", "let", "param", "state", "input", "output",
                     "repeat", "on", "as", "and", "or", "not", "true", "false"});
}

/// Words that start a statement or declaration and occur nowhere else. One at the start of a line closes whatever
/// bracket was left open, so that a missing `)` spoils one statement only.
static bool startsStatement(StringRef word) {
  return isIn(word, {"import", "relation", "layer", "model", "let", "param", "state", "input", "output", "repeat"});
}

/// Whether a statement goes on after this token at the end of a line.
static bool continuesAfter(const Token &token) {
  if (token.kind == Token::Kind::Keyword)
    return isIn(token.text, {"and", "or", "not", "on", "as"});
  return token.kind == Token::Kind::Newline ||
         (token.kind == Token::Kind::Symbol && !isIn(token.text, {")", "]", "}"}));
}

/// Whether this token at the start of a line goes on with the statement before it.
static bool continuesBefore(const Token &token) {
  if (token.kind == Token::Kind::Keyword)
    return isIn(token.text, {"and", "or", "on", "as"});
  return token.kind == Token::Kind::Symbol && !isIn(token.text, {"(", "[", "}", ";"});
}

namespace {

class Lexer {
public:
  Lexer(const Sources &sources, unsigned file, DiagnosticEngine &diagnostics)
      : text(sources[file].text), file(file), diagnostics(diagnostics) {}

  std::vector<Token> run() {
    text.consume_front("\xEF\xBB\xBF");
    while (true) {
      skipSpace();
      Token token = next();
      if (token.kind == Token::Kind::Symbol && token.text.empty())
        continue; // a reported byte
      place(token);
      if (token.kind == Token::Kind::End)
        return std::move(tokens);
    }
  }

private:
  Loc here(unsigned length = 1) const { return {file, line, static_cast<unsigned>(position - lineStart) + 1, length}; }
  char peek(size_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : '\0'; }
  bool atEnd() const { return position >= text.size(); }

  void newline() {
    ++line;
    lineStart = position + 1;
    pendingNewline = true;
  }

  void skipSpace() {
    while (!atEnd()) {
      char c = peek();
      if (c == '\n') {
        newline();
        ++position;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++position;
      } else if (c == '/' && peek(1) == '/') {
        while (!atEnd() && peek() != '\n')
          ++position;
      } else if (c == '/' && peek(1) == '*') {
        skipBlockComment();
      } else {
        return;
      }
    }
  }

  void skipBlockComment() {
    Loc start = here(2);
    position += 2;
    while (!atEnd() && !(peek() == '*' && peek(1) == '/')) {
      if (peek() == '\n')
        newline();
      ++position;
    }
    if (atEnd())
      return diagnostics.error(start, "expected '*/' at the end of this comment, found the end of the file");
    position += 2;
  }

  Token take(Token::Kind kind, size_t length) {
    Token token{kind, text.substr(position, length), here(std::max<size_t>(1, length))};
    position += length;
    return token;
  }

  Token next() {
    if (atEnd())
      return {Token::Kind::End, "", here()};
    char c = peek();
    if (llvm::isAlpha(c) || c == '_') {
      size_t length = 1;
      while (llvm::isAlnum(peek(length)) || peek(length) == '_')
        ++length;
      Token token = take(Token::Kind::Name, length);
      if (isKeyword(token.text))
        token.kind = Token::Kind::Keyword;
      return token;
    }
    if (c == '`')
      return quotedName();
    if (llvm::isDigit(c) || (c == '.' && llvm::isDigit(peek(1))))
      return number();
    if (c == '"')
      return string();
    for (StringRef symbol : {"->", "==", "!=", "<=", ">=", ".."})
      if (text.substr(position).starts_with(symbol))
        return take(Token::Kind::Symbol, 2);
    if (StringRef("()[]{},;:=.?+-*/%@^<>|").contains(c))
      return take(Token::Kind::Symbol, 1);
    diagnostics.error(here(), llvm::isPrint(c) ? "unexpected character '" + llvm::Twine(c) + "'"
                                               : "unexpected byte 0x" + llvm::utohexstr((unsigned char)c));
    // One complaint about a run of bytes that are no text.
    ++position;
    while (!llvm::isPrint(c) && !atEnd() && !llvm::isPrint(peek()) && !llvm::isSpace(peek()))
      ++position;
    return {Token::Kind::Symbol, "", here()};
  }

  /// Digits, a fraction and an exponent; `0..4` is the integer 0 and a range.
  Token number() {
    size_t length = 0;
    bool isFloat = false;
    auto digits = [&] {
      while (llvm::isDigit(peek(length)))
        ++length;
    };
    digits();
    if (peek(length) == '.' && llvm::isDigit(peek(length + 1))) {
      isFloat = true;
      ++length;
      digits();
    }
    if (peek(length) == 'e' || peek(length) == 'E') {
      size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-';
      if (llvm::isDigit(peek(length + 1 + sign))) {
        isFloat = true;
        length += 1 + sign;
        digits();
      }
    }
    return take(isFloat ? Token::Kind::Float : Token::Kind::Integer, length);
  }

  /// A name in back quotes may be a keyword.
  Token quotedName() {
    size_t length = 1;
    while (llvm::isAlnum(peek(length)) || peek(length) == '_')
      ++length;
    bool isName = length > 1 && !llvm::isDigit(peek(1)) && peek(length) == '`';
    if (!isName)
      diagnostics.error(here(length), "expected a name and '`' after '`'");
    Token token = take(Token::Kind::Name, length + (peek(length) == '`'));
    token.text = isName ? token.text.substr(1, length - 1) : "_";
    return token;
  }

  Token string() {
    size_t length = 1;
    while (position + length < text.size() && peek(length) != '"' && peek(length) != '\n')
      ++length;
    bool closed = peek(length) == '"';
    if (!closed)
      diagnostics.error(here(length), "expected '\"' at the end of this string");
    Token token = take(Token::Kind::String, length + closed);
    token.text = token.text.substr(1, length - 1);
    token.isClosed = closed;
    return token;
  }

  /// Appends a token, after the newline before it where that ends a statement.
  void place(Token token) {
    bool lineStarts = pendingNewline;
    pendingNewline = false;
    bool closes = lineStarts && token.kind == Token::Kind::Keyword && startsStatement(token.text);
    if (closes || token.isSymbol("{") || token.isSymbol("}"))
      depth = 0;
    token.startsLine = lineStarts && depth == 0;
    bool ends =
        token.startsLine && !tokens.empty() && (closes || !(continuesAfter(tokens.back()) || continuesBefore(token)));
    if (ends && tokens.back().kind != Token::Kind::Newline) {
      Loc end = tokens.back().loc;
      end.column += end.length;
      end.length = 1;
      tokens.push_back({Token::Kind::Newline, "", end});
    }
    if (token.isSymbol(";")) {
      token.kind = Token::Kind::Newline;
      depth = 0;
    }
    if (token.isSymbol("(") || token.isSymbol("["))
      ++depth;
    if ((token.isSymbol(")") || token.isSymbol("]")) && depth > 0)
      --depth;
    tokens.push_back(token);
  }

  StringRef text;
  unsigned file;
  DiagnosticEngine &diagnostics;
  std::vector<Token> tokens;
  size_t position = 0, lineStart = 0;
  unsigned line = 1;
  unsigned depth = 0; ///< open ( and [
  bool pendingNewline = false;
};

} // namespace

std::vector<Token> gnnc::frontend::lex(const Sources &sources, unsigned file, DiagnosticEngine &diagnostics) {
  return Lexer(sources, file, diagnostics).run();
}
