//===- RecoverAttention.cpp - Attention of all rows to all ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// Whether a mask is that of the rows that keys lie in, for all queries alike.
static bool isMaskOfKeys(const Tensor &mask, const Dim &keys) {
  return mask.dims.back().isInRow && mask.dims.back().layout == keys.layout &&
         llvm::count_if(mask.dims, [](const Dim &dim) { return dim.isInRow; }) == 1;
}

/// softmax(q kᵀ · scale + mask) v. Rows are elements, all pairs of which meet then, or those of an axis of fixed size.
void Recover::opAttention(const NormalNode &node) {
  Tensor query = tensor(node, "query"), key = tensor(node, "key"), value = tensor(node, "value");
  if (query.dims.size() < 2 || key.dims.size() < 2 || value.dims.size() < 2)
    throw Refusal{"attention: expected rows of queries, keys and values"};
  if (number(node, "dropout_p", 0) != 0)
    throw Refusal{"dropout in training mode; export the model after eval()"};
  if (flag(node, "enable_gqa", false))
    throw Refusal{"argument 'enable_gqa': expected false, found true; repeat keys and values for each query head"};
  size_t rank = key.dims.size();
  const Dim rows = query.dims[query.dims.size() - 2], columns = key.dims[rank - 2];
  double scale = number(node, "scale", 1 / std::sqrt(double(sizeOf(query.dims.back()).getNumber())));
  std::swap(key.dims[rank - 1], key.dims[rank - 2]);
  Tensor scores = binary("*", matmul(query, key), scale);
  double least = -std::numeric_limits<double>::infinity();
  if (flag(node, "is_causal", false)) {
    const SymbolicExpr count = sizeOf(rows), others = sizeOf(columns);
    bool isOpen = !count.getFactors().empty();
    if (isOpen && !isMatrixOfPairs(scores, scores.dims.size() - 2))
      throw Refusal{"causal attention: expected a fixed number of steps, found " + count.str()};
    Tensor isBefore = isOpen
                          ? inTriangle({count, others}, /*isLower=*/true, 0)
                          : pattern(count.getNumber(), others.getNumber(), [](int64_t i, int64_t j) { return j <= i; });
    scores = where(isBefore, scores, scalar(least));
  }
  // Keys behind the elements of a row take no part; all others do.
  bool isOfRows = isPadded(columns) && columns.isInRow, isMasked = false;
  if (isOfRows && has(node, "attn_mask")) {
    Tensor mask = tensor(node, "attn_mask");
    const InRows *numbers = numbersInRows(mask);
    bool isTruth = typeOf(nameOf(node, "attn_mask")) == ScalarType::Bool;
    isMasked =
        numbers && !mask.dims.empty() && isMaskOfKeys(mask, columns) &&
        (isTruth ? numbers->present != 0 && numbers->absent == 0 : numbers->present == 0 && numbers->absent == least);
  }
  // A bias of pairs may leave them out as well.
  auto biased =
      isOfRows && has(node, "attn_mask") ? maskedScores.find(tensor(node, "attn_mask").value) : maskedScores.end();
  bool isBias = biased != maskedScores.end() && biased->second == sideIn(scores.dims.back());
  if (isOfRows && !isMasked && !isBias)
    throw Refusal{
        "attention to rows of equal length, such as to_dense_batch makes, without a mask that leaves out what "
        "is behind their elements (key_padding_mask=~mask)"};
  if (isMasked)
    scores = masked(scores, sideIn(scores.dims.back()));
  if (has(node, "attn_mask") && !isMasked) {
    Tensor mask = tensor(node, "attn_mask");
    scores = typeOf(nameOf(node, "attn_mask")) == ScalarType::Bool ? where(mask, scores, scalar(least))
                                                                   : binary("+", scores, mask);
  }
  Tensor weights = softmax(scores, scores.dims.size() - 1, false);
  if (has(node, "numbers"))
    weights = dropped(weights, tensor(node, "numbers"));
  define(node, matmul(weights, value));
}
