//===- Arrange.cpp - Nodes first, in arguments and results ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Arrange.h"

#include <algorithm>
#include <iterator>

using namespace gnnc::frontend::pytorch;

/// The only axis whose size is not fixed; 0 where there are several or none, and of what has no floats.
static size_t frontOf(const TensorMeta &meta) {
  if (meta.type != ScalarType::Float32 && meta.type != ScalarType::Float64 && meta.type != ScalarType::Float16 &&
      meta.type != ScalarType::BFloat16)
    return 0;
  auto isFree = [](const Size &size) { return !size.literal(); };
  auto found = std::find_if(meta.sizes.begin(), meta.sizes.end(), isFree);
  if (std::count_if(meta.sizes.begin(), meta.sizes.end(), isFree) != 1)
    return 0;
  return size_t(std::distance(meta.sizes.begin(), found));
}

static TensorMeta withFront(TensorMeta meta, size_t axis) {
  auto first = meta.sizes.begin();
  std::rotate(first, first + ptrdiff_t(axis), first + ptrdiff_t(axis) + 1);
  return meta;
}

/// `result` = `from` with its axes in this order.
static Node permutation(const std::string &from, const std::string &result, const std::vector<int64_t> &order) {
  Integers dims;
  dims.numbers.assign(order.begin(), order.end());
  Node node;
  node.name = result;
  node.target = "torch.ops.aten.permute.default";
  node.arguments = {{"self", ValueName{from}}, {"dims", std::move(dims)}};
  node.outputs = {result};
  return node;
}

static std::string freshName(const Graph &graph, const std::string &name) {
  std::string result = name;
  while (graph.tensors.count(result) || graph.integers.count(result))
    result += '_';
  return result;
}

/// Puts `by` where a value is used.
static void rename(Argument &argument, const std::string &name, const std::string &by) {
  if (auto *value = std::get_if<ValueName>(&argument)) {
    if (value->name == name)
      value->name = by;
  } else if (auto *values = std::get_if<ValueNames>(&argument)) {
    std::replace(values->names.begin(), values->names.end(), name, by);
  }
}

static void renameUses(ExportedProgram &program, const std::string &name, const std::string &by) {
  for (Node &node : program.graph.nodes)
    for (NamedArgument &argument : node.arguments)
      rename(argument.value, name, by);
  for (Argument &output : program.graph.outputs)
    rename(output, name, by);
  for (ProgramOutput &output : program.outputs)
    rename(output.value, name, by);
}

std::vector<std::string> gnnc::frontend::pytorch::bringToFront(ExportedProgram &program) {
  std::vector<std::string> moved;
  Graph &graph = program.graph;
  for (const ProgramInput &input : program.inputs) {
    auto found = graph.tensors.find(input.value);
    if (input.kind != ProgramInput::Kind::User || found == graph.tensors.end())
      continue;
    size_t axis = frontOf(found->second);
    if (axis == 0)
      continue;
    std::vector<int64_t> order;
    for (size_t i = 0; i < found->second.sizes.size(); ++i)
      order.push_back(i < axis ? int64_t(i) + 1 : i == axis ? 0 : int64_t(i));
    std::string inner = freshName(graph, input.value + "_as_given");
    renameUses(program, input.value, inner);
    graph.nodes.insert(graph.nodes.begin(), permutation(input.value, inner, order));
    graph.tensors[inner] = found->second;
    found->second = withFront(std::move(found->second), axis);
    moved.push_back("input '" + input.value + "' (axis " + std::to_string(axis) + ")");
  }
  for (size_t i = 0; i < program.outputs.size() && i < graph.outputs.size(); ++i) {
    ProgramOutput &output = program.outputs[i];
    auto *value = std::get_if<ValueName>(&output.value);
    auto found = value ? graph.tensors.find(value->name) : graph.tensors.end();
    if (output.kind != ProgramOutput::Kind::User || found == graph.tensors.end())
      continue;
    size_t axis = frontOf(found->second);
    if (axis == 0)
      continue;
    std::vector<int64_t> order = {int64_t(axis)};
    for (size_t other = 0; other < found->second.sizes.size(); ++other)
      if (other != axis)
        order.push_back(int64_t(other));
    // The result keeps its name, after which outputs are called.
    std::string name = value->name, inner = freshName(graph, name + "_as_given");
    TensorMeta meta = found->second;
    renameUses(program, name, inner);
    for (Node &node : graph.nodes)
      std::replace(node.outputs.begin(), node.outputs.end(), name, inner);
    graph.nodes.push_back(permutation(inner, name, order));
    graph.tensors[inner] = meta;
    graph.tensors[name] = withFront(std::move(meta), axis);
    graph.outputs[i] = output.value = ValueName{name};
    moved.push_back("result " + std::to_string(i) + " (axis " + std::to_string(axis) + ")");
  }
  return moved;
}
