//===- FormOuterSums.cpp - Gradients of weights become matrix products ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transpose of y = x W is dW = sum over the rows of x[k] g[n]: a reduction of an outer product, which must never be
// made for each row. The pattern is reduce sum (contract x, g) where nothing is summed inside a row and each operand
// has axes of its own. Where owners are many (nodes, not types) each has few rows and its sum is as large as what a
// sweep accumulates: then it stays with the sweeps if an operand would have to be stored for it, unless the sum is a
// large matrix, as in linear attention within graphs. What both operands sum over inside a row is an axis of the
// product that is folded after it.
//
//===----------------------------------------------------------------------===//

#include "Products/ContractionRoles.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_FORMOUTERSUMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "form-outer-sums"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The largest sum of one of many owners that stays with the sweeps where a product of its own takes a whole block for
/// an owner: a few dozen numbers for each lane.
constexpr int64_t kMostSwept = 1024;
/// Operands are stored for sums of many owners too where both have at least so many numbers: a sweep would read and
/// write the sum, of a thousand numbers and more, again for each row.
constexpr int64_t kLeastStored = 32;
/// Sums over features too, such as the steps that a convolution goes along, are added up for each of at most so many
/// first.
constexpr int64_t kMostSummed = 64;
/// What a target adds up in one instruction, about.
constexpr uint64_t kNumbersSideBySide = 16;

struct FormOuterSums : public gnnc::impl::FormOuterSumsBase<FormOuterSums> {
  using FormOuterSumsBase::FormOuterSumsBase;

  void runOnOperation() override {
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) {
      if (op.getKind() == ReduceKind::Sum)
        sums.push_back(op);
    });
    for (ReduceOp sum : sums)
      form(sum);
  }

  void form(ReduceOp sum) {
    // Changes of shape between the outer product and the sum may as well come after it.
    SmallVector<Operation *> shapes;
    Value source = sum.getInput();
    while (source.hasOneUse() && source.getDefiningOp() && isa<ReshapeOp, TransposeOp>(source.getDefiningOp())) {
      shapes.push_back(source.getDefiningOp());
      source = source.getDefiningOp()->getOperand(0);
    }
    auto outer = source.getDefiningOp<ContractOp>();
    if (!outer || mpk::isTiled(outer) || outer->hasAttr(mpk::kSweptAttr) || !outer->hasOneUse() ||
        !getResidency(outer.getLhs().getType()) || !getResidency(outer.getRhs().getType()))
      return;
    auto decline = [&](StringRef reason) {
      remarkMissed(
          sum, DEBUG_TYPE, "outer-sum", [] { return "sum of products is no matrix product"; },
          [&] { return reason.str(); });
    };
    SmallVector<int64_t> batch, k, n;
    ArrayRef<int64_t> lhs = outer.getLhsLabels(), rhs = outer.getRhsLabels(), out = outer.getOutLabels();
    SmallVector<int64_t> summed; // of both operands
    for (int64_t label : lhs) {
      bool isBoth = llvm::is_contained(rhs, label);
      if (!isBoth && !llvm::is_contained(out, label))
        return decline("the product sums over features");
      (!isBoth ? k : llvm::is_contained(out, label) ? batch : summed).push_back(label);
    }
    for (int64_t label : rhs) {
      if (llvm::is_contained(lhs, label))
        continue;
      if (!llvm::is_contained(out, label))
        return decline("the product sums over features");
      n.push_back(label);
    }
    if (k.empty() || n.empty())
      return decline("an operand has no axis of its own");
    llvm::SmallDenseMap<int64_t, int64_t> sizes;
    for (auto [label, size] : llvm::zip(lhs, getFeatureShape(outer.getLhs().getType())))
      sizes[label] = size;
    for (auto [label, size] : llvm::zip(rhs, getFeatureShape(outer.getRhs().getType())))
      sizes[label] = size;
    auto count = [&](ArrayRef<int64_t> labels) {
      int64_t product = 1;
      for (int64_t label : labels)
        product *= sizes[label];
      return product;
    };
    bool isLarge = std::min(count(k), count(n)) >= kLeastStored;
    if (!summed.empty() && (!isLarge || hasManyOwners(sum) || count(summed) > kMostSummed))
      return decline("the product sums over features");
    if (hasManyOwners(sum) && !isLarge && !(isStored(outer.getLhs()) && isStored(outer.getRhs())))
      return decline("owners are many and have few rows each, and an operand would have to be stored");
    if (blocks && hasManyOwners(sum) && getFeatureElements(outer.getType()) <= kMostSwept)
      return decline("owners are many and have few rows each, and each would take a block");
    remarkPassed(sum, DEBUG_TYPE, "outer-sum", [] { return "sum of outer products becomes a matrix product"; });

    OpBuilder b(sum);
    Location loc = sum.getLoc();
    auto product = [&](ArrayRef<int64_t> labels) { return b.getI64IntegerAttr(count(labels)); };
    auto joined = [](ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
      SmallVector<int64_t> all(x);
      llvm::append_range(all, y);
      return all;
    };
    // The sum has the axes of its left operand first. If those of the other are wanted first they change places, which
    // saves a kernel that transposes; but not if narrow rows were then to fill registers.
    Value left = outer.getLhs(), right = outer.getRhs();
    auto registers = [&](ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
      return product(rows).getInt() * int64_t(llvm::divideCeil(product(columns).getInt(), kNumbersSideBySide));
    };
    if (llvm::is_contained(n, firstOwn(out, shapes, batch)) && registers(n, k) <= registers(k, n)) {
      std::swap(left, right);
      std::swap(lhs, rhs);
      std::swap(k, n);
    }
    FlatSymbolRefAttr over = getResidency(left.getType()), along = sum.getAlongAttr();
    if (along.getValue() == kAllMap)
      along = {};
    batch = joined(summed, batch);
    auto [x, gatherX] = readThrough(left);
    auto [g, gatherG] = readThrough(right);
    x = inLabelOrder(b, loc, x, lhs, joined(batch, k));
    g = inLabelOrder(b, loc, g, rhs, joined(batch, n));
    SmallVector<int64_t> order = joined(joined(batch, k), n), features;
    for (int64_t label : order)
      features.push_back(sizes[label]);
    auto own = ArrayRef(order).drop_front(summed.size());
    auto type = cast<RankedTensorType>(sum.getResult().getType());
    auto withFeatures = [&](ArrayRef<int64_t> shape) {
      FlatSymbolRefAttr space = getResidency(type);
      return getTensorOn(space, space ? type.getDimSize(0) : 0, shape, type.getElementType());
    };
    Value result = mpk::OuterSumOp::create(b, loc, withFeatures(features), over, x, g, product(batch), product(k),
                                           product(n), gatherX, gatherG, along);
    if (!summed.empty()) {
      SmallVector<int64_t> ones(features), axes = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(summed.size())));
      std::fill_n(ones.begin(), summed.size(), 1);
      result = FoldOp::create(b, loc, withFeatures(ones), ReduceKind::Sum, result, axes);
      result = ReshapeOp::create(b, loc, withFeatures(ArrayRef(features).drop_front(summed.size())), result);
    }
    result = inLabelOrder(b, loc, result, own, out);
    for (Operation *shape : llvm::reverse(shapes)) {
      Operation *clone = b.clone(*shape);
      clone->setOperand(0, result);
      clone->getResult(0).setType(withFeatures(getFeatureShape(shape->getResult(0).getType())));
      result = clone->getResult(0);
    }
    sum.getResult().replaceAllUsesWith(result);
    sum.erase();
    ++numFormed;
  }

  /// The first axis of the sum that is not one of the batch, after the changes of shape (inmost last) as far as those
  /// are transpositions; -1: there is none.
  static int64_t firstOwn(ArrayRef<int64_t> out, ArrayRef<Operation *> shapes, ArrayRef<int64_t> batch) {
    SmallVector<int64_t> labels(out);
    for (Operation *shape : llvm::reverse(shapes)) {
      auto transpose = dyn_cast<TransposeOp>(shape);
      if (!transpose)
        break;
      SmallVector<int64_t> moved;
      for (int64_t axis : transpose.getPermutation())
        moved.push_back(labels[axis]);
      labels = moved;
    }
    auto own = llvm::find_if(labels, [&](int64_t label) { return !llvm::is_contained(batch, label); });
    return own == labels.end() ? -1 : *own;
  }

  static bool hasManyOwners(ReduceOp sum) {
    FlatSymbolRefAttr target = getResidency(sum.getResult().getType());
    return target && (SymbolTable::lookupNearestSymbolFrom<SpaceOp>(sum, target).getKind() != SpaceKind::Static ||
                      !isKnownWithGraph(sum, sum.getAlongAttr()));
  }

  /// Whether a value is in memory anyway: given, moved from where it is, or made by a product of its own.
  static bool isStored(Value value) {
    Operation *op = value.getDefiningOp();
    return !op || readThrough(value).second || isa<ContractOp>(op);
  }

  /// What a moved value is read from, where the map is total.
  static std::pair<Value, FlatSymbolRefAttr> readThrough(Value value) {
    BroadcastOp move = getMove(value);
    if (!move)
      return {value, {}};
    auto map = SymbolTable::lookupNearestSymbolFrom<MapOp>(move, move.getAlongAttr());
    if (map.getPartial())
      return {value, {}};
    return {move.getInput(), move.getAlongAttr()};
  }
};

} // namespace
