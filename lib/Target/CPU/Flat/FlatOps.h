//===- FlatOps.h - Body operations on flat vectors --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the CPU a body value is one flat vector that holds its (tile of) feature axes row-major: a score of 8 heads is
// vector<8xf32>, a message of 8 heads of 16 is vector<128xf32>. Repeating an axis, folding one, transposing, joining
// are shuffles with constant masks, which LLVM turns into permutes of whole registers; so exp works on all heads at
// once.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_FLATOPS_H
#define GNNC_LIB_TARGET_CPU_FLATOPS_H

#include "dialects/mpk/IR/MPK.h"
#include "mlir/IR/Builders.h"

#include <limits>

namespace gnnc::cpu {

/// The lowest finite number, and the negative of the largest: where the running maximum of a softmax starts, and
/// between which it stays, so that its difference to an equal one is 0.
inline double lowestFinite(mlir::Type element) {
  return element.isF32() ? std::numeric_limits<float>::lowest() : std::numeric_limits<double>::lowest();
}

/// The axes of a contraction, those of both operands once, in the order in which their products are held and added.
struct ContractionOrder {
  ContractionOrder(llvm::ArrayRef<int64_t> lhsShape, llvm::ArrayRef<int64_t> lhsLabels,
                   llvm::ArrayRef<int64_t> rhsShape, llvm::ArrayRef<int64_t> rhsLabels,
                   llvm::ArrayRef<int64_t> outLabels);

  llvm::SmallVector<int64_t> labels, sizes;
  llvm::SmallVector<int64_t> summed; ///< positions of what is added; the last ones are added first
};

/// Builds flat-vector code at the insertion point of `b`.
class FlatOps {
public:
  /// `fixed`: see KernelBuilder::hasFixedRounding.
  FlatOps(mlir::OpBuilder &b, mlir::Location loc, mlir::Type element, bool fixed)
      : b(b), loc(loc), element(element), fixed(fixed) {}

  using Shape = llvm::ArrayRef<int64_t>;

  mlir::Value splat(double number, int64_t count);
  mlir::Value splatOf(mlir::Value scalar, int64_t count);
  /// Row-major `from` repeated to `to`: same rank, axes equal or 1.
  mlir::Value repeat(mlir::Value value, Shape from, Shape to);
  mlir::Value shuffle(mlir::Value value, llvm::ArrayRef<int64_t> lanes);
  mlir::Value shuffle(mlir::Value a, mlir::Value c, llvm::ArrayRef<int64_t> lanes);
  /// Joins vectors end to end.
  mlir::Value join(llvm::ArrayRef<mlir::Value> values);

  mlir::Value unary(mpdfg::UnaryKind kind, mlir::Value x, double alpha);
  mlir::Value binary(mpdfg::BinaryKind kind, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// Whether a mask, one bit a lane, holds in any lane.
  mlir::Value any(mlir::Value mask);
  mlir::Value fold(mpdfg::ReduceKind kind, mlir::Value value, Shape shape, llvm::ArrayRef<int64_t> axes);
  /// Adds the halves of the last axis while they have `size` numbers or more: of whole registers, so nothing is moved
  /// between lanes. `shape` becomes the result's.
  mlir::Value halve(mlir::Value value, llvm::SmallVectorImpl<int64_t> &shape, int64_t size);
  mlir::Value transpose(mlir::Value value, Shape shape, llvm::ArrayRef<int64_t> permutation);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes,
                     int64_t axis);
  mlir::Value slice(mlir::Value value, Shape shape, int64_t axis, int64_t begin, int64_t count);
  mlir::Value contract(mlir::Value lhs, Shape lhsShape, llvm::ArrayRef<int64_t> lhsLabels, mlir::Value rhs,
                       Shape rhsShape, llvm::ArrayRef<int64_t> rhsLabels, llvm::ArrayRef<int64_t> outLabels);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  /// What is not a number wins, as in the interpreter.
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  /// The finite number next to an infinite one.
  mlir::Value finite(mlir::Value x);
  mlir::Value round(mlir::Value x);
  mlir::Value exp(mlir::Value x);
  mlir::Value expm1(mlir::Value x); ///< exp(x) - 1
  mlir::Value log(mlir::Value x);
  mlir::Value softplus(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  /// A statistic (mpdfg::isStatistic) from the running maximum and the sum of exp of the differences to it.
  mlir::Value statistic(mpdfg::ReduceKind kind, mlir::Value shift, mlir::Value sum);
  /// The same of as many times the number x as `members` says.
  mlir::Value statisticOfEqual(mpdfg::ReduceKind kind, mlir::Value x, mlir::Value members);
  mlir::Value sine(mlir::Value x, bool ofCosine);    ///< sin(x) or cos(x)
  mlir::Value greater(mlir::Value x, mlir::Value y); ///< no, if either is not a number
  mlir::Value isNaN(mlir::Value x);
  /// Whether x takes the place of the largest (`most`) or least so far. The first of equals wins, and the first NaN of
  /// all.
  mlir::Value beats(mlir::Value x, mlir::Value best, bool most);
  /// An element number (i64) in the memory of each of `count` numbers; and `first`, `first` + 1, ... in that of
  /// `count`.
  mlir::Value elementNumber(mlir::Value number, int64_t count);
  mlir::Value elementNumbers(mlir::Value first, int64_t count);
  /// Whether element numbers are the same: 1 or 0.
  mlir::Value isElement(mlir::Value numbers, mlir::Value others);
  /// mpdfg.random. `inFours`: every four lanes from the first on have features 4 i to 4 i + 3, and all else in common.
  mlir::Value random(mlir::Value seedLow, mlir::Value seedHigh, mlir::Value step, mlir::Value elementNumbers,
                     mlir::Value features, int64_t site, bool inFours = false);
  /// 1 where numbers of mpdfg.random are less than `bound`, else 0: compares their words where `random` is its result.
  mlir::Value randomBelow(mlir::Value random, double bound);

  mlir::VectorType type(int64_t count) { return mlir::VectorType::get({count}, element); }
  static int64_t count(mlir::Value value) { return mlir::cast<mlir::VectorType>(value.getType()).getNumElements(); }

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type element;
  bool fixed;
};

/// Operations of one widest value for a body operation, to bound what is worth being flat: a contraction works on all
/// its labels at once.
int64_t flatWidth(mlir::Operation *op, llvm::function_ref<llvm::SmallVector<int64_t>(mlir::Value)> shapeOf);

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_FLATOPS_H
