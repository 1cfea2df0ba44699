//===- RandomProgram.h - Random programs on random graphs ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A seed gives a module with spaces and maps of every kind and a @forward of random operations, a graph (empty ones,
// isolated nodes, repeated edges, self loops and undefined elements included), and inputs.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_REFERENCE_RANDOMPROGRAM_H
#define GNNC_TEST_REFERENCE_RANDOMPROGRAM_H

#include "gnnc/Reference/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gnnc::test {

struct RandomProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  RootGraph graph;
  llvm::StringMap<RefTensor> inputs;
};

/// `context` has loaded mpdfg and func. A smooth program has no `detach`: its derivative is what its outputs do. All
/// arguments are inputs `arg0`, `arg1`, ...
RandomProgram makeRandomProgram(mlir::MLIRContext *context, unsigned seed, bool smooth = false,
                                bool doublePrecision = false);

/// Gives the module graph and inputs as the attributes that `gnnc-opt --gnnc-interpret` reads, so that the text of a
/// program can be tried out by hand.
void attachGraph(RandomProgram &program);

} // namespace gnnc::test

#endif // GNNC_TEST_REFERENCE_RANDOMPROGRAM_H
