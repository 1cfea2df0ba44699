//===- SpreadContractions.cpp - Long sums over shared values --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of two shared values has one thread for each number of its result at best. Where few numbers are sums of
// very many terms (gradients of coefficients of large bases), the summed axis becomes the rows of a static space: the
// product is then a sum of outer products of rows, as gradients of weights are, and all of a device works on it.
//
//===----------------------------------------------------------------------===//

#include "Products/ContractionRoles.h"
#include "Products/StaticRows.h"
#include "Remarks.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_SPREADCONTRACTIONS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "spread-contractions"

namespace {

/// Terms from which on a sum is worth two transpositions and a product's launches.
constexpr int64_t kLongSum = 4096;

struct SpreadContractions : public gnnc::impl::SpreadContractionsBase<SpreadContractions> {
  void runOnOperation() override {
    SmallVector<ContractOp> contractions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto contract : function.getBody().front().getOps<ContractOp>())
        if (!getResidency(contract.getType()) && !getResidency(contract.getLhs().getType()) &&
            !getResidency(contract.getRhs().getType()))
          contractions.push_back(contract);
    for (ContractOp contract : contractions)
      spread(contract);
  }

  void spread(ContractOp contract) {
    ContractionRoles roles(contract);
    int64_t terms = roles.sizeOf(roles.k);
    if (terms < kLongSum)
      return;
    auto decline = [&](StringRef reason) {
      remarkMissed(
          contract, DEBUG_TYPE, "spread", [] { return "a long sum over shared values stays number by number"; },
          [&] { return reason.str(); });
    };
    if (!roles.batch.empty() || roles.onlyOneOperand)
      return decline("an axis is in all three values, or summed in one alone");
    int64_t m = roles.sizeOf(roles.m), n = roles.sizeOf(roles.n);
    if (roles.m.empty() || roles.n.empty())
      return decline("an operand has no axis of its own");
    if (m * n > terms)
      return decline("the result has more numbers than a sum has terms");

    OpBuilder b(contract);
    Location loc = contract.getLoc();
    FlatSymbolRefAttr space = getStaticRows(getOperation(), terms);
    Type element = cast<RankedTensorType>(contract.getType()).getElementType();
    auto rows = [&](Value value, ArrayRef<int64_t> labels, ArrayRef<int64_t> own, int64_t width) {
      SmallVector<int64_t> order(roles.k);
      llvm::append_range(order, own);
      auto flat = RankedTensorType::get({terms, width}, element);
      Value table = ReshapeOp::create(b, loc, flat, inLabelOrder(b, loc, value, labels, order));
      return SpreadOp::create(b, loc, getTensorOn(space, terms, {width}, element), table).getResult();
    };
    Value lhs = rows(contract.getLhs(), contract.getLhsLabels(), roles.m, m);
    Value rhs = rows(contract.getRhs(), contract.getRhsLabels(), roles.n, n);
    Value outer = ContractOp::create(b, loc, getTensorOn(space, terms, {m, n}, element), lhs, ArrayRef<int64_t>{0}, rhs,
                                     ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0, 1});
    Value sum = ReduceOp::create(b, loc, RankedTensorType::get({m, n}, element),
                                 ReduceKindAttr::get(&getContext(), ReduceKind::Sum), outer,
                                 FlatSymbolRefAttr::get(&getContext(), kAllMap));
    SmallVector<int64_t> order(roles.m), features;
    llvm::append_range(order, roles.n);
    for (int64_t label : order)
      features.push_back(roles.sizeOf({label}));
    Value result = ReshapeOp::create(b, loc, RankedTensorType::get(features, element), sum);
    contract.getResult().replaceAllUsesWith(inLabelOrder(b, loc, result, order, contract.getOutLabels()));
    contract.erase();
    ++numSpread;
  }
};

} // namespace
