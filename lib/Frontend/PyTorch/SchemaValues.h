//===- SchemaValues.h - Values of the schema of torch.export ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The small parts that every other part of the schema has: unions (objects of one member), names, sizes, types.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_SCHEMAVALUES_H
#define GNNC_LIB_FRONTEND_PYTORCH_SCHEMAVALUES_H

#include "PyTorch/ExportedProgram.h"
#include "JSON/JSONCursor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <utility>

namespace gnnc::frontend::pytorch {

/// Reads values, and reports the first one that is malformed to `errors`.
class SchemaValues {
public:
  explicit SchemaValues(JSONErrors &errors) : errors(errors) {}

  /// The one member of a union: its name and its value.
  std::optional<std::pair<std::string, Cursor>> readUnion(const Cursor &at);
  /// A name of 1 to 1024 bytes without control characters.
  std::optional<std::string> readName(const Cursor &at);
  /// The name in `{"name": …}`.
  std::optional<std::string> readNameMember(const Cursor &at);
  /// A number, or one of the strings `Infinity`, `-Infinity`, `NaN`.
  std::optional<double> readFloat(const Cursor &at);
  /// `{"as_int": 3}` or `{"as_expr": {"expr_str": …}}`; at least 0 if it is a number.
  std::optional<Size> readSize(const Cursor &at);
  /// A size that is a number.
  std::optional<int64_t> readLiteral(const Cursor &at);
  std::optional<ScalarType> readScalarType(const Cursor &at);
  /// Dense tensors only.
  std::optional<TensorMeta> readTensorMeta(const Cursor &at);
  /// Each member of an object with its name.
  bool eachMember(const Cursor &at, llvm::function_ref<bool(const std::string &, const Cursor &)> read);

  JSONErrors &errors;
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_SCHEMAVALUES_H
