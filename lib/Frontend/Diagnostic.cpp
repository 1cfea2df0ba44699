//===- Diagnostic.cpp - Collecting and rendering messages -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/Diagnostic.h"
#include "Sources.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>

using namespace gnnc::frontend;

/// The `number`-th line of a text, counted from 1.
static std::string lineOf(llvm::StringRef text, unsigned number) {
  for (unsigned current = 1; current < number; ++current) {
    size_t newline = text.find('\n');
    if (newline == llvm::StringRef::npos)
      return "";
    text = text.drop_front(newline + 1);
  }
  return text.take_until([](char c) { return c == '\n' || c == '\r'; }).str();
}

//===----------------------------------------------------------------------===//
// Sources and DiagnosticEngine
//===----------------------------------------------------------------------===//

std::vector<std::string> Sources::paths() const {
  std::vector<std::string> result;
  for (const Source &source : sources)
    result.push_back(source.path);
  return result;
}

std::string Sources::line(Loc loc) const {
  return loc.line == 0 || loc.file >= sources.size() ? "" : lineOf(sources[loc.file].text, loc.line);
}

Diagnostic DiagnosticEngine::make(Severity severity, Loc loc, const llvm::Twine &message) const {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.loc = loc;
  if (loc.file < sources.size())
    diagnostic.file = sources[loc.file].path;
  diagnostic.sourceLine = sources.line(loc);
  diagnostic.message = message.str();
  return diagnostic;
}

void DiagnosticEngine::add(Diagnostic diagnostic) {
  added = false;
  // The same mistake in a layer that is called twice is one mistake, with whatever sizes.
  for (const Diagnostic &earlier : out)
    if (earlier.severity == diagnostic.severity && (!calls.empty() || earlier.message == diagnostic.message) &&
        earlier.file == diagnostic.file && earlier.loc.line == diagnostic.loc.line &&
        earlier.loc.column == diagnostic.loc.column)
      return;
  // A long chain of calls is told by its innermost ones.
  size_t shown = 0;
  for (auto call = calls.rbegin(); call != calls.rend() && shown < 5; ++call, ++shown)
    if (call->loc.line != 0)
      diagnostic.notes.push_back(make(Severity::Note, call->loc, "in this call of layer '" + call->layer + "'"));
  out.push_back(std::move(diagnostic));
  added = true;
}

void DiagnosticEngine::error(Loc loc, const llvm::Twine &message) {
  ++errors;
  if (errors <= maxErrors)
    add(make(Severity::Error, loc, message));
  else
    added = false;
}

void DiagnosticEngine::warning(Loc loc, const llvm::Twine &message) { add(make(Severity::Warning, loc, message)); }

void DiagnosticEngine::note(Loc loc, const llvm::Twine &message) {
  if (added)
    out.back().notes.push_back(make(Severity::Note, loc, message));
}

//===----------------------------------------------------------------------===//
// Rendering
//===----------------------------------------------------------------------===//

/// A terminal gets no control characters, nor bytes that are no text.
static std::string printable(std::string line) {
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(line.data());
  bool isText = llvm::isLegalUTF8String(&begin, begin + line.size());
  for (char &byte : line)
    if ((byte >= 0 && byte < ' ' && byte != '\t') || byte == '\x7f' || (byte < 0 && !isText))
      byte = '?';
  return line;
}

static bool continuesCharacter(char byte) { return (byte & 0xC0) == 0x80; }

/// The line with a caret under the column, which counts bytes from 1. Of a long line what is around it.
static void renderLine(std::string line, size_t column, size_t length, std::string &out) {
  constexpr size_t kLongest = 200, kAround = 80;
  line = printable(std::move(line));
  column = std::min(column, line.size() + 1);
  if (line.size() > kLongest) {
    size_t begin = column > kAround ? column - kAround : 0, end = std::min(line.size(), column + kAround);
    while (begin > 0 && continuesCharacter(line[begin]))
      --begin;
    while (end < line.size() && continuesCharacter(line[end]))
      ++end;
    std::string before = begin > 0 ? "..." : "";
    line = before + line.substr(begin, end - begin) + (end < line.size() ? "..." : "");
    column = column - begin + before.size();
  }
  out += line + "\n";
  // Tabs stay tabs, so that the caret lines up whatever their width.
  for (size_t i = 0; i + 1 < column; ++i)
    if (!continuesCharacter(line[i]))
      out += line[i] == '\t' ? '\t' : ' ';
  out += '^';
  for (size_t i = column; i < std::min(line.size(), column + std::max<size_t>(length, 1) - 1); ++i)
    if (!continuesCharacter(line[i]))
      out += '~';
  out += '\n';
}

static void renderOne(const Diagnostic &diagnostic, const SourceLookup &lookup, std::string &out) {
  const char *severity = diagnostic.severity == Severity::Error     ? "error"
                         : diagnostic.severity == Severity::Warning ? "warning"
                                                                    : "note";
  if (!diagnostic.file.empty()) {
    out += diagnostic.file + ":";
    if (diagnostic.loc.line != 0)
      out += std::to_string(diagnostic.loc.line) + ":" + std::to_string(diagnostic.loc.column) + ":";
    out += " ";
  }
  out += std::string(severity) + ": " + diagnostic.message + "\n";

  std::string line = diagnostic.sourceLine;
  if (lookup && diagnostic.loc.line != 0)
    if (std::optional<std::string> text = lookup(diagnostic.file))
      line = lineOf(*text, diagnostic.loc.line);
  if (diagnostic.loc.line != 0 && !line.empty())
    renderLine(std::move(line), std::max(1u, diagnostic.loc.column), diagnostic.loc.length, out);
  for (const Diagnostic &note : diagnostic.notes)
    renderOne(note, lookup, out);
}

std::string gnnc::frontend::render(const Diagnostic &diagnostic, const SourceLookup &lookup) {
  std::string result;
  renderOne(diagnostic, lookup, result);
  return result;
}

std::string gnnc::frontend::render(const std::vector<Diagnostic> &diagnostics, const SourceLookup &lookup) {
  std::string result;
  for (const Diagnostic &diagnostic : diagnostics)
    renderOne(diagnostic, lookup, result);
  return result;
}

bool gnnc::frontend::hasErrors(const std::vector<Diagnostic> &diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic &diagnostic) { return diagnostic.severity == Severity::Error; });
}
