//===- SweepPlan.cpp - How a sweep's body is computed ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax is online if all that depends on it is linear in it and ends in sums over the members that are ready in the
// same walk: then sums of exp(x - m) v, rescaled as the running maximum m grows, divided by the sum of exp(x - m) at
// the end, are the sums of softmax(x) v. "Linear": products with something else, sums over feature axes, and changes of
// shape.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/SweepPlan.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using mpk::AccumulateOp;
using mpk::Level;
using mpk::SoftmaxOp;

namespace {

/// The values that are linear in a softmax, each with where the axes of the score are among its own; -1 for axes of
/// size 1.
using Cone = DenseMap<Value, SmallVector<int64_t>>;

/// Whether the result is linear in the operands that are in `cone`.
bool isLinear(Operation *op, const Cone &cone) {
  auto linear = dyn_cast<LinearOpInterface>(op);
  SmallVector<bool> inside;
  for (Value operand : op->getOperands())
    inside.push_back(cone.contains(operand));
  return linear && linear.isLinearIn(inside);
}

/// Where axis `axis` of an operand is in the result of a reshape: as large, with as many numbers after it. -1: nowhere.
int64_t followReshape(ReshapeOp op, int64_t axis) {
  ArrayRef<int64_t> from = getFeatureShape(op.getInput().getType()), to = getFeatureShape(op.getType());
  int64_t inner = RefTensor::product(from.drop_front(axis + 1));
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] == from[axis] && RefTensor::product(to.drop_front(i + 1)) == inner)
      return i;
  return -1;
}

/// Where axis `axis` of `operand` is in the result of a linear operation; -1: its numbers are mixed.
int64_t follow(Operation *op, OpOperand &operand, int64_t axis) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return llvm::is_contained(fold.getAxes(), axis) ? -1 : axis;
  if (auto contract = dyn_cast<ContractOp>(op)) {
    int64_t label = (operand.getOperandNumber() == 0 ? contract.getLhsLabels() : contract.getRhsLabels())[axis];
    auto it = llvm::find(contract.getOutLabels(), label);
    return it == contract.getOutLabels().end() ? -1 : it - contract.getOutLabels().begin();
  }
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return llvm::find(transpose.getPermutation(), axis) - transpose.getPermutation().begin();
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return followReshape(reshape, axis);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return int64_t(concat.getAxis()) == axis ? -1 : axis;
  if (auto slice = dyn_cast<SliceOp>(op))
    return int64_t(slice.getAxis()) == axis ? -1 : axis;
  return axis; // Elementwise.
}

/// Where the score's axes are in the result of a linear operation; nothing where one is mixed, or where two operands
/// disagree.
std::optional<SmallVector<int64_t>> followAll(Operation *op, const Cone &cone) {
  std::optional<SmallVector<int64_t>> found;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = cone.find(operand.get());
    if (it == cone.end())
      continue;
    SmallVector<int64_t> axes;
    for (int64_t axis : it->second) {
      axes.push_back(axis < 0 ? -1 : follow(op, operand, axis));
      if (axis >= 0 && axes.back() < 0)
        return std::nullopt;
    }
    if (found && *found != axes)
      return std::nullopt;
    found = axes;
  }
  return found;
}

constexpr llvm::StringLiteral kAxisLost = "a sum that it weighs lacks one of its axes";

/// Adds the values that are linear in a softmax to `cone`. Returns why something that depends on it is not; empty: all
/// is.
std::string findLinearCone(SoftmaxOp softmax, Cone &cone) {
  SmallVector<int64_t> &own = cone[softmax.getResult()];
  for (auto [i, size] : llvm::enumerate(getFeatureShape(softmax.getType())))
    own.push_back(size == 1 ? -1 : int64_t(i));
  for (Operation *op = softmax->getNextNode(); op; op = op->getNextNode()) {
    unsigned inside = llvm::count_if(op->getOperands(), [&](Value v) { return cone.contains(v); });
    if (inside == 0 || isa<mpk::YieldOp>(op)) // What is yielded is looked at with the results.
      continue;
    if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      if (accumulate.getShared())
        return "a reduction over everything uses it";
      if (accumulate.getKind() != ReduceKind::Sum && accumulate.getKind() != ReduceKind::Mean)
        return ("it goes into the " + stringifyEnum(accumulate.getKind()) + " over the members").str();
      continue; // The accumulated value is the owner's; it may be used in any way.
    }
    if (!isLinear(op, cone))
      return (op->getName().getStringRef() + " is not linear in it").str();
    std::optional<SmallVector<int64_t>> axes = followAll(op, cone);
    if (!axes)
      return kAxisLost.str();
    cone[op->getResult(0)] = std::move(*axes);
  }
  return "";
}

} // namespace

SweepPlan::SweepPlan(mpk::SweepOp sweep) : levels(mpk::computeLevels(sweep)), axes(sweep) {
  Block &body = sweep.getBody().front();
  for (BlockArgument argument : body.getArguments())
    phases[argument] = 0;

  // Softmaxes are candidates for being online until something speaks against it.
  DenseMap<Value, int> coneOf;                 // value -> softmax it is linear in
  DenseMap<Operation *, std::string> rejected; // and why
  auto attempt = [&]() -> bool {
    softmaxes.clear();
    accumulates.clear();
    shared.clear();
    coneOf.clear();
    walks = 0;
    bool sound = true;
    for (Operation &op : body) {
      unsigned phase = 0;
      for (Value operand : op.getOperands())
        phase = std::max(phase, phases.lookup(operand));
      if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
        SoftmaxPlan plan{softmax, false, phase, rejected.lookup(&op)};
        Cone cone;
        if (plan.declined.empty())
          plan.declined = findLinearCone(softmax, cone);
        if (plan.declined.empty() && llvm::any_of(cone, [&](auto &entry) { return coneOf.count(entry.first); }))
          plan.declined = "it is combined with another online softmax";
        plan.online = plan.declined.empty();
        if (plan.online)
          for (auto &[value, axes] : cone)
            coneOf[value] = softmaxes.size();
        softmaxes.push_back(plan);
        walks = std::max(walks, phase + 1);
        phases[softmax.getResult()] = plan.online ? phase : phase + 1;
        continue;
      }
      if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
        if (accumulate.getShared()) {
          shared.push_back(accumulate);
          if (levels[accumulate.getInput()] == Level::Member)
            walks = std::max(walks, phase + 1);
          phases[accumulate.getResult()] = phase;
          continue;
        }
        // Who wins among equals depends on the member even where the value does not.
        bool names = accumulate.getKind() == ReduceKind::ArgMax || accumulate.getKind() == ReduceKind::ArgMin;
        AccumulatePlan plan{accumulate, phase, -1, names || levels[accumulate.getInput()] == Level::Member};
        if (auto it = coneOf.find(accumulate.getInput()); it != coneOf.end()) {
          plan.online = it->second;
          const SoftmaxPlan &softmax = softmaxes[it->second];
          // Its walk must be the softmax's. Targets find the axes of the maximum among those of the sum by their class,
          // so each class must stand for one axis.
          std::string reason;
          if (softmax.walk != phase)
            reason = "a sum that it weighs needs a result of an earlier walk";
          for (int cls : axes.of(softmax.op->getOperand(0)))
            if (cls >= 0 && llvm::count(axes.of(accumulate.getInput()), cls) != 1)
              reason = "a sum that it weighs has one of its axes twice";
          if (!reason.empty()) {
            rejected[softmax.op] = reason;
            sound = false;
          }
        }
        if (plan.perMember)
          walks = std::max(walks, phase + 1);
        phases[accumulate.getResult()] = plan.perMember ? phase + 1 : phase;
        accumulates.push_back(plan);
        continue;
      }
      if (auto yield = dyn_cast<mpk::YieldOp>(op)) {
        for (auto [i, value] : llvm::enumerate(yield.getValues()))
          if (sweep.getYieldOf(i).getKind() == mpk::AccessKind::Member) {
            walks = std::max(walks, phases.lookup(value) + 1);
            if (auto it = coneOf.find(value); it != coneOf.end()) {
              rejected[softmaxes[it->second].op] = "it is a result for each member";
              sound = false;
            }
          }
        continue;
      }
      for (Value result : op.getResults())
        phases[result] = phase;
    }
    return sound;
  };
  while (!attempt()) {
  }
  for (auto [number, accumulate] : llvm::enumerate(accumulates)) {
    if (!accumulate.perMember || !isStatistic(accumulate.op.getKind()))
      continue;
    // Either may stand before the other.
    for (auto [i, softmax] : llvm::enumerate(softmaxes))
      if (softmax.op->getOperand(0) == accumulate.op.getInput() && softmax.walk == accumulate.walk)
        accumulate.statisticOf = i;
    for (auto [i, earlier] : llvm::enumerate(llvm::ArrayRef(accumulates).take_front(number)))
      if (!accumulate.isFound() && !earlier.isFound() && earlier.perMember &&
          isStatistic(mpk::AccumulateOp(earlier.op).getKind()) &&
          mpk::AccumulateOp(earlier.op).getInput() == accumulate.op.getInput() && earlier.walk == accumulate.walk)
        accumulate.sameAs = i;
  }
}
