//===- BodyAxes.h - The feature axes of a sweep, cut to fit ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU the lanes of a group share the features of one row. Which lane holds what is one decision for a whole body:
// every feature axis of every value is a sequence of *atoms*, and what an operation pairs has the same atoms. A value
// of 8 x 16 and its reshape to 128 have the same two atoms, a score of 8 x 1 has the first alone. Each atom is then cut
// into tiles, registers, lanes and vectors:
//
//   index = ((tile * registers + register) * lanes + lane) * vector + v
//
// so elementwise operations are register by register, an axis that an operand lacks is repeated for nothing, changes of
// shape cost nothing, and a fold adds registers and then the lanes of its atoms. A short axis of which parts are taken
// or joined is whole in each lane, so that the registers of a part are some of the whole's.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_BODYAXES_H
#define GNNC_LIB_TARGET_CUDA_BODYAXES_H

#include "gnnc/Analysis/SweepPlan.h"
#include "llvm/ADT/BitVector.h"

namespace gnnc::cuda {

struct Atom {
  int64_t extent = 1;
  /// Every operation works on each index by itself, so that different groups may take different indices.
  bool isParallel = true;
  /// Each lane has all indices: a value is cut or joined along it, which then is a matter of registers.
  bool isWhole = false;
  // The cut.
  int64_t tiles = 1, registers = 1, lanes = 1, vector = 1;
  int64_t firstLane = 1; ///< lane number is (thread / firstLane) % lanes; atoms have the same lanes or none in common

  int64_t held() const { return registers * vector; } ///< indices in one lane
  /// Some lanes or registers stand for no index.
  bool isPadded() const { return tiles * registers * lanes * vector != extent; }
};

/// The atoms of an axis, outermost first; none for an axis of size 1.
using AtomList = llvm::SmallVector<int, 2>;
/// One list for each feature axis of a value.
using AxisList = llvm::SmallVector<AtomList, 4>;

/// How many numbers of a slice's or a join's axis always stay together: what divides all its parts and their places.
int64_t commonPart(mlir::Operation *sliceOrConcat);

class BodyAxes {
public:
  /// `ties`: axes of equal size that no operation sees together share lanes even where one of them could be cut into
  /// tiles and the other could not. `alone`: of an operation whose operands do not pair, one changes lanes, along the
  /// axes in which it has to, where that is enough; else all do, along all axes, which then have no lanes in common
  /// with others.
  BodyAxes(mpk::SweepOp sweep, bool ties, bool alone);

  unsigned size() const { return atoms.size(); }
  Atom &operator[](int atom) { return atoms[atom]; }
  const Atom &operator[](int atom) const { return atoms[atom]; }

  const AxisList &of(mlir::Value value) const { return axes.find(value)->second; }
  /// The axes an operation sees its operand with: other than the operand's own if it is staged.
  const AxisList &of(mlir::OpOperand &operand) const;
  /// The operand has to change lanes on its way, through shared memory.
  bool isStaged(mlir::OpOperand &operand) const { return staged.contains(&operand); }
  bool hasStaged() const { return !staged.empty(); }
  /// The result is put together in shared memory: a join or a part of a long axis, a change of shape that splits
  /// otherwise.
  bool isRearrangement(mlir::Operation *op) const { return rearranged.contains(op); }

  /// Whether some operation or operand has both atoms. Where none has, the same lanes may hold indices of both.
  bool meet(int a, int b) const { return meets[a].test(b); }

  /// All atoms of a value, ascending.
  static llvm::SmallVector<int> atomsOf(const AxisList &axes);

private:
  void shareLanes(mpk::SweepOp sweep, bool ties);

  llvm::SmallVector<Atom> atoms;
  llvm::SmallVector<llvm::BitVector> meets; ///< by atom
  llvm::DenseMap<mlir::Value, AxisList> axes;
  llvm::DenseMap<mlir::OpOperand *, AxisList> staged;
  llvm::DenseSet<mlir::Operation *> rearranged;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_BODYAXES_H
