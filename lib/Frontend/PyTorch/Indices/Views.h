//===- Views.h - Views of integer tensors -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each view is the same function at other places (Algebra.h). Dims are counted from 0; arguments are those of the torch
// operators of the same names, with negative numbers already counted from the front. They throw a Refusal.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_INDICES_VIEWS_H
#define GNNC_LIB_FRONTEND_PYTORCH_INDICES_VIEWS_H

#include "PyTorch/Indices/Algebra.h"

namespace gnnc::frontend::pytorch::views {

using Sizes = std::vector<SymbolicExpr>;

/// The coordinates of a domain.
std::vector<IndexTerm> coordinates(IndexAlgebra &algebra, const Sizes &sizes);

/// Broadcast to more dims and larger sizes.
IndexTensor expand(IndexAlgebra &algebra, const IndexTensor &x, const Sizes &sizes);
/// `function` of the operands, element by element, broadcast to `sizes`.
IndexTensor combine(IndexAlgebra &algebra, const std::string &function, const std::vector<IndexTensor> &operands,
                    bool isTruth, const Sizes &sizes);
IndexTensor permute(IndexAlgebra &algebra, const IndexTensor &x, const std::vector<size_t> &order);
IndexTensor reshape(IndexAlgebra &algebra, const IndexTensor &x, const Sizes &sizes);
/// x[..., place, ...]
IndexTensor select(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &place);
/// x[..., begin : begin + step * length : step, ...]; a step may be negative.
IndexTensor slice(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &begin, int64_t step,
                  const SymbolicExpr &length);
IndexTensor flip(IndexAlgebra &algebra, const IndexTensor &x, size_t dim);
IndexTensor roll(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, int64_t shift);
/// Copies one behind the other: `size` of the result is a multiple of that of `x`.
IndexTensor tile(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &size);
/// Each element `times` times.
IndexTensor repeatEach(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &times);
IndexTensor concatenate(IndexAlgebra &algebra, const std::vector<IndexTensor> &parts, size_t dim);
IndexTensor unsqueeze(IndexAlgebra &algebra, const IndexTensor &x, size_t dim);
/// x with `source` in the places begin, begin + step, ... along a dim.
IndexTensor write(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const SymbolicExpr &begin, int64_t step,
                  const IndexTensor &source);
/// x[..., at, ...]: the dims of `at` take the place of one.
IndexTensor gather(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const IndexTensor &at);
/// torch.gather: x at the coordinates of `at`, but along a dim at what `at` says.
IndexTensor gatherAlong(IndexAlgebra &algebra, const IndexTensor &x, size_t dim, const IndexTensor &at);

} // namespace gnnc::frontend::pytorch::views

#endif // GNNC_LIB_FRONTEND_PYTORCH_INDICES_VIEWS_H
