//===- RecoverArguments.cpp - What a node is given and gives --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

const Argument *Recover::find(const NormalNode &node, const std::string &name) const {
  auto found = node.arguments.find(name);
  return found == node.arguments.end() || std::holds_alternative<NoArgument>(found->second) ? nullptr : &found->second;
}

bool Recover::has(const NormalNode &node, const std::string &name) const { return find(node, name) != nullptr; }

std::string Recover::nameOf(const NormalNode &node, const std::string &name) const {
  if (const Argument *argument = find(node, name))
    if (auto *value = std::get_if<ValueName>(argument))
      return value->name;
  throw Refusal{"argument '" + name + "': expected a tensor"};
}

Tensor Recover::tensorOf(const std::string &name) {
  if (auto found = tensors.find(name); found != tensors.end())
    return found->second;
  if (auto found = indices.find(name); found != indices.end())
    return isOfPairs(name) ? numbersOfPairs(indexFunctionOf(name)) : asNumbers(indexOf(name));
  if (auto found = normal.integers.find(name); found != normal.integers.end())
    return {{}, sizeAsNumber(expression(found->second))};
  if (grids.count(name))
    throw Refusal{"'" + name +
                  "' has several axes of elements, such as [batch, nodes, features], which the operator is "
                  "not supported for"};
  throw Refusal{"'" + name + "' is no tensor that gnnc has a meaning for"};
}

Tensor Recover::tensor(const NormalNode &node, const std::string &name) {
  const Argument *argument = find(node, name);
  if (argument && !std::holds_alternative<ValueName>(*argument))
    if (std::optional<double> value = number(node, name))
      return scalar(*value);
  return tensorOf(nameOf(node, name));
}

bool Recover::isIndex(const NormalNode &node, const std::string &name) const {
  const Argument *argument = find(node, name);
  auto *value = argument ? std::get_if<ValueName>(argument) : nullptr;
  return value && indices.count(value->name) != 0;
}

IndexTensor Recover::indexFunctionOf(const std::string &name) {
  auto found = indices.find(name);
  if (found == indices.end())
    throw Refusal{"'" + name +
                  "' depends on computed numbers, so the rows that it selects are known only when the model runs; a "
                  "model's spaces must follow from its integer inputs"};
  // Sizes may have turned out to be equal to others since it was made.
  IndexTensor &tensor = found->second;
  std::vector<SymbolicExpr> sizes;
  for (const SymbolicExpr &size : tensor.sizes)
    sizes.push_back(resolvedSize(size));
  if (sizes != tensor.sizes) {
    tensor.sizes = sizes;
    tensor.value = algebra.at(tensor.value, views::coordinates(algebra, sizes));
  }
  return tensor;
}

IndexTensor Recover::indexFunction(const NormalNode &node, const std::string &name) {
  return indexFunctionOf(nameOf(node, name));
}

IndexLists Recover::indexOf(const std::string &name) { return indexSources.lists(indexFunctionOf(name)); }

IndexLists Recover::index(const NormalNode &node, const std::string &name) { return indexOf(nameOf(node, name)); }

std::optional<double> Recover::number(const NormalNode &node, const std::string &name) const {
  const Argument *argument = find(node, name);
  if (!argument)
    return std::nullopt;
  if (auto *value = std::get_if<double>(argument))
    return *value;
  if (auto *value = std::get_if<int64_t>(argument))
    return double(*value);
  if (auto *value = std::get_if<bool>(argument))
    return double(*value);
  return std::nullopt;
}

double Recover::number(const NormalNode &node, const std::string &name, double absent) const {
  if (!has(node, name))
    return absent;
  if (std::optional<double> value = number(node, name))
    return *value;
  throw Refusal{"argument '" + name + "': expected a number"};
}

int64_t Recover::integer(const NormalNode &node, const std::string &name, int64_t absent) const {
  const Argument *argument = find(node, name);
  if (!argument)
    return absent;
  if (auto *value = std::get_if<int64_t>(argument))
    return *value;
  SymbolicExpr size = expression(*argument);
  if (!size.getFactors().empty())
    throw Refusal{"argument '" + name + "': expected a fixed integer, found the size " + size.str()};
  return size.getNumber();
}

bool Recover::flag(const NormalNode &node, const std::string &name, bool absent) const {
  const Argument *argument = find(node, name);
  if (!argument)
    return absent;
  if (auto *value = std::get_if<bool>(argument))
    return *value;
  throw Refusal{"argument '" + name + "': expected true or false"};
}

std::string Recover::string(const NormalNode &node, const std::string &name, const std::string &absent) const {
  const Argument *argument = find(node, name);
  auto *text = argument ? std::get_if<std::string>(argument) : nullptr;
  return text ? *text : absent;
}

std::vector<std::string> Recover::names(const NormalNode &node, const std::string &name) const {
  const Argument *argument = find(node, name);
  if (auto *list = argument ? std::get_if<ValueNames>(argument) : nullptr)
    return list->names;
  throw Refusal{"argument '" + name + "': expected a list of tensors"};
}

std::vector<int64_t> Recover::integers(const NormalNode &node, const std::string &name) const {
  const Argument *argument = find(node, name);
  std::vector<int64_t> result;
  if (!argument)
    return result;
  if (auto *one = std::get_if<int64_t>(argument))
    return {*one};
  auto *list = std::get_if<Integers>(argument);
  if (!list)
    throw Refusal{"argument '" + name + "': expected a list of integers"};
  for (auto &each : list->numbers) {
    auto *value = std::get_if<int64_t>(&each);
    if (!value)
      throw Refusal{"argument '" + name + "': expected fixed integers"};
    result.push_back(*value);
  }
  return result;
}

std::vector<SymbolicExpr> Recover::sizesIn(const NormalNode &node, const std::string &name) const {
  const Argument *argument = find(node, name);
  auto *list = argument ? std::get_if<Integers>(argument) : nullptr;
  if (!list)
    throw Refusal{"argument '" + name + "': expected a list of sizes"};
  std::vector<SymbolicExpr> result;
  for (auto &each : list->numbers)
    result.push_back(std::visit([&](auto &value) { return expression(Argument(value)); }, each));
  return result;
}

static size_t countedFromFront(int64_t axis, size_t rank, const std::string &name) {
  int64_t count = std::max<int64_t>(int64_t(rank), 1);
  if (axis < -count || axis >= count)
    throw Refusal{"argument '" + name + "': expected an axis of " + std::to_string(rank) + ", found " +
                  std::to_string(axis)};
  return size_t(axis < 0 ? axis + count : axis);
}

size_t Recover::axisNumber(const NormalNode &node, const std::string &name, int64_t absent, size_t rank) const {
  return countedFromFront(integer(node, name, absent), rank, name);
}

SymbolicExpr Recover::expression(const Size &size) const {
  // A size that is none of integers, such as the root of one, is a symbol of its own.
  if (!size.linear)
    return SymbolicExpr::of(size.text);
  return resolvedSize(*size.linear);
}

SymbolicExpr Recover::resolvedSize(const SymbolicExpr &size) const {
  SymbolicExpr result(size.getNumber());
  for (auto &[symbol, factor] : size.getFactors())
    result += resolved(symbol) * factor;
  return result;
}

/// What a symbol stands for: the one of its equals that is used, or a sum of others.
SymbolicExpr Recover::resolved(const std::string &symbol, int depth) const {
  const std::string &root = equalSizes.rootOf(symbol);
  if (std::optional<int64_t> number = equalSizes.numberOf(root))
    return SymbolicExpr(*number);
  auto known = knownSizes.find(symbol);
  if (known == knownSizes.end())
    known = knownSizes.find(root);
  if (known == knownSizes.end() || depth > 16)
    return SymbolicExpr::of(root);
  SymbolicExpr result(known->second.getNumber());
  for (auto &[other, factor] : known->second.getFactors())
    result += resolved(other, depth + 1) * factor;
  return result;
}

SymbolicExpr Recover::expression(const Argument &argument) const {
  if (auto *value = std::get_if<int64_t>(&argument))
    return SymbolicExpr(*value);
  if (auto *name = std::get_if<ValueName>(&argument))
    if (auto found = normal.integers.find(name->name); found != normal.integers.end())
      return expression(found->second);
  throw Refusal{"expected a size"};
}

std::vector<SymbolicExpr> Recover::sizesOf(const std::string &name) const {
  auto found = normal.tensors.find(name);
  if (found == normal.tensors.end())
    throw Refusal{"the sizes of '" + name + "' are not in the file"};
  std::vector<SymbolicExpr> result;
  for (const Size &size : found->second.sizes)
    result.push_back(expression(size));
  return result;
}

std::vector<SymbolicExpr> Recover::sizes(const NormalNode &node, size_t output) const {
  if (output >= node.outputs.size())
    throw Refusal{"expected an output"};
  return sizesOf(node.outputs[output]);
}

void Recover::define(const NormalNode &node, Tensor tensor, size_t output) {
  if (output >= node.outputs.size())
    throw Refusal{"expected an output"};
  std::vector<SymbolicExpr> wanted = sizes(node, output);
  // The file and the importer agree on a shape: a check of every rule.
  bool fits = wanted.size() == tensor.dims.size();
  for (auto [dim, size] : llvm::zip(tensor.dims, wanted))
    fits &= sizeOf(dim) == size;
  if (!fits) {
    std::string expected;
    for (const SymbolicExpr &size : wanted)
      expected += (expected.empty() ? "" : ", ") + size.str();
    throw Refusal{"the file says that the result has shape [" + expected + "], but its operands give " +
                  shapeText(tensor.dims)};
  }
  checkPairs(tensor);
  tensors[node.outputs[output]] = std::move(tensor);
  // Rows without pairs are elements of a grid.
  const Tensor &made = tensors[node.outputs[output]];
  auto isApart = [](const Dim &dim) { return dim.kind != Dim::Kind::Group && dim.pairs < 0; };
  if (isInWholeRows(made) && llvm::all_of(made.dims, isApart)) {
    Grid grid = gridOf(node.outputs[output]);
    tensors.erase(node.outputs[output]);
    defineGrid(node, grid.shape.isOfGrid, grid.rows, output, grid.shape.order);
  }
}

void Recover::define(const NormalNode &node, IndexTensor tensor, size_t output) {
  std::vector<SymbolicExpr> wanted = sizes(node, output);
  for (SymbolicExpr &size : tensor.sizes)
    size = resolvedSize(size);
  if (tensor.sizes != wanted)
    throw Refusal{"the file and the operands give the result of '" + node.op + "' different shapes"};
  indices[node.outputs[output]] = std::move(tensor);
}

void Recover::define(const NormalNode &node, const IndexLists &lists, size_t output) {
  define(node, indexSources.function(lists), output);
  for (const Index &each : lists.components)
    if (each->isList)
      learnSymbol(each->length, "length(" + each->text + ")");
}
