//===- RecoverEach.cpp - Places that differ by feature --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gather and scatter say a place for each element. Where the graph gives other places for each of a few features, these
// are done one by one and joined. Along an axis of fixed size a place is a one-hot row of the axis.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// So many features may have places of their own.
static constexpr int64_t kMostFeatures = 64;
/// Elements of an axis of fixed size that all of its places look at.
static constexpr int64_t kMostLookedAt = 1 << 17;

/// The axis of rows along which places are lists: `dim` itself if it is one.
size_t Recover::rowsOfPlaces(const Tensor &x, size_t dim, const IndexTensor &at) const {
  bool isAlong = IndexAlgebra::dependsOn(at.value, dim) && !at.sizes.at(dim).getFactors().empty();
  if (x.dims.at(dim).kind == Kind::Space || isAlong)
    return dim;
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (i != dim && !at.sizes[i].getFactors().empty())
      return i;
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (i != dim && x.dims.at(i).kind == Kind::Space)
      return i;
  return dim;
}

/// An axis other than those of places and rows along which the places differ.
std::optional<size_t> Recover::featureOfPlaces(const IndexTensor &at, size_t dim, size_t rows) {
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (i != dim && i != rows && IndexAlgebra::dependsOn(at.value, i)) {
      if (!at.sizes[i].getFactors().empty() || at.sizes[i].getNumber() > kMostFeatures)
        throw Refusal{"the index differs along an axis of size " + at.sizes[i].str() +
                      ": expected one index for each "
                      "row, or at most " +
                      std::to_string(kMostFeatures) + " features with one of their own"};
      return i;
    }
  return std::nullopt;
}

/// The first elements of an axis, as many as there are places.
Tensor Recover::firstOf(const Tensor &x, size_t axis, const SymbolicExpr &count) {
  if (sizeOf(x.dims.at(axis)) == count)
    return x;
  if (!count.getFactors().empty() || !sizeOf(x.dims[axis]).getFactors().empty())
    throw Refusal{"the index covers only a part of the rows"};
  return slice(x, axis, 0, count.getNumber(), 1);
}

/// 1 where an element of a fixed axis is the one that a place names, for each row.
Tensor Recover::isPlaceOf(const Index &places, const Tensor &like, size_t dim, size_t rows) {
  int64_t size = sizeOf(like.dims[dim]).getNumber();
  if (size > kMostListed)
    wants.sizes.insert(size);
  int axis = program.newAxis(size);
  int space = spaceOf(places->length);
  Tensor chosen{{}, program.oneHot(mapOf(places, space, spaceOf(SymbolicExpr(size))), axis)};
  chosen.dims.resize(like.dims.size());
  chosen.dims[dim] = {Kind::Axis, axis, size};
  chosen.dims[rows] = {Kind::Space, space, 0};
  return chosen;
}

Tensor Recover::gatherEach(Tensor x, size_t dim, const IndexTensor &at) {
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (i != dim)
      x = firstOf(x, i, at.sizes[i]);
  // All elements are alike: zeros, for example.
  if (const Dim &own = x.dims.at(dim);
      own.kind == Kind::Repeat || (own.kind == Kind::Space && program.operations[size_t(x.value)].space < 0)) {
    x.dims[dim] = Dim();
    return broadcast(x, at.sizes);
  }
  size_t rows = rowsOfPlaces(x, dim, at);
  if (std::optional<size_t> feature = featureOfPlaces(at, dim, rows)) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < at.sizes[*feature].getNumber(); ++i)
      parts.push_back(gatherEach(slice(x, *feature, i, i + 1, 1), dim, views::slice(algebra, at, *feature, i, 1, 1)));
    return concat(parts, *feature);
  }
  if (rows == dim)
    return gatherList(x, dim, indexSources.lists(at, dim).components.at(0));
  IndexLists lists = indexSources.lists(at, rows);
  if (SymbolicExpr size = sizeOf(x.dims[dim]); size.getFactors().empty()) {
    int64_t lookedAt = int64_t(lists.components.size()) * size.getNumber();
    if (lookedAt > kMostLookedAt)
      throw Refusal{std::to_string(lists.components.size()) + " places along an axis of fixed size " + size.str() +
                    ", each of which looks at all elements: expected at most " + std::to_string(kMostLookedAt) +
                    " in all, found " + std::to_string(lookedAt)};
  }
  std::vector<Tensor> parts;
  for (const Index &each : lists.components) {
    if (sizeOf(x.dims[dim]) == SymbolicExpr(1)) {
      parts.push_back(x);
    } else if (std::optional<int64_t> place = constantOf(each)) {
      parts.push_back(slice(x, dim, *place, *place + 1, 1));
    } else {
      // What is in other places, infinite or no number, is not added.
      Tensor part = where(isPlaceOf(each, x, dim, rows), x, scalar(0));
      part = fold("sum", part, {dim}, /*keep=*/true);
      parts.push_back(part);
    }
  }
  if (lists.dims[dim].kind == IndexDim::Kind::Repeat) // the same place several times
    parts.assign(size_t(lists.dims[dim].size.getNumber()), parts.at(0));
  return concat(parts, dim);
}

/// `function`: sum, max or min, or empty for a write.
Tensor Recover::scatterEach(Tensor base, size_t dim, const IndexTensor &at, Tensor source,
                            const std::string &function) {
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (!source.dims.empty())
      source = firstOf(source, i, at.sizes[i]);
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (i != dim && !(sizeOf(base.dims.at(i)) == at.sizes[i]))
      throw Refusal{"the index covers only a part of the result"};
  size_t rows = rowsOfPlaces(base, dim, at);
  if (std::optional<size_t> feature = featureOfPlaces(at, dim, rows)) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < at.sizes[*feature].getNumber(); ++i)
      parts.push_back(scatterEach(slice(base, *feature, i, i + 1, 1), dim, views::slice(algebra, at, *feature, i, 1, 1),
                                  source.dims.empty() ? source : slice(source, *feature, i, i + 1, 1), function));
    return concat(parts, *feature);
  }
  if (rows == dim) {
    Index list = indexSources.lists(at, dim).components.at(0);
    return function.empty() ? put(base, dim, list, source) : scatter(base, dim, list, source, function, true);
  }
  IndexLists lists = indexSources.lists(at, rows);
  Tensor result = base;
  for (int64_t i = 0; i < at.sizes[dim].getNumber(); ++i) {
    const Index &places = lists.components.at(lists.dims[dim].kind == IndexDim::Kind::Small ? size_t(i) : 0);
    Tensor isHere = isPlaceOf(places, base, dim, rows);
    Tensor own = source.dims.empty() ? source : slice(source, dim, i, i + 1, 1);
    if (function == "sum")
      result = binary("+", result, where(isHere, own, scalar(0)));
    else
      result = where(isHere, function.empty() ? own : binary(function == "max" ? "maximum" : "minimum", result, own),
                     result);
  }
  return result;
}
