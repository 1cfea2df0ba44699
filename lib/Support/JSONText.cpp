//===- JSONText.cpp - Where a text is not JSON ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/JSONText.h"

#include <nlohmann/json.hpp>

using nlohmann::json;

namespace {

/// Listens to the parser for the place of an error only.
struct ErrorListener : nlohmann::json_sax<json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t at, const std::string &, const nlohmann::detail::exception &) override {
    position = at;
    return false;
  }
  size_t position = 0;
};

} // namespace

std::string gnnc::placeOfJSONError(llvm::StringRef text) {
  ErrorListener listener;
  json::sax_parse(text.begin(), text.end(), &listener);
  llvm::StringRef before = text.take_front(listener.position);
  size_t line = before.count('\n') + 1;
  size_t lineStart = before.rfind('\n');
  size_t column = lineStart == llvm::StringRef::npos ? before.size() : before.size() - lineStart - 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(std::max<size_t>(1, column));
}
