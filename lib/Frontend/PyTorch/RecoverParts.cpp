//===- RecoverParts.cpp - Parts of axes, and what is computed from one part to the next ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes of fixed size are taken apart and joined; spaces are indexed.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

void Recover::opCross(const NormalNode &node) {
  Tensor a = tensor(node, "self"), b = tensor(node, "other");
  size_t rank = sizes(node).size();
  size_t dim = axisNumber(node, "dim", -1, rank);
  // Without `dim`, cross takes the first axis of size 3.
  if (node.op == "cross" && !has(node, "dim"))
    for (dim = 0; dim + 1 < rank && !(sizes(node)[dim] == SymbolicExpr(3));)
      ++dim;
  for (Tensor *each : {&a, &b})
    while (each->dims.size() < rank)
      *each = unsqueezed(*each, 0);
  auto part = [&](const Tensor &of, int64_t i) { return slice(of, dim, i % 3, i % 3 + 1, 1); };
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i)
    parts.push_back(
        binary("-", binary("*", part(a, i + 1), part(b, i + 2)), binary("*", part(a, i + 2), part(b, i + 1))));
  define(node, concat(parts, dim));
}

/// Numbers around a tensor.
void Recover::opPad(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool isConstant = string(node, "mode", "constant") == "constant";
  std::vector<SymbolicExpr> amounts = sizesIn(node, "pad");
  double value = number(node, "value", 0);
  for (size_t i = 0; 2 * i + 1 < amounts.size(); ++i) {
    size_t dim = x.dims.size() - 1 - i;
    const SymbolicExpr &before = amounts[2 * i], &after = amounts[2 * i + 1];
    if (before == SymbolicExpr(0) && after == SymbolicExpr(0))
      continue;
    bool isFixed = before.getFactors().empty() && after.getFactors().empty();
    if (!isFixed && !isConstant)
      throw Refusal{"argument 'pad': expected fixed amounts with mode '" + string(node, "mode", "constant") +
                    "', found " + before.str() + " and " + after.str()};
    if (!isConstant)
      x = paddedByItself(node, x, dim, before.getNumber(), after.getNumber());
    else
      x = paddedBy(x, dim, before, after, value);
  }
  define(node, x);
}

/// The same number on both sides. An amount that is a size is one of rows: preparing a graph refuses less than 0.
Tensor Recover::paddedBy(const Tensor &x, size_t dim, const SymbolicExpr &before, const SymbolicExpr &after,
                         double value) {
  std::vector<Tensor> pieces;
  auto around = [&](const SymbolicExpr &size) {
    if (size.getFactors().empty() && size.getNumber() <= 0)
      return;
    Tensor piece = scalar(value);
    piece.dims.resize(x.dims.size());
    piece.dims[dim] = dimOf(size);
    pieces.push_back(piece);
  };
  auto cutOff = [](const SymbolicExpr &size) {
    return size.getFactors().empty() ? std::min<int64_t>(size.getNumber(), 0) : 0;
  };
  int64_t first = -cutOff(before), last = cutOff(after);
  if (x.dims.at(dim).kind == Kind::Space && (first != 0 || last != 0))
    throw Refusal{"it cuts off elements of a space by padding with a negative number"};
  around(before);
  pieces.push_back(first != 0 || last != 0 ? slice(x, dim, first, x.dims[dim].size + last, 1) : x);
  around(after);
  return concat(pieces, dim);
}

/// Sums of all up to each place: a product with a triangle of ones.
void Recover::opCumulative(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  const Dim &each = x.dims[dim];
  if (each.kind == Kind::Unit)
    return define(node, x);
  if (each.kind == Kind::Space || each.kind == Kind::Group)
    throw Refusal{"'" + node.op + "': expected an axis of fixed size, found one of " + sizeOf(each).str() +
                  " elements"};
  if (node.op == "cumprod") {
    std::vector<Tensor> steps = {slice(x, dim, 0, 1, 1)};
    for (int64_t i = 1; i < each.size; ++i)
      steps.push_back(binary("*", steps.back(), slice(x, dim, i, i + 1, 1)));
    return define(node, concat(steps, dim));
  }
  Tensor ones = pattern(each.size, each.size, [](int64_t i, int64_t j) { return i <= j; });
  Tensor sums = contract(x, ones, {{dim, 0}}, {});
  // The new axis is the last: back to its place.
  Dim last = sums.dims.back();
  sums.dims.pop_back();
  sums.dims.insert(sums.dims.begin() + ptrdiff_t(dim), last);
  define(node, sums);
}

/// The product of all numbers along some axes.
void Recover::opProduct(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool keep = flag(node, "keepdim", false);
  std::vector<size_t> dims;
  for (int64_t dim : integers(node, "dim"))
    dims.push_back(size_t(dim < 0 ? dim + int64_t(x.dims.size()) : dim));
  if (!has(node, "dim"))
    for (size_t dim = 0; dim < x.dims.size(); ++dim)
      dims.push_back(dim);
  llvm::sort(dims);
  for (size_t dim : dims) {
    const Dim each = x.dims.at(dim);
    if (each.kind == Kind::Unit)
      continue;
    if (each.kind == Kind::Space && resides(x, each)) {
      x.value = product(x.value, -1);
      x.dims[dim] = Dim();
      continue;
    }
    if (each.kind == Kind::Space || each.kind == Kind::Group)
      throw Refusal{"a product along an axis of size " + sizeOf(each).str()};
    Tensor whole = slice(x, dim, 0, 1, 1);
    for (int64_t i = 1; i < each.size; ++i)
      whole = binary("*", whole, slice(x, dim, i, i + 1, 1));
    x = whole;
  }
  if (!keep)
    for (size_t dim : llvm::reverse(dims))
      x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  define(node, x);
}

void Recover::opRoll(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  for (auto [shift, dim] : rollOf(node, x.dims.size())) {
    Dim each = x.dims.at(dim);
    if (each.kind == Kind::Space && resides(x, each)) {
      x = gatherList(x, dim, rolledPlaces(shift, program.spaces[each.id].size));
      continue;
    }
    if (each.kind != Kind::Axis)
      continue;
    int64_t by = (shift % each.size + each.size) % each.size;
    if (by != 0)
      x = concat({slice(x, dim, each.size - by, each.size, 1), slice(x, dim, 0, each.size - by, 1)}, dim);
  }
  define(node, x);
}

/// A tensor with some places along one axis replaced: select_scatter and slice_scatter.
void Recover::opReplacePart(const NormalNode &node) {
  Tensor x = tensor(node, "self"), source = tensor(node, "src");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  bool isOne = node.op == "select_scatter";
  if (isOne)
    source = unsqueezed(source, dim);
  Dim each = x.dims[dim];
  std::vector<SymbolicExpr> shape = sizes(node);
  if (each.kind == Kind::Space) {
    SymbolicExpr begin =
        has(node, isOne ? "index" : "start") ? expression(*find(node, isOne ? "index" : "start")) : SymbolicExpr(0);
    if (begin.getFactors().empty() && begin.getNumber() < 0)
      begin += shape[dim];
    SymbolicExpr length = isOne ? SymbolicExpr(1) : sizeOf(source.dims.at(dim));
    if (!isOne && length == shape[dim])
      return define(node, source);
    int64_t step = integer(node, "step", 1);
    Index places = call("arange", {sizeIndex(begin), sizeIndex(begin + length * step), constant(step)}, length);
    return define(node, put(x, dim, places, source));
  }
  int64_t size = shape.at(dim).getNumber(), begin, end, step = 1;
  if (isOne) {
    begin = integer(node, "index", 0);
    begin = begin < 0 ? begin + size : begin;
    end = begin + 1;
  } else {
    auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    begin = bound(integer(node, "start", 0));
    end = std::max(begin, bound(integer(node, "end", INT64_MAX)));
    step = integer(node, "step", 1);
  }
  // The source has no axis where it is the same all along.
  source = broadcast(source, [&] {
    std::vector<SymbolicExpr> wanted = shape;
    wanted[dim] = (end - begin + step - 1) / step;
    return wanted;
  }());
  std::vector<Tensor> pieces;
  auto keep = [&](int64_t from, int64_t to) {
    if (from < to)
      pieces.push_back(slice(x, dim, from, to, 1));
  };
  if (each.kind == Kind::Unit)
    return define(node, source);
  keep(0, begin);
  if (step == 1) {
    pieces.push_back(source);
    keep(end, size);
  } else {
    int64_t place = 0;
    for (int64_t at = begin; at < end; at += step, ++place) {
      pieces.push_back(source.dims[dim].kind == Kind::Axis ? slice(source, dim, place, place + 1, 1) : [&] {
        Tensor one = source;
        one.dims[dim] = Dim();
        return one;
      }());
      keep(at + 1, std::min(at + step, end));
    }
    keep(std::min(begin + place * step, end) < end ? end : end, size);
  }
  define(node, concat(pieces, dim));
}

/// What is written into a tensor takes its shape.
void Recover::opCopy(const NormalNode &node) { define(node, broadcast(tensor(node, "src"), sizes(node))); }

void Recover::opGLU(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", -1, x.dims.size());
  int64_t half = x.dims[dim].size / 2;
  Tensor gate = unary("sigmoid", slice(x, dim, half, 2 * half, 1));
  define(node, binary("*", slice(x, dim, 0, half, 1), gate));
}

/// The place of the first of the largest numbers along an axis.
Tensor Recover::firstBest(const Tensor &x, size_t dim, bool largest, bool keep) {
  Dim each = x.dims.at(dim);
  if (each.kind == Kind::Space || each.kind == Kind::Group)
    throw Refusal{"the index of an extremum: expected an axis of fixed size, found one of " + sizeOf(each).str() +
                  " elements"};
  Tensor fixed{x.dims, program.detach(x.value)};
  Tensor place = scalar(0);
  place.dims = x.dims;
  if (each.kind == Kind::Axis) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < each.size; ++i)
      numbers.push_back(double(i));
    Tensor counted = constantTensor(numbers, {each.size});
    counted.dims.resize(x.dims.size() - dim);
    // A NaN is both the largest and the smallest for PyTorch, and equal to nothing.
    Tensor isBest = binary("maximum", binary("==", fixed, fold(largest ? "max" : "min", fixed, {dim}, true)),
                           binary("!=", fixed, fixed));
    place = fold("min", where(isBest, counted, scalar(double(each.size))), {dim}, true);
  } else {
    place.dims[dim] = Dim();
    for (Dim &other : place.dims)
      if (other.kind == Kind::Axis)
        other = {Kind::Repeat, -1, other.size};
  }
  if (!keep)
    place.dims.erase(place.dims.begin() + ptrdiff_t(dim));
  return place;
}

void Recover::opArgExtremum(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool largest = node.op == "argmax", keep = flag(node, "keepdim", false);
  if (has(node, "dim"))
    return define(node, firstBest(x, axisNumber(node, "dim", 0, x.dims.size()), largest, keep));
  SymbolicExpr count = 1;
  for (const Dim &dim : x.dims)
    if (SymbolicExpr own = sizeOf(dim); own.getFactors().empty() && count.getFactors().empty())
      count = count * own.getNumber();
    else
      throw Refusal{"'" + node.op + "' without 'dim': expected a tensor of fixed shape, found " + shapeText(x.dims)};
  define(node, firstBest(reshape(x, {count}), 0, largest, false));
}

/// Each row of an axis several times.
void Recover::opRepeatInterleave(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  if (!has(node, "dim") && x.dims.size() != 1)
    throw Refusal{"argument 'dim': expected an axis of a tensor of shape " + shapeText(x.dims) + ", found none"};
  size_t dim = has(node, "dim") ? axisNumber(node, "dim", 0, x.dims.size()) : 0;
  SymbolicExpr length = sizes(node).at(dim);
  Dim each = x.dims.at(dim);
  if (each.kind == Kind::Unit || each.kind == Kind::Repeat) {
    x.dims[dim] = dimOf(length);
    return define(node, x);
  }
  IndexLists counts = indexArgument(node, "repeats");
  std::optional<int64_t> times = constantOf(counts.components.at(0));
  constexpr int64_t kMostCopies = 256;
  if (each.kind == Kind::Axis && times && *times <= kMostCopies) {
    std::vector<Tensor> pieces;
    for (int64_t i = 0; i < each.size; ++i)
      for (int64_t k = 0; k < *times; ++k)
        pieces.push_back(slice(x, dim, i, i + 1, 1));
    return define(node, concat(pieces, dim));
  }
  SymbolicExpr from = sizeOf(each);
  Index order = call("arange", {constant(0), sizeIndex(from), constant(1)}, from);
  Index repeats = counts.components[0];
  if (!repeats->isList)
    repeats = call("add", {call("full", {sizeIndex(from), constant(0)}, from), repeats}, from);
  Index rows = call("interleave", {order, repeats}, length);
  learnSymbol(length, "length(" + rows->text + ")");
  define(node, gatherList(x, dim, rows));
}

/// The diagonal of two axes, as the last one.
Tensor Recover::diagonal(const Tensor &x, size_t a, size_t b) {
  size_t rank = x.dims.size();
  const Dim first = x.dims[a], second = x.dims[b];
  if (first.kind == Kind::Space && second.kind == Kind::Space && first.pairs >= 0 && first.pairs == second.pairs &&
      first.side != second.side && first.layout < 0) {
    const int elements = program.spaces[size_t(first.pairs)].sides[size_t(first.side)];
    Tensor result{{}, onDiagonal(x.value, first.pairs, first.side)};
    for (size_t i = 0; i < rank; ++i)
      if (i != a && i != b)
        result.dims.push_back(x.dims[i]);
    result.dims.push_back({Kind::Space, elements, 0});
    return result;
  }
  int64_t rows = sizeOf(x.dims[a]).getNumber(), columns = sizeOf(x.dims[b]).getNumber();
  if (!sizeOf(x.dims[a]).getFactors().empty() || !sizeOf(x.dims[b]).getFactors().empty())
    throw Refusal{"a diagonal: expected a matrix of fixed size, found " + sizeOf(x.dims[a]).str() + " by " +
                  sizeOf(x.dims[b]).str() + ", a number for every pair"};
  std::vector<Tensor> elements;
  for (int64_t i = 0; i < std::min(rows, columns); ++i)
    elements.push_back(unsqueezed(pick(pick(x, std::max(a, b), i), std::min(a, b), i), rank - 2));
  return concat(elements, rank - 2);
}

void Recover::opDiagonal(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t rank = x.dims.size();
  const char *offset = node.op == "diag" ? "diagonal" : "offset";
  if (int64_t found = integer(node, offset, 0); found != 0)
    throw Refusal{"argument '" + std::string(offset) + "': expected 0, the main diagonal, found " +
                  std::to_string(found)};
  if (node.op == "diag" && rank == 1)
    return opDiagEmbed(node);
  bool isTrace = node.op == "trace";
  size_t a = isTrace ? 0 : axisNumber(node, "dim1", 0, rank), b = isTrace ? 1 : axisNumber(node, "dim2", 1, rank);
  if (rank < 2 || a == b)
    throw Refusal{"a diagonal: expected two different axes, found axes " + std::to_string(a) + " and " +
                  std::to_string(b) + " of a tensor of shape " + shapeText(x.dims)};
  Tensor found = diagonal(x, a, b);
  // torch says that of two sets it is as long as the smaller one.
  if (!isTrace && found.dims.back().kind == Kind::Space)
    knowSize(sizesOf(node.outputs[0]).back(), sizeOf(found.dims.back()));
  define(node, isTrace ? fold("sum", found, {rank - 2}, false) : found);
}
