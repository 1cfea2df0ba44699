//===- SchemaReader.h - From model.json to the program ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads `models/model.json`: the graph and those inside it (SchemaGraph.cpp), the arguments of its nodes
// (SchemaArguments.cpp), and what its inputs and outputs are (SchemaSignature.cpp). Every name is defined once, before
// it is used, and is the tensor or number that it is used as.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_SCHEMAREADER_H
#define GNNC_LIB_FRONTEND_PYTORCH_SCHEMAREADER_H

#include "PyTorch/SchemaValues.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <string>

namespace gnnc::frontend::pytorch {

class SchemaReader {
public:
  explicit SchemaReader(ExportedProgram &program) : program(program) {}

  /// Versions of schema and torch, and which IR it is. Fails for a schema of another number than 8.
  bool readVersions(const json &document);
  /// Graph, signature and ranges. The program's tensors are known already.
  bool readProgram(const json &document);

  /// What the first error is: the place as a JSON pointer, expected and found, and the node.
  std::string message() const;

private:
  /// What a name stands for.
  enum class Kind { Tensor, Integer, Boolean, Float, Object };
  /// The names that a graph has defined so far. A graph sees no names of the graph around it.
  struct Scope {
    Graph &graph;
    unsigned depth = 0;
    std::map<std::string, Kind> defined;
    llvm::StringSet<> booleans, floats;
  };

  // SchemaGraph.cpp
  bool readGraph(const Cursor &at, Graph &graph, unsigned depth);
  bool readValues(const Cursor &at, Scope &scope);
  bool readInput(const Cursor &at, Scope &scope);
  bool readNode(const Cursor &at, Scope &scope);
  bool readOutputs(const Cursor &at, Scope &scope, std::vector<std::string> &names);
  bool readMetadata(const Cursor &at, Node &node);
  bool define(const Cursor &at, Scope &scope, const std::string &name, Kind kind);

  // SchemaArguments.cpp
  std::optional<Argument> readArgument(const Cursor &at, Scope &scope);
  std::optional<Argument> readNumbers(const std::string &kind, const Cursor &at, Scope &scope);
  std::optional<std::string> readReference(const Cursor &at, const Scope &scope, Kind kind);
  std::optional<std::string> readOptionalTensor(const Cursor &at, const Scope &scope);
  std::optional<std::vector<std::string>> readTensors(const Cursor &at, const Scope &scope, bool optional);
  template <typename T, typename F>
  std::optional<std::variant<T, ValueName>> readSymbolic(const Cursor &at, const Scope &scope, Kind kind,
                                                         const char *literal, F read);

  // SchemaSignature.cpp
  bool readSignature(const Cursor &at);
  bool readInputSpec(const Cursor &at, size_t position);
  bool readOutputSpec(const Cursor &at, size_t position);
  std::optional<ProgramInput> readStoredInput(const std::string &kind, const Cursor &at);
  std::optional<Argument> readConstant(const Cursor &at);
  bool checkStored(const Cursor &at, const ProgramInput &input);
  bool readRanges(const Cursor &at);

  ExportedProgram &program;
  JSONErrors errors;
  SchemaValues values{errors};
  std::string node; ///< the one that is read; names an error's place
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_SCHEMAREADER_H
