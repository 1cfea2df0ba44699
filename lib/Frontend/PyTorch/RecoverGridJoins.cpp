//===- RecoverGridJoins.cpp - Joined grids, and their sums of products ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids (Grids.h) one behind the other along an axis of elements, or along a new axis of features; and einsums that
// leave the axes of elements alone.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// `stack`, and `cat` along elements; false for a `cat` of features.
bool Recover::joinGrids(const NormalNode &node) {
  std::vector<std::string> parts = names(node, "tensors");
  GridShape shape{sizes(node), {}};
  size_t rank = shape.sizes.size(), dim = axisNumber(node, "dim", 0, rank);
  bool isStack = node.op == "stack";
  shape.isOfGrid.assign(rank, false);
  for (const std::string &name : parts)
    for (auto [axis, isOfGrid] : llvm::enumerate(gridOf(name).shape.isOfGrid))
      if (isOfGrid)
        shape.isOfGrid.at(axis + (isStack && axis >= dim ? 1 : 0)) = true;
  if (isStack) {
    std::vector<Tensor> joined;
    GridShape each = shape;
    each.sizes.erase(each.sizes.begin() + ptrdiff_t(dim));
    each.isOfGrid.erase(each.isOfGrid.begin() + ptrdiff_t(dim));
    size_t row = 1 + shape.place(dim);
    for (const std::string &name : parts)
      joined.push_back(unsqueezed(rowsFor(name, each), row));
    defineGrid(node, shape.isOfGrid, concat(joined, row));
    return true;
  }
  if (!shape.isOfGrid[dim])
    return false;
  // Each part at its own points, and 0 elsewhere.
  const std::vector<SymbolicExpr> to = shape.grid();
  SymbolicExpr begin = 0;
  std::vector<SymbolicExpr> starts, lengths;
  for (const std::string &name : parts) {
    starts.push_back(begin);
    lengths.push_back(sizesOf(name).at(dim));
    begin = begin + lengths.back();
  }
  std::optional<Tensor> whole;
  for (size_t i = 0; i < parts.size(); ++i) {
    GridShape own = shape;
    own.sizes[dim] = lengths[i];
    own.isOfGrid[dim] = !(lengths[i] == SymbolicExpr(1));
    Tensor rows = rowsFor(parts[i], own);
    if (!own.isOfGrid[dim])
      rows.dims.erase(rows.dims.begin() + 1 + ptrdiff_t(own.place(dim)));
    // The number of the part's point, or -1.
    IndexTerm at = algebra.coordinate(shape.place(dim), shape.sizes[dim]), place = algebra.number(0);
    SymbolicExpr stride = 1;
    const std::vector<SymbolicExpr> from = own.grid();
    for (size_t axis = rank; axis-- > 0;) {
      if (!own.isOfGrid[axis])
        continue;
      IndexTerm coordinate = axis == dim ? algebra.add(at, algebra.number(SymbolicExpr(0) + starts[i] * -1))
                                         : algebra.coordinate(shape.place(axis), shape.sizes[axis]);
      place = algebra.add(place, algebra.times(coordinate, stride));
      stride = pointsOf({stride, own.sizes[axis]});
    }
    std::vector<IndexTerm> terms(parts.size(), algebra.number(-1));
    terms[i] = place;
    IndexTerm joined = algebra.join(at, starts, terms, shape.sizes[dim]);
    const SymbolicExpr points = pointsOf(to);
    Index list = oneList(indexSources.lists(views::reshape(algebra, {to, joined}, {points}), 0));
    int space = spaceOf(points), part = spaceOf(pointsOf(from));
    rows.value = program.move(rows.value, mapOf(list, space, part, /*partial=*/true), 0);
    rows.dims[0] = {Kind::Space, space, 0};
    whole = whole ? binary("+", *whole, rows) : rows;
  }
  defineGrid(node, shape.isOfGrid, *whole);
  return true;
}

/// An einsum whose operands share all axes of elements, or do not have them, and whose result has them: that of the
/// rows.
bool Recover::einsumOnRows(const NormalNode &node) {
  std::string equation;
  for (char c : string(node, "equation", ""))
    if (c != ' ')
      equation += c;
  size_t arrow = equation.find("->");
  std::vector<std::string> operands = names(node, "tensors"), labels(1);
  if (arrow == std::string::npos)
    return false;
  for (char c : equation.substr(0, arrow))
    if (c == ',')
      labels.emplace_back();
    else
      labels.back() += c;
  std::string result = equation.substr(arrow + 2);
  if (labels.size() != operands.size() || equation.find('P') != std::string::npos)
    return false;
  // The axes that dots stand for, as letters from the last.
  auto spell = [&](std::string &label, size_t rank) {
    size_t at = label.find("...");
    if (at == std::string::npos)
      return label.size() == rank;
    size_t count = rank - std::min(rank, label.size() - 3);
    std::string letters = "ABCDEFGH";
    if (count > letters.size())
      return false;
    label.replace(at, 3, letters.substr(letters.size() - count));
    return label.size() == rank;
  };
  for (size_t i = 0; i < operands.size(); ++i)
    if (!spell(labels[i], sizesOf(operands[i]).size()))
      return false;
  if (!spell(result, sizes(node).size()))
    return false;
  std::optional<std::string> axes; // of elements
  for (size_t i = 0; i < operands.size(); ++i) {
    const GridShape shape = gridOf(operands[i]).shape;
    if (!shape.isInOrder())
      return false;
    std::string own, rest;
    for (size_t axis = 0; axis < labels[i].size(); ++axis)
      (shape.isOfGrid[axis] ? own : rest) += labels[i][axis];
    if (own.empty())
      continue;
    if (axes && *axes != own)
      return false;
    axes = own;
    labels[i] = "P" + rest;
  }
  if (!axes)
    return false;
  std::string rest, order;
  std::vector<bool> isOfGrid;
  for (char c : result) {
    bool isElement = axes->find(c) != std::string::npos;
    isOfGrid.push_back(isElement);
    (isElement ? order : rest) += c;
  }
  bool isShared = order == *axes;
  for (const std::string &label : labels)
    isShared &= label.find_first_of(*axes) == std::string::npos;
  if (!isShared)
    return false;
  std::vector<Tensor> rows;
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    rows.push_back(grids.count(operands[i]) ? grids.at(operands[i]).rows : tensorOf(operands[i]));
    text += (i ? "," : "") + labels[i];
  }
  Tensor made = einsum(text + "->P" + rest, rows);
  defineGrid(node, isOfGrid, made);
  return true;
}
