//===- GraphSource.cpp - What a graph's data are computed from ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphSource.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace gnnc;
using llvm::StringRef;
using llvm::Twine;

namespace {

using Shared = std::shared_ptr<const Integers>;
using Result = llvm::Expected<Shared>;
using Arguments = llvm::ArrayRef<Shared>;

llvm::Error wrong(const Twine &what) { return llvm::createStringError(what); }

Result number(int64_t value) { return std::make_shared<Integers>(Integers{false, {value}}); }
Result listOf(std::vector<int64_t> numbers) { return std::make_shared<Integers>(Integers{true, std::move(numbers)}); }

int64_t wrapAdd(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t wrapSub(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
int64_t wrapMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

/// Rounded down, as in Python; by 0 it is 0.
int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return wrapSub(0, a);
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

using Binary = int64_t (*)(int64_t, int64_t);
const std::map<StringRef, Binary> &binaries() {
  static const std::map<StringRef, Binary> table = {
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
  return table;
}

/// The common length of lists; numbers go with any. -1: only numbers.
llvm::Expected<int64_t> commonLength(StringRef function, Arguments arguments) {
  int64_t length = -1;
  for (const Shared &argument : arguments) {
    if (!argument->isList)
      continue;
    int64_t own = int64_t(argument->numbers.size());
    if (length >= 0 && own != length)
      return wrong(function + ": expected lists of one length, found " + Twine(length) + " and " + Twine(own));
    length = own;
  }
  return length;
}

template <typename Function> Result elementwise(StringRef name, Arguments arguments, Function function) {
  llvm::Expected<int64_t> length = commonLength(name, arguments);
  if (!length)
    return length.takeError();
  std::vector<int64_t> result(size_t(*length < 0 ? 1 : *length)), row(arguments.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (auto [j, argument] : llvm::enumerate(arguments))
      row[j] = argument->numbers[argument->isList ? i : 0];
    result[i] = function(row);
  }
  return std::make_shared<Integers>(Integers{*length >= 0, std::move(result)});
}

struct Function {
  StringRef kinds; ///< of its arguments: `l` a list, `n` a number, `e` either
  Result (*run)(Arguments);
};

llvm::Error checkPosition(StringRef function, int64_t at, size_t size) {
  if (at >= 0 && uint64_t(at) < size)
    return llvm::Error::success();
  return wrong(function + ": expected a position from 0 to " + Twine(int64_t(size) - 1) + ", found " + Twine(at));
}

llvm::Error checkLength(StringRef function, int64_t length) {
  if (length >= 0 && length <= GraphSources::maxLength)
    return llvm::Error::success();
  return wrong(function + ": expected a length of 0 to 2^31, found " + Twine(length));
}

Result arange(Arguments a) {
  int64_t begin = a[0]->numbers[0], end = a[1]->numbers[0], step = a[2]->numbers[0];
  if (step == 0)
    return wrong("arange: expected a step that is not 0");
  int64_t length = step > 0 ? (end > begin ? (end - begin + step - 1) / step : 0)
                            : (begin > end ? (begin - end - step - 1) / -step : 0);
  if (llvm::Error error = checkLength("arange", length))
    return std::move(error);
  std::vector<int64_t> result(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i)
    result[size_t(i)] = begin + i * step;
  return listOf(std::move(result));
}

Result take(Arguments a) {
  const std::vector<int64_t> &from = a[0]->numbers;
  std::vector<int64_t> result;
  result.reserve(a[1]->numbers.size());
  for (int64_t at : a[1]->numbers) {
    if (llvm::Error error = checkPosition("take", at, from.size()))
      return std::move(error);
    result.push_back(from[size_t(at)]);
  }
  if (!a[1]->isList)
    return number(result[0]);
  return listOf(std::move(result));
}

Result scatterSum(Arguments a) {
  llvm::Expected<int64_t> length = commonLength("scatter_sum", a.take_front(2));
  if (!length)
    return length.takeError();
  if (llvm::Error error = checkLength("scatter_sum", a[2]->numbers[0]))
    return std::move(error);
  std::vector<int64_t> result(static_cast<size_t>(a[2]->numbers[0]), 0);
  for (size_t i = 0; i < a[0]->numbers.size(); ++i) {
    int64_t at = a[0]->numbers[i];
    if (llvm::Error error = checkPosition("scatter_sum", at, result.size()))
      return std::move(error);
    result[size_t(at)] = wrapAdd(result[size_t(at)], a[1]->numbers[a[1]->isList ? i : 0]);
  }
  return listOf(std::move(result));
}

/// put(base, at, values): the last of several values for one place stays.
Result put(Arguments a) {
  llvm::Expected<int64_t> length = commonLength("put", a.drop_front());
  if (!length)
    return length.takeError();
  std::vector<int64_t> result = a[0]->numbers;
  for (size_t i = 0; i < a[1]->numbers.size(); ++i) {
    int64_t at = a[1]->numbers[i];
    if (llvm::Error error = checkPosition("put", at, result.size()))
      return std::move(error);
    result[size_t(at)] = a[2]->numbers[a[2]->isList ? i : 0];
  }
  return listOf(std::move(result));
}

Result slice(Arguments a) {
  int64_t length = int64_t(a[0]->numbers.size()), step = a[3]->numbers[0];
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? wrapAdd(at, length) : at, 0, length); };
  if (step < 1)
    return wrong("slice: expected a step of at least 1, found " + Twine(step));
  std::vector<int64_t> result;
  for (int64_t i = bound(a[1]->numbers[0]), end = bound(a[2]->numbers[0]); i<end; i = i> end - step ? end : i + step)
    result.push_back(a[0]->numbers[size_t(i)]);
  return listOf(std::move(result));
}

Result interleave(Arguments a) {
  if (a[0]->numbers.size() != a[1]->numbers.size())
    return wrong("interleave: expected as many counts as numbers, found " + Twine(a[1]->numbers.size()) + " and " +
                 Twine(a[0]->numbers.size()));
  std::vector<int64_t> result;
  for (auto [value, count] : llvm::zip(a[0]->numbers, a[1]->numbers)) {
    if (count < 0 || count > GraphSources::maxLength - int64_t(result.size()))
      return wrong("interleave: expected counts of 0 or more that sum up to at most 2^31, found " + Twine(count));
    result.insert(result.end(), size_t(count), value);
  }
  return listOf(std::move(result));
}

Result argsort(Arguments a) {
  std::vector<int64_t> order(a[0]->numbers.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t i, int64_t j) { return a[0]->numbers[size_t(i)] < a[0]->numbers[size_t(j)]; });
  return listOf(std::move(order));
}

std::vector<int64_t> sortedUnique(const Integers &list) {
  std::vector<int64_t> all = list.numbers;
  llvm::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result extremum(StringRef name, Arguments a, Binary better) {
  if (a[0]->numbers.empty())
    return wrong(name + ": expected a list that is not empty");
  int64_t best = a[0]->numbers[0];
  for (int64_t value : a[0]->numbers)
    best = better(best, value);
  return number(best);
}

bool isTrue(int64_t value) { return value != 0; }

const std::map<StringRef, Function> &functions() {
  static const std::map<StringRef, Function> table = {
      {"length", {"l", [](Arguments a) { return number(int64_t(a[0]->numbers.size())); }}},
      {"arange", {"nnn", arange}},
      {"full",
       {"nn",
        [](Arguments a) -> Result {
          if (llvm::Error error = checkLength("full", a[0]->numbers[0]))
            return std::move(error);
          return listOf(std::vector<int64_t>(static_cast<size_t>(a[0]->numbers[0]), a[1]->numbers[0]));
        }}},
      {"take", {"le", take}},
      {"nonzero",
       {"l",
        [](Arguments a) {
          std::vector<int64_t> result;
          for (auto [i, value] : llvm::enumerate(a[0]->numbers))
            if (value)
              result.push_back(int64_t(i));
          return listOf(std::move(result));
        }}},
      {"not", {"e", [](Arguments a) { return elementwise("not", a, [](auto &row) { return int64_t(!row[0]); }); }}},
      {"neg", {"e", [](Arguments a) { return elementwise("neg", a, [](auto &row) { return wrapSub(0, row[0]); }); }}},
      {"where",
       {"eee",
        [](Arguments a) { return elementwise("where", a, [](auto &row) { return row[0] ? row[1] : row[2]; }); }}},
      {"max", {"l", [](Arguments a) { return extremum("max", a, binaries().at("maximum")); }}},
      {"min", {"l", [](Arguments a) { return extremum("min", a, binaries().at("minimum")); }}},
      {"any", {"l", [](Arguments a) { return number(llvm::any_of(a[0]->numbers, isTrue)); }}},
      {"all", {"l", [](Arguments a) { return number(llvm::all_of(a[0]->numbers, isTrue)); }}},
      {"sum",
       {"l",
        [](Arguments a) {
          return number(std::accumulate(a[0]->numbers.begin(), a[0]->numbers.end(), int64_t(0), wrapAdd));
        }}},
      {"scatter_sum", {"len", scatterSum}},
      {"put", {"lle", put}},
      {"cumsum",
       {"l",
        [](Arguments a) {
          std::vector<int64_t> result = a[0]->numbers;
          std::partial_sum(result.begin(), result.end(), result.begin(), wrapAdd);
          return listOf(std::move(result));
        }}},
      {"diff",
       {"l",
        [](Arguments a) {
          std::vector<int64_t> result;
          for (size_t i = 1; i < a[0]->numbers.size(); ++i)
            result.push_back(wrapSub(a[0]->numbers[i], a[0]->numbers[i - 1]));
          return listOf(std::move(result));
        }}},
      {"flip",
       {"l", [](Arguments a) { return listOf(std::vector<int64_t>(a[0]->numbers.rbegin(), a[0]->numbers.rend())); }}},
      {"slice", {"lnnn", slice}},
      {"argsort", {"l", argsort}},
      {"unique", {"l", [](Arguments a) { return listOf(sortedUnique(*a[0])); }}},
      {"inverse",
       {"l",
        [](Arguments a) {
          std::vector<int64_t> all = sortedUnique(*a[0]), result;
          for (int64_t value : a[0]->numbers)
            result.push_back(llvm::lower_bound(all, value) - all.begin());
          return listOf(std::move(result));
        }}},
      {"interleave", {"ll", interleave}},
  };
  return table;
}

} // namespace

namespace gnnc {

class SourceParser {
public:
  SourceParser(GraphSources &sources, StringRef text) : sources(sources), rest(text) {}

  Result whole() {
    Result result = source(0);
    rest = rest.ltrim();
    if (result && !rest.empty())
      return wrong("expected the end of the source, found '" + rest + "'");
    return result;
  }

private:
  bool consume(char c) {
    rest = rest.ltrim();
    if (!rest.starts_with(StringRef(&c, 1)))
      return false;
    rest = rest.drop_front();
    return true;
  }
  llvm::Error expect(char c) {
    if (consume(c))
      return llvm::Error::success();
    return wrong("expected '" + Twine(c) + "', found '" + rest + "'");
  }
  llvm::Expected<int64_t> integer() {
    rest = rest.ltrim();
    int64_t value = 0;
    if (rest.consumeInteger(10, value))
      return wrong("expected an integer, found '" + rest + "'");
    return value;
  }

  Result source(unsigned depth) {
    if (depth > 200)
      return wrong("expected a source of at most 200 levels");
    rest = rest.ltrim();
    StringRef begin = rest;
    Result result = term(depth);
    if (result)
      sources.known.try_emplace(begin.drop_back(rest.size()).str(), *result);
    return result;
  }

  Result term(unsigned depth) {
    if (consume('['))
      return literal();
    if (rest.starts_with("-") || (!rest.empty() && llvm::isDigit(rest.front()))) {
      llvm::Expected<int64_t> value = integer();
      if (!value)
        return value.takeError();
      return number(*value);
    }
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty())
      return wrong("expected a name, a number or '[', found '" + rest + "'");
    rest = rest.drop_front(name.size());
    if (consume('('))
      return name == "size" ? size() : name == "column" ? column() : name == "flat" ? flat() : call(name, depth);
    return tensor(name);
  }

  Result literal() {
    std::vector<int64_t> numbers;
    while (!consume(']')) {
      if (!numbers.empty())
        if (llvm::Error error = expect(','))
          return std::move(error);
      llvm::Expected<int64_t> value = integer();
      if (!value)
        return value.takeError();
      numbers.push_back(*value);
    }
    return listOf(std::move(numbers));
  }

  llvm::Expected<SourceTensor> named(StringRef name) {
    std::optional<SourceTensor> found = sources.find(name);
    if (!found)
      return wrong("there is no tensor '" + name + "'");
    return std::move(*found);
  }

  /// `x, 1)`: a tensor and a number.
  llvm::Expected<std::pair<StringRef, int64_t>> tensorAndNumber(std::optional<SourceTensor> &found) {
    rest = rest.ltrim();
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    llvm::Expected<SourceTensor> tensor = named(name);
    if (!tensor)
      return tensor.takeError();
    found = std::move(*tensor);
    if (llvm::Error error = expect(','))
      return std::move(error);
    llvm::Expected<int64_t> value = integer();
    if (!value)
      return value.takeError();
    if (llvm::Error error = expect(')'))
      return std::move(error);
    return std::pair(name, *value);
  }

  /// The elements of a tensor of two axes that have one place along the second.
  Result column() {
    std::optional<SourceTensor> found;
    auto arguments = tensorAndNumber(found);
    if (!arguments)
      return arguments.takeError();
    auto [name, at] = *arguments;
    if (found->shape.size() != 2)
      return wrong("tensor '" + name + "': expected 2 axes, found " + Twine(found->shape.size()));
    if (at < 0 || at >= found->shape[1])
      return wrong("tensor '" + name + "': expected more than " + Twine(at) + " columns, found " +
                   Twine(found->shape[1]));
    llvm::Expected<std::vector<int64_t>> all = found->read();
    if (!all)
      return all.takeError();
    std::vector<int64_t> result;
    result.reserve(size_t(found->shape[0]));
    for (size_t i = size_t(at); i < all->size(); i += size_t(found->shape[1]))
      result.push_back((*all)[i]);
    return listOf(std::move(result));
  }

  /// `flat(x, -1, 3)`: all elements of a tensor, whose axes have these sizes, or any where it is -1.
  Result flat() {
    rest = rest.ltrim();
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    llvm::Expected<SourceTensor> found = named(name);
    if (!found)
      return found.takeError();
    std::vector<int64_t> sizes;
    while (!consume(')')) {
      if (llvm::Error error = expect(','))
        return std::move(error);
      llvm::Expected<int64_t> size = integer();
      if (!size)
        return size.takeError();
      sizes.push_back(*size);
    }
    if (sizes.size() != found->shape.size())
      return wrong("tensor '" + name + "': expected " + Twine(sizes.size()) + " axes, found " +
                   Twine(found->shape.size()));
    for (auto [axis, size] : llvm::enumerate(sizes))
      if (size >= 0 && size != found->shape[axis])
        return wrong("tensor '" + name + "': expected axis " + Twine(axis) + " to have size " + Twine(size) +
                     ", found " + Twine(found->shape[axis]));
    llvm::Expected<std::vector<int64_t>> all = found->read();
    if (!all)
      return all.takeError();
    return listOf(std::move(*all));
  }

  Result size() {
    std::optional<SourceTensor> found;
    auto arguments = tensorAndNumber(found);
    if (!arguments)
      return arguments.takeError();
    StringRef name = arguments->first;
    int64_t *axis = &arguments->second;
    if (*axis < 0 || *axis >= int64_t(found->shape.size()))
      return wrong("tensor '" + name + "': expected at least " + Twine(*axis + 1) + " axes, found " +
                   Twine(found->shape.size()));
    return number(found->shape[size_t(*axis)]);
  }

  /// A tensor of one axis, or one row of a tensor of two, and so on.
  Result tensor(StringRef name) {
    llvm::Expected<SourceTensor> found = named(name);
    if (!found)
      return found.takeError();
    std::vector<int64_t> rows;
    while (consume('[')) {
      llvm::Expected<int64_t> row = integer();
      if (!row)
        return row.takeError();
      rows.push_back(*row);
      if (llvm::Error error = expect(']'))
        return std::move(error);
    }
    if (found->shape.size() > rows.size() + 1 || found->shape.size() < rows.size())
      return wrong("tensor '" + name + "': expected " + Twine(rows.size()) + " or " + Twine(rows.size() + 1) +
                   " axes, found " + Twine(found->shape.size()));
    llvm::Expected<std::vector<int64_t>> all = found->read();
    if (!all)
      return all.takeError();
    size_t begin = 0, length = all->size();
    for (auto [i, row] : llvm::enumerate(rows)) {
      if (row < 0 || row >= found->shape[i])
        return wrong("tensor '" + name + "': expected more than " + Twine(row) + " rows, found " +
                     Twine(found->shape[i]));
      length /= size_t(found->shape[i]);
      begin += size_t(row) * length;
    }
    if (found->shape.size() == rows.size())
      return number((*all)[begin]);
    return listOf({all->begin() + begin, all->begin() + begin + length});
  }

  /// `size(x, 0), 100)`: a number that must be within a bound.
  Result bounded(bool isLeast, unsigned depth) {
    rest = rest.ltrim();
    StringRef text = rest;
    Result value = source(depth + 1);
    if (!value)
      return value;
    text = text.drop_back(rest.size()).rtrim();
    while (text.consume_front("at_least(") || text.consume_front("at_most("))
      text = text.rsplit(',').first.trim();
    if (llvm::Error error = expect(','))
      return std::move(error);
    llvm::Expected<int64_t> bound = integer();
    if (!bound)
      return bound.takeError();
    if (llvm::Error error = expect(')'))
      return std::move(error);
    if ((*value)->isList)
      return wrong(text + ": expected a number, found a list");
    int64_t found = (*value)->numbers[0];
    if (isLeast ? found < *bound : found > *bound)
      return wrong(text + ": expected " + Twine(*bound) + " or " + (isLeast ? "more" : "less") +
                   ", as the program was exported for, found " + Twine(found));
    return value;
  }

  Result call(StringRef name, unsigned depth) {
    if (name == "at_least" || name == "at_most")
      return bounded(name == "at_least", depth);
    std::vector<Shared> arguments;
    while (!consume(')')) {
      if (!arguments.empty())
        if (llvm::Error error = expect(','))
          return std::move(error);
      Result argument = source(depth + 1);
      if (!argument)
        return argument;
      arguments.push_back(*argument);
    }
    auto checkCount = [&](size_t wanted) -> llvm::Error {
      if (arguments.size() == wanted)
        return llvm::Error::success();
      return wrong(name + ": expected " + Twine(wanted) + " arguments, found " + Twine(arguments.size()));
    };
    if (auto binary = binaries().find(name); binary != binaries().end()) {
      if (llvm::Error error = checkCount(2))
        return std::move(error);
      return elementwise(name, arguments, [&](auto &row) { return binary->second(row[0], row[1]); });
    }
    if (name == "cat") {
      std::vector<int64_t> result;
      for (const Shared &part : arguments)
        llvm::append_range(result, part->numbers);
      return listOf(std::move(result));
    }
    auto function = functions().find(name);
    if (function == functions().end())
      return wrong("there is no function '" + name + "' of integers");
    if (llvm::Error error = checkCount(function->second.kinds.size()))
      return std::move(error);
    for (auto [kind, argument] : llvm::zip(function->second.kinds, arguments))
      if ((kind == 'l' && !argument->isList) || (kind == 'n' && argument->isList))
        return wrong(name + ": expected a " + (kind == 'l' ? "list" : "number") + ", found a " +
                     (kind == 'l' ? "number" : "list"));
    return function->second.run(arguments);
  }

  GraphSources &sources;
  StringRef rest;
};

} // namespace gnnc

Result GraphSources::evaluate(StringRef source) {
  if (auto found = known.find(source.str()); found != known.end())
    return found->second;
  Result result = SourceParser(*this, source).whole();
  if (result)
    known.try_emplace(source.str(), *result);
  return result;
}
