//===- Stacks.h - What decompositions leave of stack ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decompositions write stack([a, b], 0) of rows as cat([a, b], 0).view(2, n, f). Joined rows are elements of another
// space, and a view cannot take them apart; a stack of values on one space is an axis more.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_STACKS_H
#define GNNC_LIB_FRONTEND_PYTORCH_STACKS_H

namespace gnnc::frontend::pytorch {

struct NormalProgram;

/// Makes `stack` of such views again, along axes whose size is not fixed.
void restoreStacks(NormalProgram &program);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_STACKS_H
