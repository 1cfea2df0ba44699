//===- RemoteMaps.h - Maps that lead to elements of other ranks -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each rank has a part of a graph, the elements of root spaces, and of what is derived from them, are divided;
// those of static spaces are everywhere. A root space to which no root map leads goes along one of its maps: its
// elements are where that leads. Every other map between root spaces is *remote*: it may lead to elements of other
// ranks. For the space S where it leads there are then
//
//   space S.halo     the elements of other ranks that maps of this one lead to
//   space S.send     the elements that other ranks have in their halo, by rank
//   map   S.sent     from S.send to S
//   space S.all      the union of S and S.halo; with maps S.all.own and S.all.halo to these, and S.all.in from S
//
// and the map leads to S.all instead. Maps that are derived from it follow, but for those that a rank cannot have: what
// leads through elements of other ranks, and the last of elements that several ranks have. Movements along these are
// made of others. Where a filter or tuples need a map from elements of other ranks to a static space, m of S, that of
// the halo is given (m.halo, a root map).
//
// A static space T that a union joins with divided ones is divided there, too: its share T.own has all elements on the
// first rank, and none on others.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_DISTRIBUTION_REMOTEMAPS_H
#define GNNC_LIB_TRANSFORMS_DISTRIBUTION_REMOTEMAPS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace gnnc {

class RemoteMaps {
public:
  explicit RemoteMaps(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Declares spaces and maps, and changes where remote maps lead. `along`: the maps that root spaces go along, where
  /// it is not the one that is chosen: the one along which most numbers are reduced; of equal ones one named dst, else
  /// the first. Diagnostics say what cannot be divided.
  mlir::LogicalResult declare(llvm::ArrayRef<std::string> along);

  /// Whether each rank has elements of its own of the space; null is shared.
  bool isDivided(mlir::FlatSymbolRefAttr space) const;
  /// Whether an element may be on several ranks, each of which has a copy for its own members: a tuple of a distinct
  /// space, none of whose maps leads to elements of the rank's own. Values can be moved there and on; they cannot be
  /// given, reduced or counted.
  bool isCopied(mlir::FlatSymbolRefAttr space) const;
  /// Whether a map leads to a union of own elements and a halo.
  bool isRemote(mlir::FlatSymbolRefAttr map) const { return remote.contains(map.getAttr()); }
  /// Whether a map is composed of two, the first of which leads to elements of other ranks, or one of which no rank can
  /// have. Values move along the two, one after the other; `finish` takes the map away.
  bool isThroughHalo(mlir::FlatSymbolRefAttr map) const { return throughHalo.contains(map.getAttr()); }
  /// Whether it is another one that no rank can have: it leads to the last element that one has of those of several
  /// ranks, or it is made of maps from parts of a union one of which is such a one. Values move by what is made of
  /// other movements (DistributeAbsent.cpp); `finish` takes the map away.
  bool isAbsent(mlir::FlatSymbolRefAttr map) const { return absent.contains(map.getAttr()); }
  mlir::LogicalResult finish();

  /// Whether the numbers of a rank's own elements rise as their places in the whole graph do.
  bool isInOrder(mlir::FlatSymbolRefAttr space) const;

  /// What belongs to a space that has a halo.
  struct Halo {
    mlir::FlatSymbolRefAttr halo, send, sent, all, own, other, in;
  };
  const Halo &haloOf(mlir::FlatSymbolRefAttr space) const { return halos.find(space.getAttr())->second; }
  /// The same, by the union.
  mlir::FlatSymbolRefAttr ownOf(mlir::FlatSymbolRefAttr all) const { return owns.lookup(all.getAttr()); }

  /// From a filter or a share to its base, from a union to a branch, and from tuples to an element: declared if they
  /// are not.
  mlir::FlatSymbolRefAttr inclusionOf(mpdfg::SpaceOp filter);
  mlir::FlatSymbolRefAttr projectionOf(mpdfg::SpaceOp tuples, int64_t place);
  mlir::FlatSymbolRefAttr partOf(mpdfg::SpaceOp joined, int64_t branch);

  /// The map that each root space goes along, by space, as strings.
  mlir::DictionaryAttr alongs();

  mpdfg::MapOp map(mlir::FlatSymbolRefAttr name) { return symbols.lookup<mpdfg::MapOp>(name.getAttr()); }
  mpdfg::SpaceOp space(mlir::FlatSymbolRefAttr name) { return symbols.lookup<mpdfg::SpaceOp>(name.getAttr()); }

private:
  mlir::LogicalResult chooseAlong(llvm::ArrayRef<std::string> along);
  llvm::DenseMap<mlir::Attribute, int64_t> numbersSummed();
  mlir::FailureOr<bool> visit(mlir::FlatSymbolRefAttr map);
  mlir::FailureOr<bool> classify(mpdfg::MapOp map);
  mlir::LogicalResult visitTuples(mlir::FlatSymbolRefAttr space);
  bool isMoved(mlir::FlatSymbolRefAttr map) const { return isThroughHalo(map) || isAbsent(map); }
  mlir::LogicalResult checkSpace(mpdfg::SpaceOp space);
  mlir::LogicalResult declareHalo(mpdfg::SpaceOp space);
  mlir::FlatSymbolRefAttr declareMap(mlir::OpBuilder &b, llvm::StringRef name, mpdfg::MapKind kind,
                                     mlir::FlatSymbolRefAttr from, mlir::FlatSymbolRefAttr to, bool partial,
                                     std::optional<int64_t> part, mlir::ArrayAttr parts);
  mlir::FlatSymbolRefAttr findOrDeclare(mpdfg::SpaceOp from, mpdfg::MapKind kind, mlir::FlatSymbolRefAttr to,
                                        std::optional<int64_t> part);
  mlir::FlatSymbolRefAttr lifted(mpdfg::MapOp map);
  void leadToUnion(mpdfg::MapOp map);

  // RemoteSpaces.cpp
  mlir::LogicalResult shareStaticParts();
  mlir::FailureOr<mlir::FlatSymbolRefAttr> declareShare(mpdfg::SpaceOp of);
  mlir::FlatSymbolRefAttr composed(mlir::FlatSymbolRefAttr first, mlir::FlatSymbolRefAttr second);
  mlir::LogicalResult giveHalo(mlir::FlatSymbolRefAttr map);
  mlir::FailureOr<mlir::FlatSymbolRefAttr> withHalo(mlir::FlatSymbolRefAttr map);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::StringAttr, mlir::StringAttr> home; ///< of root spaces: the map that they go along
  llvm::DenseMap<mlir::StringAttr, bool> known;
  llvm::DenseSet<mlir::StringAttr> remote, throughHalo, absent;
  llvm::DenseMap<mlir::StringAttr, Halo> halos;
  llvm::DenseMap<mlir::StringAttr, mlir::FlatSymbolRefAttr> owns;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_DISTRIBUTION_REMOTEMAPS_H
