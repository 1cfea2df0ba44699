//===- Needs.h - What a function needs of a graph ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_PACKAGE_NEEDS_H
#define GNNC_LIB_TARGET_PACKAGE_NEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gnnc {

/// The root spaces and maps that anything in the function refers to, or that these are derived from.
llvm::SmallVector<llvm::StringRef> findNeeds(mlir::func::FuncOp function);

} // namespace gnnc

#endif // GNNC_LIB_TARGET_PACKAGE_NEEDS_H
