//===- Frontend.h - From a model's text to a ModelSpec ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points of the front end: load a model from a `.gnn` text or its JSON form, and analyse a text for an
// editor. Nothing here prints, exits or throws; messages are collected as diagnostics.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_FRONTEND_FRONTEND_H
#define GNNC_FRONTEND_FRONTEND_H

#include "gnnc/Frontend/Diagnostic.h"
#include "gnnc/Frontend/ModelSpec.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::frontend {

/// What a compilation starts from.
struct CompileInputs {
  std::string mainPath;
  /// The model to load; empty: the only one of the main file, or its last.
  std::string model;
  /// Sizes and other numbers by name, overriding the model's parameters and giving static spaces their extents.
  std::map<std::string, std::string> defines;
  /// Reads the main file and the files it imports by path; empty: the file system. The standard library and the prelude
  /// are embedded and never read.
  std::function<std::optional<std::string>(const std::string &path)> readFile;
};

/// Loads `inputs.mainPath`. The text is JSON if the path ends in `.json` or its first character is `{`. Returns nothing
/// if any diagnostic is an error.
std::optional<ModelSpec> loadModel(const CompileInputs &inputs, std::vector<Diagnostic> &diagnostics);

/// The same for a text in memory called `name`; imports are relative to that name. `inputs.mainPath` is not used.
std::optional<ModelSpec> loadModelFromText(const std::string &name, const std::string &text,
                                           const CompileInputs &inputs, std::vector<Diagnostic> &diagnostics);

/// The embedded text that `import NAME` reads (`std`, `prelude`), if there is one.
std::optional<std::string> embeddedText(const std::string &name);

/// What is known about one occurrence of a name in a text.
struct Occurrence {
  Loc loc;                       ///< the name, in the analysed text
  std::string text;              ///< as an editor shows it: `let z: node[heads = 8, out = 8]`
  std::optional<Loc> definition; ///< where it is declared
  std::string definitionFile;    ///< the path of the text `definition` is in
};

/// What an editor needs to know about a text.
struct Analysis {
  std::vector<Diagnostic> diagnostics;
  std::vector<Occurrence> occurrences; ///< in order of place

  /// The occurrence under a position that counts lines and columns from 1, or null.
  const Occurrence *find(unsigned line, unsigned column) const;
};

/// A word that may be inserted at a place.
struct Completion {
  enum class Kind { Value, Axis, Space, Map, Layer, Function, Argument, Keyword };
  Kind kind = Kind::Value;
  std::string label;
  std::string detail; ///< `node[heads = 8]`, `map edge -> node`, `sum(x, along: map, over: axes)`
};

/// The words that may be inserted at a position of a text called `name`, in no particular order. Lines and columns (in
/// bytes) count from 1. The word at the position, complete or not, is removed first and does not filter the result.
std::vector<Completion> completeText(const std::string &name, const std::string &text, unsigned line, unsigned column,
                                     const CompileInputs &inputs);

/// Analyses a text called `name`: every model with the layers it calls, and the layers that no model calls, with
/// made-up arguments. If a size has no value, only what does not depend on it is reported.
Analysis analyzeText(const std::string &name, const std::string &text, const CompileInputs &inputs);

} // namespace gnnc::frontend

#endif // GNNC_FRONTEND_FRONTEND_H
