//===- Lifting.cpp - The same value before a movement ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lifting.h"

#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

RankedTensorType gnnc::typeWhere(Operation *from, FlatSymbolRefAttr map, Type like) {
  Type element = cast<RankedTensorType>(like).getElementType();
  if (map.getValue() == kAllMap)
    return getTensorOn({}, 0, getFeatureShape(like), element);
  auto to = SymbolTable::lookupNearestSymbolFrom<MapOp>(from, map).getToAttr();
  auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(from, to);
  int64_t extent = space.getExtent() ? int64_t(*space.getExtent()) : ShapedType::kDynamic;
  return getTensorOn(to, extent, getFeatureShape(like), element);
}

Value gnnc::cloneOn(OpBuilder &builder, Operation *op, ValueRange operands, Type type) {
  OperationState state(op->getLoc(), op->getName(), operands, type, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

FlatSymbolRefAttr gnnc::projectionOf(SpaceOp space, FlatSymbolRefAttr map, bool declare) {
  auto module = space->getParentOfType<ModuleOp>();
  auto pairs = FlatSymbolRefAttr::get(space.getSymNameAttr());
  int64_t part = llvm::find(space.getMapsAttr(), map) - space.getMapsAttr().begin();
  for (auto projection : module.getOps<MapOp>())
    if (projection.getKind() == MapKind::Projection && projection.getFromAttr() == pairs &&
        int64_t(*projection.getPart()) == part)
      return FlatSymbolRefAttr::get(projection);
  OpBuilder b(module.getContext());
  b.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
  StringAttr name = b.getStringAttr(space.getSymName() + "." + map.getValue());
  if (!declare)
    return FlatSymbolRefAttr::get(name);
  SymbolTable symbols(module);
  auto projection = MapOp::create(b, space.getLoc(), name, b.getAttr<MapKindAttr>(MapKind::Projection), pairs,
                                  symbols.lookup<MapOp>(map.getValue()).getToAttr(), UnitAttr(),
                                  b.getI64IntegerAttr(part), ArrayAttr());
  symbols.insert(projection);
  return FlatSymbolRefAttr::get(projection);
}

std::optional<FlatSymbolRefAttr> gnnc::remainderOf(Operation *from, FlatSymbolRefAttr whole, FlatSymbolRefAttr first,
                                                   bool declare) {
  if (whole == first)
    return FlatSymbolRefAttr();
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(from, whole);
  if (map && map.getKind() == MapKind::Compose && map.getPartsAttr()[0] == first)
    return cast<FlatSymbolRefAttr>(map.getPartsAttr()[1]);
  // maps[j] of a distinct space is its projection j after the class of an element.
  auto cls = SymbolTable::lookupNearestSymbolFrom<MapOp>(from, first);
  if (!cls || cls.getKind() != MapKind::Class)
    return std::nullopt;
  auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(from, cls.getToAttr());
  if (!llvm::is_contained(space.getMapsAttr(), whole))
    return std::nullopt;
  return projectionOf(space, whole, declare);
}

Unread gnnc::unreadWhere(Operation *op, bool gradient) {
  auto function = op->getParentOfType<func::FuncOp>();
  bool differentiated =
      (gradient && function.getName() == kForward) || !function.getBody().front().getOps<GradientOp>().empty();
  return differentiated ? Unread::Finite : Unread::Computed;
}

Value gnnc::guardUnread(OpBuilder &builder, Location loc, Value value, FlatSymbolRefAttr map) {
  if (!getResidency(value.getType()) || isFiniteWithoutMembers(value, map))
    return value;
  Rules r(builder, loc);
  Value count = DegreeOp::create(builder, loc, Rules::withFeatures(value.getType(), {}), map);
  count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(value.getType()).size(), 1));
  return r.select(count, value, r.number(1, value));
}

bool Lifting::canLift(Value value) {
  if (!getResidency(value.getType()))
    return true;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  bool can = false;
  if (map.getValue() == kAllMap || !op)
    can = false;
  else if (auto move = dyn_cast<BroadcastOp>(op))
    can = move.getAlong() == kAllMap || remainderOf(from, move.getAlongAttr(), map).has_value();
  else
    can = op->hasTrait<RowFunction>() && llvm::all_of(op->getOperands(), [&](Value v) { return canLift(v); }) &&
          isHarmless(op);
  return known[value] = can;
}

Value Lifting::lift(OpBuilder &builder, Value value) {
  if (!getResidency(value.getType()))
    return value;
  if (Value done = lifted.lookup(value))
    return done;
  Operation *op = value.getDefiningOp();
  RankedTensorType type = typeWhere(from, map, value.getType());
  Value result;
  if (auto move = dyn_cast<BroadcastOp>(op)) {
    FlatSymbolRefAttr rest = move.getAlong() == kAllMap
                                 ? move.getAlongAttr()
                                 : *remainderOf(from, move.getAlongAttr(), map, /*declare=*/true);
    result = rest ? Value(BroadcastOp::create(builder, op->getLoc(), type, move.getInput(), rest, move.getFillAttr()))
                  : move.getInput();
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(lift(builder, operand));
    result = cloneOn(builder, op, operands, type);
  }
  // What is made of finite numbers is finite too, unless it comes from the graph alone.
  if (unread == Unread::Finite && (isa<BroadcastOp>(op) || isOfGraphAlone(value)))
    result = guardUnread(builder, op->getLoc(), result, map);
  return lifted[value] = result;
}

bool gnnc::isPartial(Operation *from, FlatSymbolRefAttr map) {
  return map.getValue() != kAllMap && SymbolTable::lookupNearestSymbolFrom<MapOp>(from, map).getPartial();
}

FlatSymbolRefAttr gnnc::findLift(Operation *from, ValueRange values) {
  // Any movement the values are made of may be the one, or the first half of it.
  llvm::SetVector<Attribute> whole, first;
  DenseSet<Value> seen;
  SmallVector<Value> pending(values);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !getResidency(value.getType()) || !seen.insert(value).second)
      continue;
    if (auto move = dyn_cast<BroadcastOp>(op)) {
      if (move.getAlong() == kAllMap)
        continue;
      whole.insert(move.getAlongAttr());
      auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(from, move.getAlongAttr());
      if (map.getKind() == MapKind::Compose)
        first.insert(map.getPartsAttr()[0]);
    } else if (op->hasTrait<RowFunction>()) {
      llvm::append_range(pending, op->getOperands());
    }
  }
  for (const auto *candidates : {&whole, &first})
    for (Attribute candidate : *candidates) {
      auto map = cast<FlatSymbolRefAttr>(candidate);
      Lifting lifting(from, map);
      if (!isPartial(from, map) && llvm::all_of(values, [&](Value value) { return lifting.canLift(value); }))
        return map;
    }
  return {};
}
