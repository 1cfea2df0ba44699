//===- IndexExpr.h - Integer tensors of an exported program -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program computes from integers alone is not compiled: it is kept as an expression, which is evaluated when a
// graph is prepared (gnnc/Host/GraphSource.h) or recognised as a derived space or map.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_INDEXEXPR_H
#define GNNC_LIB_FRONTEND_PYTORCH_INDEXEXPR_H

#include "gnnc/Support/SymbolicExpr.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::frontend::pytorch {

/// A list of integers or one integer. Immutable.
struct IndexExpr {
  std::string text; ///< as GraphSource.h reads it; equal texts are equal numbers
  bool isList = true;
  SymbolicExpr length; ///< of a list
  bool isTruth = false;
  // How it is made: the function and its arguments; none for rows of inputs and numbers.
  std::string function;
  std::vector<std::shared_ptr<const IndexExpr>> arguments;
  /// What a list holds that the file has: `text` is its name then, so that a long one is not spelled out wherever it is
  /// read.
  std::shared_ptr<const std::vector<int64_t>> numbers = nullptr;
};
using Index = std::shared_ptr<const IndexExpr>;

/// One axis of an integer tensor.
struct IndexDim {
  enum class Kind {
    Long,   ///< the list's elements
    Small,  ///< components, each an expression of its own
    Unit,   ///< of size 1
    Repeat, ///< the same all along
  };
  Kind kind = Kind::Unit;
  SymbolicExpr size = 1;
};

/// An integer tensor as lists (Indices/Sources.h): at most one long axis; the components of small axes, row-major.
/// Without a long axis, components are numbers.
struct IndexLists {
  std::vector<IndexDim> dims;
  std::vector<Index> components;
};

/// A number that is known now; and that of a list whose elements are all the same.
std::optional<int64_t> literalOf(const Index &index);
std::optional<int64_t> constantOf(const Index &index);
/// How many components there are along a dim, and how far apart those lie that differ by one.
size_t smallSize(const IndexDim &dim);
size_t strideOf(const IndexLists &tensor, size_t dim);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_INDEXEXPR_H
