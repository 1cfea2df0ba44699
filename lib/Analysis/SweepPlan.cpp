//===- SweepPlan.cpp - How a sweep's body is computed ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax is online if all that depends on it is linear in it and ends in sums over the members that are ready in the same walk:
// then sums of exp(x - m) v, rescaled as the running maximum m grows, divided by the sum of exp(x - m) at the end, are the
// sums of softmax(x) v. "Linear": products with something else, sums over feature axes, and changes of shape.
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

/// Whether the result is linear in the operands of `cone`, of which there are `inside`.
bool isLinear(Operation *op, unsigned inside, const DenseSet<Value> &cone) {
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    BinaryKind kind = binary.getKind();
    return (kind == BinaryKind::Mul && inside == 1) ||
           (kind == BinaryKind::Div && inside == 1 && cone.contains(binary.getLhs())) ||
           ((kind == BinaryKind::Add || kind == BinaryKind::Sub) && inside == 2);
  }
  if (auto unary = dyn_cast<UnaryOp>(op))
    return unary.getKind() == UnaryKind::Neg;
  if (auto fold = dyn_cast<FoldOp>(op))
    return fold.getKind() == ReduceKind::Sum || fold.getKind() == ReduceKind::Mean;
  if (isa<ContractOp>(op))
    return inside == 1;
  if (isa<ConcatOp>(op))
    return inside == op->getNumOperands();
  return isa<ReshapeOp, TransposeOp, SliceOp, DropoutOp, DetachOp>(op);
}

/// Adds the values that are linear in a softmax to `cone`. Returns why something that depends on it is not; empty: all is.
std::string findLinearCone(SoftmaxOp softmax, DenseSet<Value> &cone) {
  cone.insert(softmax.getResult());
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
    if (!isLinear(op, inside, cone))
      return (op->getName().getStringRef() + " is not linear in it").str();
    cone.insert(op->getResult(0));
  }
  return "";
}

} // namespace

SweepPlan::SweepPlan(mpk::SweepOp sweep) : levels(mpk::computeLevels(sweep)), axes(sweep) {
  Block &body = sweep.getBody().front();
  for (BlockArgument argument : body.getArguments())
    phases[argument] = 0;

  // Softmaxes are candidates for being online until something speaks against it.
  DenseMap<Value, int> coneOf; // value -> softmax it is linear in
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
        DenseSet<Value> cone;
        if (plan.declined.empty())
          plan.declined = findLinearCone(softmax, cone);
        if (plan.declined.empty() && llvm::any_of(cone, [&](Value v) { return coneOf.count(v); }))
          plan.declined = "it is combined with another online softmax";
        plan.online = plan.declined.empty();
        if (plan.online)
          for (Value value : cone)
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
          // Its walk must be the softmax's, and the sum must still have every axis the maximum has.
          std::string reason;
          if (softmax.walk != phase)
            reason = "a sum that it weighs needs a result of an earlier walk";
          for (int cls : axes.of(softmax.op->getOperand(0)))
            if (cls >= 0 && !llvm::is_contained(axes.of(accumulate.getInput()), cls))
              reason = "a sum that it weighs lacks one of its axes";
          if (!reason.empty()) {
            rejected[softmax.op] = reason;
            sound = false;
          }
        }
        if (accumulate.getKind() == ReduceKind::LogSumExp)
          for (auto [i, softmax] : llvm::enumerate(softmaxes))
            if (softmax.op->getOperand(0) == accumulate.getInput() && softmax.walk == phase)
              plan.statisticOf = i;
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
}
