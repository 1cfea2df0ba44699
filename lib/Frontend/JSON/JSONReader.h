//===- JSONReader.h - Reads the JSON form -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spaces and maps refer to each other, so the two lists are read side by side: whichever's next element is complete.
// Every operation goes through the ModelBuilder; what it says is prefixed with the JSON pointer of the operation.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_JSON_JSONREADER_H
#define GNNC_LIB_FRONTEND_JSON_JSONREADER_H

#include "gnnc/Frontend/ModelBuilder.h"
#include "JSON/JSONCursor.h"

#include "llvm/Support/Error.h"

namespace gnnc::frontend {

class JSONReader {
public:
  JSONReader() : builder([this](Loc, const std::string &message) { errors.report(current, message); }) {}

  llvm::Expected<ModelSpec> read(const json &document);

private:
  // Structure.
  bool readStructure(const Cursor &root);
  bool complete(const Cursor &element);
  bool reportIncomplete(const Cursor &element);
  bool readSpace(const Cursor &at);
  bool readMap(const Cursor &at);
  std::optional<Id> spaceAt(const Cursor &at);
  std::optional<Id> mapAt(const Cursor &at, bool allowAll = false);
  std::optional<std::vector<Id>> spacesAt(const Cursor &at);
  std::optional<std::vector<Id>> mapsAt(const Cursor &at, bool forParts = false);
  // Values.
  bool readGiven(const Cursor &at, OpCode op);
  bool readSparse(const Cursor &at);
  bool readOp(const Cursor &at);
  MaybeId buildOp(const Cursor &at, OpCode op, llvm::ArrayRef<Id> args, Loc loc);
  std::optional<Output> outputAt(const Cursor &at);
  bool readOutput(const Cursor &at);
  bool readProgram(const Cursor &at);
  std::optional<Id> valueAt(const Cursor &at);
  std::optional<std::vector<Axis>> axesAt(const Cursor &at);
  Loc locOf(const Cursor &at);
  bool nameValue(const Cursor &at, const std::string &name, MaybeId id);

  JSONErrors errors;
  ModelBuilder builder;
  std::string current; ///< the pointer of what is being built
  llvm::StringMap<Id> spaces, maps, values;
  size_t files = 0;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_JSON_JSONREADER_H
