//===- Remarks.h - What passes tell about their decisions -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remarks have the pass's flag as category and the decision as name; a declined one says why (`Reason=`). Texts are
// only built when somebody listens (gnnc-opt --remarks-filter...).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_REMARKS_H
#define GNNC_LIB_TRANSFORMS_REMARKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace gnnc {

inline mlir::remark::RemarkOpts remarkOn(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef decision) {
  auto function = op->getParentOfType<mlir::func::FuncOp>();
  return mlir::remark::RemarkOpts::name(decision).category(pass).function(function ? function.getName() : "");
}

inline void remarkPassed(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef decision,
                         llvm::function_ref<std::string()> what) {
  if (auto remark = mlir::remark::passed(op->getLoc(), remarkOn(op, pass, decision)))
    remark << what();
}

inline void remarkMissed(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef decision,
                         llvm::function_ref<std::string()> what, llvm::function_ref<std::string()> reason) {
  if (auto remark = mlir::remark::missed(op->getLoc(), remarkOn(op, pass, decision)))
    remark << what() << mlir::remark::detail::Remark::Arg("Reason", reason());
}

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_REMARKS_H
