//===- Pairs.h - Maps of spaces of pairs ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_IR_PAIRS_H
#define GNNC_MPDFG_IR_PAIRS_H

#include "dialects/mpdfg/IR/MPDFG.h"

namespace gnnc::mpdfg {

/// The maps that pairs are made of, as one side of them sees these.
struct PairMaps {
  mlir::FlatSymbolRefAttr own;   ///< from where the side's map leads
  mlir::FlatSymbolRefAttr other; ///< from the other side
};

/// Of a map from pairs to one of their sides; both are null for any other map.
PairMaps getMapsOfPairs(MapOp side);

/// The space of pairs that a value resides on, or null; `at`: any operation of the module.
SpaceOp getPairs(mlir::Operation *at, mlir::Type type);

} // namespace gnnc::mpdfg

#endif // GNNC_MPDFG_IR_PAIRS_H
