//===- CostModel.cpp - What operations and kernels cost -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/CostModel.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/Analysis/SweepPlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The maximum, the exponential (16), the sum and the division of a softmax or log-sum-exp, for one number.
constexpr int64_t kSoftmaxFlops = 19;
/// Index arrays are 32 bits wide.
constexpr int64_t kIndexBytes = 4;

SymbolicExpr extentOf(FlatSymbolRefAttr space, int64_t factor) {
  return space ? SymbolicExpr::of(space.getValue(), factor) : SymbolicExpr(factor);
}

int64_t rowBytes(Type type) {
  return getFeatureElements(type) * cast<RankedTensorType>(type).getElementTypeBitWidth() / 8;
}

int64_t reductionFlops(ReduceKind kind, int64_t width) {
  // The scale of a softmax is counted, the shift comes with it.
  return kind == ReduceKind::SoftmaxShift ? 0 : isStatistic(kind) ? kSoftmaxFlops * width : width;
}

MapOp lookup(Operation *from, FlatSymbolRefAttr map) { return SymbolTable::lookupNearestSymbolFrom<MapOp>(from, map); }

Cost costOfSweep(mpk::SweepOp sweep) {
  Cost cost;
  SweepPlan plan(sweep);
  FlatSymbolRefAttr owners = sweep.getOverAttr(), members;
  if (sweep.getAlong())
    members = lookup(sweep, sweep.getOwnersAttr()).getFromAttr();
  auto at = [&](mpk::Level level, int64_t factor) {
    return level == mpk::Level::Member  ? extentOf(members, factor * std::max(plan.walks, 1u))
           : level == mpk::Level::Owner ? extentOf(owners, factor)
                                        : SymbolicExpr(factor);
  };
  // Members of an owner are listed one after the other, from where the owner says.
  if (members) {
    cost.read += extentOf(owners, kIndexBytes);
    cost.read += extentOf(members, kIndexBytes * std::max(plan.walks, 1u));
  }
  llvm::SetVector<Attribute> ownerMaps, memberMaps;
  for (auto [i, input] : llvm::enumerate(sweep.getInputs())) {
    mpk::AccessAttr access = sweep.getAccessOf(i);
    mpk::Level level = plan.levels[sweep.getBody().getArgument(i)];
    // A degree is the difference of two offsets; the next owner begins with the second.
    int64_t bytes = !input.getDefiningOp<DegreeOp>() ? rowBytes(input.getType())
                    : level == mpk::Level::Owner     ? kIndexBytes
                                                     : 2 * kIndexBytes;
    cost.read += at(level, bytes);
    if (access.getMap())
      (access.getKind() == mpk::AccessKind::GatherMember ? memberMaps : ownerMaps).insert(access.getMap());
  }
  cost.read += at(mpk::Level::Member, kIndexBytes * memberMaps.size());
  cost.read += at(mpk::Level::Owner, kIndexBytes * ownerMaps.size());
  for (auto [i, result] : llvm::enumerate(sweep.getResults())) {
    mpk::AccessKind kind = sweep.getYieldOf(i).getKind();
    cost.written += extentOf(kind == mpk::AccessKind::Member  ? members
                             : kind == mpk::AccessKind::Owner ? owners
                                                              : FlatSymbolRefAttr(),
                             rowBytes(result.getType()));
  }
  for (Operation &op : sweep.getBody().front()) {
    if (auto row = dyn_cast<CostOpInterface>(op)) {
      cost.flops += at(plan.levels[op.getResult(0)], row.flopsPerRow());
    } else if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op)) {
      mpk::Level level = plan.levels[accumulate.getInput()];
      cost.flops += at(members && level == mpk::Level::Member ? mpk::Level::Member : mpk::Level::Owner,
                       reductionFlops(accumulate.getKind(), getFeatureElements(accumulate.getType())));
    } else if (auto softmax = dyn_cast<mpk::SoftmaxOp>(op)) {
      cost.flops += extentOf(members, kSoftmaxFlops * getFeatureElements(softmax.getType()));
    }
  }
  return cost;
}

Cost costOfProduct(mpk::ProductOp op) {
  Cost cost;
  int64_t bytes = op.getLhs().getType().getElementTypeBitWidth() / 8;
  cost.flops = extentOf(op.getOverAttr(), 2 * op.getBatch() * op.getRows() * op.getK() * op.getN());
  cost.read = extentOf(op.getOverAttr(), bytes * op.getBatch() * op.getRows() * op.getK()) + bytesOf(op.getRhs()) +
              extentOf(op.getOverAttr(), kIndexBytes * (bool(op.getGatherAttr()) + bool(op.getGroupAttr())));
  for (Value extra : op.getExtras())
    cost.read += extra.getDefiningOp<DegreeOp>() ? extentOf(op.getOverAttr(), kIndexBytes) : bytesOf(extra);
  for (Value result : op.getResults())
    cost.written += bytesOf(result);
  if (op.hasEpilogue())
    for (Operation &row : op.getEpilogue().front())
      if (auto work = dyn_cast<CostOpInterface>(row))
        cost.flops += extentOf(op.getOverAttr(), work.flopsPerRow());
  return cost;
}

Cost costOfOuterSum(mpk::OuterSumOp op) {
  Cost cost;
  int64_t bytes = op.getLhs().getType().getElementTypeBitWidth() / 8;
  int64_t maps = bool(op.getGatherLhsAttr()) + bool(op.getGatherRhsAttr()) + bool(op.getAlongAttr());
  cost.flops = extentOf(op.getOverAttr(), 2 * op.getBatch() * op.getK() * op.getN());
  cost.read = extentOf(op.getOverAttr(), bytes * op.getBatch() * (op.getK() + op.getN()) + kIndexBytes * maps);
  cost.written = bytesOf(op.getResult());
  return cost;
}

} // namespace

Cost &Cost::operator+=(const Cost &other) {
  flops += other.flops;
  read += other.read;
  written += other.written;
  return *this;
}

SymbolicExpr gnnc::bytesOf(Value value) { return extentOf(getResidency(value.getType()), rowBytes(value.getType())); }

Cost gnnc::costOf(Operation *op) {
  if (auto sweep = dyn_cast<mpk::SweepOp>(op))
    return costOfSweep(sweep);
  if (auto product = dyn_cast<mpk::ProductOp>(op))
    return costOfProduct(product);
  if (auto sum = dyn_cast<mpk::OuterSumOp>(op))
    return costOfOuterSum(sum);
  Cost cost;
  if (isa<AwaitOp>(op)) // Its transfer has been counted.
    return cost;
  if (mpk::isCollective(op)) { // What this rank gives and gets.
    cost.read = bytesOf(op->getOperand(0));
    cost.written = bytesOf(op->getResult(0));
    return cost;
  }
  if (isChoice(op)) { // How many elements are tried for each is the graph's secret.
    for (Value operand : op->getOperands())
      cost.read += bytesOf(operand);
    cost.written = bytesOf(op->getResult(0));
    return cost;
  }
  auto row = dyn_cast<CostOpInterface>(op);
  auto movement = dyn_cast<MovementOpInterface>(op);
  if (!row && !movement)
    return cost;
  Type result = op->getResult(0).getType();
  for (Value operand : op->getOperands())
    cost.read += bytesOf(operand);
  cost.written = bytesOf(op->getResult(0));
  if (row)
    cost.flops = extentOf(getResidency(result), row.flopsPerRow());
  if (movement) {
    // A broadcast reads a row for each that it writes.
    Type members = movement.isBroadcast() ? result : op->getOperand(0).getType();
    if (movement.isBroadcast())
      cost.read = cost.written;
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      cost.flops = extentOf(getResidency(members), reductionFlops(reduce.getKind(), getFeatureElements(members)));
    else
      cost.flops = extentOf(getResidency(members), kSoftmaxFlops * getFeatureElements(members));
    if (movement.getMovementMap().getValue() != kAllMap)
      cost.read += extentOf(getResidency(members), kIndexBytes);
  }
  return cost;
}

Cost gnnc::costOfFunction(Operation *function) {
  Cost cost;
  for (Operation &op : function->getRegion(0).front())
    cost += costOf(&op);
  return cost;
}

SymbolicExpr gnnc::timeOf(Operation *function) {
  SymbolicExpr time;
  for (Operation &op : function->getRegion(0).front()) {
    if (!mpk::isKernel(&op) || isa<AwaitOp>(op))
      continue;
    Cost cost = costOf(&op);
    time += cost.read + cost.written + cost.flops * kBytesPerOperation + kBytesPerKernel;
  }
  return time;
}

int64_t gnnc::statementsOf(Operation *op) {
  constexpr int64_t kLanes = 16, kMostRegisters = 4, kMostEach = 64; // longer rows and inner products are loops
  constexpr int64_t kWarp = 32, kMostFolded = 512;
  if (!op || op->getNumResults() != 1 || isa<ConstantOp, IotaOp, BroadcastOp>(op))
    return 0;
  // Each part of a joined row is read and written by itself.
  if (auto concat = dyn_cast<ConcatOp>(op))
    return concat.getInputs().size();
  int64_t numbers = std::max<int64_t>(getFeatureElements(op->getResult(0).getType()), 1), each = 1;
  if (auto row = dyn_cast<CostOpInterface>(op))
    each = std::clamp<int64_t>(row.flopsPerRow() / numbers, 1, kMostEach);
  int64_t made = each * std::clamp<int64_t>(llvm::divideCeil(numbers, kLanes), 1, kMostRegisters);
  // On a GPU lanes hold whole rows that are added up: such rows are not cut.
  int64_t widest = 0;
  if (isa<ContractOp, FoldOp>(op))
    for (Value operand : op->getOperands())
      if (getResidency(operand.getType()))
        widest = std::max(widest, getFeatureElements(operand.getType()));
  return std::max(made, std::min(kMostFolded, widest / kWarp));
}

int64_t gnnc::unrolledOf(Operation *op) {
  // Lanes, and tiles, divide long axes among them, and each has all of the short ones. Rows without such are cut into
  // tiles where they are too many.
  constexpr int64_t kShortAxis = 16, kLanes = 32, kSideBySide = 4, kMostEach = 64;
  if (!op || op->getNumResults() != 1 || isa<ConstantOp, IotaOp, BroadcastOp, ReshapeOp, DetachOp>(op))
    return 0;
  int64_t numbers = 1, ofShortAxes = 1;
  for (int64_t size : getFeatureShape(op->getResult(0).getType())) {
    numbers *= size;
    ofShortAxes *= size <= kShortAxis ? size : 1;
  }
  int64_t registers = ofShortAxes == numbers ? llvm::divideCeil(numbers, kLanes)
                      : ofShortAxes > 1      ? ofShortAxes * kSideBySide
                                             : 1;
  int64_t each = 1;
  if (auto row = dyn_cast<CostOpInterface>(op); row && numbers > 0)
    each = std::clamp<int64_t>(row.flopsPerRow() / numbers, 1, kMostEach);
  return each * registers;
}
