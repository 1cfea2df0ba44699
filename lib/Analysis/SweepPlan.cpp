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

/// The values that are linear in a softmax, or nullopt if something that depends on it is not.
std::optional<DenseSet<Value>> linearCone(SoftmaxOp softmax) {
  DenseSet<Value> cone{softmax.getResult()};
  for (Operation *op = softmax->getNextNode(); op; op = op->getNextNode()) {
    unsigned inside = llvm::count_if(op->getOperands(), [&](Value v) { return cone.contains(v); });
    if (inside == 0)
      continue;
    if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      if (accumulate.getShared() ||
          (accumulate.getKind() != ReduceKind::Sum && accumulate.getKind() != ReduceKind::Mean))
        return std::nullopt;
      continue; // The accumulated value is the owner's; it may be used in any way.
    }
    bool linear = false;
    if (auto binary = dyn_cast<BinaryOp>(op)) {
      BinaryKind kind = binary.getKind();
      linear = (kind == BinaryKind::Mul && inside == 1) ||
               (kind == BinaryKind::Div && inside == 1 && cone.contains(binary.getLhs())) ||
               ((kind == BinaryKind::Add || kind == BinaryKind::Sub) && inside == 2);
    } else if (auto unary = dyn_cast<UnaryOp>(op)) {
      linear = unary.getKind() == UnaryKind::Neg;
    } else if (auto fold = dyn_cast<FoldOp>(op)) {
      linear = fold.getKind() == ReduceKind::Sum || fold.getKind() == ReduceKind::Mean;
    } else if (isa<ContractOp>(op)) {
      linear = inside == 1;
    } else if (isa<ConcatOp>(op)) {
      linear = inside == op->getNumOperands();
    } else {
      linear = isa<ReshapeOp, TransposeOp, SliceOp, DropoutOp, DetachOp>(op);
    }
    if (!linear)
      return std::nullopt;
    cone.insert(op->getResult(0));
  }
  return cone;
}

} // namespace

SweepPlan::SweepPlan(mpk::SweepOp sweep) : levels(mpk::computeLevels(sweep)), axes(sweep) {
  Block &body = sweep.getBody().front();
  for (BlockArgument argument : body.getArguments())
    phases[argument] = 0;

  // Softmaxes are candidates for being online until something speaks against it.
  DenseMap<Value, int> coneOf; // value -> softmax it is linear in
  DenseSet<Operation *> rejected;
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
        SoftmaxPlan plan{softmax, false, phase};
        std::optional<DenseSet<Value>> cone =
            rejected.contains(&op) ? std::nullopt : linearCone(softmax);
        if (cone && llvm::none_of(*cone, [&](Value v) { return coneOf.count(v); })) {
          plan.online = true;
          for (Value value : *cone)
            coneOf[value] = softmaxes.size();
        }
        softmaxes.push_back(plan);
        walks = std::max(walks, phase + 1);
        phases[softmax.getResult()] = plan.online ? phase : phase + 1;
        continue;
      }
      if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
        if (accumulate.getShared()) {
          shared.push_back(accumulate);
          phases[accumulate.getResult()] = phase;
          continue;
        }
        AccumulatePlan plan{accumulate, phase, -1, levels[accumulate.getInput()] == Level::Member};
        if (auto it = coneOf.find(accumulate.getInput()); it != coneOf.end()) {
          plan.online = it->second;
          const SoftmaxPlan &softmax = softmaxes[it->second];
          // Its walk must be the softmax's, and the sum must still have every axis the maximum has.
          bool ready = softmax.walk == phase;
          for (int cls : axes.of(softmax.op->getOperand(0)))
            ready &= cls < 0 || llvm::is_contained(axes.of(accumulate.getInput()), cls);
          if (!ready) {
            rejected.insert(softmax.op);
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
              rejected.insert(softmaxes[it->second].op);
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
