//===- SplitJoinedRows.cpp - Bodies compute the parts of joined rows ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the body of a sweep, joins sink and slices rise: what is computed number by number of a joined row is computed of
// its parts, and a slice of what is computed is computed of slices. In the end rows are joined where they are written
// and sliced where they are read, which targets can do by addresses alone, and nothing in between is wider than its
// parts. Every number is computed as before, so results keep their bits.
//
// A row is left joined where another operand cannot be cut like it (its numbers are not computed one by one), and a
// value is left whole where something else reads it whole: its numbers would be computed twice.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITJOINEDROWS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "split-joined-rows"

namespace {

/// An operation that makes each number of its result of the same number of each operand.
bool isByNumber(Operation *op) {
  if (auto accumulate = dyn_cast_or_null<mpk::AccumulateOp>(op))
    return !accumulate.getShared();        // Shared ones may only be yielded.
  if (isa_and_nonnull<mpk::SoftmaxOp>(op)) // over members, each number by itself
    return true;
  auto linear = dyn_cast_or_null<LinearOpInterface>(op);
  return linear && linear.isElementwise() && op->getNumResults() == 1;
}

int64_t sizeAlong(Value value, int64_t axis) {
  ArrayRef<int64_t> shape = getFeatureShape(value.getType());
  return axis < int64_t(shape.size()) ? shape[axis] : 1;
}

class BodySplitter {
public:
  /// The body has no more than `mostStatements` statements in the end, or no more than it has now.
  BodySplitter(mpk::SweepOp sweep, int64_t mostStatements)
      : block(sweep.getBody().front()), builder(sweep.getContext()), mostStatements(mostStatements) {
    for (Operation &op : block)
      statements += statementsOf(&op);
  }

  unsigned run() {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto slice = dyn_cast<SliceOp>(op))
        rise(slice);
      else if (auto concat = dyn_cast<ConcatOp>(op))
        flatten(concat);
      else if (isByNumber(&op))
        sink(&op);
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && op.getNumResults() > 0 && isPure(&op))
        op.erase();
    return numSplit;
  }

private:
  /// Whether slices of a value along an axis cost nothing: they end at operands, or in what is sliced alone.
  bool isSliceable(Value value, int64_t axis) {
    if (sizeAlong(value, axis) == 1 || isa<BlockArgument>(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (auto concat = dyn_cast<ConcatOp>(op))
      return int64_t(concat.getAxis()) == axis ||
             llvm::all_of(concat.getInputs(), [&](Value input) { return isSliceable(input, axis); });
    if (auto slice = dyn_cast<SliceOp>(op))
      return isSliceable(slice.getInput(), axis);
    return isByNumber(op) && value.hasOneUse() &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isSliceable(operand, axis); });
  }

  static bool isOnlySliced(Value value) {
    return llvm::all_of(value.getUsers(), [](Operation *user) { return isa<SliceOp>(user); });
  }

  /// Numbers [begin, begin + size) of an axis; a value that has one there is repeated.
  Value slice(Value value, int64_t axis, int64_t begin, int64_t size) {
    int64_t whole = sizeAlong(value, axis);
    if (whole == 1 || (begin == 0 && size == whole))
      return value;
    if (auto concat = value.getDefiningOp<ConcatOp>(); concat && int64_t(concat.getAxis()) == axis) {
      SmallVector<Value> parts;
      int64_t at = 0;
      for (Value input : concat.getInputs()) {
        int64_t own = sizeAlong(input, axis), from = std::max(begin, at), to = std::min(begin + size, at + own);
        // A part of one number is not one that is repeated.
        if (from < to)
          parts.push_back(own == to - from ? input : cut(input, axis, from - at, to - from));
        at += own;
      }
      return parts.size() == 1 ? parts.front() : join(parts, axis, value.getLoc());
    }
    return cut(value, axis, begin, size);
  }

  Value cut(Value value, int64_t axis, int64_t begin, int64_t size) {
    if (auto inner = value.getDefiningOp<SliceOp>(); inner && int64_t(inner.getAxis()) == axis)
      return slice(inner.getInput(), axis, inner.getBegin() + begin, size);
    Operation *op = value.getDefiningOp();
    if (isByNumber(op) && isSliceable(value, axis))
      return rebuild(op, axis, begin, size);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = size;
    return SliceOp::create(builder, value.getLoc(), RankedTensorType::get(shape, type.getElementType()), value, axis,
                           begin);
  }

  Value join(ArrayRef<Value> parts, int64_t axis, Location loc) {
    auto type = cast<RankedTensorType>(parts.front().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 0;
    for (Value part : parts)
      shape[axis] += sizeAlong(part, axis);
    return ConcatOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), parts, axis);
  }

  /// The same operation on a part of each operand.
  Value rebuild(Operation *op, int64_t axis, int64_t begin, int64_t size) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(slice(operand, axis, begin, size));
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = size;
    OperationState state(op->getLoc(), op->getName(), operands, RankedTensorType::get(shape, type.getElementType()),
                         op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    return builder.create(state)->getResult(0);
  }

  void replace(Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    op->erase();
    ++numSplit;
  }

  void rise(SliceOp op) {
    Value input = op.getInput();
    int64_t axis = op.getAxis(), size = sizeAlong(op.getResult(), axis);
    builder.setInsertionPoint(op);
    auto concat = input.getDefiningOp<ConcatOp>();
    if ((concat && int64_t(concat.getAxis()) == axis) || input.getDefiningOp<SliceOp>())
      return replace(op, slice(input, axis, op.getBegin(), size));
    Operation *maker = input.getDefiningOp();
    if (!isByNumber(maker) || !isOnlySliced(input) ||
        !llvm::all_of(maker->getOperands(), [&](Value operand) { return isSliceable(operand, axis); }))
      return;
    replace(op, rebuild(maker, axis, op.getBegin(), size));
  }

  void flatten(ConcatOp op) {
    SmallVector<Value> parts;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner.getAxis() == op.getAxis())
        llvm::append_range(parts, inner.getInputs());
      else
        parts.push_back(input);
    }
    if (parts.size() == op.getInputs().size())
      return;
    if (int64_t(parts.size()) > kMostParts) {
      remarkMissed(
          op, DEBUG_TYPE, "split", [] { return "a row that is joined of joined rows keeps these"; },
          [&] {
            return "it would have " + std::to_string(parts.size()) + " parts, and at most " +
                   std::to_string(kMostParts) + " are joined at once";
          });
      return;
    }
    builder.setInsertionPoint(op);
    replace(op, join(parts, op.getAxis(), op.getLoc()));
  }

  void sink(Operation *op) {
    for (Value joined : op->getOperands()) {
      auto concat = joined.getDefiningOp<ConcatOp>();
      if (!concat || joined.getType() != op->getResult(0).getType())
        continue;
      int64_t axis = concat.getAxis();
      if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isSliceable(operand, axis); })) {
        remarkMissed(
            op, DEBUG_TYPE, "split", [] { return "a joined row is computed with as a whole"; },
            [] { return "another operand cannot be cut where it is joined"; });
        continue;
      }
      int64_t more = statementsOf(op) * (int64_t(concat.getInputs().size()) - 1);
      if (statements + more > mostStatements) {
        remarkMissed(
            op, DEBUG_TYPE, "split", [] { return "a joined row is computed with as a whole"; },
            [] { return "its sweep would have more statements than a kernel may have"; });
        continue;
      }
      statements += more;
      builder.setInsertionPoint(op);
      SmallVector<Value> parts;
      int64_t begin = 0;
      for (Value input : concat.getInputs()) {
        int64_t size = sizeAlong(input, axis);
        parts.push_back(rebuild(op, axis, begin, size));
        begin += size;
      }
      return replace(op, join(parts, axis, op->getLoc()));
    }
  }

  Block &block;
  OpBuilder builder;
  int64_t mostStatements, statements = 0;
  unsigned numSplit = 0;
};

struct SplitJoinedRows : public gnnc::impl::SplitJoinedRowsBase<SplitJoinedRows> {
  using SplitJoinedRowsBase::SplitJoinedRowsBase;

  void runOnOperation() override {
    getOperation().walk([&](mpk::SweepOp sweep) {
      // Shared values are computed number by number where they are joined, and what is in tiles too.
      if (sweep.getOverAttr() &&
          llvm::none_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); }))
        numSplit += BodySplitter(sweep, statements).run();
    });
  }
};

} // namespace
