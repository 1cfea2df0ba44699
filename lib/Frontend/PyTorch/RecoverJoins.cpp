//===- RecoverJoins.cpp - Tensors side by side, and what neighbours on an axis give ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace gnnc::frontend::pytorch {

using Kind = Dim::Kind;

/// The number of elements along an axis of fixed size.
int64_t Recover::fixedSize(const NormalNode &node, const Tensor &x, size_t dim) const {
  const Dim &each = x.dims.at(dim);
  if (each.kind == Kind::Space || each.kind == Kind::Group)
    throw Refusal{"'" + node.op + "': expected an axis of fixed size, found one of " + sizeOf(each).str() +
                  " elements"};
  return each.size;
}

/// With axes of size 1, as atleast_1d, atleast_2d and atleast_3d add them.
Tensor Recover::atLeast(Tensor x, size_t rank) {
  if (rank >= 1 && x.dims.empty())
    x = unsqueezed(x, 0);
  if (rank >= 2 && x.dims.size() < 2)
    x = unsqueezed(x, 0);
  if (rank >= 3 && x.dims.size() < 3)
    x = unsqueezed(x, x.dims.size());
  return x;
}

void Recover::opAtLeast(const NormalNode &node) {
  define(node, atLeast(tensor(node, "self"), size_t(node.op[node.op.size() - 2] - '0')));
}

/// hstack, vstack, dstack and column_stack.
void Recover::opStackParts(const NormalNode &node) {
  std::vector<Tensor> parts;
  for (const std::string &name : names(node, "tensors")) {
    Tensor part = tensorOf(name);
    if (node.op == "column_stack")
      while (part.dims.size() < 2)
        part = unsqueezed(part, part.dims.size());
    parts.push_back(atLeast(part, node.op == "hstack" ? 1 : node.op == "dstack" ? 3 : 2));
  }
  size_t dim = node.op == "vstack" ? 0 : node.op == "dstack" ? 2 : std::min<size_t>(parts.at(0).dims.size() - 1, 1);
  define(node, concat(parts, dim));
}

/// Differences of neighbours.
void Recover::opDiff(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", -1, x.dims.size());
  std::vector<Tensor> parts = {x};
  if (has(node, "prepend"))
    parts.insert(parts.begin(), tensor(node, "prepend"));
  if (has(node, "append"))
    parts.push_back(tensor(node, "append"));
  if (parts.size() > 1)
    x = concat(parts, dim);
  for (int64_t i = integer(node, "n", 1); i > 0; --i) {
    int64_t size = fixedSize(node, x, dim);
    if (size < 2)
      throw Refusal{"differences of one number: the result is empty"};
    x = binary("-", slice(x, dim, 1, size, 1), slice(x, dim, 0, size - 1, 1));
  }
  define(node, x);
}

/// The area below a line through points that are equally far apart, or whose places are given.
void Recover::opTrapezoid(const NormalNode &node) {
  Tensor y = tensor(node, "y");
  size_t dim = axisNumber(node, "dim", -1, y.dims.size());
  auto ofNeighbours = [&](const char *function, const Tensor &x, size_t along) {
    int64_t size = fixedSize(node, x, along);
    return binary(function, slice(x, along, 1, size, 1), slice(x, along, 0, size - 1, 1));
  };
  Tensor each = ofNeighbours("+", y, dim);
  if (has(node, "x")) {
    Tensor x = tensor(node, "x");
    if (x.dims.size() != 1 && x.dims.size() != y.dims.size())
      throw Refusal{"places of points with other axes than the points"};
    Tensor steps = ofNeighbours("-", x, x.dims.size() == 1 ? 0 : dim);
    if (x.dims.size() == 1)
      while (steps.dims.size() < y.dims.size() - dim)
        steps = unsqueezed(steps, steps.dims.size());
    each = binary("*", each, steps);
  }
  define(node, binary("*", fold("sum", each, {dim}, false), number(node, "dx", 1) / 2));
}

/// The largest, the smallest and the logarithm of the sum of exponentials of all numbers up to each place.
void Recover::opRunning(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  if (x.dims.empty())
    return define(node, x);
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  int64_t size = fixedSize(node, x, dim);
  bool isSum = node.op == "logcumsumexp";
  bool hasPlaces = node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1]);
  std::vector<Tensor> best = {slice(x, dim, 0, 1, 1)}, places = {binary("*", best[0], 0)};
  if (hasPlaces)
    places[0].value = program.detach(places[0].value);
  for (int64_t i = 1; i < size; ++i) {
    Tensor next = slice(x, dim, i, i + 1, 1);
    if (hasPlaces) { // of equal numbers the last
      Tensor isBetter = binary(node.op == "cummax" ? ">=" : "<=", next, best.back());
      places.push_back(where(isBetter, scalar(double(i)), places.back()));
    }
    best.push_back(isSum ? logOfSum(best.back(), next)
                         : binary(node.op == "cummax" ? "maximum" : "minimum", best.back(), next));
  }
  define(node, concat(best, dim));
  if (hasPlaces)
    define(node, concat(places, dim), 1);
}

/// Padding by numbers of the tensor itself: in a circle, mirrored, or the outermost ones.
Tensor Recover::paddedByItself(const NormalNode &node, const Tensor &x, size_t dim, int64_t before, int64_t after) {
  int64_t size = fixedSize(node, x, dim);
  std::string mode = string(node, "mode", "");
  bool isMirrored = mode == "reflect", isCircle = mode == "circular";
  if (!isMirrored && !isCircle && mode != "replicate")
    throw Refusal{"argument 'mode': expected constant, circular, reflect or replicate, found '" + mode + "'"};
  std::vector<Tensor> pieces;
  for (int64_t i = -before; i < size + after; ++i) {
    int64_t at = isCircle     ? (i % size + size) % size
                 : isMirrored ? (i < 0      ? -i
                                 : i < size ? i
                                            : 2 * size - 2 - i)
                              : std::clamp<int64_t>(i, 0, size - 1);
    if (at < 0 || at >= size)
      throw Refusal{"it pads by more numbers than there are"};
    if (i == 0 && size > 0) {
      pieces.push_back(x);
      i = size - 1;
    } else {
      pieces.push_back(slice(x, dim, at, at + 1, 1));
    }
  }
  return concat(pieces, dim);
}

/// Windows along an axis, one after the other, with what is in them last.
void Recover::opUnfold(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dimension", 0, x.dims.size());
  if (x.dims.at(dim).kind == Dim::Kind::Space && program.spaces[size_t(x.dims[dim].id)].extent < 0) {
    // The rows of window i are step i, step i + 1, ...
    std::vector<SymbolicExpr> own = {sizes(node).at(dim), sizes(node).back()};
    IndexTerm first = algebra.times(algebra.coordinate(0, own[0]), integer(node, "step", 1));
    Tensor rows = gather(x, dim, indexSources.lists({own, algebra.add(first, algebra.coordinate(1, own[1]))}));
    std::rotate(rows.dims.begin() + ptrdiff_t(dim) + 1, rows.dims.begin() + ptrdiff_t(dim) + 2, rows.dims.end());
    return define(node, rows);
  }
  int64_t all = fixedSize(node, x, dim), size = integer(node, "size", 1), step = integer(node, "step", 1);
  x = withAxis(x, dim);
  std::vector<Tensor> windows;
  for (int64_t begin = 0; begin + size <= all; begin += std::max<int64_t>(step, 1)) {
    Tensor window = slice(x, dim, begin, begin + size, 1);
    std::rotate(window.dims.begin() + ptrdiff_t(dim), window.dims.begin() + ptrdiff_t(dim) + 1, window.dims.end());
    windows.push_back(unsqueezed(window, dim));
  }
  define(node, concat(windows, dim));
}

/// Numbers on the diagonal of matrices.
void Recover::opDiagEmbed(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  if (node.op == "diagflat")
    x = reshape(x, {sizes(node).at(0)});
  size_t rank = x.dims.size();
  if (rank == 0 || integer(node, "offset", 0) != 0 || axisNumber(node, "dim1", -2, rank + 1) + 1 != rank ||
      axisNumber(node, "dim2", -1, rank + 1) != rank)
    throw Refusal{"expected the main diagonal (offset 0) of the last two axes, found another offset or other axes"};
  int64_t size = fixedSize(node, x, rank - 1);
  Tensor ones = pattern(size, size, [](int64_t i, int64_t j) { return i == j; });
  define(node, binary("*", unsqueezed(withAxis(x, rank - 1), rank), ones));
}

/// Matrices with other numbers on their diagonals.
void Recover::opDiagonalScatter(const NormalNode &node) {
  Tensor x = tensor(node, "self"), diagonal = tensor(node, "src");
  size_t rank = x.dims.size(), a = axisNumber(node, "dim1", 0, rank), b = axisNumber(node, "dim2", 1, rank);
  if (integer(node, "offset", 0) != 0 || a == b)
    throw Refusal{"expected the main diagonal (offset 0) of two axes, found another offset or one axis"};
  int64_t size = fixedSize(node, x, a);
  if (size != fixedSize(node, x, b))
    throw Refusal{"expected square matrices, found a tensor of shape " + shapeText(x.dims)};
  Tensor chosen = pattern(size, size, [](int64_t i, int64_t j) { return i == j; });
  std::vector<Dim> dims(rank);
  dims[a] = chosen.dims[0];
  dims[b] = chosen.dims[1];
  chosen.dims = dims;
  // Its last axis is the first of the two.
  diagonal = withAxis(diagonal, rank - 2);
  const Dim along = diagonal.dims.back();
  diagonal.dims.pop_back();
  diagonal.dims.insert(diagonal.dims.begin() + ptrdiff_t(std::min(a, b)), along);
  define(node, where(chosen, unsqueezed(diagonal, std::max(a, b)), x));
}

/// Every element of one matrix times the other matrix.
void Recover::opKron(const NormalNode &node) {
  Tensor a = tensor(node, "self"), b = tensor(node, "other");
  if (a.dims.size() != b.dims.size())
    throw Refusal{"expected two tensors with the same number of axes, found shapes " + shapeText(a.dims) + " and " +
                  shapeText(b.dims)};
  for (size_t i = 0, rank = a.dims.size(); i < rank; ++i) {
    a = unsqueezed(a, 2 * i + 1);
    b = unsqueezed(b, 2 * i);
  }
  define(node, reshape(binary("*", a, b), sizes(node)));
}

/// The number that comes at some place in the order of an axis, and where it is; numbers at quantiles.
void Recover::opOrdered(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool keep = flag(node, "keepdim", false), isQuantile = node.op == "quantile";
  if (isQuantile && !has(node, "dim"))
    throw Refusal{"argument 'dim': expected an axis of fixed size, found none"};
  size_t dim = axisNumber(node, "dim", -1, x.dims.size());
  int64_t size = fixedSize(node, x, dim);
  std::vector<Tensor> ordered = inOrder(x, dim, false);
  auto at = [&](int64_t place) {
    Tensor found = ordered.at(size_t(place));
    return keep ? found : squeezed(found, dim);
  };
  if (!isQuantile) {
    int64_t place = integer(node, "k", 1) - 1;
    if (place < 0 || place >= size)
      throw Refusal{"argument 'k': expected 1 to " + std::to_string(size) + ", found " + std::to_string(place + 1)};
    define(node, at(place));
    if (node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1])) {
      Tensor where = orderedPlaces(x, dim, place + 1, false).back();
      define(node, keep ? where : squeezed(where, dim), 1);
    }
    return;
  }
  std::optional<double> q = number(node, "q");
  std::string kind = string(node, "interpolation", "linear");
  if (!q || *q < 0 || *q > 1)
    throw Refusal{"argument 'q': expected one constant number from 0 to 1, found " +
                  (q ? std::to_string(*q) : "a tensor")};
  if (kind != "linear")
    throw Refusal{"argument 'interpolation': expected linear, found '" + kind + "'"};
  double exact = *q * double(size - 1);
  int64_t below = int64_t(std::floor(exact)), above = std::min(below + 1, size - 1);
  define(node, binary("+", at(below), binary("*", binary("-", at(above), at(below)), exact - double(below))));
}

void Recover::opArgsort(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", -1, x.dims.size());
  if (orderPairs(node, x, dim, flag(node, "descending", false), 0))
    return;
  needMatrixOfElements(x, dim, placesRead(node.outputs[0], dim).second);
  define(node, concat(orderedPlaces(x, dim, fixedSize(node, x, dim), flag(node, "descending", false)), dim));
}

} // namespace gnnc::frontend::pytorch
