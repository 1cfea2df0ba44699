//===- ExpandSoftmaxes.cpp - Softmaxes that take two walks ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax that is not online needs its statistics before its members are seen once more (lib/Analysis/SweepPlan says
// which it is). Written out,
//
//   %p = softmax %x  ->  %m = accumulate softmax_shift %x;  %r = accumulate softmax_scale %x;  %p = exp(%x - %m) * %r
//
// it is a walk that accumulates and one that reads that, which targets know anyway.
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/SweepPlan.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_EXPANDSOFTMAXES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct ExpandSoftmaxes : public gnnc::impl::ExpandSoftmaxesBase<ExpandSoftmaxes> {
  void runOnOperation() override {
    getOperation().walk([&](mpk::SweepOp sweep) {
      for (const SoftmaxPlan &softmax : SweepPlan(sweep).softmaxes)
        if (!softmax.online) {
          expand(softmax.op);
          ++numExpanded;
        }
    });
  }

  static void expand(mpk::SoftmaxOp softmax) {
    OpBuilder b(softmax);
    Rules r(b, softmax.getLoc());
    Value x = softmax.getInput();
    auto statistic = [&](ReduceKind kind) -> Value {
      return mpk::AccumulateOp::create(b, r.loc, x.getType(), b.getAttr<ReduceKindAttr>(kind), x, UnitAttr());
    };
    Value shift = statistic(ReduceKind::SoftmaxShift), scale = statistic(ReduceKind::SoftmaxScale);
    softmax.replaceAllUsesWith(r.mul(r.exp(r.sub(x, shift)), scale));
    softmax.erase();
  }
};

} // namespace
