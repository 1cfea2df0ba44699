//===- Grids.h - Tensors with several axes of elements ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x of [batch, nodes, features] has an element for each point of a grid, batch by nodes. A value resides on one space,
// so the points of the grid are numbered row-major, and that is the space; x[:, src] is a gather of x's rows at
// b * nodes + src[e] for each point (b, e) of another grid. Such lists are written by the algebra of indices
// (Indices/Algebra.h).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_GRIDS_H
#define GNNC_LIB_FRONTEND_PYTORCH_GRIDS_H

#include "gnnc/Support/SymbolicExpr.h"

#include <set>
#include <vector>

namespace gnnc::frontend::pytorch {

/// Which axes of the program's tensors are axes of elements, besides those whose sizes are not fixed.
struct GridOptions {
  /// Whether tensors may have several axes of elements at all.
  bool areFollowed = false;
  /// Fixed sizes of axes that lists of edges index.
  std::set<int64_t> sizes = {};
  /// How many elements are chosen for each of others: fixed sizes as well, of axes that no input has.
  std::set<int64_t> chosen = {};
  /// Whether axes of a fixed size before one of elements are of features where they are no longer than a few: the
  /// channels of [batch, channels, nodes].
  bool areChannelsInside = false;
  /// Where pairs of elements are formed: whether they are those with the same last coordinate, instead of the first.
  bool isBatchLast = false;

  bool has(int64_t size) const { return sizes.count(size) != 0 || chosen.count(size) != 0; }
};

/// The shape of a tensor with a row for each point of a grid. The other axes are those of the rows, in order.
struct GridShape {
  std::vector<SymbolicExpr> sizes;
  std::vector<bool> isOfGrid; ///< for each axis
  /// Where each axis of the grid is in the numbering of its points, from the one that changes most slowly. A
  /// transposition leaves the points as they are numbered; empty: in order.
  std::vector<size_t> order = {};

  /// The sizes of the grid's axes, as points are numbered, and those of the rows.
  std::vector<SymbolicExpr> grid() const;
  std::vector<SymbolicExpr> rows() const;
  /// Where an axis is in the numbering, or the number of an axis of the rows among these.
  size_t place(size_t axis) const;
  bool isInOrder() const;
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_GRIDS_H
