//===- SplitSums.cpp - Sums over everything go by way of owners -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a parameter that members use (an attention vector) is a sum over all edges. By itself it is one more
// pass over the edges that computes scores again; but for a total map m
//
//   sum over all i of x[i]  =  sum over all j of (sum over i with m(i) = j of x[i])
//
// and the inner sum joins the sweep along m that computes x anyway. Applied where the value shares its computation with
// a sum along m; maps of a softmax in that computation are preferred, since a sweep along them has its statistics at
// hand. Not where a value of the members is kept in memory (the gradient of an edge's coordinates) that shares more of
// it: the pass over the members that makes it then takes the sum along for less.
//
// Sums over all pairs of elements always go by way of one side, since a pass over pairs needs a list of them.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "dialects/mpdfg/IR/Pairs.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITSUMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-sums"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// What is computed on the value's own space to have it: movements end the search.
llvm::SetVector<Operation *> computationOf(Value value) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || isa<BroadcastOp, ReduceOp, ConstantOp, IotaOp, ElementOp>(op) || isView(op) ||
        !getResidency(op->getResult(0).getType()) || !found.insert(op))
      continue;
    llvm::append_range(pending, op->getOperands());
  }
  return found;
}

using OperationSet = llvm::SetVector<Operation *>;

/// Operations for each element that the two have in common.
int64_t sharedCost(const OperationSet &one, const OperationSet &other) {
  int64_t operations = 0;
  for (Operation *op : one)
    if (other.contains(op))
      if (auto cost = dyn_cast<CostOpInterface>(op))
        operations += cost.flopsPerRow();
  return operations;
}

struct SplitSums : public gnnc::impl::SplitSumsBase<SplitSums> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (ReduceOp mean : llvm::to_vector(function.getOps<ReduceOp>()))
        if (mean.getKind() == ReduceKind::Mean && mean.getAlong() == kAllMap &&
            getPairs(mean, mean.getInput().getType()))
          writeAsSum(mean);
      SmallVector<ReduceOp> whole, partial;
      function.walk([&](ReduceOp op) {
        if (op.getKind() == ReduceKind::Sum && !(op.getAlong() == kAllMap && joinsTiles(op)))
          (op.getAlong() == kAllMap ? whole : partial).push_back(op);
      });
      for (ReduceOp sum : whole)
        if (FlatSymbolRefAttr along = findMap(sum, partial)) {
          if (!getPairs(sum, sum.getInput().getType()) && declinesPrice(function, sum, along, partial))
            continue;
          remarkPassed(sum, DEBUG_TYPE, "split",
                       [&] { return ("sum over everything goes by way of sums along @" + along.getValue()).str(); });
          split(sum, along);
          ++numSplit;
        } else {
          remarkMissed(
              sum, DEBUG_TYPE, "split", [] { return "sum over everything is a walk of its own"; },
              [] { return "no sum along a total map shares its computation"; });
        }
    }
  }

  /// Whether a pass over the members, which results of the function need anyway, shares more of what the sum is made of
  /// than the sums along the map.
  static bool declinesPrice(func::FuncOp function, ReduceOp sum, FlatSymbolRefAttr along, ArrayRef<ReduceOp> others) {
    OperationSet kept, summed;
    for (Value result : function.getBody().front().getTerminator()->getOperands()) {
      while (isView(result.getDefiningOp()))
        result = result.getDefiningOp()->getOperand(0);
      if (getResidency(result.getType()) == getResidency(sum.getInput().getType()))
        kept.insert_range(computationOf(result));
    }
    for (ReduceOp other : others)
      if (other.getAlongAttr() == along)
        summed.insert_range(computationOf(other.getInput()));
    OperationSet own = computationOf(sum.getInput());
    int64_t byMembers = sharedCost(own, kept), byOwners = sharedCost(own, summed);
    if (byMembers <= byOwners)
      return false;
    remarkMissed(
        sum, DEBUG_TYPE, "split", [] { return "sum over everything is taken with a result for each member"; },
        [&] {
          return "that shares " + std::to_string(byMembers) + " operations for each member with it, sums along @" +
                 along.getValue().str() + " " + std::to_string(byOwners);
        });
    return true;
  }

  /// Whether the sum is made of products in tiles, or of what an outer product in tiles is made of: those are summed
  /// over everything at once.
  static bool joinsTiles(ReduceOp sum) {
    for (Operation *op : computationOf(sum.getInput())) {
      if (mpk::isTiled(op))
        return true;
      for (Operation *user : op->getUsers())
        if (auto product = dyn_cast<ContractOp>(user);
            product && mpk::isTiled(user) && getResidency(product.getRhs().getType()))
          return true;
    }
    return false;
  }

  /// The map of a sum that shares computation with `sum`.
  static FlatSymbolRefAttr findMap(ReduceOp sum, ArrayRef<ReduceOp> others) {
    llvm::SetVector<Operation *> own = computationOf(sum.getInput());
    FlatSymbolRefAttr softmax, any;
    for (Operation *op : own)
      if (auto norm = dyn_cast<NormOp>(op); norm && norm.getAlong() != kAllMap)
        softmax = norm.getAlongAttr();
    for (ReduceOp other : others) {
      auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(other, other.getAlongAttr());
      if (map.getPartial() || map.getFromAttr() != getResidency(sum.getInput().getType()))
        continue;
      if (llvm::none_of(computationOf(other.getInput()), [&](Operation *op) { return own.contains(op); }))
        continue;
      if (other.getAlongAttr() == softmax)
        return softmax;
      if (!any)
        any = other.getAlongAttr();
    }
    if (!any && getPairs(sum, sum.getInput().getType()))
      for (auto map : sum->getParentOfType<ModuleOp>().getOps<MapOp>())
        if (map.getFromAttr() == getResidency(sum.getInput().getType()) && getMapsOfPairs(map).own)
          return FlatSymbolRefAttr::get(map);
    return any;
  }

  /// A mean over all pairs as a sum.
  static void writeAsSum(ReduceOp mean) {
    OpBuilder b(mean);
    auto type = cast<RankedTensorType>(mean.getType());
    auto count = ExtentOp::create(b, mean.getLoc(), RankedTensorType::get({}, type.getElementType()),
                                  getResidency(mean.getInput().getType()));
    Rules r(b, mean.getLoc());
    Value some = r.binary(BinaryKind::Maximum, count, r.number(1, count)); // of no pairs it is 0
    Value each = r.reshape(r.unary(UnaryKind::Recip, some), SmallVector<int64_t>(type.getRank(), 1));
    mean.setKind(ReduceKind::Sum);
    b.setInsertionPointAfter(mean);
    Value product = r.mul(mean, each);
    mean.getResult().replaceAllUsesExcept(product, product.getDefiningOp());
  }

  static void split(ReduceOp sum, FlatSymbolRefAttr along) {
    OpBuilder b(sum);
    Rules r(b, sum.getLoc());
    auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(sum, along);
    auto space = SymbolTable::lookupNearestSymbolFrom<SpaceOp>(sum, map.getToAttr());
    int64_t extent = space.getExtent() ? int64_t(*space.getExtent()) : ShapedType::kDynamic;
    auto type = cast<RankedTensorType>(sum.getType());
    Value owners = r.reduce(ReduceKind::Sum, sum.getInput(), along,
                            getTensorOn(map.getToAttr(), extent, type.getShape(), type.getElementType()));
    sum.getInputMutable().assign(owners);
  }
};

} // namespace
