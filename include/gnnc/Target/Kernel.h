//===- Kernel.h - What a generated kernel asks of the runtime ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code generators return one of these for each kernel of `@forward`; packaging writes them into the object's table
// (include/gnnc/ModelFormat/ModelTable.h, whose meanings they have).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_KERNEL_H
#define GNNC_TARGET_KERNEL_H

#include "gnnc/ModelFormat/ModelTable.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

#include <string>

namespace gnnc {

using table::IndexKind;

/// An index array a kernel reads: of the grouping by `map`, or (Sorted) `other` at each position of that grouping.
/// MembersOrNone: null where each element stands at the position of its own number.
struct IndexRef {
  IndexKind kind;
  mlir::FlatSymbolRefAttr map;
  mlir::FlatSymbolRefAttr other;
  bool operator==(const IndexRef &o) const { return kind == o.kind && map == o.map && other == o.other; }
};

using table::MergeKind;

/// A shared result, made of one partial result for each block.
struct MergeRef {
  unsigned buffer; ///< into EmittedKernel::buffers
  MergeKind kind;
  int64_t elements; ///< of one partial result
};

using table::StepKind;

/// How an operation for which mpk::isOfRuntime holds is run.
StepKind stepKindOf(mlir::Operation *op);

/// A collective or choice has only name, kind, and the space of what each rank gives: there is no code.
struct EmittedKernel {
  std::string name;
  StepKind kind;
  mlir::FlatSymbolRefAttr map;   ///< Sweep, Grouped
  mlir::FlatSymbolRefAttr space; ///< Rows: null for shared
  llvm::SmallVector<mlir::Value> buffers;
  llvm::SmallVector<IndexRef> indices;
  llvm::SmallVector<MergeRef> merges;
  int64_t blockBytes = 0; ///< memory that each block works in
};

} // namespace gnnc

#endif // GNNC_TARGET_KERNEL_H
