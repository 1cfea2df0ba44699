//===- GroupTypes.cpp - Typed products are made once for each pair that occurs ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R3 where the weight's type is not that of an end: a product x.m W.t on a space, t leading to a static one, has as
// many different rows as there are pairs (m, t), which is at most as many as the space has elements. Two ways to have
// them:
//
// * x.m W.t = (x.p0 W.p1).c, where c is the class of an element among the pairs (m, t).
// * sum along d of e W.t = sum along p0 of (sum along c of e) W.p1, where c is its class among the pairs (d, t).
//
// The second sums before it multiplies (R6), so it moves e's rows, and it works for rows that come from nowhere else;
// it is taken where the product is summed and does not make rows narrower, or where `extents` says so. Neither has a
// row for each node and type.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/RowActions.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_GROUPTYPES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "group-types"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The distinct pairs of two maps' values: the class of an element, and where a pair came from.
struct Pairs {
  FlatSymbolRefAttr cls, first, second;
};

/// A product with a weight of types.
struct TypedProduct {
  ContractOp op;
  unsigned rows = 0; ///< the operand that is no weight
  BroadcastOp weight;
};

/// A product that has a matrix for each element of a static space, brought along a total map.
std::optional<TypedProduct> match(ContractOp op) {
  for (unsigned rows : {0u, 1u}) {
    BroadcastOp weight = getMove(op->getOperand(1 - rows));
    Value other = op->getOperand(rows);
    if (!weight || !getResidency(other.getType()) || isPartial(op, weight.getAlongAttr()))
      continue;
    ArrayRef<int64_t> own = rows == 0 ? op.getRhsLabels() : op.getLhsLabels();
    ArrayRef<int64_t> others = rows == 0 ? op.getLhsLabels() : op.getRhsLabels();
    // The elements of a distinct space are pairs already.
    auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(op, getResidency(other.getType()));
    if (space.getKind() == SpaceKind::Distinct)
      continue;
    if (!isKnownWithGraph(op, weight.getAlongAttr()))
      continue;
    bool isMatrix = llvm::any_of(own, [&](int64_t label) { return !llvm::is_contained(others, label); });
    if (isMatrix && !cast<RankedTensorType>(weight.getInput().getType()).isDynamicDim(0))
      return TypedProduct{op, rows, weight};
  }
  return std::nullopt;
}

/// The typed product whose rows are summed, if it is only needed there.
std::optional<TypedProduct> findSummed(ReduceOp sum) {
  ActionCounts counts;
  auto product = coreOf(sum.getResult(), /*root=*/true, counts).getDefiningOp<ContractOp>();
  if (!product || !product->hasOneUse() || counts.sums != 1 || counts.moves != 0)
    return std::nullopt;
  return match(product);
}

/// The space of the distinct pairs of two maps, declared if it is not there yet.
Pairs findPairs(Operation *from, FlatSymbolRefAttr base, FlatSymbolRefAttr first, FlatSymbolRefAttr second) {
  auto module = from->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  OpBuilder b(module.getContext());
  b.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
  Location loc = from->getLoc();
  SpaceOp space;
  for (auto candidate : module.getOps<SpaceOp>())
    if (candidate.getKind() == SpaceKind::Distinct && candidate.getBaseAttr() == base &&
        candidate.getMapsAttr().size() == 2 && llvm::is_contained(candidate.getMapsAttr(), first) &&
        llvm::is_contained(candidate.getMapsAttr(), second))
      space = candidate;
  if (!space) {
    std::string name = (base.getValue() + "." + first.getValue() + "." + second.getValue()).str();
    space = SpaceOp::create(b, loc, b.getStringAttr(name), b.getAttr<SpaceKindAttr>(SpaceKind::Distinct), IntegerAttr(),
                            base, b.getArrayAttr({first, second}), UnitAttr(), ArrayAttr());
    symbols.insert(space);
  }
  auto pairs = FlatSymbolRefAttr::get(space.getSymNameAttr());
  MapOp cls;
  for (auto map : module.getOps<MapOp>())
    if (map.getKind() == MapKind::Class && map.getFromAttr() == base && map.getToAttr() == pairs)
      cls = map;
  if (!cls) {
    cls = MapOp::create(b, loc, b.getStringAttr(space.getSymName() + ".class"), b.getAttr<MapKindAttr>(MapKind::Class),
                        base, pairs, UnitAttr(), IntegerAttr(), ArrayAttr());
    symbols.insert(cls);
  }
  return {FlatSymbolRefAttr::get(cls), projectionOf(space, first, true), projectionOf(space, second, true)};
}

/// The product of pairs' rows with the weights of their types.
Value multiply(OpBuilder &b, TypedProduct product, const Pairs &pairs, Value rows) {
  Rules r(b, product.op.getLoc());
  SmallVector<Value> operands{rows, rows};
  Type type = Rules::withFeatures(rows.getType(), getFeatureShape(product.weight.getType()));
  operands[1 - product.rows] = r.broadcast(product.weight.getInput(), pairs.second, type);
  return cloneOn(b, product.op, operands, Rules::withFeatures(rows.getType(), getFeatureShape(product.op.getType())));
}

std::string spaceOf(Value value) { return "@" + getResidency(value.getType()).getValue().str(); }

struct GroupTypes : public gnnc::impl::GroupTypesBase<GroupTypes> {
  using GroupTypesBase::GroupTypesBase;

  void runOnOperation() override {
    SmallVector<ReduceOp> sums;
    SmallVector<ContractOp> products;
    getOperation().walk([&](Operation *op) {
      if (auto reduce = dyn_cast<ReduceOp>(op); reduce && classify(reduce).kind == Action::Sum)
        sums.push_back(reduce);
      if (auto product = dyn_cast<ContractOp>(op))
        products.push_back(product);
    });
    for (ReduceOp sum : sums)
      if (std::optional<TypedProduct> product = findSummed(sum))
        sumPairs(sum, *product);
    for (ContractOp op : products)
      if (!op->use_empty())
        if (std::optional<TypedProduct> product = match(op))
          hoist(*product);
  }

  void sumPairs(ReduceOp sum, TypedProduct product) {
    Value rows = product.op->getOperand(product.rows);
    FlatSymbolRefAttr owner = sum.getAlongAttr(), type = product.weight.getAlongAttr();
    int64_t from = getFeatureElements(rows.getType()), to = getFeatureElements(product.op.getType());
    auto decline = [&](StringRef reason) {
      remarkMissed(
          sum, DEBUG_TYPE, "sum-first", [] { return "product of types is made before the sum"; },
          [&] { return reason.str(); });
    };
    if (sum.getKind() != ReduceKind::Sum)
      return decline("a mean of means is not the mean");
    if (isPartial(sum, owner))
      return decline("the map of the sum is partial");
    if (bool elsewhere = bool(findLift(sum, rows)); elsewhere && extents == Extents::FewSources)
      return decline("senders are taken to be fewer");
    else if (elsewhere && from > to && extents != Extents::FewOwners)
      return decline("it makes rows narrower");
    if (remainderOf(sum, type, owner))
      return; // One type for each owner: the weight is constant in the sum.
    Pairs pairs = findPairs(sum, getResidency(rows.getType()), owner, type);
    OpBuilder b(sum);
    Rules r(b, sum.getLoc());
    Value summed = rebuild(b, sum.getInput(), product.op.getResult(), rows);
    summed = r.reduce(ReduceKind::Sum, summed, pairs.cls, typeWhere(sum, pairs.cls, summed.getType()));
    Value result = r.reduce(ReduceKind::Sum, multiply(b, product, pairs, summed), pairs.first, sum.getType());
    remarkPassed(sum, DEBUG_TYPE, "sum-first",
                 [&] { return "rows are summed for each element of " + spaceOf(summed) + ", then multiplied"; });
    sum.replaceAllUsesWith(result);
    sum.erase();
    ++numGrouped;
  }

  void hoist(TypedProduct product) {
    ContractOp op = product.op;
    Value rows = op->getOperand(product.rows);
    FlatSymbolRefAttr map = findLift(op, rows), type = product.weight.getAlongAttr();
    if (!map) {
      remarkMissed(
          op, DEBUG_TYPE, "hoist", [] { return "product of types stays where it is"; },
          [] { return "its rows do not come along one map"; });
      return;
    }
    if (remainderOf(op, type, map))
      return; // The type of where the rows come from: reorder-broadcast's.
    Pairs pairs = findPairs(op, getResidency(rows.getType()), map, type);
    OpBuilder b(op);
    Rules r(b, op.getLoc());
    Value source = Lifting(op, map, unreadWhere(op, gradient)).lift(b, rows);
    source = r.broadcast(source, pairs.first, typeWhere(op, pairs.cls, source.getType()));
    Value result = multiply(b, product, pairs, source);
    remarkPassed(op, DEBUG_TYPE, "hoist",
                 [&] { return "product is made once for each element of " + spaceOf(result); });
    op.replaceAllUsesWith(r.broadcast(result, pairs.cls, op.getType()));
    op.erase();
    ++numGrouped;
  }
};

} // namespace
