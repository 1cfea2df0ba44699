//===- PaddedParts.h - Gradients of slices --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a slice is the slice's, with zeros around it. What has several slices gets several such rows; where
// the slices do not overlap, their sum is one concatenation of the parts:
//
//   [a, 0, 0] + [0, b, 0] + [0, 0, c]  ->  [a, b, c]
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_GRADIENTS_PADDEDPARTS_H
#define GNNC_LIB_TRANSFORMS_GRADIENTS_PADDEDPARTS_H

#include "dialects/mpdfg/IR/MPDFG.h"

namespace gnnc {

/// Whether a value is a concatenation with zeros.
bool isPadded(mlir::Value value);

/// The sum of two values with zeros around parts along the same axis; null where parts overlap or axes differ.
mlir::Value joinPadded(mlir::OpBuilder &b, mlir::Value first, mlir::Value second);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_GRADIENTS_PADDEDPARTS_H
