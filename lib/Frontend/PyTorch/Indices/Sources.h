//===- Sources.h - Integer tensors as lists and numbers ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spaces and maps are made of lists. Here functions of coordinates (Algebra.h) become lists and numbers in the language
// of graph sources (gnnc/Host/GraphSource.h), and the other way round.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_INDICES_SOURCES_H
#define GNNC_LIB_FRONTEND_PYTORCH_INDICES_SOURCES_H

#include "PyTorch/Indices/Algebra.h"

namespace gnnc::frontend::pytorch {

/// A call of a function of sources. Functions of known numbers are evaluated.
Index makeCall(const std::string &function, std::vector<Index> arguments, bool isList, SymbolicExpr length,
               bool isTruth);
/// k lists of one length as one: its number i k + j is element i of list j. `size` gives the source of a length.
Index listsInTurn(const std::vector<Index> &lists, const std::function<Index(const SymbolicExpr &)> &size);

class IndexSources {
public:
  /// `size` gives what a size is computed from, and may throw a Refusal; `resolve` the size that another has turned out
  /// to be.
  IndexSources(IndexAlgebra &algebra, std::function<Index(const SymbolicExpr &)> size,
               std::function<SymbolicExpr(const SymbolicExpr &)> resolve)
      : algebra(algebra), size(std::move(size)), resolve(std::move(resolve)) {}

  /// What a term without coordinates is.
  Index number(IndexTerm term);
  /// What a term is for each value of the coordinate of dim 0, the only one in it.
  Index list(IndexTerm term, const SymbolicExpr &length);

  /// The tensor as lists along one axis, `along` or the one that must be, and components along the others.
  IndexLists lists(const IndexTensor &tensor, std::optional<size_t> along = std::nullopt);
  IndexTensor function(const IndexLists &lists);

private:
  Index call(const std::string &function, std::vector<Index> arguments, const SymbolicExpr &length) {
    return makeCall(function, std::move(arguments), true, length, false);
  }
  Index literal(int64_t value);
  Index range(const SymbolicExpr &begin, int64_t step, const SymbolicExpr &length);
  Index sum(IndexTerm term, const SymbolicExpr &length);
  Index argument(IndexTerm term, const SymbolicExpr &length);
  Index element(IndexTerm term, const SymbolicExpr &length);
  Index choice(IndexTerm term, const SymbolicExpr &length);
  Index joined(IndexTerm term, const SymbolicExpr &length);
  Index periodic(IndexTerm term, const SymbolicExpr &length);
  IndexTerm guarded(IndexTerm term);
  std::optional<size_t> longDim(const IndexTensor &tensor) const;

  IndexAlgebra &algebra;
  std::function<Index(const SymbolicExpr &)> size;
  std::function<SymbolicExpr(const SymbolicExpr &)> resolve;
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_INDICES_SOURCES_H
