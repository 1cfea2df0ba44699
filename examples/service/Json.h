//===- Json.h - Values of JSON ----------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nlohmann's parser makes them, but its own values need memory to be freed: where there is none, the process ends.
// Freeing these needs none.
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_JSON_H
#define SERVICE_JSON_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace service {

struct JsonMember;

struct Json {
  using List = std::vector<Json>;
  using Object = std::vector<JsonMember>;
  /// A number is unsigned if it is an integer from 0, and signed if it is one below.
  std::variant<std::nullptr_t, bool, uint64_t, int64_t, double, std::string, List, Object> value;

  const List *list() const { return std::get_if<List>(&value); }
  const Object *object() const { return std::get_if<Object>(&value); }
  const std::string *string() const { return std::get_if<std::string>(&value); }
  const uint64_t *size() const { return std::get_if<uint64_t>(&value); }
  bool isInteger() const { return size() || std::get_if<int64_t>(&value); }
  bool isNumber() const { return isInteger() || std::get_if<double>(&value); }
  double number() const;
  /// "array", "string", ...
  const char *kind() const;
  /// As text, for messages.
  std::string text() const;
};

struct JsonMember {
  std::string name;
  Json value;
};

/// Throws BadRequest, whose message begins with `what`, if the text is not that of an object, or is nested deeper than
/// `mostDepth`.
Json parseJson(const char *begin, size_t length, size_t mostDepth, const std::string &what);

} // namespace service

#endif // SERVICE_JSON_H
