//===- MoveTransposes.cpp - Layouts are changed where there are few rows --===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An einsum leaves its result in the order that its factors suggest, so that a sum of two may need one of them
// transposed:
//
//   t.kind + transpose(x)  ->  transpose(t'.kind + x),   t' = transpose⁻¹(t)
//
// A row of t is read by many elements, so t is transposed instead of x, at best by the contraction that makes it. The
// transpose of the sum disappears in the labels of the contractions that read it. Kernels then read the rows of x and
// t' in the order in which they are in memory.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_MOVETRANSPOSES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "move-transposes"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

SmallVector<int64_t> inverted(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [i, axis] : llvm::enumerate(permutation))
    inverse[axis] = i;
  return inverse;
}

/// Whether a value is shared, or has the rows of a small static space.
bool hasFewRows(Operation *from, Value value) {
  FlatSymbolRefAttr rows = getResidency(value.getType());
  if (!rows)
    return true;
  auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(from, rows);
  return space && hasFewElements(space);
}

struct MoveTransposes : public gnnc::impl::MoveTransposesBase<MoveTransposes> {
  void runOnOperation() override {
    SmallVector<BinaryOp> pending;
    getOperation().walk([&](BinaryOp op) { pending.push_back(op); });
    for (BinaryOp op : pending)
      for (Value operand : op->getOperands())
        if (auto transpose = operand.getDefiningOp<TransposeOp>();
            transpose && !hasFewRows(op, operand) && move(op, transpose.getPermutation()))
          break;
  }

private:
  /// What reads a row in any order of its axes.
  static bool takesAnyOrder(Operation *user) { return isa<ContractOp, TransposeOp>(user); }

  /// What an operand broadcasts, if it has few rows.
  static BroadcastOp fewBroadcast(Operation *op, Value operand) {
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    return broadcast && hasFewRows(op, broadcast.getInput()) ? broadcast : BroadcastOp();
  }

  bool move(BinaryOp op, ArrayRef<int64_t> permutation) {
    if (op->use_empty() || !llvm::all_of(op->getUsers(), takesAnyOrder))
      return false;
    auto isTransposed = [&](Value operand) {
      auto transpose = operand.getDefiningOp<TransposeOp>();
      return transpose && transpose.getPermutation() == permutation;
    };
    for (Value operand : op->getOperands())
      if (getFeatureShape(operand.getType()).size() != permutation.size() ||
          !(isTransposed(operand) || getFeatureElements(operand.getType()) == 1 || hasFewRows(op, operand) ||
            fewBroadcast(op, operand)))
        return false;
    SmallVector<int64_t> order(permutation), inverse = inverted(permutation); // The operand may be gone below.
    OpBuilder b(op);
    auto moved = [&](Value operand) -> Value {
      if (isTransposed(operand))
        return operand.getDefiningOp<TransposeOp>().getInput();
      if (getFeatureElements(operand.getType()) == 1)
        return operand;
      BroadcastOp broadcast = fewBroadcast(op, operand);
      if (!broadcast)
        return transposed(b, operand, inverse);
      OpBuilder before(broadcast);
      Value few = transposed(before, broadcast.getInput(), inverse);
      Operation *other = before.clone(*broadcast);
      other->setOperand(0, few);
      other->getResult(0).setType(Rules::withFeatures(operand.getType(), getFeatureShape(few.getType())));
      return other->getResult(0);
    };
    Value lhs = moved(op.getLhs()), rhs = moved(op.getRhs());
    SmallVector<int64_t> features;
    for (int64_t axis : inverse)
      features.push_back(getFeatureShape(op.getType())[axis]);
    Value other = BinaryOp::create(b, op.getLoc(), Rules::withFeatures(op.getType(), features), op.getKind(), lhs, rhs);
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
      readInOrder(use, other, order);
    remarkPassed(op, DEBUG_TYPE, "move", [] { return "a transpose of many rows becomes one of few"; });
    ++numMoved;
    op->erase();
    return true;
  }

  /// A use of a value reads `other` instead, whose axis order[i] is the value's axis i.
  static void readInOrder(OpOperand &use, Value other, ArrayRef<int64_t> order) {
    Operation *user = use.getOwner();
    if (auto contract = dyn_cast<ContractOp>(user)) {
      bool isLeft = use.getOperandNumber() == 0;
      ArrayRef<int64_t> before = isLeft ? contract.getLhsLabels() : contract.getRhsLabels();
      SmallVector<int64_t> labels(before.size());
      for (auto [i, axis] : llvm::enumerate(order))
        labels[axis] = before[i];
      if (isLeft)
        contract.setLhsLabels(labels);
      else
        contract.setRhsLabels(labels);
      return use.set(other);
    }
    auto transpose = cast<TransposeOp>(user);
    SmallVector<int64_t> permutation;
    for (int64_t axis : transpose.getPermutation())
      permutation.push_back(order[axis]);
    transpose.setPermutation(permutation);
    use.set(other);
  }

  /// transpose(value): by the contraction that makes it where nothing else reads that.
  static Value transposed(OpBuilder &b, Value value, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> features;
    for (int64_t axis : permutation)
      features.push_back(getFeatureShape(value.getType())[axis]);
    RankedTensorType type = Rules::withFeatures(value.getType(), features);
    if (auto contract = value.getDefiningOp<ContractOp>(); contract && contract->hasOneUse()) {
      SmallVector<int64_t> labels;
      for (int64_t axis : permutation)
        labels.push_back(contract.getOutLabels()[axis]);
      OpBuilder before(contract);
      return ContractOp::create(before, contract.getLoc(), type, contract.getLhs(), contract.getLhsLabels(),
                                contract.getRhs(), contract.getRhsLabels(), labels);
    }
    return TransposeOp::create(b, value.getLoc(), type, value, permutation);
  }
};

} // namespace
