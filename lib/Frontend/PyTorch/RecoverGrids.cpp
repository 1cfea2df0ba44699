//===- RecoverGrids.cpp - Tensors with several axes of elements -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids (Grids.h) as operands and results: axes that go over from rows to the grid and back, rows gathered at the
// points of another grid, and rows by places, of which there are pairs (RecoverPairs.cpp).
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::vector<SymbolicExpr> GridShape::grid() const {
  std::vector<SymbolicExpr> result(size_t(llvm::count(isOfGrid, true)));
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    if (isOfGrid[axis])
      result[place(axis)] = sizes[axis];
  return result;
}

std::vector<SymbolicExpr> GridShape::rows() const {
  std::vector<SymbolicExpr> result;
  for (auto [size, isOf] : llvm::zip(sizes, isOfGrid))
    if (!isOf)
      result.push_back(size);
  return result;
}

size_t GridShape::place(size_t axis) const {
  size_t number = size_t(std::count(isOfGrid.begin(), isOfGrid.begin() + ptrdiff_t(axis), bool(isOfGrid[axis])));
  return isOfGrid[axis] && !order.empty() ? order[number] : number;
}

bool GridShape::isInOrder() const { return llvm::is_sorted(order); }

/// With points that are numbered in the order of the axes.
Recover::Grid Recover::inOrder(Grid x) {
  if (x.shape.isInOrder()) {
    x.shape.order.clear();
    return x;
  }
  const std::vector<SymbolicExpr> from = x.shape.grid();
  const std::vector<size_t> order = std::exchange(x.shape.order, {});
  const std::vector<SymbolicExpr> to = x.shape.grid();
  std::vector<IndexTerm> places(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    places[order[i]] = algebra.coordinate(i, to[i]);
  x.rows = rowsAt(std::move(x.rows), from, places, to);
  return x;
}

/// How many points a grid has.
SymbolicExpr Recover::pointsOf(const std::vector<SymbolicExpr> &grid) const {
  std::optional<SymbolicExpr> points = SymbolicExpr(1);
  for (const SymbolicExpr &size : grid)
    points = points ? multiply(*points, size) : std::nullopt;
  if (!points)
    throw Refusal{"a tensor has more than two axes whose sizes are not fixed; give all but two of them as numbers"};
  return *points;
}

bool Recover::isGridSize(const SymbolicExpr &size) const {
  return !size.getFactors().empty() || gridOptions.has(size.getNumber());
}

/// The shape of a tensor of which all axes up to the last one whose size is not fixed are of its grid. An input has no
/// axis of chosen elements.
GridShape Recover::leadingGrid(const std::vector<SymbolicExpr> &sizes, bool isInput) const {
  GridShape shape{sizes, std::vector<bool>(sizes.size(), false)};
  bool isBefore = false;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    // As many features as elements.
    bool isFeature = axis > 0 && axis + 1 == sizes.size() && sizes[axis].getFactors().empty() &&
                     llvm::is_contained(llvm::ArrayRef(sizes).drop_back(), sizes[axis]);
    bool isOfInput = !sizes[axis].getFactors().empty() || gridOptions.sizes.count(sizes[axis].getNumber()) != 0;
    isBefore |= (isInput ? isOfInput : isGridSize(sizes[axis])) && !isFeature;
    shape.isOfGrid[axis] = isBefore && !(sizes[axis] == SymbolicExpr(1));
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Rows at points
//===----------------------------------------------------------------------===//

/// For each point of `to` the number of a point of `from`, whose coordinates `places` are terms over those of `to`.
Index Recover::gridPlaces(const std::vector<SymbolicExpr> &from, const std::vector<IndexTerm> &places,
                          const std::vector<SymbolicExpr> &to) {
  // What is the same for all that are chosen for an element is what the element has.
  if (auto space = spaceNumbers.find(pointsOf(to).str()); space != spaceNumbers.end() && to.size() > 1)
    if (auto chosen = chosenRows.find(space->second);
        chosen != chosenRows.end() && to.back() == SymbolicExpr(chosen->second.second) &&
        llvm::none_of(places, [&](IndexTerm place) { return IndexAlgebra::dependsOn(place, to.size() - 1); })) {
      const std::vector<SymbolicExpr> owners(to.begin(), to.end() - 1);
      const Index own = chosen->second.first;
      bool isSame = from == owners;
      for (size_t axis = 0; isSame && axis < from.size(); ++axis)
        isSame = places[axis] == algebra.coordinate(axis, owners[axis]);
      return isSame ? own : call("take", {gridPlaces(from, places, owners), own}, own->length);
    }
  IndexTerm place = algebra.number(0);
  SymbolicExpr stride = 1;
  for (size_t axis = from.size(); axis-- > 0;) {
    place = algebra.add(place, algebra.times(places[axis], stride));
    if (axis > 0)
      stride = pointsOf({stride, from[axis]});
  }
  const SymbolicExpr points = pointsOf(to);
  return oneList(indexSources.lists(views::reshape(algebra, {to, place}, {points}), 0));
}

/// The rows of a grid at other points.
Tensor Recover::rowsAt(Tensor rows, const std::vector<SymbolicExpr> &from, const std::vector<IndexTerm> &places,
                       const std::vector<SymbolicExpr> &to) {
  const SymbolicExpr points = pointsOf(to);
  bool isSame = from == to;
  for (size_t axis = 0; isSame && axis < from.size(); ++axis)
    isSame = places[axis] == algebra.coordinate(axis, to[axis]);
  if (isSame)
    return rows;
  if (rows.dims.at(0).kind == Kind::Space && resides(rows, rows.dims[0]))
    return gatherList(std::move(rows), 0, gridPlaces(from, places, to));
  rows.dims[0] = {Kind::Space, spaceOf(points), 0};
  return rows;
}

/// An axis of rows becomes one of the grid, or the other way round.
Recover::Grid Recover::intoGrid(Grid x, size_t axis) {
  if (x.shape.isOfGrid[axis])
    return x;
  x = inOrder(std::move(x));
  const SymbolicExpr size = x.shape.sizes[axis];
  if (!size.getFactors().empty() || size.getNumber() > kMostPicked)
    throw Refusal{"an axis of " + size.str() + " features would become one of elements; expected at most " +
                  std::to_string(kMostPicked)};
  size_t row = 1 + x.shape.place(axis);
  std::vector<SymbolicExpr> from = x.shape.grid();
  x.shape.isOfGrid[axis] = true;
  const std::vector<SymbolicExpr> to = x.shape.grid();
  std::vector<IndexTerm> places, all = views::coordinates(algebra, to);
  size_t place = x.shape.place(axis);
  for (size_t i = 0; i < to.size(); ++i)
    if (i != place)
      places.push_back(all[i]);
  x.rows = rowsAt(std::move(x.rows), from, places, to);
  if (x.rows.dims[row].kind == Kind::Axis) {
    int id = x.rows.dims[row].id, space = x.rows.dims[0].id;
    Index own = oneList(indexSources.lists(views::reshape(algebra, {to, all[place]}, {pointsOf(to)}), 0));
    int chosen = program.oneHot(mapOf(own, space, spaceOf(size)), id);
    x.rows.value = program.dot(x.rows.value, chosen, {id});
  }
  x.rows.dims.erase(x.rows.dims.begin() + ptrdiff_t(row));
  return x;
}

Recover::Grid Recover::outOfGrid(Grid x, size_t axis) {
  if (!x.shape.isOfGrid[axis])
    return x;
  x = inOrder(std::move(x));
  const SymbolicExpr size = x.shape.sizes[axis];
  if (!size.getFactors().empty() || size.getNumber() > kMostPicked)
    throw Refusal{"an axis of " + size.str() +
                  " elements would become one of features; expected a fixed number, at most " +
                  std::to_string(kMostPicked)};
  const std::vector<SymbolicExpr> from = x.shape.grid();
  size_t place = x.shape.place(axis);
  x.shape.isOfGrid[axis] = false;
  const std::vector<SymbolicExpr> to = x.shape.grid();
  if (to.empty())
    throw Refusal{"a tensor without an axis of elements"};
  size_t row = 1 + x.shape.place(axis);
  std::vector<IndexTerm> places = views::coordinates(algebra, to);
  places.insert(places.begin() + ptrdiff_t(place), nullptr);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < size.getNumber(); ++i) {
    places[place] = algebra.number(i);
    parts.push_back(unsqueezed(rowsAt(x.rows, from, places, to), row));
  }
  x.rows = concat(parts, row);
  return x;
}

/// Rows by places, which have numbers for pairs of elements of a row (RecoverPairs.cpp).
Tensor Recover::inWholeRows(const Grid &x) {
  const std::vector<SymbolicExpr> grid = x.shape.grid();
  wants.areChannelsInside |= grid.size() > 2;
  if (grid.size() != 2)
    throw Refusal{"pairs of elements of a tensor of shape " + textOf(x.shape.sizes) +
                  ": expected two axes of elements, such as [batch, nodes, features]"};
  size_t ofRows = rowCount && grid[1] == *rowCount && !(grid[0] == *rowCount) ? 1 : 0;
  if (grid[ofRows].getFactors().empty())
    throw Refusal{"pairs of elements of rows whose number is fixed"};
  RowLayout layout;
  const SymbolicExpr all = pointsOf(grid);
  std::vector<SymbolicExpr> byRows = {grid[ofRows], grid[1 - ofRows]};
  Tensor rows = x.rows;
  if (ofRows == 1) {
    // As rows by places.
    std::vector<IndexTerm> turned = {algebra.coordinate(1, grid[0]), algebra.coordinate(0, grid[1])};
    rows = rowsAt(rows, grid, turned, byRows);
  }
  layout.elements = spaceOf(all);
  layout.rows = spaceOf(byRows[0], "graph");
  layout.along =
      mapOf(gridPlaces({byRows[0]}, {algebra.coordinate(0, byRows[0])}, byRows), layout.elements, layout.rows);
  layout.length = byRows[1];
  layout.all = all;
  layout.places = "grid " + textOf(byRows);
  layout.isWhole = true;
  Index allRows = call("arange", {constant(0), sizeIndex(byRows[0]), constant(1)}, byRows[0]);
  layout.first = call("mul", {allRows, sizeIndex(byRows[1])}, byRows[0]);
  layout.counts = call("full", {sizeIndex(byRows[0]), sizeIndex(byRows[1])}, byRows[0]);
  auto known = llvm::find_if(rowLayouts, [&](const RowLayout &other) { return other.places == layout.places; });
  int number = int(known - rowLayouts.begin());
  if (known == rowLayouts.end())
    rowLayouts.push_back(layout);
  std::vector<Dim> dims = dimsInRows(number);
  Tensor result{{}, rows.value};
  for (size_t axis = 0; axis < x.shape.sizes.size(); ++axis)
    if (x.shape.isOfGrid[axis])
      result.dims.push_back(dims[x.shape.place(axis) == ofRows ? 0 : 1]);
    else
      result.dims.push_back(rows.dims[1 + x.shape.place(axis)]);
  return result;
}

bool Recover::isInWholeRows(const Tensor &x) const {
  return llvm::any_of(opened(x.dims), [&](const Dim &dim) { return dim.layout >= 0 && !isPadded(dim); });
}

/// A tensor with a shape of at least one axis of elements.
Recover::Grid Recover::gridOf(const std::string &name) {
  if (auto found = grids.find(name); found != grids.end())
    return found->second;
  Tensor x = tensorOf(name);
  Grid grid;
  for (const Dim &dim : x.dims) {
    if (dim.kind == Kind::Group || dim.pairs >= 0 || isPadded(dim))
      throw Refusal{"a view of several axes, or rows of equal length, meet a tensor with several axes of elements"};
    grid.shape.sizes.push_back(sizeOf(dim));
    grid.shape.isOfGrid.push_back(dim.kind == Kind::Space);
  }
  grid.rows = {{Dim()}, x.value};
  for (const Dim &dim : x.dims)
    if (dim.kind != Kind::Space)
      grid.rows.dims.push_back(dim);
    else if (resides(x, dim))
      grid.rows.dims[0] = dim;
  // Of several spaces the value is on one; the others repeat it.
  std::vector<SymbolicExpr> own, all = grid.shape.grid();
  std::vector<IndexTerm> places, coordinates = views::coordinates(algebra, all);
  size_t place = 0;
  bool isOnElements =
      llvm::any_of(x.dims, [&](const Dim &dim) { return dim.layout >= 0 && dim.isInRow && resides(x, dim); });
  if (isOnElements) { // which are numbered by rows and places
    for (const Dim &dim : x.dims)
      if (dim.kind == Kind::Space) {
        if (dim.layout < 0)
          throw Refusal{"rows of equal length are repeated along another axis of elements"};
        grid.shape.order.push_back(dim.isInRow ? 1 : 0);
        if (dim.isInRow)
          grid.rows.dims[0] = {Kind::Space, dim.id, 0};
      }
    return grid;
  }
  if (grid.rows.dims[0].kind == Kind::Space)
    grid.rows.dims[0] = {Kind::Space, grid.rows.dims[0].id, 0};
  for (const Dim &dim : x.dims)
    if (dim.kind == Kind::Space) {
      if (resides(x, dim) && own.empty()) {
        own.push_back(sizeOf(dim));
        places.push_back(coordinates[place]);
      }
      ++place;
    }
  if (!all.empty())
    grid.rows = rowsAt(grid.rows, own, places, all);
  return grid;
}

/// Integers as numbers of rows: one after the other along axes of the rows, which have no place yet.
Tensor Recover::numbersAt(const IndexTensor &x, const GridShape &shape, std::vector<IndexTerm> places) {
  for (size_t axis = 0; axis < places.size(); ++axis) {
    if (places[axis])
      continue;
    const SymbolicExpr &size = shape.sizes[axis];
    if (!IndexAlgebra::dependsOn(x.value, axis)) {
      places[axis] = algebra.number(0);
      continue;
    }
    if (!size.getFactors().empty() || size.getNumber() > kMostPicked)
      throw Refusal{"integers that differ along an axis of " + size.str() + " features; expected at most " +
                    std::to_string(kMostPicked)};
    size_t row = 1 + shape.place(axis);
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < size.getNumber(); ++i) {
      places[axis] = algebra.number(i);
      parts.push_back(numbersAt(x, shape, places));
    }
    return concat(parts, row);
  }
  IndexTensor points{shape.grid(), algebra.at(x.value, places), x.isTruth};
  const SymbolicExpr count = pointsOf(points.sizes);
  Tensor rows = asNumbers(indexSources.lists(views::reshape(algebra, points, {count}), 0));
  if (rows.dims.at(0).kind != Kind::Space)
    rows.dims[0] = {Kind::Space, spaceOf(count), 0};
  rows.dims.resize(1 + shape.rows().size());
  return rows;
}

/// A value of which only some axes are its own, as PyTorch broadcasts it to a shape: a row for each of its points.
Tensor Recover::rowsFor(const std::string &name, const GridShape &shape) {
  size_t rank = shape.sizes.size();
  // Integers and truth values are functions of the points.
  if (auto index = indices.find(name); index != indices.end()) {
    IndexTensor all = views::expand(algebra, indexFunctionOf(name), shape.sizes);
    std::vector<IndexTerm> places;
    for (size_t axis = 0; axis < rank; ++axis)
      places.push_back(shape.isOfGrid[axis] ? algebra.coordinate(shape.place(axis), shape.sizes[axis]) : nullptr);
    return numbersAt(all, shape, places);
  }
  Grid own = gridOfOperand(name, shape);
  size_t before = rank - own.shape.sizes.size();
  std::vector<IndexTerm> places(own.shape.grid().size());
  for (size_t axis = 0; axis < own.shape.sizes.size(); ++axis)
    if (own.shape.isOfGrid[axis])
      places[own.shape.place(axis)] = algebra.coordinate(shape.place(axis + before), shape.sizes[axis + before]);
  Tensor rows = rowsAt(own.rows, own.shape.grid(), places, shape.grid());
  if (rows.dims[0].kind != Kind::Space)
    rows.dims[0] = {Kind::Space, spaceOf(pointsOf(shape.grid())), 0};
  // Axes of size 1 where the shape's are of the grid are no axes of rows.
  std::vector<Dim> dims = {rows.dims[0]};
  for (size_t axis = 0; axis < rank; ++axis) {
    if (shape.isOfGrid[axis])
      continue;
    bool isOwn = axis >= before;
    dims.push_back(isOwn ? rows.dims[1 + own.shape.place(axis - before)] : Dim());
  }
  rows.dims = dims;
  return rows;
}

/// An operand with its axes of the kinds that those of a shape have, if they are not of size 1.
Recover::Grid Recover::gridOfOperand(const std::string &name, const GridShape &shape) {
  Grid own = gridOf(name);
  if (own.shape.sizes.size() > shape.sizes.size())
    throw Refusal{"an operand has more axes than the result"};
  size_t before = shape.sizes.size() - own.shape.sizes.size();
  for (size_t axis = 0; axis < own.shape.sizes.size(); ++axis) {
    bool isOfGrid = shape.isOfGrid[axis + before];
    if (own.shape.isOfGrid[axis] == isOfGrid || own.shape.sizes[axis] == SymbolicExpr(1))
      continue;
    own = inOrder(std::move(own));
    // Repeated numbers, and parameters of elements: weight[nodes, ...].
    size_t row = 1 + own.shape.place(axis);
    Dim dim = isOfGrid ? own.rows.dims[row] : Dim();
    bool isShared = program.operations[size_t(own.rows.value)].space < 0;
    if (isOfGrid && (dim.kind == Kind::Repeat || (dim.kind == Kind::Axis && isShared))) {
      own.shape.isOfGrid[axis] = true;
      const std::vector<SymbolicExpr> to = own.shape.grid();
      size_t place = own.shape.place(axis);
      std::vector<SymbolicExpr> from = to;
      std::vector<IndexTerm> places = views::coordinates(algebra, to);
      if (isShared) {
        from = {to[place]};
        places = {places[place]};
      } else {
        from.erase(from.begin() + ptrdiff_t(place));
        places.erase(places.begin() + ptrdiff_t(place));
      }
      if (dim.kind == Kind::Axis) {
        int space = spaceOf(own.shape.sizes[axis]);
        own.rows.value = program.spreadEarly(own.rows.value, dim.id, space);
        own.rows.dims[0] = {Kind::Space, space, 0};
      }
      own.rows = rowsAt(own.rows, from, places, to);
      own.rows.dims.erase(own.rows.dims.begin() + ptrdiff_t(row));
      continue;
    }
    own = isOfGrid ? intoGrid(own, axis) : outOfGrid(own, axis);
  }
  // What is of size 1 stays out of the grid.
  return own;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// With at most one axis of elements it is a tensor as any other.
void Recover::defineGrid(const NormalNode &node, const std::vector<bool> &isOfGrid, Tensor rows, size_t output,
                         const std::vector<size_t> &order) {
  Grid grid{{sizes(node, output), isOfGrid, order}, std::move(rows)};
  const std::vector<SymbolicExpr> axes = grid.shape.grid(), features = grid.shape.rows();
  bool fits = grid.shape.sizes.size() == isOfGrid.size() && grid.rows.dims.size() == 1 + features.size();
  for (size_t i = 0; fits && i < features.size(); ++i)
    fits = sizeOf(grid.rows.dims[1 + i]) == features[i];
  if (!fits)
    throw Refusal{"the file says that the result has shape " + textOf(grid.shape.sizes) +
                  ", but its operands give rows of " + shapeText(grid.rows.dims)};
  if (axes.size() > 1) {
    grids[node.outputs[output]] = std::move(grid);
    return;
  }
  std::vector<Dim> dims;
  for (size_t axis = 0; axis < isOfGrid.size(); ++axis)
    dims.push_back(isOfGrid[axis] ? grid.rows.dims[0] : grid.rows.dims[1 + grid.shape.place(axis)]);
  define(node, {dims, grid.rows.value}, output);
}

/// An output, with an element for each point of all axes up to the last one of elements.
Tensor Recover::outputOnGrid(const std::string &name) {
  Grid x = inOrder(gridOf(name));
  size_t last = x.shape.sizes.size();
  while (last > 0 && !x.shape.isOfGrid[last - 1])
    --last;
  for (size_t axis = 0; axis < last; ++axis)
    if (!(x.shape.sizes[axis] == SymbolicExpr(1)))
      x = intoGrid(std::move(x), axis);
  // Axes of size 1 before them are none of the result's.
  std::vector<Dim> dims = {x.rows.dims[0]};
  for (size_t axis = last; axis < x.shape.sizes.size(); ++axis)
    dims.push_back(x.rows.dims[1 + x.shape.place(axis)]);
  x.rows.dims = dims;
  return x.rows;
}

std::string Recover::textOf(const std::vector<SymbolicExpr> &sizes) {
  std::string text;
  for (const SymbolicExpr &size : sizes)
    text += (text.empty() ? "" : ", ") + size.str();
  return "[" + text + "]";
}
