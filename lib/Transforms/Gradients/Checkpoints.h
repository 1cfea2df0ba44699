//===- Checkpoints.h - Segments of the forward half -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides the forward half of a program into segments of about equal memory, at places where little crosses from one to
// the next (Chen et al., "Training deep nets with sublinear memory cost", 2016).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_GRADIENTS_CHECKPOINTS_H
#define GNNC_LIB_TRANSFORMS_GRADIENTS_CHECKPOINTS_H

#include "gnnc/Analysis/Halves.h"

namespace gnnc {

struct Checkpoints {
  /// Operations whose results cross from one segment to a later one.
  OperationSet crossing;
  /// Operations of the last segment. The backward half begins with it, so that nothing is gained by computing it again.
  OperationSet last;
};

/// `read`: the forward operations whose results the backward half needs. Places between segments are chosen so that the
/// bytes of these are divided equally, and moved to where the fewest bytes cross. A space with maps to others counts as
/// larger than those.
Checkpoints findCheckpoints(mlir::func::FuncOp function, const OperationSet &forward, const OperationSet &read,
                            unsigned segments);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_GRADIENTS_CHECKPOINTS_H
