//===- ProductFactors.cpp - Products as factors with labelled axes --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rewrites/ProductFactors.h"
#include "dialects/mpdfg/Derivatives/Rules.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

bool gnnc::areDistinct(ArrayRef<int64_t> labels) {
  return llvm::SmallDenseSet<int64_t>(labels.begin(), labels.end()).size() == labels.size();
}

double gnnc::numbersOf(ArrayRef<int64_t> features) {
  double numbers = 1;
  for (int64_t size : features)
    numbers *= double(size);
  return numbers;
}

Labels gnnc::unite(ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  Labels all(first);
  for (int64_t label : second)
    if (!llvm::is_contained(all, label))
      all.push_back(label);
  return all;
}

Labels gnnc::labelsBetween(const Factor &x, const Factor &y, const Factor &third, ArrayRef<int64_t> result) {
  Labels both = unite(x.labels, y.labels), kept;
  for (ArrayRef<int64_t> wanted : {result, ArrayRef<int64_t>(third.labels)})
    for (int64_t label : wanted)
      if (llvm::is_contained(both, label) && !llvm::is_contained(kept, label))
        kept.push_back(label);
  return kept;
}

Factor gnnc::multiply(OpBuilder &b, Location loc, const Factor &x, const Factor &y, Labels out) {
  Type rows = getResidency(x.value.getType()) ? x.value.getType() : y.value.getType();
  RankedTensorType type = Rules::withFeatures(rows, Sizes({x, y}).of(out));
  Value product = ContractOp::create(b, loc, type, x.value, x.labels, y.value, y.labels, out);
  return {product, std::move(out)};
}

/// A product number by number as one of factors, whose axes are those of the result: those of size 1 are repeated, and
/// what has them is a reshape of what lacks them.
static std::optional<Factor> factorOfMul(Value operand, ArrayRef<int64_t> result) {
  Factor factor{operand, {}};
  ArrayRef<int64_t> features = getFeatureShape(operand.getType());
  for (auto [axis, size] : llvm::enumerate(features))
    if (size == result[axis])
      factor.labels.push_back(int64_t(axis));
  if (factor.labels.size() == features.size())
    return factor;
  auto reshape = operand.getDefiningOp<ReshapeOp>();
  Labels sizes;
  for (int64_t label : factor.labels)
    sizes.push_back(result[label]);
  if (!reshape || getFeatureShape(reshape.getInput().getType()) != ArrayRef<int64_t>(sizes))
    return std::nullopt;
  factor.value = reshape.getInput();
  return factor;
}

namespace {

/// The two factors of a product of any kind, and the labels of its axes.
struct Factors {
  Factor left, right;
  Labels out;
};

} // namespace

static std::optional<Factors> factorsAsWritten(Operation *op) {
  if (auto contract = dyn_cast_or_null<ContractOp>(op))
    return Factors{{contract.getLhs(), Labels(contract.getLhsLabels())},
                   {contract.getRhs(), Labels(contract.getRhsLabels())},
                   Labels(contract.getOutLabels())};
  auto mul = dyn_cast_or_null<BinaryOp>(op);
  if (!mul || mul.getKind() != BinaryKind::Mul)
    return std::nullopt;
  ArrayRef<int64_t> result = getFeatureShape(mul.getType());
  auto left = factorOfMul(mul.getLhs(), result), right = factorOfMul(mul.getRhs(), result);
  if (!left || !right)
    return std::nullopt;
  return Factors{*left, *right, Labels(llvm::to_vector(llvm::seq<int64_t>(0, result.size())))};
}

std::optional<std::pair<Factor, Factor>> gnnc::factorsOf(Value value, ArrayRef<int64_t> axes, ArrayRef<int64_t> taken) {
  std::optional<Factors> written = factorsAsWritten(value.getDefiningOp());
  if (!written || !areDistinct(written->left.labels) || !areDistinct(written->right.labels))
    return std::nullopt;
  llvm::SmallDenseMap<int64_t, int64_t> renamed;
  for (auto [label, axis] : llvm::zip(written->out, axes))
    renamed[label] = axis;
  int64_t fresh = 0;
  for (ArrayRef<int64_t> used : {axes, taken})
    for (int64_t label : used)
      fresh = std::max(fresh, label + 1);
  auto rename = [&](Factor &factor) {
    for (int64_t &label : factor.labels) {
      auto [it, isNew] = renamed.try_emplace(label, fresh);
      fresh += isNew;
      label = it->second;
    }
  };
  rename(written->left);
  rename(written->right);
  return std::pair(std::move(written->left), std::move(written->right));
}

double gnnc::operationsOf(Operation *op) {
  if (auto contract = dyn_cast<ContractOp>(op))
    return double(contract.flopsPerRow());
  return numbersOf(getFeatureShape(op->getResult(0).getType()));
}
