//===- FactorSums.cpp - Factors that members share leave their sum --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R6 for scales:  sum over i with m(i) = j of x[i] c[m(i)]  =  c[j] sum over i of x[i],  and the same for means and for
// divisions. The walk goes down from the sum's operand through operations that are elementwise and linear in one
// operand, all of which commute; one whose other operands can be lifted along m is taken out and made again on the sum.
//
// A sum over no members is 0, and 0 times an infinite factor is not. Where the factor is not known to be finite (a
// division: not to be 0), owners without members get the factor 1.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_FACTORSUMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "factor-sums"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// An operation taken out of a sum, and the operand through which the sum goes.
struct Factor {
  Operation *op;
  unsigned through;
};

class SumFactoring {
public:
  SumFactoring(ReduceOp sum, bool gradient)
      : sum(sum), lifting(sum, sum.getAlongAttr(), unreadWhere(sum, gradient)), b(sum) {}

  bool run() {
    Value rest = strip(sum.getInput());
    // Elements of a whole space are not counted in a sweep, so there is nothing to ask whether it has any.
    bool everything = sum.getAlong() == kAllMap;
    if (everything && llvm::any_of(factors, [&](Factor factor) { return !keepsZero(factor); })) {
      declined = "the factor may be infinite, and the space empty";
      return false;
    }
    if (factors.empty())
      return false;
    RankedTensorType owners = typeWhere(sum, sum.getAlongAttr(), rest.getType());
    Value result = ReduceOp::create(b, sum.getLoc(), owners, sum.getKindAttr(), rest, sum.getAlongAttr());
    for (const Factor &factor : llvm::reverse(factors))
      result = apply(factor, result);
    sum.replaceAllUsesWith(result);
    sum.erase();
    return true;
  }

  /// Why nothing was done although there is a product.
  StringRef declined;
  SmallVector<Factor> factors;

private:
  static bool isScale(Operation *op, unsigned operand) {
    auto linear = dyn_cast_or_null<LinearOpInterface>(op);
    if (!linear || !linear.isElementwise() || !op->hasTrait<RowFunction>() || op->getNumOperands() < 2)
      return false;
    SmallVector<bool> marked(op->getNumOperands(), false);
    marked[operand] = true;
    return linear.isLinearIn(marked);
  }

  bool othersLift(Operation *op, unsigned operand) {
    for (auto [i, other] : llvm::enumerate(op->getOperands()))
      if (i != operand && !lifting.canLift(other))
        return false;
    return true;
  }

  /// The value without its factors. Values that others need too are taken apart all the same: a sweep computes them for
  /// each need.
  Value strip(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (isScale(op, i) && getResidency(op->getOperand(i).getType()) && othersLift(op, i)) {
        factors.push_back({op, i});
        return strip(op->getOperand(i));
      }
    SmallVector<Value> operands(op->getOperands());
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (!isScale(op, i))
        continue;
      declined = "the factors differ from member to member";
      operands[i] = strip(operands[i]);
    }
    if (operands == SmallVector<Value>(op->getOperands()))
      return value;
    OpBuilder at(op);
    return cloneOn(at, op, operands, elementwiseType(operands));
  }

  /// The type of an elementwise result: the operands' axes where one is not 1, on the rows of the first that has rows.
  static RankedTensorType elementwiseType(ArrayRef<Value> operands) {
    SmallVector<int64_t> features(getFeatureShape(operands.front().getType()));
    Type rows = operands.front().getType();
    for (Value operand : operands) {
      for (auto [axis, size] : llvm::enumerate(getFeatureShape(operand.getType())))
        features[axis] = features[axis] == 1 ? size : features[axis];
      if (!getResidency(rows))
        rows = operand.getType();
    }
    return Rules::withFeatures(rows, features);
  }

  /// Whether the operation gives 0 for 0 whatever rows its other operands have.
  static bool keepsZero(Factor factor) {
    auto linear = cast<LinearOpInterface>(factor.op);
    for (auto [i, other] : llvm::enumerate(factor.op->getOperands()))
      if (i != factor.through && !(linear.dividesBy(i) ? isNonZero(other) : isFinite(other)))
        return false;
    return true;
  }

  Value apply(const Factor &factor, Value value) {
    Rules r(b, factor.op->getLoc());
    bool guard = !keepsZero(factor);
    SmallVector<Value> operands;
    for (auto [i, other] : llvm::enumerate(factor.op->getOperands())) {
      if (i == factor.through) {
        operands.push_back(value);
        continue;
      }
      Value lifted = lifting.lift(b, other);
      auto linear = cast<LinearOpInterface>(factor.op);
      if (guard && !(linear.dividesBy(i) ? isNonZeroWithoutMembers(lifted, sum.getAlongAttr())
                                         : isFiniteWithoutMembers(lifted, sum.getAlongAttr()))) {
        SmallVector<int64_t> ones(getFeatureShape(lifted.getType()).size(), 1);
        Value count = DegreeOp::create(b, r.loc, Rules::withFeatures(value.getType(), {}), sum.getAlongAttr());
        lifted = r.select(r.reshape(count, ones), lifted, r.number(1, lifted));
      }
      operands.push_back(lifted);
    }
    return cloneOn(b, factor.op, operands, elementwiseType(operands));
  }

  ReduceOp sum;
  Lifting lifting;
  OpBuilder b;
};

struct FactorSums : public gnnc::impl::FactorSumsBase<FactorSums> {
  using FactorSumsBase::FactorSumsBase;

  void runOnOperation() override {
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) {
      if ((op.getKind() == ReduceKind::Sum || op.getKind() == ReduceKind::Mean) && !isChoice(op, op.getAlongAttr()) &&
          !isLookup(op, op.getAlongAttr()))
        sums.push_back(op);
    });
    for (ReduceOp sum : sums) {
      std::string map = ("@" + sum.getAlong()).str();
      Operation *input = sum.getInput().getDefiningOp();
      Location loc = sum.getLoc();
      auto function = sum->getParentOfType<func::FuncOp>();
      SumFactoring factoring(sum, gradient);
      if (factoring.run()) {
        numFactors += factoring.factors.size();
        if (auto remark = remark::passed(
                loc,
                remark::RemarkOpts::name("factor").category(DEBUG_TYPE).function(function ? function.getName() : "")))
          remark << std::to_string(factoring.factors.size()) + " factors leave the sum along " + map;
      } else if (input && !factoring.declined.empty()) {
        remarkMissed(
            sum, DEBUG_TYPE, "factor", [&] { return "no factor leaves the sum along " + map; },
            [&] { return factoring.declined.str(); });
      }
    }
  }
};

} // namespace
