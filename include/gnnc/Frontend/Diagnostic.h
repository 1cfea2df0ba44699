//===- Diagnostic.h - Messages about a model text ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A diagnostic is plain data: the library collects them, the tools print them. It carries the path and the source line
// that it refers to, so that it can be rendered when the sources are gone.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_FRONTEND_DIAGNOSTIC_H
#define GNNC_FRONTEND_DIAGNOSTIC_H

#include "gnnc/Frontend/ModelSpec.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::frontend {

enum class Severity { Error, Warning, Note };

/// One message at one place, with notes at others.
struct Diagnostic {
  Severity severity = Severity::Error;
  Loc loc;                ///< line 0: the place in the text is not known
  std::string file;       ///< path of the text, empty where there is none
  std::string sourceLine; ///< the line `loc` is on, without its newline
  std::string message;    ///< one line, lower-case start, no full stop
  std::vector<Diagnostic> notes;
};

/// The text of the file with this path, if it is still available.
using SourceLookup = std::function<std::optional<std::string>(const std::string &path)>;

/// `file:line:col: error: message`, then the source line and a caret line; notes follow in the same form. The line that
/// `lookup` finds takes precedence over the one that the diagnostic carries. Ends with a newline.
std::string render(const Diagnostic &diagnostic, const SourceLookup &lookup = nullptr);

/// All of them, one after the other.
std::string render(const std::vector<Diagnostic> &diagnostics, const SourceLookup &lookup = nullptr);

/// Whether any of them is an error.
bool hasErrors(const std::vector<Diagnostic> &diagnostics);

} // namespace gnnc::frontend

#endif // GNNC_FRONTEND_DIAGNOSTIC_H
