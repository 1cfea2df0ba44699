//===- SplitMovements.cpp - Joined rows that are taken apart again --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages of several kinds are often concatenated, summed once, and sliced: an equivariant network does so with the
// paths of its tensor product. Movements, reductions and functions of one operand treat each feature by itself, so they
// commute with the slices, which then find the parts. Each part moves alone, and is summed where it is computed.
//
// Only where slices are all that reads the joined row, and each takes one part. Where nothing is between the join and
// its slices, as where a recurrent cell takes the frames of a stack one by one, these are the parts: all of them would
// seem to need all parts, and fusion would put what has nothing in common into one sweep.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITMOVEMENTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-movements"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// Numbers that a part has at least which moves alone. Narrower parts are better summed and gathered beside their
/// neighbours: halves of 24 numbers took a tenth to a third longer on a CPU.
constexpr int64_t kLeastAlone = 64;

/// Whether an operation treats each feature of its first operand by itself, and has no other.
bool treatsFeaturesAlone(Operation *op) { return isa<ReduceOp, BroadcastOp, NormOp, UnaryOp, DetachOp>(op); }

struct SplitMovements : public gnnc::impl::SplitMovementsBase<SplitMovements> {
  void runOnOperation() override {
    SmallVector<ConcatOp> joins;
    getOperation().walk([&](ConcatOp op) { joins.push_back(op); });
    for (ConcatOp join : joins) {
      follow(join, join.getResult());
      if (join->use_empty())
        join->erase();
    }
  }

private:
  /// The operations from a join to what is sliced.
  SmallVector<Operation *> path;

  /// From a join through operations that treat features alone, to values that are sliced.
  void follow(ConcatOp join, Value value) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      if (!treatsFeaturesAlone(user))
        continue;
      path.push_back(user);
      follow(join, user->getResult(0));
      if (user->use_empty())
        user->erase();
      path.pop_back();
    }
    split(join, value);
  }

  /// The number of the part that a slice takes, if it takes one.
  static std::optional<unsigned> partOf(ConcatOp join, SliceOp slice) {
    int64_t axis = join.getAxis(), begin = 0;
    if (int64_t(slice.getAxis()) != axis)
      return std::nullopt;
    for (auto [number, part] : llvm::enumerate(join.getInputs())) {
      int64_t size = getFeatureShape(part.getType())[axis];
      if (begin == int64_t(slice.getBegin()) && size == getFeatureShape(slice.getType())[axis])
        return number;
      begin += size;
    }
    return std::nullopt;
  }

  void split(ConcatOp join, Value value) {
    if (value.use_empty() || !llvm::all_of(value.getUsers(), [&](Operation *user) {
          auto slice = dyn_cast<SliceOp>(user);
          return slice && partOf(join, slice);
        }))
      return;
    Attribute rows = getResidency(join.getType());
    Operation *last = path.empty() ? join : path.back();
    for (Value part : join.getInputs()) {
      std::string reason;
      if (getResidency(part.getType()) != rows)
        reason = "a part is shared";
      else if (!path.empty() && getFeatureElements(part.getType()) < kLeastAlone)
        reason = "parts of " + std::to_string(getFeatureElements(part.getType())) + " numbers would move alone";
      if (!reason.empty())
        return remarkMissed(
            last, DEBUG_TYPE, "split",
            [&] { return path.empty() ? "joined rows are read together" : "joined rows move together"; },
            [&] { return reason; });
    }
    // One chain of operations for each part that is read, where the joined one is.
    remarkPassed(last, DEBUG_TYPE, "split", [&] {
      return path.empty() ? "parts of joined rows are read apart" : "parts of joined rows move apart";
    });
    ++numSplit;
    SmallVector<SmallVector<SliceOp>> slices(join.getInputs().size());
    for (Operation *user : value.getUsers())
      slices[*partOf(join, cast<SliceOp>(user))].push_back(cast<SliceOp>(user));
    for (auto [part, readers] : llvm::zip(join.getInputs(), slices)) {
      if (readers.empty())
        continue;
      Value alone = moveAlone(part);
      for (SliceOp slice : readers) {
        slice.replaceAllUsesWith(alone);
        slice.erase();
      }
    }
  }

  Value moveAlone(Value part) {
    OpBuilder b(part.getContext());
    for (Operation *op : path) {
      b.setInsertionPoint(op);
      Operation *alone = b.clone(*op);
      alone->setOperand(0, part);
      alone->getResult(0).setType(
          Rules::withFeatures(op->getResult(0).getType(), getFeatureShape(alone->getOperand(0).getType())));
      part = alone->getResult(0);
    }
    return part;
  }
};

} // namespace
