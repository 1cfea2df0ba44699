//===- Source.cpp - What a graph's data are computed from -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Source.h"
#include "SourceFunctions.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

using namespace gnnc::triton;

namespace {

constexpr int kMostLevels = 200;

class Parser {
public:
  explicit Parser(const std::string &text) : text(text) {}

  Source whole() {
    Source result = source(0);
    skip();
    if (at != text.size())
      fail();
    return result;
  }

private:
  [[noreturn]] void fail() const {
    throw std::runtime_error("the description has a source that cannot be read: '" + text + "'");
  }
  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool take(char c) {
    skip();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail();
  }
  bool isNumber() {
    skip();
    return at < text.size() && (text[at] == '-' || std::isdigit(static_cast<unsigned char>(text[at])));
  }
  int64_t number() {
    skip();
    size_t length = 0;
    int64_t value = 0;
    try {
      value = std::stoll(text.substr(at), &length);
    } catch (const std::exception &) {
      fail();
    }
    at += length;
    return value;
  }

  Source source(int level) {
    if (level > kMostLevels)
      fail();
    skip();
    size_t begin = at;
    Source result = term(level);
    result.text = text.substr(begin, at - begin);
    return result;
  }

  Source term(int level) {
    Source result;
    if (take('[')) {
      result.kind = Source::Kind::List;
      while (!take(']')) {
        if (!result.numbers.empty())
          expect(',');
        result.numbers.push_back(number());
      }
      return result;
    }
    if (isNumber()) {
      result.numbers.push_back(number());
      return result;
    }
    auto isOfName = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    while (at < text.size() && isOfName(text[at]))
      result.name += text[at++];
    if (result.name.empty())
      fail();
    if (take('(')) {
      result.kind = Source::Kind::Call;
      while (!take(')')) {
        if (!result.parts.empty())
          expect(',');
        result.parts.push_back(source(level + 1));
      }
      return result;
    }
    result.kind = Source::Kind::Tensor;
    while (take('[')) {
      result.numbers.push_back(number());
      expect(']');
    }
    return result;
  }

  const std::string &text;
  size_t at = 0;
};

/// `size(x, 0)` and `column(x, 2)` have a tensor and a number, `flat(x, -1, 3)` the sizes of all its axes.
bool isOfTensor(const Source &source) {
  return source.kind == Source::Kind::Call &&
         (source.name == "size" || source.name == "column" || source.name == "flat");
}

void checkOfTensor(const Source &source) {
  bool fits = source.parts.size() == 2 || (source.name == "flat" && source.parts.size() > 1);
  for (size_t i = 0; i < source.parts.size(); ++i)
    fits &= source.parts[i].kind == (i == 0 ? Source::Kind::Tensor : Source::Kind::Number);
  if (!fits || !source.parts[0].numbers.empty())
    throw std::runtime_error(source.text + ": expected a tensor and a number");
}

} // namespace

Source gnnc::triton::parseSource(const std::string &text) { return Parser(text).whole(); }

void gnnc::triton::addReadings(const Source &source, std::map<std::string, Reading> &readings) {
  if (isOfTensor(source)) {
    checkOfTensor(source);
    Reading &reading = readings[source.parts[0].name];
    bool isColumn = source.name == "column", isFlat = source.name == "flat";
    reading.numbers |= isColumn || isFlat;
    reading.axes = std::max(reading.axes, isColumn ? 2
                                          : isFlat ? source.parts.size() - 1
                                                   : static_cast<size_t>(source.parts[1].numbers[0]) + 1);
    return;
  }
  if (source.kind == Source::Kind::Tensor) {
    Reading &reading = readings[source.name];
    reading.numbers = true;
    reading.axes = std::max(reading.axes, source.numbers.size() + 1);
    if (!source.numbers.empty())
      reading.rows = std::max(reading.rows, source.numbers[0] + 1);
  }
  for (const Source &part : source.parts)
    addReadings(part, readings);
}

const Integers &SourceValues::evaluate(const Source &source) {
  auto found = known.find(source.text);
  return found != known.end() ? found->second : known.emplace(source.text, compute(source)).first->second;
}

Integers SourceValues::compute(const Source &source) {
  switch (source.kind) {
  case Source::Kind::Number:
    return {false, source.numbers};
  case Source::Kind::List:
    return {true, source.numbers};
  case Source::Kind::Tensor:
    return tensor(source);
  case Source::Kind::Call:
    return call(source);
  }
  return {};
}

const SourceTensor &SourceValues::named(const std::string &name) {
  const SourceTensor *found = find(name);
  if (!found)
    throw std::runtime_error("input '" + name + "' is missing");
  return *found;
}

const std::vector<int64_t> &SourceValues::contents(const std::string &name, const SourceTensor &tensor) {
  auto found = read.find(name);
  return found != read.end() ? found->second : read.emplace(name, tensor.numbers()).first->second;
}

/// A tensor of one axis, or one row of a tensor of two, and so on.
Integers SourceValues::tensor(const Source &source) {
  const SourceTensor &of = named(source.name);
  size_t rows = source.numbers.size();
  if (of.shape.size() > rows + 1 || of.shape.size() < rows)
    throw std::runtime_error("input '" + source.name + "': expected " + std::to_string(rows + 1) + " axes, found " +
                             std::to_string(of.shape.size()));
  const std::vector<int64_t> &all = contents(source.name, of);
  size_t begin = 0, length = all.size();
  for (size_t i = 0; i < rows; ++i) {
    int64_t row = source.numbers[i];
    if (row < 0 || row >= of.shape[i])
      throw std::runtime_error("input '" + source.name + "': expected more than " + std::to_string(row) +
                               " rows, found " + std::to_string(of.shape[i]));
    length /= static_cast<size_t>(of.shape[i]);
    begin += static_cast<size_t>(row) * length;
  }
  if (of.shape.size() == rows)
    return {false, {all[begin]}};
  return {true, {all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(begin + length)}};
}

Integers SourceValues::call(const Source &source) {
  if (isOfTensor(source)) {
    checkOfTensor(source);
    const std::string &name = source.parts[0].name;
    const SourceTensor &of = named(name);
    int64_t number = source.parts[1].numbers[0];
    int64_t axes = static_cast<int64_t>(of.shape.size());
    if (source.name == "size") {
      if (number < 0 || number >= axes)
        throw std::runtime_error("input '" + name + "': expected at least " + std::to_string(number + 1) +
                                 " axes, found " + std::to_string(axes));
      return {false, {of.shape[static_cast<size_t>(number)]}};
    }
    if (source.name == "flat") {
      bool fits = axes + 1 == static_cast<int64_t>(source.parts.size());
      for (size_t i = 1; fits && i < source.parts.size(); ++i)
        fits = source.parts[i].numbers[0] < 0 || source.parts[i].numbers[0] == of.shape[i - 1];
      if (!fits)
        throw std::runtime_error("input '" + name + "': its shape is not that of " + source.text);
      return {true, contents(name, of)};
    }
    if (axes != 2 || number < 0 || number >= of.shape[1])
      throw std::runtime_error("input '" + name + "': expected 2 axes and more than " + std::to_string(number) +
                               " columns");
    Integers result{true, {}};
    const std::vector<int64_t> &all = contents(name, of);
    for (size_t i = static_cast<size_t>(number); i < all.size(); i += static_cast<size_t>(of.shape[1]))
      result.numbers.push_back(all[i]);
    return result;
  }
  if (source.name == "at_least" || source.name == "at_most") {
    if (source.parts.size() != 2 || source.parts[1].kind != Source::Kind::Number)
      throw std::runtime_error(source.text + ": expected a number and its bound");
    const Source *of = &source.parts[0];
    const Integers &value = evaluate(*of);
    int64_t bound = source.parts[1].numbers[0];
    bool isLeast = source.name == "at_least";
    while (of->kind == Source::Kind::Call && (of->name == "at_least" || of->name == "at_most"))
      of = &of->parts[0];
    if (value.numbers.size() != 1 || (isLeast ? value.numbers[0] < bound : value.numbers[0] > bound))
      throw std::runtime_error(of->text + ": expected " + std::to_string(bound) + " or " + (isLeast ? "more" : "less") +
                               ", as the program was exported for, found " +
                               (value.numbers.size() != 1 ? "a list" : std::to_string(value.numbers[0])));
    return value;
  }
  std::vector<const Integers *> arguments;
  for (const Source &part : source.parts)
    arguments.push_back(&evaluate(part));
  return callFunction(source.name, arguments);
}
