//===- TileSweep.cpp - A sweep that multiplies its members ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members (or, in a sweep without them, owners) are taken a tile at a time, whatever owners they belong to. Their rows
// go through rounds, in stack memory of fixed size:
//
//   for each tile of at most T rows:
//     for each round:
//       the rows that this round's products multiply: a sweep over the tile (lib/Target/CPU/Flat or RowSweep)
//       this round's products, and sums of outer products, which are added to the block's partial result
//     what is left: the rows that are accumulated, and the accumulations
//
// Each piece is an operation of its own (mpk.sweep, mpk.product, mpk.outer_sum) on values that stand for scratch memory
// or for the operands of the sweep, so nothing is emitted here but the loop over tiles.
//
//===----------------------------------------------------------------------===//

#include "SweepBase.h"
#include "SweepEmitter.h"
#include "dialects/mpk/IR/BodySlice.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using namespace gnnc::mpdfg;
using mpk::AccessAttr;
using mpk::AccessKind;
using mpk::Level;

namespace {

/// Scratch memory of a tile, and its rows: whole register tiles of products where possible.
constexpr int64_t kTileBytes = 192 << 10, kMostTileRows = 72, kLeastTileRows = 6;
/// The same where there are no products: whole registers of narrow rows, which the first-level cache keeps.
constexpr int64_t kStageBytes = 8 << 10, kMostStageRows = 128, kLeastStageRows = 32;

class TileSweep {
public:
  TileSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel);
  LogicalResult run();
  /// A sweep along a map without products, of whose values `staged` are made a tile at a time.
  void runStaged(ArrayRef<Value> staged);

private:
  /// Rows in scratch memory: the value that stands for them in pieces.
  struct Rows {
    Value standIn, pointer;
    int64_t width;
  };
  /// What is done with the rows of one round.
  struct Round {
    SmallVector<Value> made; ///< by a sweep over the tile
    SmallVector<ContractOp> products, outers;
  };

  bool isOfTile(Value value) const { return plan.levels.lookup(value) == tileLevel; }
  bool isProduct(Operation *op) const { return mpk::isTiled(op) && !isOuter(op); }
  bool isOuter(Operation *op) const {
    return mpk::isTiled(op) && isOfTile(op->getOperand(0)) && isOfTile(op->getOperand(1));
  }
  LogicalResult findRounds();
  void requestMemory();
  void allocate();

  /// A sweep in the holder that computes `results` from the operands of the original one and from scratch rows.
  mpk::SweepOp makePiece(ValueRange results, ArrayRef<Attribute> yields, TypeRange types, FlatSymbolRefAttr along);
  Value standInFor(BlockArgument argument, AccessAttr &access, bool positions);
  AccessAttr access(AccessKind kind, FlatSymbolRefAttr map = {}, FloatAttr fill = {}) {
    return AccessAttr::get(sweep.getContext(), kind, map, fill);
  }
  Type onTile(Value value) {
    return getTensorOn(space, ShapedType::kDynamic, getFeatureShape(value.getType()), element);
  }
  Value holderArgument(Type type) { return holder->getBody()->addArgument(type, loc); }

  void seeRows(Value from);
  void emitRound(const Round &round);
  void emitTiles();
  void emitSums();
  void clearPartials();

  mpk::SweepOp sweep;
  const SweepPlan &plan;
  const Processor &target;
  KernelBuilder &kernel;
  OpBuilder &b;
  Location loc;
  Type element;
  mpk::YieldOp yield;
  Level tileLevel;
  FlatSymbolRefAttr space; ///< of what tiles are made of
  int64_t tileRows = 0;
  OwningOpRef<ModuleOp> holder;
  SmallVector<Round> rounds;
  SmallVector<Value> finalRows;      ///< rows that are accumulated or written for members
  llvm::MapVector<Value, Rows> rows; ///< body values in scratch memory
  DenseMap<Value, unsigned> roundOf; ///< body values of tiles: how many products they need one after the other
};

} // namespace

TileSweep::TileSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel)
    : sweep(sweep), plan(plan), target(target), kernel(kernel), b(kernel.builder()), loc(kernel.loc()),
      element(mpdfg::getElementType(sweep.getResult(0).getType()).getElementType()),
      yield(cast<mpk::YieldOp>(sweep.getBody().front().getTerminator())),
      tileLevel(sweep.getAlongAttr() ? Level::Member : Level::Owner), space(sweep.getOverAttr()),
      // Code for several levels is made at the same time, so nothing is added to the uses of the module's values.
      holder(ModuleOp::create(loc)) {
  if (FlatSymbolRefAttr along = sweep.getAlongAttr())
    space = SymbolTable::lookupNearestSymbolFrom<MapOp>(sweep, along).getFromAttr();
  OpBuilder own = OpBuilder::atBlockEnd(holder->getBody());
  for (Operation &op : *sweep->getParentOfType<ModuleOp>().getBody())
    if (isa<SpaceOp, MapOp>(op))
      own.clone(op);
}

/// Sorts products by the products they need, and finds the rows that each round has to make.
LogicalResult TileSweep::findRounds() {
  Block &body = sweep.getBody().front();
  DenseSet<Value> late; // depends on a softmax over the members, or on what they accumulate
  auto roundAt = [&](unsigned round) -> Round & {
    if (rounds.size() <= round)
      rounds.resize(round + 1);
    return rounds[round];
  };
  auto need = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && isProduct(op)) // In memory after its round.
      return;
    SmallVector<Value> &made = roundAt(roundOf.lookup(value)).made;
    if (!llvm::is_contained(made, value))
      made.push_back(value);
  };
  for (Operation &op : body.without_terminator()) {
    unsigned round = 0;
    for (Value operand : op.getOperands()) {
      round = std::max(round, roundOf.lookup(operand));
      if (late.contains(operand))
        late.insert_range(op.getResults());
    }
    // What an owner's own values accumulate to is known before the walk, but not to a piece without owners.
    bool accumulated = isa<mpk::AccumulateOp>(op) && sweep.getAlongAttr();
    if (isa<mpk::SoftmaxOp>(op) || accumulated ||
        (isOfTile(op.getResult(0)) && plan.phases.lookup(op.getResult(0)) > 0))
      late.insert(op.getResult(0));
    if (mpk::isTiled(&op)) {
      if (!isOfTile(op.getResult(0)))
        return op.emitOpError() << "in tiles is of members, or of owners where the sweep has no members";
      for (Value operand : op.getOperands())
        if (late.contains(operand) || plan.phases.lookup(operand) > 0)
          return op.emitOpError() << "of what its own sweep accumulates is not supported by the cpu target";
      auto contract = cast<ContractOp>(op);
      if (isOuter(&op)) {
        auto sum = op.hasOneUse() ? dyn_cast<mpk::AccumulateOp>(*op.user_begin()) : mpk::AccumulateOp();
        if (!sum || !sum.getShared() || sum.getKind() != ReduceKind::Sum || sweep.getAlongAttr())
          return op.emitOpError() << "expected an outer product in tiles to be summed over everything, once";
        need(contract.getLhs());
        need(contract.getRhs());
        roundAt(round).outers.push_back(contract);
      } else {
        if (!isa<BlockArgument>(contract.getRhs()))
          return op.emitOpError() << "expected a product in tiles to have its weight in memory";
        need(contract.getLhs());
        roundAt(round++).products.push_back(contract);
      }
    }
    for (Value result : op.getResults())
      roundOf[result] = isa<mpk::AccumulateOp>(op) ? 0 : round;
  }
  if (!sweep.getAlongAttr())
    return success();
  // What accumulations and softmaxes read, as far as it is known before.
  auto last = [&](Value value) {
    if (!isOfTile(value) || late.contains(value) || isa<BlockArgument>(value))
      return;
    if (!llvm::is_contained(finalRows, value))
      finalRows.push_back(value);
    need(value);
  };
  for (Operation &op : body.without_terminator())
    if (isa<mpk::AccumulateOp, mpk::SoftmaxOp>(op) || (op.getNumResults() == 1 && late.contains(op.getResult(0))))
      for (Value operand : op.getOperands())
        last(operand);
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member)
      last(value);
  return success();
}

/// Buffers and indices in one order, whatever order the pieces ask in: see SweepBase.
void TileSweep::requestMemory() {
  for (Value input : sweep.getInputs())
    kernel.declare(input);
  for (Value result : sweep.getResults())
    kernel.buffer(result);
  FlatSymbolRefAttr along = sweep.getAlongAttr();
  if (along) {
    kernel.index({IndexKind::Pointers, along, {}});
    kernel.index({IndexKind::Members, along, {}});
    kernel.index({IndexKind::Sorted, along, along});
  }
  for (unsigned i = 0; i < sweep.getInputs().size(); ++i) {
    AccessAttr how = sweep.getAccessOf(i);
    if (how.getKind() == AccessKind::GatherOwner)
      kernel.index({IndexKind::Raw, how.getMap(), {}});
    if (how.getKind() == AccessKind::GatherMember)
      kernel.index({IndexKind::Sorted, along, how.getMap()});
  }
}

void TileSweep::allocate() {
  auto add = [&](Value value) {
    if (!rows.contains(value))
      rows[value] = {holderArgument(onTile(value)), Value(), getFeatureElements(value.getType())};
  };
  for (Round &round : rounds) {
    for (Value value : round.made)
      add(value);
    for (ContractOp product : round.products)
      add(product.getResult());
  }
}

Value TileSweep::standInFor(BlockArgument argument, AccessAttr &how, bool positions) {
  unsigned number = argument.getArgNumber();
  Value original = sweep.getInputs()[number], standIn;
  if (auto degree = original.getDefiningOp<DegreeOp>()) { // Read off the index.
    OpBuilder own = OpBuilder::atBlockEnd(holder->getBody());
    standIn = DegreeOp::create(own, loc, original.getType(), degree.getAlongAttr());
  } else {
    standIn = holderArgument(original.getType());
    kernel.setStandIn(standIn, original);
  }
  how = sweep.getAccessOf(number);
  if (positions) // Rows of the piece are members.
    switch (how.getKind()) {
    case AccessKind::Shared:
      break;
    case AccessKind::Member:
      how = access(AccessKind::Owner);
      break;
    case AccessKind::GatherMember:
      how = access(AccessKind::GatherOwner, how.getMap(), how.getFill());
      break;
    case AccessKind::Owner:
      how = access(AccessKind::GatherOwner, sweep.getAlongAttr());
      break;
    case AccessKind::GatherOwner:
      kernel.setThroughOwner(standIn);
      break;
    }
  return standIn;
}

mpk::SweepOp TileSweep::makePiece(ValueRange results, ArrayRef<Attribute> yields, TypeRange types,
                                  FlatSymbolRefAttr along) {
  bool positions = sweep.getAlongAttr() && !along;
  DenseSet<Value> asked(results.begin(), results.end());
  // What is in scratch memory is read from there, but for what this piece is to make.
  mpk::BodySlice slice(results, [&](Value value) {
    return rows.contains(value) && !(asked.contains(value) && !along && !isProduct(value.getDefiningOp()));
  });
  SmallVector<Value> inputs;
  SmallVector<Attribute> accesses;
  for (Value leaf : slice.getLeaves()) {
    AccessAttr how = access(along ? AccessKind::Member : AccessKind::Owner);
    auto argument = dyn_cast<BlockArgument>(leaf);
    inputs.push_back(argument ? standInFor(argument, how, positions) : rows.find(leaf)->second.standIn);
    accesses.push_back(how);
  }
  OpBuilder own = OpBuilder::atBlockEnd(holder->getBody());
  auto piece = mpk::SweepOp::create(own, loc, types, along ? sweep.getOverAttr() : space, along, inputs,
                                    own.getArrayAttr(accesses), own.getArrayAttr(yields));
  slice.cloneInto(piece.getBody(), [&](Operation *clone) {
    if (auto number = dyn_cast<ElementOp>(clone); number && positions) {
      if (!number.getMember())
        clone->setAttr(mpk::kOfOwnerAttr, own.getUnitAttr());
      number.setMember(false);
    }
  });
  return piece;
}

/// Lets scratch rows stand for the rows from `from` on.
void TileSweep::seeRows(Value from) {
  for (auto &[value, memory] : rows)
    kernel.setBuffer(memory.standIn, kernel.address(memory.pointer, kernel.mul(from, -memory.width), element));
}

/// `from` and `to` are the kernel's rows.
void TileSweep::emitRound(const Round &round) {
  if (!round.made.empty()) {
    SmallVector<Type> types;
    for (Value value : round.made)
      types.push_back(onTile(value));
    mpk::SweepOp piece =
        makePiece(round.made, SmallVector<Attribute>(types.size(), access(AccessKind::Owner)), types, {});
    for (auto [value, result] : llvm::zip(round.made, piece.getResults()))
      kernel.setBuffer(result, kernel.buffer(rows[value].standIn));
    emitRowsOf(piece, target, kernel);
  }
  OpBuilder own = OpBuilder::atBlockEnd(holder->getBody());
  auto count = [&](ArrayRef<int64_t> shape) { return own.getI64IntegerAttr(RefTensor::product(shape)); };
  for (ContractOp contract : round.products) {
    // Labels are in the order batch, k of x; batch, n of y, or m in the place of batch.
    ArrayRef<int64_t> x = contract.getLhsLabels(), w = contract.getRhsLabels(), y = contract.getOutLabels();
    ArrayRef<int64_t> xShape = getFeatureShape(contract.getLhs().getType()),
                      yShape = getFeatureShape(contract.getType());
    size_t first = 0;
    while (first < x.size() && llvm::is_contained(y, x[first]))
      ++first;
    bool batched = first > 0 && llvm::is_contained(w, x.front());
    IntegerAttr leading = count(xShape.take_front(first)), one = own.getI64IntegerAttr(1);
    Value weight = holderArgument(contract.getRhs().getType());
    kernel.setStandIn(weight, sweep.getInputs()[cast<BlockArgument>(contract.getRhs()).getArgNumber()]);
    const Rows &result = rows[contract.getResult()];
    auto product = mpk::ProductOp::create(own, loc, onTile(contract.getResult()), FlatSymbolRefAttr(space),
                                          rows[contract.getLhs()].standIn, weight, batched ? leading : one,
                                          batched ? one : leading, count(xShape.drop_front(first)),
                                          count(yShape.drop_front(first)), FlatSymbolRefAttr(), FlatSymbolRefAttr());
    kernel.setBuffer(product.getResult(0), kernel.buffer(result.standIn));
    emitProductRows(product, target, kernel);
  }
  for (ContractOp contract : round.outers) {
    ArrayRef<int64_t> x = contract.getLhsLabels(), g = contract.getRhsLabels();
    ArrayRef<int64_t> xShape = getFeatureShape(contract.getLhs().getType()),
                      gShape = getFeatureShape(contract.getRhs().getType());
    size_t first = 0;
    while (first < x.size() && llvm::is_contained(g, x[first]))
      ++first;
    auto accumulate = cast<mpk::AccumulateOp>(*contract->user_begin());
    Value original =
        sweep.getResults()[llvm::find(yield.getValues(), accumulate.getResult()) - yield.getValues().begin()];
    auto sum = mpk::OuterSumOp::create(own, loc, original.getType(), space, rows[contract.getLhs()].standIn,
                                       rows[contract.getRhs()].standIn, count(xShape.take_front(first)),
                                       count(xShape.drop_front(first)), count(gShape.drop_front(first)),
                                       FlatSymbolRefAttr(), FlatSymbolRefAttr(), FlatSymbolRefAttr());
    kernel.setStandIn(sum.getResult(), original);
    emitOuterRows(sum, target, kernel);
  }
}

/// Blocks' partial results before the first tile.
void TileSweep::clearPartials() {
  for (auto [value, result] : llvm::zip(yield.getValues(), sweep.getResults())) {
    auto op = value.getDefiningOp<mpk::AccumulateOp>();
    if (!op || !op.getShared())
      continue;
    bool most = op.getKind() == ReduceKind::Max, least = op.getKind() == ReduceKind::Min;
    double infinity = std::numeric_limits<double>::infinity();
    Value start = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, most ? -infinity : least ? infinity : 0));
    int64_t count = getFeatureElements(op.getType());
    Value partial = kernel.partial(result,
                                   most    ? MergeKind::Max
                                   : least ? MergeKind::Min
                                           : MergeKind::Sum,
                                   count, element);
    auto fill = scf::ForOp::create(b, loc, kernel.i64(0), kernel.i64(count), kernel.i64(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(fill.getBody());
    kernel.store(start, kernel.address(partial, fill.getInductionVar(), element), element);
  }
}

/// A sweep without members: the rows of its owners, tile by tile.
void TileSweep::emitTiles() {
  clearPartials();
  kernel.setAddsToPartials();
  // Each sum over everything is a piece of its own: a piece may be cut along axes that another sum does not have, and
  // would add that one once for each cut.
  SmallVector<SmallVector<unsigned>> pieces(1);
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    auto op = value.getDefiningOp<mpk::AccumulateOp>();
    if (!op)
      pieces.front().push_back(i);
    else if (!isOuter(op.getInput().getDefiningOp()))
      pieces.push_back({unsigned(i)});
  }
  int64_t most = tileRows;
  Value begin = kernel.begin(), end = kernel.end();
  auto tiles = scf::ForOp::create(b, loc, begin, end, kernel.i64(most));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(tiles.getBody());
  Value from = tiles.getInductionVar(), to = arith::MinSIOp::create(b, loc, kernel.add(from, kernel.i64(most)), end);
  seeRows(from);
  kernel.setRows(from, to);
  for (const Round &round : rounds)
    emitRound(round);
  for (ArrayRef<unsigned> results : pieces) {
    SmallVector<Value> values;
    SmallVector<Attribute> yields;
    SmallVector<Type> types;
    for (unsigned i : results) {
      values.push_back(yield.getValues()[i]);
      yields.push_back(sweep.getYields()[i]);
      types.push_back(sweep.getResultTypes()[i]);
    }
    if (results.empty())
      continue;
    mpk::SweepOp piece = makePiece(values, yields, types, {});
    for (auto [result, i] : llvm::zip(piece.getResults(), results))
      kernel.setStandIn(result, sweep.getResults()[i]);
    emitRowsOf(piece, target, kernel);
  }
}

/// A sweep along a map: what is accumulated of a tile's rows is left to an ordinary walk.
void TileSweep::emitSums() {
  mpk::SweepOp sums =
      makePiece(yield.getValues(), llvm::to_vector(sweep.getYields()), sweep.getResultTypes(), sweep.getAlongAttr());
  for (auto [result, original] : llvm::zip(sums.getResults(), sweep.getResults()))
    kernel.setStandIn(result, original);
  // Rows count as memory at hand from the beginning.
  seeRows(kernel.i64(0));
  Staging staging;
  staging.rows = tileRows;
  staging.see = [&](Value from) { seeRows(from); };
  staging.make = [&](Value from, Value to) {
    seeRows(from);
    kernel.setRows(from, to);
    kernel.setPositions(sweep.getAlongAttr());
    for (const Round &round : rounds)
      emitRound(round);
    kernel.setPositions({});
    kernel.setRows({}, {});
  };
  SweepPlan own(sums);
  emitFlatSweep(sums, own, target, kernel, &staging);
}

LogicalResult TileSweep::run() {
  for (mpk::AccumulateOp op : plan.shared)
    if (namesWinner(op.getKind()))
      return op.emitOpError() << "beside products in tiles is not supported by the cpu target";
  if (failed(findRounds()))
    return failure();
  requestMemory();
  allocate();
  int64_t width = 0;
  for (auto &[value, memory] : rows)
    width += memory.width;
  int64_t bits = element.getIntOrFloatBitWidth();
  tileRows = std::clamp(kTileBytes / std::max<int64_t>(1, width * bits / 8), kLeastTileRows, kMostTileRows) / 6 * 6;
  for (auto &[value, memory] : rows)
    memory.pointer = kernel.scratch(tileRows * memory.width, element);
  if (sweep.getAlongAttr())
    emitSums();
  else
    emitTiles();
  return success();
}

void TileSweep::runStaged(ArrayRef<Value> staged) {
  rounds.emplace_back().made.assign(staged.begin(), staged.end());
  requestMemory();
  allocate();
  int64_t width = 0;
  for (auto &[value, memory] : rows)
    width += memory.width * element.getIntOrFloatBitWidth() / 8;
  tileRows = std::clamp(kStageBytes / width, kLeastStageRows, kMostStageRows) / 32 * 32;
  for (auto &[value, memory] : rows)
    memory.pointer = kernel.scratch(tileRows * memory.width, element);
  emitSums();
}

void cpu::emitStagedSweep(mpk::SweepOp sweep, const SweepPlan &plan, ArrayRef<Value> staged, const Processor &target,
                          KernelBuilder &kernel) {
  TileSweep(sweep, plan, target, kernel).runStaged(staged);
}

LogicalResult cpu::emitTileSweep(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target,
                                 KernelBuilder &kernel) {
  return TileSweep(sweep, plan, target, kernel).run();
}
