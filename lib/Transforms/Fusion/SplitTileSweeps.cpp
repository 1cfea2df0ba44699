//===- SplitTileSweeps.cpp - Sweeps in tiles end with what they sum -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where tiles of members are taken by different blocks, an owner's members may be in several of them, and what it
// accumulates is known after all. So what the body makes of that becomes a sweep over owners that follows:
//
//   %y = sweep over @node along @dst {a = accumulate sum p; y = relu a; yield y}
//   ->  %a = sweep over @node along @dst {a = accumulate sum p; yield a};  %y = sweep over @node (%a) {...}
//
//===----------------------------------------------------------------------===//

#include "Fusion/SplitOwners.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITTILESWEEPS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

namespace {

/// Numbers of outer sums that a block holds at once.
constexpr int64_t kMostHeld = 16384;

struct SplitTileSweeps : public gnnc::impl::SplitTileSweepsBase<SplitTileSweeps> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto sweep : llvm::make_early_inc_range(function.getOps<mpk::SweepOp>()))
        if (llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); }))
          sweep.getAlongAttr() ? split(sweep) : splitOuterSums(sweep);
  }

  /// Numbers of the outer sum that a result is; 0: it is none.
  static int64_t outerNumbers(mpk::SweepOp sweep, unsigned result) {
    auto op = sweep.getBody().front().getTerminator()->getOperand(result).getDefiningOp<mpk::AccumulateOp>();
    auto product = op && op.getShared() ? op.getInput().getDefiningOp<mpdfg::ContractOp>() : mpdfg::ContractOp();
    auto levels = product && mpk::isTiled(product) ? mpk::computeLevels(sweep) : DenseMap<Value, mpk::Level>();
    return levels.lookup_or(product ? product.getRhs() : Value(), mpk::Level::Shared) == mpk::Level::Shared
               ? 0
               : mpdfg::getFeatureElements(op.getType());
  }

  /// Sums of outer products that a block does not hold at once have sweeps of their own, which make the rows again.
  void splitOuterSums(mpk::SweepOp sweep) {
    SmallVector<SmallVector<unsigned>> parts(1);
    int64_t held = 0;
    for (unsigned i = 0; i < sweep.getNumResults(); ++i) {
      int64_t numbers = outerNumbers(sweep, i);
      if (numbers > 0 && held > 0 && held + numbers > kMostHeld)
        parts.emplace_back(), held = 0;
      held += numbers;
      (numbers > 0 ? parts.back() : parts.front()).push_back(i);
    }
    if (parts.size() == 1)
      return;
    ++numSplit;
    OpBuilder b(sweep);
    for (ArrayRef<unsigned> part : parts) {
      SmallVector<Type> types;
      SmallVector<Attribute> yields;
      SmallVector<Value> values;
      for (unsigned i : part) {
        types.push_back(sweep.getResultTypes()[i]);
        yields.push_back(sweep.getYields()[i]);
      }
      auto own = mpk::SweepOp::create(b, sweep.getLoc(), types, sweep.getOverAttr(), FlatSymbolRefAttr(),
                                      sweep.getInputs(), sweep.getAccess(), b.getArrayAttr(yields));
      own->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
      IRMapping mapping;
      sweep.getBody().cloneInto(&own.getBody(), mapping);
      Operation *yield = own.getBody().front().getTerminator();
      for (unsigned i : part)
        values.push_back(yield->getOperand(i));
      yield->setOperands(values);
      for (auto [i, result] : llvm::zip(part, own.getResults()))
        sweep.getResult(i).replaceAllUsesWith(result);
      eraseUnused(own);
    }
    sweep.erase();
  }

  void split(mpk::SweepOp sweep) {
    auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
    SmallVector<unsigned> late; // results
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (!isAccumulation(value) && sweep.getYieldOf(i).getKind() != AccessKind::Member)
        late.push_back(i);
    if (late.empty())
      return;
    ++numSplit;
    splitOwners(sweep, late);
  }
};

} // namespace
