//===- RecoverIntegerViews.cpp - Views and parts of integers -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch's operators in terms of Indices/Views.h: their arguments, counted from the front.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

static bool isLiteral(const SymbolicExpr &size) { return size.getFactors().empty(); }

static bool isWholeEnd(const Argument &end) {
  auto *literal = std::get_if<int64_t>(&end);
  return literal && *literal == INT64_MAX;
}

/// A place along an axis that Python may count from the end.
static SymbolicExpr placeFromFront(const SymbolicExpr &place, const SymbolicExpr &size) {
  return isLiteral(place) && place.getNumber() < 0 ? size + place : place;
}

void Recover::intSelect(const NormalNode &node) {
  const IndexTensor x = indexFunction(node, "self");
  int64_t own = node.op == "dsplit" ? 2 : node.op == "hsplit" && x.sizes.size() > 1 ? 1 : 0;
  size_t dim = axisNumber(node, "dim", own, x.sizes.size());
  const SymbolicExpr size = x.sizes.at(dim);
  auto checked = [&](const SymbolicExpr &place) {
    SymbolicExpr at = placeFromFront(place, size);
    bool isOutside = isLiteral(at) && (at.getNumber() < 0 || (isLiteral(size) && at.getNumber() >= size.getNumber()));
    if (isOutside)
      throw Refusal{"element " + place.str() + " of an axis of size " + size.str()};
    return at;
  };
  if (node.op == "select")
    return define(node, views::select(algebra, x, dim, checked(expression(*find(node, "index")))));
  SymbolicExpr begin = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) // nothing reads it
      continue;
    if (node.op == "unbind") {
      define(node, views::select(algebra, x, dim, int64_t(i)), i);
      continue;
    }
    SymbolicExpr length = sizes(node, i).at(dim);
    define(node, views::slice(algebra, x, dim, begin, 1, length), i);
    begin += length;
  }
}

void Recover::intView(const NormalNode &node) {
  define(node, views::reshape(algebra, indexFunction(node, "self"), sizes(node)));
}

void Recover::intExpand(const NormalNode &node) {
  define(node, views::expand(algebra, indexFunction(node, "self"), sizes(node)));
}

/// What is written over all of a tensor.
void Recover::intCopy(const NormalNode &node) {
  define(node, views::expand(algebra, indexFunction(node, "src"), sizes(node)));
}

void Recover::intTranspose(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  define(node, views::permute(algebra, x, transposedAxes(node, x.sizes.size())));
}

void Recover::intRepeat(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  while (x.sizes.size() < wanted.size())
    x = views::unsqueeze(algebra, x, 0);
  for (size_t dim = 0; dim < wanted.size(); ++dim)
    if (!(x.sizes[dim] == wanted[dim]))
      x = views::tile(algebra, x, dim, wanted[dim]);
  define(node, x);
}

/// cat, stack and what torch calls hstack, vstack, dstack and column_stack, which give each part the axes it lacks.
void Recover::intCat(const NormalNode &node) {
  const std::string &op = node.op;
  std::vector<SymbolicExpr> wanted = sizes(node);
  bool isAcross = op == "hstack" || op == "column_stack";
  size_t dim = isAcross         ? std::min<size_t>(wanted.size() - 1, 1)
               : op == "vstack" ? 0
               : op == "dstack" ? 2
                                : axisNumber(node, "dim", 0, wanted.size());
  std::vector<IndexTensor> parts;
  for (const std::string &name : names(node, "tensors")) {
    IndexTensor part = indexFunctionOf(name);
    if (op == "stack")
      part = views::unsqueeze(algebra, part, dim);
    while (part.sizes.size() < wanted.size()) {
      bool isBehind = op == "column_stack" || (op == "dstack" && !part.sizes.empty() && part.sizes.size() != 1);
      part = views::unsqueeze(algebra, part, isBehind ? part.sizes.size() : 0);
    }
    // The other axes of all parts are one axis.
    std::vector<SymbolicExpr> own = wanted;
    own.at(dim) = part.sizes.at(dim);
    parts.push_back(views::expand(algebra, part, own));
  }
  define(node, views::concatenate(algebra, parts, dim));
}

/// Each operand in the shape that all have together, along an axis of its own.
void Recover::intMeshgrid(const NormalNode &node) {
  std::vector<std::string> operands = names(node, "tensors");
  bool isByColumns = string(node, "indexing", "ij") == "xy";
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    std::vector<SymbolicExpr> wanted = sizes(node, i), own(wanted.size(), 1);
    size_t dim = isByColumns && i < 2 ? 1 - i : i;
    own.at(dim) = wanted[dim];
    IndexTensor x = views::reshape(algebra, indexFunctionOf(operands.at(i)), own);
    define(node, views::expand(algebra, x, wanted), i);
  }
}

/// Windows along an axis, whose elements are a last axis.
void Recover::intUnfold(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  size_t dim = axisNumber(node, "dimension", 0, x.sizes.size()), last = x.sizes.size();
  IndexTensor result{sizes(node), nullptr, x.isTruth};
  std::vector<IndexTerm> places = views::coordinates(algebra, result.sizes);
  places[dim] = algebra.add(algebra.times(places[dim], integer(node, "step", 1)), places[last]);
  places.pop_back();
  result.value = algebra.at(x.value, places);
  define(node, result);
}

/// The same number on both sides.
void Recover::intPad(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  if (string(node, "mode", "constant") != "constant")
    throw Refusal{"integers are padded with a constant, found mode '" + string(node, "mode", "constant") + "'"};
  std::vector<SymbolicExpr> amounts = sizesIn(node, "pad");
  IndexTensor value = has(node, "value") ? indexFunctionArgument(node, "value") : numberTensor(0);
  for (size_t i = 0; 2 * i + 1 < amounts.size(); ++i) {
    size_t dim = x.sizes.size() - 1 - i;
    std::vector<IndexTensor> parts = {x};
    for (bool isBehind : {false, true}) {
      const SymbolicExpr &amount = amounts[2 * i + isBehind];
      if (isLiteral(amount) && amount.getNumber() < 0)
        throw Refusal{"integers are padded by " + amount.str() + " elements; use a slice"};
      std::vector<SymbolicExpr> own = x.sizes;
      own[dim] = amount;
      if (!(amount == SymbolicExpr(0)))
        parts.insert(isBehind ? parts.end() : parts.begin(), views::expand(algebra, value, own));
    }
    x = views::concatenate(algebra, parts, dim);
  }
  define(node, x);
}

void Recover::intDiagonal(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  size_t rank = x.sizes.size(), first = axisNumber(node, "dim1", 0, rank), second = axisNumber(node, "dim2", 1, rank);
  int64_t offset = integer(node, "offset", 0);
  IndexTensor result{sizes(node), nullptr, x.isTruth};
  IndexTerm along = algebra.coordinate(rank - 2, result.sizes.back());
  std::vector<IndexTerm> places;
  size_t next = 0;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t ahead = dim == first ? std::max<int64_t>(-offset, 0) : std::max<int64_t>(offset, 0);
    if (dim == first || dim == second) {
      places.push_back(algebra.add(along, algebra.number(SymbolicExpr(ahead))));
    } else {
      places.push_back(algebra.coordinate(next, x.sizes[dim]));
      ++next;
    }
  }
  result.value = algebra.at(x.value, places);
  define(node, result);
}

/// All products of two lists.
void Recover::intOuter(const NormalNode &node) {
  IndexTensor rows = views::unsqueeze(algebra, indexFunction(node, "self"), 1), columns = indexFunction(node, "vec2");
  define(node, elementwise("mul", {rows, columns}, false, sizes(node)));
}

/// `edge_index[1] = x` and the like: what is in some places along one axis is something else.
void Recover::intReplacePart(const NormalNode &node) {
  const IndexTensor x = indexFunction(node, "self");
  IndexTensor source = views::expand(algebra, indexFunction(node, "src"), sizesOf(nameOf(node, "src")));
  size_t dim = axisNumber(node, "dim", 0, x.sizes.size());
  const SymbolicExpr size = x.sizes[dim];
  SymbolicExpr begin = 0;
  int64_t step = 1;
  if (node.op == "select_scatter") {
    source = views::unsqueeze(algebra, source, dim);
    begin = placeFromFront(expression(*find(node, "index")), size);
  } else {
    step = integer(node, "step", 1);
    if (has(node, "start"))
      begin = placeFromFront(expression(*find(node, "start")), size);
    if (isLiteral(begin) && isLiteral(size))
      begin = std::clamp<int64_t>(begin.getNumber(), 0, size.getNumber());
  }
  if (source.sizes.at(dim) == SymbolicExpr(0))
    return define(node, x);
  define(node, views::write(algebra, x, dim, begin, step, source));
}

void Recover::intSlice(const NormalNode &node) {
  const IndexTensor x = indexFunction(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.sizes.size());
  const SymbolicExpr size = x.sizes[dim], length = sizes(node).at(dim);
  int64_t step = integer(node, "step", 1);
  SymbolicExpr given = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
  SymbolicExpr begin = placeFromFront(given, size);
  if (isLiteral(begin) && isLiteral(size))
    begin = std::clamp<int64_t>(begin.getNumber(), 0, size.getNumber());
  if (isKnown(length) && isKnown(begin))
    return define(node, views::slice(algebra, x, dim, begin, step, length));
  // How many elements there are follows from the slice itself.
  Index last = constant(int64_t(1) << 40);
  if (node.op == "narrow")
    last = sizeIndex(given + expression(*find(node, "length")));
  else if (has(node, "end") && !isWholeEnd(*find(node, "end")))
    last = sizeIndex(expression(*find(node, "end")));
  define(node, eachList(x, dim, length, [&](const Index &each) {
           return call("slice", {each, sizeIndex(given), last, constant(step)}, length, each->isTruth);
         }));
}

/// A function of the lists along an axis, which gives lists of another length.
IndexTensor Recover::eachList(const IndexTensor &x, size_t dim, const SymbolicExpr &length,
                              const std::function<Index(const Index &)> &function) {
  IndexLists lists = indexSources.lists(x, dim);
  lists.dims[dim].size = length;
  for (Index &each : lists.components) {
    each = function(each);
    learnSymbol(length, "length(" + each->text + ")");
  }
  return indexSources.function(lists);
}

/// The amounts and axes of a roll; without axes it is one of all elements in turn, which of a list is the same.
std::vector<std::pair<int64_t, size_t>> Recover::rollOf(const NormalNode &node, size_t rank) const {
  std::vector<int64_t> shifts = integers(node, "shifts"), listed = integers(node, "dims");
  if (listed.empty() && rank == 1)
    listed = {0};
  if (shifts.size() != listed.size())
    throw Refusal{"roll without axes"};
  std::vector<std::pair<int64_t, size_t>> result;
  for (auto [shift, axis] : llvm::zip(shifts, listed))
    result.push_back({shift, size_t(axis < 0 ? axis + int64_t(rank) : axis)});
  return result;
}

/// Where the elements of a list come from that is rolled by `shift`.
Index Recover::rolledPlaces(int64_t shift, const SymbolicExpr &size) {
  Index all = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
  return call("mod", {call("sub", {all, constant(shift)}, size), sizeIndex(size)}, size);
}

void Recover::intRoll(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  for (auto [shift, dim] : rollOf(node, x.sizes.size()))
    x = views::roll(algebra, x, dim, shift);
  define(node, x);
}

void Recover::intFlip(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  std::vector<int64_t> dims = node.op == "flipud"   ? std::vector<int64_t>{0}
                              : node.op == "fliplr" ? std::vector<int64_t>{1}
                                                    : integers(node, "dims");
  for (int64_t axis : dims)
    x = views::flip(algebra, x, size_t(axis < 0 ? axis + int64_t(x.sizes.size()) : axis));
  define(node, x);
}

/// What is on one side of a diagonal of a matrix, and 0 on the other.
void Recover::intTriangle(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  if (x.sizes.size() < 2)
    throw Refusal{"a triangle of integers that are no matrix"};
  size_t rank = x.sizes.size();
  IndexTerm row = algebra.coordinate(rank - 2, x.sizes[rank - 2]),
            column = algebra.coordinate(rank - 1, x.sizes[rank - 1]);
  IndexTerm offset = algebra.add(column, algebra.times(row, -1));
  IndexTerm stays = algebra.apply(node.op == "tril" ? "le" : "ge",
                                  {offset, algebra.number(SymbolicExpr(integer(node, "diagonal", 0)))});
  x.value = algebra.apply("where", {stays, x.value, algebra.number(0)});
  define(node, x);
}
