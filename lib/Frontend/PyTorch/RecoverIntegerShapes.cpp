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

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

IndexTensor Recover::selected(const IndexTensor &tensor, size_t dim, int64_t element) {
  IndexTensor result;
  result.dims = tensor.dims;
  result.dims.erase(result.dims.begin() + ptrdiff_t(dim));
  const IndexDim &each = tensor.dims[dim];
  if (each.kind == Kind::Long) {
    bool isFixed = each.size.getFactors().empty();
    int64_t at = element < 0 && isFixed ? element + each.size.getNumber() : element;
    for (const Index &component : tensor.components)
      result.components.push_back(
          at < 0 ? callScalar("take", {component, sizeIndex(each.size + SymbolicExpr(at))}, component->isTruth)
                 : elementOf(component, at));
    return result;
  }
  if (each.kind != Kind::Small) {
    result.components = tensor.components;
    return result;
  }
  int64_t size = each.size.getNumber();
  element = element < 0 ? element + size : element;
  if (element < 0 || element >= size)
    throw Refusal{"element " + std::to_string(element) + " of an axis of size " + std::to_string(size)};
  size_t stride = strideOf(tensor, dim);
  for (size_t i = 0; i < tensor.components.size(); ++i)
    if (i / stride % size_t(size) == size_t(element))
      result.components.push_back(tensor.components[i]);
  return result;
}

/// Axes of size 1 come and go; fixed axes are merged and split; copies of a list, and lists in a row, become one list.
IndexTensor Recover::shaped(const IndexTensor &given, const std::vector<SymbolicExpr> &sizes) {
  Refusal misfit{"the view of integers regroups elements, which has no meaning as maps"};
  IndexTensor tensor = given;
  llvm::erase_if(tensor.dims, [](const IndexDim &dim) { return dim.kind == Kind::Unit; });
  // As they are, but for axes of size 1?
  auto isSame = [&](const IndexTensor &own) {
    size_t from = 0;
    for (const SymbolicExpr &size : sizes)
      if (!(size == SymbolicExpr(1)) && (from >= own.dims.size() || !(own.dims[from++].size == size)))
        return false;
    return from == own.dims.size();
  };
  auto inShape = [&](const IndexTensor &own) {
    IndexTensor result;
    result.components = own.components;
    size_t from = 0;
    for (const SymbolicExpr &size : sizes)
      result.dims.push_back(size == SymbolicExpr(1) ? IndexDim() : own.dims[from++]);
    return result;
  };
  if (isSame(tensor))
    return inShape(tensor);
  // Everything is fixed: components in order.
  bool isFixed = llvm::all_of(tensor.dims, [](const IndexDim &dim) { return dim.size.getFactors().empty(); });
  if (isFixed) {
    for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
      if (tensor.dims[dim].kind == Kind::Long)
        tensor = unrolled(tensor, dim);
    for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
      tensor = withComponents(tensor, dim);
    IndexTensor result;
    result.components = tensor.components;
    size_t count = 1;
    for (const SymbolicExpr &size : sizes) {
      result.dims.push_back({size == SymbolicExpr(1) ? Kind::Unit : Kind::Small, size});
      count *= size_t(size.getNumber());
    }
    if (count != result.components.size())
      throw misfit;
    return result;
  }
  size_t place = 0;
  while (place < tensor.dims.size() && tensor.dims[place].kind != Kind::Long)
    ++place;
  std::vector<SymbolicExpr> wanted;
  for (const SymbolicExpr &size : sizes)
    if (!(size == SymbolicExpr(1)))
      wanted.push_back(size);
  // [k, n] as [k n]: one list after the other. [n, k] as [n k]: lists in turn, or, all the same, each element k times.
  if (tensor.dims.size() == 2 && wanted.size() == 1 && place < 2) {
    const IndexDim other = tensor.dims[1 - place];
    if (!other.size.getFactors().empty() || !(tensor.dims[place].size * other.size.getNumber() == wanted[0]))
      throw misfit;
    if (place == 1) {
      tensor = withComponents(tensor, 0);
      Index whole = call("cat", tensor.components, wanted[0], tensor.components.at(0)->isTruth);
      return inShape({{{Kind::Long, wanted[0]}}, {whole}});
    }
    tensor = withoutCopies(tensor);
    if (tensor.components.size() != 1)
      return inShape({{{Kind::Long, wanted[0]}}, {inTurn(tensor.components)}});
    const SymbolicExpr &length = tensor.dims[0].size;
    Index counts = call("full", {sizeIndex(length), constant(other.size.getNumber())}, length);
    return inShape({{{Kind::Long, wanted[0]}},
                    {call("interleave", {tensor.components[0], counts}, wanted[0], tensor.components[0]->isTruth)}});
  }
  // [k n] as [k, n]: as many lists.
  if (tensor.dims.size() == 1 && place == 0 && wanted.size() == 2 && wanted[0].getFactors().empty() &&
      wanted[1] * wanted[0].getNumber() == tensor.dims[0].size && wanted[0].getNumber() <= 64) {
    IndexTensor result;
    result.dims = {{Kind::Small, wanted[0]}, {Kind::Long, wanted[1]}};
    for (int64_t i = 0; i < wanted[0].getNumber(); ++i)
      result.components.push_back(call(
          "slice", {tensor.components.at(0), sizeIndex(wanted[1] * i), sizeIndex(wanted[1] * (i + 1)), constant(1)},
          wanted[1], tensor.components[0]->isTruth));
    return inShape(result);
  }
  // Fixed axes before or after the list are regrouped among themselves.
  if (place < tensor.dims.size()) {
    auto longest = llvm::find_if(wanted, [](const SymbolicExpr &size) { return !size.getFactors().empty(); });
    if (longest != wanted.end() && *longest == tensor.dims[place].size) {
      for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
        tensor = withComponents(tensor, dim);
      auto count = [](auto begin, auto end, auto size) {
        size_t product = 1;
        for (; begin != end; ++begin)
          product *= size_t(size(*begin).getNumber());
        return product;
      };
      auto ofDim = [](const IndexDim &dim) { return dim.size; };
      auto ofSize = [](const SymbolicExpr &size) { return size; };
      auto middle = tensor.dims.begin() + ptrdiff_t(place);
      if (count(tensor.dims.begin(), middle, ofDim) == count(wanted.begin(), longest, ofSize) &&
          count(middle + 1, tensor.dims.end(), ofDim) == count(longest + 1, wanted.end(), ofSize)) {
        IndexTensor result;
        result.components = tensor.components;
        for (const SymbolicExpr &size : wanted)
          result.dims.push_back({&size == &*longest ? Kind::Long : Kind::Small, size});
        return inShape(result);
      }
    }
  }
  throw misfit;
}

/// A repetition of fixed size as components.
IndexTensor Recover::withComponents(const IndexTensor &tensor, size_t dim) {
  const IndexDim &each = tensor.dims.at(dim);
  if (each.kind != Kind::Repeat)
    return tensor;
  if (!each.size.getFactors().empty() || each.size.getNumber() > 1024)
    throw Refusal{"integers are repeated a number of times that is not fixed: all pairs"};
  IndexTensor result;
  result.dims = tensor.dims;
  result.dims[dim].kind = Kind::Small;
  size_t stride = strideOf(tensor, dim);
  for (size_t outer = 0; outer < tensor.components.size() / stride; ++outer)
    for (int64_t i = 0; i < each.size.getNumber(); ++i)
      for (size_t inner = 0; inner < stride; ++inner)
        result.components.push_back(tensor.components[outer * stride + inner]);
  return result;
}

/// An elementwise function; operands are broadcast to `sizes`.
IndexTensor Recover::elementwise(const std::string &function, std::vector<IndexTensor> operands, bool isTruth,
                                 const std::vector<SymbolicExpr> &sizes) {
  // One axis holds the list. Lists of a fixed length along another, or beside components, are components too.
  std::vector<std::pair<size_t, size_t>> lists; // operand and axis from the last
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t d = 0; d < operands[i].dims.size(); ++d)
      if (operands[i].dims[d].kind == Kind::Long)
        lists.push_back({i, operands[i].dims.size() - d});
  auto isOpen = [&](auto &list) {
    auto [i, back] = list;
    return !operands[i].dims[operands[i].dims.size() - back].size.getFactors().empty();
  };
  auto open = llvm::find_if(lists, isOpen);
  size_t along = lists.empty() ? 0 : open != lists.end() ? open->second : lists[0].second;
  bool besideComponents = llvm::any_of(operands, [&](const IndexTensor &each) {
    return along > 0 && along <= each.dims.size() && each.dims[each.dims.size() - along].kind == Kind::Small;
  });
  for (auto [i, back] : lists)
    if (back != along || (besideComponents && open == lists.end()))
      operands[i] = unrolled(operands[i], operands[i].dims.size() - back);
  IndexTensor result;
  size_t rank = sizes.size();
  std::vector<size_t> counts(rank, 1);
  SymbolicExpr length;
  bool isList = false;
  for (size_t i = 0; i < rank; ++i) {
    IndexDim dim{sizes[i] == SymbolicExpr(1) ? Kind::Unit : Kind::Repeat, sizes[i]};
    for (const IndexTensor &each : operands) {
      if (each.dims.size() + i < rank)
        continue;
      const IndexDim &own = each.dims[i + each.dims.size() - rank];
      if (own.kind == Kind::Long || own.kind == Kind::Small) {
        if (dim.kind != Kind::Repeat && dim.kind != own.kind)
          throw Refusal{"integers of different layouts are combined"};
        dim = {own.kind, sizes[i]};
      }
    }
    if (dim.kind == Kind::Long) {
      if (isList)
        throw Refusal{"all pairs of two lists of integers have no meaning as maps"};
      isList = true;
      length = sizes[i];
    }
    counts[i] = smallSize(dim);
    result.dims.push_back(dim);
  }
  size_t total = 1;
  for (size_t each : counts)
    total *= each;
  for (size_t i = 0; i < total; ++i) {
    std::vector<Index> arguments;
    for (const IndexTensor &each : operands) {
      size_t at = 0, rest = i;
      std::vector<size_t> place(rank, 0);
      for (size_t d = rank; d-- > 0;) {
        place[d] = rest % counts[d];
        rest /= counts[d];
      }
      for (size_t d = 0; d < each.dims.size(); ++d)
        at = at * smallSize(each.dims[d]) + (each.dims[d].kind == Kind::Small ? place[d + rank - each.dims.size()] : 0);
      arguments.push_back(each.components.at(at));
    }
    bool anyList = llvm::any_of(arguments, [](const Index &each) { return each->isList; });
    if (isList && !anyList)
      throw Refusal{"integers of different layouts are combined"};
    result.components.push_back(anyList ? call(function, arguments, length, isTruth)
                                        : callScalar(function, arguments, isTruth));
  }
  return result;
}

IndexTensor Recover::filledIndex(int64_t value, const std::vector<SymbolicExpr> &sizes, bool isTruth) {
  IndexTensor result;
  bool isList = false;
  for (const SymbolicExpr &size : sizes) {
    bool isLong = !isList && !(size == SymbolicExpr(1)) && (!size.getFactors().empty() || sizes.size() == 1);
    result.dims.push_back({isLong ? Kind::Long : size == SymbolicExpr(1) ? Kind::Unit : Kind::Repeat, size});
    if (isLong)
      result.components = {call("full", {sizeIndex(size), constant(value)}, size, isTruth)};
    isList |= isLong;
  }
  if (!isList)
    result.components = {constant(value)};
  return result;
}

IndexTensor Recover::mapped(const IndexTensor &tensor, const std::vector<SymbolicExpr> &sizes,
                            const std::function<Index(const Index &)> &function) {
  IndexTensor result;
  for (auto [dim, size] : llvm::zip(tensor.dims, sizes))
    result.dims.push_back({dim.kind, size});
  for (const Index &each : tensor.components)
    result.components.push_back(function(each));
  return result;
}

/// All the numbers, row-major, of what depends on no input; of repetitions one.
std::optional<std::vector<int64_t>> Recover::constantsOf(IndexTensor tensor) {
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
std::optional<Tensor> Recover::asOneHot(const IndexTensor &index) {
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
Tensor Recover::asNumbers(const IndexTensor &given) {
  IndexTensor index = withoutCopies(given);
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
IndexTensor Recover::indexArgument(const NormalNode &node, const std::string &name) {
  const Argument *argument = find(node, name);
  if (!argument)
    throw Refusal{"argument '" + name + "' is missing"};
  if (auto *value = std::get_if<ValueName>(argument)) {
    if (auto found = indices.find(value->name); found != indices.end())
      return found->second;
    if (normal.integers.count(value->name))
      return {{}, {sizeIndex(expression(*argument))}};
    return indexOf(value->name);
  }
  if (auto *value = std::get_if<int64_t>(argument))
    return {{}, {constant(*value)}};
  if (auto *value = std::get_if<bool>(argument))
    return {{}, {constant(*value)}};
  if (auto *value = std::get_if<double>(argument); value && *value == double(int64_t(*value)))
    return {{}, {constant(int64_t(*value))}};
  throw Refusal{"argument '" + name + "': expected integers"};
}
