//===- Lexer.h - Tokens of the gnnc language --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a text into tokens. Newlines end statements, so they are tokens too, but only where a statement can end: not
// inside ( ) or [ ], not after a binary operator, and not before one that starts the next line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SYNTAX_LEXER_H
#define GNNC_LIB_FRONTEND_SYNTAX_LEXER_H

#include "Sources.h"

#include <vector>

namespace gnnc::frontend {

struct Token {
  enum class Kind { End, Newline, Name, Keyword, Integer, Float, String, Symbol };
  Kind kind = Kind::End;
  llvm::StringRef text; ///< as written; a string without its quotes
  Loc loc;
  bool startsLine = false; ///< the first on its line, outside of brackets
  bool isClosed = true;    ///< whether a string has its end; that it has none is reported when it is read

  bool isSymbol(llvm::StringRef symbol) const { return kind == Kind::Symbol && text == symbol; }
  bool isKeyword(llvm::StringRef word) const { return kind == Kind::Keyword && text == word; }
  /// How an error names this token.
  std::string describe() const;
};

/// The tokens of a source, the last being End. Bytes that start no token are reported and skipped.
std::vector<Token> lex(const Sources &sources, unsigned file, DiagnosticEngine &diagnostics);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SYNTAX_LEXER_H
