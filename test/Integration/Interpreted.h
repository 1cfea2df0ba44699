//===- Interpreted.h - Test models in the interpreter -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the tests' graphs and tensors and the interpreter's.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_INTERPRETED_H
#define GNNC_TEST_INTEGRATION_INTERPRETED_H

#include "TestModel.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Reference/Interpreter.h"

namespace gnnc::test {

RootGraph rootsOf(const Graph &graph);

Tensor tensorOf(RefTensor value);

/// Evaluates function `name` of `module` on a graph; arguments that `tensors` lacks are left out, tensors that are no
/// arguments are ignored.
llvm::Expected<std::vector<NamedTensor>> interpretOn(mlir::ModuleOp module, const Graph &graph, const Tensors &tensors,
                                                     llvm::StringRef name = kForward);

/// The results by name.
Tensors tensorsOf(std::vector<NamedTensor> results);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_INTERPRETED_H
