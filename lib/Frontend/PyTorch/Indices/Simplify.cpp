//===- Simplify.cpp - The normal form of terms of indices -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of coordinates, quotients and remainders, whose factors are sums of sizes:
//   (m a + r) / m = a + r / m,  (m a + r) mod m = r mod m,  and r / m = 0, r mod m = r  where 0 <= r < m;
//   (g y + r) / (g m) = y / m,  (g y + r) mod (g m) = g (y mod m) + r  where 0 <= r < g;
//   (x / a) / b = x / (a b),    (x mod a b) / a = (x / a) mod b,       (x mod a b) mod a = x mod a;
//   m (x / m) + x mod m = x.
// Each holds for quotients that are rounded down, whatever the signs. Comparisons are decided by the bounds of the
// difference. Numbers that could leave 64 bits stay as they are written.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Algebra.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexTermNode::Kind;

/// Numbers beyond it are not added and multiplied here. Sizes are below 2^31.
static constexpr int64_t kLargest = int64_t(1) << 31;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static bool isLiteral(const SymbolicExpr &size) { return size.getFactors().empty(); }

static bool isSmall(const SymbolicExpr &size) {
  auto fits = [](int64_t number) { return number > -kLargest && number < kLargest; };
  return fits(size.getNumber()) && llvm::all_of(size.getFactors(), [&](auto &term) { return fits(term.second); });
}

static bool isName(const std::string &symbol) {
  return llvm::all_of(symbol, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// The symbol that a product of two is, as SizeExpr.h names it.
static std::string productOf(const std::string &a, const std::string &b) {
  return a == b ? "Pow(" + a + ", 2)" : std::min(a, b) + "*" + std::max(a, b);
}

/// What is left of a product of two symbols without one of them.
static std::optional<std::string> otherFactor(const std::string &product, const std::string &symbol) {
  if (product == productOf(symbol, symbol))
    return symbol;
  llvm::StringRef text = product;
  if (text.consume_front(symbol + "*") || text.consume_back("*" + symbol))
    if (isName(text.str()))
      return text.str();
  return std::nullopt;
}

std::optional<SymbolicExpr> gnnc::frontend::pytorch::multiply(const SymbolicExpr &a, const SymbolicExpr &b) {
  if (!isSmall(a) || !isSmall(b))
    return std::nullopt;
  SymbolicExpr result = isLiteral(a) ? b * a.getNumber() : a * b.getNumber();
  if (isLiteral(a))
    return result;
  for (auto &[left, times] : a.getFactors())
    for (auto &[right, factor] : b.getFactors()) {
      if (!isName(left) || !isName(right))
        return std::nullopt;
      result += SymbolicExpr::of(productOf(left, right), times * factor);
    }
  for (auto &[right, factor] : b.getFactors())
    result += SymbolicExpr::of(right, factor * a.getNumber());
  return result;
}

std::optional<SymbolicExpr> gnnc::frontend::pytorch::divideExactly(const SymbolicExpr &a, const SymbolicExpr &b) {
  if (isLiteral(b)) {
    int64_t by = b.getNumber();
    if (by == 0 || a.getNumber() % by != 0)
      return std::nullopt;
    SymbolicExpr result(a.getNumber() / by);
    for (auto &[symbol, factor] : a.getFactors()) {
      if (factor % by != 0)
        return std::nullopt;
      result += SymbolicExpr::of(symbol, factor / by);
    }
    return result;
  }
  if (a == SymbolicExpr(0))
    return a;
  auto &[symbol, factor] = *b.getFactors().begin();
  // A multiple of one symbol divides products with it, too.
  if (b.getNumber() == 0 && b.getFactors().size() == 1 && a.getNumber() == 0) {
    SymbolicExpr result;
    for (auto &[own, times] : a.getFactors()) {
      std::optional<std::string> other = otherFactor(own, symbol);
      if (times % factor != 0 || (own != symbol && !other))
        return std::nullopt;
      result += own == symbol ? SymbolicExpr(times / factor) : SymbolicExpr::of(*other, times / factor);
    }
    return result;
  }
  auto own = a.getFactors().find(symbol);
  if (own == a.getFactors().end() || own->second % factor != 0 || !(b * (own->second / factor) == a))
    return std::nullopt;
  return SymbolicExpr(own->second / factor);
}

bool gnnc::frontend::pytorch::isNeverNegative(const SymbolicExpr &size) {
  return size.getNumber() >= 0 && llvm::all_of(size.getFactors(), [](auto &term) { return term.second > 0; });
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

std::optional<SymbolicExpr> IndexAlgebra::sizeOf(IndexTerm term) {
  return term->kind == Kind::Linear && term->arguments.empty() ? std::optional(term->size) : std::nullopt;
}

std::optional<int64_t> IndexAlgebra::literalOf(IndexTerm term) {
  std::optional<SymbolicExpr> size = sizeOf(term);
  return size && isLiteral(*size) ? std::optional(size->getNumber()) : std::nullopt;
}

std::optional<std::pair<SymbolicExpr, SymbolicExpr>> IndexAlgebra::bounds(IndexTerm term) const {
  using Bounds = std::pair<SymbolicExpr, SymbolicExpr>;
  switch (term->kind) {
  case Kind::Coordinate:
  case Kind::Remainder:
    return Bounds(0, term->size + SymbolicExpr(-1));
  case Kind::Quotient: {
    auto own = bounds(term->arguments[0]);
    if (!own || !isNeverNegative(own->first))
      return std::nullopt;
    // (c m n + r) / m is at most c n where r is less than m.
    SymbolicExpr most = own->second;
    if (isLiteral(term->size)) {
      int64_t by = term->size.getNumber();
      int64_t rest = (most.getNumber() % by + by) % by;
      if (std::optional<SymbolicExpr> exact = divideExactly(most + SymbolicExpr(-rest), term->size))
        return Bounds(0, *exact);
    } else if (std::optional<SymbolicExpr> exact = divideExactly(most + SymbolicExpr(1), term->size)) {
      return Bounds(0, *exact + SymbolicExpr(-1));
    }
    return Bounds(0, most);
  }
  case Kind::Linear: {
    SymbolicExpr least = term->size, most = term->size;
    for (auto [argument, factor] : llvm::zip(term->arguments, term->factors)) {
      auto own = bounds(argument);
      bool isUp = isNeverNegative(factor), isDown = isNeverNegative(factor * -1);
      if (!own || (!isUp && !isDown))
        return std::nullopt;
      std::optional<SymbolicExpr> atLeast = multiply(own->first, factor), atMost = multiply(own->second, factor);
      if (!atLeast || !atMost)
        return std::nullopt;
      least += isUp ? *atLeast : *atMost;
      most += isUp ? *atMost : *atLeast;
    }
    return Bounds(least, most);
  }
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

IndexAlgebra::Factors IndexAlgebra::factorsOf(IndexTerm sum) {
  Factors result;
  for (auto [argument, factor] : llvm::zip(sum->arguments, sum->factors))
    result.push_back({argument, factor});
  return result;
}

IndexTerm IndexAlgebra::linear(SymbolicExpr constant, Factors given) {
  Factors factors;
  for (auto &[term, factor] : given) {
    auto same = llvm::find_if(factors, [&, own = term](auto &each) { return each.first == own; });
    if (same == factors.end())
      factors.push_back({term, factor});
    else
      same->second += factor;
  }
  llvm::erase_if(factors, [](auto &each) { return each.second == SymbolicExpr(0); });
  llvm::sort(factors, [](auto &a, auto &b) { return a.first->id < b.first->id; });
  IndexTermNode node{};
  node.kind = Kind::Linear;
  node.size = constant;
  for (auto &[term, factor] : factors) {
    node.arguments.push_back(term);
    node.factors.push_back(factor);
  }
  // m (x / m) + x mod m = x
  for (auto &[rest, factor] : factors) {
    if (rest->kind != Kind::Remainder)
      continue;
    std::optional<SymbolicExpr> wanted = multiply(factor, rest->size);
    IndexTerm whole = wanted ? quotientOf(rest->arguments[0], rest->size) : nullptr;
    if (!whole || whole->kind != Kind::Linear || whole->arguments.size() != 1 || !(whole->size == SymbolicExpr(0)) ||
        !(whole->factors[0] == SymbolicExpr(1)))
      continue;
    auto quotient =
        llvm::find_if(factors, [&](auto &each) { return each.first == whole->arguments[0] && each.second == *wanted; });
    if (quotient == factors.end())
      continue;
    IndexTerm x = product(rest->arguments[0], factor);
    if (!x)
      continue;
    Factors others = factorsOf(x);
    for (auto &each : factors)
      if (each.first != rest && &each != &*quotient)
        others.push_back(each);
    return linear(constant + x->size, std::move(others));
  }
  return intern(std::move(node));
}

/// A sum times a factor; null where that is no sum of this kind.
IndexTerm IndexAlgebra::product(IndexTerm sum, const SymbolicExpr &factor) {
  std::optional<SymbolicExpr> constant = multiply(sum->size, factor);
  if (!constant)
    return nullptr;
  Factors factors;
  for (auto [argument, own] : llvm::zip(sum->arguments, sum->factors)) {
    std::optional<SymbolicExpr> together = multiply(own, factor);
    if (!together)
      return nullptr;
    factors.push_back({argument, *together});
  }
  return linear(*constant, std::move(factors));
}

std::pair<IndexTerm, IndexTerm> IndexAlgebra::dividedParts(IndexTerm sum, const SymbolicExpr &by) {
  Factors whole, rest;
  for (auto [argument, factor] : llvm::zip(sum->arguments, sum->factors)) {
    if (std::optional<SymbolicExpr> exact = divideExactly(factor, by))
      whole.push_back({argument, *exact});
    else
      rest.push_back({argument, factor});
  }
  SymbolicExpr constant, left;
  if (isLiteral(by)) {
    int64_t number = by.getNumber();
    auto split = [&](int64_t value, auto put) {
      int64_t least = ((value % number) + number) % number;
      put((value - least) / number, least);
    };
    split(sum->size.getNumber(), [&](int64_t quotient, int64_t least) { constant += quotient, left += least; });
    for (auto &[symbol, factor] : sum->size.getFactors())
      if (factor % number == 0)
        constant += SymbolicExpr::of(symbol, factor / number);
      else
        left += SymbolicExpr::of(symbol, factor);
  } else if (std::optional<SymbolicExpr> exact = divideExactly(sum->size, by)) {
    constant = *exact;
  } else {
    // 2 n + 1 is 2 times n, and 1.
    auto &[symbol, factor] = *by.getFactors().begin();
    auto own = sum->size.getFactors().find(symbol);
    int64_t times = own == sum->size.getFactors().end() ? 0 : own->second / factor;
    left = sum->size + by * -times;
    if (!isNeverNegative(left)) // n - 1 is 0 times n
      times = times > 0 ? times - 1 : times, left = sum->size + by * -times;
    constant = times;
  }
  return {linear(constant, std::move(whole)), linear(left, std::move(rest))};
}

/// A number g that divides `by`, the part of the sum that is g times something, and a rest from 0 to g - 1.
std::optional<std::pair<int64_t, std::pair<IndexTerm, IndexTerm>>> IndexAlgebra::commonFactor(IndexTerm sum,
                                                                                              int64_t by) {
  for (const SymbolicExpr &each : sum->factors) {
    if (!isLiteral(each))
      continue;
    int64_t g = std::abs(each.getNumber());
    if (g <= 1 || g >= by || by % g != 0)
      continue;
    auto [whole, rest] = dividedParts(sum, g);
    auto range = bounds(rest);
    if (range && isNeverNegative(range->first) && isNeverNegative(SymbolicExpr(g - 1) + range->second * -1))
      return std::pair(g, std::pair(whole, rest));
  }
  return std::nullopt;
}

static bool isWithin(const std::optional<std::pair<SymbolicExpr, SymbolicExpr>> &range, const SymbolicExpr &size) {
  return range && isNeverNegative(range->first) && isNeverNegative(size + SymbolicExpr(-1) + range->second * -1);
}

/// The only argument of a sum that is nothing else, if it is of a kind.
static IndexTerm onlyArgument(IndexTerm sum, Kind kind) {
  bool isOne = sum->arguments.size() == 1 && sum->size == SymbolicExpr(0) && sum->factors[0] == SymbolicExpr(1);
  return isOne && sum->arguments[0]->kind == kind ? sum->arguments[0] : nullptr;
}

IndexTerm IndexAlgebra::quotientOf(IndexTerm sum, const SymbolicExpr &by) {
  if (by == SymbolicExpr(1))
    return sum;
  auto [whole, rest] = dividedParts(sum, by);
  // There are no points where `by` is 0.
  if (literalOf(rest) == 0 || isWithin(bounds(rest), by))
    return whole;
  IndexTerm result = nullptr;
  if (IndexTerm inner = onlyArgument(rest, Kind::Quotient)) {
    if (std::optional<SymbolicExpr> together = multiply(inner->size, by))
      result = quotientOf(inner->arguments[0], *together);
  } else if (IndexTerm inner = onlyArgument(rest, Kind::Remainder)) {
    std::optional<SymbolicExpr> times = divideExactly(inner->size, by);
    if (times && isLiteral(*times))
      result = remainderOf(quotientOf(inner->arguments[0], by), *times);
  }
  if (!result && isLiteral(by))
    if (auto common = commonFactor(rest, by.getNumber()))
      result = quotientOf(common->second.first, by.getNumber() / common->first);
  if (!result) {
    IndexTermNode node{};
    node.kind = Kind::Quotient;
    node.size = by;
    node.arguments = {rest};
    result = linear(0, {{intern(std::move(node)), 1}});
  }
  return add(whole, result);
}

IndexTerm IndexAlgebra::remainderOf(IndexTerm sum, const SymbolicExpr &by) {
  if (by == SymbolicExpr(1))
    return number(0);
  IndexTerm rest = dividedParts(sum, by).second;
  if (literalOf(rest) == 0 || isWithin(bounds(rest), by))
    return rest;
  if (IndexTerm inner = onlyArgument(rest, Kind::Remainder))
    if (divideExactly(inner->size, by))
      return remainderOf(inner->arguments[0], by);
  if (isLiteral(by))
    if (auto common = commonFactor(rest, by.getNumber())) {
      auto [factor, parts] = *common;
      IndexTerm multiple = product(remainderOf(parts.first, by.getNumber() / factor), factor);
      if (multiple)
        return add(multiple, parts.second);
    }
  IndexTermNode node{};
  node.kind = Kind::Remainder;
  node.size = by;
  node.arguments = {rest};
  return linear(0, {{intern(std::move(node)), 1}});
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What a function of sums is, if it is a sum again; null otherwise.
IndexTerm IndexAlgebra::arithmetic(const std::string &function, const std::vector<IndexTerm> &arguments) {
  auto isSum = [](IndexTerm term) {
    return term->kind == Kind::Linear && isSmall(term->size) && llvm::all_of(term->factors, isSmall);
  };
  IndexTerm a = arguments[0], b = arguments.size() > 1 ? arguments[1] : nullptr;
  if (function == "neg" && isSum(a))
    return product(a, -1);
  if (!b || arguments.size() != 2)
    return nullptr;
  // What leaves the other as it is.
  if ((function == "add" || function == "sub") && literalOf(b) == 0)
    return a;
  if (function == "add" && literalOf(a) == 0)
    return b;
  if ((function == "mul" || function == "div") && literalOf(b) == 1)
    return a;
  if (function == "mul" && literalOf(a) == 1)
    return b;
  // x - s + s = x, whatever x is.
  if (function == "add" || function == "sub")
    for (auto [whole, other] : {std::pair(a, b), std::pair(b, a)}) {
      bool isOfSum = whole->kind == Kind::Apply && (whole->function == "add" || whole->function == "sub") &&
                     (function == "add" || whole == a) && isSum(other);
      if (!isOfSum || !isSum(whole->arguments[1]))
        continue;
      IndexTerm own = whole->function == "sub" ? product(whole->arguments[1], -1) : whole->arguments[1];
      IndexTerm rest = own ? arithmetic(function, {own, other}) : nullptr;
      if (rest && literalOf(rest) == 0)
        return whole->arguments[0];
    }
  if (!isSum(a) || !isSum(b))
    return nullptr;
  if (function == "add" || function == "sub") {
    Factors factors = factorsOf(a);
    for (auto &[term, factor] : factorsOf(b))
      factors.push_back({term, factor * (function == "add" ? 1 : -1)});
    return linear(a->size + b->size * (function == "add" ? 1 : -1), std::move(factors));
  }
  if (function == "mul") {
    if (std::optional<SymbolicExpr> factor = sizeOf(b))
      return product(a, *factor);
    if (std::optional<SymbolicExpr> factor = sizeOf(a))
      return product(b, *factor);
    return nullptr;
  }
  if (function != "div" && function != "mod")
    return nullptr;
  std::optional<SymbolicExpr> by = sizeOf(b);
  if (!by || !isNeverNegative(*by) || *by == SymbolicExpr(0))
    return nullptr;
  return function == "div" ? quotientOf(a, *by) : remainderOf(a, *by);
}

/// Comparisons, conditions and extrema that bounds decide; null where they do not.
IndexTerm IndexAlgebra::comparison(const std::string &function, const std::vector<IndexTerm> &arguments) {
  auto truth = [&](bool value) { return number(SymbolicExpr(int64_t(value))); };
  if (function == "not") {
    std::optional<int64_t> value = literalOf(arguments[0]);
    return value ? truth(*value == 0) : nullptr;
  }
  if (function == "where") {
    if (std::optional<int64_t> condition = literalOf(arguments[0]))
      return arguments[*condition ? 1 : 2];
    static const std::vector<std::string> truths = {"lt", "le", "gt", "ge", "eq", "ne", "both", "either", "not"};
    if (arguments[0]->kind == Kind::Apply && llvm::is_contained(truths, arguments[0]->function) &&
        literalOf(arguments[1]) == 1 && literalOf(arguments[2]) == 0)
      return arguments[0];
    return arguments[1] == arguments[2] ? arguments[1] : nullptr;
  }
  if (arguments.size() != 2)
    return nullptr;
  std::optional<int64_t> left = literalOf(arguments[0]), right = literalOf(arguments[1]);
  if (function == "both" || function == "either") {
    if (left && right)
      return truth(function == "both" ? *left && *right : *left || *right);
    return nullptr;
  }
  static const std::vector<std::string> decided = {"lt", "le", "gt", "ge", "eq", "ne", "minimum", "maximum"};
  if (!llvm::is_contained(decided, function))
    return nullptr;
  // Whether the difference is always negative, never positive, ...
  bool isLess = false, isAtMost = false, isMore = false, isAtLeast = false;
  if (left && right) {
    isLess = *left<*right, isAtMost = *left <= *right, isMore = *left> * right, isAtLeast = *left >= *right;
  } else if (IndexTerm difference = arithmetic("sub", arguments)) {
    auto range = bounds(difference);
    if (!range)
      return nullptr;
    isAtMost = isNeverNegative(range->second * -1);
    isLess = isNeverNegative(range->second * -1 + SymbolicExpr(-1));
    isAtLeast = isNeverNegative(range->first);
    isMore = isNeverNegative(range->first + SymbolicExpr(-1));
  }
  bool isSame = isAtMost && isAtLeast, isOther = isLess || isMore;
  if (function == "minimum" || function == "maximum")
    return isAtMost    ? arguments[function == "minimum" ? 0 : 1]
           : isAtLeast ? arguments[function == "minimum" ? 1 : 0]
                       : nullptr;
  bool isTrue = function == "lt"   ? isLess
                : function == "le" ? isAtMost
                : function == "gt" ? isMore
                : function == "ge" ? isAtLeast
                : function == "eq" ? isSame
                                   : isOther;
  bool isFalse = function == "lt"   ? isAtLeast
                 : function == "le" ? isMore
                 : function == "gt" ? isAtMost
                 : function == "ge" ? isLess
                 : function == "eq" ? isOther
                                    : isSame;
  return isTrue ? truth(true) : isFalse ? truth(false) : nullptr;
}
