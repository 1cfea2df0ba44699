//===- Operators.h - Operators on evaluated operands ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_OPERATORS_H
#define GNNC_LIB_FRONTEND_SEMA_OPERATORS_H

#include "Sema/SparseInputs.h"

namespace gnnc::frontend {

class Operators : ElaborationPart {
public:
  Operators(Context &context, SparseInputs &sparseInputs) : ElaborationPart(context), sparseInputs(sparseInputs) {}

  MaybeOperand unary(llvm::StringRef op, const Operand &x, Loc loc);
  /// Any operator of two operands; `maximum` and `minimum` too.
  MaybeOperand binary(llvm::StringRef op, const Operand &a, const Operand &b, Loc loc);
  MaybeOperand power(const Operand &a, const Operand &b, Loc loc);

  /// Warns of an elementwise operation that none of the operands has all axes of: it pairs what hardly belongs
  /// together.
  void checkPairs(llvm::StringRef op, llvm::ArrayRef<Id> operands, MaybeId result, Loc loc);

private:
  MaybeOperand matmul(const Operand &a, const Operand &b, Loc loc);

  SparseInputs &sparseInputs;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_OPERATORS_H
