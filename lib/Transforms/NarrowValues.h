//===- NarrowValues.h - Which narrow values of members are kept -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_NARROWVALUES_H
#define GNNC_LIB_TRANSFORMS_NARROWVALUES_H

#include "MemberProducts.h"

namespace gnnc {

/// Keeps narrow values of members in memory (`mpdfg.keep`) where products in tiles need it.
class NarrowValues {
public:
  NarrowValues(mlir::func::FuncOp function, const MemberProducts &members) : function(function), members(members) {}

  /// Keeps what softmaxes take that products are in, and what is made of softmaxes that wider rows are made of.
  void keepAroundSoftmaxes();
  /// Takes back what was kept for products that are no tiles after all.
  void forget(llvm::function_ref<bool(mlir::Operation *)> isTile);

private:
  void keep(mlir::Value value);
  bool isNarrow(mlir::Value value) const;

  mlir::func::FuncOp function;
  const MemberProducts &members;
  llvm::SmallVector<mlir::Value> kept;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_NARROWVALUES_H
