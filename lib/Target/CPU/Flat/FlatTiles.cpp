//===- FlatTiles.cpp - How a sweep is cut to fit the registers ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatTiles.h"
#include "Flat/FlatOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using mpk::Level;

namespace {

/// A walk is repeated at most so often for one owner: each repetition reads the members' indices again.
constexpr int64_t kMostInnerTiles = 8;
/// Work on rows that no walk reads is cut until it has so many statements, each on one register: it repeats nothing
/// then, and values that need more registers than there are go through memory anyway, as LLVM finds out at length.
constexpr int64_t kMostOnRegisters = 512;

class TileChooser {
public:
  TileChooser(mpk::SweepOp sweep, const SweepPlan &plan, const CPUTarget &target)
      : sweep(sweep), plan(plan), target(target) {
    auto element = mpdfg::getElementType(sweep.getResult(0).getType()).getElementType();
    lanes = target.registerBytes() * 8 / element.getIntOrFloatBitWidth();
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls)
      tiling.tile.push_back(plan.axes.extent(cls));
    for (Operation &op : sweep.getBody().front())
      operations.push_back(&op);
  }

  Tiling choose() {
    while (!isNarrowEnough(sweep, plan, tiling) || pressure() > target.registers() - 4 ||
           statementsOnRegisters() > kMostOnRegisters)
      if (!shrink())
        break;
    return tiling;
  }

private:
  int64_t pressure() const {
    if (plan.walks == 0)
      return 0;
    return registersLive(operations, plan, lanes, [&](Value v) { return tiling.shapeOf(v, plan.axes); });
  }

  /// Of a sweep without walks and sums; 0 for others.
  int64_t statementsOnRegisters() const {
    if (plan.walks > 0 || !plan.shared.empty())
      return 0;
    int64_t statements = 0;
    for (Operation *op : operations)
      if (auto row = dyn_cast<mpdfg::CostOpInterface>(op)) {
        Value result = op->getResult(0);
        int64_t numbers = std::max<int64_t>(mpdfg::getFeatureElements(result.getType()), 1);
        statements += std::max<int64_t>(row.flopsPerRow() / numbers, 1) *
                      llvm::divideCeil(RefTensor::product(tiling.shapeOf(result, plan.axes)), lanes);
      }
    return statements;
  }

  bool shrink() {
    int best = -1;
    int64_t bestCount = 0;
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls) {
      if (!plan.axes.isParallel(cls) || tiling.tile[cls] == 1 || (tiling.tile[cls] <= lanes && isInnermost(cls)))
        continue;
      int64_t count = 0;
      for (Operation *op : operations)
        for (Value operand : op->getOperands())
          count += llvm::is_contained(plan.axes.of(operand), int(cls));
      // The axis that most values have: cutting it repeats the least work.
      if (count > bestCount) {
        best = cls;
        bestCount = count;
      }
    }
    if (best < 0)
      return false;
    int64_t half = (tiling.tile[best] + 1) / 2;
    if (isInnermost(best))
      half = std::max(lanes, (half + lanes - 1) / lanes * lanes);
    tiling.tile[best] = std::min(half, tiling.tile[best] - 1);
    return true;
  }

  /// Whether the class is the last axis of some operand, so that its tile is what one load brings.
  bool isInnermost(int cls) const {
    return llvm::any_of(sweep.getBody().getArguments(), [&](Value argument) {
      ArrayRef<int> own = plan.axes.of(argument);
      return !own.empty() && own.back() == cls;
    });
  }

  mutable mpk::SweepOp sweep; // operations are handles; their accessors are not const
  const SweepPlan &plan;
  const CPUTarget &target;
  SmallVector<Operation *> operations;
  int64_t lanes;
  Tiling tiling;
};

} // namespace

SmallVector<int64_t> Tiling::shapeOf(Value value, const AxisClasses &axes) const {
  SmallVector<int64_t> shape(mpdfg::getFeatureShape(value.getType()));
  for (auto [i, cls] : llvm::enumerate(axes.of(value)))
    if (cls >= 0)
      shape[i] = tile[cls];
  return shape;
}

Tiling cpu::chooseTiles(mpk::SweepOp sweep, const SweepPlan &plan, const CPUTarget &target) {
  return TileChooser(sweep, plan, target).choose();
}

bool cpu::isNarrowEnough(mpk::SweepOp sweep, const SweepPlan &plan, const Tiling &tiling) {
  return llvm::all_of(sweep.getBody().front(), [&](Operation &op) {
    return flatWidth(&op, [&](Value v) { return tiling.shapeOf(v, plan.axes); }) <= kWidestFlat;
  });
}

int64_t cpu::registersLive(ArrayRef<Operation *> operations, const SweepPlan &plan, int64_t lanes, ShapeFn shapeOf) {
  auto registersFor = [&](Value value) { return (RefTensor::product(shapeOf(value)) + lanes - 1) / lanes; };
  DenseSet<Value> live;
  int64_t temporary = 0, total = 0;
  for (Operation *op : operations) {
    bool member = op->getNumResults() > 0 && plan.levels.lookup(op->getResult(0)) == Level::Member;
    auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
    if (accumulate && !accumulate.getShared())
      live.insert(accumulate.getResult());
    if (!member && !accumulate)
      continue;
    for (Value operand : op->getOperands()) {
      if (plan.levels.lookup(operand) == Level::Member)
        temporary = std::max(temporary, registersFor(operand));
      else if (!isa_and_nonnull<mpdfg::ConstantOp, mpdfg::IotaOp>(operand.getDefiningOp()))
        live.insert(operand);
    }
  }
  for (Value value : live)
    total += registersFor(value);
  return total + temporary;
}

InnerCut cpu::chooseInnerCut(ArrayRef<Operation *> operations, const SweepPlan &plan, const AxisClasses &axes,
                             const CPUTarget &target, int64_t lanes, ShapeFn shapeOf) {
  auto live = [&](const InnerCut &cut) {
    return registersLive(operations, plan, lanes, [&](Value value) {
      SmallVector<int64_t> shape = shapeOf(value);
      for (auto [size, cls] : llvm::zip(shape, axes.of(value)))
        if (cls >= 0 && cls == cut.cls)
          size = cut.size;
      return shape;
    });
  };
  InnerCut best;
  int64_t bestLive = live(best);
  if (bestLive <= target.registers() - 4)
    return best;
  for (unsigned cls = 0; cls < axes.size(); ++cls) {
    // An axis that the outer cut has left whole, and not the one that a load brings.
    bool possible = axes.isParallel(cls);
    for (Operation *op : operations)
      for (Value operand : op->getOperands()) {
        ArrayRef<int> own = axes.of(operand);
        for (auto [size, other] : llvm::zip(shapeOf(operand), own))
          possible &= other != int(cls) || size == axes.extent(cls);
        possible &= own.empty() || own.back() != int(cls) || shapeOf(operand).size() == 1;
      }
    for (int64_t tiles = 2; possible && tiles <= std::min(kMostInnerTiles, axes.extent(cls)); ++tiles) {
      if (axes.extent(cls) % tiles != 0)
        continue;
      InnerCut cut{int(cls), axes.extent(cls), axes.extent(cls) / tiles};
      int64_t now = live(cut);
      if (now < bestLive) {
        best = cut;
        bestLive = now;
      }
      if (now <= target.registers() - 4)
        break;
    }
  }
  return best;
}
