//===- PlanMemory.cpp - Slots of intermediate tensors ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot for each kernel result that is not returned, live from the kernel that makes it to the last one that reads it
// (also through a view). Which slots share memory is decided by the runtime, which knows the extents.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_PLANMEMORY
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;

namespace {

struct PlanMemory : public gnnc::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      plan(function);
  }

  void plan(func::FuncOp function) {
    DenseMap<Operation *, int64_t> steps;
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op))
        steps.try_emplace(&op, int64_t(steps.size()));

    OpBuilder b(function.getContext());
    SmallVector<Attribute> spaces;
    SmallVector<int64_t> bytes, first, last;
    for (Operation &op : function.getBody().front()) {
      if (!steps.count(&op))
        continue;
      SmallVector<int64_t> slots;
      for (Value result : op.getResults()) {
        bool returned = false;
        int64_t end = steps[&op];
        visitUses(result, steps, end, returned);
        if (returned) {
          slots.push_back(-1);
          continue;
        }
        FlatSymbolRefAttr space = mpdfg::getResidency(result.getType());
        slots.push_back(spaces.size());
        spaces.push_back(space ? Attribute(space) : Attribute(b.getUnitAttr()));
        bytes.push_back(mpdfg::getFeatureElements(result.getType()) *
                        cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8);
        first.push_back(steps[&op]);
        last.push_back(end);
      }
      op.setAttr(kSlotsAttr, b.getDenseI64ArrayAttr(slots));
    }
    b.setInsertionPointToStart(&function.getBody().front());
    mpk::ArenaOp::create(b, function.getLoc(), b.getArrayAttr(spaces), bytes, first, last);
  }

  static void visitUses(Value value, const DenseMap<Operation *, int64_t> &steps, int64_t &end, bool &returned) {
    for (Operation *user : value.getUsers()) {
      if (isa<func::ReturnOp>(user))
        returned = true;
      else if (auto it = steps.find(user); it != steps.end())
        end = std::max(end, it->second);
      else
        for (Value view : user->getResults())
          visitUses(view, steps, end, returned);
    }
  }
};

} // namespace
