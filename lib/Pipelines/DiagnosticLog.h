//===- DiagnosticLog.h - What a context reports -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_PIPELINES_DIAGNOSTICLOG_H
#define GNNC_LIB_PIPELINES_DIAGNOSTICLOG_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>

namespace gnnc {

llvm::Error makeError(const llvm::Twine &message);

/// Takes the diagnostics of a context, each as a line with its place in the model's text: keeps the first error, and
/// hands on remarks.
class DiagnosticLog {
public:
  /// `onRemark` may be empty: then remarks are not made at all.
  DiagnosticLog(mlir::MLIRContext &context, std::function<void(llvm::StringRef)> onRemark);

  /// Asks passes for remarks, if somebody listens.
  llvm::Error enableRemarks();
  /// What went wrong: the first error there was, else `otherwise`.
  llvm::Error explain(llvm::Error otherwise) const;

private:
  mlir::MLIRContext &context;
  std::function<void(llvm::StringRef)> onRemark;
  std::string firstError;
};

} // namespace gnnc

#endif // GNNC_LIB_PIPELINES_DIAGNOSTICLOG_H
