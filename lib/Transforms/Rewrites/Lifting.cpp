//===- Lifting.cpp - The same value before a movement ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rewrites/Lifting.h"

#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVectorExtras.h"

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

bool gnnc::isLinearInOne(Operation *op, unsigned operand) {
  auto linear = dyn_cast_or_null<LinearOpInterface>(op);
  SmallVector<bool> marked(op->getNumOperands(), false);
  marked[operand] = true;
  return linear && linear.isLinearIn(marked);
}

bool gnnc::isAddition(Operation *op) {
  auto linear = dyn_cast_or_null<LinearOpInterface>(op);
  if (!linear || !linear.isElementwise() || !op->hasTrait<RowFunction>() || op->getNumOperands() < 2)
    return false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (isLinearInOne(op, i) ||
        getFeatureShape(op->getOperand(i).getType()) != getFeatureShape(op->getResult(0).getType()))
      return false;
  return linear.isLinearIn(SmallVector<bool>(op->getNumOperands(), true));
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
  auto function = isa<func::FuncOp>(op) ? cast<func::FuncOp>(op) : op->getParentOfType<func::FuncOp>();
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

/// Operands of `value`'s operation before the operation, for each that `isKnown` does not know: chains of operations
/// may be longer than the stack is deep. `compute` has what the operands gave.
static void visitOperandsFirst(Value value, function_ref<bool(Value)> isKnown, function_ref<bool(Value)> entersOperands,
                               function_ref<void(Value)> compute) {
  SmallVector<std::pair<Value, bool>> pending{{value, false}};
  while (!pending.empty()) {
    auto [next, entered] = pending.pop_back_val();
    if (isKnown(next))
      continue;
    if (entered || !entersOperands(next)) {
      compute(next);
      continue;
    }
    pending.push_back({next, true});
    for (Value operand : llvm::reverse(next.getDefiningOp()->getOperands()))
      pending.push_back({operand, false});
  }
}

bool Lifting::canLift(Value value) {
  auto isKnown = [&](Value v) { return !getResidency(v.getType()) || known.contains(v); };
  auto can = [&](Value v) { return !getResidency(v.getType()) || known.lookup(v); };
  auto dependsOnOperands = [&](Value v) {
    Operation *op = v.getDefiningOp();
    return map.getValue() != kAllMap && op && !isa<BroadcastOp>(op) && op->hasTrait<RowFunction>();
  };
  visitOperandsFirst(value, isKnown, dependsOnOperands, [&](Value v) {
    auto move = v.getDefiningOp<BroadcastOp>();
    if (dependsOnOperands(v))
      known[v] = llvm::all_of(v.getDefiningOp()->getOperands(), can) && isHarmless(v.getDefiningOp());
    else
      known[v] = map.getValue() != kAllMap && move &&
                 (move.getAlong() == kAllMap || remainderOf(from, move.getAlongAttr(), map).has_value());
  });
  return can(value);
}

Value Lifting::lift(OpBuilder &builder, Value value) {
  auto isKnown = [&](Value v) { return !getResidency(v.getType()) || lifted.contains(v); };
  auto early = [&](Value v) { return getResidency(v.getType()) ? lifted.lookup(v) : v; };
  auto dependsOnOperands = [](Value v) { return !isa<BroadcastOp>(v.getDefiningOp()); };
  visitOperandsFirst(value, isKnown, dependsOnOperands, [&](Value v) {
    Operation *op = v.getDefiningOp();
    RankedTensorType type = typeWhere(from, map, v.getType());
    Value result;
    if (auto move = dyn_cast<BroadcastOp>(op)) {
      FlatSymbolRefAttr rest = move.getAlong() == kAllMap
                                   ? move.getAlongAttr()
                                   : *remainderOf(from, move.getAlongAttr(), map, /*declare=*/true);
      result = rest ? Value(BroadcastOp::create(builder, op->getLoc(), type, move.getInput(), rest, move.getFillAttr()))
                    : move.getInput();
    } else {
      result = cloneOn(builder, op, llvm::map_to_vector(op->getOperands(), early), type);
    }
    // What is made of finite numbers is finite too, unless it comes from the graph alone.
    if (unread == Unread::Finite && (isa<BroadcastOp>(op) || isOfGraphAlone(v)))
      result = guardUnread(builder, op->getLoc(), result, map);
    lifted[v] = result;
  });
  return early(value);
}

bool gnnc::isPartial(Operation *from, FlatSymbolRefAttr map) {
  return map.getValue() != kAllMap && SymbolTable::lookupNearestSymbolFrom<MapOp>(from, map).getPartial();
}

bool gnnc::isChoice(Operation *op, FlatSymbolRefAttr name) {
  if (name.getValue() == kAllMap)
    return false;
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(op, name);
  if (map.getKind() == MapKind::Inclusion)
    return true;
  auto from = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(op, map.getFromAttr());
  if (map.getKind() != MapKind::Root)
    return map.getKind() == MapKind::Owner && from.getKind() == SpaceKind::Selection && from.getMost() == 1;
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto sources = module->getAttrOfType<DictionaryAttr>(kSourceAttr);
  auto source = sources ? sources.getAs<StringAttr>(map.getSymName()) : StringAttr();
  return source && source.getValue().starts_with("nonzero(");
}

bool gnnc::hasFewElements(SpaceOp space) {
  constexpr int64_t kFew = 1024;
  return space.getKind() == SpaceKind::Static && int64_t(*space.getExtent()) <= kFew;
}

bool gnnc::isLookup(Operation *op, FlatSymbolRefAttr name) {
  if (name.getValue() == kAllMap)
    return false;
  auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(op, name);
  if (map.getKind() == MapKind::Compose)
    return llvm::any_of(map.getPartsAttr().getAsRange<FlatSymbolRefAttr>(),
                        [&](FlatSymbolRefAttr part) { return isLookup(op, part); });
  auto table = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(op, map.getToAttr());
  if (table.getKind() != SpaceKind::Static || hasFewElements(table))
    return false;
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return llvm::count_if(module.getOps<MapOp>(), [&](MapOp other) {
           return other.getKind() != MapKind::Compose && other.getFromAttr() == map.getFromAttr() &&
                  other.getToAttr() == map.getToAttr();
         }) == 1;
}

const LiftFinder::Maps *LiftFinder::mapsOf(ModuleOp module, Value value) {
  static const Maps none;
  auto isKnown = [&](Value v) { return mapsOfValue.contains(v); };
  auto dependsOnOperands = [](Value v) {
    Operation *op = v.getDefiningOp();
    return op && getResidency(v.getType()) && !isa<BroadcastOp>(op) && op->hasTrait<RowFunction>();
  };
  visitOperandsFirst(value, isKnown, dependsOnOperands, [&](Value v) {
    const Maps *maps = &none;
    auto move = v.getDefiningOp<BroadcastOp>();
    if (dependsOnOperands(v)) {
      for (Value operand : llvm::reverse(v.getDefiningOp()->getOperands()))
        maps = unite(maps, mapsOfValue.lookup(operand));
    } else if (move && getResidency(v.getType()) && move.getAlong() != kAllMap) {
      Maps own{{move.getAlongAttr()}, {}};
      auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(module, move.getAlongAttr());
      if (map.getKind() == MapKind::Compose)
        own.first.push_back(map.getPartsAttr()[0]);
      maps = &all.emplace_back(std::move(own));
    }
    mapsOfValue[v] = maps;
  });
  return mapsOfValue.lookup(value);
}

const LiftFinder::Maps *LiftFinder::unite(const Maps *a, const Maps *b) {
  auto isPart = [](ArrayRef<Attribute> part, ArrayRef<Attribute> whole) {
    return llvm::all_of(part, [&](Attribute map) { return llvm::is_contained(whole, map); });
  };
  if (a == b || (isPart(b->whole, a->whole) && isPart(b->first, a->first)))
    return a;
  if (a->whole.empty() && a->first.empty())
    return b;
  Maps both = *a;
  for (auto [more, into] : {std::pair(&b->whole, &both.whole), {&b->first, &both.first}})
    for (Attribute map : *more)
      if (!llvm::is_contained(*into, map))
        into->push_back(map);
  return &all.emplace_back(std::move(both));
}

FlatSymbolRefAttr LiftFinder::find(Operation *from, ValueRange values) {
  // Any movement the values are made of may be the one, or the first half of it.
  auto module = from->getParentOfType<ModuleOp>();
  static const Maps none;
  const Maps *maps = &none;
  for (Value value : llvm::reverse(values))
    maps = unite(maps, mapsOf(module, value));
  for (const auto *candidates : {&maps->whole, &maps->first})
    for (Attribute candidate : *candidates) {
      auto map = cast<FlatSymbolRefAttr>(candidate);
      Lifting &lifting = liftings.try_emplace(candidate, module, map).first->second;
      if (!isPartial(module, map) && !isChoice(module, map) && !isLookup(module, map) &&
          llvm::all_of(values, [&](Value value) { return lifting.canLift(value); }))
        return map;
    }
  return {};
}

void LiftFinder::forget(Operation *op) {
  for (Value result : op->getResults()) {
    mapsOfValue.erase(result);
    for (auto &[map, lifting] : liftings)
      lifting.forget(result);
  }
}

FlatSymbolRefAttr gnnc::findLift(Operation *from, ValueRange values) { return LiftFinder().find(from, values); }

bool gnnc::isSumOfLifted(LiftFinder &lifts, Operation *from, Value whole, ArrayRef<Value> others) {
  SmallVector<Value> pending{whole};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second || !getResidency(value.getType()))
      continue;
    SmallVector<Value> together(others);
    together.push_back(value);
    if (lifts.find(from, together))
      continue;
    Operation *sum = value.getDefiningOp();
    if (!isAddition(sum))
      return false;
    llvm::append_range(pending, sum->getOperands());
  }
  return true;
}
