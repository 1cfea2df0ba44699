//===- PlanInfo.h - What a program costs and keeps, as formulas -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over a model's description: of the costs of kernels, and of the bytes of intermediate values that are alive at
// the same time. They do not include what a target needs besides (partial results, alignment), nor inputs, parameters
// and outputs, which are the caller's.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_PLANINFO_H
#define GNNC_HOST_PLANINFO_H

#include "gnnc/Host/ModelInfo.h"

namespace gnnc {

using ExtentFunction = llvm::function_ref<std::optional<int64_t>(llvm::StringRef space)>;

/// The largest of several formulas. Formulas that another one exceeds on every graph are left out.
class SymbolicMax {
public:
  void add(const SymbolicExpr &expression);
  /// `64 edge + 8 node`, or `max(64 edge, 8 node)`; `0` for nothing.
  std::string str() const;
  std::optional<double> evaluate(ExtentFunction extent) const;
  const std::vector<SymbolicExpr> &list() const { return terms; }

private:
  std::vector<SymbolicExpr> terms;
};

/// A program, or one half of it.
struct PhaseInfo {
  std::string program;
  std::string half; ///< "forward", "backward", or empty: all of it
  int64_t kernels = 0, launches = 0;
  SymbolicExpr flops, read, written; ///< operations, bytes, bytes
  SymbolicExpr saved;                ///< bytes that the backward half reads and the forward half made
  SymbolicMax peak;                  ///< bytes of intermediate values that are alive while one of its kernels runs
};

/// Each program in the order of the kernels; one that computes gradients is followed by its two halves.
std::vector<PhaseInfo> phasesOf(const ModelInfo &model);

/// The bytes of intermediate values that are alive while each kernel of a program runs.
std::vector<SymbolicExpr> liveBytes(const ModelInfo &model, llvm::StringRef program);

/// The bytes of a value in memory.
SymbolicExpr bytesOf(const ModelInfo &model, const BufferInfo &buffer);

} // namespace gnnc

#endif // GNNC_HOST_PLANINFO_H
