//===- FlatSweep.cpp - A sweep on flat vectors ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatSweep.h"
#include "Flat/FlatWalk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <utility>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

/// Nothing is cut.
static Tiling wholeRows(const AxisClasses &axes) {
  Tiling tiling;
  for (unsigned cls = 0; cls < axes.size(); ++cls)
    tiling.tile.push_back(axes.extent(cls));
  return tiling;
}

FlatSweep::FlatSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel,
                     const Staging *staging)
    : SweepBase(sweep, plan, target, kernel), staging(staging),
      full(staging ? wholeRows(plan.axes) : chooseTiles(sweep, plan, target)), tiling(full) {
  int64_t lanes = target.registerBytes() * 8 / elementBits();
  for (unsigned walk = 0; walk < plan.walks; ++walk) {
    WalkOperations found = findWalk(sweep, plan, walk);
    InnerCut cut =
        staging ? InnerCut()
                : chooseInnerCut(found, plan, target, lanes, [&](Value v) { return full.shapeOf(v, plan.axes); });
    cuts.push_back({std::move(found.axes), cut});
  }
}

void FlatSweep::run() {
  offsets.assign(plan.axes.size(), Value());
  if (sweep.getAlongAttr() && !sweep.getPairsAttr()) {
    Value pointers = kernel.index({IndexKind::Pointers, sweep.getAlongAttr(), {}});
    lastMember = kernel.add(kernel.loadIndex(pointers, kernel.end()), kernel.i64(-1));
  }
  emitTiles(0);
}

SmallVector<int64_t> FlatSweep::shape(Value value) {
  SmallVector<int64_t> result = tiling.shapeOf(value, plan.axes);
  if (int axis = innerAxis(value); axis >= 0)
    result[axis] = inner->cut.size;
  return result;
}

int FlatSweep::innerAxis(Value value) {
  if (!inner || !inner->axes.knows(value))
    return -1;
  ArrayRef<int> own = inner->axes.of(value);
  const int *found = llvm::find(own, inner->cut.cls);
  return found == own.end() ? -1 : found - own.begin();
}

void FlatSweep::emitTiles(unsigned cls) {
  if (cls == plan.axes.size())
    return emitTile();
  int64_t extent = plan.axes.extent(cls), tile = full.tile[cls], whole = extent / tile, rest = extent % tile;
  tiling.tile[cls] = tile;
  if (tile == extent) {
    offsets[cls] = Value();
    return emitTiles(cls + 1);
  }
  {
    auto tiles = scf::ForOp::create(b, loc, kernel.i64(0), kernel.i64(whole * tile), kernel.i64(tile));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(tiles.getBody());
    offsets[cls] = tiles.getInductionVar();
    emitTiles(cls + 1);
  }
  if (rest > 0) {
    tiling.tile[cls] = rest;
    offsets[cls] = kernel.i64(whole * tile);
    emitTiles(cls + 1);
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
  if (int axis = innerAxis(source); axis >= 0)
    base = kernel.add(base, kernel.mul(innerBegin, strides[axis]));
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
  bool partial;
  Value row = operandRow(operand, owner, position, partial);
  auto read = [&] {
    if (mpdfg::DegreeOp degree = degreeOf(operand))
      return flat.splatOf(loadDegree(degree, row), 1);
    return loadRow(kernel.buffer(input), rowStart(input, row), argument);
  };
  if (!partial)
    return read();
  FloatAttr fill = sweep.getAccessOf(operand).getFill();
  Value defined = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, kernel.i64(0));
  auto branch = scf::IfOp::create(b, loc, TypeRange{flat.type(width(argument))}, defined, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, read());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, flat.splat(fill ? fill.getValueAsDouble() : 0, width(argument)));
  return branch.getResult(0);
}

/// Only rows of several cache lines, or what a tile reads of them: they come from further away than out-of-order
/// execution sees ahead.
void FlatSweep::prefetch(ArrayRef<RowsAhead> rows, ArrayRef<Value> positions, Value last) {
  constexpr int64_t kLineBits = 64 * 8;
  auto bitsOf = [&](unsigned i) { // in memory
    return cast<RankedTensorType>(sweep.getInputs()[i].getType()).getElementTypeBitWidth();
  };
  SmallVector<RowsAhead> wide;
  llvm::copy_if(rows, std::back_inserter(wide), [&](const RowsAhead &of) {
    return getFeatureElements(sweep.getBody().getArgument(of.operand).getType()) * bitsOf(of.operand) > kLineBits;
  });
  if (wide.empty())
    return;
  int64_t bytes = 0; // of what is read for a position
  for (const RowsAhead &of : wide)
    bytes += width(sweep.getBody().getArgument(of.operand)) * bitsOf(of.operand) / 8;
  Value distance = kernel.i64(std::clamp(kBytesAhead / std::max<int64_t>(bytes, 1), kLeastAhead, kMostAhead));
  for (const RowsAhead &of : wide) {
    Value input = sweep.getInputs()[of.operand], buffer = kernel.buffer(input), index = kernel.index(of.index);
    int64_t step = kLineBits / bitsOf(of.operand);
    for (Value position : positions) {
      Value ahead = arith::MinSIOp::create(b, loc, kernel.add(position, distance), last);
      Value start = rowStart(input, kernel.loadIndex(index, ahead));
      forEachRun(sweep.getBody().getArgument(of.operand), [&](Value offset, int64_t, int64_t run) {
        for (int64_t at = 0; at < run; at += step)
          LLVM::Prefetch::create(b, loc,
                                 kernel.address(buffer, kernel.add(kernel.add(start, offset), kernel.i64(at)), element),
                                 /*rw=*/0, /*hint=*/3, /*cache=*/1);
      });
    }
  }
}

void FlatSweep::prefetchForOwners(ArrayRef<Value> owners) {
  SmallVector<RowsAhead> rows;
  FlatSymbolRefAttr along = kernel.getPositions();
  for (unsigned i = 0; i < sweep.getInputs().size(); ++i) {
    Value input = sweep.getInputs()[i];
    mpk::AccessAttr access = sweep.getAccessOf(i);
    if (kernel.isAtHand(input) || kernel.isThroughOwner(input) || degreeOf(i))
      continue;
    if (access.getKind() == AccessKind::Owner && along)
      rows.push_back({i, {IndexKind::Members, along, {}}});
    else if (access.getKind() == AccessKind::GatherOwner && !mapIsPartial(access.getMap()))
      rows.push_back({i, gatherIndex(i)});
  }
  if (!rows.empty())
    prefetch(rows, owners, kernel.add(kernel.end(), kernel.i64(-1)));
}

Value FlatSweep::elementwise(Operation *op, function_ref<Value(Value)> get) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<UnaryOp>(
          [&](UnaryOp u) { return flat.unary(u.getKind(), get(u.getInput()), u.getAlpha().convertToDouble()); })
      .Case<BinaryOp>([&](BinaryOp o) {
        Value x = get(o.getLhs());
        auto bound = o.getRhs().getDefiningOp<ConstantOp>();
        if (o.getKind() == BinaryKind::Lt && bound && o.getLhs().getDefiningOp<RandomOp>())
          return flat.randomBelow(x, bound.getValue().convertToDouble());
        return flat.binary(o.getKind(), x, get(o.getRhs()));
      })
      .Case<SelectOp>([&](SelectOp s) {
        Value condition = get(s.getCondition()), yes = get(s.getTrueValue());
        return flat.select(condition, yes, get(s.getFalseValue()));
      })
      .Case<IsElementOp>([&](IsElementOp e) {
        Value numbers = get(e.getNumbers());
        return flat.isElement(numbers, get(e.getElement()));
      })
      .Case<RandomOp>([&](RandomOp r) {
        Value low = get(r.getSeedLow()), high = get(r.getSeedHigh()), step = get(r.getStep()), at = get(r.getElement());
        return flat.random(low, high, step, at, get(r.getFeature()), r.getSite(), isInFours(r));
      })
      .Case<ReshapeOp, DetachOp>([&](Operation *same) { return get(same->getOperand(0)); })
      .Default([](Operation *) { return Value(); });
}

/// Whether the features of a row are counted on, in groups of four that begin at multiples of four.
bool FlatSweep::isInFours(RandomOp op) {
  Value features = op.getFeature();
  if (!features.getDefiningOp<IotaOp>() || width(features) != width(op.getResult()))
    return false;
  for (Value other : {op.getSeedLow(), op.getSeedHigh(), op.getStep(), op.getElement()})
    if (width(other) != 1)
      return false;
  // Axes that are whole, from the last on, and the one before them are a run; its neighbours begin where a whole axis
  // ends.
  ArrayRef<int64_t> whole = shapeOf(features);
  SmallVector<int64_t> part = shape(features);
  int64_t run = 1, next = 1;
  for (size_t axis = whole.size(); axis-- > 0;) {
    run *= part[axis];
    next *= whole[axis];
    if (part[axis] != whole[axis])
      break;
  }
  return run % 4 == 0 && next % 4 == 0;
}

void FlatSweep::compute(Operation *op, Values &values, Value owner, Value position) {
  auto get = [&](Value value) { return values.lookup(value); };
  Value result = op->getResult(0);
  SmallVector<int64_t> to = shape(result);
  bool sameAxes = !isa<ReshapeOp>(op);
  if (Value done = elementwise(
          op, [&](Value value) { return sameAxes ? flat.repeat(get(value), shape(value), to) : get(value); })) {
    values[result] = done;
    return;
  }
  values[result] =
      TypeSwitch<Operation *, Value>(op)
          .Case<ConstantOp>([&](ConstantOp c) { return flat.splat(c.getValue().convertToDouble(), width(result)); })
          .Case<ExtentOp>([&](ExtentOp e) {
            Value count = kernel.extent(spaceNumber(e.getSpaceAttr()));
            return flat.splatOf(arith::SIToFPOp::create(b, loc, element, count), width(result));
          })
          .Case<ElementOp>([&](ElementOp e) { return flat.elementNumber(elementAt(e, owner, position), 1); })
          .Case<IotaOp>([&](IotaOp) { return iota(result); })
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
          });
}

/// Fills `values` with what is known of a level before walk `phase`: operations in order, accumulations of values that
/// do not depend on the member by their count.
void FlatSweep::levelOperations(Level level, unsigned phase, Values &values, Value owner, Range range,
                                function_ref<bool(Operation *)> wanted) {
  for (Operation &op : sweep.getBody().front()) {
    if (wanted && !wanted(&op))
      continue;
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
    case ReduceKind::SoftmaxShift:
    case ReduceKind::SoftmaxScale:
      values[accumulate.getResult()] =
          flat.statisticOfEqual(accumulate.getKind(), input, memberCount(range, width(accumulate.getInput())));
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

Value FlatSweep::memberCount(Range range, int64_t lanes) {
  Value count = arith::SubIOp::create(b, loc, range.second, range.first);
  return flat.splatOf(arith::SIToFPOp::create(b, loc, element, count), lanes);
}

/// `value` if the owner has members, else 0.
Value FlatSweep::whereMembers(Range range, Value value) {
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, range.second, range.first);
  return arith::SelectOp::create(b, loc, any, value, flat.splat(0, FlatOps::count(value)));
}

/// The better of an element and the best so far, with its number.
std::pair<Value, Value> FlatSweep::winner(ReduceKind kind, Value input, Value element, Value best, Value number) {
  Value better = flat.beats(input, best, kind == ReduceKind::ArgMax);
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

Value FlatSweep::innerPart(Value value, Value whole) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return flat.splat(constant.getValue().convertToDouble(), width(value));
  if (value.getDefiningOp<IotaOp>())
    return iota(value);
  Value &row = innerRows[value];
  if (!row) {
    row = kernel.scratch(getFeatureElements(value.getType()), element);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(innerTiles);
    const WalkCut *cut = std::exchange(inner, nullptr);
    storeRow(whole, row, value);
    inner = cut;
  }
  return loadRow(row, kernel.i64(0), value);
}

/// One walk, once for each tile of its inner cut. What the tiles find goes through stack memory, so that there is one
/// piece of code for all of them.
void FlatSweep::emitWalk(unsigned walk, Value owner, Range range, Values &values) {
  const WalkCut &own = cuts[walk];
  if (own.cut.cls < 0) {
    for (auto [value, found] : FlatWalk(*this, walk, owner, range, values).run())
      values[value] = found;
    return;
  }
  SmallVector<std::pair<Value, Value>> rows;
  innerTiles = loop(kernel.i64(0), kernel.i64(own.cut.extent), {}, own.cut.size);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(innerTiles.getBody());
    inner = &own;
    innerBegin = innerTiles.getInductionVar();
    for (auto [value, part] : FlatWalk(*this, walk, owner, range, values).run()) {
      Value row = kernel.scratch(getFeatureElements(value.getType()), element);
      storeRow(part, row, value);
      rows.push_back({value, row});
    }
    inner = nullptr;
    innerRows.clear();
  }
  for (auto [value, row] : rows)
    values[value] = loadRow(row, kernel.i64(0), value);
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
  if (staging) { // Nothing is at hand before the first member of the block.
    Value first = kernel.loadIndex(kernel.index({IndexKind::Pointers, sweep.getAlongAttr(), {}}), kernel.begin());
    init.append({first, first});
  }
  Value from = kernel.begin();
  if (unsigned count = sweep.getAlongAttr() ? 1 : OwnerGroup::chooseCount(*this); count > 1) {
    Value rows = arith::SubIOp::create(b, loc, kernel.end(), from);
    Value middle = kernel.add(from, arith::AndIOp::create(b, loc, rows, kernel.i64(-int64_t(count))));
    auto groups = loop(from, middle, init, count);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(groups.getBody());
    OwnerGroup group(*this, values, count, groups.getInductionVar());
    group.prefetch();
    SmallVector<Value> next = group.accumulate(groups.getRegionIterArgs());
    group.writeResults();
    if (!next.empty())
      scf::YieldOp::create(b, loc, next);
    init.assign(groups.getResults().begin(), groups.getResults().end());
    from = middle;
  }
  SmallVector<Value> totals = emitOwners(values, from, init);

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
    Value total = totals[slot];
    if (namesWinner(op.getKind())) {
      MergeKind kind = op.getKind() == ReduceKind::ArgMax ? MergeKind::ArgMax : MergeKind::ArgMin;
      int64_t n = getFeatureElements(output.getType());
      Value partial = kernel.partial(output, kind, 2 * n, element);
      storeRow(total, partial, value);
      storeRow(totals[slot + 1], kernel.address(partial, kernel.i64(n), element), value);
      continue;
    }
    if (op.getKind() == ReduceKind::Mean)
      total = flat.mul(total, flat.splatOf(sharedMeanFactor(op), FlatOps::count(total)));
    MergeKind kind = op.getKind() == ReduceKind::Max   ? MergeKind::Max
                     : op.getKind() == ReduceKind::Min ? MergeKind::Min
                                                       : MergeKind::Sum;
    Value partial = kernel.partial(output, kind, getFeatureElements(output.getType()), element);
    if (kernel.addsToPartials()) {
      Value before = loadRow(partial, kernel.i64(0), value);
      total = kind == MergeKind::Max   ? flat.max(total, before)
              : kind == MergeKind::Min ? flat.min(total, before)
                                       : flat.add(before, total);
    }
    storeRow(total, partial, value);
  }
}

bool FlatSweep::isCut() const {
  for (unsigned cls = 0; cls < plan.axes.size(); ++cls)
    if (full.tile[cls] != plan.axes.extent(cls))
      return true;
  return llvm::any_of(cuts, [](const WalkCut &own) { return own.cut.cls >= 0; });
}

bool FlatSweep::readsStaged(unsigned walk) {
  SmallVector<Operation *> operations = operationsOfWalk(walk);
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk == walk)
      operations.push_back(accumulate.op);
  auto isAtHand = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && kernel.isAtHand(sweep.getInputs()[argument.getArgNumber()]);
  };
  return llvm::any_of(operations, [&](Operation *op) { return llvm::any_of(op->getOperands(), isAtHand); }) ||
         llvm::any_of(memberResultsOfWalk(walk), [&](unsigned i) { return isAtHand(yield.getValues()[i]); }) ||
         llvm::any_of(plan.softmaxes, [&](const SoftmaxPlan &softmax) {
           return softmax.walk == walk && isAtHand(mpk::SoftmaxOp(softmax.op).getInput());
         });
}

bool cpu::fitsFlat(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target) {
  return chooseTiles(sweep, plan, target).isNarrow;
}

bool cpu::fitsUncut(mpk::SweepOp sweep, const SweepPlan &plan, KernelBuilder &kernel) {
  return !FlatSweep(sweep, plan, kWidestTarget, kernel, nullptr).isCut();
}

void cpu::emitFlatSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel,
                        const Staging *staging) {
  FlatSweep(sweep, plan, target, kernel, staging).run();
}
