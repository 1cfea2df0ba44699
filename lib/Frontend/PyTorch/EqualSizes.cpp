//===- EqualSizes.cpp - Symbols that are one size -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/EqualSizes.h"
#include "PyTorch/Normalise.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

const std::string &EqualSizes::rootOf(const std::string &symbol) const {
  const std::string *root = &symbol;
  for (auto found = others.find(*root); found != others.end(); found = others.find(*root))
    root = &found->second;
  return *root;
}

void EqualSizes::unite(const SymbolicExpr &size, const SymbolicExpr &other) {
  std::map<std::string, int64_t> factors; // of size - other
  for (auto &[symbol, factor] : size.getFactors())
    factors[rootOf(symbol)] += factor;
  for (auto &[symbol, factor] : other.getFactors())
    factors[rootOf(symbol)] -= factor;
  std::vector<std::pair<std::string, int64_t>> left;
  for (auto &[symbol, factor] : factors)
    if (factor != 0)
      left.push_back({symbol, factor});
  if (size.getNumber() != other.getNumber() || left.size() != 2 || left[0].second != -left[1].second)
    return;
  // The one that `other` has stands for both, if it is the only one there.
  bool isFirst = other.getFactors().size() == 1 && rootOf(other.getFactors().begin()->first) == left[0].first;
  others.emplace(left[isFirst].first, left[!isFirst].first);
}

void EqualSizes::uniteOrFix(const SymbolicExpr &size, const SymbolicExpr &other) {
  bool isSymbol = size.getNumber() == 0 && size.getFactors().size() == 1 && size.getFactors().begin()->second == 1;
  // A size of 1 is that of a row for all others.
  if (isSymbol && other.getFactors().empty() && other.getNumber() > 1)
    numbers.emplace(rootOf(size.getFactors().begin()->first), other.getNumber());
  else
    unite(size, other);
}

std::optional<int64_t> EqualSizes::numberOf(const std::string &root) const {
  // It may have been the root of fewer when it was found.
  for (auto &[symbol, number] : numbers)
    if (rootOf(symbol) == root)
      return number;
  return std::nullopt;
}

static const TensorMeta *metaOf(const NormalProgram &program, const std::string &name) {
  auto found = program.tensors.find(name);
  return found == program.tensors.end() ? nullptr : &found->second;
}

static const TensorMeta *metaOf(const NormalProgram &program, const NormalNode &node, const char *argument) {
  auto found = node.arguments.find(argument);
  auto *name = found == node.arguments.end() ? nullptr : std::get_if<ValueName>(&found->second);
  return name ? metaOf(program, name->name) : nullptr;
}

static void unite(NormalProgram &program, const Size &size, const Size &other) {
  if (size.linear && other.linear)
    program.equalSizes.unite(*size.linear, *other.linear);
}

/// Whether all symbols are sizes of inputs, which torch calls s0, s1, ..., and which are not 1. Those of what is
/// computed (u0, u1, ...) may be 1, and one operand the same for all of another then.
static bool isOfInputs(const Size &size) {
  return size.linear && llvm::all_of(size.linear->getFactors(),
                                     [](auto &factor) { return llvm::StringRef(factor.first).starts_with("s"); });
}

/// The same for as many rows as a list has, which may be one of the module, of fixed length.
static void uniteRows(NormalProgram &program, const Size &rows, const Size &list) {
  if (rows.linear && list.linear)
    program.equalSizes.uniteOrFix(*rows.linear, *list.linear);
}

/// Lists of places along the first axes, and the rows that are written there.
static void uniteListsOfPlaces(NormalProgram &program, const NormalNode &node) {
  auto indices = node.arguments.find("indices");
  const auto *names = indices == node.arguments.end() ? nullptr : std::get_if<ValueNames>(&indices->second);
  if (!names || names->names.empty())
    return;
  for (const std::string &name : names->names) {
    const TensorMeta *meta = metaOf(program, name);
    if (!meta || meta->sizes.size() != 1 || meta->type == ScalarType::Bool)
      return;
  }
  const Size &first = metaOf(program, names->names[0])->sizes[0];
  for (const std::string &name : names->names)
    unite(program, metaOf(program, name)->sizes[0], first);
  // Numbers with fewer axes than the rows have are the same for all of them, and so may be a row of a computed number.
  const TensorMeta *base = metaOf(program, node, "self"), *rows = metaOf(program, node, "values");
  if (base && rows && rows->sizes.size() + names->names.size() == base->sizes.size() + 1 &&
      (names->names.size() > 1 || (isOfInputs(rows->sizes[0]) && isOfInputs(first))))
    uniteRows(program, rows->sizes[0], first);
}

/// A list of places along an axis, of which there is one for each row of the source.
static void uniteRowsOfList(NormalProgram &program, const NormalNode &node) {
  const TensorMeta *index = metaOf(program, node, "index"), *rows = metaOf(program, node, "source");
  auto found = node.arguments.find("dim");
  const auto *dim = found == node.arguments.end() ? nullptr : std::get_if<int64_t>(&found->second);
  if (!index || !rows || !dim || index->sizes.size() != 1 || rows->sizes.empty())
    return;
  size_t axis = size_t(*dim < 0 ? *dim + int64_t(rows->sizes.size()) : *dim);
  if (axis < rows->sizes.size())
    unite(program, rows->sizes[axis], index->sizes[0]);
}

/// A list of places, and what it is for: the rows that go there along `dim` (`of` is "src"), or what has the places,
/// along the other axes ("self"). PyTorch takes a list that is shorter than the rows, and leaves the other rows out:
/// here that is an error when a graph is prepared.
static void unitePlaces(NormalProgram &program, const NormalNode &node, const char *of, bool alongOthers) {
  const TensorMeta *index = metaOf(program, node, "index"), *rows = metaOf(program, node, of);
  auto found = node.arguments.find("dim");
  const auto *dim = found == node.arguments.end() ? nullptr : std::get_if<int64_t>(&found->second);
  if (!index || !rows || !dim || index->sizes.size() != rows->sizes.size())
    return;
  int64_t axis = *dim < 0 ? *dim + int64_t(rows->sizes.size()) : *dim;
  for (size_t i = 0; i < rows->sizes.size(); ++i)
    if ((int64_t(i) != axis) == alongOthers && isOfInputs(index->sizes[i]) && isOfInputs(rows->sizes[i])) {
      unite(program, index->sizes[i], rows->sizes[i]);
      if (!alongOthers)
        uniteRows(program, rows->sizes[i], index->sizes[i]);
    }
}

/// What a mask selects has its sizes.
static void uniteMask(NormalProgram &program, const NormalNode &node) {
  auto indices = node.arguments.find("indices");
  const auto *names = indices == node.arguments.end() ? nullptr : std::get_if<ValueNames>(&indices->second);
  const TensorMeta *rows = metaOf(program, node, "self");
  if (!names || names->names.size() != 1 || !rows)
    return;
  const TensorMeta *mask = metaOf(program, names->names[0]);
  if (!mask || mask->type != ScalarType::Bool || mask->sizes.size() > rows->sizes.size())
    return;
  for (size_t i = 0; i < mask->sizes.size(); ++i)
    if (isOfInputs(mask->sizes[i]) && isOfInputs(rows->sizes[i]))
      unite(program, mask->sizes[i], rows->sizes[i]);
}

static void uniteOperands(NormalProgram &program, const NormalNode &node) {
  const TensorMeta *result = node.outputs.size() == 1 ? metaOf(program, node.outputs[0]) : nullptr;
  if (!result)
    return;
  for (auto &[argument, value] : node.arguments) {
    auto *name = std::get_if<ValueName>(&value);
    const TensorMeta *operand = name ? metaOf(program, name->name) : nullptr;
    if (!operand || operand->sizes.size() > result->sizes.size())
      continue;
    for (size_t i = 0; i < operand->sizes.size(); ++i) {
      const Size &own = operand->sizes[i], &all = result->sizes[i + result->sizes.size() - operand->sizes.size()];
      if (isOfInputs(own) && isOfInputs(all))
        unite(program, own, all);
    }
  }
}

void gnnc::frontend::pytorch::uniteSizesOfOperands(NormalProgram &program) {
  static const llvm::StringSet<> scatters = {"scatter_add", "scatter_reduce", "scatter"};
  static const llvm::StringSet<> lists = {"index_add", "index_reduce", "index_copy"};
  static const llvm::StringSet<> elementwise = {"add", "sub",   "rsub",    "mul",     "div",
                                                "pow", "where", "maximum", "minimum", "masked_fill"};
  for (const NormalNode &node : program.nodes) {
    if (node.op == "index" || node.op == "index_put") {
      uniteListsOfPlaces(program, node);
      uniteMask(program, node);
    } else if (scatters.contains(node.op)) {
      unitePlaces(program, node, "src", /*alongOthers=*/false);
      unitePlaces(program, node, "self", /*alongOthers=*/true);
    } else if (lists.contains(node.op)) {
      uniteRowsOfList(program, node);
    } else if (node.op == "gather") {
      unitePlaces(program, node, "self", /*alongOthers=*/true);
    } else if (elementwise.contains(node.op)) {
      uniteOperands(program, node);
    }
  }
}
