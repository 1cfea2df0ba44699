//===- RecoverGridSums.cpp - Sums along axes of grids ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum along axes of a grid (Grids.h) goes along the map that forgets these coordinates; a scatter along the map to
// the places that it names.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// Rows of a grid, reduced onto the points of another one: `places` are the coordinates there, as terms over the
/// points' own.
Tensor Recover::reducedRows(const std::string &function, Tensor rows, const std::vector<SymbolicExpr> &from,
                            const std::vector<SymbolicExpr> &to, const std::vector<IndexTerm> &places, Tensor base,
                            bool includeSelf) {
  if (rows.dims[0].kind != Kind::Space)
    rows.dims[0] = {Kind::Space, spaceOf(pointsOf(from)), 0};
  base.dims[0] = {Kind::Space, spaceOf(pointsOf(to)), 0};
  return scatter(std::move(base), 0, gridPlaces(to, places, from), std::move(rows), function, includeSelf);
}

/// The map that leaves out some axes of a grid, as the places it leads to.
std::vector<IndexTerm> Recover::placesWithout(const GridShape &shape, const std::set<size_t> &axes) {
  std::vector<IndexTerm> places, all = views::coordinates(algebra, shape.grid());
  for (size_t axis = 0; axis < shape.sizes.size(); ++axis)
    if (shape.isOfGrid[axis] && !axes.count(axis))
      places.push_back(all[shape.place(axis)]);
  return places;
}

/// Sums, means and extrema, and softmax, along axes of which some are of the grid.
bool Recover::foldGrid(const NormalNode &node) {
  static const std::map<std::string, std::string> functions = {{"sum", "sum"},
                                                               {"mean", "mean"},
                                                               {"amax", "max"},
                                                               {"amin", "min"},
                                                               {"max", "max"},
                                                               {"min", "min"},
                                                               {"adaptive_max_pool1d", "max"},
                                                               {"adaptive_max_pool2d", "max"},
                                                               {"adaptive_avg_pool1d", "mean"},
                                                               {"adaptive_avg_pool2d", "mean"}};
  bool isSoftmax =
      node.op == "softmax" || node.op == "_softmax" || node.op == "log_softmax" || node.op == "_log_softmax";
  auto function = functions.find(node.op);
  if ((function == functions.end() && !isSoftmax) || has(node, "other") || !grids.count(nameOf(node, "self")))
    return false;
  Grid x = inOrder(gridOf(nameOf(node, "self")));
  size_t rank = x.shape.sizes.size();
  std::set<size_t> along;
  std::vector<int64_t> listed = has(node, "dim") ? integers(node, "dim") : std::vector<int64_t>{};
  if (llvm::StringRef op = node.op; op.starts_with("adaptive")) { // to one place along the last axes
    if (llvm::any_of(integers(node, "output_size"), [](int64_t size) { return size != 1; }))
      return false;
    listed = op.ends_with("2d") ? std::vector<int64_t>{-2, -1} : std::vector<int64_t>{-1};
  }
  for (size_t axis : foldedDims(listed, rank))
    along.insert(axis);
  if (llvm::none_of(along, [&](size_t axis) { return bool(x.shape.isOfGrid.at(axis)); }))
    return false;
  // A few are read one after the other.
  for (size_t axis : along)
    if (x.shape.isOfGrid[axis] && x.shape.sizes[axis].getFactors().empty() && along.size() == 1 &&
        !gridOptions.has(x.shape.sizes[axis].getNumber()))
      return false;
  std::set<size_t> ofGrid;
  std::vector<size_t> ofRows;
  for (size_t axis : along)
    if (x.shape.isOfGrid[axis])
      ofGrid.insert(axis);
    else
      ofRows.push_back(1 + x.shape.place(axis));
  std::vector<SymbolicExpr> from = x.shape.grid(), to;
  for (size_t axis = 0; axis < rank; ++axis)
    if (x.shape.isOfGrid[axis] && !ofGrid.count(axis))
      to.push_back(x.shape.sizes[axis]);
  if (isSoftmax) {
    bool isLog = node.op.find("log") != std::string::npos;
    if (to.empty())
      throw Refusal{"a softmax of all elements of a tensor with several axes of elements is not supported"};
    int map =
        mapOf(gridPlaces(to, placesWithout(x.shape, ofGrid), from), spaceOf(pointsOf(from)), spaceOf(pointsOf(to)));
    if (!resides(x.rows, x.rows.dims[0]))
      throw Refusal{"a softmax of numbers that are the same for all elements"};
    x.rows.value = program.softmax(isLog ? "log_softmax" : "softmax", x.rows.value, map);
    defineGrid(node, x.shape.isOfGrid, x.rows);
    return true;
  }
  if (node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1]))
    throw Refusal{"the place of an extremum along an axis of elements of a tensor with several of them"};
  Tensor rows = x.rows;
  if (!ofRows.empty())
    rows = fold(function->second, rows, ofRows, false);
  if (to.empty()) {
    rows = fold(function->second, rows, {0}, true);
  } else {
    Tensor base = scalar(0);
    base.dims.resize(rows.dims.size());
    rows = reducedRows(function->second, rows, from, to, placesWithout(x.shape, ofGrid), base, false);
  }
  std::vector<bool> isOfGrid;
  std::vector<Dim> dims = {rows.dims[0]};
  bool keep = sizes(node).size() == rank;
  size_t next = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (along.count(axis)) {
      if (keep) {
        isOfGrid.push_back(false);
        dims.emplace_back();
      }
      continue;
    }
    isOfGrid.push_back(x.shape.isOfGrid[axis]);
    if (!x.shape.isOfGrid[axis])
      dims.push_back(rows.dims.at(next++));
  }
  rows.dims = dims;
  defineGrid(node, isOfGrid, rows);
  return true;
}

/// Rows that are added up, or written, at places along one axis of the grid.
bool Recover::scatterToGrid(const NormalNode &node) {
  static const std::map<std::string, std::string> functions = {
      {"sum", "sum"}, {"amax", "max"}, {"amin", "min"}, {"mean", "mean"}, {"prod", "prod"}};
  bool isAdd = node.op == "index_add" || node.op == "scatter_add";
  bool isReduce = node.op == "scatter_reduce" || node.op == "index_reduce";
  bool isPut = node.op == "index_put";
  if (!isAdd && !isReduce && !isPut)
    return false;
  GridShape shape{sizes(node), {}};
  size_t rank = shape.sizes.size(), dim = 0;
  std::string function = "sum", values = nameOf(node, isPut ? "values" : has(node, "src") ? "src" : "source");
  IndexTensor at;
  if (isPut) {
    std::vector<std::string> places = names(node, "indices");
    while (dim < places.size() && places[dim].empty())
      ++dim;
    if (dim + 1 != places.size() || !flag(node, "accumulate", false))
      throw Refusal{"it writes to a tensor with several axes of elements; add to it, or gather from it"};
    at = fromFront(indexFunctionOf(places[dim]), shape.sizes.at(dim));
  } else {
    dim = axisNumber(node, "dim", 0, rank);
    at = indexFunction(node, "index");
    if (isReduce) {
      auto found = functions.find(string(node, "reduce", ""));
      if (found == functions.end())
        throw Refusal{"argument 'reduce': expected sum, mean, prod, amax or amin"};
      function = found->second;
    }
  }
  // The axes that neither operand has as features are those of the grid.
  const Grid source = gridOf(values), old = gridOf(nameOf(node, "self"));
  if (source.shape.sizes.size() != rank || old.shape.sizes.size() != rank)
    throw Refusal{"source and result have different numbers of axes"};
  bool isAlongAll = node.op == "scatter_add" || node.op == "scatter_reduce";
  GridShape given{source.shape.sizes, {}};
  for (size_t axis = 0; axis < rank; ++axis) {
    bool isOfGrid = axis == dim || source.shape.isOfGrid[axis] || old.shape.isOfGrid[axis];
    shape.isOfGrid.push_back(isOfGrid);
    given.isOfGrid.push_back(isOfGrid);
    if (axis != dim && !(given.sizes[axis] == shape.sizes[axis]))
      throw Refusal{"source and result of '" + node.op + "' have different sizes: " + textOf(given.sizes) + " and " +
                    textOf(shape.sizes)};
  }
  if (isAlongAll && at.sizes != given.sizes)
    throw Refusal{"the index covers only a part of the source, whose shape is " + textOf(given.sizes)};
  std::vector<IndexTerm> points = views::coordinates(algebra, given.grid()), all(rank, algebra.number(0)), places;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (given.isOfGrid[axis])
      all[axis] = points[given.place(axis)];
    else if (isAlongAll && IndexAlgebra::dependsOn(at.value, axis))
      throw Refusal{"the index differs from feature to feature; gnnc needs one index for each row"};
  }
  if (!isAlongAll && at.sizes.size() != 1)
    throw Refusal{"the index has several axes"};
  for (size_t axis = 0; axis < rank; ++axis)
    if (shape.isOfGrid[axis])
      places.push_back(axis != dim  ? all[axis]
                       : isAlongAll ? algebra.at(at.value, all)
                                    : algebra.at(at.value, {all[dim]}));
  Tensor rows = rowsFor(values, given), base = rowsFor(nameOf(node, "self"), shape);
  double alpha = node.op == "index_add" ? number(node, "alpha", 1) : 1;
  if (alpha != 1)
    rows = binary("*", rows, alpha);
  bool includeSelf = isAdd || isPut || flag(node, "include_self", true);
  defineGrid(node, shape.isOfGrid, reducedRows(function, rows, given.grid(), shape.grid(), places, base, includeSelf));
  return true;
}
