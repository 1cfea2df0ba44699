//===- Lines.cpp - Places in a text, for editors --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lines.h"

#include <algorithm>

using namespace gnnc;
using namespace gnnc::lsp;
using llvm::StringRef;
using llvm::lsp::Position;
using llvm::lsp::Range;

/// UTF-16 units of the character that a byte of UTF-8 begins; 0 for the bytes that continue one.
static int utf16Units(char byte) {
  unsigned char value = byte;
  return (value & 0xC0) == 0x80 ? 0 : value >= 0xF0 ? 2 : 1;
}

Lines::Lines(std::string text) : contents(std::move(text)) {
  starts.push_back(0);
  for (size_t i = 0; i < contents.size(); ++i)
    if (contents[i] == '\n')
      starts.push_back(i + 1);
}

StringRef Lines::line(size_t number) const {
  if (number >= starts.size())
    return "";
  size_t end = number + 1 < starts.size() ? starts[number + 1] - 1 : contents.size();
  return StringRef(contents).slice(starts[number], end);
}

Position Lines::position(unsigned lineNumber, unsigned column) const {
  if (lineNumber == 0)
    return Position(0, 0);
  StringRef before = line(lineNumber - 1).take_front(column - 1);
  int units = 0;
  for (char byte : before)
    units += utf16Units(byte);
  return Position(int(lineNumber) - 1, units);
}

Range Lines::range(const frontend::Loc &loc) const {
  if (loc.line == 0)
    return Range(Position(0, 0));
  unsigned column = std::max(loc.column, 1u);
  return Range(position(loc.line, column), position(loc.line, column + loc.length));
}

frontend::Loc Lines::loc(Position position) const {
  frontend::Loc result;
  result.line = unsigned(std::max(position.line, 0)) + 1;
  int units = 0;
  unsigned bytes = 0;
  for (char byte : line(result.line - 1)) {
    // The bytes that continue a character belong to it, so the last unit counts only with them.
    if (units >= position.character && utf16Units(byte) != 0)
      break;
    units += utf16Units(byte);
    ++bytes;
  }
  result.column = bytes + 1;
  return result;
}
