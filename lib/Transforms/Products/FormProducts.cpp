//===- FormProducts.cpp - Contractions with a weight become matrix products ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction x[...] w[...] -> y[...] (see ContractionRoles.h) is a matrix product on the rows of x's space if the
// weight has an axis n of its own. mpk.product wants x as [batch, k] or [m, k], w as
// [batch, k, n] and y as [batch, n] or [m, n]; transposes bring operands into that order and the result back.
//
//===----------------------------------------------------------------------===//

#include "Products/ContractionRoles.h"
#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_FORMPRODUCTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "form-products"

namespace {

/// Matrices of at least so many rows and columns are read once for a tile of the rows that share one; what reads a
/// smaller one for each row finds it in registers or close by, and has the rest of the row at once.
constexpr int64_t kLeastOfMany = 32;

struct FormProducts : public gnnc::impl::FormProductsBase<FormProducts> {
  using FormProductsBase::FormProductsBase;

  void runOnOperation() override {
    SymbolTableCollection tables;
    symbols = &tables;
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp op) {
      if (!mpk::isTiled(op))
        contractions.push_back(op);
    });
    for (ContractOp op : contractions)
      form(op);
  }

  void form(ContractOp op) {
    auto decline = [&](const Twine &reason) {
      remarkMissed(
          op, DEBUG_TYPE, "product", [] { return "contraction stays in the body of a sweep"; },
          [&] { return reason.str(); });
    };
    if (!getResidency(op.getResult().getType()))
      return decline("its result is shared");
    if (op->hasAttr(mpk::kSweptAttr))
      return decline("it is as quickly made with the rest of its row");
    // The weight is the operand that is shared, or that a map brings from a space of few elements, or else from any.
    bool isRight = isWeight(op.getRhs(), op.getLhs()), isLeft = !isRight && isWeight(op.getLhs(), op.getRhs());
    bool isOfMany = !isRight && !isLeft;
    if (isOfMany) {
      isRight = isWeightOfMany(op, op.getRhs());
      isLeft = !isRight && isWeightOfMany(op, op.getLhs());
    }
    if (!isRight && !isLeft)
      return decline(whyNoWeight(op));
    if (isLeft)
      exchangeOperands(op);
    ContractionRoles roles(op);
    if (isOfMany && std::min(roles.sizeOf(roles.k), roles.sizeOf(roles.n)) < kLeastOfMany)
      return decline("each element of the weight's space has a small one");
    if (roles.n.empty())
      return decline("the weight has no axis of its own");
    if (roles.k.empty())
      return decline("nothing is summed over");
    if (roles.onlyOneOperand)
      return decline("an axis is summed over that only one operand has");
    if (!roles.batch.empty() && !roles.m.empty())
      return decline("the value has axes of its own beside those it shares with weight and result");
    rewrite(op, roles);
  }

  MapOp mapOf(BroadcastOp move) { return symbols->lookupNearestSymbolFrom<MapOp>(move, move.getAlongAttr()); }

  static bool comesFromStaticSpace(BroadcastOp move) {
    return !ShapedType::isDynamic(cast<RankedTensorType>(move.getInput().getType()).getDimSize(0));
  }

  /// Shared, or moved here along a total map from a static space.
  bool isWeight(Value value, Value other) {
    if (!getResidency(other.getType()))
      return false;
    if (!getResidency(value.getType()))
      return true;
    auto move = getMove(value);
    return move && comesFromStaticSpace(move) && !mapOf(move).getPartial();
  }

  /// A matrix for each element of a space that may have many, such as that of a graph for its nodes.
  static bool isWeightOfMany(ContractOp op, Value value) {
    auto move = getMove(value);
    return move && !isPartial(op, move.getAlongAttr()) && isKnownWithGraph(op, move.getAlongAttr());
  }

  std::string whyNoWeight(ContractOp op) {
    for (Value operand : {op.getRhs(), op.getLhs()})
      if (auto move = getMove(operand); move && comesFromStaticSpace(move))
        return ("the weight comes along @" + move.getAlong() + ", which is partial").str();
    return "both operands differ from row to row";
  }

  void remarkHoist(ContractOp op, BroadcastOp move, bool hoisted, FlatSymbolRefAttr group) {
    auto what = [&] { return ("the broadcast along @" + move.getAlong()).str(); };
    if (hoisted)
      remarkPassed(op, DEBUG_TYPE, "hoist", [&] { return "product is made before " + what(); });
    else if (hoist)
      remarkMissed(
          op, DEBUG_TYPE, "hoist", [&] { return "product is made after " + what(); },
          [&]() -> std::string {
            return group                               ? ("the weight differs along @" + group.getValue()).str()
                   : isLookup(op, move.getAlongAttr()) ? "rows are looked up in a large table"
                   : isPartial(op, move.getAlongAttr()) && move.getFill().isZero()
                       ? "the weight may be infinite, and rows where the map is undefined are 0"
                       : "rows are filled with another number than 0 where the map is undefined";
          });
  }

  void rewrite(ContractOp op, const ContractionRoles &roles) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    auto outType = cast<RankedTensorType>(op.getResult().getType());
    auto joined = [](std::initializer_list<ArrayRef<int64_t>> lists) {
      SmallVector<int64_t> all;
      for (ArrayRef<int64_t> list : lists)
        llvm::append_range(all, list);
      return all;
    };
    // Batch labels may stand in any order as long as all three agree; take the result's.
    SmallVector<int64_t> batch, m, n;
    for (int64_t label : op.getOutLabels()) {
      if (llvm::is_contained(roles.batch, label))
        batch.push_back(label);
      if (llvm::is_contained(roles.m, label))
        m.push_back(label);
      if (llvm::is_contained(roles.n, label))
        n.push_back(label);
    }
    // Where x and w agree on the order of k, no transpose is needed for it; else x's order wins.
    SmallVector<int64_t> k(roles.k);

    // Read through the map instead of making a moved copy; or, with R1, move the (smaller side's) product.
    Value lhs = op.getLhs(), rhs = op.getRhs();
    FlatSymbolRefAttr over = getResidency(outType), gather, group;
    int64_t extent = outType.getDimSize(0);
    BroadcastOp hoisted;
    if (auto move = getMove(rhs); move && getResidency(rhs.getType())) {
      group = move.getAlongAttr();
      rhs = move.getInput();
    }
    if (auto move = getMove(lhs)) {
      bool keepsFill = !mapOf(move).getPartial() || (move.getFill().isZero() && isFinite(rhs));
      if (!group && hoist && keepsFill && !isLookup(op, move.getAlongAttr())) {
        // A product of a row of zeros with finite numbers is a row of zeros, so the fill of a partial map survives.
        hoisted = move;
        lhs = move.getInput();
        over = getResidency(lhs.getType());
        extent = cast<RankedTensorType>(lhs.getType()).getDimSize(0);
        ++numHoisted;
      } else if (!mapOf(move).getPartial()) {
        gather = move.getAlongAttr();
        lhs = move.getInput();
      }
      remarkHoist(op, move, hoisted, group);
    }
    lhs = inLabelOrder(b, loc, lhs, op.getLhsLabels(), joined({batch, m, k}));
    rhs = inLabelOrder(b, loc, rhs, op.getRhsLabels(), joined({batch, k, n}));
    SmallVector<int64_t> order = joined({batch, m, n}), features;
    for (int64_t label : order)
      features.push_back(roles.sizeOf(label));
    auto type = getTensorOn(over, extent, features, outType.getElementType());
    auto i64 = [&](int64_t value) { return b.getI64IntegerAttr(value); };
    Value result = mpk::ProductOp::create(b, loc, type, over, lhs, rhs, i64(roles.sizeOf(batch)), i64(roles.sizeOf(m)),
                                          i64(roles.sizeOf(k)), i64(roles.sizeOf(n)), gather, group)
                       .getResult(0);
    if (hoisted)
      result = BroadcastOp::create(
          b, loc, getTensorOn(getResidency(outType), outType.getDimSize(0), features, outType.getElementType()), result,
          hoisted.getAlongAttr(), hoisted.getFillAttr());
    result = inLabelOrder(b, loc, result, order, op.getOutLabels());
    op.getResult().replaceAllUsesWith(result);
    op.erase();
    ++numProducts;
  }

  SymbolTableCollection *symbols = nullptr;
};

} // namespace
