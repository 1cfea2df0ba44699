//===- SchemaGraph.cpp - Graphs and their nodes ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/SchemaReader.h"
#include "PyTorch/SizeExpr.h"
#include "PyTorch/StackTrace.h"

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;

static constexpr unsigned kMaxDepth = 16;

bool SchemaReader::readGraph(const Cursor &at, Graph &graph, unsigned depth) {
  if (depth > kMaxDepth)
    return errors.report(at.pointer,
                         "expected at most " + std::to_string(kMaxDepth) + " graphs within each other, found more");
  Scope scope{graph, depth, {}, {}, {}};
  if (!at.isObject() || !readValues(at, scope))
    return false;
  Cursor inputs = at.member("inputs"), nodes = at.member("nodes"), outputs = at.member("outputs");
  std::optional<size_t> inputCount = inputs.arraySize(), nodeCount = nodes.arraySize(),
                        outputCount = outputs.arraySize();
  if (!inputCount || !nodeCount || !outputCount)
    return false;
  for (size_t i = 0; i < *inputCount; ++i)
    if (!readInput(inputs[i], scope))
      return false;
  for (size_t i = 0; i < *nodeCount; ++i)
    if (!readNode(nodes[i], scope))
      return false;
  for (size_t i = 0; i < *outputCount; ++i) {
    std::optional<Argument> output = readArgument(outputs[i], scope);
    if (!output)
      return false;
    graph.outputs.push_back(std::move(*output));
  }
  return true;
}

/// What is said about values, before any of them is defined.
bool SchemaReader::readValues(const Cursor &at, Scope &scope) {
  auto tensor = [&](const std::string &name, const Cursor &each) {
    std::optional<TensorMeta> meta = values.readTensorMeta(each);
    if (meta)
      scope.graph.tensors.emplace(name, std::move(*meta));
    return meta.has_value();
  };
  auto integer = [&](const std::string &name, const Cursor &each) {
    auto found = values.readUnion(each);
    // Unlike a size it may be negative.
    if (found && found->first == "as_int") {
      std::optional<int64_t> number = found->second.integer(INT64_MIN, INT64_MAX);
      if (number)
        scope.graph.integers.emplace(name, literalSize(*number));
      return number.has_value();
    }
    std::optional<Size> size = found ? values.readSize(each) : std::nullopt;
    if (size)
      scope.graph.integers.emplace(name, std::move(*size));
    return size.has_value();
  };
  auto into = [](llvm::StringSet<> &names) {
    return [&names](const std::string &name, const Cursor &) {
      names.insert(name);
      return true;
    };
  };
  return values.eachMember(at.member("tensor_values"), tensor) &&
         values.eachMember(at.member("sym_int_values"), integer) &&
         (!at.has("sym_bool_values") || values.eachMember(at["sym_bool_values"], into(scope.booleans))) &&
         (!at.has("sym_float_values") || values.eachMember(at["sym_float_values"], into(scope.floats)));
}

bool SchemaReader::define(const Cursor &at, Scope &scope, const std::string &name, Kind kind) {
  const Graph &graph = scope.graph;
  const char *missing = nullptr;
  if (kind == Kind::Tensor && !graph.tensors.count(name))
    missing = "tensor_values";
  if (kind == Kind::Integer && !graph.integers.count(name))
    missing = "sym_int_values";
  if (kind == Kind::Boolean && !scope.booleans.contains(name))
    missing = "sym_bool_values";
  if (kind == Kind::Float && !scope.floats.contains(name))
    missing = "sym_float_values";
  if (missing)
    return errors.report(at.pointer, std::string("expected ") + quoteName(name) + " in " + missing + ", found none");
  if (!scope.defined.emplace(name, kind).second)
    return errors.report(at.pointer, "expected a new name, found " + quoteName(name) + ", which is defined before");
  return true;
}

/// Names that an output or a graph's input defines go to `names`; one that has no name is empty.
bool SchemaReader::readOutputs(const Cursor &at, Scope &scope, std::vector<std::string> &names) {
  auto found = values.readUnion(at);
  if (!found)
    return false;
  auto &[kind, value] = *found;
  auto add = [&](const Cursor &place, const std::optional<std::string> &name, Kind what) {
    if (!name || !define(place, scope, *name, what))
      return false;
    names.push_back(*name);
    return true;
  };
  auto addSymbolic = [&](Kind what) {
    if (!value.isObject())
      return false;
    if (value.has("as_name"))
      return add(value["as_name"], values.readName(value["as_name"]), what);
    names.emplace_back(); // a number that does not depend on anything
    return true;
  };
  auto addTensor = [&](const Cursor &each) { return add(each, values.readNameMember(each), Kind::Tensor); };
  if (kind == "as_tensor")
    return addTensor(value);
  if (kind == "as_optional_tensor" || kind == "as_optional_tensors") {
    auto addOptional = [&](const Cursor &each) {
      if (each.isObject() && each.has("as_tensor"))
        return addTensor(each["as_tensor"]);
      names.emplace_back();
      return !errors.any();
    };
    if (kind == "as_optional_tensor")
      return addOptional(value);
    std::optional<size_t> count = value.arraySize();
    for (size_t i = 0; count && i < *count; ++i)
      if (!addOptional(value[i]))
        return false;
    return count.has_value();
  }
  if (kind == "as_tensors") {
    std::optional<size_t> count = value.arraySize();
    for (size_t i = 0; count && i < *count; ++i)
      if (!addTensor(value[i]))
        return false;
    return count.has_value();
  }
  if (kind == "as_sym_int")
    return addSymbolic(Kind::Integer);
  if (kind == "as_sym_bool")
    return addSymbolic(Kind::Boolean);
  if (kind == "as_sym_float")
    return addSymbolic(Kind::Float);
  if (kind == "as_custom_obj")
    return add(value, values.readNameMember(value), Kind::Object);
  names.emplace_back();
  return true;
}

bool SchemaReader::readInput(const Cursor &at, Scope &scope) {
  std::vector<std::string> names;
  if (!readOutputs(at, scope, names))
    return false;
  if (names.size() != 1)
    return errors.report(at.pointer, "expected one value, found " + std::to_string(names.size()));
  scope.graph.inputs.push_back(std::move(names.front()));
  return true;
}

bool SchemaReader::readMetadata(const Cursor &at, Node &result) {
  if (!at.isObject())
    return false;
  if (at.has("stack_trace")) {
    std::optional<std::string> trace = at["stack_trace"].string();
    if (!trace)
      return false;
    result.source = readStackTrace(*trace);
    result.trace = std::move(*trace);
  }
  if (at.has("nn_module_stack")) {
    std::optional<std::string> stack = at["nn_module_stack"].string();
    if (!stack)
      return false;
    result.modules = readModuleStack(*stack);
  }
  // Python's function that it was (`detach_1;method_descriptor.detach`), and the nodes that it was before.
  for (const char *member : {"torch_fn", "from_node"}) {
    std::optional<std::string> history =
        at.has(member) && at[member].value.is_string() ? at[member].string() : std::nullopt;
    if (!history)
      continue;
    bool isDetach = false;
    for (const char *form : {".detach", "\"target\": \"detach\""})
      isDetach |= history->find(form) != std::string::npos;
    result.wasDetach = isDetach || result.wasDetach.value_or(false);
  }
  return true;
}

bool SchemaReader::readNode(const Cursor &at, Scope &scope) {
  Node result;
  if (!at.isObject())
    return false;
  if (at.has("name") && !at["name"].value.is_null()) {
    std::optional<std::string> name = values.readName(at["name"]);
    if (!name)
      return false;
    result.name = std::move(*name);
  }
  node = result.name;
  std::optional<std::string> target = values.readName(at.member("target"));
  if (!target)
    return false;
  result.target = std::move(*target);
  Cursor inputs = at.member("inputs"), outputs = at.member("outputs");
  std::optional<size_t> inputCount = inputs.arraySize(), outputCount = outputs.arraySize();
  if (!inputCount || !outputCount || (at.has("metadata") && !readMetadata(at["metadata"], result)))
    return false;
  for (size_t i = 0; i < *inputCount; ++i) {
    Cursor input = inputs[i];
    // Arguments of higher-order operators have no names.
    std::optional<std::string> name = input.isObject() ? input.member("name").string() : std::nullopt;
    std::optional<Argument> value = name ? readArgument(input.member("arg"), scope) : std::nullopt;
    if (!value)
      return false;
    result.arguments.push_back({std::move(*name), std::move(*value)});
  }
  for (size_t i = 0; i < *outputCount; ++i)
    if (!readOutputs(outputs[i], scope, result.outputs))
      return false;
  if (result.name.empty() && !result.outputs.empty())
    result.name = result.outputs.front();
  scope.graph.nodes.push_back(std::move(result));
  node.clear();
  return true;
}
