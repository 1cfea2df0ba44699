//===- ElementNumbers.h - What elements of a part are called ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which elements of the whole graph a part's are: also those of filters, unions and distinct tuples, which each side
// derives from its own maps. So inputs on such spaces can be cut, and outputs put together.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_ELEMENTNUMBERS_H
#define GNNC_TEST_INTEGRATION_ELEMENTNUMBERS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "gnnc/Reference/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gnnc::test {

/// The spaces and maps of a module on a graph, with a map to or from whatever a space is derived from.
class DerivedSpaces {
public:
  DerivedSpaces(mlir::ModuleOp module, const RootGraph &graph);

  int64_t extent(llvm::StringRef space) const { return data.extent(space); }
  /// The declaration; null where the module has none of that name.
  mpdfg::SpaceOp find(llvm::StringRef space) const;
  /// From a filter to its base, or from the base of a distinct space to that.
  const std::vector<int64_t> &relation(llvm::StringRef space) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphData data;
};

/// The numbers in `whole` of a space's elements in `part`, of whose root spaces `own` are the numbers. Nothing for
/// shared and static values.
std::optional<std::vector<int64_t>> numbersOfElements(llvm::StringRef space, const DerivedSpaces &whole,
                                                      const DerivedSpaces &part,
                                                      const llvm::StringMap<std::vector<int64_t>> &own);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_ELEMENTNUMBERS_H
