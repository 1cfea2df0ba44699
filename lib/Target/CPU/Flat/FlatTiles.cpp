//===- FlatTiles.cpp - How a sweep is cut to fit the registers ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatTiles.h"
#include "Flat/FlatOps.h"
#include "SweepBase.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using mpk::Level;

namespace {

/// Wider values are not worth being SSA values: of members, of owners where walks are cut, and those of these that are
/// not computed number by number.
constexpr int64_t kWidestFlat = 512, kWidestOwner = kWidestVector, kWidestMixed = 1024;
/// A walk is repeated at most so often for one owner: each repetition reads the members' indices again.
constexpr int64_t kMostInnerTiles = 32;
/// What a member costs besides its rows: its index, the loop.
constexpr double kPerMember = 4;
constexpr double kPerExponential = 16;
/// Tiles whose sums do not fit the registers, and walks that are left whole so, must have a price below this share of
/// that of others: it is an estimate.
constexpr double kWorthMemory = 0.75;
/// What owners do is counted as if each had so many members.
constexpr double kMembersPerOwner = 8;
/// Work on rows that no walk reads is cut until it has so many statements, each on one register: it repeats nothing
/// then, and values that need more registers than there are go through memory anyway, as LLVM finds out at length.
constexpr int64_t kMostOnRegisters = 512;
/// What such tiles make together, in statements of what the least cut ones do: rows whose axes nothing brings together
/// would have tiles of the one for each tile of the other.
constexpr double kMostRepeated = 1.25;
/// The same of the tiles of a walk, whose sums would go through memory otherwise.
constexpr double kMostRepeatedInWalk = 3;

bool isMember(const SweepPlan &plan, Value value) { return plan.levels.lookup(value) == Level::Member; }

/// Registers live in the inner loop of a walk of `operations`: values of owners and shared ones that members use,
/// accumulators, one temporary.
int64_t registersLive(ArrayRef<Operation *> operations, const SweepPlan &plan, int64_t lanes, ShapeFn shapeOf) {
  auto registersFor = [&](Value value) { return (RefTensor::product(shapeOf(value)) + lanes - 1) / lanes; };
  DenseSet<Value> live;
  int64_t temporary = 0, total = 0;
  for (Operation *op : operations) {
    auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
    if (accumulate && !accumulate.getShared())
      live.insert(accumulate.getResult());
    if (!accumulate && (op->getNumResults() == 0 || !isMember(plan, op->getResult(0))))
      continue;
    for (Value operand : op->getOperands()) {
      if (isMember(plan, operand))
        temporary = std::max(temporary, registersFor(operand));
      else if (!isa_and_nonnull<mpdfg::ConstantOp, mpdfg::IotaOp>(operand.getDefiningOp()))
        live.insert(operand);
    }
  }
  for (Value value : live)
    total += registersFor(value);
  return total + temporary;
}

/// Those of them that no load can stand for: of sums, and of members' values that are used more than once.
int64_t registersKept(ArrayRef<Operation *> operations, const SweepPlan &plan, int64_t lanes, ShapeFn shapeOf) {
  auto registersFor = [&](Value value) { return (RefTensor::product(shapeOf(value)) + lanes - 1) / lanes; };
  int64_t total = 0, temporary = 0;
  llvm::MapVector<Value, int64_t> uses;
  for (Operation *op : operations) {
    if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op); accumulate && !accumulate.getShared())
      total += registersFor(accumulate.getResult());
    for (Value operand : op->getOperands())
      uses[operand] += isMember(plan, operand);
  }
  for (auto [value, count] : uses)
    if (count > 1)
      temporary = std::max(temporary, registersFor(value));
  return total + temporary;
}

/// Instructions of an operation on what is in a tile.
double workOf(Operation *op, int64_t lanes, ShapeFn shapes) {
  auto registersFor = [&](Value value) { return double(llvm::divideCeil(RefTensor::product(shapes(value)), lanes)); };
  auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
  if (isa<mpk::SoftmaxOp>(op) || (accumulate && isStatistic(accumulate.getKind())))
    return kPerExponential * registersFor(op->getOperand(0));
  if (accumulate)
    return registersFor(accumulate.getInput());
  auto row = dyn_cast<mpdfg::CostOpInterface>(op);
  if (!row)
    return 0;
  if (isa<mpdfg::ContractOp, mpdfg::FoldOp>(op)) {
    auto whole = [](Value value) { return SmallVector<int64_t>(mpdfg::getFeatureShape(value.getType())); };
    return double(row.flopsPerRow()) * double(flatWidth(op, shapes)) / double(flatWidth(op, whole)) / double(lanes);
  }
  Value result = op->getResult(0);
  double each = double(row.flopsPerRow()) / double(std::max<int64_t>(mpdfg::getFeatureElements(result.getType()), 1));
  return each * registersFor(result);
}

/// Instructions of a walk for a member, in one tile.
double workOfWalk(const WalkOperations &walk, const SweepPlan &plan, const Processor &target, int64_t lanes,
                  ShapeFn shapes) {
  double work = kPerMember;
  DenseSet<Value> loaded;
  for (Operation *op : walk.operations) {
    work += workOf(op, lanes, shapes);
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand) && isMember(plan, operand) && loaded.insert(operand).second)
        work += llvm::divideCeil(RefTensor::product(shapes(operand)), lanes);
  }
  // What does not fit is loaded and stored for each member.
  return work +
         2 * std::max<int64_t>(registersKept(walk.operations, plan, lanes, shapes) - (target.registers() - 4), 0);
}

/// Shapes in a walk that is cut.
SmallVector<int64_t> cutShape(SmallVector<int64_t> shape, Value value, const AxisClasses &axes, const InnerCut &cut) {
  if (cut.cls >= 0 && axes.knows(value))
    for (auto [size, cls] : llvm::zip(shape, axes.of(value)))
      if (cls == cut.cls)
        size = cut.size;
  return shape;
}

class TileChooser {
public:
  TileChooser(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target)
      : sweep(sweep), plan(plan), target(target) {
    auto element = mpdfg::getElementType(sweep.getResult(0).getType()).getElementType();
    lanes = target.registerBytes() * 8 / element.getIntOrFloatBitWidth();
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls)
      tiling.tile.push_back(plan.axes.extent(cls));
    for (Operation &op : sweep.getBody().front())
      operations.push_back(&op);
    for (unsigned walk = 0; walk < plan.walks; ++walk)
      walks.push_back(findWalk(sweep, plan, walk));
  }

  Tiling choose() {
    std::optional<Tiling> best;
    double least = 0, last = 0; // prices
    while (true) {
      SmallVector<InnerCut> cuts = chooseCuts();
      SmallVector<Operation *> wide = findTooWide(cuts);
      tiling.isNarrow = wide.empty();
      if (tiling.isNarrow && repeatsTooMuch()) {
        tiling.tile[lastCut] = lastTile;
        whole.insert(lastCut);
      } else if (tiling.isNarrow && statementsOnRegisters() <= kMostOnRegisters) {
        last = price(cuts);
        if (!best || last < least) {
          best = tiling;
          least = last;
        }
        if (pressure() <= target.registers() - 4)
          break;
      }
      if (!shrink(wide))
        break;
    }
    return best && (!tiling.isNarrow || least < kWorthMemory * last) ? *best : tiling;
  }

private:
  SmallVector<int64_t> shapeOf(Value value) const { return tiling.shapeOf(value, plan.axes); }
  SmallVector<int64_t> shapeOf(Value value, unsigned walk, ArrayRef<InnerCut> cuts) const {
    return cutShape(shapeOf(value), value, walks[walk].axes, cuts[walk]);
  }

  SmallVector<InnerCut> chooseCuts() const {
    SmallVector<InnerCut> cuts;
    for (const WalkOperations &walk : walks)
      cuts.push_back(chooseInnerCut(walk, plan, target, lanes, [&](Value v) { return shapeOf(v); }));
    return cuts;
  }

  int64_t pressure() const {
    if (plan.walks == 0)
      return 0;
    return registersLive(operations, plan, lanes, [&](Value v) { return shapeOf(v); });
  }

  /// The operations that are not on vectors of sensible width.
  SmallVector<Operation *> findTooWide(ArrayRef<InnerCut> cuts) const {
    SmallVector<Operation *> wide;
    auto widthOf = [&](Operation *op, ShapeFn shapes) { return flatWidth(op, shapes); };
    bool isCut = llvm::any_of(cuts, [](const InnerCut &cut) { return cut.cls >= 0; });
    for (Operation *op : operations) {
      bool inWalk = op->getNumResults() > 0 && isMember(plan, op->getResult(0));
      bool mixes = isa<mpdfg::ContractOp, mpdfg::FoldOp, mpdfg::TransposeOp, mpdfg::ConcatOp, mpdfg::SliceOp>(op);
      int64_t most = !isCut || inWalk ? kWidestFlat : mixes ? kWidestMixed : kWidestOwner;
      if (!inWalk && widthOf(op, [&](Value v) { return shapeOf(v); }) > most)
        wide.push_back(op);
    }
    for (unsigned walk = 0; walk < walks.size(); ++walk)
      for (Operation *op : walks[walk].operations)
        if (widthOf(op, [&](Value v) { return shapeOf(v, walk, cuts); }) > kWidestFlat)
          wide.push_back(op);
    return wide;
  }

  double countTiles() const {
    double tiles = 1;
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls)
      tiles *= double(llvm::divideCeil(plan.axes.extent(cls), tiling.tile[cls]));
    return tiles;
  }

  /// Whether the last cut has a sweep without walks do much of its work again.
  bool repeatsTooMuch() {
    double statements = double(statementsOnRegisters()) * countTiles();
    leastStatements = std::min(leastStatements.value_or(statements), statements);
    return statements > kMostRepeated * *leastStatements;
  }

  /// Of all tiles together, for a member.
  double price(ArrayRef<InnerCut> cuts) const {
    double total = 0;
    for (auto [walk, found] : llvm::enumerate(walks)) {
      double work =
          workOfWalk(found, plan, target, lanes, [&, walk = walk](Value v) { return shapeOf(v, walk, cuts); });
      total += work * (cuts[walk].cls < 0 ? 1 : double(cuts[walk].extent) / double(cuts[walk].size));
    }
    for (Operation *op : operations)
      if (op->getNumResults() > 0 && plan.levels.lookup(op->getResult(0)) == Level::Owner &&
          !isa<mpk::AccumulateOp>(op))
        total += workOf(op, lanes, [&](Value v) { return shapeOf(v); }) / kMembersPerOwner;
    return total * countTiles();
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

  /// Cuts one axis once more: where some operations are too wide, of those that they are about.
  bool shrink(ArrayRef<Operation *> wide) {
    int best = -1;
    int64_t bestCount = 0;
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls) {
      if (!plan.axes.isParallel(cls) || tiling.tile[cls] == 1 || (tiling.tile[cls] <= lanes && isInnermost(cls)) ||
          whole.contains(cls))
        continue;
      auto isOf = [&](Value value) { return llvm::is_contained(plan.axes.of(value), int(cls)); };
      if (!wide.empty() && llvm::none_of(wide, [&](Operation *op) {
            return llvm::any_of(op->getOperands(), isOf) || llvm::any_of(op->getResults(), isOf);
          }))
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
    lastCut = best;
    lastTile = tiling.tile[best];
    tiling.tile[best] = std::min(half, tiling.tile[best] - 1);
    return true;
  }

  /// Whether the class is the last axis of some operand or result, so that its tile is what one load brings or one
  /// store takes.
  bool isInnermost(int cls) const {
    auto isLastOf = [&](Value value) {
      ArrayRef<int> own = plan.axes.of(value);
      return !own.empty() && own.back() == cls;
    };
    Operation *yield = sweep.getBody().front().getTerminator();
    return llvm::any_of(sweep.getBody().getArguments(), isLastOf) || llvm::any_of(yield->getOperands(), isLastOf);
  }

  mutable mpk::SweepOp sweep; // operations are handles; their accessors are not const
  const SweepPlan &plan;
  const Processor &target;
  SmallVector<Operation *> operations;
  SmallVector<WalkOperations> walks;
  int64_t lanes;
  Tiling tiling;
  std::optional<double> leastStatements;
  int lastCut = -1;
  int64_t lastTile = 0;
  llvm::SmallDenseSet<unsigned> whole; ///< classes that are not worth another cut
};

} // namespace

SmallVector<int64_t> Tiling::shapeOf(Value value, const AxisClasses &axes) const {
  SmallVector<int64_t> shape(mpdfg::getFeatureShape(value.getType()));
  for (auto [i, cls] : llvm::enumerate(axes.of(value)))
    if (cls >= 0)
      shape[i] = tile[cls];
  return shape;
}

Tiling cpu::chooseTiles(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target) {
  return TileChooser(sweep, plan, target).choose();
}

WalkOperations cpu::findWalk(mpk::SweepOp sweep, const SweepPlan &plan, unsigned walk) {
  SmallVector<Operation *> operations = operationsOfWalk(sweep, plan, walk);
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk == walk)
      operations.push_back(accumulate.op);
  AxisClasses axes(sweep, [&](Operation *op) { return llvm::is_contained(operations, op); });
  return {std::move(operations), std::move(axes)};
}

InnerCut cpu::chooseInnerCut(const WalkOperations &walk, const SweepPlan &plan, const Processor &target, int64_t lanes,
                             ShapeFn shapeOf) {
  const AxisClasses &axes = walk.axes;
  auto live = [&](const InnerCut &cut) {
    return registersLive(walk.operations, plan, lanes,
                         [&](Value value) { return cutShape(shapeOf(value), value, axes, cut); });
  };
  InnerCut best;
  int64_t bestLive = live(best);
  if (bestLive <= target.registers() - 4)
    return best;
  for (unsigned cls = 0; cls < axes.size(); ++cls) {
    // An axis that the outer cut has left whole, and not the one that a load brings, but in whole registers.
    bool possible = axes.isParallel(cls), isOfRows = false;
    for (Operation *op : walk.operations)
      for (Value operand : op->getOperands()) {
        ArrayRef<int> own = axes.of(operand);
        for (auto [size, other] : llvm::zip(shapeOf(operand), own))
          possible &= other != int(cls) || size == axes.extent(cls);
        bool isLast = !own.empty() && own.back() == int(cls);
        possible &= !isLast || own.size() == 1;
        isOfRows |= !isLast && llvm::is_contained(own, int(cls));
      }
    for (int64_t tiles = 2; possible && tiles <= std::min(kMostInnerTiles, axes.extent(cls)); ++tiles) {
      int64_t size = axes.extent(cls) / tiles;
      if (axes.extent(cls) % tiles != 0 || (!isOfRows && axes.extent(cls) > lanes && size % lanes != 0))
        continue;
      InnerCut cut{int(cls), axes.extent(cls), size};
      int64_t now = live(cut);
      if (now < bestLive) {
        best = cut;
        bestLive = now;
      }
      if (now <= target.registers() - 4)
        break;
    }
  }
  if (best.cls < 0)
    return best;
  // Values that lack the axis are made again in each tile. Where that is most of the work, a walk that goes through
  // memory takes less.
  auto shapesIn = [&](const InnerCut &cut) {
    return [&](Value value) { return cutShape(shapeOf(value), value, axes, cut); };
  };
  auto makes = [&](const InnerCut &cut) {
    double work = 0;
    for (Operation *op : walk.operations)
      work += workOf(op, lanes, shapesIn(cut));
    return work;
  };
  auto takes = [&](const InnerCut &cut) { return workOfWalk(walk, plan, target, lanes, shapesIn(cut)); };
  double tiles = double(best.extent) / double(best.size);
  bool repeats =
      tiles * makes(best) > kMostRepeatedInWalk * makes({}) && kWorthMemory * tiles * takes(best) > takes({});
  return repeats ? InnerCut() : best;
}
