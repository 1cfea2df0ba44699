//===- SweepBase.cpp - What both forms of sweep code share ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SweepBase.h"
#include "SweepEmitter.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;
using mpk::AccessKind;
using mpk::Level;

SweepBase::SweepBase(mpk::SweepOp sweep, const SweepPlan &plan, const Processor &target, KernelBuilder &kernel)
    : sweep(sweep), plan(plan), target(target), kernel(kernel), b(kernel.builder()), loc(kernel.loc()),
      element(mpdfg::getElementType(sweep.getResult(0).getType()).getElementType()),
      flat(b, loc, element, kernel.hasFixedRounding()),
      yield(cast<mpk::YieldOp>(sweep.getBody().front().getTerminator())) {
  // Buffers and indices in the order of operands and results, whatever order the code asks for them in: code for other
  // processor levels asks in another one, and all are called with the same frame.
  for (Value input : sweep.getInputs())
    kernel.declare(input);
  for (Value result : sweep.getResults())
    kernel.buffer(result);
  FlatSymbolRefAttr along = sweep.getAlongAttr();
  if (along)
    kernel.index({IndexKind::Pointers, sweep.getOwnersAttr(), {}});
  if (sweep.getPairsAttr())
    kernel.index({IndexKind::Shift, sweep.getPairsAttr(), {}});
  if (namesMembers())
    kernel.index({IndexKind::Members, along, {}});
  for (unsigned i = 0; i < sweep.getInputs().size(); ++i) {
    mpk::AccessAttr access = sweep.getAccessOf(i);
    if (access.getKind() == AccessKind::GatherOwner)
      kernel.index(gatherIndex(i));
    if (access.getKind() == AccessKind::GatherMember)
      kernel.index({IndexKind::Sorted, along, access.getMap()});
  }
}

bool SweepBase::namesMembers() {
  for (unsigned i = 0; i < sweep.getInputs().size(); ++i)
    if (sweep.getAccessOf(i).getKind() == AccessKind::Member)
      return true;
  for (unsigned i = 0; i < sweep.getResults().size(); ++i)
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member)
      return true;
  return llvm::any_of(sweep.getBody().front(), [](Operation &op) {
    if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op))
      return namesWinner(accumulate.getKind()) && !accumulate.getShared();
    auto element = dyn_cast<mpdfg::ElementOp>(op);
    return element && element.getMember();
  });
}

Value SweepBase::rowStart(Value value, Value row) {
  return kernel.mul(row, mpdfg::getFeatureElements(value.getType()));
}

bool SweepBase::mapIsPartial(FlatSymbolRefAttr map) {
  auto op = SymbolTable::lookupNearestSymbolFrom<mpdfg::MapOp>(sweep, map);
  // Whether a composition is undefined somewhere depends on its parts.
  if (op.getKind() == mpdfg::MapKind::Compose || op.getKind() == mpdfg::MapKind::Parts)
    for (Attribute part : op.getPartsAttr())
      if (auto name = dyn_cast<FlatSymbolRefAttr>(part); name && mapIsPartial(name))
        return true;
  return op.getPartial();
}

unsigned SweepBase::spaceNumber(FlatSymbolRefAttr space) {
  unsigned number = 0;
  for (auto op : sweep->getParentOfType<ModuleOp>().getOps<mpdfg::SpaceOp>()) {
    if (op.getSymNameAttr() == space.getAttr())
      return number;
    ++number;
  }
  llvm_unreachable("verified: the space is declared");
}

Value SweepBase::operandRow(unsigned operand, Value owner, Value position, bool &partial) {
  mpk::AccessAttr access = sweep.getAccessOf(operand);
  partial = false;
  switch (access.getKind()) {
  case AccessKind::Shared:
    return kernel.i64(0);
  case AccessKind::Owner:
    return kernel.getPositions() && !kernel.isAtHand(sweep.getInputs()[operand])
               ? kernel.loadIndex(kernel.index({IndexKind::Members, kernel.getPositions(), {}}), owner)
               : owner;
  case AccessKind::Member:
    return kernel.isAtHand(sweep.getInputs()[operand]) ? position : memberAt(position);
  case AccessKind::GatherOwner:
    // A member's owner is defined, but the map may be undefined for the owner itself, also where it is the same map.
    partial = (access.getMap() != kernel.getPositions() || kernel.isThroughOwner(sweep.getInputs()[operand])) &&
              mapIsPartial(access.getMap());
    if (kernel.isThroughOwner(sweep.getInputs()[operand]))
      owner = kernel.loadIndex(kernel.index({IndexKind::Sorted, kernel.getPositions(), kernel.getPositions()}), owner);
    return kernel.loadIndex(kernel.index(gatherIndex(operand)), owner);
  case AccessKind::GatherMember:
    partial = mapIsPartial(access.getMap());
    return kernel.loadIndex(kernel.index({IndexKind::Sorted, sweep.getAlongAttr(), access.getMap()}), position);
  }
  llvm_unreachable("unknown access");
}

IndexRef SweepBase::gatherIndex(unsigned operand) {
  FlatSymbolRefAttr map = sweep.getAccessOf(operand).getMap(), along = kernel.getPositions();
  if (along && !kernel.isThroughOwner(sweep.getInputs()[operand]))
    return {IndexKind::Sorted, along, map};
  return {IndexKind::Raw, map, {}};
}

Value SweepBase::elementAt(mpdfg::ElementOp op, Value owner, Value position) {
  if (FlatSymbolRefAttr along = kernel.getPositions())
    return kernel.loadIndex(kernel.index(op->hasAttr(mpk::kOfOwnerAttr) ? IndexRef{IndexKind::Sorted, along, along}
                                                                        : IndexRef{IndexKind::Members, along, {}}),
                            owner);
  return op.getMember() ? memberAt(position) : owner;
}

std::pair<Value, Value> SweepBase::memberRange(Value owner) {
  Value pointers = kernel.index({IndexKind::Pointers, sweep.getOwnersAttr(), {}});
  Value first = kernel.loadIndex(pointers, owner), last = kernel.loadIndex(pointers, kernel.add(owner, kernel.i64(1)));
  if (!sweep.getPairsAttr())
    return {first, last};
  Value shift = kernel.loadIndex(kernel.index({IndexKind::Shift, sweep.getPairsAttr(), {}}), owner);
  return {kernel.add(first, shift), kernel.add(last, shift)};
}

Value SweepBase::loadDegree(mpdfg::DegreeOp degree, Value row) {
  Value pointers = kernel.index({IndexKind::Pointers, degree.getAlongAttr(), {}});
  Value first = kernel.loadIndex(pointers, row), last = kernel.loadIndex(pointers, kernel.add(row, kernel.i64(1)));
  return arith::SIToFPOp::create(b, loc, element, arith::SubIOp::create(b, loc, last, first));
}

Value SweepBase::memberAt(Value position) {
  return kernel.loadIndex(kernel.index({IndexKind::Members, sweep.getAlongAttr(), {}}), position);
}

Value SweepBase::firstMember(std::pair<Value, Value> range) {
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, range.second, range.first);
  auto branch = scf::IfOp::create(b, loc, TypeRange{b.getI64Type()}, any, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, memberAt(range.first));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, kernel.i64(-1));
  return branch.getResult(0);
}

SmallVector<unsigned> cpu::memberResultsOfWalk(mpk::SweepOp sweep, const SweepPlan &plan, unsigned walk) {
  auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
  SmallVector<unsigned> results;
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member && plan.phases.lookup(value) == walk)
      results.push_back(i);
  return results;
}

SmallVector<Operation *> cpu::operationsOfWalk(mpk::SweepOp sweep, const SweepPlan &plan, unsigned walk) {
  auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
  SmallVector<Value> wanted;
  for (const AccumulatePlan &accumulate : plan.accumulates)
    if (accumulate.perMember && accumulate.walk == walk)
      wanted.push_back(accumulate.op->getOperand(0));
  for (const SoftmaxPlan &softmax : plan.softmaxes)
    if (softmax.walk == walk)
      wanted.push_back(softmax.op->getOperand(0));
  for (unsigned result : memberResultsOfWalk(sweep, plan, walk))
    wanted.push_back(yield.getValues()[result]);
  DenseSet<Operation *> needed;
  while (!wanted.empty()) {
    Operation *op = wanted.pop_back_val().getDefiningOp();
    if (op && plan.levels.lookup(op->getResult(0)) == Level::Member && needed.insert(op).second)
      llvm::append_range(wanted, op->getOperands());
  }
  SmallVector<Operation *> ordered;
  for (Operation &op : sweep.getBody().front())
    if (needed.contains(&op))
      ordered.push_back(&op);
  return ordered;
}

Value SweepBase::sharedMeanFactor(mpk::AccumulateOp op) {
  Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 1));
  if (!sweep.getOverAttr())
    return one;
  Value count = kernel.extent(spaceNumber(sweep.getOverAttr()));
  return arith::DivFOp::create(b, loc, one, arith::SIToFPOp::create(b, loc, element, count));
}

bool cpu::isTiled(mpk::SweepOp sweep) {
  return llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); });
}

void cpu::emitRowsOf(mpk::SweepOp sweep, const Processor &target, KernelBuilder &kernel) {
  SweepPlan plan(sweep);
  if (fitsFlat(sweep, plan, target))
    emitFlatSweep(sweep, plan, target, kernel);
  else
    emitRowSweep(sweep, plan, target, kernel);
}

FailureOr<EmittedKernel> cpu::emitSweep(mpk::SweepOp sweep, StringRef name, const Processor &target, ModuleOp module,
                                        bool fixedRounding) {
  SweepPlan plan(sweep);
  for (mpk::AccumulateOp op : plan.shared)
    if (plan.levels.lookup(op.getInput()) == Level::Member)
      return op.emitOpError() << "over all members is not supported by the cpu target; accumulate over owners first";
  for (SoftmaxPlan &softmax : plan.softmaxes)
    if (!softmax.online)
      return softmax.op.emitOpError() << "is not online (" << softmax.declined
                                      << "); expand-softmaxes writes it with its statistics first";
  KernelBuilder kernel(module, name, sweep.getAlongAttr() ? StepKind::Sweep : StepKind::Rows, sweep.getLoc(),
                       fixedRounding);
  kernel.getInfo().map = sweep.getOwnersAttr();
  kernel.getInfo().space = sweep.getOverAttr();
  if (isTiled(sweep)) {
    if (failed(emitTileSweep(sweep, plan, target, kernel)))
      return failure();
  } else if (fitsFlat(sweep, plan, target)) {
    if (SmallVector<Value> staged = chooseStaged(sweep, plan, kernel); !staged.empty())
      emitStagedSweep(sweep, plan, staged, target, kernel);
    else
      emitFlatSweep(sweep, plan, target, kernel);
  } else {
    emitRowSweep(sweep, plan, target, kernel);
  }
  return kernel.takeInfo();
}
