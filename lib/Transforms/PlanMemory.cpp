//===- PlanMemory.cpp - Slots of intermediate tensors ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot for each kernel result that is not returned, live from the kernel that makes it to the last one that reads it
// (also through a view). Which slots share memory is decided by the runtime, which knows the extents; but a sweep over
// rows that is the last to read a row of the same length writes its own there, so both have one slot.
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"
#include "Remarks.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_PLANMEMORY
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;

#define DEBUG_TYPE "plan-memory"

namespace {

struct PlanMemory : public gnnc::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      plan(function);
  }

  void plan(func::FuncOp function) {
    // What a kernel of a joined launch makes is written from its first kernel on, and what it reads is up to its last.
    DenseMap<Operation *, int64_t> firstSteps, lastSteps;
    int64_t step = 0;
    Operation *before = nullptr;
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op))
        continue;
      firstSteps[&op] = before && share(before, &op) ? firstSteps[before] : step;
      before = &op;
      ++step;
    }
    for (Operation &op : llvm::reverse(function.getBody().front())) {
      if (!mpk::isKernel(&op))
        continue;
      --step;
      lastSteps[&op] = before != &op && share(before, &op) ? lastSteps[before] : step;
      before = &op;
    }

    OpBuilder b(function.getContext());
    SmallVector<Attribute> spaces;
    SmallVector<int64_t> bytes, first, last;
    DenseMap<Value, int64_t> slotOf;
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op))
        continue;
      SmallVector<int64_t> slots;
      for (OpResult result : op.getResults()) {
        bool returned = false;
        int64_t end = lastSteps[&op];
        visitUses(result, lastSteps, end, returned);
        if (returned) {
          slots.push_back(-1);
          continue;
        }
        int64_t size = mpdfg::getFeatureElements(result.getType()) *
                       cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8;
        int64_t slot = findSlotToReuse(result, slots, slotOf, last, lastSteps[&op]);
        if (slot >= 0) {
          last[slot] = end;
          ++numInPlace;
          remarkPassed(&op, DEBUG_TYPE, "in-place", [] { return "rows are written over those they are made of"; });
        } else {
          FlatSymbolRefAttr space = mpdfg::getResidency(result.getType());
          slot = spaces.size();
          spaces.push_back(space ? Attribute(space) : Attribute(b.getUnitAttr()));
          bytes.push_back(size);
          first.push_back(firstSteps[&op]);
          last.push_back(end);
        }
        slots.push_back(slot);
        slotOf[result] = slot;
      }
      op.setAttr(kSlotsAttr, b.getDenseI64ArrayAttr(slots));
    }
    b.setInsertionPointToStart(&function.getBody().front());
    mpk::ArenaOp::create(b, function.getLoc(), b.getArrayAttr(spaces), bytes, first, last);
  }

  /// Whether two kernels are parts of one launch.
  static bool share(Operation *a, Operation *b) {
    Attribute launch = a->getAttr(kLaunchAttr);
    return launch && launch == b->getAttr(kLaunchAttr);
  }

  /// The slot of an operand whose rows `result` can be written over, or -1: one that nobody reads any more.
  static int64_t findSlotToReuse(OpResult result, ArrayRef<int64_t> taken, const DenseMap<Value, int64_t> &slotOf,
                                 ArrayRef<int64_t> last, int64_t step) {
    auto sweep = dyn_cast<mpk::SweepOp>(result.getOwner());
    if (!sweep || sweep.getAlong()) // Owners with many members may be in several hands.
      return -1;
    unsigned number = result.getResultNumber();
    for (auto [i, input] : llvm::enumerate(sweep.getInputs())) {
      auto found = slotOf.find(input);
      if (found == slotOf.end() || last[found->second] != step || llvm::is_contained(taken, found->second) ||
          input.getType() != result.getType() || !readsOwnRowOnly(sweep, i, number))
        continue;
      // Nor is it read in another way here, or by another part of the launch.
      auto reads = [&](OpOperand &other) {
        auto also = slotOf.find(mpdfg::getViewed(other.get()));
        return also != slotOf.end() && also->second == found->second;
      };
      bool alone =
          llvm::none_of(sweep->getOpOperands(),
                        [&, i = i](OpOperand &other) { return other.getOperandNumber() != i && reads(other); }) &&
          llvm::none_of(*sweep->getBlock(), [&](Operation &other) {
            return &other != sweep && share(&other, sweep) && llvm::any_of(other.getOpOperands(), reads);
          });
      // Rows are written in the order of their numbers.
      bool inOrder = llvm::none_of(sweep.getBody().front(), [](Operation &op) { return isa<mpdfg::TransposeOp>(op); });
      if (alone && inOrder)
        return found->second;
    }
    return -1;
  }

  static void visitUses(Value value, const DenseMap<Operation *, int64_t> &steps, int64_t &end, bool &returned) {
    for (Operation *user : value.getUsers()) {
      if (isa<func::ReturnOp>(user))
        returned = true;
      else if (auto it = steps.find(user); it != steps.end())
        end = std::max(end, it->second);
      else
        for (Value view : user->getResults())
          visitUses(view, steps, end, returned);
    }
  }
};

} // namespace
