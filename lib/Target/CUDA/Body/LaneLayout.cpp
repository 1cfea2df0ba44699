//===- LaneLayout.cpp - Which lane holds which feature --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The widest row that a member brings (without members: the widest value) decides: its innermost atom gets accesses of
// 16 bytes and lanes until the atom or the warp is used up, the next atom what lanes are left. Atoms that it lacks stay
// in registers, where folding them costs no exchange. What does not fit the registers then is cut into tiles, if its
// indices have nothing to do with each other; else it spills, which is slow and right.
//
//===----------------------------------------------------------------------===//

#include "Body/LaneLayout.h"
#include "StepMemory.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;

namespace {

/// Numbers of the widest row in one lane, beyond which parallel atoms are cut into tiles.
constexpr int64_t kWidestHeld = 8;
/// Registers for rows of members in flight.
constexpr int64_t kFlightRegisters = 32;
constexpr int64_t kMostFlight = 4;
/// Of what a lane holds throughout a walk, beyond which narrow rows are read in smaller pieces: with addresses and what
/// is in between they would take so many registers that few warps fit.
constexpr int64_t kWalkRegisters = 48;
/// An atom that the widest row lacks takes lanes only if it is longer than this.
constexpr int64_t kLongestInRegisters = 16;

class Chooser {
public:
  Chooser(mpk::SweepOp sweep, const SweepPlan &plan, BodyAxes &axes) : sweep(sweep), plan(plan), axes(axes) {}
  LaneLayout run();

private:
  Value widest();
  int64_t heldBits(Value value);
  void cut(ArrayRef<int> order, int64_t accessBits);
  void giveLanes(int atom);
  llvm::BitVector findWhole();
  void cutTiles();
  int64_t memberRegisters();
  int64_t walkRegisters();
  bool isMember(Value value) const { return plan.levels.lookup(value) == mpk::Level::Member; }

  mpk::SweepOp sweep;
  const SweepPlan &plan;
  BodyAxes &axes;
  LaneLayout layout;
};

} // namespace

int64_t cuda::heldBy(const AxisList &value, const BodyAxes &axes) {
  int64_t held = 1;
  for (int atom : BodyAxes::atomsOf(value))
    held *= axes[atom].held();
  return held;
}

Value Chooser::widest() {
  Value best;
  int64_t most = -1;
  auto consider = [&](Value value) {
    int64_t elements = mpdfg::getFeatureElements(value.getType());
    if (elements > most) {
      most = elements;
      best = value;
    }
  };
  for (Value argument : sweep.getBody().getArguments())
    if (plan.levels.lookup(argument) == mpk::Level::Member)
      consider(argument);
  if (best && most > 1)
    return best;
  for (Value argument : sweep.getBody().getArguments())
    consider(argument);
  for (Value result : cast<mpk::YieldOp>(sweep.getBody().front().getTerminator()).getValues())
    consider(result);
  return best;
}

/// Bits of a number of an operand or result in memory.
int64_t Chooser::heldBits(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *yield = sweep.getBody().front().getTerminator();
  Value inMemory = argument ? sweep.getInputs()[argument.getArgNumber()]
                            : sweep.getResults()[llvm::find(yield->getOperands(), value) - yield->operand_begin()];
  return cast<RankedTensorType>(inMemory.getType()).getElementTypeBitWidth();
}

void Chooser::giveLanes(int number) {
  Atom &atom = axes[number];
  int64_t chunks = llvm::divideCeil(atom.extent, atom.vector);
  atom.lanes = std::min<int64_t>(32 / layout.lanes, llvm::PowerOf2Ceil(chunks));
  atom.registers = llvm::divideCeil(chunks, atom.lanes);
  atom.firstLane = layout.lanes;
  layout.lanes *= atom.lanes;
}

/// Atoms that must not be cut because rows are written over operands: each tile would write what lacks one, and read
/// what another has written.
llvm::BitVector Chooser::findWhole() {
  llvm::BitVector whole(axes.size());
  Operation *yield = sweep.getBody().front().getTerminator();
  for (auto [argument, input] : llvm::zip(sweep.getBody().getArguments(), sweep.getInputs()))
    for (unsigned result : findReplacing(sweep, input)) {
      const AxisList &read = axes.of(argument);
      llvm::BitVector own(axes.size());
      if (read == axes.of(yield->getOperand(result)))
        for (int atom : BodyAxes::atomsOf(read))
          own.set(atom);
      whole |= own.flip();
    }
  return whole;
}

/// Cuts the parallel atoms of the widest values, outermost first, until they fit.
void Chooser::cutTiles() {
  llvm::BitVector whole = findWhole();
  auto widestHeld = [&] {
    int64_t most = 1;
    for (Operation &op : sweep.getBody().front())
      for (Value operand : op.getOperands())
        most = std::max(most, heldBy(axes.of(operand), axes));
    return most;
  };
  while (widestHeld() > kWidestHeld) {
    int best = -1;
    for (unsigned i = 0; i < axes.size(); ++i)
      if (axes[i].isParallel && !whole[i] && axes[i].registers > 1 &&
          (best < 0 || axes[i].registers > axes[best].registers))
        best = i;
    if (best < 0)
      return;
    Atom &atom = axes[best];
    int64_t slots = llvm::divideCeil(atom.extent, atom.lanes * atom.vector); // registers of all tiles
    atom.registers = (atom.registers + 1) / 2;
    atom.tiles = llvm::divideCeil(slots, atom.registers);
  }
}

int64_t Chooser::memberRegisters() {
  int64_t total = 0;
  for (Value argument : sweep.getBody().getArguments())
    if (plan.levels.lookup(argument) == mpk::Level::Member)
      total += heldBy(axes.of(argument), axes);
  return std::max<int64_t>(total, 1);
}

/// Numbers that a lane holds throughout a walk: members in flight, what members meet, and what they are added up to.
int64_t Chooser::walkRegisters() {
  llvm::SmallDenseSet<Value> met;
  int64_t total = layout.flight * memberRegisters();
  for (Operation &op : sweep.getBody().front()) {
    if (op.getNumResults() == 0 || !llvm::any_of(op.getOperands(), [&](Value operand) { return isMember(operand); }))
      continue;
    if (auto sum = dyn_cast<mpk::AccumulateOp>(op)) { // Winners are compared by value and by number.
      bool names = sum.getKind() == mpdfg::ReduceKind::ArgMax || sum.getKind() == mpdfg::ReduceKind::ArgMin;
      total += heldBy(axes.of(op.getOperand(0)), axes) * (names ? 3 : 1);
    }
    for (Value operand : op.getOperands())
      if (!isMember(operand) && !operand.getDefiningOp<mpdfg::ConstantOp>() && met.insert(operand).second)
        total += heldBy(axes.of(operand), axes);
  }
  return total;
}

/// Cuts the atoms for accesses of so many bits.
void Chooser::cut(ArrayRef<int> order, int64_t accessBits) {
  layout = LaneLayout();
  for (unsigned i = 0; i < axes.size(); ++i) {
    Atom fresh;
    fresh.extent = axes[i].extent, fresh.isParallel = axes[i].isParallel;
    axes[i] = fresh;
  }
  if (!order.empty()) {
    Atom &inner = axes[order.front()];
    int64_t widestAccess = accessBits / heldBits(widest());
    while (inner.vector < widestAccess && inner.extent % (2 * inner.vector) == 0)
      inner.vector *= 2;
    layout.vectorAtom = inner.vector > 1 ? order.front() : -1;
  }
  for (int atom : order)
    giveLanes(atom);
  for (unsigned i = 0; i < axes.size(); ++i) {
    if (llvm::is_contained(order, int(i)))
      continue;
    if (axes[i].extent > kLongestInRegisters)
      giveLanes(i);
    else
      axes[i].registers = axes[i].extent;
  }
  cutTiles();
  for (unsigned i = 0; i < axes.size(); ++i)
    layout.tiles *= axes[i].tiles;
  if (plan.walks > 0)
    layout.flight = std::clamp<int64_t>(kFlightRegisters / memberRegisters(), 1, kMostFlight);
}

LaneLayout Chooser::run() {
  SmallVector<int> order; // innermost first
  if (Value value = widest())
    for (const AtomList &axis : llvm::reverse(axes.of(value)))
      for (int atom : llvm::reverse(axis))
        if (!llvm::is_contained(order, atom))
          order.push_back(atom);
  cut(order, 128);
  // 16 bytes of narrow numbers are eight, of which everything is computed in 32 bits.
  if (!order.empty() && plan.walks > 0 && heldBits(widest()) < 32 &&
      (layout.flight < 2 || walkRegisters() > kWalkRegisters))
    cut(order, 64);
  if (plan.walks > 0)
    layout.walkNumbers = walkRegisters();
  return layout;
}

LaneLayout cuda::layOut(mpk::SweepOp sweep, const SweepPlan &plan, BodyAxes &axes) {
  return Chooser(sweep, plan, axes).run();
}
