//===- RecoverIntegers.cpp - Tensors of integers alone --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They depend on no computed number, so they are known when a graph is prepared: nothing of them is compiled. Here is
// what they are made of; RecoverIntegerShapes.cpp lays them out, RecoverIntegerOperators.cpp has the operators.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Sources.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

std::optional<int64_t> gnnc::frontend::pytorch::literalOf(const Index &index) {
  int64_t value;
  if (index->isList || llvm::StringRef(index->text).getAsInteger(10, value))
    return std::nullopt;
  return value;
}

/// `full(n, c)`: the constant of a list that has one.
std::optional<int64_t> gnnc::frontend::pytorch::constantOf(const Index &index) {
  return index->function == "full" ? literalOf(index->arguments[1]) : literalOf(index);
}

Index Recover::constant(int64_t value) const {
  return std::make_shared<IndexExpr>(IndexExpr{std::to_string(value), false, 0, false, "", {}});
}

Index Recover::sizeIndex(const SymbolicExpr &size) const {
  return std::make_shared<IndexExpr>(IndexExpr{sourceOf(size), false, 0, false, "", {}});
}

size_t gnnc::frontend::pytorch::smallSize(const IndexDim &dim) {
  return dim.kind == Kind::Small ? size_t(dim.size.getNumber()) : 1;
}

/// How far apart components lie that differ by one along a dim.
size_t gnnc::frontend::pytorch::strideOf(const IndexLists &tensor, size_t dim) {
  size_t stride = 1;
  for (size_t i = dim + 1; i < tensor.dims.size(); ++i)
    stride *= smallSize(tensor.dims[i]);
  return stride;
}

Index Recover::call(const std::string &function, std::vector<Index> arguments, SymbolicExpr length, bool isTruth) {
  return makeCall(function, std::move(arguments), true, std::move(length), isTruth);
}

Index Recover::callScalar(const std::string &function, std::vector<Index> arguments, bool isTruth) {
  if (function == "max" && arguments.size() == 1)
    arguments[0] = groupsOfBest(arguments[0]);
  return makeCall(function, std::move(arguments), false, 0, isTruth);
}

/// The places where a mask is true. Their number is that of any other list of the same places.
Index Recover::nonzero(const Index &mask, const SymbolicExpr &length) {
  std::vector<std::string> defined;
  if (std::optional<int> chosen = truthOfChosen(mask, &defined)) {
    Index kept = keptWhere(*chosen, length).components[0];
    definedWhere[kept->text].insert(defined.begin(), defined.end());
    return kept;
  }
  // Where none is chosen for itself, no pair is a loop.
  auto choiceOf = [&](const Index &end) {
    bool isEnd = end->function == "chosen" || end->function == "owner";
    return isEnd ? choiceIn(end) : -1;
  };
  if (mask->function == "ne" && choiceOf(mask->arguments[0]) >= 0 &&
      choiceOf(mask->arguments[0]) == choiceOf(mask->arguments[1]) &&
      program.operations[size_t(choiceOf(mask->arguments[0]))].begin) {
    knowSize(length, mask->length);
    return call("arange", {constant(0), sizeIndex(mask->length), constant(1)}, mask->length);
  }
  if (isOfChosen(mask) && !mayBeUndefined(mask))
    return keptWhere(numbersOf(mask), length).components[0];
  std::string text = "nonzero(" + mask->text + ")";
  auto [known, isNew] = nonzeroLengths.try_emplace(text, length);
  if (!isNew)
    equalSizes.unite(length, known->second);
  Index result = call("nonzero", {mask}, known->second);
  learnSymbol(known->second, "length(" + result->text + ")");
  filters.try_emplace(known->second.str(), result);
  return result;
}

/// One element of a list, which is a number where the list is a constant.
Index Recover::elementOf(const Index &list, int64_t at) {
  if (!list->isList)
    return list;
  if (list->numbers)
    return constant(list->numbers->at(size_t(at)));
  const std::vector<Index> &from = list->arguments;
  if (list->function == "full")
    return from[1];
  if (list->function == "arange")
    if (std::optional<int64_t> begin = literalOf(from[0]), step = literalOf(from[2]); begin && step)
      return constant(*begin + at * *step);
  if (llvm::StringRef text = list->text; text.consume_front("[") && text.consume_back("]")) {
    llvm::SmallVector<llvm::StringRef> numbers;
    text.split(numbers, ", ");
    return std::make_shared<IndexExpr>(IndexExpr{numbers[size_t(at)].str(), false, 0, list->isTruth, "", {}});
  }
  if (list->function == "cat") {
    for (const Index &piece : from) {
      if (!piece->length.getFactors().empty())
        break;
      if (at < piece->length.getNumber())
        return elementOf(piece, at);
      at -= piece->length.getNumber();
    }
    return callScalar("take", {list, constant(at)});
  }
  if (list->function == "flip" && list->length.getFactors().empty())
    return elementOf(from[0], list->length.getNumber() - 1 - at);
  static const std::set<std::string> elementwise = {"add",    "sub", "mul",     "div",     "mod", "eq",
                                                    "ne",     "lt",  "le",      "gt",      "ge",  "both",
                                                    "either", "not", "minimum", "maximum", "neg", "where"};
  if (elementwise.count(list->function)) {
    std::vector<Index> elements;
    for (const Index &argument : from)
      elements.push_back(elementOf(argument, at));
    return makeCall(list->function, elements, false, 0, list->isTruth);
  }
  return makeCall("take", {list, constant(at)}, false, 0, list->isTruth);
}

/// A list of fixed length as components.
IndexLists Recover::unrolled(const IndexLists &tensor, size_t dim) {
  const IndexDim &each = tensor.dims.at(dim);
  if (each.kind != Kind::Long || !each.size.getFactors().empty() || each.size.getNumber() > 1024)
    throw Refusal{"integers of different layouts are combined"};
  int64_t size = each.size.getNumber();
  IndexLists result;
  result.dims = tensor.dims;
  result.dims[dim].kind = size == 1 ? Kind::Unit : Kind::Small;
  size_t stride = strideOf(tensor, dim);
  for (size_t outer = 0; outer < tensor.components.size() / stride; ++outer)
    for (int64_t i = 0; i < size; ++i)
      for (size_t inner = 0; inner < stride; ++inner)
        result.components.push_back(elementOf(tensor.components[outer * stride + inner], i));
  return result;
}

/// The other way round: numbers as a list.
Index Recover::listOf(const std::vector<Index> &numbers) {
  bool areLiteral = llvm::all_of(numbers, [](const Index &each) { return literalOf(each).has_value(); });
  if (!areLiteral) {
    std::vector<Index> pieces;
    for (const Index &each : numbers)
      pieces.push_back(call("add", {call("full", {constant(1), constant(0)}, 1), each}, 1));
    return pieces.size() == 1 ? pieces[0] : call("cat", pieces, SymbolicExpr(int64_t(pieces.size())));
  }
  IndexExpr list{"[", true, SymbolicExpr(int64_t(numbers.size())), !numbers.empty() && numbers[0]->isTruth, "", {}};
  auto values = std::make_shared<std::vector<int64_t>>();
  for (const Index &each : numbers) {
    list.text += (list.text.size() > 1 ? ", " : "") + each->text;
    values->push_back(*literalOf(each));
  }
  list.text += "]";
  list.numbers = std::move(values);
  return std::make_shared<IndexExpr>(std::move(list));
}

/// Components that are all the same along an axis are a repetition.
IndexLists Recover::withoutCopies(IndexLists tensor) {
  for (size_t dim = 0; dim < tensor.dims.size(); ++dim) {
    if (tensor.dims[dim].kind != Kind::Small)
      continue;
    size_t stride = strideOf(tensor, dim), size = smallSize(tensor.dims[dim]);
    bool same = true;
    std::vector<Index> first;
    for (size_t i = 0; i < tensor.components.size(); ++i) {
      size_t place = i / stride % size;
      same &= tensor.components[i]->text == tensor.components[i - place * stride]->text;
      if (place == 0)
        first.push_back(tensor.components[i]);
    }
    if (same) {
      tensor.dims[dim].kind = Kind::Repeat;
      tensor.components = first;
    }
  }
  return tensor;
}

std::vector<int64_t> Recover::constantIntegers(const std::string &name) const {
  auto stored = exported.tensors.find(name);
  if (stored == exported.tensors.end())
    throw Refusal{"constant '" + name + "' is not in the file"};
  const StoredTensor &tensor = stored->second;
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const Size &size : tensor.meta.sizes) {
    shape.push_back(size.literal().value_or(0));
    count *= shape.back();
  }
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) {
    const std::byte *data = tensor.storage->data();
    int64_t place = tensor.offset, rest = i;
    for (size_t d = shape.size(); d-- > 0;) {
      place += rest % shape[d] * tensor.strides.at(d);
      rest /= shape[d];
    }
    switch (tensor.meta.type) {
    case ScalarType::Int64: {
      int64_t value;
      std::memcpy(&value, data + place * 8, 8);
      result.push_back(value);
      break;
    }
    case ScalarType::Int32: {
      int32_t value;
      std::memcpy(&value, data + place * 4, 4);
      result.push_back(value);
      break;
    }
    case ScalarType::Bool:
    case ScalarType::UInt8:
      result.push_back(int64_t(data[place]));
      break;
    default:
      throw Refusal{"constant '" + name + "': expected integers of 32 or 64 bits, or truth values"};
    }
  }
  return result;
}
