//===- Reductions.h - Sums and softmaxes along maps and over axes *- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ModelSpec has the ones along a map; a softmax over axes, or along `all`, is written out with the maximum subtracted.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_REDUCTIONS_H
#define GNNC_LIB_FRONTEND_SEMA_REDUCTIONS_H

#include "Sema/SparseInputs.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gnnc::frontend {

class Reductions : ElaborationPart {
public:
  Reductions(Context &context, SparseInputs &sparseInputs) : ElaborationPart(context), sparseInputs(sparseInputs) {}

  /// sum, mean, max, min; along a map logsumexp too. A map may be kAll.
  MaybeOperand foldOver(llvm::StringRef function, const Operand &x, const std::vector<std::string> &axes, Loc loc);
  MaybeOperand reduceAlong(llvm::StringRef function, const Operand &x, Id map, Loc loc);
  /// softmax, logsumexp, log_softmax
  MaybeOperand normalizeOver(llvm::StringRef function, const Operand &x, const std::vector<std::string> &axes, Loc loc);
  MaybeOperand normalizeAlong(llvm::StringRef function, const Operand &x, Id map, Loc loc);

private:
  MaybeOperand normalize(llvm::StringRef function, Id x, llvm::function_ref<MaybeId(llvm::StringRef, Id)> reduce,
                         Loc loc);

  SparseInputs &sparseInputs;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_REDUCTIONS_H
