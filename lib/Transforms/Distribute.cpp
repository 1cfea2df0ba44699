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
//   transferred, and the rows that arrive are put behind the own ones. Once for all reads of the value.
// * A sum along a remote map is summed to own elements and halo; the halo's sums are transferred back and added.
// * What is reduced to shared or to a static space is combined over all ranks.
// * Where a value that is the same on all ranks meets one that is divided, it varies: the gradients that ranks have of
//   it are to be added. Once for all such places.
//
// Since derivatives of these are operations of the same kinds, the program is differentiated afterwards like any other.
//
// Refused are reductions along remote maps other than sums and means; maxima over everything through which a gradient
// may go, and element numbers that mean something elsewhere (random numbers, winners of other ranks).
//
//===----------------------------------------------------------------------===//

#include "Lifting.h"
#include "Remarks.h"
#include "RemoteMaps.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

namespace gnnc {
#define GEN_PASS_DEF_DISTRIBUTE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "distribute"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

class Distributor {
public:
  Distributor(RemoteMaps &maps, func::FuncOp function)
      : maps(maps), function(function), all(FlatSymbolRefAttr::get(function.getContext(), kAllMap)) {}

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
      LogicalResult result = TypeSwitch<Operation *, LogicalResult>(&op)
                                 .Case([&](BroadcastOp move) { return distribute(move); })
                                 .Case([&](ReduceOp reduce) { return distribute(reduce); })
                                 .Case([&](NormOp norm) { return distribute(norm); })
                                 .Case([&](DegreeOp degree) { return distribute(degree); })
                                 .Case([&](ExtentOp extent) { return distribute(extent); })
                                 .Case([&](RandomOp random) { return distribute(random); })
                                 .Case<TransferOp, AllReduceOp, VaryOp>([](Operation *other) -> LogicalResult {
                                   return other->emitOpError() << "is distributed already";
                                 })
                                 .Default([&](Operation *other) { return distributeRows(other); });
      if (failed(result))
        return failure();
    }
    return success();
  }

  int64_t numExchanged = 0, numReturned = 0, numCombined = 0, numVaried = 0;

private:
  LogicalResult distribute(BroadcastOp op);
  LogicalResult distribute(ReduceOp op);
  LogicalResult distribute(NormOp op);
  LogicalResult distribute(DegreeOp op);
  LogicalResult distribute(ExtentOp op);
  LogicalResult distribute(RandomOp op);
  LogicalResult distributeRows(Operation *op);

  FlatSymbolRefAttr spaceOf(Value value) { return getResidency(value.getType()); }
  bool isDivided(Value value) { return maps.isDivided(spaceOf(value)); }
  RankedTensorType typeOn(FlatSymbolRefAttr space, Type like) {
    return getTensorOn(space, ShapedType::kDynamic, getFeatureShape(like),
                       cast<RankedTensorType>(like).getElementType());
  }
  void after(OpBuilder &b, Value value) {
    Operation *def = value.getDefiningOp();
    def ? b.setInsertionPointAfter(def) : b.setInsertionPointToStart(&function.getBody().front());
  }
  static void replace(Operation *op, Value value) {
    op->replaceAllUsesWith(ValueRange{value});
    op->erase();
  }
  LogicalResult refuse(Operation *op, const Twine &why) {
    return op->emitOpError() << "cannot be distributed: " << why.str();
  }

  Value vary(Value value);
  Value exchange(Value value);
  Value combine(OpBuilder &b, Location loc, ReduceKind kind, Value value) {
    ++numCombined;
    return AllReduceOp::create(b, loc, value.getType(), kind, value);
  }
  Value move(OpBuilder &b, Location loc, Value x, FlatSymbolRefAttr along, FloatAttr fill);
  Value bringBack(OpBuilder &b, Location loc, Value onUnion);
  Value sum(OpBuilder &b, Location loc, Value x, FlatSymbolRefAttr along);
  Value degree(OpBuilder &b, Location loc, FlatSymbolRefAttr along, Type element);

  RemoteMaps &maps;
  func::FuncOp function;
  FlatSymbolRefAttr all;
  DenseMap<Value, Value> varying, exchanged;
};

/// Whether a number says which element something is, in the numbers of this rank.
bool isElementNumber(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::ArgMax || reduce.getKind() == ReduceKind::ArgMin;
  if (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
    return isElementNumber(op->getOperand(0));
  return isa_and_nonnull<ElementOp>(op);
}

} // namespace

//===----------------------------------------------------------------------===//
// What is exchanged
//===----------------------------------------------------------------------===//

/// A value that all ranks have, where it meets what each has of its own.
Value Distributor::vary(Value value) {
  // No gradient goes there.
  if (isa_and_nonnull<ConstantOp, IotaOp, ElementOp, VaryOp>(value.getDefiningOp()))
    return value;
  Value &made = varying[value];
  if (made)
    return made;
  OpBuilder b(function.getContext());
  after(b, value);
  ++numVaried;
  return made = VaryOp::create(b, value.getLoc(), value.getType(), value);
}

/// Own rows, then those of the halo.
Value Distributor::exchange(Value value) {
  Value &made = exchanged[value];
  if (made)
    return made;
  const RemoteMaps::Halo &halo = maps.haloOf(spaceOf(value));
  OpBuilder b(function.getContext());
  after(b, value);
  Location loc = value.getLoc();
  Rules r(b, loc);
  Type whole = typeOn(halo.all, value.getType());
  Value sent = r.broadcast(value, halo.sent, typeOn(halo.send, value.getType()));
  Value received = TransferOp::create(b, loc, typeOn(halo.halo, value.getType()), sent);
  ++numExchanged;
  remarkPassed(received.getDefiningOp(), DEBUG_TYPE, "exchange", [&] {
    return "rows of " + std::to_string(getFeatureElements(value.getType())) + " numbers of @" +
           spaceOf(value).getValue().str() + " are exchanged";
  });
  return made = r.add(r.broadcast(value, halo.own, whole), r.broadcast(received, halo.other, whole));
}

Value Distributor::move(OpBuilder &b, Location loc, Value x, FlatSymbolRefAttr along, FloatAttr fill) {
  MapOp map = maps.map(along);
  if (maps.isThroughHalo(along)) {
    auto first = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]),
         second = cast<FlatSymbolRefAttr>(map.getPartsAttr()[1]);
    return move(b, loc, move(b, loc, x, second, fill), first, fill);
  }
  if (maps.isRemote(along))
    x = exchange(x);
  else if (!isDivided(x) && maps.isDivided(map.getFromAttr()))
    x = vary(x);
  SpaceOp from = maps.space(map.getFromAttr());
  Type type = getTensorOn(map.getFromAttr(), from.getExtent() ? int64_t(*from.getExtent()) : ShapedType::kDynamic,
                          getFeatureShape(x.getType()), cast<RankedTensorType>(x.getType()).getElementType());
  return BroadcastOp::create(b, loc, type, x, along, fill);
}

/// From sums for own elements and the halo to those of own elements, of which other ranks have parts.
Value Distributor::bringBack(OpBuilder &b, Location loc, Value onUnion) {
  Rules r(b, loc);
  FlatSymbolRefAttr space = maps.ownOf(spaceOf(onUnion));
  const RemoteMaps::Halo &halo = maps.haloOf(space);
  Type like = onUnion.getType();
  Value own = r.reduce(ReduceKind::Sum, onUnion, halo.own, typeOn(space, like));
  Value others = r.reduce(ReduceKind::Sum, onUnion, halo.other, typeOn(halo.halo, like));
  Value returned = TransferOp::create(b, loc, typeOn(halo.send, like), others);
  ++numReturned;
  remarkPassed(returned.getDefiningOp(), DEBUG_TYPE, "return", [&] {
    return "sums of " + std::to_string(getFeatureElements(like)) + " numbers go back to the ranks of @" +
           space.getValue().str();
  });
  return r.add(own, r.reduce(ReduceKind::Sum, returned, halo.sent, typeOn(space, like)));
}

Value Distributor::sum(OpBuilder &b, Location loc, Value x, FlatSymbolRefAttr along) {
  Rules r(b, loc);
  Type shared = getElementType(x.getType());
  if (along == all) {
    Value local = r.reduce(ReduceKind::Sum, x, along, shared);
    return isDivided(x) ? combine(b, loc, ReduceKind::Sum, local) : local;
  }
  MapOp map = maps.map(along);
  if (maps.isThroughHalo(along)) {
    auto first = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]),
         second = cast<FlatSymbolRefAttr>(map.getPartsAttr()[1]);
    return sum(b, loc, sum(b, loc, x, first), second);
  }
  Value local = r.reduce(ReduceKind::Sum, x, along, typeWhere(function, along, x.getType()));
  if (maps.isRemote(along))
    return bringBack(b, loc, local);
  return isDivided(x) && !isDivided(local) ? combine(b, loc, ReduceKind::Sum, local) : local;
}

/// How many members each element has on all ranks.
Value Distributor::degree(OpBuilder &b, Location loc, FlatSymbolRefAttr along, Type element) {
  MapOp map = maps.map(along);
  if (maps.isThroughHalo(along)) {
    auto first = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]),
         second = cast<FlatSymbolRefAttr>(map.getPartsAttr()[1]);
    return sum(b, loc, degree(b, loc, first, element), second);
  }
  Value local = DegreeOp::create(b, loc, typeWhere(function, along, RankedTensorType::get({}, element)), along);
  if (maps.isRemote(along))
    return bringBack(b, loc, local);
  return maps.isDivided(map.getFromAttr()) && !isDivided(local) ? combine(b, loc, ReduceKind::Sum, local) : local;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult Distributor::distribute(BroadcastOp op) {
  if (op.getAlongAttr() == all) {
    if (isDivided(op.getResult()))
      op.getInputMutable().assign(vary(op.getInput()));
    return success();
  }
  bool leavesRank = maps.isRemote(op.getAlongAttr()) || maps.isThroughHalo(op.getAlongAttr());
  if (leavesRank && isElementNumber(op.getInput()))
    return refuse(op, "element numbers of one rank mean nothing on another");
  OpBuilder b(op);
  replace(op, move(b, op.getLoc(), op.getInput(), op.getAlongAttr(), op.getFillAttr()));
  return success();
}

LogicalResult Distributor::distribute(ReduceOp op) {
  Value x = op.getInput();
  FlatSymbolRefAttr along = op.getAlongAttr();
  bool leavesRank = along != all && (maps.isRemote(along) || maps.isThroughHalo(along));
  bool combines = isDivided(x) && !isDivided(op.getResult());
  if (!leavesRank && !combines)
    return success();
  OpBuilder b(op);
  Location loc = op.getLoc();
  Rules r(b, loc);
  switch (op.getKind()) {
  case ReduceKind::Sum:
    replace(op, sum(b, loc, x, along));
    return success();
  case ReduceKind::Mean: {
    Type element = cast<RankedTensorType>(x.getType()).getElementType();
    Value total = sum(b, loc, x, along);
    Value count = along == all ? combine(b, loc, ReduceKind::Sum,
                                         ExtentOp::create(b, loc, RankedTensorType::get({}, element), spaceOf(x)))
                               : degree(b, loc, along, element);
    count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(x.getType()).size(), 1));
    replace(op, r.div(total, r.binary(BinaryKind::Maximum, count, r.number(1, count))));
    return success();
  }
  case ReduceKind::Max:
  case ReduceKind::Min: {
    if (along != all)
      break;
    if (!llvm::all_of(op->getUsers(), [](Operation *user) { return isa<DetachOp>(user); }))
      return refuse(op, "the " + stringifyEnum(op.getKind()) + " of all elements has one winner on one of the ranks");
    // Ranks without elements do not take part; where there are none at all the answer is 0.
    Value local = r.reduce(op.getKind(), x, along, op.getType());
    auto number = RankedTensorType::get({}, cast<RankedTensorType>(x.getType()).getElementType());
    SmallVector<int64_t> ones(getFeatureShape(x.getType()).size(), 1);
    Value count = ExtentOp::create(b, loc, number, spaceOf(x));
    double least = -std::numeric_limits<double>::infinity();
    Value none = r.number(op.getKind() == ReduceKind::Max ? least : -least, local);
    Value best = combine(b, loc, op.getKind(), r.select(r.reshape(count, ones), local, none));
    Value total = combine(b, loc, ReduceKind::Sum, count);
    replace(op, r.select(r.reshape(total, ones), best, r.number(0, best)));
    return success();
  }
  default:
    break;
  }
  return refuse(op, "'" + stringifyEnum(op.getKind()) + "' along @" + along.getValue() +
                        (combines ? ", of elements of all ranks" : ", which leads to elements of other ranks") +
                        "; only sums and means are");
}

LogicalResult Distributor::distribute(NormOp op) {
  FlatSymbolRefAttr along = op.getAlongAttr();
  if (along == all || maps.isRemote(along) || maps.isThroughHalo(along) ||
      (isDivided(op.getInput()) && !maps.isDivided(maps.map(along).getToAttr())))
    return refuse(op, "a softmax along @" + along.getValue() + ", which has members on several ranks");
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
  auto total = AllReduceOp::create(b, op.getLoc(), op.getType(), ReduceKind::Sum, op.getResult());
  ++numCombined;
  op.getResult().replaceAllUsesExcept(total.getResult(), total);
  return success();
}

LogicalResult Distributor::distribute(RandomOp op) {
  if (isDivided(op.getResult()))
    return refuse(op, "random numbers of elements need their numbers in the whole graph");
  return success();
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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Distributor distributor(maps, function);
      if (failed(distributor.run()))
        return signalPassFailure();
      numExchanged += distributor.numExchanged;
      numReturned += distributor.numReturned;
      numCombined += distributor.numCombined;
      numVaried += distributor.numVaried;
    }
    if (failed(maps.finish()))
      signalPassFailure();
  }
};

} // namespace
