//===- RecoverIntegerShapes.cpp - Shapes of integer tensors --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How components and lists are laid out: alignment, reshaping, and the layouts in which integers become numbers.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

/// A repetition of fixed size as components.
IndexLists Recover::withComponents(const IndexLists &tensor, size_t dim) {
  const IndexDim &each = tensor.dims.at(dim);
  if (each.kind != Kind::Repeat)
    return tensor;
  if (!each.size.getFactors().empty() || each.size.getNumber() > 1024)
    throw Refusal{"integers are repeated a number of times that is not fixed: all pairs"};
  IndexLists result;
  result.dims = tensor.dims;
  result.dims[dim].kind = Kind::Small;
  size_t stride = strideOf(tensor, dim);
  for (size_t outer = 0; outer < tensor.components.size() / stride; ++outer)
    for (int64_t i = 0; i < each.size.getNumber(); ++i)
      for (size_t inner = 0; inner < stride; ++inner)
        result.components.push_back(tensor.components[outer * stride + inner]);
  return result;
}

/// A function of the elements of integers, broadcast to `sizes`.
IndexTensor Recover::elementwise(const std::string &function, const std::vector<IndexTensor> &operands, bool isTruth,
                                 const std::vector<SymbolicExpr> &sizes) {
  return views::combine(algebra, function, operands, isTruth, sizes);
}

IndexTensor Recover::numberTensor(int64_t value) { return {{}, algebra.number(SymbolicExpr(value))}; }

/// All the numbers, row-major, of what depends on no input; of repetitions one.
std::optional<std::vector<int64_t>> Recover::constantsOf(IndexLists tensor) {
  for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
    if (tensor.dims[dim].kind == Kind::Long) {
      if (!tensor.dims[dim].size.getFactors().empty() || tensor.dims[dim].size.getNumber() > 1024)
        return std::nullopt;
      tensor = unrolled(tensor, dim);
    }
  std::vector<int64_t> numbers;
  for (const Index &component : tensor.components)
    if (std::optional<int64_t> number = literalOf(component))
      numbers.push_back(*number);
  return numbers.size() == tensor.components.size() ? std::optional(numbers) : std::nullopt;
}

/// Components that say of a list whether it is 0, whether it is 1, and so on, are its one-hot rows.
std::optional<Tensor> Recover::asOneHot(const IndexLists &index) {
  if (index.components.size() < 2)
    return std::nullopt;
  Index list;
  for (auto [i, component] : llvm::enumerate(index.components)) {
    if (component->function != "eq" || !component->isList || literalOf(component->arguments[1]) != int64_t(i))
      return std::nullopt;
    if (list && list->text != component->arguments[0]->text)
      return std::nullopt;
    list = component->arguments[0];
  }
  if (!list->isList || llvm::count_if(index.dims, [](auto &dim) { return dim.kind == Kind::Small; }) != 1)
    return std::nullopt;
  int64_t size = int64_t(index.components.size());
  const SymbolicExpr &length = index.components[0]->length;
  // A number that is none of the classes has a row of zeros.
  Index isClass =
      call("both", {call("ge", {list, constant(0)}, length, true), call("lt", {list, constant(size)}, length, true)},
           length, true);
  Index safe = call("where", {isClass, list, constant(-1)}, length);
  int space = spaceOf(length), axis = program.newAxis(size);
  Tensor rows{{}, program.oneHot(mapOf(safe, space, spaceOf(SymbolicExpr(size)), /*partial=*/true), axis)};
  for (const IndexDim &dim : index.dims)
    rows.dims.push_back(dim.kind == Kind::Long    ? Dim{Dim::Kind::Space, space, 0}
                        : dim.kind == Kind::Small ? Dim{Dim::Kind::Axis, axis, size}
                        : dim.kind == Kind::Unit  ? Dim()
                                                  : dimOf(dim.size));
  return rows;
}

/// A list or a number that the graph gives, as an input without a gradient.
int Recover::inputFrom(const Index &index, const std::string &name) {
  auto [known, isNew] = indexInputs.try_emplace(index->text, -1);
  if (isNew) {
    Operation operation;
    operation.op = Op::Input;
    operation.text = name;
    operation.source = index->text;
    if (index->isList)
      operation.space = spaceOf(index->length);
    known->second = program.add(operation);
  }
  return known->second;
}

/// 1 on each element: what is the same on all of them has a row for each, times this.
int Recover::onesOf(int space) {
  const SymbolicExpr size = program.spaces[space].size;
  return inputFrom(call("full", {sizeIndex(size), constant(1)}, size), "ones");
}

/// What is computed from integers alone has no gradient: it is an input that the graph gives.
Tensor Recover::asNumbers(const IndexLists &given) {
  IndexLists index = withoutCopies(given);
  // What is known now is written down.
  if (std::optional<std::vector<int64_t>> numbers = constantsOf(index)) {
    std::vector<int64_t> shape;
    for (const IndexDim &dim : index.dims)
      shape.push_back(dim.kind == Kind::Repeat ? 1 : dim.size.getNumber());
    Tensor result = constantTensor({numbers->begin(), numbers->end()}, shape);
    for (size_t i = 0; i < shape.size(); ++i)
      if (index.dims[i].kind == Kind::Repeat)
        result.dims[i] = dimOf(index.dims[i].size);
    return result;
  }
  if (std::optional<Tensor> rows = asOneHot(index))
    return *rows;
  std::vector<Tensor> parts;
  size_t place = index.dims.size();
  for (size_t i = 0; i < index.dims.size(); ++i)
    if (index.dims[i].kind == Kind::Long)
      place = i;
  for (const Index &component : index.components) {
    Tensor part;
    for (size_t i = 0; i < index.dims.size(); ++i)
      part.dims.push_back(i == place || index.dims[i].kind == Kind::Repeat ? dimOf(index.dims[i].size) : Dim());
    std::optional<int64_t> value = constantOf(component);
    if (value) {
      part.value = program.number(double(*value));
    } else {
      part.value = inputFrom(component, component->isTruth ? "mask" : "number");
    }
    if (place < index.dims.size())
      part.dims[place] = {Dim::Kind::Space, spaceOf(component->length), 0};
    parts.push_back(part);
  }
  for (size_t i = index.dims.size(); i-- > 0;) {
    if (index.dims[i].kind != Kind::Small)
      continue;
    size_t size = size_t(index.dims[i].size.getNumber());
    std::vector<Tensor> joined;
    for (size_t begin = 0; begin < parts.size(); begin += size)
      joined.push_back(concat({parts.begin() + ptrdiff_t(begin), parts.begin() + ptrdiff_t(begin + size)}, i));
    parts = joined;
  }
  return parts.at(0);
}

/// A tensor of integers, or a number.
IndexTensor Recover::indexFunctionArgument(const NormalNode &node, const std::string &name) {
  const Argument *argument = find(node, name);
  if (!argument)
    throw Refusal{"argument '" + name + "' is missing"};
  if (auto *value = std::get_if<ValueName>(argument)) {
    if (!indices.count(value->name) && normal.integers.count(value->name))
      return {{}, algebra.number(expression(*argument))};
    return indexFunctionOf(value->name);
  }
  if (auto *value = std::get_if<int64_t>(argument))
    return numberTensor(*value);
  if (auto *value = std::get_if<bool>(argument))
    return numberTensor(*value);
  if (auto *value = std::get_if<double>(argument); value && *value == double(int64_t(*value)))
    return numberTensor(int64_t(*value));
  throw Refusal{"argument '" + name + "': expected integers"};
}

IndexLists Recover::indexArgument(const NormalNode &node, const std::string &name) {
  return indexSources.lists(indexFunctionArgument(node, name));
}
