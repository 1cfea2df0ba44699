//===- DistributeRows.cpp - Rows from and to other ranks ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that is read through a remote map has a row for each own element and for each of the halo. Rows of the halo
// are transferred, or made where they are read, of rows that have fewer bytes or are there anyway: so a product comes
// before or after its exchange, whichever row is narrower.
//
//===----------------------------------------------------------------------===//

#include "Distribution/Distributor.h"
#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "distribute"

static int64_t rowBytes(Value value) {
  return getFeatureElements(value.getType()) * cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8;
}

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

bool Distributor::isFixed(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.getBody().front() ||
      getRole(function, argument.getArgNumber()) != Role::Input)
    return false;
  // What others read goes back to what a gradient is by.
  if (llvm::any_of(value.getUsers(), llvm::IsaPred<GradientOp>))
    return false;
  return llvm::is_contained(fixed, function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr).str());
}

Value Distributor::insertHaloOf(Value input) {
  unsigned number = cast<BlockArgument>(input).getArgNumber(), place = function.getNumArguments();
  OpBuilder b(function.getContext());
  auto name = function.getArgAttrOfType<StringAttr>(number, kNameAttr);
  NamedAttrList attributes;
  for (StringRef kept : {kAxesAttr, kRoleAttr, kFillAttr})
    if (Attribute value = function.getArgAttr(number, kept))
      attributes.set(kept, value);
  attributes.set(kNameAttr, b.getStringAttr(name.getValue() + ".halo"));
  attributes.set(kHaloOfAttr, name);
  Type type = typeOn(maps.haloOf(spaceOf(input)).halo, input.getType());
  if (failed(function.insertArgument(place, type, attributes.getDictionary(b.getContext()), input.getLoc())))
    return Value();
  ++numFixed;
  remarkPassed(function, DEBUG_TYPE, "fixed", [&] {
    return "input '" + name.str() + "' does not change: its rows of @" + spaceOf(input).getValue().str() +
           " of other ranks are an input";
  });
  return function.getArgument(place);
}

/// What is transferred already, or will be because of another use, costs nothing more.
bool Distributor::isReadByOthers(Value value) {
  return ofHalo.contains(value) || llvm::any_of(value.getUsers(), [&](Operation *user) {
           auto move = dyn_cast<BroadcastOp>(user);
           return move && move.getAlongAttr() != all && maps.isRemote(move.getAlongAttr());
         });
}

Distributor::HaloPrice Distributor::priceOfHalo(Value value) {
  if (isReadByOthers(value) || isFixed(value))
    return {};
  HaloPrice whole{rowBytes(value), 0};
  auto [known, fresh] = haloPrices.try_emplace(value, whole);
  if (!fresh)
    return known->second;
  if (HaloPrice price; isRemade(value, price))
    return haloPrices[value] = price;
  return whole;
}

bool Distributor::isRemade(Value value, HaloPrice &price) {
  Operation *op = value.getDefiningOp();
  // A gradient is by what a variable is on all ranks: what others read goes back to it.
  if (!op || !op->hasTrait<RowFunction>() || isa<RandomOp, VariableOp>(op))
    return false;
  price = {};
  llvm::SetVector<Value> rows;
  for (Value operand : op->getOperands())
    if (isDivided(operand))
      rows.insert(operand);
  for (Value operand : rows) {
    HaloPrice of = priceOfHalo(operand);
    price.bytes += of.bytes;
    price.operations += of.operations;
  }
  if (auto work = dyn_cast<CostOpInterface>(op))
    price.operations += work.flopsPerRow();
  int64_t saved = rowBytes(value) - price.bytes;
  return !rows.empty() && saved > 0 && price.operations <= saved * operationsPerByte;
}

Value Distributor::rowsOfHalo(Value value, bool forGradient) {
  if (Value made = ofHalo.lookup(value))
    return made;
  if (isFixed(value))
    if (Value given = insertHaloOf(value))
      return ofHalo[value] = given;
  const RemoteMaps::Halo &halo = maps.haloOf(spaceOf(value));
  auto features = [](Value value) { return std::to_string(getFeatureElements(value.getType())); };
  OpBuilder b(function.getContext());
  Location loc = value.getLoc();
  Value made;
  haloPrices.clear(); // of what is there by now, nothing is transferred again
  if (HaloPrice price; isRemade(value, price)) {
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isDivided(operand) ? rowsOfHalo(operand) : operand);
    after(b, value);
    made = cloneOn(b, op, operands, typeOn(halo.halo, value.getType()));
    ++numRemade;
    remarkPassed(made.getDefiningOp(), DEBUG_TYPE, "remake", [&] {
      return "rows of " + features(value) + " numbers of @" + spaceOf(value).getValue().str() +
             " are made where they are read: what they are made of takes " + std::to_string(price.bytes) +
             " bytes more, they would take " + std::to_string(rowBytes(value)) + "; that is worth its " +
             std::to_string(price.operations) + " operations a row";
    });
  } else {
    after(b, value);
    Value sent = Rules(b, loc).broadcast(value, halo.sent, typeOn(halo.send, value.getType()));
    made = TransferOp::create(b, loc, typeOn(halo.halo, value.getType()), sent);
    if (forGradient)
      return ofHalo[value] = made;
    ++numExchanged;
    remarkPassed(made.getDefiningOp(), DEBUG_TYPE, "exchange", [&] {
      return "rows of " + features(value) + " numbers of @" + spaceOf(value).getValue().str() + " are exchanged";
    });
  }
  return ofHalo[value] = made;
}

Value Distributor::exchange(Value value, bool forGradient) {
  if (Value made = exchanged.lookup(value))
    return made;
  const RemoteMaps::Halo &halo = maps.haloOf(spaceOf(value));
  Value others = rowsOfHalo(value, forGradient);
  OpBuilder b(function.getContext());
  after(b, others);
  Rules r(b, value.getLoc());
  Type whole = typeOn(halo.all, value.getType());
  return exchanged[value] = r.add(r.broadcast(value, halo.own, whole), r.broadcast(others, halo.other, whole));
}

Value Distributor::move(OpBuilder &b, Location loc, Value x, Map along, FloatAttr fill) {
  MapOp map = maps.map(along);
  if (maps.isThroughHalo(along)) {
    auto first = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]),
         second = cast<FlatSymbolRefAttr>(map.getPartsAttr()[1]);
    return move(b, loc, move(b, loc, x, second, fill), first, fill);
  }
  if (maps.isAbsent(along))
    return moveAbsent(b, loc, x, along, fill);
  if (maps.isRemote(along))
    x = exchange(x);
  else if (!isDivided(x) && maps.isDivided(map.getFromAttr()))
    x = vary(x);
  SpaceOp from = maps.space(map.getFromAttr());
  Type type = getTensorOn(map.getFromAttr(), from.getExtent() ? int64_t(*from.getExtent()) : ShapedType::kDynamic,
                          getFeatureShape(x.getType()), cast<RankedTensorType>(x.getType()).getElementType());
  return BroadcastOp::create(b, loc, type, x, along, fill);
}

Value Distributor::sendBack(OpBuilder &b, Location loc, Value onUnion, bool forGradient) {
  Rules r(b, loc);
  FlatSymbolRefAttr space = maps.ownOf(spaceOf(onUnion));
  const RemoteMaps::Halo &halo = maps.haloOf(space);
  Type like = onUnion.getType();
  Value others = r.reduce(ReduceKind::Sum, onUnion, halo.other, typeOn(halo.halo, like));
  Value returned = TransferOp::create(b, loc, typeOn(halo.send, like), others);
  if (forGradient)
    return returned;
  ++numReturned;
  remarkPassed(returned.getDefiningOp(), DEBUG_TYPE, "return", [&] {
    return "rows of " + std::to_string(getFeatureElements(like)) + " numbers go back to the ranks of @" +
           space.getValue().str();
  });
  return returned;
}

Value Distributor::bringBack(OpBuilder &b, Location loc, Value onUnion) {
  Rules r(b, loc);
  FlatSymbolRefAttr space = maps.ownOf(spaceOf(onUnion));
  const RemoteMaps::Halo &halo = maps.haloOf(space);
  Type type = typeOn(space, onUnion.getType());
  Value own = r.reduce(ReduceKind::Sum, onUnion, halo.own, type);
  return r.add(own, r.reduce(ReduceKind::Sum, sendBack(b, loc, onUnion), halo.sent, type));
}
