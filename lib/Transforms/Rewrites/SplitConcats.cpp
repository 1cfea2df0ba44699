//===- SplitConcats.cpp - Products of joined values are cut by operand ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R4:  [u | v] W  =  u W_top + v W_bottom.  By itself this saves nothing; it lets each part be multiplied where it
// comes from (R1). So it is done where a part is shared or moves along a map that not all the others move along;
// neighbours that move alike stay together. A part that is a sum of values that move (x.src - x.dst) is one by itself:
// R5 multiplies its terms where they come from. ("Understanding GNN computational graph", section 4: GAT's scores cost
// 4|V|f + 2|E| instead of 6|E|f + |E|.) A bias is an addition after the product, so it is applied once.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITCONCATS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-concats"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// Neighbouring parts of a concat that move along one map (or are shared, or stay where they are), or one that is a sum
/// of values each of which does; and where they begin.
struct Run {
  SmallVector<Value> parts;
  FlatSymbolRefAttr map;
  bool shared = false, isSum = false;
  int64_t begin = 0, size = 0;
};

struct SplitConcats : public gnnc::impl::SplitConcatsBase<SplitConcats> {
  void runOnOperation() override {
    SmallVector<FoldOp> folds;
    getOperation().walk([&](FoldOp op) { folds.push_back(op); });
    for (FoldOp op : folds)
      contract(op);
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp op) { contractions.push_back(op); });
    // A part may be joined itself, so what comes out is looked at again.
    for (size_t i = 0; i < contractions.size(); ++i) {
      ContractOp op = contractions[i];
      for (bool left : {true, false})
        if (auto concat = (left ? op.getLhs() : op.getRhs()).getDefiningOp<ConcatOp>(); concat)
          if (split(op, concat, left, contractions))
            break;
    }
  }

  /// Whether parts come from different spaces, and not all from where they are joined.
  static bool isWorthIt(ArrayRef<Run> runs) {
    return runs.size() > 1 && llvm::any_of(runs, [](const Run &run) { return run.shared || run.map || run.isSum; });
  }

  /// A sum over the joined axis of a product is a contraction, whichever way it is written.
  static void contract(FoldOp op) {
    auto product = op.getInput().getDefiningOp<BinaryOp>();
    if (op.getKind() != ReduceKind::Sum || !product || product.getKind() != BinaryKind::Mul || !product->hasOneUse())
      return;
    ArrayRef<int64_t> shape = getFeatureShape(product.getType());
    auto isJoined = [&](Value operand) {
      auto concat = operand.getDefiningOp<ConcatOp>();
      return concat && llvm::is_contained(op.getAxes(), concat.getAxis()) &&
             isWorthIt(findRuns(op, concat, operand == product.getLhs() ? product.getRhs() : product.getLhs()));
    };
    if (getFeatureShape(product.getLhs().getType()) != shape || getFeatureShape(product.getRhs().getType()) != shape ||
        !llvm::any_of(product->getOperands(), isJoined))
      return;
    SmallVector<int64_t> labels, kept, features;
    for (int64_t label = 0; label < int64_t(shape.size()); ++label) {
      labels.push_back(label);
      if (!llvm::is_contained(op.getAxes(), label)) {
        kept.push_back(label);
        features.push_back(shape[label]);
      }
    }
    OpBuilder b(op);
    Rules r(b, op.getLoc());
    Value sum = ContractOp::create(b, r.loc, Rules::withFeatures(product.getType(), features), product.getLhs(), labels,
                                   product.getRhs(), labels, kept);
    op.replaceAllUsesWith(r.reshape(sum, getFeatureShape(op.getType())));
    op.erase();
    product.erase();
  }

  /// `other`: what the joined value is multiplied with.
  static SmallVector<Run> findRuns(Operation *op, ConcatOp concat, Value other) {
    SmallVector<Run> runs;
    LiftFinder lifts;
    int64_t begin = 0;
    for (Value part : concat.getInputs()) {
      bool shared = !getResidency(part.getType());
      FlatSymbolRefAttr map = shared ? FlatSymbolRefAttr() : lifts.find(op, part);
      bool isSum = !shared && !map && isSumOfLifted(lifts, op, part, other);
      int64_t size = getFeatureShape(part.getType())[concat.getAxis()];
      if (runs.empty() || runs.back().shared != shared || runs.back().map != map || isSum || runs.back().isSum)
        runs.push_back({{}, map, shared, isSum, begin, 0});
      runs.back().parts.push_back(part);
      runs.back().size += size;
      begin += size;
    }
    return runs;
  }

  bool split(ContractOp op, ConcatOp concat, bool left, SmallVectorImpl<ContractOp> &made) {
    ArrayRef<int64_t> labels = left ? op.getLhsLabels() : op.getRhsLabels();
    ArrayRef<int64_t> otherLabels = left ? op.getRhsLabels() : op.getLhsLabels();
    int64_t label = labels[concat.getAxis()];
    const auto *otherAxis = llvm::find(otherLabels, label);
    auto decline = [&](StringRef reason) {
      remarkMissed(
          op, DEBUG_TYPE, "split", [] { return "product of joined values stays whole"; }, [&] { return reason.str(); });
      return false;
    };
    if (llvm::is_contained(op.getOutLabels(), label) || otherAxis == otherLabels.end())
      return decline("the joined axis is not summed over in the product");
    SmallVector<Run> runs = findRuns(op, concat, left ? op.getRhs() : op.getLhs());
    if (!isWorthIt(runs))
      return decline("all parts are made on one space, where one product costs less than several");

    OpBuilder b(op);
    Rules r(b, op.getLoc());
    Value other = left ? op.getRhs() : op.getLhs(), sum;
    int64_t axis = otherAxis - otherLabels.begin();
    for (const Run &run : runs) {
      Value part = run.parts.front();
      if (run.parts.size() > 1) {
        SmallVector<int64_t> features(getFeatureShape(part.getType()));
        features[concat.getAxis()] = run.size;
        part =
            ConcatOp::create(b, r.loc, Rules::withFeatures(part.getType(), features), run.parts, concat.getAxisAttr());
      }
      SmallVector<int64_t> features(getFeatureShape(other.getType()));
      features[axis] = run.size;
      Value slice = SliceOp::create(b, r.loc, Rules::withFeatures(other.getType(), features), other,
                                    b.getI64IntegerAttr(axis), b.getI64IntegerAttr(run.begin));
      Type rows = getResidency(part.getType()) ? part.getType() : slice.getType();
      auto product =
          ContractOp::create(b, r.loc, Rules::withFeatures(rows, getFeatureShape(op.getType())), left ? part : slice,
                             op.getLhsLabels(), left ? slice : part, op.getRhsLabels(), op.getOutLabels());
      made.push_back(product);
      sum = sum ? r.add(sum, product) : Value(product);
    }
    remarkPassed(op, DEBUG_TYPE, "split",
                 [&] { return "product of joined values becomes " + std::to_string(runs.size()) + " products"; });
    op.replaceAllUsesWith(sum);
    op.erase();
    ++numSplit;
    return true;
  }
};

} // namespace
