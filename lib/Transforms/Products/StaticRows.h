//===- StaticRows.h - Static spaces that passes make ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared values whose numbers are worked on as rows of a space of their own.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_PRODUCTS_STATICROWS_H
#define GNNC_LIB_TRANSFORMS_PRODUCTS_STATICROWS_H

#include "mlir/IR/BuiltinOps.h"

namespace gnnc {

/// The static space @rows.EXTENT of `module`, made if it is not there.
mlir::FlatSymbolRefAttr getStaticRows(mlir::ModuleOp module, int64_t extent);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_PRODUCTS_STATICROWS_H
