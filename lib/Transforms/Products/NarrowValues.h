//===- NarrowValues.h - Which narrow values of members are kept -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_PRODUCTS_NARROWVALUES_H
#define GNNC_LIB_TRANSFORMS_PRODUCTS_NARROWVALUES_H

#include "Products/MemberProducts.h"

namespace gnnc {

/// Keeps narrow values of members in memory (`mpdfg.keep`) where products in tiles need it.
class NarrowValues {
public:
  NarrowValues(mlir::func::FuncOp function, const MemberProducts &members) : function(function), members(members) {}

  /// Keeps what softmaxes take that products are in, and what is made of softmaxes that wider rows are made of.
  void keepAroundSoftmaxes();
  /// Keeps what several walks over members, one after the other, would make again of products that are wider.
  /// `operationsOf`: what an operation takes for a member.
  void keepForWalks(llvm::function_ref<int64_t(mlir::Operation *)> operationsOf);
  /// Takes back what was kept for products that are no tiles after all.
  void forget(llvm::function_ref<bool(mlir::Operation *)> isTile);

private:
  void keep(mlir::Value value, std::string reason);
  bool isNarrow(mlir::Value value) const;
  bool isMadeOfWider(mlir::Value value, int64_t times) const;
  int64_t walksFor(mlir::Value value) const;

  mlir::func::FuncOp function;
  const MemberProducts &members;
  llvm::SmallVector<std::pair<mlir::Value, std::string>> kept; ///< with the reason
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_PRODUCTS_NARROWVALUES_H
