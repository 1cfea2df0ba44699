//===- Distribute.cpp - A program for ranks that have parts of a graph ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before, the program is about the whole graph; afterwards about one rank's part. Each operation means what it meant,
// on the part's own elements; what belongs to other ranks is exchanged by operations of its own:
//
// * A value that is read through a remote map (RemoteMaps.h) is exchanged: the rows that others need are gathered and
//   transferred, and the rows that arrive are put behind the own ones. Once for all reads of the value. Of inputs that
//   do not change the rows of others are inputs too.
// * What is reduced along a remote map is reduced to own elements and halo; what the halo has is transferred back.
// * What is reduced to shared or to a static space is combined over all ranks.
// * Where a value that is the same on all ranks meets one that is divided, it varies: the gradients that ranks have of
//   it are to be added. Once for all such places.
// * Random numbers are those of an element's number in the whole graph, which is a further input; equal maxima have the
//   winner that comes first in the whole graph.
//
// Since derivatives of these are operations of the same kinds, the program is differentiated afterwards like any other.
//
// Refused are element numbers that mean something elsewhere: which element has a maximum among several ranks', and
// random numbers of distinct spaces.
//
//===----------------------------------------------------------------------===//

#include "Distribution/Distributor.h"
#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace gnnc {
#define GEN_PASS_DEF_DISTRIBUTE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "distribute"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

/// Whether a number says which element something is, in the numbers of this rank.
static bool isElementNumber(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::ArgMax || reduce.getKind() == ReduceKind::ArgMin;
  if (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
    return isElementNumber(op->getOperand(0));
  if (auto select = dyn_cast_or_null<SelectOp>(op))
    return isElementNumber(select->getOperand(1)) || isElementNumber(select->getOperand(2));
  return isa_and_nonnull<ElementOp>(op);
}

/// Elements that several ranks have copies of can be moved to and from, nothing else.
LogicalResult Distributor::checkCopies() {
  auto isCopied = [&](Type type) { return maps.isCopied(getResidency(type)); };
  auto leads = [&](Map along) {
    return along != all && (maps.isCopied(maps.map(along).getFromAttr()) || maps.isCopied(maps.map(along).getToAttr()));
  };
  const char *const why = "it is about elements of a distinct space that may be on several ranks; expected a map among "
                          "those that the space is made of that leads to elements of the same rank";
  if (llvm::any_of(function.getArgumentTypes(), isCopied) || llvm::any_of(function.getResultTypes(), isCopied))
    return refuse(function, why);
  for (Operation &op : function.getBody().front().without_terminator()) {
    bool refused = TypeSwitch<Operation *, bool>(&op)
                       .Case([&](ReduceOp o) { return isCopied(o.getInput().getType()) || leads(o.getAlongAttr()); })
                       .Case([&](NormOp o) { return isCopied(o.getType()) || leads(o.getAlongAttr()); })
                       .Case([&](DegreeOp o) { return leads(o.getAlongAttr()); })
                       .Case([&](ExtentOp o) { return maps.isCopied(o.getSpaceAttr()); })
                       .Case<GradientOp, ElementOp>([&](Operation *o) { return isCopied(o->getResult(0).getType()); })
                       .Default(false);
    if (refused)
      return refuse(&op, why);
  }
  return success();
}

LogicalResult Distributor::run() {
  if (failed(checkCopies()))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
    LogicalResult result =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](BroadcastOp move) { return distribute(move); })
            .Case([&](ReduceOp reduce) { return distribute(reduce); })
            .Case([&](NormOp norm) { return distribute(norm); })
            .Case([&](DegreeOp degree) { return distribute(degree); })
            .Case([&](ExtentOp extent) { return distribute(extent); })
            .Case([&](RandomOp random) { return distribute(random); })
            .Case<TransferOp, AllReduceOp, VaryOp, DeriveAsOp>(
                [](Operation *other) -> LogicalResult { return other->emitOpError() << "is distributed already"; })
            .Default([&](Operation *other) { return distributeRows(other); });
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult Distributor::distribute(BroadcastOp op) {
  if (op.getAlongAttr() == all) {
    if (isDivided(op.getResult()))
      op.getInputMutable().assign(vary(op.getInput()));
    return success();
  }
  if (leavesRank(op.getAlongAttr()) && isElementNumber(op.getInput()))
    return refuse(op, "element numbers of one rank mean nothing on another");
  OpBuilder b(op);
  replace(op, move(b, op.getLoc(), op.getInput(), op.getAlongAttr(), op.getFillAttr()));
  return success();
}

LogicalResult Distributor::distribute(ReduceOp op) {
  Value x = op.getInput();
  FlatSymbolRefAttr along = op.getAlongAttr();
  bool combines = isDivided(x) && !isDivided(op.getResult());
  bool chooses = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min;
  if (!leavesRank(along) && !combines && !(chooses && !maps.isInOrder(spaceOf(x))))
    return success();
  OpBuilder b(op);
  Location loc = op.getLoc();
  Rules r(b, loc);
  switch (op.getKind()) {
  case ReduceKind::Sum:
    replace(op, sum(b, loc, x, along));
    return success();
  case ReduceKind::Mean: {
    Value total = sum(b, loc, x, along), count = countMembers(b, loc, x, along);
    replace(op, r.div(total, r.binary(BinaryKind::Maximum, count, r.number(1, count))));
    return success();
  }
  case ReduceKind::Max:
  case ReduceKind::Min:
    replace(op, largestWithWinner(b, loc, op.getKind(), x, along));
    return success();
  case ReduceKind::LogSumExp:
    replace(op, logSumExp(b, loc, x, along));
    return success();
  case ReduceKind::SoftmaxShift:
    replace(op, finiteShift(b, loc, x, along));
    return success();
  case ReduceKind::SoftmaxScale:
    replace(op, softmaxScale(b, loc, x, along));
    return success();
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    return refuse(op, "'" + stringifyEnum(op.getKind()) + "' along @" + along.getValue() +
                          " names one element of those of several ranks");
  }
  llvm_unreachable("unknown reduce kind");
}

LogicalResult Distributor::distribute(NormOp op) {
  FlatSymbolRefAttr along = op.getAlongAttr();
  Value x = op.getInput();
  if (!leavesRank(along) && (!isDivided(x) || (along != all && maps.isDivided(maps.map(along).getToAttr()))))
    return success();
  OpBuilder b(op);
  Value made = softmax(b, op.getLoc(), x, along);
  remarkPassed(made.getDefiningOp(), DEBUG_TYPE, "split", [&] {
    return "softmax along @" + along.getValue().str() + " is split: owners have members on several ranks";
  });
  replace(op, made);
  return success();
}

LogicalResult Distributor::distribute(DegreeOp op) {
  OpBuilder b(op);
  replace(op, degree(b, op.getLoc(), op.getAlongAttr(), op.getType().getElementType()));
  return success();
}

LogicalResult Distributor::distribute(ExtentOp op) {
  if (!maps.isDivided(op.getSpaceAttr()))
    return success();
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  Value total = combine(b, op.getLoc(), ReduceKind::Sum, op.getResult());
  op.getResult().replaceAllUsesExcept(total, total.getDefiningOp());
  return success();
}

Value Distributor::insertNumbers(Map space, StringRef suffix, Type type, Location loc) {
  OpBuilder b(function.getContext());
  NamedAttribute attributes[] = {
      b.getNamedAttr(kNameAttr, b.getStringAttr(space.getValue() + suffix)),
      b.getNamedAttr(kRoleAttr, RoleAttr::get(b.getContext(), Role::Input)),
      b.getNamedAttr(kNumbersAttr, b.getUnitAttr()),
  };
  unsigned place = function.getNumArguments();
  if (failed(function.insertArgument(place, type, b.getDictionaryAttr(attributes), loc)))
    return Value();
  return function.getArgument(place);
}

Value Distributor::globalNumbers(OpBuilder &b, Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ReshapeOp, TransposeOp>(op)) {
    Value source = globalNumbers(b, op->getOperand(0));
    return source ? cloneOn(b, op, source, value.getType()) : Value();
  }
  if (auto move = dyn_cast_or_null<BroadcastOp>(op); move && !leavesRank(move.getAlongAttr())) {
    Value source = globalNumbers(b, move.getInput());
    return source ? cloneOn(b, op, source, value.getType()) : Value();
  }
  if (auto select = dyn_cast_or_null<SelectOp>(op)) {
    Value yes = globalNumbers(b, select->getOperand(1)), no = globalNumbers(b, select->getOperand(2));
    return yes && no ? cloneOn(b, op, {select->getOperand(0), yes, no}, value.getType()) : Value();
  }
  FlatSymbolRefAttr space = spaceOf(value);
  if (!isa_and_nonnull<ElementOp>(op))
    return Value();
  if (!maps.isDivided(space))
    return value;
  if (maps.space(space).getKind() != SpaceKind::Root)
    return Value();
  Value &known = numbers[space];
  if (!known) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    known = insertNumbers(space, ".global", getTensorOn(space, ShapedType::kDynamic, {}, element), op->getLoc());
    if (!known)
      return Value();
  }
  return Rules(b, op->getLoc()).reshape(known, getFeatureShape(value.getType()));
}

LogicalResult Distributor::distribute(RandomOp op) {
  if (!isDivided(op.getResult()))
    return success();
  OpBuilder b(op);
  Value element = globalNumbers(b, op.getElement());
  if (!element)
    return refuse(op, "random numbers need each element's number in the whole graph, and elements of a distinct space "
                      "have none");
  op.getElementMutable().assign(element);
  return distributeRows(op);
}

LogicalResult Distributor::distributeRows(Operation *op) {
  if (isa<GradientOp>(op) || op->getNumResults() != 1)
    return success();
  if (!isa<MPDFGDialect>(op->getDialect()))
    return op->emitOpError() << "cannot be distributed: expected an operation of mpdfg";
  if (isDivided(op->getResult(0)))
    for (OpOperand &operand : op->getOpOperands())
      if (!isDivided(operand.get()))
        operand.set(vary(operand.get()));
  return success();
}

namespace {

struct Distribute : public gnnc::impl::DistributeBase<Distribute> {
  using DistributeBase::DistributeBase;

  void runOnOperation() override {
    RemoteMaps maps(getOperation());
    if (failed(maps.declare(SmallVector<std::string>(along.begin(), along.end()))))
      return signalPassFailure();
    SmallVector<std::string> given(fixed.begin(), fixed.end());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Distributor distributor(maps, function, operationsPerByte, given);
      if (failed(distributor.run()))
        return signalPassFailure();
      numExchanged += distributor.numExchanged;
      numRemade += distributor.numRemade;
      numReturned += distributor.numReturned;
      numCombined += distributor.numCombined;
      numVaried += distributor.numVaried;
      numSplit += distributor.numSplit;
      numFixed += distributor.numFixed;
    }
    if (failed(maps.finish()))
      return signalPassFailure();
    getOperation()->setAttr(kDistributedAttr, maps.alongs());
  }
};

} // namespace
