//===- Interpreter.h - The meaning of a program, slowly ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of every test: materialises the spaces and maps of a module on a graph, then evaluates `@forward`, whether
// it is mpdfg, mpk or both, one operation after the other on whole tensors in double precision. It shares no code with
// the runtime or the targets. Errors are one line; nothing here prints, exits or throws.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_REFERENCE_INTERPRETER_H
#define GNNC_REFERENCE_INTERPRETER_H

#include "gnnc/Support/RefTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc {

/// What a caller knows of a graph.
struct RootGraph {
  /// Number of elements of each root space. Those of static spaces may be given too and must then agree.
  llvm::StringMap<int64_t> extents;
  /// Target of each element under each root map; -1 where a partial one is undefined.
  llvm::StringMap<std::vector<int64_t>> maps;
};

/// A value under the name users bind by.
struct NamedTensor {
  std::string name;
  RefTensor value;
};

/// Computes every space and map that `module` declares, in whatever order. Names in `root` that the module does not
/// declare as root spaces or maps are ignored: a compiled module keeps only what it uses.
llvm::Expected<GraphData> materialise(mlir::ModuleOp module, const RootGraph &root);

/// Evaluates a function on `graph`, which `materialise` made for the same module. Arguments are found by name
/// (attribute `mpdfg.name`; `arg0`, `arg1`, ... where there is none), and take their fill where they are optional and
/// absent. Gives the results in order, named likewise (`result0`, ...).
llvm::Expected<std::vector<NamedTensor>> interpret(mlir::ModuleOp module, const GraphData &graph,
                                                   const llvm::StringMap<RefTensor> &inputs,
                                                   llvm::StringRef function = "forward");

/// The value called `name`, or null.
const RefTensor *findTensor(const std::vector<NamedTensor> &tensors, llvm::StringRef name);

} // namespace gnnc

#endif // GNNC_REFERENCE_INTERPRETER_H
