//===- DiagnosticLog.cpp - What a context reports -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiagnosticLog.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace gnnc;

/// The place in the model's text; fused values have the first one's.
static FileLineColLoc findPlace(Location location) {
  FileLineColLoc found;
  location->walk([&](Location each) {
    found = dyn_cast<FileLineColLoc>(each);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

static std::string describe(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto place = findPlace(diagnostic.getLocation()))
    stream << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn() << ": ";
  stream << diagnostic.str();
  return text;
}

llvm::Error gnnc::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

DiagnosticLog::DiagnosticLog(MLIRContext &context, std::function<void(llvm::StringRef)> onRemark)
    : context(context), onRemark(std::move(onRemark)) {
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && firstError.empty())
      firstError = describe(diagnostic);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark && this->onRemark)
      this->onRemark(describe(diagnostic));
    return success();
  });
}

llvm::Error DiagnosticLog::enableRemarks() {
  // Passes only make the texts if somebody listens.
  if (!onRemark)
    return llvm::Error::success();
  remark::RemarkCategories everything{".*", ".*", ".*", ".*", ".*"};
  if (failed(remark::enableOptimizationRemarks(context, nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                               everything, /*printAsEmitRemarks=*/true)))
    return makeError("remarks cannot be enabled");
  return llvm::Error::success();
}

llvm::Error DiagnosticLog::explain(llvm::Error otherwise) const {
  if (firstError.empty())
    return otherwise;
  llvm::consumeError(std::move(otherwise));
  return makeError(firstError);
}
