//===- BodySlice.cpp - Part of a sweep's body in a body of its own --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpk/IR/BodySlice.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;

mpk::BodySlice::BodySlice(ValueRange values, llvm::function_ref<bool(Value)> isLeaf) : values(values) {
  SmallVector<Value> pending(values);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (isa<BlockArgument>(value) || isLeaf(value))
      leaves.insert(value);
    else if (Operation *op = value.getDefiningOp(); operations.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
}

void mpk::BodySlice::cloneInto(Region &region, llvm::function_ref<void(Operation *)> visit) const {
  Block &body = region.emplaceBlock();
  IRMapping mapping;
  for (Value leaf : leaves)
    mapping.map(leaf, body.addArgument(leaf.getType(), leaf.getLoc()));
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  if (!operations.empty())
    for (Operation &op : *(*operations.begin())->getBlock())
      if (operations.contains(&op)) {
        Operation *clone = b.clone(op, mapping);
        if (visit)
          visit(clone);
      }
  SmallVector<Value> yielded;
  for (Value value : values)
    yielded.push_back(mapping.lookup(value));
  YieldOp::create(b, region.getLoc(), yielded);
}
