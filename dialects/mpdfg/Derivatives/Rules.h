//===- Rules.h - Words to write derivative rules in -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_DERIVATIVES_RULES_H
#define GNNC_MPDFG_DERIVATIVES_RULES_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"

namespace gnnc::mpdfg {

/// Writes elementwise operations; result types follow from the operands.
class Rules {
public:
  using Value = mlir::Value;
  Rules(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// A constant that meets values like `like`.
  Value number(double value, Value like);
  Value unary(UnaryKind kind, Value x, double alpha = 0);
  Value binary(BinaryKind kind, Value x, Value y);
  Value add(Value x, Value y) { return binary(BinaryKind::Add, x, y); }
  Value sub(Value x, Value y) { return binary(BinaryKind::Sub, x, y); }
  Value mul(Value x, Value y) { return binary(BinaryKind::Mul, x, y); }
  Value div(Value x, Value y) { return binary(BinaryKind::Div, x, y); }
  Value exp(Value x) { return unary(UnaryKind::Exp, x); }
  Value neg(Value x) { return unary(UnaryKind::Neg, x); }
  Value square(Value x) { return unary(UnaryKind::Square, x); }
  Value scale(Value x, double factor) { return mul(x, number(factor, x)); }
  /// 1 where x > y, else 0.
  Value greater(Value x, Value y) { return binary(BinaryKind::Gt, x, y); }
  Value select(Value condition, Value x, Value y);
  Value reduce(ReduceKind kind, Value x, mlir::FlatSymbolRefAttr along, mlir::Type result);
  Value broadcast(Value x, mlir::FlatSymbolRefAttr along, mlir::Type result, double fill = 0);
  /// Feature axes of size 1 repeated up to `features`.
  Value repeat(Value x, llvm::ArrayRef<int64_t> features);
  Value reshape(Value x, llvm::ArrayRef<int64_t> features);
  Value fold(ReduceKind kind, Value x, llvm::ArrayRef<int64_t> axes);
  /// The type of a value on another's rows, with other features.
  static mlir::RankedTensorType withFeatures(mlir::Type rows, llvm::ArrayRef<int64_t> features);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace gnnc::mpdfg

#endif // GNNC_MPDFG_DERIVATIVES_RULES_H
