//===- Report.h - A page that shows what the compiler did -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One HTML page without external resources: each program's graph after each phase, coloured by residency; its kernels
// with what they fuse, read and cost; the memory plan over time, for extents that the reader sets; and all remarks. It
// shows what is in the module, and knows operations only by their text and operands.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_REPORT_REPORT_H
#define GNNC_REPORT_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc {

/// A node of the drawn graph: an argument, an operation or a result of the function.
struct ReportNode {
  enum Kind { Argument, Operation, Result } kind;
  std::string label;  ///< such as `reduce sum .dst`
  std::string type;   ///< residency and features, such as `edge[8, 16]`; a list for several results
  std::string space;  ///< residency; empty: shared
  std::string detail; ///< the operation as text
  std::vector<size_t> operands;
  bool backward = false; ///< a kernel of the backward half
};

struct ReportGraph {
  std::string function;
  std::vector<ReportNode> nodes; ///< each after its operands
};

class ReportBuilder {
public:
  /// Takes the graphs of all functions as they are after a phase.
  void addPhase(llvm::StringRef phase, mlir::ModuleOp module);
  /// A line as CompileOptions::onRemark gives it.
  void addRemark(llvm::StringRef text) { remarks.push_back(text.str()); }

  /// The page. `module` is past plan-memory; `description` is what the model says of itself (describeModel);
  /// `settings` says in a line how it was compiled.
  llvm::Expected<std::string> makePage(mlir::ModuleOp module, llvm::StringRef description, llvm::StringRef settings);

private:
  struct Phase {
    std::string name;
    std::vector<ReportGraph> graphs;
  };
  std::vector<Phase> phases;
  std::vector<std::string> remarks;
};

} // namespace gnnc

#endif // GNNC_REPORT_REPORT_H
