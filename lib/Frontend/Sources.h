//===- Sources.h - Source texts and their diagnostics -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The texts of one compilation, numbered as Loc::file numbers them, and the collector of what is said about them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SOURCES_H
#define GNNC_LIB_FRONTEND_SOURCES_H

#include "gnnc/Frontend/Diagnostic.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <deque>
#include <string>
#include <vector>

namespace gnnc::frontend {

/// One text. Tokens point into `text`, so a source never moves.
struct Source {
  std::string path;
  std::string text;
};

class Sources {
public:
  unsigned add(std::string path, std::string text) {
    sources.push_back({std::move(path), std::move(text)});
    return sources.size() - 1;
  }
  const Source &operator[](unsigned file) const { return sources[file]; }
  unsigned size() const { return sources.size(); }
  std::vector<std::string> paths() const;
  /// The line `loc` is on, without its newline; empty where there is none.
  std::string line(Loc loc) const;

private:
  std::deque<Source> sources;
};

/// Collects diagnostics, and adds to each the layer calls it was met in.
class DiagnosticEngine {
public:
  DiagnosticEngine(const Sources &sources, std::vector<Diagnostic> &out) : sources(sources), out(out) {}

  void error(Loc loc, const llvm::Twine &message);
  void warning(Loc loc, const llvm::Twine &message);
  /// Adds a note to the latest diagnostic.
  void note(Loc loc, const llvm::Twine &message);
  unsigned errorCount() const { return errors; }
  /// Nothing more is worth collecting.
  bool full() const { return errors >= maxErrors; }

  /// Calls that are being elaborated, outermost first.
  struct Call {
    Loc loc;
    std::string layer;
  };
  std::vector<Call> calls;

private:
  static constexpr unsigned maxErrors = 100;
  Diagnostic make(Severity severity, Loc loc, const llvm::Twine &message) const;
  void add(Diagnostic diagnostic);

  const Sources &sources;
  std::vector<Diagnostic> &out;
  unsigned errors = 0;
  bool added = false; ///< whether the latest diagnostic was new, and takes notes
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SOURCES_H
