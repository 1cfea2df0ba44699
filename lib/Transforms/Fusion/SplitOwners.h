//===- SplitOwners.h - What owners make of sums, apart ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_FUSION_SPLITOWNERS_H
#define GNNC_LIB_TRANSFORMS_FUSION_SPLITOWNERS_H

#include "dialects/mpk/IR/MPK.h"

namespace gnnc {

/// Whether a body's value is an accumulation of one owner's members.
bool isAccumulation(mlir::Value value);

/// Removes what a sweep's body does not use any more, operands too.
void eraseUnused(mpk::SweepOp sweep);

/// Replaces a sweep along a map by one that ends with what `late` results of owners are made of, and a sweep over the
/// owners that makes these results of that:
///
///   %y = sweep over @node along @dst {a = accumulate sum p; y = relu a; yield y}
///   ->  %a = sweep over @node along @dst {a = accumulate sum p; yield a};  %y = sweep over @node (%a) {...}
void splitOwners(mpk::SweepOp sweep, llvm::ArrayRef<unsigned> late);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_FUSION_SPLITOWNERS_H
