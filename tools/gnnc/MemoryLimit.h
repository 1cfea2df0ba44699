//===- MemoryLimit.h - The fastest plan that fits ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_MEMORYLIMIT_H
#define GNNC_TOOLS_GNNC_MEMORYLIMIT_H

#include "gnnc/Frontend/ModelSpec.h"
#include "gnnc/Pipelines/Compiler.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace gnnc {

/// Whether a program of the model has a backward half: gradients are asked for, or it trains.
bool hasGradients(const frontend::ModelSpec &model, const CompileOptions &options);

/// Sets `options.checkpoints` to the fewest with which every program of the model takes at most `limit` bytes where its
/// spaces have these extents ("node=1000"), and `options.plans` to what was tried. An error says what the least is.
llvm::Error fitMemory(const frontend::ModelSpec &model, CompileOptions &options, uint64_t limit,
                      llvm::ArrayRef<std::string> extents);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_MEMORYLIMIT_H
