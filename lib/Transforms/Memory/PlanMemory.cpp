//===- PlanMemory.cpp - Slots of intermediate tensors ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot for each kernel result that is not returned, live from the kernel that makes it to the last one that reads it
// (also through a view). Which slots share memory is decided by the runtime, which knows the extents; but a sweep that
// is the last to read a row of the same length writes its own there, so both have one slot. If what it writes is
// returned, the slot is the caller's memory for that result, and none in the arena.
//
//===----------------------------------------------------------------------===//

#include "Memory/InPlace.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/Halves.h"
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

/// Memory of one value after the other.
struct Slot {
  FlatSymbolRefAttr space;
  int64_t bytes, first, last;
  int64_t output; ///< the function's result whose memory it is; -1: it is in the arena
};

/// The kernels of each joined launch.
using Launches = DenseMap<Attribute, SmallVector<Operation *>>;

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

    Launches launches;
    for (Operation &op : function.getBody().front())
      if (Attribute launch = op.getAttr(mpk::kLaunchAttr))
        launches[launch].push_back(&op);

    int64_t half = countSeedless(function).value_or(0);
    mpdfg::Choices choices(function);
    SmallVector<Slot> slots;
    DenseMap<Value, int64_t> slotOf;
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op))
        continue;
      if (auto await = dyn_cast<mpdfg::AwaitOp>(op)) { // What its transfer gives, whose uses are its own.
        if (auto found = slotOf.find(await.getInput()); found != slotOf.end())
          slotOf[await.getResult()] = found->second;
        continue;
      }
      SmallVector<int64_t> taken;
      for (OpResult result : op.getResults()) {
        bool returned = false;
        int64_t end = lastSteps[&op];
        visitUses(result, lastSteps, end, returned);
        if (mpdfg::isChoice(&op))
          end = std::max(end, lastToFollow(&op, choices, lastSteps));
        int64_t output = returned ? outputOf(function, result) : -1;
        if (returned && output < 0)
          continue;
        int64_t slot = findSlotToReuse(result, returned, taken, slotOf, slots, launches, lastSteps[&op]);
        // The caller gives each half of a program the results that it makes.
        if (slot >= 0 && returned && (slots[slot].first < half) != (firstSteps[&op] < half))
          slot = -1;
        if (slot >= 0) {
          ++numInPlace;
          remarkPassed(&op, DEBUG_TYPE, "in-place", [&] {
            return returned ? "rows of what it is made of lie where the result is written"
                            : "rows are written over those they are made of";
          });
          slots[slot].last = end;
          slots[slot].output = output;
        } else if (!returned) {
          int64_t size = mpdfg::getFeatureElements(result.getType()) *
                         cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8;
          slot = slots.size();
          slots.push_back({mpdfg::getResidency(result.getType()), size, firstSteps[&op], end, -1});
        }
        if (slot >= 0) {
          taken.push_back(slot);
          slotOf[result] = slot;
        }
      }
    }
    write(function, slots, slotOf);
  }

  /// The operation that lists the slots of the arena, and on each kernel where its results are.
  static void write(func::FuncOp function, ArrayRef<Slot> slots, const DenseMap<Value, int64_t> &slotOf) {
    OpBuilder b(function.getContext());
    SmallVector<Attribute> spaces;
    SmallVector<int64_t> bytes, first, last;
    SmallVector<Attribute> places;
    for (const Slot &slot : slots) {
      if (slot.output >= 0) {
        places.push_back(mpk::PlaceAttr::get(b.getContext(), mpk::PlaceKind::Result, slot.output));
        continue;
      }
      places.push_back(mpk::PlaceAttr::get(b.getContext(), mpk::PlaceKind::Arena, spaces.size()));
      spaces.push_back(slot.space ? Attribute(slot.space) : Attribute(b.getUnitAttr()));
      bytes.push_back(slot.bytes);
      first.push_back(slot.first);
      last.push_back(slot.last);
    }
    Attribute nowhere = mpk::PlaceAttr::get(b.getContext(), mpk::PlaceKind::None);
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op) || mpdfg::isView(&op))
        continue;
      SmallVector<Attribute> own;
      for (Value result : op.getResults())
        own.push_back(slotOf.contains(result) ? places[slotOf.lookup(result)] : nowhere);
      op.setAttr(mpk::kPlacesAttr, b.getArrayAttr(own));
    }
    b.setInsertionPointToStart(&function.getBody().front());
    mpk::ArenaOp::create(b, function.getLoc(), b.getArrayAttr(spaces), bytes, first, last);
  }

  /// Which result of the function a value is, as it is, if it is one with rows, and memory of its own; else -1.
  static int64_t outputOf(func::FuncOp function, Value value) {
    int64_t found = -1;
    for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands()) {
      if (mpdfg::getViewed(returned.get()) != value)
        continue;
      if (found >= 0 || returned.get() != value || !mpdfg::getResidency(value.getType()) ||
          getUpdated(function, returned.getOperandNumber()))
        return -1;
      found = returned.getOperandNumber();
    }
    return found;
  }

  /// Whether two kernels are parts of one launch.
  static bool share(Operation *a, Operation *b) {
    Attribute launch = a->getAttr(mpk::kLaunchAttr);
    return launch && launch == b->getAttr(mpk::kLaunchAttr);
  }

  /// Whether a kernel has read all it needs of an operand's row before it writes the row of a result.
  static bool mayBeReplaced(Operation *op, unsigned operand, unsigned result) {
    if (auto product = dyn_cast<mpk::ProductOp>(op))
      return operand >= 2 && readsOwnNumbersOnly(product, operand - 2);
    auto sweep = dyn_cast<mpk::SweepOp>(op);
    if (!sweep)
      return false;
    if (sweep.getAlong())
      return readsOwnersRowOnly(sweep, operand, result);
    // Rows are written in the order of their numbers.
    return readsOwnRowOnly(sweep, operand, result);
  }

  /// The slot of an operand whose rows `result` can be written over, or -1: one that nobody reads any more. Of several
  /// the one that was made last, or, where it leaves the arena, first.
  static int64_t findSlotToReuse(OpResult result, bool returned, ArrayRef<int64_t> taken,
                                 const DenseMap<Value, int64_t> &slotOf, ArrayRef<Slot> slots, const Launches &launches,
                                 int64_t step) {
    Operation *op = result.getOwner();
    int64_t best = -1;
    for (OpOperand &operand : op->getOpOperands()) {
      auto found = slotOf.find(operand.get());
      if (found == slotOf.end() || operand.get().getType() != result.getType() ||
          llvm::is_contained(taken, found->second))
        continue;
      const Slot &slot = slots[found->second];
      if (slot.last != step || slot.output >= 0 ||
          !mayBeReplaced(op, operand.getOperandNumber(), result.getResultNumber()))
        continue;
      // Nor is it read in another way here, or by another part of the launch.
      auto reads = [&](OpOperand &other) {
        auto also = slotOf.find(mpdfg::getViewed(other.get()));
        return &other != &operand && also != slotOf.end() && also->second == found->second;
      };
      auto launch = launches.find(op->getAttr(mpk::kLaunchAttr));
      if (llvm::any_of(launch == launches.end() ? ArrayRef(op) : ArrayRef(launch->second),
                       [&](Operation *part) { return llvm::any_of(part->getOpOperands(), reads); }))
        continue;
      if (best < 0 || (returned ? slot.first < slots[best].first : slot.first > slots[best].first))
        best = found->second;
    }
    return best;
  }

  /// The last step that names a map which leads where the operation has chosen.
  static int64_t lastToFollow(Operation *choice, const mpdfg::Choices &choices,
                              const DenseMap<Operation *, int64_t> &steps) {
    int64_t last = 0;
    for (auto [op, step] : steps)
      if (step > last && llvm::is_contained(choices.of(op), choice))
        last = step;
    return last;
  }

  static void visitUses(Value value, const DenseMap<Operation *, int64_t> &steps, int64_t &end, bool &returned) {
    for (Operation *user : value.getUsers()) {
      auto it = steps.find(user);
      if (isa<func::ReturnOp>(user))
        returned = true;
      else if (it != steps.end())
        end = std::max(end, it->second);
      // An await is a kernel and a view of its first operand.
      if (mpdfg::isView(user) ? user->getOperand(0) == value : it == steps.end())
        for (Value view : user->getResults())
          visitUses(view, steps, end, returned);
    }
  }
};

} // namespace
