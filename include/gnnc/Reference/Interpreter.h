//===- Interpreter.h - The meaning of a program, slowly ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of all tests. It builds the spaces and maps of a module for a graph, then evaluates `@forward`, in mpdfg,
// mpk or a mixture of both, one operation after the other on whole tensors in double precision. It shares no code with
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

namespace gnnc::mpdfg {
struct ChosenElements;
} // namespace gnnc::mpdfg

namespace gnnc {

/// A graph as the caller has it.
struct RootGraph {
  /// The extent of each root space. Extents of static spaces may be given too, and must then agree.
  llvm::StringMap<int64_t> extents;
  /// Target of each element under each root map; -1 where a partial one is undefined.
  llvm::StringMap<std::vector<int64_t>> maps;
  /// See GraphData.
  llvm::StringMap<std::vector<int64_t>> counts;
  RefCollectives *collectives = nullptr;
};

/// A value and the name by which users bind it.
struct NamedTensor {
  std::string name;
  RefTensor value;
};

/// Computes every space and map that `module` declares, in any order. Names in `root` that the module does not declare
/// as root spaces or maps are ignored, because a compiled module keeps only what it uses.
llvm::Expected<GraphData> materialise(mlir::ModuleOp module, const RootGraph &root);

/// Says what an operation has chosen: where the maps of its selection lead, how many elements an open one has, and
/// where maps lead that are made of these.
llvm::Error choose(GraphData &graph, mlir::Operation *choice, const mpdfg::ChosenElements &elements);

/// Evaluates a function on `graph`, which `materialise` made for the same module. Arguments are found by name
/// (attribute `mpdfg.name`, or else `arg0`, `arg1`, ...); optional arguments that are absent take their fill value.
/// Returns the results in order, named likewise (`result0`, ...).
llvm::Expected<std::vector<NamedTensor>> interpret(mlir::ModuleOp module, const GraphData &graph,
                                                   const llvm::StringMap<RefTensor> &inputs,
                                                   llvm::StringRef function = "forward");

/// The value called `name`, or null.
const RefTensor *findTensor(const std::vector<NamedTensor> &tensors, llvm::StringRef name);

} // namespace gnnc

#endif // GNNC_REFERENCE_INTERPRETER_H
