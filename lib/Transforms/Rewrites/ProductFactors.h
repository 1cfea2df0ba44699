//===- ProductFactors.h - Products as factors with labelled axes -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_REWRITES_PRODUCTFACTORS_H
#define GNNC_LIB_TRANSFORMS_REWRITES_PRODUCTFACTORS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace gnnc {

using Labels = llvm::SmallVector<int64_t>;

bool areDistinct(llvm::ArrayRef<int64_t> labels);
double numbersOf(llvm::ArrayRef<int64_t> features);

/// A factor of a product of three: a value, and the labels of its axes.
struct Factor {
  mlir::Value value;
  Labels labels;
};

/// The sizes that labels have in factors.
class Sizes {
public:
  Sizes(llvm::ArrayRef<Factor> factors) {
    for (const Factor &factor : factors)
      for (auto [label, size] : llvm::zip(factor.labels, mpdfg::getFeatureShape(factor.value.getType())))
        known[label] = size;
  }
  Labels of(llvm::ArrayRef<int64_t> labels) const {
    Labels sizes;
    for (int64_t label : labels)
      sizes.push_back(known.lookup(label));
    return sizes;
  }
  double numbers(llvm::ArrayRef<int64_t> labels) const { return numbersOf(of(labels)); }

private:
  llvm::SmallDenseMap<int64_t, int64_t> known;
};

/// Those of the first, then what else the second has.
Labels unite(llvm::ArrayRef<int64_t> first, llvm::ArrayRef<int64_t> second);

/// The labels of two factors' product that a third one or the result have, those of the result first.
Labels labelsBetween(const Factor &x, const Factor &y, const Factor &third, llvm::ArrayRef<int64_t> result);

Factor multiply(mlir::OpBuilder &b, mlir::Location loc, const Factor &x, const Factor &y, Labels out);

/// A factor that is a product itself, a contraction or number by number, under the labels that whoever reads it has for
/// its axes: its two factors. `taken`: labels that others have.
std::optional<std::pair<Factor, Factor>> factorsOf(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                                                   llvm::ArrayRef<int64_t> taken);

/// Operations of a product of any kind for a row.
double operationsOf(mlir::Operation *product);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_REWRITES_PRODUCTFACTORS_H
