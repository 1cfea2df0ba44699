//===- SimplifyMovements.cpp - Movements that have no kernel form ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction to shared is made of partial results of blocks, which are combined in order. Sum, mean, max and min
// combine so; softmax and log-sum-exp over a whole space are written in terms of them:
//
//   logsumexp(x) = m + log(sum exp(x - m)),  softmax(x) = exp(x - m) / sum exp(x - m)
//
// where m is max x, or the finite number next to it, so that no infinity is subtracted from itself: the log-sum-exp of
// an infinite number is infinite. A softmax of one is NaN for all, so there only minus infinity is replaced; where all
// numbers are, the sum is 0, and so is softmax.
//
// A softmax along a partial map is written with the statistics of the owners, moved back.
//
//===----------------------------------------------------------------------===//

#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_SIMPLIFYMOVEMENTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct SimplifyMovements : public gnnc::impl::SimplifyMovementsBase<SimplifyMovements> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto norm = dyn_cast<NormOp>(op); norm && norm.getAlong() == kAllMap)
        expandNorm(norm);
      else if (norm && isPartial(norm, norm.getAlongAttr()))
        expandPartialNorm(norm);
      else if (auto reduce = dyn_cast<ReduceOp>(op);
               reduce && reduce.getAlong() == kAllMap && reduce.getKind() == ReduceKind::LogSumExp)
        expandLogSumExp(reduce);
    });
  }

  /// m, exp(x - m), and the sum of that.
  static std::tuple<Value, Value, Value> parts(OpBuilder &b, Location loc, Value x, bool ofSoftmax) {
    auto type = cast<RankedTensorType>(x.getType());
    Type shared = getElementType(type);
    auto all = FlatSymbolRefAttr::get(b.getContext(), kAllMap);
    auto kind = [&](ReduceKind k) { return b.getAttr<ReduceKindAttr>(k); };
    Value maximum = ReduceOp::create(b, loc, shared, kind(ReduceKind::Max), x, all);
    maximum = DetachOp::create(b, loc, shared, maximum);
    Rules r(b, loc);
    Value finite = r.unary(UnaryKind::Finite, maximum);
    maximum = ofSoftmax ? r.binary(BinaryKind::Maximum, maximum, finite) : finite;
    Value shifted = BinaryOp::create(b, loc, type, BinaryKind::Sub, x, maximum);
    Value exp = UnaryOp::create(b, loc, type, b.getAttr<UnaryKindAttr>(UnaryKind::Exp), shifted, b.getF64FloatAttr(0));
    Value sum = ReduceOp::create(b, loc, shared, kind(ReduceKind::Sum), exp, all);
    return {maximum, exp, sum};
  }

  static void expandNorm(NormOp op) {
    OpBuilder b(op);
    auto [maximum, exp, sum] = parts(b, op.getLoc(), op.getInput(), /*ofSoftmax=*/true);
    Rules r(b, op.getLoc());
    op.replaceAllUsesWith(r.div(exp, r.select(sum, sum, r.number(1, sum))));
    op.erase();
  }

  /// A sweep never visits members that belong to no owner; written with a broadcast, they get their 0.
  static void expandPartialNorm(NormOp op) {
    OpBuilder b(op);
    op.replaceAllUsesWith(op.recompute(b));
    op.erase();
  }

  static void expandLogSumExp(ReduceOp op) {
    OpBuilder b(op);
    auto [maximum, exp, sum] = parts(b, op.getLoc(), op.getInput(), /*ofSoftmax=*/false);
    Rules r(b, op.getLoc());
    // No infinite derivative where the sum is 0.
    Value log = r.unary(UnaryKind::Log, r.select(sum, sum, r.number(0, sum)));
    op.replaceAllUsesWith(BinaryOp::create(b, op.getLoc(), op.getType(), BinaryKind::Add, maximum, log).getResult());
    op.erase();
  }
};

} // namespace
