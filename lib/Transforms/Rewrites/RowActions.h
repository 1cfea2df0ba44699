//===- RowActions.h - What acts on rows as a whole ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums and means of members, movements, scales by one number a row and additions act on rows from the left: (L x) is a
// linear combination of the rows of x whatever their features are. So they commute with products from the right.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_REWRITES_ROWACTIONS_H
#define GNNC_LIB_TRANSFORMS_REWRITES_ROWACTIONS_H

#include "Rewrites/Lifting.h"

namespace gnnc {

/// How an operation acts on the rows of one operand.
enum class Action {
  None,
  Move,  ///< a broadcast that fills with 0, or along a total map
  Sum,   ///< a sum or mean along a map
  Scale, ///< a number for each row
  Add,   ///< all operands are acted on
};

struct RowAction {
  Action kind = Action::None;
  unsigned operand = 0;
};

RowAction classify(mlir::Operation *op);

/// What lies between a value and its core.
struct ActionCounts {
  unsigned sums = 0;  ///< sums and means
  unsigned moves = 0; ///< broadcasts
};

/// The value whose rows are acted on, as deep as there is one. Values that others need as well are not looked through,
/// except the first one where it is the `root`. Adds what is on the way to `counts`: a core on the value's own space
/// is still made of other elements' rows if there is a sum or a broadcast along a map of that space to itself.
mlir::Value coreOf(mlir::Value value, bool root, ActionCounts &counts);

/// The same action on another value's rows.
mlir::Value rebuild(mlir::OpBuilder &b, mlir::Value value, mlir::Value core, mlir::Value replacement);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_REWRITES_ROWACTIONS_H
