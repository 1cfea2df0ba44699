//===- FlatSweep.cpp - A sweep on flat vectors ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for each tile of the parallel feature axes        (heads, slices of wide rows: what is live fits the registers)
//     load shared operands
//     for each owner of the block
//       owner's values known before the first walk
//       for each walk: for each member: gather, compute, accumulate in registers; finish the accumulations; owner's
//       values store the owner's results
//
// Cutting a parallel axis repeats the walk for each tile, which costs reading the indices again but no spills.
//
//===----------------------------------------------------------------------===//

#include "SweepBase.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

namespace {

/// Accumulations that carry two values: maximum and sum, or best and its number.
bool hasTwoSlots(ReduceKind kind) { return kind == ReduceKind::LogSumExp || namesWinner(kind); }

/// Wider values are not worth being SSA values.
constexpr int64_t kWidestFlat = 512;

/// How many indices of each axis class one tile has.
struct Tiling {
  SmallVector<int64_t> tile;

  SmallVector<int64_t> shapeOf(Value value, const AxisClasses &axes) const {
    SmallVector<int64_t> shape(getFeatureShape(value.getType()));
    for (auto [i, cls] : llvm::enumerate(axes.of(value)))
      if (cls >= 0)
        shape[i] = tile[cls];
    return shape;
  }
};

/// Chooses tiles: what stays live over a walk should fit the registers.
class TileChooser {
public:
  TileChooser(mpk::SweepOp sweep, const SweepPlan &plan, const CPUTarget &target)
      : sweep(sweep), plan(plan), target(target) {
    auto element = cast<RankedTensorType>(sweep.getResult(0).getType()).getElementType();
    lanes = target.registerBytes() * 8 / element.getIntOrFloatBitWidth();
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls)
      tiling.tile.push_back(plan.axes.extent(cls));
  }

  Tiling choose() {
    while (widest() > kWidestFlat || pressure() > target.registers() - 4)
      if (!shrink())
        break;
    return tiling;
  }
  bool fits() const { return widest() <= kWidestFlat; }

private:
  int64_t width(Value value) const { return RefTensor::product(tiling.shapeOf(value, plan.axes)); }
  int64_t registersFor(Value value) const { return (width(value) + lanes - 1) / lanes; }

  int64_t widest() const {
    int64_t most = 1;
    for (Operation &op : sweep.getBody().front())
      most = std::max(most, flatWidth(&op, [&](Value v) { return tiling.shapeOf(v, plan.axes); }));
    return most;
  }

  /// Registers live in the inner loop: owner's and shared values that members use, accumulators, one temporary.
  int64_t pressure() const {
    if (plan.walks == 0)
      return 0;
    DenseSet<Value> live;
    int64_t temporary = 0, total = 0;
    for (Operation &op : sweep.getBody().front()) {
      bool member = op.getNumResults() > 0 && plan.levels.lookup(op.getResult(0)) == Level::Member;
      auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
      if (accumulate && !accumulate.getShared())
        live.insert(accumulate.getResult());
      if (!member && !accumulate)
        continue;
      for (Value operand : op.getOperands()) {
        if (plan.levels.lookup(operand) == Level::Member)
          temporary = std::max(temporary, registersFor(operand));
        else if (!isa_and_nonnull<ConstantOp, IotaOp>(operand.getDefiningOp()))
          live.insert(operand);
      }
    }
    for (Value value : live)
      total += registersFor(value);
    return total + temporary;
  }

  bool shrink() {
    int best = -1;
    int64_t bestCount = 0;
    for (unsigned cls = 0; cls < plan.axes.size(); ++cls) {
      if (!plan.axes.isParallel(cls) || tiling.tile[cls] == 1 || (tiling.tile[cls] <= lanes && isInnermost(cls)))
        continue;
      int64_t count = 0;
      for (Operation &op : sweep.getBody().front())
        for (Value operand : op.getOperands())
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
  int64_t lanes;
  Tiling tiling;
};

class FlatSweep : public SweepBase {
public:
  using SweepBase::SweepBase;

  void run() {
    Tiling full = TileChooser(sweep, plan, target).choose();
    tiling = full;
    offsets.assign(plan.axes.size(), Value());
    emitTiles(0, full);
  }

private:
  using Values = DenseMap<Value, Value>;

  void emitTiles(unsigned cls, const Tiling &full);
  void emitTile();
  void emitWalk(unsigned walk, Value owner, std::pair<Value, Value> range, Values &values);
  void compute(Operation *op, Values &values, Value owner, Value position);
  Value loadOperand(unsigned operand, Value owner, Value position);
  Value loadRow(Value buffer, Value start, Value shapeSource);
  Value iota(Value shapeSource);
  void storeRow(Value value, Value pointer, Value shapeSource);
  /// Visits the contiguous runs of a tile of a row: (element offset, lanes before it, length).
  void forEachRun(Value shapeSource, function_ref<void(Value, int64_t, int64_t)> visit);
  SmallVector<int64_t> shape(Value value) { return tiling.shapeOf(value, plan.axes); }
  int64_t width(Value value) { return RefTensor::product(shape(value)); }
  /// Repeats a value shaped like `from` along the axes that `to` has beyond it, matching axes by class.
  Value repeatByClass(Value value, Value from, Value to);
  Value memberCount(std::pair<Value, Value> range, int64_t lanes);
  Value whereMembers(std::pair<Value, Value> range, Value value);
  std::pair<Value, Value> winner(ReduceKind kind, Value input, Value element, Value best, Value number);
  void levelOperations(Level level, unsigned phase, Values &values, Value owner, std::pair<Value, Value> range);
  scf::ForOp loop(Value from, Value to, ValueRange init) {
    return scf::ForOp::create(b, loc, from, to, kernel.i64(1), init);
  }

  Tiling tiling;
  SmallVector<Value> offsets; ///< for each class: index of the tile's first element; null: 0
};

void FlatSweep::emitTiles(unsigned cls, const Tiling &full) {
  if (cls == plan.axes.size())
    return emitTile();
  int64_t extent = plan.axes.extent(cls), tile = full.tile[cls], whole = extent / tile, rest = extent % tile;
  tiling.tile[cls] = tile;
  if (tile == extent) {
    offsets[cls] = Value();
    return emitTiles(cls + 1, full);
  }
  {
    auto tiles = scf::ForOp::create(b, loc, kernel.i64(0), kernel.i64(whole * tile), kernel.i64(tile));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(tiles.getBody());
    offsets[cls] = tiles.getInductionVar();
    emitTiles(cls + 1, full);
  }
  if (rest > 0) {
    tiling.tile[cls] = rest;
    offsets[cls] = kernel.i64(whole * tile);
    emitTiles(cls + 1, full);
    tiling.tile[cls] = tile;
  }
  offsets[cls] = Value();
}

void FlatSweep::forEachRun(Value source, function_ref<void(Value, int64_t, int64_t)> visit) {
  ArrayRef<int64_t> whole = shapeOf(source);
  SmallVector<int64_t> part = shape(source), strides(whole.size(), 1);
  for (size_t i = whole.size(); i-- > 1;)
    strides[i - 1] = strides[i] * whole[i];
  Value base = kernel.i64(0);
  for (auto [i, cls] : llvm::enumerate(plan.axes.of(source)))
    if (cls >= 0 && offsets[cls])
      base = kernel.add(base, kernel.mul(offsets[cls], strides[i]));
  // Trailing axes that are whole, and the one before them, are contiguous.
  size_t first = whole.size();
  int64_t run = 1;
  while (first > 0) {
    --first;
    run *= part[first];
    if (part[first] != whole[first])
      break;
  }
  int64_t outer = 1;
  for (size_t i = 0; i < first; ++i)
    outer *= part[i];
  for (int64_t n = 0; n < outer; ++n) {
    int64_t at = 0, left = n;
    for (size_t i = first; i-- > 0;) {
      at += left % part[i] * strides[i];
      left /= part[i];
    }
    visit(at == 0 ? base : kernel.add(base, kernel.i64(at)), n * run, run);
  }
}

Value FlatSweep::loadRow(Value buffer, Value start, Value source) {
  SmallVector<Value> runs;
  forEachRun(source, [&](Value offset, int64_t, int64_t run) {
    Value pointer = kernel.address(buffer, kernel.add(start, offset), element);
    runs.push_back(kernel.load(flat.type(run), pointer, element));
  });
  return flat.join(runs);
}

/// The places that the tile of a row has in the row, as element numbers.
Value FlatSweep::iota(Value source) {
  SmallVector<Value> runs;
  forEachRun(source, [&](Value offset, int64_t, int64_t run) { runs.push_back(flat.elementNumbers(offset, run)); });
  return flat.join(runs);
}

void FlatSweep::storeRow(Value value, Value row, Value source) {
  forEachRun(source, [&](Value offset, int64_t lane, int64_t run) {
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < run; ++i)
      lanes.push_back(lane + i);
    kernel.store(flat.shuffle(value, lanes), kernel.address(row, offset, element), element);
  });
}

Value FlatSweep::loadOperand(unsigned operand, Value owner, Value position) {
  Value input = sweep.getInputs()[operand], argument = sweep.getBody().getArgument(operand);
  Value buffer = kernel.buffer(input);
  bool partial;
  Value row = operandRow(operand, owner, position, partial);
  if (!partial)
    return loadRow(buffer, rowStart(input, row), argument);
  FloatAttr fill = sweep.getAccessOf(operand).getFill();
  Value defined = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, kernel.i64(0));
  auto branch = scf::IfOp::create(b, loc, TypeRange{flat.type(width(argument))}, defined, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, loadRow(buffer, rowStart(input, row), argument));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, flat.splat(fill ? fill.getValueAsDouble() : 0, width(argument)));
  return branch.getResult(0);
}

void FlatSweep::compute(Operation *op, Values &values, Value owner, Value position) {
  auto get = [&](Value value) { return values.lookup(value); };
  Value result = op->getResult(0);
  SmallVector<int64_t> to = shape(result);
  auto repeated = [&](Value value) { return flat.repeat(get(value), shape(value), to); };
  values[result] =
      TypeSwitch<Operation *, Value>(op)
          .Case<ConstantOp>([&](ConstantOp c) { return flat.splat(c.getValue().convertToDouble(), width(result)); })
          .Case<ExtentOp>([&](ExtentOp e) {
            Value count = kernel.extent(spaceNumber(e.getSpaceAttr()));
            return flat.splatOf(arith::SIToFPOp::create(b, loc, element, count), width(result));
          })
          .Case<ElementOp>([&](ElementOp e) { return flat.elementNumber(e.getMember() ? memberAt(position) : owner, 1); })
          .Case<IotaOp>([&](IotaOp) { return iota(result); })
          .Case<IsElementOp>([&](IsElementOp e) { return flat.isElement(repeated(e.getNumbers()), repeated(e.getElement())); })
          .Case<RandomOp>([&](RandomOp r) {
            return flat.random(repeated(r.getSeedLow()), repeated(r.getSeedHigh()), repeated(r.getStep()),
                               repeated(r.getElement()), repeated(r.getFeature()), r.getSite());
          })
          .Case<UnaryOp>(
              [&](UnaryOp u) { return flat.unary(u.getKind(), get(u.getInput()), u.getAlpha().convertToDouble()); })
          .Case<BinaryOp>(
              [&](BinaryOp o) { return flat.binary(o.getKind(), repeated(o.getLhs()), repeated(o.getRhs())); })
          .Case<SelectOp>([&](SelectOp s) {
            return flat.select(repeated(s.getCondition()), repeated(s.getTrueValue()), repeated(s.getFalseValue()));
          })
          .Case<ContractOp>([&](ContractOp c) {
            return flat.contract(get(c.getLhs()), shape(c.getLhs()), c.getLhsLabels(), get(c.getRhs()),
                                 shape(c.getRhs()), c.getRhsLabels(), c.getOutLabels());
          })
          .Case<FoldOp>(
              [&](FoldOp f) { return flat.fold(f.getKind(), get(f.getInput()), shape(f.getInput()), f.getAxes()); })
          .Case<TransposeOp>(
              [&](TransposeOp t) { return flat.transpose(get(t.getInput()), shape(t.getInput()), t.getPermutation()); })
          .Case<ConcatOp>([&](ConcatOp c) {
            SmallVector<Value> parts;
            SmallVector<SmallVector<int64_t>> shapes;
            for (Value input : c.getInputs()) {
              parts.push_back(get(input));
              shapes.push_back(shape(input));
            }
            return flat.concat(parts, shapes, c.getAxis());
          })
          .Case<SliceOp>([&](SliceOp s) {
            return flat.slice(get(s.getInput()), shape(s.getInput()), s.getAxis(), s.getBegin(), to[s.getAxis()]);
          })
          .Default([&](Operation *other) { return get(other->getOperand(0)); }); // reshape, detach
}

/// Fills `values` with what is known of a level before walk `phase`: operations in order, accumulations of values that
/// do not depend on the member by their count.
void FlatSweep::levelOperations(Level level, unsigned phase, Values &values, Value owner,
                                std::pair<Value, Value> range) {
  for (Operation &op : sweep.getBody().front()) {
    if (op.getNumResults() == 0 || plan.levels.lookup(op.getResult(0)) != level ||
        plan.phases.lookup(op.getResult(0)) != phase || values.count(op.getResult(0)))
      continue;
    auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
    if (!accumulate) {
      compute(&op, values, owner, {});
      continue;
    }
    if (accumulate.getShared())
      continue; // Handled around the owner loop.
    const AccumulatePlan *found = llvm::find_if(plan.accumulates, [&](auto &p) { return p.op == accumulate; });
    if (found->perMember)
      continue; // Finished by its walk.
    Value input = values.lookup(accumulate.getInput());
    switch (accumulate.getKind()) {
    case ReduceKind::Sum: // No members: 0, even where one would be infinite.
      values[accumulate.getResult()] =
          whereMembers(range, flat.mul(input, memberCount(range, width(accumulate.getInput()))));
      break;
    case ReduceKind::LogSumExp:
      values[accumulate.getResult()] = flat.add(input, flat.log(memberCount(range, width(accumulate.getInput()))));
      break;
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin:
      values[accumulate.getResult()] = flat.elementNumber(firstMember(range), width(accumulate.getInput()));
      break;
    default:
      values[accumulate.getResult()] = whereMembers(range, input);
    }
  }
}

Value FlatSweep::memberCount(std::pair<Value, Value> range, int64_t lanes) {
  Value count = arith::SubIOp::create(b, loc, range.second, range.first);
  return flat.splatOf(arith::SIToFPOp::create(b, loc, element, count), lanes);
}

/// `value` if the owner has members, else 0.
Value FlatSweep::whereMembers(std::pair<Value, Value> range, Value value) {
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, range.second, range.first);
  return arith::SelectOp::create(b, loc, any, value, flat.splat(0, FlatOps::count(value)));
}

/// The better of an element and the best so far, with its number. The first of equals wins, and a NaN never does.
std::pair<Value, Value> FlatSweep::winner(ReduceKind kind, Value input, Value element, Value best, Value number) {
  Value better = kind == ReduceKind::ArgMax ? flat.greater(input, best) : flat.greater(best, input);
  Value mine = flat.elementNumber(element, FlatOps::count(input));
  return {arith::SelectOp::create(b, loc, better, input, best), arith::SelectOp::create(b, loc, better, mine, number)};
}

Value FlatSweep::repeatByClass(Value value, Value from, Value to) {
  if (from == to) // Classes would not tell axes apart that are of the same one.
    return value;
  SmallVector<int64_t> shapeFrom = shape(from), shapeTo = shape(to), order, aligned(shapeTo.size(), 1);
  ArrayRef<int> classesFrom = plan.axes.of(from), classesTo = plan.axes.of(to);
  // The axes of `from` in the order in which `to` has them.
  for (size_t i = 0; i < classesTo.size(); ++i)
    if (classesTo[i] >= 0)
      for (size_t j = 0; j < classesFrom.size(); ++j)
        if (classesFrom[j] == classesTo[i]) {
          order.push_back(j);
          aligned[i] = shapeFrom[j];
        }
  SmallVector<int64_t> kept;
  for (size_t j = 0; j < classesFrom.size(); ++j)
    if (classesFrom[j] >= 0)
      kept.push_back(j);
  SmallVector<int64_t> compact, permutation;
  for (int64_t j : kept)
    compact.push_back(shapeFrom[j]);
  for (int64_t j : order)
    permutation.push_back(llvm::find(kept, j) - kept.begin());
  Value ordered = flat.transpose(value, compact, permutation);
  return flat.repeat(ordered, aligned, shapeTo);
}

void FlatSweep::emitWalk(unsigned walk, Value owner, std::pair<Value, Value> range, Values &values) {
  SmallVector<const AccumulatePlan *> sums;
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk == walk && accumulate.statisticOf < 0)
      sums.push_back(&accumulate);
  SmallVector<unsigned> maxima; // softmaxes whose statistics this walk finds
  for (auto [i, softmax] : llvm::enumerate(plan.softmaxes))
    if (softmax.walk == walk)
      maxima.push_back(i);

  // Loop-carried: for each accumulation its value (log-sum-exp: maximum and sum), for each softmax maximum and sum.
  double infinity = std::numeric_limits<double>::infinity();
  SmallVector<Value> init;
  for (const AccumulatePlan *sum : sums) {
    mpk::AccumulateOp op = sum->op;
    int64_t n = width(op.getInput());
    ReduceKind kind = op.getKind();
    bool argmax = kind == ReduceKind::ArgMax, argmin = kind == ReduceKind::ArgMin;
    init.push_back(flat.splat(kind == ReduceKind::Max || argmax   ? -infinity
                              : kind == ReduceKind::Min || argmin ? infinity
                              : kind == ReduceKind::LogSumExp     ? kLowest
                                                                  : 0,
                              n));
    if (kind == ReduceKind::LogSumExp)
      init.push_back(flat.splat(0, n));
    if (argmax || argmin)
      init.push_back(flat.elementNumber(kernel.i64(-1), n));
  }
  for (unsigned i : maxima) {
    mpk::SoftmaxOp op = plan.softmaxes[i].op;
    init.push_back(flat.splat(kLowest, width(op.getInput())));
    init.push_back(flat.splat(0, width(op.getInput())));
  }

  auto members = loop(range.first, range.second, init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(members.getBody());
    Value position = members.getInductionVar();
    Values inner = values;
    SmallVector<Value> now(members.getRegionIterArgs());
    auto slotOfSum = [&](const AccumulatePlan *wanted) {
      size_t slot = 0;
      for (const AccumulatePlan *sum : sums) {
        if (sum == wanted)
          return slot;
        mpk::AccumulateOp op = sum->op;
        slot += hasTwoSlots(op.getKind()) ? 2 : 1;
      }
      return slot;
    };
    size_t firstSoftmax = init.size() - 2 * maxima.size();

    /// Where a score exceeds the running maximum: the new maximum, and what was summed so far times exp(old - new).
    auto rescale = [&](Value score, size_t maximumSlot, ArrayRef<std::pair<size_t, Value>> scaled, Value scoreShape) {
      Value grows = flat.greater(score, now[maximumSlot]);
      Value any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, grows);
      SmallVector<Type> types{score.getType()};
      for (auto [slot, like] : scaled)
        types.push_back(now[slot].getType());
      auto branch = scf::IfOp::create(b, loc, types, any, true);
      OpBuilder::InsertionGuard inside(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value larger = arith::SelectOp::create(b, loc, grows, score, now[maximumSlot]);
      Value factor = flat.exp(flat.sub(now[maximumSlot], larger));
      SmallVector<Value> results{larger};
      for (auto [slot, like] : scaled)
        results.push_back(flat.mul(now[slot], repeatByClass(factor, scoreShape, like)));
      scf::YieldOp::create(b, loc, results);
      b.setInsertionPointToStart(branch.elseBlock());
      SmallVector<Value> same{now[maximumSlot]};
      for (auto [slot, like] : scaled)
        same.push_back(now[slot]);
      scf::YieldOp::create(b, loc, same);
      now[maximumSlot] = branch.getResult(0);
      for (auto [i, entry] : llvm::enumerate(scaled))
        now[entry.first] = branch.getResult(i + 1);
    };

    SmallVector<Operation *> operations = operationsOfWalk(walk);
    auto ensureOperands = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand); argument && !inner.count(operand))
          inner[operand] = loadOperand(argument.getArgNumber(), owner, position);
    };
    auto sumOne = [&](const AccumulatePlan *sum) {
      mpk::AccumulateOp op = sum->op;
      ensureOperands(op);
      Value input = inner.lookup(op.getInput());
      size_t slot = slotOfSum(sum);
      switch (op.getKind()) {
      case ReduceKind::Sum:
      case ReduceKind::Mean:
        now[slot] = flat.add(now[slot], input);
        break;
      case ReduceKind::Max:
        now[slot] = flat.max(input, now[slot]);
        break;
      case ReduceKind::Min:
        now[slot] = flat.min(input, now[slot]);
        break;
      case ReduceKind::ArgMax:
      case ReduceKind::ArgMin: {
        std::tie(now[slot], now[slot + 1]) = winner(op.getKind(), input, memberAt(position), now[slot], now[slot + 1]);
        break;
      }
      case ReduceKind::LogSumExp:
        rescale(input, slot, {{slot + 1, op.getInput()}}, op.getInput());
        now[slot + 1] = flat.add(now[slot + 1], flat.exp(flat.sub(input, now[slot])));
        break;
      }
    };
    auto scoreOne = [&](unsigned order, unsigned number) {
      const SoftmaxPlan &softmax = plan.softmaxes[number];
      mpk::SoftmaxOp op = softmax.op;
      ensureOperands(op);
      Value score = inner.lookup(op.getInput());
      size_t slot = firstSoftmax + 2 * order;
      SmallVector<std::pair<size_t, Value>> scaled{{slot + 1, op.getInput()}};
      if (softmax.online)
        for (const AccumulatePlan *sum : sums)
          if (sum->online == int(number)) {
            mpk::AccumulateOp target = sum->op;
            scaled.push_back({slotOfSum(sum), target.getInput()});
          }
      rescale(score, slot, scaled, op.getInput());
      Value weight = flat.exp(flat.sub(score, now[slot]));
      now[slot + 1] = flat.add(now[slot + 1], weight);
      if (softmax.online)
        inner[op.getResult()] = weight;
    };

    for (Operation *op : operations) {
      ensureOperands(op);
      auto softmax = dyn_cast<mpk::SoftmaxOp>(op);
      if (!softmax) {
        compute(op, inner, owner, position);
        continue;
      }
      const SoftmaxPlan *found = llvm::find_if(plan.softmaxes, [&](auto &p) { return p.op == softmax; });
      if (found->online)
        scoreOne(llvm::find(maxima, found - plan.softmaxes.begin()) - maxima.begin(), found - plan.softmaxes.begin());
      else // Its log-sum-exp is known from an earlier walk.
        inner[softmax.getResult()] =
            flat.exp(flat.sub(inner.lookup(softmax.getInput()), values.lookup(softmax.getResult())));
    }
    for (auto [order, number] : llvm::enumerate(maxima))
      if (!plan.softmaxes[number].online)
        scoreOne(order, number);
    for (const AccumulatePlan *sum : sums)
      sumOne(sum);
    for (unsigned result : memberResultsOfWalk(walk)) {
      Value value = yield.getValues()[result], output = sweep.getResults()[result];
      if (auto argument = dyn_cast<BlockArgument>(value); argument && !inner.count(value))
        inner[value] = loadOperand(argument.getArgNumber(), owner, position);
      Value row = kernel.address(kernel.buffer(output), rowStart(output, memberAt(position)), element);
      storeRow(inner.lookup(value), row, value);
    }
    if (!now.empty())
      scf::YieldOp::create(b, loc, now);
  }

  // Finish.
  size_t slot = 0;
  SmallVector<Value> done(members.getResults());
  size_t firstSoftmax = init.size() - 2 * maxima.size();
  DenseMap<unsigned, Value> inverse;
  for (auto [order, number] : llvm::enumerate(maxima)) {
    mpk::SoftmaxOp op = plan.softmaxes[number].op;
    Value maximum = done[firstSoftmax + 2 * order], sum = done[firstSoftmax + 2 * order + 1];
    for (const AccumulatePlan &accumulate : plan.accumulates)
      if (accumulate.perMember && accumulate.statisticOf == int(number))
        values[accumulate.op->getResult(0)] = flat.add(maximum, flat.log(sum));
    if (!plan.softmaxes[number].online) {
      // For the later walk: what to subtract.
      values[op.getResult()] = flat.add(maximum, flat.log(sum));
      continue;
    }
    int64_t n = FlatOps::count(sum);
    Value some = flat.greater(sum, flat.splat(0, n));
    inverse[number] = arith::SelectOp::create(b, loc, some, flat.div(flat.splat(1, n), sum), flat.splat(0, n));
  }
  for (const AccumulatePlan *sum : sums) {
    mpk::AccumulateOp op = sum->op;
    Value value = done[slot++];
    if (op.getKind() == ReduceKind::LogSumExp)
      value = flat.add(value, flat.log(done[slot++]));
    if (op.getKind() == ReduceKind::ArgMax || op.getKind() == ReduceKind::ArgMin) {
      values[op.getResult()] = done[slot++]; // -1 where there are no members
      continue;
    }
    if (sum->online >= 0) {
      mpk::SoftmaxOp softmax = plan.softmaxes[sum->online].op;
      value = flat.mul(value, repeatByClass(inverse.lookup(sum->online), softmax.getInput(), op.getInput()));
    }
    if (op.getKind() == ReduceKind::Mean)
      value = flat.div(value, memberCount(range, FlatOps::count(value)));
    if (op.getKind() != ReduceKind::Sum && op.getKind() != ReduceKind::LogSumExp)
      value = whereMembers(range, value);
    values[op.getResult()] = value;
  }
}

void FlatSweep::emitTile() {
  Values values;
  for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments()))
    if (sweep.getAccessOf(i).getKind() == AccessKind::Shared)
      values[argument] = loadOperand(i, {}, {});
  levelOperations(Level::Shared, 0, values, {}, {});

  double infinity = std::numeric_limits<double>::infinity();
  SmallVector<Value> init;
  for (mpk::AccumulateOp op : plan.shared) {
    ReduceKind kind = op.getKind();
    bool least = kind == ReduceKind::Min || kind == ReduceKind::ArgMin;
    int64_t n = width(op.getInput());
    init.push_back(flat.splat(kind == ReduceKind::Max || kind == ReduceKind::ArgMax ? -infinity
                              : least                                               ? infinity
                                                                                    : 0,
                              n));
    if (namesWinner(kind))
      init.push_back(flat.elementNumber(kernel.i64(-1), n));
  }
  auto owners = loop(kernel.begin(), kernel.end(), init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(owners.getBody());
    Value owner = owners.getInductionVar();
    Values own = values;
    for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments()))
      if (sweep.getAccessOf(i).getKind() == AccessKind::Owner ||
          sweep.getAccessOf(i).getKind() == AccessKind::GatherOwner)
        own[argument] = loadOperand(i, owner, {});
    std::pair<Value, Value> range;
    if (sweep.getAlongAttr())
      range = memberRange(owner);
    levelOperations(Level::Owner, 0, own, owner, range);
    for (unsigned walk = 0; walk < plan.walks; ++walk) {
      emitWalk(walk, owner, range, own);
      levelOperations(Level::Owner, walk + 1, own, owner, range);
    }
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (sweep.getYieldOf(i).getKind() == AccessKind::Owner) {
        Value output = sweep.getResults()[i];
        storeRow(own.lookup(value), kernel.address(kernel.buffer(output), rowStart(output, owner), element), value);
      }
    SmallVector<Value> next;
    for (mpk::AccumulateOp op : plan.shared) {
      Value input = own.lookup(op.getInput()), now = owners.getRegionIterArgs()[next.size()];
      if (namesWinner(op.getKind())) {
        auto [best, number] = winner(op.getKind(), input, owner, now, owners.getRegionIterArgs()[next.size() + 1]);
        next.append({best, number});
        continue;
      }
      next.push_back(op.getKind() == ReduceKind::Max   ? flat.max(input, now)
                     : op.getKind() == ReduceKind::Min ? flat.min(input, now)
                                                       : flat.add(now, input));
    }
    if (!next.empty())
      scf::YieldOp::create(b, loc, next);
  }

  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (sweep.getYieldOf(i).getKind() != AccessKind::Shared)
      continue;
    Value output = sweep.getResults()[i];
    auto op = value.getDefiningOp<mpk::AccumulateOp>();
    if (!op) { // A shared value: the same from every block.
      storeRow(values.lookup(value), kernel.buffer(output), value);
      continue;
    }
    unsigned slot = 0;
    for (mpk::AccumulateOp earlier : llvm::make_range(plan.shared.begin(), llvm::find(plan.shared, op)))
      slot += namesWinner(earlier.getKind()) ? 2 : 1;
    Value total = owners.getResult(slot);
    if (namesWinner(op.getKind())) {
      MergeKind kind = op.getKind() == ReduceKind::ArgMax ? MergeKind::ArgMax : MergeKind::ArgMin;
      int64_t n = getFeatureElements(output.getType());
      Value partial = kernel.partial(output, kind, 2 * n, element);
      storeRow(total, partial, value);
      storeRow(owners.getResult(slot + 1), kernel.address(partial, kernel.i64(n), element), value);
      continue;
    }
    if (op.getKind() == ReduceKind::Mean)
      total = flat.mul(total, flat.splatOf(sharedMeanFactor(op), FlatOps::count(total)));
    MergeKind kind = op.getKind() == ReduceKind::Max   ? MergeKind::Max
                     : op.getKind() == ReduceKind::Min ? MergeKind::Min
                                                       : MergeKind::Sum;
    storeRow(total, kernel.partial(output, kind, getFeatureElements(output.getType()), element), value);
  }
}

} // namespace

bool cpu::fitsFlat(mpk::SweepOp sweep, const SweepPlan &plan, const CPUTarget &target) {
  TileChooser chooser(sweep, plan, target);
  chooser.choose();
  return chooser.fits();
}

void cpu::emitFlatSweep(mpk::SweepOp sweep, const SweepPlan &plan, const CPUTarget &target, KernelBuilder &kernel) {
  FlatSweep(sweep, plan, target, kernel).run();
}
