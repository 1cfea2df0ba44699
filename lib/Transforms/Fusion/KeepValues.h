//===- KeepValues.h - Values that are dearer to make again than to keep ---===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_FUSION_KEEPVALUES_H
#define GNNC_LIB_TRANSFORMS_FUSION_KEEPVALUES_H

#include "gnnc/Analysis/Halves.h"

namespace gnnc {

class Grouping;

/// The values of a function, in program order, that should be kept although nothing asks for them in memory: what the
/// sweeps of `trial` would read and compute to make them again costs more than to write and read them.
/// They are results of `candidates`: not what the trial has written itself. After the first trial no
/// sweep with tiles is given more to write.
llvm::SmallVector<mlir::Value> chooseKept(mlir::func::FuncOp function, const Grouping &trial,
                                          const OperationSet &candidates, bool isFirst);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_FUSION_KEEPVALUES_H
