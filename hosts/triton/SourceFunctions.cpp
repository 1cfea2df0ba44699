//===- SourceFunctions.cpp - Functions of integers ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceFunctions.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

using namespace gnnc::triton;

namespace {

using Numbers = std::vector<int64_t>;
using Arguments = const std::vector<const Integers *> &;
using Binary = int64_t (*)(int64_t, int64_t);

/// No list may be longer: a request can ask for any length with a few numbers, and this many take 1 GiB.
constexpr int64_t kMostListed = int64_t(1) << 27;
constexpr const char *kMostListedText = "2^27";

int64_t wrapAdd(int64_t a, int64_t b) { return static_cast<int64_t>(uint64_t(a) + uint64_t(b)); }
int64_t wrapSub(int64_t a, int64_t b) { return static_cast<int64_t>(uint64_t(a) - uint64_t(b)); }
int64_t wrapMul(int64_t a, int64_t b) { return static_cast<int64_t>(uint64_t(a) * uint64_t(b)); }

/// Rounded down, as in Python; by 0 it is 0.
int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return wrapSub(0, a);
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

const std::map<std::string, Binary> kBinaries = {
    {"add", wrapAdd},
    {"sub", wrapSub},
    {"mul", wrapMul},
    {"div", floorDiv},
    {"mod", [](int64_t a, int64_t b) { return wrapSub(a, wrapMul(floorDiv(a, b), b)); }},
    {"minimum", [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"maximum", [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"eq", [](int64_t a, int64_t b) { return int64_t(a == b); }},
    {"ne", [](int64_t a, int64_t b) { return int64_t(a != b); }},
    {"lt", [](int64_t a, int64_t b) { return int64_t(a < b); }},
    {"le", [](int64_t a, int64_t b) { return int64_t(a <= b); }},
    {"gt", [](int64_t a, int64_t b) { return int64_t(a > b); }},
    {"ge", [](int64_t a, int64_t b) { return int64_t(a >= b); }},
    {"both", [](int64_t a, int64_t b) { return int64_t(a && b); }},
    {"either", [](int64_t a, int64_t b) { return int64_t(a || b); }},
};

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

Integers listOf(Numbers numbers) { return {true, std::move(numbers)}; }
Integers number(int64_t value) { return {false, {value}}; }

/// The common length of lists; numbers go with any. -1: only numbers.
int64_t commonLength(const char *function, Arguments arguments, size_t begin, size_t end) {
  int64_t length = -1;
  for (size_t i = begin; i < end; ++i) {
    if (!arguments[i]->isList)
      continue;
    int64_t own = static_cast<int64_t>(arguments[i]->numbers.size());
    if (length >= 0 && own != length)
      fail(std::string(function) + ": expected lists of one length, found " + std::to_string(length) + " and " +
           std::to_string(own));
    length = own;
  }
  return length;
}

int64_t at(const Integers *argument, size_t i) { return argument->numbers[argument->isList ? i : 0]; }

template <typename Function> Integers elementwise(const char *name, Arguments arguments, Function function) {
  int64_t length = commonLength(name, arguments, 0, arguments.size());
  Integers result{length >= 0, Numbers(length < 0 ? 1 : static_cast<size_t>(length))};
  for (size_t i = 0; i < result.numbers.size(); ++i)
    result.numbers[i] = function(i);
  return result;
}

size_t position(const char *function, int64_t at, size_t size) {
  if (at < 0 || static_cast<uint64_t>(at) >= size)
    fail(std::string(function) + ": expected a position from 0 to " + std::to_string(static_cast<int64_t>(size) - 1) +
         ", found " + std::to_string(at));
  return static_cast<size_t>(at);
}

size_t lengthOf(const char *function, int64_t length) {
  if (length < 0 || length > kMostListed)
    fail(std::string(function) + ": expected a length of 0 to " + kMostListedText + ", found " +
         std::to_string(length));
  return static_cast<size_t>(length);
}

Integers arange(Arguments a) {
  int64_t begin = a[0]->numbers[0], end = a[1]->numbers[0], step = a[2]->numbers[0];
  if (step == 0)
    fail("arange: expected a step that is not 0");
  // The distance of two numbers of 64 bits, and the size of a step, may have more than 63.
  bool isUp = step > 0;
  uint64_t distance = isUp ? uint64_t(end) - uint64_t(begin) : uint64_t(begin) - uint64_t(end);
  uint64_t size = isUp ? uint64_t(step) : 0 - uint64_t(step);
  uint64_t length = (isUp ? end > begin : begin > end) ? (distance - 1) / size + 1 : 0;
  if (length > uint64_t(kMostListed))
    fail(std::string("arange: expected a length of 0 to ") + kMostListedText + ", found " + std::to_string(length));
  Numbers result(static_cast<size_t>(length));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = wrapAdd(begin, wrapMul(static_cast<int64_t>(i), step));
  return listOf(std::move(result));
}

Integers take(Arguments a) {
  Numbers result;
  for (int64_t place : a[1]->numbers)
    result.push_back(a[0]->numbers[position("take", place, a[0]->numbers.size())]);
  return {a[1]->isList, std::move(result)};
}

Integers nonzero(Arguments a) {
  Numbers result;
  for (size_t i = 0; i < a[0]->numbers.size(); ++i)
    if (a[0]->numbers[i])
      result.push_back(static_cast<int64_t>(i));
  return listOf(std::move(result));
}

Integers scatterSum(Arguments a) {
  commonLength("scatter_sum", a, 0, 2);
  Numbers result(lengthOf("scatter_sum", a[2]->numbers[0]), 0);
  for (size_t i = 0; i < a[0]->numbers.size(); ++i) {
    int64_t &sum = result[position("scatter_sum", a[0]->numbers[i], result.size())];
    sum = wrapAdd(sum, at(a[1], i));
  }
  return listOf(std::move(result));
}

/// put(base, at, values): the last of several values for one place stays.
Integers put(Arguments a) {
  commonLength("put", a, 1, 3);
  Numbers result = a[0]->numbers;
  for (size_t i = 0; i < a[1]->numbers.size(); ++i)
    result[position("put", a[1]->numbers[i], result.size())] = at(a[2], i);
  return listOf(std::move(result));
}

Integers slice(Arguments a) {
  int64_t length = static_cast<int64_t>(a[0]->numbers.size()), step = a[3]->numbers[0];
  if (step < 1)
    fail("slice: expected a step of at least 1, found " + std::to_string(step));
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? wrapAdd(at, length) : at, 0, length); };
  Numbers result;
  for (int64_t i = bound(a[1]->numbers[0]), end = bound(a[2]->numbers[0]); i<end; i = i> end - step ? end : i + step)
    result.push_back(a[0]->numbers[static_cast<size_t>(i)]);
  return listOf(std::move(result));
}

Integers interleave(Arguments a) {
  if (a[0]->numbers.size() != a[1]->numbers.size())
    fail("interleave: expected as many counts as numbers, found " + std::to_string(a[1]->numbers.size()) + " and " +
         std::to_string(a[0]->numbers.size()));
  Numbers result;
  for (size_t i = 0; i < a[0]->numbers.size(); ++i) {
    int64_t count = a[1]->numbers[i];
    if (count < 0 || count > kMostListed - static_cast<int64_t>(result.size()))
      fail(std::string("interleave: expected counts of 0 or more that sum up to at most ") + kMostListedText +
           ", found " + std::to_string(count) + " at " + std::to_string(i));
    result.insert(result.end(), static_cast<size_t>(count), a[0]->numbers[i]);
  }
  return listOf(std::move(result));
}

Integers argsort(Arguments a) {
  Numbers order(a[0]->numbers.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](int64_t i) { return std::pair(a[0]->numbers[static_cast<size_t>(i)], i); };
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return key(i) < key(j); });
  return listOf(std::move(order));
}

Numbers sortedUnique(const Numbers &list) {
  Numbers all = list;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Integers inverse(Arguments a) {
  Numbers all = sortedUnique(a[0]->numbers), result;
  for (int64_t value : a[0]->numbers)
    result.push_back(std::lower_bound(all.begin(), all.end(), value) - all.begin());
  return listOf(std::move(result));
}

Integers diff(Arguments a) {
  Numbers result;
  for (size_t i = 1; i < a[0]->numbers.size(); ++i)
    result.push_back(wrapSub(a[0]->numbers[i], a[0]->numbers[i - 1]));
  return listOf(std::move(result));
}

Integers cumsum(Arguments a) {
  Numbers result = a[0]->numbers;
  std::partial_sum(result.begin(), result.end(), result.begin(), wrapAdd);
  return listOf(std::move(result));
}

Integers extremum(const char *name, Arguments a, Binary better) {
  if (a[0]->numbers.empty())
    fail(std::string(name) + ": expected a list that is not empty");
  return number(std::accumulate(a[0]->numbers.begin(), a[0]->numbers.end(), a[0]->numbers[0], better));
}

bool isTrue(int64_t value) { return value != 0; }

struct Function {
  const char *kinds; ///< of its arguments: `l` a list, `n` a number, `e` either
  Integers (*run)(Arguments);
};

const std::map<std::string, Function> kFunctions = {
    {"length", {"l", [](Arguments a) { return number(static_cast<int64_t>(a[0]->numbers.size())); }}},
    {"arange", {"nnn", arange}},
    {"full", {"nn", [](Arguments a) { return listOf(Numbers(lengthOf("full", a[0]->numbers[0]), a[1]->numbers[0])); }}},
    {"take", {"le", take}},
    {"nonzero", {"l", nonzero}},
    {"not", {"e", [](Arguments a) { return elementwise("not", a, [&](size_t i) { return int64_t(!at(a[0], i)); }); }}},
    {"neg",
     {"e", [](Arguments a) { return elementwise("neg", a, [&](size_t i) { return wrapSub(0, at(a[0], i)); }); }}},
    {"where",
     {"eee",
      [](Arguments a) {
        return elementwise("where", a, [&](size_t i) { return at(a[0], i) ? at(a[1], i) : at(a[2], i); });
      }}},
    {"max", {"l", [](Arguments a) { return extremum("max", a, kBinaries.at("maximum")); }}},
    {"min", {"l", [](Arguments a) { return extremum("min", a, kBinaries.at("minimum")); }}},
    {"any", {"l", [](Arguments a) { return number(std::any_of(a[0]->numbers.begin(), a[0]->numbers.end(), isTrue)); }}},
    {"all", {"l", [](Arguments a) { return number(std::all_of(a[0]->numbers.begin(), a[0]->numbers.end(), isTrue)); }}},
    {"sum",
     {"l",
      [](Arguments a) {
        return number(std::accumulate(a[0]->numbers.begin(), a[0]->numbers.end(), int64_t(0), wrapAdd));
      }}},
    {"scatter_sum", {"len", scatterSum}},
    {"put", {"lle", put}},
    {"cumsum", {"l", cumsum}},
    {"diff", {"l", diff}},
    {"flip", {"l", [](Arguments a) { return listOf(Numbers(a[0]->numbers.rbegin(), a[0]->numbers.rend())); }}},
    {"slice", {"lnnn", slice}},
    {"argsort", {"l", argsort}},
    {"unique", {"l", [](Arguments a) { return listOf(sortedUnique(a[0]->numbers)); }}},
    {"inverse", {"l", inverse}},
    {"interleave", {"ll", interleave}},
};

void checkCount(const std::string &name, size_t found, size_t wanted) {
  if (found != wanted)
    fail(name + ": expected " + std::to_string(wanted) + " arguments, found " + std::to_string(found));
}

} // namespace

Integers gnnc::triton::callFunction(const std::string &name, Arguments arguments) {
  if (auto binary = kBinaries.find(name); binary != kBinaries.end()) {
    checkCount(name, arguments.size(), 2);
    return elementwise(name.c_str(), arguments,
                       [&](size_t i) { return binary->second(at(arguments[0], i), at(arguments[1], i)); });
  }
  if (name == "cat") {
    Numbers result;
    int64_t length = 0;
    for (const Integers *part : arguments)
      length += static_cast<int64_t>(part->numbers.size());
    result.reserve(lengthOf("cat", length));
    for (const Integers *part : arguments)
      result.insert(result.end(), part->numbers.begin(), part->numbers.end());
    return listOf(std::move(result));
  }
  auto function = kFunctions.find(name);
  if (function == kFunctions.end())
    fail("the object was compiled by a newer gnnc: there is no function '" + name + "' of integers");
  std::string kinds = function->second.kinds;
  checkCount(name, arguments.size(), kinds.size());
  // A server has no tensors without axes: a number comes as a list of one.
  auto isNumber = [](const Integers &value) { return value.numbers.size() == 1; };
  for (size_t i = 0; i < kinds.size(); ++i)
    if ((kinds[i] == 'l' && !arguments[i]->isList) || (kinds[i] == 'n' && !isNumber(*arguments[i])))
      fail(name + ": expected a " + (kinds[i] == 'l' ? "list" : "number") + ", found a " +
           (kinds[i] == 'l' ? "number" : "list"));
  return function->second.run(arguments);
}
