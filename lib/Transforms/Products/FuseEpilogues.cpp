//===- FuseEpilogues.cpp - Row operations join the product before them ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep without members reads the rows of a product that has just been made: a bias, an activation, the scores of an
// attention. It becomes the product's epilogue, so the rows are in registers or the nearest cache, and one kernel less
// is started:
//
//   %z = product(x, W);  %y, %s = sweep over @node (%z, %b) {...}
//   ->  %z, %y, %s = product(x, W) epilogue (%b) {...}
//
// The fused product stands where the sweep stood, so all other readers of %z must come later. It has %z as a result
// only if there are such. Of several products that a sweep reads, the last takes it; the others' rows are extra
// operands.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpk/IR/SpreadRows.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "fuse-epilogues"

namespace gnnc {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

namespace {

/// Why a sweep cannot be an epilogue of any product; empty: it can.
StringRef whyNoEpilogue(mpk::SweepOp sweep) {
  if (sweep.getAlongAttr() || !sweep.getOverAttr())
    return "it is no sweep over rows alone";
  for (unsigned i = 0; i < sweep.getInputs().size(); ++i)
    if (AccessKind kind = sweep.getAccessOf(i).getKind(); kind != AccessKind::Owner && kind != AccessKind::Shared)
      return "it gathers rows";
  for (unsigned i = 0; i < sweep.getResults().size(); ++i)
    if (sweep.getYieldOf(i).getKind() != AccessKind::Owner)
      return "it sums over all rows";
  for (Operation &op : sweep.getBody().front().without_terminator())
    if (isa<mpk::AccumulateOp, mpdfg::ExtentOp>(op))
      return "it needs more than a row";
  return "";
}

struct FuseEpilogues : public gnnc::impl::FuseEpiloguesBase<FuseEpilogues> {
  using FuseEpiloguesBase::FuseEpiloguesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      late = findLate(function);
      for (auto sweep : llvm::make_early_inc_range(function.getOps<mpk::SweepOp>()))
        if (std::optional<unsigned> operand = findProduct(sweep)) {
          fuse(sweep, *operand);
          ++numFused;
        }
    }
  }

  /// The operand of a sweep that is the product it can join.
  std::optional<unsigned> findProduct(mpk::SweepOp sweep) {
    std::optional<unsigned> found;
    std::string reason = whyNoEpilogue(sweep).str();
    for (auto [i, input] : llvm::enumerate(sweep.getInputs())) {
      auto product = input.getDefiningOp<mpk::ProductOp>();
      if (!product || product.getOverAttr() != sweep.getOverAttr() ||
          sweep.getAccessOf(i).getKind() != AccessKind::Owner)
        continue;
      std::string own = reason;
      if (own.empty() && product.getGroupAttr())
        own = "the product's rows come in the order of its groups";
      if (own.empty() && late.contains(product) != late.contains(sweep))
        own = "one of them belongs to the backward half, which may run long after the other";
      if (own.empty() && product.hasEpilogue())
        own = "the product has an epilogue";
      if (own.empty() && spread)
        own = mpk::whyNotSpread(product, sweep.getBody().front()).str();
      if (own.empty() && llvm::any_of(product->getUsers(),
                                      [&](Operation *user) { return user != sweep && !sweep->isBeforeInBlock(user); }))
        own = "the product's rows are needed before";
      if (!own.empty()) {
        remarkMissed(
            product, DEBUG_TYPE, "epilogue", [] { return "row operations after a product stay a sweep"; },
            [&] { return own; });
        continue;
      }
      if (!found || sweep.getInputs()[*found].getDefiningOp()->isBeforeInBlock(product))
        found = i;
    }
    return found;
  }

  void fuse(mpk::SweepOp sweep, unsigned operand) {
    auto product = sweep.getInputs()[operand].getDefiningOp<mpk::ProductOp>();
    OpBuilder b(sweep);
    Value row = product.getResult(0);
    bool kept = llvm::any_of(row.getUsers(), [&](Operation *user) { return user != sweep; });
    SmallVector<Type> types(sweep.getResultTypes());
    if (kept)
      types.push_back(row.getType());
    SmallVector<Value> extras;
    SmallVector<Attribute> access;
    for (auto [i, input] : llvm::enumerate(sweep.getInputs()))
      if (i != operand) {
        extras.push_back(input);
        access.push_back(sweep.getAccess()[i]);
      }
    auto fused = mpk::ProductOp::create(b, product.getLoc(), types, product.getOverAttr(), product.getLhs(),
                                        product.getRhs(), extras, product.getBatchAttr(), product.getRowsAttr(),
                                        product.getKAttr(), product.getNAttr(), product.getGatherAttr(),
                                        product.getGroupAttr(), b.getArrayAttr(access));
    fused->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    if (late.contains(sweep))
      late.insert(fused);
    fused.getEpilogue().takeBody(sweep.getBody());
    Block &body = fused.getEpilogue().front();
    // The row comes first.
    BlockArgument first = body.insertArgument(0u, body.getArgument(operand).getType(), product.getLoc());
    body.getArgument(operand + 1).replaceAllUsesWith(first);
    body.eraseArgument(operand + 1);
    if (kept) {
      SmallVector<Value> values(body.getTerminator()->getOperands());
      values.push_back(first);
      body.getTerminator()->setOperands(values);
    }
    for (auto [old, now] : llvm::zip(sweep.getResults(), fused.getResults()))
      old.replaceAllUsesWith(now);
    late.erase(sweep);
    late.erase(product);
    sweep.erase();
    if (kept)
      row.replaceAllUsesWith(fused.getResults().back());
    product.erase();
  }

  OperationSet late;
};

} // namespace
