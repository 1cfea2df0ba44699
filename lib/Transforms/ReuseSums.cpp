//===- ReuseSums.cpp - Sums that follow from other sums -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A factor that is the same for all members of an owner can leave a sum over them (R6). It pays where the sum that is
// left exists already:
//
//   O[i]     = sum over members k of i of  p[k] v[k]                        (forward, v with feature axes D)
//   delta[i] = sum over members k of i of  p[k] <g[i], v[k]>  =  <g[i], O[i]>
//
// which is the inner product that the derivative of a softmax needs: without it, the backward sweep of every
// attention layer walks the neighbours twice. (IO-aware GNN layers spend that pass; see docs/Rationale.md.) O is 0 for
// an owner without members; where g may be infinite there, delta is set to 0.
//
// The pattern is reduce(mul(p, reshape*(fold_sum(mul(broadcast(g), v))))) where reduce(mul(reshape*(p), v)) exists
// along the same map. p may be a product itself (weights of which some are dropped): its factors are compared, in
// whatever order they are multiplied, which changes the last bits.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"

#include <algorithm>

namespace gnnc {
#define GEN_PASS_DEF_REUSESUMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "reuse-sums"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The broadcast along `along` under changes of shape, or null.
BroadcastOp moveAlong(Value value, FlatSymbolRefAttr along) {
  BroadcastOp move = getMove(skipReshapes(value));
  return move && move.getAlongAttr() == along ? move : BroadcastOp();
}

/// The factors of a product of values of one type, changes of shape left aside.
void findFactors(Value value, SmallVectorImpl<Value> &factors) {
  value = skipReshapes(value);
  auto product = value.getDefiningOp<BinaryOp>();
  if (!product || product.getKind() != BinaryKind::Mul || product.getLhs().getType() != product.getType() ||
      product.getRhs().getType() != product.getType()) {
    factors.push_back(value);
    return;
  }
  findFactors(product.getLhs(), factors);
  findFactors(product.getRhs(), factors);
}

struct ReuseSums : public gnnc::impl::ReuseSumsBase<ReuseSums> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      sums.clear();
      for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
        if (auto reduce = dyn_cast<ReduceOp>(op);
            reduce && reduce.getKind() == ReduceKind::Sum && reduce.getAlong() != kAllMap) {
          if (rewrite(reduce))
            ++numReused;
          else
            sums.push_back(reduce);
        }
    }
  }

  bool rewrite(ReduceOp sum) {
    SmallVector<Value> factors;
    findFactors(sum.getInput(), factors);
    for (Value factor : factors) {
      auto fold = factor.getDefiningOp<FoldOp>();
      auto inner = fold && fold.getKind() == ReduceKind::Sum ? fold.getInput().getDefiningOp<BinaryOp>() : BinaryOp();
      if (!inner || inner.getKind() != BinaryKind::Mul || factors.size() < 2)
        continue;
      SmallVector<Value> weights(factors);
      weights.erase(llvm::find(weights, factor));
      for (auto [g, v] : {std::pair(inner.getLhs(), inner.getRhs()), {inner.getRhs(), inner.getLhs()}}) {
        if (!moveAlong(g, sum.getAlongAttr()) || g.getType() != v.getType())
          continue;
        if (ReduceOp known = findSum(weights, v, getFeatureShape(fold.getType()), sum.getAlongAttr())) {
          remarkPassed(sum, DEBUG_TYPE, "reuse",
                       [&] { return ("sum along @" + sum.getAlong() + " follows from an earlier one").str(); });
          replace(sum, moveAlong(g, sum.getAlongAttr()), g, fold, known);
          return true;
        }
        remarkMissed(
            sum, DEBUG_TYPE, "reuse", [&] { return ("sum along @" + sum.getAlong() + " is made by itself").str(); },
            [] { return "the sum that would be left does not exist, and is wider"; });
      }
    }
    return false;
  }

  /// An earlier sum along the map of the product of `weights`, with features `aligned`, times `v`.
  ReduceOp findSum(ArrayRef<Value> weights, Value v, ArrayRef<int64_t> aligned, FlatSymbolRefAttr along) {
    for (ReduceOp sum : sums) {
      auto product = sum.getInput().getDefiningOp<BinaryOp>();
      if (sum.getAlongAttr() != along || !product || product.getKind() != BinaryKind::Mul ||
          product.getType() != v.getType())
        continue;
      for (auto [a, b] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}}) {
        SmallVector<Value> factors;
        findFactors(a, factors);
        if (b == v && getFeatureShape(a.getType()) == aligned && factors.size() == weights.size() &&
            std::is_permutation(factors.begin(), factors.end(), weights.begin()))
          return sum;
      }
    }
    return {};
  }

  static void replace(ReduceOp sum, BroadcastOp move, Value g, FoldOp fold, ReduceOp known) {
    OpBuilder b(sum);
    Rules r(b, sum.getLoc());
    Value owner = r.reshape(move.getInput(), getFeatureShape(g.getType()));
    Value inner = r.fold(ReduceKind::Sum, r.mul(owner, known.getResult()), fold.getAxes());
    inner = r.reshape(inner, getFeatureShape(sum.getType()));
    // The sum over no members is 0, and an infinite g times 0 is not.
    if (!isFiniteWithoutMembers(move.getInput(), sum.getAlongAttr())) {
      Value count = DegreeOp::create(b, r.loc, Rules::withFeatures(inner.getType(), {}), sum.getAlongAttr());
      count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(inner.getType()).size(), 1));
      inner = r.select(count, inner, r.number(0, inner));
    }
    sum.replaceAllUsesWith(inner);
    sum.erase();
  }

  SmallVector<ReduceOp> sums; ///< so far, in order: they dominate what comes after
};

} // namespace
