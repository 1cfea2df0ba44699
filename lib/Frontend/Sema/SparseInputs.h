//===- SparseInputs.h - What a sparse input can do --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_SPARSEINPUTS_H
#define GNNC_LIB_FRONTEND_SEMA_SPARSEINPUTS_H

#include "Sema/Context.h"

namespace gnnc::frontend {

class SparseInputs : ElaborationPart {
public:
  explicit SparseInputs(Context &context) : ElaborationPart(context) {}

  /// x * s and x / s, with a number s for each row or for all.
  MaybeOperand scale(llvm::StringRef op, const Sparse &x, const Operand &factor, Loc loc);
  MaybeOperand unary(llvm::StringRef function, const Sparse &x, double number, Loc loc);
  MaybeOperand matmul(const Sparse &x, const Operand &weight, Loc loc);
  /// sum or mean over the axis.
  MaybeOperand fold(llvm::StringRef function, const Sparse &x, Loc loc);
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_SPARSEINPUTS_H
