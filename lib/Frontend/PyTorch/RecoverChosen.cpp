//===- RecoverChosen.cpp - Places that the model computes -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-hot rows of computed numbers, what such numbers choose along an axis of fixed size, and the places of ordered
// numbers. Each number is compared with all places of the axis; nothing of that has a gradient with respect to the
// number.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include <limits>

namespace gnnc::frontend::pytorch {

using Kind = Dim::Kind;

/// More comparisons for each element than this are refused.
static constexpr int64_t kMostClasses = 4096, kMostChosen = 16;

/// 1 where the number, which is the same all along `dim`, is that of the place.
Tensor Recover::isPlace(const Tensor &number, size_t dim, int64_t count) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(double(i));
  Tensor counted = constantTensor(numbers, {count});
  counted.dims.resize(number.dims.size() - dim);
  return binary("==", number, counted);
}

void Recover::opOneHot(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  SymbolicExpr classes = sizes(node).back();
  if (!classes.getFactors().empty())
    throw Refusal{"one_hot of a number of classes that is not fixed; give num_classes"};
  if (classes.getNumber() > kMostClasses)
    throw Refusal{"one_hot of more than 4096 classes; use torch.nn.Embedding"};
  define(node, isPlace(unsqueezed(x, x.dims.size()), x.dims.size(), classes.getNumber()));
}

/// How many of the boundaries are below a number, or, with `right`, not above it: as many comparisons as boundaries.
void Recover::opBucketize(const NormalNode &node) {
  bool isSearch = node.op == "searchsorted";
  Tensor bounds = tensor(node, isSearch ? "sorted_sequence" : "boundaries"), x = tensor(node, "self");
  bool right = flag(node, "right", false) || string(node, "side", "left") == "right";
  if (bounds.dims.size() != 1 || !choices(bounds, 0) || has(node, "sorter"))
    throw Refusal{"'" + node.op + "' among others than at most 4096 boundaries in one list"};
  Tensor isBelow = binary(right ? "<=" : "<", bounds, unsqueezed(x, x.dims.size()));
  define(node, fold("sum", isBelow, {x.dims.size()}, false));
}

/// The size of an axis of which computed numbers choose; nothing if it is no such axis.
std::optional<int64_t> Recover::choices(const Tensor &x, size_t dim) const {
  const Dim &each = x.dims.at(dim);
  bool isFixed = each.kind == Kind::Axis || each.kind == Kind::Repeat || each.kind == Kind::Unit;
  return isFixed && each.size <= kMostClasses ? std::optional(each.size) : std::nullopt;
}

/// Rows of a table by computed numbers: their one-hot rows times the table.
bool Recover::gatherChosen(const NormalNode &node, const Tensor &x, size_t dim, const std::string &at) {
  std::optional<int64_t> count = choices(x, dim);
  if (!tensors.count(at) || typeOf(at) == ScalarType::Bool || !count)
    return false;
  Tensor number = tensorOf(at);
  if (node.op == "index") // counts from the end where it is negative
    number = where(binary("<", number, 0), binary("+", number, double(*count)), number);
  size_t rank = number.dims.size();
  Tensor chosen = contract(isPlace(unsqueezed(number, rank), rank, *count), withAxis(x, dim), {{rank, dim}}, {});
  // The numbers' own axes stand in the place of the axis that they index.
  std::rotate(chosen.dims.begin(), chosen.dims.begin() + ptrdiff_t(rank), chosen.dims.begin() + ptrdiff_t(rank + dim));
  define(node, chosen);
  return true;
}

/// The numbers that choose of each row: one after the other, the same all along `dim`.
std::optional<std::vector<Tensor>> Recover::chosenPlaces(const NormalNode &node, const Tensor &x, size_t dim) {
  std::string name = nameOf(node, "index");
  if (!tensors.count(name) || !choices(x, dim))
    return std::nullopt;
  Tensor at = tensorOf(name);
  if (at.dims.size() != x.dims.size())
    return std::nullopt;
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (i != dim && !(sizesOf(name)[i] == sizeOf(x.dims[i])))
      return std::nullopt;
  SymbolicExpr size = sizesOf(name)[dim];
  if (!size.getFactors().empty() || size.getNumber() > kMostChosen)
    throw Refusal{"it chooses more than 16 elements of each row by computed numbers"};
  std::vector<Tensor> places;
  for (int64_t i = 0; i < size.getNumber(); ++i)
    places.push_back(at.dims[dim].kind == Kind::Axis ? unsqueezed(pick(at, dim, i), dim) : at);
  for (Tensor &each : places)
    each.dims[dim] = Dim();
  return places;
}

/// gather(x, dim, index) with computed numbers.
bool Recover::gatherPlaces(const NormalNode &node, const Tensor &x, size_t dim) {
  std::optional<std::vector<Tensor>> places = chosenPlaces(node, x, dim);
  if (!places)
    return false;
  std::vector<Tensor> parts;
  for (const Tensor &place : *places) {
    Tensor isHere = isPlace(place, dim, *choices(x, dim));
    parts.push_back(fold("sum", where(isHere, x, scalar(0)), {dim}, true));
  }
  define(node, concat(parts, dim));
  return true;
}

/// scatter(x, dim, index, value) with computed numbers.
bool Recover::scatterPlaces(const NormalNode &node, Tensor x, size_t dim) {
  std::optional<std::vector<Tensor>> places = chosenPlaces(node, x, dim);
  if (!places)
    return false;
  Tensor values = tensor(node, has(node, "value") ? "value" : "src");
  for (size_t i = 0; i < places->size(); ++i) {
    Tensor value = values;
    if (values.dims.size() == x.dims.size())
      value =
          unsqueezed(values.dims[dim].kind == Kind::Axis ? pick(values, dim, int64_t(i)) : squeezed(values, dim), dim);
    x = where(isPlace((*places)[i], dim, *choices(x, dim)), value, x);
  }
  define(node, x);
  return true;
}

/// Where the largest (smallest) numbers are along an axis, in order; of equal ones the first comes first.
std::vector<Tensor> Recover::orderedPlaces(const Tensor &x, size_t dim, int64_t count, bool largest) {
  std::optional<int64_t> size = choices(x, dim);
  if (!size || count > kMostChosen)
    throw Refusal{"the places of ordered numbers are used: gnnc can give at most 16 along an axis of fixed size"};
  Tensor fixed{x.dims, program.detach(x.value)}, taken = scalar(0);
  fixed = withAxis(fixed, dim);
  std::vector<double> numbers;
  for (int64_t i = 0; i < *size; ++i)
    numbers.push_back(double(i));
  Tensor counted = constantTensor(numbers, {*size});
  counted.dims.resize(x.dims.size() - dim);
  double worst = std::numeric_limits<double>::infinity() * (largest ? -1 : 1);
  // PyTorch takes a NaN for the largest of all: the first of these, or beside infinity the last.
  Tensor isNaN = binary("!=", fixed, fixed);
  if (!largest)
    fixed = where(isNaN, scalar(worst), fixed);
  std::vector<Tensor> places;
  for (int64_t i = 0; i < count; ++i) {
    Tensor best = fold(largest ? "max" : "min", i ? where(taken, scalar(worst), fixed) : fixed, {dim}, true);
    Tensor isBest = binary("==", fixed, best);
    if (largest)
      isBest = binary("maximum", isBest, isNaN);
    if (i)
      isBest = where(taken, scalar(0), isBest);
    places.push_back(fold("min", where(isBest, counted, scalar(double(*size))), {dim}, true));
    Tensor isHere = binary("==", places.back(), counted);
    taken = i ? binary("maximum", taken, isHere) : isHere;
  }
  return places;
}

} // namespace gnnc::frontend::pytorch
