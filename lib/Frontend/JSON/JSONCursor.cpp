//===- JSONCursor.cpp - Checked access to a JSON document -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JSON/JSONCursor.h"
#include "gnnc/Support/JSONText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace gnnc::frontend;
using llvm::ArrayRef;
using llvm::StringRef;

std::string gnnc::frontend::quoteName(StringRef name) {
  std::string text = "'";
  for (char c : name.take_front(60))
    text += (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
  return text + (name.size() > 60 ? "...'" : "'");
}

std::string gnnc::frontend::syntaxError(StringRef text) {
  return "/: expected a JSON document, found a mistake at " + placeOfJSONError(text);
}

std::nullopt_t Cursor::expected(StringRef what) const {
  std::string found = value.is_string()         ? quoteName(value.get_ref<const std::string &>())
                      : value.is_structured()   ? value.type_name()
                      : value.is_number_float() ? std::to_string(value.get<double>())
                                                : value.dump(-1, ' ', false, json::error_handler_t::replace);
  errors.report(pointer, ("expected " + what + ", found " + found).str());
  return std::nullopt;
}

bool Cursor::isObject() const {
  if (value.is_object())
    return true;
  expected("an object");
  return false;
}

bool Cursor::isObject(ArrayRef<const char *> allowed, ArrayRef<const char *> required) const {
  if (!isObject())
    return false;
  for (auto each = value.begin(); each != value.end(); ++each)
    if (llvm::none_of(allowed, [&](const char *key) { return each.key() == key; }))
      return errors.report(pointer, "unexpected member " + quoteName(each.key()) + "; expected " +
                                        llvm::join(std::vector<std::string>(allowed.begin(), allowed.end()), ", "));
  for (const char *key : required)
    if (!value.contains(key))
      return errors.report(pointer, "expected a member '" + std::string(key) + "', found none");
  return true;
}

/// Null stands for what is not there.
static const json &nothing() {
  static const json null;
  return null;
}

Cursor Cursor::operator[](const char *key) const {
  return Cursor(has(key) ? *value.find(key) : nothing(), pointer + "/" + key, errors);
}

Cursor Cursor::member(const char *key) const {
  if (!has(key))
    errors.report(pointer, "expected a member '" + std::string(key) + "', found none");
  return (*this)[key];
}

Cursor Cursor::operator[](size_t index) const {
  bool there = value.is_array() && index < value.size();
  return Cursor(there ? value[index] : nothing(), pointer + "/" + std::to_string(index), errors);
}

std::optional<size_t> Cursor::arraySize() const {
  if (!value.is_array())
    return expected("an array");
  return value.size();
}

std::optional<std::string> Cursor::string() const {
  if (!value.is_string())
    return expected("a string");
  return value.get<std::string>();
}

std::optional<bool> Cursor::boolean() const {
  if (!value.is_boolean())
    return expected("true or false");
  return value.get<bool>();
}

std::optional<double> Cursor::number() const {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    return expected("a number");
  return value.get<double>();
}

std::optional<int64_t> Cursor::integer(int64_t least, int64_t most) const {
  bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t(INT64_MAX) : value.is_number_integer();
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    return expected(most == INT64_MAX ? "an integer of at least " + std::to_string(least)
                                      : "an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return value.get<int64_t>();
}

std::optional<std::vector<std::string>> Cursor::strings() const {
  return all<std::string>([](const Cursor &each) { return each.string(); });
}
