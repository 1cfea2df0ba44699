//===- JSONCursor.h - Checked access to a JSON document ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A JSON value with its pointer. Reading a value of the wrong kind reports one error and returns nothing; no access
// throws or asserts whatever the document holds.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_JSON_JSONCURSOR_H
#define GNNC_LIB_FRONTEND_JSON_JSONCURSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gnnc::frontend {

using nlohmann::json;

/// A name as an error shows it: on one line, and not too long.
std::string quoteName(llvm::StringRef name);

/// What is wrong with a text that is no JSON, and where.
std::string syntaxError(llvm::StringRef text);

/// Keeps the first error.
class JSONErrors {
public:
  /// Returns false, for a caller that fails with it.
  bool report(llvm::StringRef pointer, llvm::StringRef text) {
    if (first.empty())
      first = (pointer.empty() ? "/" : pointer).str() + ": " + text.str();
    return false;
  }
  bool any() const { return !first.empty(); }
  const std::string &message() const { return first; }

private:
  std::string first;
};

class Cursor {
public:
  Cursor(const json &value, std::string pointer, JSONErrors &errors)
      : value(value), pointer(std::move(pointer)), errors(errors) {}

  bool isObject() const;
  /// An object with members of these names only, and all that are required.
  bool isObject(llvm::ArrayRef<const char *> allowed, llvm::ArrayRef<const char *> required) const;
  bool has(const char *key) const { return value.is_object() && value.contains(key); }
  /// A member that is known to be there, and one that may not be.
  Cursor operator[](const char *key) const;
  Cursor member(const char *key) const;
  Cursor operator[](size_t index) const;

  std::optional<size_t> arraySize() const;
  std::optional<std::string> string() const;
  std::optional<bool> boolean() const;
  std::optional<double> number() const;
  std::optional<int64_t> integer(int64_t least, int64_t most) const;
  std::optional<std::vector<std::string>> strings() const;

  /// An array, each element of which `read` reads.
  template <typename T, typename F> std::optional<std::vector<T>> all(F read) const {
    std::optional<size_t> count = arraySize();
    if (!count)
      return std::nullopt;
    std::vector<T> result;
    for (size_t i = 0; i < *count; ++i) {
      std::optional<T> element = read((*this)[i]);
      if (!element)
        return std::nullopt;
      result.push_back(std::move(*element));
    }
    return result;
  }

  const json &value;
  const std::string pointer;

private:
  std::nullopt_t expected(llvm::StringRef what) const;

  JSONErrors &errors;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_JSON_JSONCURSOR_H
