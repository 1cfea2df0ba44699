//===- NumberFacts.h - What is known of a value's numbers -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rewrite that moves a factor out of a sum evaluates it for owners without members too, whose sum was 0. That needs a
// proof that 0 times the factor is 0. Facts hold for every row, under the assumption that inputs and parameters are
// finite and that nothing overflows but what poles and exp make large; false means not known. Constants count as they
// are in their type, and as 0 below its smallest normal number.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_ANALYSIS_NUMBERFACTS_H
#define GNNC_ANALYSIS_NUMBERFACTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/APFloat.h"

#include <optional>

namespace gnnc {

/// A constant as it is computed with, rounded to its type; changes of shape left aside.
std::optional<llvm::APFloat> constantOf(mlir::Value value);

/// No number is infinite or NaN.
bool isFinite(mlir::Value value);
/// Every number is above 0.
bool isPositive(mlir::Value value);
/// No number is below 0.
bool isNeverNegative(mlir::Value value);
/// No number is 0 or NaN.
bool isNonZero(mlir::Value value);

/// The same for the rows of a map's target that no element leads to: a number of members along the map is 0 there, and
/// of a selection by it only one side counts.
bool isFiniteWithoutMembers(mlir::Value value, mlir::FlatSymbolRefAttr map);
bool isNonZeroWithoutMembers(mlir::Value value, mlir::FlatSymbolRefAttr map);

/// Whether a value comes from the graph alone: numbers of members, and what is computed from them. No gradient is taken
/// of it.
bool isOfGraphAlone(mlir::Value value);

/// Whether the operation may be computed for rows that nobody reads. Their gradient is 0, and stays 0 only if it is not
/// multiplied by an infinite derivative: so neither the operation nor its derivative is infinite for finite operands,
/// or it depends on nothing that a gradient is taken of; in the latter case its result may be infinite.
bool isHarmless(mlir::Operation *op);

} // namespace gnnc

#endif // GNNC_ANALYSIS_NUMBERFACTS_H
