//===- JSONReader.cpp - Documents and the values they give ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JSON/JSONReader.h"
#include "gnnc/Frontend/JSON.h"
#include "JSON/JSONNames.h"

using namespace gnnc::frontend;
using llvm::StringRef;

llvm::Expected<ModelSpec> gnnc::frontend::readJSON(StringRef text) {
  json document = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return llvm::createStringError(syntaxError(text));
  return JSONReader().read(document);
}

llvm::Expected<ModelSpec> JSONReader::read(const json &document) {
  Cursor root(document, "", errors);
  auto failure = [&] { return llvm::createStringError(errors.message()); };
  // Of another version the members may be others.
  std::optional<int64_t> version;
  if (root.isObject() && root.has("version")) {
    version = root["version"].integer(0, INT64_MAX);
    if (version && *version != 1)
      errors.report("/version", "expected 1, found " + std::to_string(*version));
  }
  if (!errors.message().empty() ||
      !root.isObject({"version", "name", "double", "files", "spaces", "maps", "inputs", "sparse", "params",
                      "unused_params", "states", "ops", "outputs", "programs"},
                     {"version", "name", "outputs"}))
    return failure();
  std::optional<std::string> name = root["name"].string();
  std::optional<bool> doublePrecision = root.has("double") ? root["double"].boolean() : false;
  std::optional<std::vector<std::string>> paths =
      root.has("files") ? root["files"].strings() : std::vector<std::string>();
  if (!version || !name || !doublePrecision || !paths)
    return failure();
  files = paths->size();
  if (root.has("unused_params")) {
    std::optional<std::vector<std::string>> names = root["unused_params"].strings();
    if (!names)
      return failure();
    for (std::string &each : *names)
      builder.unusedParam(std::move(each));
  }

  auto each = [&](const char *key, auto readElement) {
    if (!root.has(key))
      return true;
    std::optional<size_t> count = root[key].arraySize();
    for (size_t i = 0; count && i < *count; ++i)
      if (!readElement(root[key][i]))
        return false;
    return count.has_value();
  };
  if (!readStructure(root) || !each("inputs", [&](const Cursor &at) { return readGiven(at, OpCode::Input); }) ||
      !each("sparse", [&](const Cursor &at) { return readSparse(at); }) ||
      !each("params", [&](const Cursor &at) { return readGiven(at, OpCode::Param); }) ||
      !each("states", [&](const Cursor &at) { return readGiven(at, OpCode::State); }) ||
      !each("ops", [&](const Cursor &at) { return readOp(at); }) ||
      !each("outputs", [&](const Cursor &at) { return readOutput(at); }) ||
      !each("programs", [&](const Cursor &at) { return readProgram(at); }))
    return failure();
  current = "/outputs";
  std::optional<ModelSpec> model = builder.finish(*name, *doublePrecision, std::move(*paths));
  if (!model)
    return failure();
  return std::move(*model);
}

/// A place in the source text; zero where there is none. Files are checked, so that nobody indexes with a wrong one.
Loc JSONReader::locOf(const Cursor &at) {
  if (!at.has("loc"))
    return Loc();
  Cursor place = at["loc"];
  std::optional<size_t> count = place.arraySize();
  if (count && *count != 4) {
    errors.report(place.pointer, "expected [file, line, column, length]");
    return Loc();
  }
  std::array<std::optional<int64_t>, 4> numbers;
  for (size_t i = 0; count && i < 4; ++i)
    numbers[i] = place[i].integer(0, i == 0 ? int64_t(files) - 1 : INT32_MAX);
  if (!numbers[0] || !numbers[1] || !numbers[2] || !numbers[3])
    return Loc();
  return {unsigned(*numbers[0]), unsigned(*numbers[1]), unsigned(*numbers[2]), unsigned(*numbers[3])};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<Id> JSONReader::valueAt(const Cursor &at) {
  std::optional<std::string> name = at.string();
  if (!name)
    return std::nullopt;
  if (auto found = values.find(*name); found != values.end())
    return found->second;
  errors.report(at.pointer, "expected the name of an earlier value, found " + quoteName(*name));
  return std::nullopt;
}

bool JSONReader::nameValue(const Cursor &at, const std::string &name, MaybeId id) {
  if (!id || errors.any())
    return false;
  if (!values.try_emplace(name, *id).second)
    return errors.report(at.pointer + "/name", "there is already a value " + quoteName(name));
  return true;
}

/// A name and a size each; a size alone is an axis called by its place from the end.
std::optional<std::vector<Axis>> JSONReader::axesAt(const Cursor &at) {
  std::optional<size_t> count = at.arraySize();
  size_t i = 0;
  return at.all<Axis>([&](const Cursor &each) -> std::optional<Axis> {
    size_t position = i++;
    if (each.value.is_number()) {
      std::optional<int64_t> size = each.integer(1, ModelBuilder::maxRowElements);
      return size ? std::optional(Axis{"_" + std::to_string(*count - position), *size}) : std::nullopt;
    }
    if (!each.isObject({"name", "size"}, {"name", "size"}))
      return std::nullopt;
    std::optional<std::string> name = each["name"].string();
    std::optional<int64_t> size = each["size"].integer(1, ModelBuilder::maxRowElements);
    return name && size ? std::optional(Axis{*name, *size}) : std::nullopt;
  });
}

bool JSONReader::readGiven(const Cursor &at, OpCode op) {
  current = at.pointer;
  bool isInput = op == OpCode::Input;
  if (!(isInput ? at.isObject({"name", "on", "axes", "default", "loc"}, {"name", "axes"})
                : at.isObject({"name", "on", "axes", "loc"}, {"name", "axes"})))
    return false;
  std::optional<std::string> name = at["name"].string();
  std::optional<Id> residency = at.has("on") ? spaceAt(at["on"]) : kNone;
  std::optional<std::vector<Axis>> axes = axesAt(at["axes"]);
  std::optional<double> absent;
  if (at.has("default") && !(absent = at["default"].number()))
    return false;
  Loc loc = locOf(at);
  if (!name || !residency || !axes || errors.any())
    return false;
  MaybeId id = isInput               ? builder.input(*name, *residency, *axes, absent, loc)
               : op == OpCode::Param ? builder.param(*name, *residency, *axes, loc)
                                     : builder.state(*name, *residency, *axes, loc);
  return nameValue(at, *name, id);
}

bool JSONReader::readSparse(const Cursor &at) {
  current = at.pointer;
  if (!at.isObject({"name", "entries", "row", "column", "value"}, {"name", "entries", "row", "column", "value"}))
    return false;
  std::optional<std::string> name = at["name"].string();
  std::optional<Id> entries = spaceAt(at["entries"]);
  std::optional<Id> row = mapAt(at["row"]), column = mapAt(at["column"]);
  std::optional<Id> value = valueAt(at["value"]);
  if (!name || !entries || !row || !column || !value)
    return false;
  return builder.declareSparse({*name, *entries, *row, *column, *value}, Loc());
}

std::optional<Output> JSONReader::outputAt(const Cursor &at) {
  if (!at.isObject({"name", "value"}, {"name", "value"}))
    return std::nullopt;
  std::optional<std::string> name = at["name"].string();
  std::optional<Id> value = valueAt(at["value"]);
  return name && value ? std::optional(Output{*name, *value}) : std::nullopt;
}

bool JSONReader::readOutput(const Cursor &at) {
  current = at.pointer;
  std::optional<Output> output = outputAt(at);
  return output && builder.output(output->name, output->value, Loc()).has_value();
}

bool JSONReader::readProgram(const Cursor &at) {
  current = at.pointer;
  if (!at.isObject({"name", "outputs", "updates"}, {"name"}))
    return false;
  std::optional<std::string> name = at["name"].string();
  std::optional<std::vector<Output>> outputs = std::vector<Output>();
  std::optional<std::vector<Update>> updates = std::vector<Update>();
  if (at.has("outputs"))
    outputs = at["outputs"].all<Output>([&](const Cursor &each) { return outputAt(each); });
  if (at.has("updates"))
    updates = at["updates"].all<Update>([&](const Cursor &each) -> std::optional<Update> {
      if (!each.isObject({"target", "value"}, {"target", "value"}))
        return std::nullopt;
      std::optional<Id> target = valueAt(each["target"]), value = valueAt(each["value"]);
      return target && value ? std::optional(Update{*target, *value}) : std::nullopt;
    });
  if (!name || !outputs || !updates)
    return false;
  return builder.program({*name, std::move(*outputs), std::move(*updates)}, Loc());
}
