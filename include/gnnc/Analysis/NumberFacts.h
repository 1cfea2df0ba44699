//===- NumberFacts.h - What is known of a value's numbers -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rewrite that moves a factor out of a sum also evaluates the factor for owners without members, whose sum was 0. It
// needs a proof that 0 times the factor is 0. Each fact holds for every row, assuming that inputs and parameters are
// finite and that only poles and exp overflow; false means that nothing is known. A constant has its value after
// rounding to its type, and is 0 below the smallest normal number of that type.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_ANALYSIS_NUMBERFACTS_H
#define GNNC_ANALYSIS_NUMBERFACTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/APFloat.h"

#include <optional>

namespace gnnc {

/// The number that a constant holds, rounded to its type; looks through changes of shape.
std::optional<llvm::APFloat> constantOf(mlir::Value value);

/// No number is infinite or NaN.
bool isFinite(mlir::Value value);
/// Every number is above 0.
bool isPositive(mlir::Value value);
/// No number is below 0.
bool isNeverNegative(mlir::Value value);
/// No number is 0 or NaN.
bool isNonZero(mlir::Value value);

/// The same for the owners of a map that have no members: the degree along the map is 0 there, and of a selection by
/// the degree only one side counts.
bool isFiniteWithoutMembers(mlir::Value value, mlir::FlatSymbolRefAttr map);
bool isNonZeroWithoutMembers(mlir::Value value, mlir::FlatSymbolRefAttr map);

/// Whether a value depends on the graph alone: degrees, and what is computed from them. No gradient is taken with
/// respect to it.
bool isOfGraphAlone(mlir::Value value);

/// Whether the operation may be computed for unused rows. Their gradient is 0, and stays 0 only if it is not multiplied
/// by an infinite derivative. So either neither the operation nor its derivative is infinite for finite operands, or
/// the operation depends only on values of which no gradient is taken; its result may then be infinite.
bool isHarmless(mlir::Operation *op);

} // namespace gnnc

#endif // GNNC_ANALYSIS_NUMBERFACTS_H
