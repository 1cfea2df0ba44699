//===- Json.cpp - Values of JSON ------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "Body.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace service {

double Json::number() const {
  if (const uint64_t *number = size())
    return double(*number);
  const int64_t *negative = std::get_if<int64_t>(&value);
  return negative ? double(*negative) : std::get<double>(value);
}

const char *Json::kind() const {
  static const char *const kinds[] = {"null", "boolean", "number", "number", "number", "string", "array", "object"};
  return kinds[value.index()];
}

std::string Json::text() const {
  if (const List *all = list()) {
    std::string text = "[";
    for (const Json &each : *all)
      text += (text.size() > 1 ? "," : "") + each.text();
    return text + "]";
  }
  if (const uint64_t *number = size())
    return std::to_string(*number);
  if (const int64_t *negative = std::get_if<int64_t>(&value))
    return std::to_string(*negative);
  char digits[32];
  if (const double *number = std::get_if<double>(&value)) {
    std::snprintf(digits, sizeof digits, "%.17g", *number);
    return digits;
  }
  return kind();
}

namespace {

/// Builds a value from what the parser meets.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
  Builder(size_t mostDepth, const std::string &what) : mostDepth(mostDepth), what(what) {}

  bool null() override { return put({nullptr}); }
  bool boolean(bool value) override { return put({value}); }
  bool number_integer(number_integer_t value) override { return put({value}); }
  bool number_unsigned(number_unsigned_t value) override { return put({value}); }
  bool number_float(number_float_t value, const string_t &) override { return put({value}); }
  bool string(string_t &value) override { return put({std::move(value)}); }
  bool binary(binary_t &) override { return false; } // There is none in text.
  bool start_object(size_t) override { return open({Json::Object()}); }
  bool start_array(size_t) override { return open({Json::List()}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    std::get<Json::Object>(opened.back()->value).push_back({std::move(name), {}});
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) override {
    std::string message = error.what(); // "[json.exception.parse_error.101] parse error at ..."
    throw BadRequest((what + ": " + message.substr(message.find("] ") + 2)).substr(0, 300));
  }

  Json root;

private:
  /// A value into the list or object that is open. What is open does not move: only its last element grows.
  Json *add(Json &&value) {
    if (opened.empty())
      return &(root = std::move(value));
    if (auto *list = std::get_if<Json::List>(&opened.back()->value))
      return &list->emplace_back(std::move(value));
    return &(std::get<Json::Object>(opened.back()->value).back().value = std::move(value));
  }
  bool put(Json &&value) { return add(std::move(value)); }
  bool open(Json &&value) {
    if (opened.size() == mostDepth)
      throw BadRequest(what + ": is nested deeper than " + std::to_string(mostDepth));
    opened.push_back(add(std::move(value)));
    return true;
  }
  bool close() {
    opened.pop_back();
    return true;
  }

  const size_t mostDepth;
  const std::string &what;
  std::vector<Json *> opened; ///< from the outermost
};

} // namespace

Json parseJson(const char *begin, size_t length, size_t mostDepth, const std::string &what) {
  Builder builder(mostDepth, what);
  nlohmann::json::sax_parse(begin, begin + length, &builder);
  if (!builder.root.object())
    throw BadRequest(what + ": expected an object, found " + builder.root.kind());
  return std::move(builder.root);
}

} // namespace service
