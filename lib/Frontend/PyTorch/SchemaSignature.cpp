//===- SchemaSignature.cpp - Inputs, outputs, versions --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/SchemaReader.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;

std::string SchemaReader::message() const {
  return errors.message() + (node.empty() ? "" : " (node " + quoteName(node) + ")");
}

bool SchemaReader::readVersions(const json &document) {
  Cursor root(document, "", errors);
  if (!root.isObject())
    return false;
  program.torchVersion = "an unnamed version";
  if (root.has("torch_version")) {
    std::optional<std::string> version = values.readName(root["torch_version"]);
    if (!version)
      return false;
    program.torchVersion = std::move(*version);
  }
  Cursor schema = root.member("schema_version");
  if (!schema.isObject())
    return false;
  std::optional<int64_t> major = schema.member("major").integer(0, INT32_MAX);
  std::optional<int64_t> minor = schema.member("minor").integer(0, INT32_MAX);
  if (!major || !minor)
    return false;
  program.schemaMajor = *major;
  program.schemaMinor = *minor;
  if (*major != 8)
    return errors.report(schema.pointer, "expected schema 8, found " + std::to_string(*major) + "." +
                                             std::to_string(*minor) + ", which torch " + program.torchVersion +
                                             " wrote; " +
                                             (*major < 8 ? "export it again with torch 2.9 or newer"
                                                         : "export it with an older torch, or use a newer gnnc"));
  std::optional<std::vector<std::string>> verifiers =
      root.has("verifiers") ? root["verifiers"].strings() : std::vector<std::string>();
  program.isTraining = verifiers && llvm::is_contained(*verifiers, "TRAINING");
  return verifiers.has_value();
}

bool SchemaReader::readProgram(const json &document) {
  Cursor root(document, "", errors), module = root.member("graph_module");
  return module.isObject() && readGraph(module.member("graph"), program.graph, 0) &&
         readSignature(module.member("signature")) && readRanges(root.member("range_constraints"));
}

bool SchemaReader::readSignature(const Cursor &at) {
  if (!at.isObject())
    return false;
  auto readAll = [&](const char *key, size_t wanted, auto read) {
    Cursor list = at.member(key);
    std::optional<size_t> count = list.arraySize();
    if (!count)
      return false;
    if (*count != wanted)
      return errors.report(list.pointer, "expected one for each of the graph's " + std::to_string(wanted) + ", found " +
                                             std::to_string(*count));
    for (size_t i = 0; i < *count; ++i)
      if (!read(list[i], i))
        return false;
    return true;
  };
  return readAll("input_specs", program.graph.inputs.size(),
                 [&](const Cursor &each, size_t i) { return readInputSpec(each, i); }) &&
         readAll("output_specs", program.graph.outputs.size(),
                 [&](const Cursor &each, size_t i) { return readOutputSpec(each, i); });
}

std::optional<Argument> SchemaReader::readConstant(const Cursor &at) {
  Graph empty;
  Scope nothing{empty, 0, {}, {}, {}};
  static const char *const kinds[] = {"as_none", "as_int", "as_float", "as_string", "as_bool"};
  auto found = values.readUnion(at);
  if (!found)
    return std::nullopt;
  if (llvm::any_of(kinds, [&](const char *kind) { return found->first == kind; }))
    return readArgument(at, nothing);
  errors.report(at.pointer, "expected a number, a string or None, found " + quoteName(found->first));
  return std::nullopt;
}

std::optional<ProgramInput> SchemaReader::readStoredInput(const std::string &kind, const Cursor &at) {
  ProgramInput input;
  input.kind = kind == "parameter" ? ProgramInput::Kind::Parameter
               : kind == "buffer"  ? ProgramInput::Kind::Buffer
                                   : ProgramInput::Kind::Constant;
  if (!at.isObject())
    return std::nullopt;
  std::string key = kind + "_name";
  std::optional<std::string> value = values.readNameMember(at.member("arg"));
  std::optional<std::string> target = value ? values.readName(at.member(key.c_str())) : std::nullopt;
  if (!target)
    return std::nullopt;
  input.value = std::move(*value);
  input.target = std::move(*target);
  return input;
}

/// The archive has the tensor, and it is what the graph takes it for.
bool SchemaReader::checkStored(const Cursor &at, const ProgramInput &input) {
  auto stored = program.tensors.find(input.target);
  if (stored == program.tensors.end())
    return errors.report(at.pointer, "expected a tensor " + quoteName(input.target) + " in the archive, found none");
  auto meta = program.graph.tensors.find(input.value);
  if (meta == program.graph.tensors.end())
    return errors.report(at.pointer, "expected the name of a tensor, found " + quoteName(input.value));
  auto describe = [](const TensorMeta &tensor) {
    std::string text = nameOf(tensor.type);
    for (const Size &size : tensor.sizes)
      text += (&size == &tensor.sizes.front() ? " [" : ", ") + size.text;
    return text + (tensor.sizes.empty() ? "" : "]");
  };
  std::string wanted = describe(meta->second), found = describe(stored->second.meta);
  return wanted == found || errors.report(at.pointer, "expected " + quoteName(input.target) + " to be " + wanted +
                                                          ", as in the graph, found " + found);
}

bool SchemaReader::readInputSpec(const Cursor &at, size_t position) {
  auto found = values.readUnion(at);
  if (!found)
    return false;
  auto &[kind, value] = *found;
  ProgramInput input;
  if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
    std::optional<ProgramInput> stored = readStoredInput(kind, value);
    if (!stored || !checkStored(value, *stored))
      return false;
    input = std::move(*stored);
  } else if (kind == "constant_input") {
    input.kind = ProgramInput::Kind::ConstantInput;
    std::optional<std::string> name = values.readNameMember(value);
    std::optional<Argument> constant = name ? readConstant(value.member("value")) : std::nullopt;
    if (!constant)
      return false;
    input.value = std::move(*name);
    input.constant = std::move(*constant);
  } else if (kind == "user_input") {
    auto argument = value.isObject() ? values.readUnion(value.member("arg")) : std::nullopt;
    if (!argument)
      return false;
    auto &[what, inner] = *argument;
    const char *key = what == "as_tensor" ? "name" : "as_name";
    if (inner.has(key)) {
      std::optional<std::string> name = values.readName(inner[key]);
      if (!name)
        return false;
      input.value = std::move(*name);
    } else {
      std::optional<Argument> constant = readConstant(value["arg"]);
      if (!constant)
        return false;
      input.constant = std::move(*constant);
    }
  } else {
    return errors.report(at.pointer,
                         "expected a parameter, a buffer, a tensor, a number or a string, found " + quoteName(kind));
  }
  // A placeholder of a constant has no name in the graph.
  const std::string &own = program.graph.inputs[position];
  if (own != input.value && !(own.empty() && kind == "constant_input"))
    return errors.report(at.pointer,
                         "expected the graph's input " + quoteName(own) + ", found " + quoteName(input.value));
  program.inputs.push_back(std::move(input));
  return true;
}

bool SchemaReader::readOutputSpec(const Cursor &at, size_t position) {
  using Kind = ProgramOutput::Kind;
  static const struct {
    const char *name;
    Kind kind;
    const char *target;
  } kinds[] = {{"user_output", Kind::User, nullptr},
               {"loss_output", Kind::Loss, nullptr},
               {"buffer_mutation", Kind::BufferMutation, "buffer_name"},
               {"user_input_mutation", Kind::InputMutation, "user_input_name"}};
  auto found = values.readUnion(at);
  if (!found)
    return false;
  auto &[name, value] = *found;
  const auto *row = llvm::find_if(kinds, [&](const auto &each) { return name == each.name; });
  if (row == std::end(kinds))
    return errors.report(at.pointer,
                         "expected an output of the model or a changed buffer or input, found " + quoteName(name));
  ProgramOutput output;
  output.kind = row->kind;
  output.value = program.graph.outputs[position];
  if (!value.isObject())
    return false;
  if (row->target) {
    std::optional<std::string> target = values.readName(value.member(row->target));
    if (!target)
      return false;
    output.target = std::move(*target);
  }
  // The graph's own list is what counts; the signature names the same.
  Cursor argument = value.member("arg");
  const auto *own = std::get_if<ValueName>(&output.value);
  if (own && argument.isObject()) {
    Cursor inner = argument.has("name") ? argument : argument["as_tensor"];
    if (inner.has("name") && (!inner["name"].value.is_string() || inner["name"].value != own->name))
      return errors.report(inner.pointer + "/name", "expected the graph's output " + quoteName(own->name));
  }
  if (errors.any())
    return false;
  program.outputs.push_back(std::move(output));
  return true;
}

/// Bounds that do not fit in 64 bits, or are infinite, are none.
bool SchemaReader::readRanges(const Cursor &at) {
  return values.eachMember(at, [&](const std::string &symbol, const Cursor &each) {
    auto bound = [&](const char *key) -> std::optional<int64_t> {
      const json &value = each[key].value;
      bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t(INT64_MAX) : value.is_number_integer();
      return fits ? std::optional(value.get<int64_t>()) : std::nullopt;
    };
    if (!each.isObject())
      return false;
    SymbolRange range{bound("min_val"), bound("max_val")};
    if (range.least && range.largest && *range.least > *range.largest)
      return errors.report(each.pointer, "expected a least value of at most " + std::to_string(*range.largest) +
                                             ", found " + std::to_string(*range.least));
    program.ranges.emplace(symbol, range);
    return true;
  });
}
