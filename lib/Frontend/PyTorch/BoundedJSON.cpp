//===- BoundedJSON.cpp - JSON of strangers --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/BoundedJSON.h"
#include "JSON/JSONCursor.h"

#include "llvm/ADT/StringSet.h"

#include <vector>

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

/// A member's name in a pointer, without the quotes.
static std::string pointerName(StringRef name) {
  std::string text = quoteName(name);
  return text.substr(1, text.size() - 2);
}

static constexpr size_t kMaxDepth = 256, kMaxValues = 4'000'000;

namespace {
/// Counts, and keeps nothing but the names of the objects that are open.
class Survey : public nlohmann::json_sax<json> {
public:
  std::string fault;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t &) override { return value(); }
  bool string(string_t &) override { return value(); }
  bool binary(binary_t &) override { return value(); }
  bool start_object(std::size_t) override { return value() && open(); }
  bool start_array(std::size_t) override { return value() && open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    levels.back().name = name;
    return levels.back().names.insert(name).second || fail("expected one member of this name, found two");
  }
  bool parse_error(std::size_t, const std::string &, const json::exception &) override { return false; }

private:
  struct Level {
    llvm::StringSet<> names;
    std::string name; ///< of the member; empty in an array
    size_t index = 0;
  };

  bool fail(std::string text) {
    std::string pointer;
    for (size_t i = 0; i < levels.size() && i < 20; ++i)
      pointer += "/" + (levels[i].names.empty() ? std::to_string(levels[i].index - 1) : pointerName(levels[i].name));
    fault = (pointer.empty() ? "/" : pointer) + ": " + text;
    return false;
  }
  bool value() {
    if (!levels.empty())
      ++levels.back().index;
    return ++values <= kMaxValues || fail("expected at most " + std::to_string(kMaxValues) + " values, found more");
  }
  bool open() {
    if (levels.size() == kMaxDepth)
      return fail("expected at most " + std::to_string(kMaxDepth) + " nested values, found more");
    levels.emplace_back();
    return true;
  }
  bool close() {
    levels.pop_back();
    return true;
  }

  std::vector<Level> levels;
  size_t values = 0;
};
} // namespace

llvm::Expected<json> gnnc::frontend::pytorch::parseBounded(StringRef text) {
  Survey survey;
  if (!json::sax_parse(text.begin(), text.end(), &survey))
    return llvm::createStringError(survey.fault.empty() ? syntaxError(text) : survey.fault);
  return json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}
