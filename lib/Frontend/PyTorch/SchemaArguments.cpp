//===- SchemaArguments.cpp - Arguments of nodes ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/SchemaReader.h"

#include <cmath>

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;

/// A name that stands for a value of this kind.
std::optional<std::string> SchemaReader::readReference(const Cursor &at, const Scope &scope, Kind kind) {
  static const char *const kinds[] = {"a tensor", "an integer", "a boolean", "a float", "an object"};
  std::optional<std::string> name = values.readName(at);
  if (!name)
    return std::nullopt;
  auto found = scope.defined.find(*name);
  if (found != scope.defined.end() && found->second == kind)
    return name;
  std::string text =
      std::string("expected the name of ") + kinds[int(kind)] + " that is defined before, found " + quoteName(*name);
  if (found != scope.defined.end())
    text += std::string(", which is ") + kinds[int(found->second)];
  errors.report(at.pointer, text);
  return std::nullopt;
}

/// An empty name for None.
std::optional<std::string> SchemaReader::readOptionalTensor(const Cursor &at, const Scope &scope) {
  auto found = values.readUnion(at);
  if (!found)
    return std::nullopt;
  if (found->first == "as_none")
    return "";
  if (found->first == "as_tensor" && found->second.isObject())
    return readReference(found->second.member("name"), scope, Kind::Tensor);
  errors.report(at.pointer, "expected as_tensor or as_none, found " + quoteName(found->first));
  return std::nullopt;
}

std::optional<std::vector<std::string>> SchemaReader::readTensors(const Cursor &at, const Scope &scope, bool optional) {
  return at.all<std::string>([&](const Cursor &each) -> std::optional<std::string> {
    if (optional)
      return readOptionalTensor(each, scope);
    return each.isObject() ? readReference(each.member("name"), scope, Kind::Tensor) : std::nullopt;
  });
}

/// `{"as_name": …}`, or `{literal: …}` with a value that `read` reads.
template <typename T, typename F>
std::optional<std::variant<T, ValueName>> SchemaReader::readSymbolic(const Cursor &at, const Scope &scope, Kind kind,
                                                                     const char *literal, F read) {
  using Result = std::optional<std::variant<T, ValueName>>;
  auto found = values.readUnion(at);
  if (!found)
    return std::nullopt;
  if (found->first == "as_name") {
    std::optional<std::string> name = readReference(found->second, scope, kind);
    return name ? Result(ValueName{*name}) : std::nullopt;
  }
  if (found->first == literal) {
    std::optional<T> value = read(found->second);
    return value ? Result(*value) : std::nullopt;
  }
  errors.report(at.pointer, std::string("expected as_name or ") + literal + ", found " + quoteName(found->first));
  return std::nullopt;
}

/// Bounds that torch infers, and has programs compare sizes with, may be beyond 64 bits: such a bound is the largest or
/// the least number then, which says as much of a size.
static std::optional<int64_t> readInteger(const Cursor &at) {
  const json &value = at.value;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX))
    return INT64_MAX;
  // Beyond 64 bits numbers have been read as floats.
  if (value.is_number_float() && std::abs(value.get<double>()) >= 0x1p63 && std::isfinite(value.get<double>()))
    return value.get<double>() > 0 ? INT64_MAX : INT64_MIN;
  return at.integer(INT64_MIN, INT64_MAX);
}

/// The argument, or nothing if there is none.
template <typename T> static std::optional<Argument> argumentOf(std::optional<T> value) {
  return value ? std::optional<Argument>(std::in_place, std::move(*value)) : std::nullopt;
}

template <typename T> static std::optional<Argument> argumentOf(std::optional<std::variant<T, ValueName>> value) {
  if (!value)
    return std::nullopt;
  return std::visit([](auto &each) { return Argument(std::move(each)); }, *value);
}

/// Lists of numbers. Those of which not all are numbers are kept only for integers: sizes.
std::optional<Argument> SchemaReader::readNumbers(const std::string &kind, const Cursor &at, Scope &scope) {
  using Integer = std::variant<int64_t, ValueName>;
  auto floats = [&](const Cursor &each) { return values.readFloat(each); };
  auto booleans = [](const Cursor &each) { return each.boolean(); };
  if (kind == "as_ints") {
    auto numbers = at.all<Integer>([](const Cursor &each) -> std::optional<Integer> { return readInteger(each); });
    return numbers ? std::optional<Argument>(Integers{std::move(*numbers)}) : std::nullopt;
  }
  if (kind == "as_sym_ints") {
    auto numbers = at.all<Integer>(
        [&](const Cursor &each) { return readSymbolic<int64_t>(each, scope, Kind::Integer, "as_int", readInteger); });
    return numbers ? std::optional<Argument>(Integers{std::move(*numbers)}) : std::nullopt;
  }
  if (kind == "as_floats")
    return argumentOf(at.all<double>(floats));
  if (kind == "as_bools")
    return argumentOf(at.all<bool>(booleans));
  if (kind == "as_int")
    return argumentOf(readInteger(at));
  if (kind == "as_float")
    return argumentOf(values.readFloat(at));
  if (kind == "as_bool")
    return argumentOf(at.boolean());
  if (kind == "as_sym_int")
    return argumentOf(readSymbolic<int64_t>(at, scope, Kind::Integer, "as_int", readInteger));
  if (kind == "as_sym_float")
    return argumentOf(readSymbolic<double>(at, scope, Kind::Float, "as_float", floats));
  if (kind == "as_sym_bool")
    return argumentOf(readSymbolic<bool>(at, scope, Kind::Boolean, "as_bool", booleans));
  return Argument(OtherArgument{kind});
}

std::optional<Argument> SchemaReader::readArgument(const Cursor &at, Scope &scope) {
  auto found = values.readUnion(at);
  if (!found)
    return std::nullopt;
  auto &[kind, value] = *found;
  if (kind == "as_none" || kind == "as_device" || kind == "as_layout" || kind == "as_memory_format")
    return Argument(NoArgument());
  if (kind == "as_tensor") {
    std::optional<std::string> name =
        value.isObject() ? readReference(value.member("name"), scope, Kind::Tensor) : std::nullopt;
    return name ? std::optional<Argument>(ValueName{*name}) : std::nullopt;
  }
  if (kind == "as_optional_tensor") {
    std::optional<std::string> name = readOptionalTensor(value, scope);
    if (!name)
      return std::nullopt;
    return name->empty() ? Argument(NoArgument()) : Argument(ValueName{*name});
  }
  if (kind == "as_tensors" || kind == "as_optional_tensors") {
    std::optional<std::vector<std::string>> names = readTensors(value, scope, kind == "as_optional_tensors");
    return names ? std::optional<Argument>(ValueNames{std::move(*names)}) : std::nullopt;
  }
  if (kind == "as_string")
    return argumentOf(value.string());
  if (kind == "as_scalar_type")
    return argumentOf(values.readScalarType(value));
  if (kind == "as_graph") {
    auto graph = std::make_shared<Graph>();
    std::string outer = node;
    if (!value.isObject() || !readGraph(value.member("graph"), *graph, scope.depth + 1))
      return std::nullopt;
    node = outer;
    return Argument(std::shared_ptr<const Graph>(std::move(graph)));
  }
  return readNumbers(kind, value, scope);
}
