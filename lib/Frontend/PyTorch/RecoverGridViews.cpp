//===- RecoverGridViews.cpp - Views and gathers of grids ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view of a grid (Grids.h) has other coordinates for the same points, or a part of them, or them in another order.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

//===----------------------------------------------------------------------===//
// Views of all points
//===----------------------------------------------------------------------===//

/// Groups of neighbouring axes of both shapes have equal products. In each, axes of the grid get other sizes, or axes
/// of rows do; where both are in a group, axes of the grid that have a fixed size become some of rows. Nothing where
/// others are joined with axes of rows, as the heads of attention with the batch.
std::optional<Recover::Grid> Recover::reshapeGrid(Grid x, const std::vector<SymbolicExpr> &wanted) {
  struct Group {
    std::vector<size_t> from, to; // without axes of size 1
  };
  auto isOne = [](const SymbolicExpr &size) { return size == SymbolicExpr(1); };
  auto misfit = [&] {
    return Refusal{"a view of shape " + textOf(wanted) + " of a tensor of shape " + textOf(x.shape.sizes) +
                   " regroups elements of several axes"};
  };
  std::vector<Group> groups;
  size_t from = 0, to = 0;
  auto skip = [&] {
    while (from < x.shape.sizes.size() && isOne(x.shape.sizes[from]))
      ++from;
    while (to < wanted.size() && isOne(wanted[to]))
      ++to;
  };
  for (skip(); from < x.shape.sizes.size() || to < wanted.size(); skip()) {
    if (from == x.shape.sizes.size() || to == wanted.size())
      throw misfit();
    Group group;
    std::optional<SymbolicExpr> left = x.shape.sizes[from], right = wanted[to];
    group.from.push_back(from++);
    group.to.push_back(to++);
    while (left && right && !(*left == *right)) {
      skip();
      bool takesLeft = divideExactly(*right, *left).has_value();
      if ((takesLeft || to == wanted.size()) && from < x.shape.sizes.size()) {
        left = multiply(*left, x.shape.sizes[from]);
        group.from.push_back(from++);
      } else if (to < wanted.size()) {
        right = multiply(*right, wanted[to]);
        group.to.push_back(to++);
      } else {
        throw misfit();
      }
    }
    if (!left || !right)
      throw misfit();
    groups.push_back(group);
  }
  bool isRegrouped = llvm::any_of(groups, [&](const Group &group) {
    bool isOfGrid = llvm::any_of(group.from, [&](size_t axis) { return bool(x.shape.isOfGrid[axis]); });
    return isOfGrid && (group.from.size() > 1 || group.to.size() > 1);
  });
  // Rows and places the other way round stay two axes in one, as in `view(length * batch, -1)`.
  if (isRegrouped && !x.shape.isInOrder() && x.shape.grid().size() == 2 &&
      llvm::any_of(groups, [&](const Group &group) {
        return group.from.size() == 2 && group.to.size() == 1 && x.shape.isOfGrid[group.from[0]] &&
               x.shape.isOfGrid[group.from[1]];
      }))
    return std::nullopt;
  if (isRegrouped)
    x = inOrder(std::move(x));
  // Each group is of one kind.
  GridShape result{wanted, std::vector<bool>(wanted.size(), false), x.shape.order};
  for (const Group &group : groups) {
    auto isOfGrid = [&](size_t axis) { return bool(x.shape.isOfGrid[axis]); };
    if (llvm::any_of(group.from, isOfGrid) && !llvm::all_of(group.from, isOfGrid)) {
      if (!llvm::all_of(group.from, [&](size_t axis) { return x.shape.sizes[axis].getFactors().empty(); }))
        return std::nullopt;
      for (size_t axis : group.from)
        x = outOfGrid(x, axis);
      result.order.clear();
    }
    for (size_t axis : group.to)
      result.isOfGrid[axis] = isOfGrid(group.from[0]);
  }
  std::vector<SymbolicExpr> rows = result.rows();
  rows.insert(rows.begin(), pointsOf(result.grid()));
  // The points stay, so that only the rows' own axes are regrouped.
  Tensor flat = x.rows;
  flat.dims.erase(flat.dims.begin());
  Dim points = x.rows.dims[0];
  rows.erase(rows.begin());
  flat = reshapeFeatures(std::move(flat), points, rows);
  return withFeatures({result, flat});
}

/// What has a fixed size and comes after the last axis whose size is not fixed is one of features, as in an input.
Recover::Grid Recover::withFeatures(Grid x) {
  const GridShape wanted = leadingGrid(x.shape.sizes);
  if (wanted.grid().empty()) // all are fixed
    return x;
  for (size_t axis = 0; axis < x.shape.sizes.size(); ++axis)
    if (x.shape.isOfGrid[axis] && !wanted.isOfGrid[axis] && x.shape.sizes[axis].getNumber() <= kMostPicked &&
        !isChosenAxis(x, axis))
      x = outOfGrid(std::move(x), axis);
  return x;
}

/// Whether an axis is that of the elements which are chosen for each of the others.
bool Recover::isChosenAxis(const Grid &x, size_t axis) const {
  const Dim &points = x.rows.dims[0];
  return points.kind == Kind::Space && chosenRows.count(points.id) != 0 && x.shape.isOfGrid[axis] &&
         x.shape.place(axis) + 1 == x.shape.grid().size();
}

/// A view of rows that leaves their first axis as it is.
Tensor Recover::reshapeFeatures(Tensor x, const Dim &points, const std::vector<SymbolicExpr> &sizes) {
  bool isSame = x.dims.size() == sizes.size();
  for (size_t i = 0; isSame && i < sizes.size(); ++i)
    isSame = sizeOf(x.dims[i]) == sizes[i];
  if (!isSame)
    x = reshape(std::move(x), sizes);
  x.dims.insert(x.dims.begin(), points);
  return x;
}

/// Axes in another order; the points stay as they are numbered.
Recover::Grid Recover::permuteGrid(Grid x, const std::vector<size_t> &order) {
  std::vector<SymbolicExpr> sizes;
  for (size_t axis : order)
    sizes.push_back(x.shape.sizes.at(axis));
  const GridShape wanted = leadingGrid(sizes);
  for (size_t i = 0; i < order.size() && !wanted.grid().empty(); ++i)
    if (x.shape.isOfGrid[order[i]] && !wanted.isOfGrid[i] && sizes[i].getNumber() <= kMostPicked &&
        !isChosenAxis(x, order[i]))
      x = outOfGrid(std::move(x), order[i]);
  Grid result;
  result.rows.value = x.rows.value;
  result.rows.dims = {x.rows.dims[0]};
  for (size_t axis : order) {
    result.shape.sizes.push_back(x.shape.sizes.at(axis));
    result.shape.isOfGrid.push_back(x.shape.isOfGrid[axis]);
    if (x.shape.isOfGrid[axis])
      result.shape.order.push_back(x.shape.place(axis));
    else
      result.rows.dims.push_back(x.rows.dims[1 + x.shape.place(axis)]);
  }
  return result;
}

bool Recover::viewGrid(const NormalNode &node) {
  auto handler = handlers().find(node.op);
  bool isReshape =
      handler != handlers().end() && (handler->second == &Recover::opReshape || handler->second == &Recover::opSqueeze);
  bool isTranspose = handler != handlers().end() && handler->second == &Recover::opTranspose;
  bool isExpand = node.op == "expand" || node.op == "expand_as";
  bool isRepeat = node.op == "repeat" || node.op == "tile";
  if (!isReshape && !isTranspose && !isExpand && !isRepeat && node.op != "unsqueeze")
    return false;
  const std::string &name = nameOf(node, "self");
  if (!grids.count(name) && !tensors.count(name))
    return false;
  if (!grids.count(name) && !isReshape)
    return false;
  Grid x = gridOf(name);
  if (!grids.count(name) && x.shape.grid().empty())
    return false;
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (isExpand || isRepeat) {
    GridShape shape{wanted, {}};
    if (wanted.size() < x.shape.sizes.size())
      throw Refusal{"an expansion to fewer axes"};
    size_t before = wanted.size() - x.shape.sizes.size();
    for (size_t axis = 0; axis < wanted.size(); ++axis) {
      bool isNew = axis < before || x.shape.sizes[axis - before] == SymbolicExpr(1);
      if (!isNew && !(x.shape.sizes[axis - before] == wanted[axis]))
        throw Refusal{"it repeats the elements of an axis of a tensor with several axes of elements"};
      shape.isOfGrid.push_back(isNew ? isGridSize(wanted[axis]) : bool(x.shape.isOfGrid[axis - before]));
    }
    if (isOpenPair(shape)) {
      runOnPairs(node, {name});
      return true;
    }
    if (before == 0 && shape.grid().size() == x.shape.grid().size())
      shape.order = x.shape.order;
    Tensor rows = rowsFor(name, shape);
    std::vector<SymbolicExpr> features = shape.rows();
    for (size_t i = 0; i < features.size(); ++i)
      if (rows.dims[1 + i].kind == Kind::Unit)
        rows.dims[1 + i] = dimOf(features[i]);
    defineGrid(node, shape.isOfGrid, rows, 0, shape.order);
    return true;
  }
  Grid result = x;
  if (isTranspose) {
    result = permuteGrid(x, transposedAxes(node, x.shape.sizes.size()));
  } else if (isReshape) {
    std::optional<Grid> view = reshapeGrid(x, wanted);
    if (!view) {
      runOnPairs(node, {name});
      return true;
    }
    result = *view;
  } else {
    size_t axis = axisNumber(node, "dim", 0, x.shape.sizes.size() + 1);
    result.shape.sizes.insert(result.shape.sizes.begin() + ptrdiff_t(axis), SymbolicExpr(1));
    result.shape.isOfGrid.insert(result.shape.isOfGrid.begin() + ptrdiff_t(axis), false);
    result.rows.dims.insert(result.rows.dims.begin() + 1 + ptrdiff_t(result.shape.place(axis)), Dim());
  }
  defineGrid(node, result.shape.isOfGrid, result.rows, 0, result.shape.order);
  return true;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Rows of a table for integers that have several axes of elements.
bool Recover::lookUpOnGrid(const NormalNode &node) {
  if (node.op != "embedding" || flag(node, "scale_grad_by_freq", false) || !indices.count(nameOf(node, "indices")))
    return false;
  IndexTensor at = indexFunction(node, "indices");
  const std::vector<SymbolicExpr> sizes = at.sizes;
  if (llvm::count_if(sizes, [&](const SymbolicExpr &size) { return isGridSize(size); }) < 2)
    return false;
  at = views::reshape(algebra, at, {pointsOf(sizes)});
  Tensor rows = gather(tensor(node, "weight"), 0, indexSources.lists(at, 0));
  rows = withFixedPadding(node, rows, at);
  Grid result{{sizes, std::vector<bool>(sizes.size(), true)}, rows};
  result.shape.sizes.push_back(sizeOf(rows.dims.at(1)));
  result.shape.isOfGrid.push_back(false);
  for (size_t axis = sizes.size(); axis-- > 0;)
    if (!isGridSize(sizes[axis]))
      result = outOfGrid(std::move(result), axis);
  defineGrid(node, result.shape.isOfGrid, result.rows, 0, result.shape.order);
  return true;
}

/// What an operator takes along one axis of the grid: a number of places along new axes, as terms over the result's.
bool Recover::gatherFromGrid(const NormalNode &node) {
  static const std::set<std::string> known = {"index_select", "index", "gather", "select",           "slice",
                                              "narrow",       "flip",  "split",  "split_with_sizes", "chunk"};
  if (!known.count(node.op))
    return false;
  std::string name = nameOf(node, "self");
  if (!grids.count(name) && !tensors.count(name))
    return false;
  Grid x = inOrder(gridOf(name));
  size_t rank = x.shape.sizes.size(), dim = 0;
  IndexTensor at, next; // the places, of a tensor whose axes take that of the axis; those along the axis behind it
  if (node.op == "index") {
    std::vector<std::string> places = names(node, "indices");
    std::vector<size_t> dims;
    for (size_t i = 0; i < places.size(); ++i)
      if (!places[i].empty())
        dims.push_back(i);
    if (dims.size() > 2 || dims.back() != dims[0] + dims.size() - 1)
      throw Refusal{"a tensor with several axes of elements is indexed along several axes at once"};
    dim = dims[0];
    at = indexFunctionOf(places[dim]);
    if (dims.size() == 2) { // which are brought to one shape
      next = fromFront(indexFunctionOf(places[dim + 1]), x.shape.sizes.at(dim + 1));
      const std::vector<SymbolicExpr> all = sizes(node);
      size_t width = all.size() + 2 - rank;
      std::vector<SymbolicExpr> inner(all.begin() + ptrdiff_t(dim), all.begin() + ptrdiff_t(dim + width));
      next = views::expand(algebra, next, inner);
      at = views::expand(algebra, at, inner);
      x = intoGrid(std::move(x), dim + 1);
    }
    if (at.isTruth || next.isTruth)
      throw Refusal{"a tensor with several axes of elements is indexed by a mask; use the numbers of elements"};
    at = fromFront(at, x.shape.sizes.at(dim));
  } else if (node.op == "flip") {
    std::vector<int64_t> dims = integers(node, "dims");
    if (dims.size() != 1)
      return false;
    dim = size_t(dims[0] < 0 ? dims[0] + int64_t(rank) : dims[0]);
  } else {
    dim = axisNumber(node, "dim", 0, rank);
    if (node.op == "index_select" || node.op == "gather")
      at = indexFunction(node, "index");
  }
  bool isAlongFixed = !x.shape.isOfGrid.at(dim) || (x.shape.sizes[dim].getFactors().empty() && !at.value &&
                                                    !gridOptions.has(x.shape.sizes[dim].getNumber()));
  if (isAlongFixed && node.op != "index" && node.op != "index_select" && node.op != "gather")
    return false; // along the rows' own axes
  const SymbolicExpr size = x.shape.sizes[dim];
  if (!x.shape.isOfGrid[dim]) {
    // Places along features: an axis of features or of elements, as the list is.
    x = intoGrid(x, dim);
  }
  // With one index for each element along the other axes.
  if (node.op == "gather") {
    if (at.sizes.size() != rank)
      throw Refusal{"the index has another number of axes than what it is taken from"};
    for (size_t axis = 0; axis < rank; ++axis)
      if (axis != dim && !(at.sizes[axis] == x.shape.sizes[axis]))
        throw Refusal{"the index covers only a part of an axis of a tensor with several axes of elements"};
      else if (axis != dim && !x.shape.isOfGrid[axis] && IndexAlgebra::dependsOn(at.value, axis))
        throw Refusal{"the index differs from feature to feature; gnnc needs one index for each row"};
  }
  auto defineAt = [&](const IndexTensor &places, bool isWhole, size_t output) {
    // The result's axes, and where in the grid of x they are.
    GridShape result{sizes(node, output), {}};
    size_t width = isWhole ? 1 : places.sizes.size();
    for (size_t axis = 0; axis < rank; ++axis)
      if (axis == dim)
        for (size_t k = 0; k < width; ++k)
          result.isOfGrid.push_back(isWhole || !(places.sizes[k] == SymbolicExpr(1)));
      else if (!next.value || axis != dim + 1)
        result.isOfGrid.push_back(x.shape.isOfGrid[axis]);
    if (result.isOfGrid.size() != result.sizes.size())
      throw Refusal{"the file and the operands give the result different numbers of axes"};
    const std::vector<SymbolicExpr> to = result.grid();
    auto coordinateOf = [&](size_t axis) -> IndexTerm {
      return result.isOfGrid[axis] ? algebra.coordinate(result.place(axis), result.sizes[axis]) : algebra.number(0);
    };
    std::vector<IndexTerm> own(rank), terms; // of x's axes, in the result's coordinates
    std::vector<IndexTerm> inner;
    for (size_t axis = 0, place = 0; axis < rank; ++axis) {
      if (axis == dim) {
        for (size_t k = 0; k < width; ++k)
          inner.push_back(coordinateOf(place++));
        own[axis] = isWhole ? nullptr : algebra.at(places.value, inner);
      } else if (next.value && axis == dim + 1) {
        own[axis] = algebra.at(next.value, inner);
      } else {
        own[axis] = coordinateOf(place++);
      }
    }
    if (isWhole)
      for (size_t axis = 0; axis < rank; ++axis)
        if (axis == dim) {
          std::vector<IndexTerm> all = own;
          all[dim] = coordinateOf(dim);
          own[dim] = algebra.at(places.value, all);
        }
    for (size_t axis = 0; axis < rank; ++axis)
      if (x.shape.isOfGrid[axis])
        terms.push_back(own[axis]);
    Tensor rows = x.rows;
    const std::vector<SymbolicExpr> from = x.shape.grid();
    if (to.empty()) { // one element
      rows = gatherList(rows, 0, gridPlaces(from, terms, {SymbolicExpr(1)}));
      if (resides(rows, rows.dims[0]))
        rows.value = program.reduce("sum", rows.value, -1);
    } else {
      rows = rowsAt(rows, from, terms, to);
    }
    // Axes of size 1 that the index had.
    std::vector<Dim> dims = {rows.dims[0]};
    for (size_t axis = 0, place = 0; axis < rank; ++axis)
      if (axis == dim)
        for (size_t k = 0; k < width; ++k, ++place) {
          if (!result.isOfGrid[place])
            dims.emplace_back();
        }
      else if (next.value && axis == dim + 1)
        continue;
      else if (++place; !x.shape.isOfGrid[axis])
        dims.push_back(x.rows.dims[1 + x.shape.place(axis)]);
    rows.dims = dims;
    defineGrid(node, result.isOfGrid, rows, output);
  };
  auto part = [&](const SymbolicExpr &begin, int64_t step, const SymbolicExpr &length) {
    IndexTerm places = algebra.number(begin);
    if (!(length == SymbolicExpr(1)))
      places = algebra.add(places, algebra.times(algebra.coordinate(0, length), SymbolicExpr(step)));
    return IndexTensor{{length}, places, false};
  };
  auto counted = [&](const char *argument) {
    SymbolicExpr place = has(node, argument) ? expression(*find(node, argument)) : SymbolicExpr(0);
    return place.getFactors().empty() && place.getNumber() < 0 ? size + place : place;
  };
  if (node.op == "gather") {
    defineAt(at, true, 0);
  } else if (at.value) {
    defineAt(at, false, 0);
  } else if (node.op == "select") {
    defineAt({{}, algebra.number(counted("index")), false}, false, 0);
  } else if (node.op == "flip") {
    defineAt({{size},
              algebra.add(algebra.number(size + SymbolicExpr(-1)),
                          algebra.times(algebra.coordinate(0, size), SymbolicExpr(-1))),
              false},
             false, 0);
  } else if (node.op == "slice" || node.op == "narrow") {
    const SymbolicExpr length = sizes(node).at(dim);
    defineAt(part(length == size ? SymbolicExpr(0) : counted("start"), integer(node, "step", 1), length), false, 0);
  } else {
    SymbolicExpr begin = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty())
        throw Refusal{"a part of a tensor with several axes of elements that nothing reads"};
      const SymbolicExpr length = sizes(node, i).at(dim);
      defineAt(part(begin, 1, length), false, i);
      begin = begin + length;
    }
  }
  return true;
}
