//===- HalvesOfMembers.h - Members that lead to own rows, and others -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a member's map leads to the halo is a filter: the map to own elements is undefined there, as one that is
// undefined everywhere is. So two lists of members are made when a graph is prepared.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_DISTRIBUTION_HALVESOFMEMBERS_H
#define GNNC_LIB_TRANSFORMS_DISTRIBUTION_HALVESOFMEMBERS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include <array>

namespace gnnc {

/// Own elements, or those of the halo.
enum Half : size_t { Own = 0, Halo = 1 };

/// Members whose remote map leads to one half of a union of own elements and a halo.
struct HalfOfMembers {
  mlir::FlatSymbolRefAttr members;   ///< a space
  mlir::FlatSymbolRefAttr inclusion; ///< from these to all members
  mlir::FlatSymbolRefAttr target;    ///< from these to where the remote map leads
};

/// Declares filters of members, and maps that go with them, once for each map.
class HalvesOfMembers {
public:
  explicit HalvesOfMembers(mlir::ModuleOp module) : module(module), symbols(module) {}

  mpdfg::MapOp map(mlir::FlatSymbolRefAttr name) { return symbols.lookup<mpdfg::MapOp>(name.getAttr()); }
  mpdfg::SpaceOp space(mlir::FlatSymbolRefAttr name) { return symbols.lookup<mpdfg::SpaceOp>(name.getAttr()); }
  /// The space that is one half of a union.
  mlir::FlatSymbolRefAttr halfOf(mlir::FlatSymbolRefAttr whole, Half half) {
    return mlir::cast<mlir::FlatSymbolRefAttr>(space(whole).getPartsAttr()[half]);
  }

  const std::array<HalfOfMembers, 2> &of(mlir::FlatSymbolRefAttr remote);
  mlir::FlatSymbolRefAttr composed(mlir::FlatSymbolRefAttr first, mlir::FlatSymbolRefAttr second);
  /// From a half into the union.
  mlir::FlatSymbolRefAttr injectionOf(mlir::FlatSymbolRefAttr whole, Half half);

private:
  mlir::FlatSymbolRefAttr declare(const llvm::Twine &name, mpdfg::MapKind kind, mlir::FlatSymbolRefAttr from,
                                  mlir::FlatSymbolRefAttr to, bool partial, std::optional<int64_t> part,
                                  mlir::ArrayAttr parts);
  mlir::FlatSymbolRefAttr partOf(mlir::FlatSymbolRefAttr whole, Half half);
  mlir::FlatSymbolRefAttr nowhere(mlir::FlatSymbolRefAttr whole);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, std::array<HalfOfMembers, 2>> known;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_DISTRIBUTION_HALVESOFMEMBERS_H
