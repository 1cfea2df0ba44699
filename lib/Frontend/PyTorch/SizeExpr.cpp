//===- SizeExpr.cpp - Sizes as sympy writes them --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/SizeExpr.h"
#include "JSON/JSONCursor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace gnnc;
using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

static constexpr size_t kMaxLength = 65536, kMaxDepth = 64, kMaxName = 128;

namespace {

/// c + sum of c_s s, with numbers that are checked.
struct Linear {
  int64_t number = 0;
  std::map<std::string, int64_t> factors;
};

/// A part of the expression.
struct Part {
  std::optional<Linear> linear;
  std::string text;
  enum { Atom, Product, Sum } binding = Atom; ///< what the text is, for parentheses
  std::vector<std::string> symbols = {};      ///< of a product of several: each as often as it is a factor
};

class SizeParser {
public:
  explicit SizeParser(StringRef text) : text(text) {}

  std::optional<Part> parse() {
    std::optional<Part> part = parsePart(0);
    if (part && skipSpace() && at < text.size())
      return expected("the end");
    return part;
  }
  std::string fault;

private:
  std::nullopt_t expected(const std::string &what) {
    return fail("expected " + what + " at byte " + std::to_string(at) + ", found " +
                (at < text.size() ? quoteName(text.substr(at, 20)) : "the end"));
  }
  std::nullopt_t fail(std::string why) {
    if (fault.empty())
      fault = std::move(why);
    return std::nullopt;
  }
  bool skipSpace() {
    while (at < text.size() && text[at] == ' ')
      ++at;
    return true;
  }
  bool take(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  StringRef takeName() {
    skipSpace();
    StringRef name = text.substr(at).take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    at += name.size();
    return name;
  }

  std::optional<Part> parsePart(size_t depth);
  std::optional<Part> parseNumber();
  std::optional<Part> parseSymbol();
  std::optional<std::string> parseQuoted();
  std::optional<std::vector<Part>> parseArguments(size_t depth);
  bool skipKeyword();

  std::optional<Part> sum(const std::vector<Part> &parts);
  std::optional<Part> product(const std::vector<Part> &parts);
  std::optional<Part> power(const std::vector<Part> &parts);
  std::optional<Part> quotient(const std::vector<Part> &parts);

  StringRef text;
  size_t at = 0;
};

} // namespace

/// `s77 + 1`, `2*s0 - s1`; symbols first, as sympy prints.
static Part partOf(Linear linear) {
  std::string text;
  auto add = [&](int64_t factor, const std::string &name) {
    // The magnitude of the least number does not fit.
    uint64_t size = factor < 0 ? 0 - uint64_t(factor) : uint64_t(factor);
    text += text.empty() ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
    text += name.empty() ? std::to_string(size) : (size == 1 ? "" : std::to_string(size) + "*") + name;
  };
  std::erase_if(linear.factors, [](const auto &each) { return each.second == 0; });
  for (const auto &[name, factor] : linear.factors)
    add(factor, name);
  if (linear.number != 0 || text.empty())
    add(linear.number, "");
  Part part;
  size_t terms = linear.factors.size() + (linear.number != 0);
  bool isPlain = terms <= 1 && (linear.factors.empty() ? linear.number >= 0 : linear.factors.begin()->second == 1);
  part.binding = isPlain ? Part::Atom : terms <= 1 ? Part::Product : Part::Sum;
  part.linear = std::move(linear);
  part.text = std::move(text);
  return part;
}

static bool isLinear(const Part &part) { return part.linear.has_value(); }

/// What is no sum of sizes, such as the half of one, is a symbol in sums of its own.
static Part asSymbol(const std::string &text, decltype(Part::binding) binding = Part::Atom) {
  Part part = partOf({0, {{text, 1}}});
  part.binding = binding;
  return part;
}

/// The symbol that a part is and nothing else.
static std::optional<std::string> plainSymbol(const Part &part) {
  if (!part.linear || part.linear->number != 0 || part.linear->factors.size() != 1 || !part.symbols.empty() ||
      part.linear->factors.begin()->second != 1)
    return std::nullopt;
  return part.linear->factors.begin()->first;
}

/// The symbols of factors, each as often as it is there; none if one is a sum or a multiple.
static std::vector<std::string> symbolsIn(const std::vector<Part> &parts) {
  std::vector<std::string> symbols;
  for (const Part &part : parts) {
    if (std::optional<std::string> symbol = plainSymbol(part))
      symbols.push_back(*symbol);
    else if (!part.symbols.empty() && part.linear->factors.begin()->second == 1)
      llvm::append_range(symbols, part.symbols);
    else
      return {};
  }
  return symbols;
}

std::optional<Part> SizeParser::parseNumber() {
  skipSpace();
  StringRef digits = text.substr(at).take_while([](char c) { return llvm::isDigit(c) || c == '-' || c == '+'; });
  int64_t number;
  if (digits.empty() || digits.size() > 64)
    return expected("a number");
  if (digits.getAsInteger(10, number))
    return expected("a number of 64 bits");
  at += digits.size();
  return partOf({number, {}});
}

std::optional<std::string> SizeParser::parseQuoted() {
  skipSpace();
  char quote = at < text.size() ? text[at] : '\0';
  if (quote != '\'' && quote != '"')
    return expected("a name in quotes");
  size_t end = text.find(quote, at + 1);
  StringRef name = text.slice(at + 1, std::min(end, text.size()));
  if (end == StringRef::npos || name.empty() || name.size() > kMaxName ||
      !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return expected("a name of at most " + std::to_string(kMaxName) + " letters, digits and underscores");
  at = end + 1;
  return name.str();
}

/// `positive=True` after an argument: what torch supposes about a symbol; its range says the same.
bool SizeParser::skipKeyword() {
  size_t begin = at;
  if (takeName().empty() || !take('=') || takeName().empty()) {
    at = begin;
    return false;
  }
  return true;
}

std::optional<std::vector<Part>> SizeParser::parseArguments(size_t depth) {
  std::vector<Part> parts;
  while (!take(')')) {
    if (!parts.empty() && !take(','))
      return expected("',' or ')'");
    if (skipKeyword())
      continue;
    std::optional<Part> part = parsePart(depth + 1);
    if (!part)
      return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return parts;
}

std::optional<Part> SizeParser::parseSymbol() {
  std::optional<std::string> name = parseQuoted();
  if (!name)
    return std::nullopt;
  while (take(','))
    if (!skipKeyword())
      return expected("an assumption such as integer=True");
  if (!take(')'))
    return expected("')'");
  return partOf({0, {{*name, 1}}});
}

std::optional<Part> SizeParser::parsePart(size_t depth) {
  if (depth > kMaxDepth)
    return fail("expected at most " + std::to_string(kMaxDepth) + " nested functions, found more");
  skipSpace();
  if (at < text.size() && (llvm::isDigit(text[at]) || text[at] == '-'))
    return parseNumber();
  if (at < text.size() && (text[at] == '\'' || text[at] == '"')) { // the digits of a Float
    size_t end = text.find(text[at], at + 1);
    if (end == StringRef::npos || end - at > kMaxName)
      return expected("a short text in quotes");
    Part part{std::nullopt, quoteName(text.slice(at + 1, end)), Part::Atom};
    at = end + 1;
    return part;
  }
  StringRef function = takeName();
  if (function.empty() || llvm::isDigit(function.front()) || function.size() > kMaxName)
    return expected("a function of sympy");
  if (!take('('))
    return Part{std::nullopt, function.str(), Part::Atom}; // such as oo, true
  if (function == "Symbol")
    return parseSymbol();
  if (function == "Integer") {
    std::optional<Part> number = parseNumber();
    if (number && !take(')'))
      return expected("')'");
    return number;
  }
  std::optional<std::vector<Part>> parts = parseArguments(depth);
  if (!parts)
    return std::nullopt;
  if (function == "Add")
    return sum(*parts);
  if (function == "Mul")
    return product(*parts);
  if (function == "Pow" && parts->size() == 2)
    if (std::optional<Part> result = power(*parts))
      return result;
  if ((function == "FloorDiv" || function == "CleanDiv") && parts->size() == 2)
    if (std::optional<Part> result = quotient(*parts))
      return result;
  std::string call = function.str() + "(" +
                     llvm::join(llvm::map_range(*parts, [](const Part &each) { return each.text; }), ", ") + ")";
  static const llvm::StringSet<> ofIntegers = {"FloorDiv", "CleanDiv", "Mod", "PythonMod", "Max", "Min"};
  bool isInteger = ofIntegers.contains(function) && llvm::all_of(*parts, isLinear);
  return isInteger ? asSymbol(call) : Part{std::nullopt, call, Part::Atom};
}

std::optional<Part> SizeParser::sum(const std::vector<Part> &parts) {
  if (!llvm::all_of(parts, isLinear))
    return Part{std::nullopt, llvm::join(llvm::map_range(parts, [](const Part &each) { return each.text; }), " + "),
                Part::Sum};
  Linear result;
  for (const Part &part : parts) {
    std::optional<int64_t> number = llvm::checkedAdd(result.number, part.linear->number);
    for (const auto &[name, factor] : part.linear->factors) {
      int64_t &own = result.factors[name];
      std::optional<int64_t> total = llvm::checkedAdd(own, factor);
      if (!total)
        return fail("a sum does not fit in 64 bits");
      own = *total;
    }
    if (!number)
      return fail("a sum does not fit in 64 bits");
    result.number = *number;
  }
  return partOf(std::move(result));
}

std::optional<Part> SizeParser::product(const std::vector<Part> &parts) {
  int64_t scale = 1;
  std::vector<Part> others;
  for (const Part &part : parts) {
    if (!part.linear || !part.linear->factors.empty()) {
      others.push_back(part);
      continue;
    }
    std::optional<int64_t> total = llvm::checkedMul(scale, part.linear->number);
    if (!total)
      return fail("a product does not fit in 64 bits");
    scale = *total;
  }
  if (others.size() > 1 || !llvm::all_of(others, isLinear)) {
    auto factor = [](const Part &each) { return each.binding == Part::Sum ? "(" + each.text + ")" : each.text; };
    std::string text = llvm::join(llvm::map_range(others, factor), "*");
    if (!llvm::all_of(others, isLinear))
      return Part{std::nullopt, scale == 1 ? text : std::to_string(scale) + "*" + text, Part::Product};
    Part product = asSymbol(text, Part::Product);
    product.symbols = symbolsIn(others);
    if (scale == 1)
      return product;
    others = {product};
  }
  Linear result{scale, {}};
  std::vector<std::string> symbols = others.empty() ? std::vector<std::string>() : others.front().symbols;
  if (!others.empty()) {
    result = *others.front().linear;
    std::optional<int64_t> number = llvm::checkedMul(result.number, scale);
    if (!number)
      return fail("a product does not fit in 64 bits");
    result.number = *number;
    for (auto &[name, factor] : result.factors) {
      std::optional<int64_t> total = llvm::checkedMul(factor, scale);
      if (!total)
        return fail("a product does not fit in 64 bits");
      factor = *total;
    }
  }
  Part whole = partOf(std::move(result));
  whole.symbols = std::move(symbols);
  return whole;
}

/// A number of rows and columns that are as many is the square of a symbol.
std::optional<Part> SizeParser::power(const std::vector<Part> &parts) {
  constexpr int64_t kMostFactors = 8;
  const std::optional<std::string> symbol = plainSymbol(parts[0]);
  const std::optional<Linear> &times = parts[1].linear;
  if (!symbol || !times || !times->factors.empty() || times->number < 2 || times->number > kMostFactors)
    return std::nullopt;
  Part result = asSymbol("Pow(" + *symbol + ", " + std::to_string(times->number) + ")");
  result.symbols.assign(size_t(times->number), *symbol);
  return result;
}

/// A product divided by one of its factors.
std::optional<Part> SizeParser::quotient(const std::vector<Part> &parts) {
  const std::optional<std::string> symbol = plainSymbol(parts[1]);
  std::vector<std::string> left = parts[0].symbols;
  auto found = symbol ? llvm::find(left, *symbol) : left.end();
  if (found == left.end())
    return std::nullopt;
  left.erase(found);
  std::vector<Part> factors = {partOf({parts[0].linear->factors.begin()->second, {}})};
  for (const std::string &each : left)
    factors.push_back(partOf({0, {{each, 1}}}));
  return product(factors);
}

static Size sizeOf(Part part) {
  Size size;
  if (part.linear) {
    SymbolicExpr expression(part.linear->number);
    for (const auto &[name, factor] : part.linear->factors)
      expression += SymbolicExpr::of(name, factor);
    size.linear = std::move(expression);
  }
  size.text = std::move(part.text);
  return size;
}

Size gnnc::frontend::pytorch::literalSize(int64_t number) { return sizeOf(partOf({number, {}})); }

llvm::Expected<Size> gnnc::frontend::pytorch::readSizeExpr(StringRef text) {
  if (text.size() > kMaxLength)
    return llvm::createStringError("expected an expression of at most " + llvm::Twine(kMaxLength) + " bytes, found " +
                                   llvm::Twine(text.size()));
  SizeParser parser(text);
  std::optional<Part> part = parser.parse();
  if (!part)
    return llvm::createStringError(parser.fault);
  return sizeOf(std::move(*part));
}
