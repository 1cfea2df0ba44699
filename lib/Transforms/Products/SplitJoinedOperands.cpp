//===- SplitJoinedOperands.cpp - Products of the parts of joined rows -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of an edge network's wide output is a row of many parts, each of which has axes of its own: what each
// path of a tensor product gives to its weights. Only products read it, so each of them is a sum (over parts of the
// summed axis) or a join (of parts of a free one) of products of the parts. One sweep that makes all parts would make
// them all for each tile of one.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITJOINEDOPERANDS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-joined-operands"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// Numbers of a row that no kernel holds as a whole, and parts for each of which a product is not too many.
constexpr int64_t kLongRow = 1024;
constexpr size_t kMostParts = 16;

/// A contraction that reads a joined row as one of its operands.
struct Reader {
  ContractOp product;
  ReduceOp sum; ///< of the product over elements, which then is the product of weights' gradients; or null
  bool isRight;
  int64_t label; ///< of the joined axis

  ArrayRef<int64_t> ownLabels() { return isRight ? product.getRhsLabels() : product.getLhsLabels(); }
  ArrayRef<int64_t> otherLabels() { return isRight ? product.getLhsLabels() : product.getRhsLabels(); }
  Value other() { return isRight ? product.getLhs() : product.getRhs(); }
  bool isFree() { return llvm::is_contained(product.getOutLabels(), label); }
  Operation *root() { return sum ? sum.getOperation() : product.getOperation(); }
};

/// `type` with another size of a feature axis.
Type resized(Type type, int64_t axis, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> features(getFeatureShape(tensor));
  features[axis] = size;
  FlatSymbolRefAttr space = getResidency(tensor);
  return getTensorOn(space, space ? tensor.getDimSize(0) : 0, features, tensor.getElementType());
}

std::optional<Reader> asReader(ConcatOp joined, Operation *user) {
  auto product = dyn_cast<ContractOp>(user);
  if (!product || product.getLhs() == product.getRhs() || mpk::isTiled(product) || product->hasAttr(mpk::kSweptAttr))
    return std::nullopt;
  Reader reader{product, {}, product.getRhs() == joined.getResult(), 0};
  reader.label = reader.ownLabels()[joined.getAxis()];
  bool inOther = llvm::is_contained(reader.otherLabels(), reader.label);
  if (reader.isFree()) {
    // Of free axes only those of sums over elements: else the result would be a joined row again.
    reader.sum = product->hasOneUse() ? dyn_cast<ReduceOp>(*product->user_begin()) : ReduceOp();
    if (inOther || !reader.sum || reader.sum.getKind() != ReduceKind::Sum)
      return std::nullopt;
  } else if (!inOther || getResidency(reader.other().getType())) {
    return std::nullopt;
  }
  return reader;
}

/// Whether all parts are rows, of several shapes: parts of one shape have the same tiles.
bool isWorthIt(ConcatOp joined) {
  if (llvm::any_of(joined.getInputs(), [](Value part) { return !getResidency(part.getType()); }))
    return false;
  return llvm::any_of(joined.getInputs(), [&](Value part) {
    return getFeatureShape(part.getType()) != getFeatureShape(joined.getInputs().front().getType());
  });
}

struct SplitJoinedOperands : public gnnc::impl::SplitJoinedOperandsBase<SplitJoinedOperands> {
  void runOnOperation() override {
    SmallVector<ConcatOp> candidates;
    getOperation().walk([&](ConcatOp joined) {
      if (getResidency(joined.getType()) && getFeatureElements(joined.getType()) > kLongRow &&
          joined.getInputs().size() <= kMostParts && !joined->use_empty() && isWorthIt(joined))
        candidates.push_back(joined);
    });
    for (ConcatOp joined : candidates) {
      SmallVector<Reader> readers;
      for (Operation *user : joined->getUsers())
        if (std::optional<Reader> reader = asReader(joined, user))
          readers.push_back(*reader);
      if (readers.size() != size_t(std::distance(joined->use_begin(), joined->use_end())))
        continue;
      remarkPassed(joined, DEBUG_TYPE, "split", [&] {
        return "products read the " + std::to_string(joined.getInputs().size()) + " parts of a joined row one by one";
      });
      for (Reader &reader : readers)
        split(joined, reader);
      joined.erase();
      ++numSplit;
    }
  }

  static void split(ConcatOp joined, Reader &reader) {
    ContractOp product = reader.product;
    OpBuilder b(reader.root());
    Location loc = product.getLoc();
    ArrayRef<int64_t> out = product.getOutLabels(), others = reader.otherLabels();
    int64_t place = llvm::find(out, reader.label) - out.begin();
    int64_t inOther = llvm::find(others, reader.label) - others.begin();
    SmallVector<Value> values;
    Value total;
    int64_t begin = 0;
    for (Value part : joined.getInputs()) {
      int64_t size = getFeatureShape(part.getType())[joined.getAxis()];
      Value other = reader.other();
      Type type = product.getType();
      if (reader.isFree())
        type = resized(type, place, size);
      else
        other =
            SliceOp::create(b, loc, resized(other.getType(), inOther, size), other, uint64_t(inOther), uint64_t(begin));
      begin += size;
      Value value = ContractOp::create(b, loc, type, reader.isRight ? other : part, product.getLhsLabels(),
                                       reader.isRight ? part : other, product.getRhsLabels(), out);
      if (reader.isFree())
        values.push_back(ReduceOp::create(b, reader.sum.getLoc(), resized(reader.sum.getType(), place, size),
                                          reader.sum.getKindAttr(), value, reader.sum.getAlongAttr()));
      else
        total = total ? BinaryOp::create(b, loc, type, BinaryKind::Add, total, value).getResult() : value;
    }
    if (reader.isFree())
      total = ConcatOp::create(b, loc, reader.sum.getType(), values, uint64_t(place));
    Operation *root = reader.root();
    root->getResult(0).replaceAllUsesWith(total);
    root->erase();
    if (root != product.getOperation())
      product.erase();
  }
};

} // namespace
