//===- Lifting.h - The same value before a movement -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value on a map's domain that is the same for all elements with one image, because it is made of nothing but shared
// values and values that moved along that map, can be computed where the map leads instead. R1, R2, R3 and R6 all rest
// on this question.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_REWRITES_LIFTING_H
#define GNNC_LIB_TRANSFORMS_REWRITES_LIFTING_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <deque>

namespace gnnc {

/// `like`'s features on the space that `map` leads to; shared for `@all`.
mlir::RankedTensorType typeWhere(mlir::Operation *from, mlir::FlatSymbolRefAttr map, mlir::Type like);

/// The same operation on other operands; `type` is its result's.
mlir::Value cloneOn(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands, mlir::Type type);

/// The projection of a distinct space that gives the value of one of its maps; `declare` it if there is none, else only
/// name it.
mlir::FlatSymbolRefAttr projectionOf(mpdfg::SpaceOp space, mlir::FlatSymbolRefAttr map, bool declare);

/// What is left of the map `whole` after `first`: null where they are the same map, nothing where `whole` is neither a
/// composition that begins with `first` nor a map that first's classes are distinguished by. A projection that is
/// missing for that is declared if asked for, else only named.
std::optional<mlir::FlatSymbolRefAttr> remainderOf(mlir::Operation *from, mlir::FlatSymbolRefAttr whole,
                                                   mlir::FlatSymbolRefAttr first, bool declare = false);

/// What a lifted value holds for elements of the map's target that no element leads to, and that nobody reads.
enum class Unread {
  Computed, ///< what comes out
  Finite    ///< finite numbers, and all that it is made of does, so that a gradient of 0 stays 0 (see isHarmless)
};

/// Finite where something may be differentiated that `op` is part of: its function has a gradient in it, or is
/// @forward and there will be a @gradient.
Unread unreadWhere(mlir::Operation *op, bool gradient);

/// `value`, on the target of `map`, with 1 where no element leads to; itself if it is known to be finite there.
mlir::Value guardUnread(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::FlatSymbolRefAttr map);

/// Whether an operation is linear in this operand, all others being the same.
bool isLinearInOne(mlir::Operation *op, unsigned operand);
/// An addition: elementwise and linear in all operands together, but in none alone. Null is none.
bool isAddition(mlir::Operation *op);

/// Values before their movement along one map. Elements whose map is undefined are left out of account, so users that
/// see those must ask whether the map is partial. Elements of the target without members are computed as well.
class Lifting {
public:
  /// `from` is where symbols are looked up.
  Lifting(mlir::Operation *from, mlir::FlatSymbolRefAttr map, Unread unread = Unread::Computed)
      : from(from), map(map), unread(unread) {}

  /// Shared values can; for `@all` only those.
  bool canLift(mlir::Value value);
  /// The value on the map's target, made at the builder's place. Shared values stay as they are.
  mlir::Value lift(mlir::OpBuilder &builder, mlir::Value value);
  mlir::FlatSymbolRefAttr getMap() const { return map; }
  /// The value's operation is about to be erased.
  void forget(mlir::Value value) { known.erase(value); }

private:
  mlir::Operation *from;
  mlir::FlatSymbolRefAttr map;
  Unread unread;
  llvm::DenseMap<mlir::Value, bool> known;
  llvm::DenseMap<mlir::Value, mlir::Value> lifted;
};

/// A total map along which all the values can be lifted at once, not all of them being shared; null if there is none.
/// Of several the one that leads furthest.
mlir::FlatSymbolRefAttr findLift(mlir::Operation *from, mlir::ValueRange values);

/// findLift for many values that are made of one another: each operation is looked at once. What a value is made of
/// must not change between the questions about it.
class LiftFinder {
public:
  mlir::FlatSymbolRefAttr find(mlir::Operation *from, mlir::ValueRange values);
  /// The operation is about to be erased.
  void forget(mlir::Operation *op);

private:
  /// The maps of the movements that a value is made of, and the first halves of those that are compositions.
  struct Maps {
    llvm::SmallVector<mlir::Attribute, 2> whole, first;
  };

  const Maps *mapsOf(mlir::ModuleOp module, mlir::Value value);
  const Maps *unite(const Maps *a, const Maps *b);

  std::deque<Maps> all;
  llvm::DenseMap<mlir::Value, const Maps *> mapsOfValue;
  llvm::DenseMap<mlir::Attribute, Lifting> liftings;
};

/// Whether every element of the map's target has one member at most: a choice among its elements. Nothing is shared
/// along such a map, its target may be far larger, such as all pairs of which few are edges, and often it is what keeps
/// numbers that are not finite away.
bool isChoice(mlir::Operation *from, mlir::FlatSymbolRefAttr map);

/// Whether a space is static and has few elements beside those of a graph: types, and not a table of users.
bool hasFewElements(mpdfg::SpaceOp space);

/// Whether elements look up rows of a large table along the map: of a static space that they have no other map to, as
/// edges would. How many there are is not known, but a batch of them may be far fewer than the table's rows, so what is
/// computed of rows is computed where they are looked up, as it is written.
bool isLookup(mlir::Operation *from, mlir::FlatSymbolRefAttr map);

/// Whether rows of the map's domain may have no image.
bool isPartial(mlir::Operation *from, mlir::FlatSymbolRefAttr map);

/// Whether a value is made of values by additions alone, each of which can be lifted along a map of its own together
/// with `others`, or is shared.
bool isSumOfLifted(LiftFinder &lifts, mlir::Operation *from, mlir::Value whole, llvm::ArrayRef<mlir::Value> others);

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_REWRITES_LIFTING_H
