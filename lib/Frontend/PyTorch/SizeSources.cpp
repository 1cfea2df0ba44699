//===- SizeSources.cpp - What sizes are computed from ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A size that is no sum, such as the half of one, is a symbol whose name says how it is computed: `FloorDiv(s0 + 1,
// 2)`, `s0*s1` (SizeExpr.h). The sources of the symbols in it make its own.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/StringExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

namespace {

/// Sums of products of numbers, symbols and functions, as SizeExpr.cpp writes them.
class SizeText {
public:
  using Find = std::function<std::optional<std::string>(const std::string &symbol)>;
  SizeText(StringRef text, const Find &find) : rest(text), find(find) {}

  std::optional<std::string> whole() {
    std::optional<std::string> result = sum(0);
    return result && rest.trim().empty() ? result : std::nullopt;
  }

private:
  bool take(StringRef what) {
    rest = rest.ltrim();
    return rest.consume_front(what);
  }
  static std::string call(const char *function, const std::string &a, const std::string &b) {
    return std::string(function) + "(" + a + ", " + b + ")";
  }

  std::optional<std::string> sum(unsigned depth) {
    std::optional<std::string> result = product(depth);
    while (result) {
      bool isMinus = take("-");
      if (!isMinus && !take("+"))
        break;
      std::optional<std::string> next = product(depth);
      result = next ? std::optional(call(isMinus ? "sub" : "add", *result, *next)) : std::nullopt;
    }
    return result;
  }

  std::optional<std::string> product(unsigned depth) {
    std::optional<std::string> result = factor(depth);
    while (result && take("*")) {
      std::optional<std::string> next = factor(depth);
      result = next ? std::optional(call("mul", *result, *next)) : std::nullopt;
    }
    return result;
  }

  std::optional<std::string> factor(unsigned depth) {
    if (depth > 64)
      return std::nullopt;
    if (take("-")) {
      std::optional<std::string> negative = factor(depth + 1);
      return negative ? std::optional(call("sub", "0", *negative)) : std::nullopt;
    }
    if (take("(")) {
      std::optional<std::string> inner = sum(depth + 1);
      return inner && take(")") ? inner : std::nullopt;
    }
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    if (name.empty())
      return std::nullopt;
    if (llvm::isDigit(name.front()))
      return name.str();
    return take("(") ? function(name, depth + 1) : find(name.str());
  }

  std::optional<std::string> function(StringRef name, unsigned depth) {
    std::vector<std::string> arguments;
    while (!take(")")) {
      if (!arguments.empty() && !take(","))
        return std::nullopt;
      std::optional<std::string> argument = sum(depth);
      if (!argument)
        return std::nullopt;
      arguments.push_back(*argument);
    }
    if (arguments.size() < 2)
      return std::nullopt;
    int64_t times;
    if (name == "Pow") {
      if (StringRef(arguments[1]).getAsInteger(10, times) || times < 1 || times > 8)
        return std::nullopt;
      std::string result = arguments[0];
      for (int64_t i = 1; i < times; ++i)
        result = call("mul", result, arguments[0]);
      return result;
    }
    const char *function = name == "FloorDiv" || name == "CleanDiv" ? "div"
                           : name == "Mod" || name == "PythonMod"   ? "mod"
                           : name == "Max"                          ? "maximum"
                           : name == "Min"                          ? "minimum"
                                                                    : nullptr;
    if (!function || (arguments.size() > 2 && name != "Max" && name != "Min"))
      return std::nullopt;
    std::string result = arguments[0];
    for (size_t i = 1; i < arguments.size(); ++i)
      result = call(function, result, arguments[i]);
    return result;
  }

  StringRef rest;
  const Find &find;
};

} // namespace

std::optional<std::string> Recover::sourceOfSymbol(const std::string &symbol) const {
  if (auto known = symbolSources.find(symbol); known != symbolSources.end())
    return known->second;
  std::optional<std::string> computed;
  if (llvm::any_of(symbol, [](char c) { return !llvm::isAlnum(c) && c != '_'; }))
    computed = SizeText(symbol, [&](const std::string &name) -> std::optional<std::string> {
                 SymbolicExpr size = resolved(name);
                 return isKnown(size) ? std::optional(sourceOf(size)) : std::nullopt;
               }).whole();
  // A mask of dropout is made to fit what it is the mask of.
  if (auto given = countedSizes.find(symbol); !computed && given != countedSizes.end())
    return given->second;
  return computed;
}

/// Whether the graph gives all that a size is computed from.
bool Recover::isKnown(const SymbolicExpr &size) const {
  return llvm::all_of(size.getFactors(), [&](auto &term) { return sourceOfSymbol(term.first).has_value(); });
}
