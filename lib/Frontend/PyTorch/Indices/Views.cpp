//===- Views.cpp - Views of integer tensors -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

namespace gnnc::frontend::pytorch::views {

static bool isOne(const SymbolicExpr &size) { return size == SymbolicExpr(1); }

std::vector<IndexTerm> coordinates(IndexAlgebra &algebra, const Sizes &sizes) {
  std::vector<IndexTerm> result;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    result.push_back(algebra.coordinate(dim, sizes[dim]));
  return result;
}

IndexTensor expand(IndexAlgebra &algebra, const IndexTensor &x, const Sizes &sizes) {
  if (sizes.size() < x.sizes.size())
    throw Refusal{"expected at least " + std::to_string(x.sizes.size()) + " axes to expand to, found " +
                  std::to_string(sizes.size())};
  std::vector<IndexTerm> places;
  size_t front = sizes.size() - x.sizes.size();
  for (size_t dim = 0; dim < x.sizes.size(); ++dim) {
    if (!isOne(x.sizes[dim]) && !(x.sizes[dim] == sizes[front + dim]))
      throw Refusal{"an axis of size " + x.sizes[dim].str() + " cannot be expanded to " + sizes[front + dim].str()};
    places.push_back(isOne(x.sizes[dim]) ? algebra.number(0) : algebra.coordinate(front + dim, sizes[front + dim]));
  }
  return {sizes, algebra.at(x.value, places), x.isTruth};
}

IndexTensor combine(IndexAlgebra &algebra, const std::string &function, const std::vector<IndexTensor> &operands,
                    bool isTruth, const Sizes &sizes) {
  std::vector<IndexTerm> values;
  for (const IndexTensor &operand : operands)
    values.push_back(expand(algebra, operand, sizes).value);
  return {sizes, algebra.apply(function, std::move(values)), isTruth};
}

IndexTensor permute(IndexAlgebra &algebra, const IndexTensor &x, const std::vector<size_t> &order) {
  IndexTensor result{{}, nullptr, x.isTruth};
  std::vector<IndexTerm> places(x.sizes.size(), nullptr);
  for (size_t dim : order) {
    places.at(dim) = algebra.coordinate(result.sizes.size(), x.sizes[dim]);
    result.sizes.push_back(x.sizes[dim]);
  }
  result.value = algebra.at(x.value, places);
  return result;
}

/// Groups of neighbouring dims of both shapes that have as many elements. In each, an element's number in its group is
/// the sum of coordinates times strides, of which the other shape takes quotients and remainders.
IndexTensor reshape(IndexAlgebra &algebra, const IndexTensor &x, const Sizes &sizes) {
  Refusal misfit{"the view of integers regroups elements along several axes whose sizes differ from graph to graph; "
                 "give all but one of them as numbers"};
  std::vector<IndexTerm> places(x.sizes.size(), algebra.number(0));
  size_t from = 0, to = 0;
  while (from < x.sizes.size() || to < sizes.size()) {
    size_t fromEnd = from, toEnd = to;
    std::optional<SymbolicExpr> left = SymbolicExpr(1), right = SymbolicExpr(1);
    auto take = [](std::optional<SymbolicExpr> &product, const SymbolicExpr &size) {
      product = product ? multiply(*product, size) : std::nullopt;
    };
    auto isBehind = [](const SymbolicExpr &a, const SymbolicExpr &b) { // a is to be multiplied further
      return divideExactly(b, a).has_value() && !(a == b);
    };
    if (from < x.sizes.size())
      take(left, x.sizes[fromEnd++]);
    if (to < sizes.size())
      take(right, sizes[toEnd++]);
    while (left && right && !(*left == *right)) {
      bool canLeft = fromEnd < x.sizes.size(), canRight = toEnd < sizes.size();
      if (canLeft && (isBehind(*left, *right) || !canRight))
        take(left, x.sizes[fromEnd++]);
      else if (canRight && (isBehind(*right, *left) || !canLeft))
        take(right, sizes[toEnd++]);
      else if (canLeft && canRight) // neither divides the other
        take(left, x.sizes[fromEnd++]), take(right, sizes[toEnd++]);
      else
        throw misfit;
    }
    if (!left || !right)
      throw misfit;
    IndexTerm number = algebra.number(0);
    SymbolicExpr stride = 1;
    for (size_t dim = toEnd; dim-- > to;) {
      number = algebra.add(number, algebra.times(algebra.coordinate(dim, sizes[dim]), stride));
      std::optional<SymbolicExpr> next = multiply(stride, sizes[dim]);
      if (!next && dim > to)
        throw misfit;
      stride = next.value_or(0);
    }
    stride = 1;
    for (size_t dim = fromEnd; dim-- > from;) {
      IndexTerm place = algebra.quotient(number, stride);
      places[dim] = dim > from ? algebra.remainder(place, x.sizes[dim]) : place;
      std::optional<SymbolicExpr> next = multiply(stride, x.sizes[dim]);
      if (!next && dim > from)
        throw misfit;
      stride = next.value_or(0);
    }
    from = fromEnd;
    to = toEnd;
  }
  return {sizes, algebra.at(x.value, places), x.isTruth};
}

IndexTensor select(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &place) {
  IndexTensor result{x.sizes, nullptr, x.isTruth};
  result.sizes.erase(result.sizes.begin() + ptrdiff_t(dim));
  std::vector<IndexTerm> places = coordinates(algebra, result.sizes);
  places.insert(places.begin() + ptrdiff_t(dim), algebra.number(place));
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor slice(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &begin, int64_t step,
                  const SymbolicExpr &length) {
  IndexTensor result{x.sizes, nullptr, x.isTruth};
  result.sizes[dim] = length;
  std::vector<IndexTerm> places = coordinates(algebra, result.sizes);
  places[dim] = algebra.add(algebra.times(places[dim], step), algebra.number(begin));
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor flip(IndexAlgebra &algebra, const IndexTensor &x, size_t dim) {
  return slice(algebra, x, dim, x.sizes[dim] + SymbolicExpr(-1), -1, x.sizes[dim]);
}

IndexTensor roll(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, int64_t shift) {
  IndexTensor result = x;
  std::vector<IndexTerm> places = coordinates(algebra, x.sizes);
  places[dim] = algebra.remainder(algebra.add(places[dim], algebra.number(SymbolicExpr(-shift))), x.sizes[dim]);
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor tile(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &size) {
  IndexTensor result = x;
  result.sizes[dim] = size;
  std::vector<IndexTerm> places = coordinates(algebra, result.sizes);
  places[dim] = algebra.remainder(places[dim], x.sizes[dim]);
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor repeatEach(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &times) {
  std::optional<SymbolicExpr> size = multiply(x.sizes[dim], times);
  if (!size)
    throw Refusal{x.sizes[dim].str() + " elements are repeated " + times.str() + " times each"};
  IndexTensor result = x;
  result.sizes[dim] = *size;
  std::vector<IndexTerm> places = coordinates(algebra, result.sizes);
  places[dim] = times == SymbolicExpr(0) ? algebra.number(0) : algebra.quotient(places[dim], times);
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor concatenate(IndexAlgebra &algebra, const std::vector<IndexTensor> &parts, size_t dim) {
  IndexTensor result = parts.at(0);
  result.sizes[dim] = 0;
  std::vector<SymbolicExpr> starts;
  for (const IndexTensor &part : parts) {
    if (part.sizes.size() != result.sizes.size())
      throw Refusal{"it joins integers with different numbers of axes"};
    starts.push_back(result.sizes[dim]);
    result.sizes[dim] += part.sizes[dim];
  }
  std::vector<IndexTerm> places = coordinates(algebra, result.sizes), values;
  IndexTerm place = places[dim];
  for (auto [part, start] : llvm::zip(parts, starts)) {
    places[dim] = isOne(part.sizes[dim]) ? algebra.number(0) : algebra.add(place, algebra.number(start * -1));
    values.push_back(algebra.at(part.value, places));
  }
  // Rows that are there one by one are chosen.
  if (llvm::all_of(parts, [&](const IndexTensor &part) { return isOne(part.sizes[dim]); }))
    result.value = algebra.choose(place, std::move(values));
  else
    result.value = algebra.join(place, std::move(starts), std::move(values), result.sizes[dim]);
  return result;
}

IndexTensor unsqueeze(IndexAlgebra &algebra, const IndexTensor &x, size_t dim) {
  IndexTensor result = x;
  std::vector<IndexTerm> places;
  for (size_t i = 0; i < x.sizes.size(); ++i)
    places.push_back(algebra.coordinate(i < dim ? i : i + 1, x.sizes[i]));
  result.sizes.insert(result.sizes.begin() + ptrdiff_t(dim), SymbolicExpr(1));
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor write(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &begin, int64_t step,
                  const IndexTensor &source) {
  IndexTensor result = x;
  std::vector<IndexTerm> places = coordinates(algebra, x.sizes);
  IndexTerm offset = algebra.add(places[dim], algebra.number(begin * -1));
  SymbolicExpr count = source.sizes.at(dim);
  Sizes covered = x.sizes;
  covered[dim] = count;
  const IndexTensor own = expand(algebra, source, covered);
  IndexTerm place = places[dim];
  places[dim] = isOne(count) ? algebra.number(0) : algebra.quotient(offset, step);
  IndexTerm value = algebra.at(own.value, places);
  if (step != 1)
    value = algebra.apply("where",
                          {algebra.apply("eq", {algebra.remainder(offset, step), algebra.number(0)}), value, x.value});
  // The last place that is written, and one more.
  SymbolicExpr end = begin + (count + SymbolicExpr(-1)) * step + SymbolicExpr(1);
  result.value = algebra.join(place, {0, begin, end}, {x.value, value, x.value}, x.sizes[dim]);
  return result;
}

IndexTensor gather(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const IndexTensor &at) {
  IndexTensor result{x.sizes, nullptr, x.isTruth};
  result.sizes.erase(result.sizes.begin() + ptrdiff_t(dim));
  result.sizes.insert(result.sizes.begin() + ptrdiff_t(dim), at.sizes.begin(), at.sizes.end());
  std::vector<IndexTerm> places, own;
  for (size_t i = 0; i < at.sizes.size(); ++i)
    own.push_back(algebra.coordinate(dim + i, at.sizes[i]));
  for (size_t i = 0; i < x.sizes.size(); ++i)
    places.push_back(i == dim ? algebra.at(at.value, own)
                              : algebra.coordinate(i < dim ? i : i + at.sizes.size() - 1, x.sizes[i]));
  result.value = algebra.at(x.value, places);
  return result;
}

IndexTensor gatherAlong(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const IndexTensor &at) {
  IndexTensor result{at.sizes, nullptr, x.isTruth};
  std::vector<IndexTerm> places;
  for (size_t i = 0; i < x.sizes.size(); ++i)
    places.push_back(i == dim ? at.value : algebra.coordinate(i, at.sizes.at(i)));
  result.value = algebra.at(x.value, places);
  return result;
}

} // namespace gnnc::frontend::pytorch::views
